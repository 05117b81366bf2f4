//! How the program starts, or does not: what it says on standard error, and with which code it ends.

#![expect(clippy::unwrap_used, reason = "a test may fail in its helpers too")]

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

const HEAD: &str = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
/// Nobody listens there.
const NO_SERVER: &str = "--master=http://127.0.0.1:1";

/// Files in a folder of their own, which goes with this.
struct Folder(PathBuf);

impl Folder {
    fn new(files: &[(&str, &[u8])]) -> Self {
        let folder = std::env::temp_dir().join(format!("plimsoll-start-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir_all(folder.join("folder")).unwrap();
        for (name, content) in files {
            std::fs::write(folder.join(name), content).unwrap();
        }
        Self(folder)
    }

    /// Runs the program; `@name` in an argument is a file here. In what it says, too.
    fn run(&self, arguments: &[&str], input: &str) -> (Option<i32>, String, String) {
        let here = format!("{}/", self.0.display());
        let mut child = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
            .args(arguments.iter().map(|argument| argument.replace('@', &here)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A program that does not read its input may be gone already.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(&here, "@");
        (status.code(), text(&stdout), text(&stderr))
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn policy(fields: &str) -> String {
    format!(r#"{{"kind": "Policy", "apiVersion": "v1", {fields}}}"#)
}

#[test]
fn a_start_that_fails_says_why_and_ends_with_code_1() {
    let faulty = format!("{HEAD}parallelism: 0\npodInitialBackoffSeconds: 0\n");
    let unknown = format!("{HEAD}profiles: [{{plugins: {{filter: {{enabled: [{{name: Nobody}}]}}}}}}]\n");
    let devices = format!("{HEAD}profiles: [{{plugins: {{filter: {{enabled: [{{name: DynamicResources}}]}}}}}}]\n");
    let [nobody, typo] = [r#""predicates": [{"name": "Nobody"}]"#, r#""predicate": []"#].map(policy);
    let folder = Folder::new(&[
        ("empty", b""),
        ("bytes", b"\xff\xfe"),
        ("faulty", faulty.as_bytes()),
        ("unknown", unknown.as_bytes()),
        ("devices", devices.as_bytes()),
        ("nobody", nobody.as_bytes()),
        ("typo", typo.as_bytes()),
    ]);
    let cases: &[(&[&str], &str)] = &[
        (&["--config=@none"], "error: open @none: no such file or directory\n"),
        (&["--config=@folder"], "error: read @folder: is a directory\n"),
        (&["--config=@empty"], "error: Object 'Kind' is missing in ''\n"),
        (&["--config=@bytes"], "error: read @bytes: the file is not UTF-8\n"),
        (
            &["--config=@faulty"],
            "error: [parallelism: Invalid value: 0: should be an integer value greater than zero, \
             podInitialBackoffSeconds: Invalid value: 0: must be greater than 0]\n",
        ),
        (
            &["--config=@unknown"],
            "error: initializing profiles: creating profile for scheduler name default-scheduler: FilterPlugin \"Nobody\" \
             does not exist\n",
        ),
        (
            &["--policy-config-file=@none"],
            "error: missing policy config file @none\n",
        ),
        (
            &["--policy-config-file=@folder"],
            "error: couldn't read policy config: read @folder: is a directory\n",
        ),
        (
            &["--policy-config-file=@empty"],
            "error: invalid policy: Object 'Kind' is missing\n",
        ),
        (
            &["--policy-config-file=@typo"],
            "error: invalid policy: strict decoding error: unknown field \"predicate\" (line 1, column 40)\n",
        ),
        (
            &["--policy-config-file=@nobody"],
            "error: Invalid predicate name \"Nobody\" specified - no corresponding function found\n",
        ),
        (
            &["--config=@devices"],
            "plugin \"DynamicResources\" is enabled explicitly, and this version of Plimsoll does not have it yet\n",
        ),
        (
            &["--policy-config-file=@nobody", "--config=@faulty"],
            "error: --policy-config-file cannot be used with --config; turn the Policy into a configuration with `plimsoll \
             config convert`\n",
        ),
        (
            &["--write-config-to=@none/file"],
            "error: open @none/file: no such file or directory\n",
        ),
        (
            &["--kube-api-burst=0"],
            "error: burst is required to be greater than 0 when RateLimiter is not set and QPS is set to greater than 0\n",
        ),
        (
            &["--leader-elect-resource-lock=endpoints"],
            "error: couldn't create resource lock: endpoints lock is removed, migrate to leases\n",
        ),
        (
            &["--leader-elect-lease-duration=10s", NO_SERVER],
            "error: couldn't create leader elector: leaseDuration must be greater than renewDeadline\n",
        ),
        (&["--kubeconfig=@none"], "error: cannot connect to the API server: "),
        (&["--feature-gates=Foo=true"], "error: unrecognized feature gate: Foo\n"),
        (&["--no-such-flag"], "error: unexpected argument '--no-such-flag' found"),
        (
            &["start"],
            "error: \"plimsoll\" does not take any arguments, got [\"start\"]\n",
        ),
    ];
    for (arguments, expected) in cases {
        let (code, out, err) = folder.run(arguments, "");
        assert_eq!((code, out.as_str()), (Some(1), ""), "{arguments:?}: {err}");
        assert!(err.contains(expected), "{arguments:?}: {err}");
    }
}

#[test]
fn a_port_that_is_taken_is_told_and_ends_the_start() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = format!("--secure-port={}", taken.local_addr().unwrap().port());
    let (code, _, err) = Folder::new(&[]).run(&["--bind-address=127.0.0.1", &port, NO_SERVER], "");
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("error: cannot start: "), "{err}");
}

#[test]
fn the_configuration_is_written_before_anything_is_asked_of_a_server() {
    let config = format!("{HEAD}leaderElection: {{leaderElect: false, leaseDuration: -3s}}\n");
    let folder = Folder::new(&[("config", config.as_bytes())]);
    let cases: &[(&[&str], &str)] = &[
        (&["--config=@config"], "leaseDuration: -3s"),
        (
            &["--config=@config", "--leader-elect-lease-duration=20s"],
            "leaseDuration: 20s",
        ),
        (
            &["--leader-elect=false", "--leader-elect-resource-lock=endpoints"],
            "resourceLock: endpoints",
        ),
        (&["--leader-elect-lease-duration=10s"], "leaseDuration: 10s"),
        (&["--kubeconfig=@none"], "kubeconfig: @none"),
        (&["--feature-gates=StorageCapacityScoring=true"], "utilization: 100"),
    ];
    for (arguments, expected) in cases {
        let (code, out, err) = folder.run(&[arguments, &["--write-config-to=@written"][..]].concat(), "");
        assert_eq!((code, out.as_str()), (Some(0), ""), "{arguments:?}: {err}");
        let written = folder.read("written").replace(&format!("{}/", folder.0.display()), "@");
        assert!(written.contains(expected), "{arguments:?}: {written}");
        assert!(err.contains("Wrote configuration"), "{arguments:?}: {err}");
    }
}

#[test]
fn plugins_that_a_file_configures_anew_are_logged_as_kube_scheduler_does_it() {
    let config = format!(
        "{HEAD}profiles:\n- plugins:\n    multiPoint:\n      enabled: [{{name: ImageLocality, weight: 5}}]\n    score:\n      \
         enabled: [{{name: NodeAffinity, weight: 7}}]\n"
    );
    let folder = Folder::new(&[
        ("config", config.as_bytes()),
        ("policy", policy(r#""predicates": [{"name": "HostName"}]"#).as_bytes()),
    ]);
    let overriding = |arguments: &[&str]| {
        let (_, _, err) = folder.run(
            &[arguments, &["--write-config-to=@written", "--logging-format=json"][..]].concat(),
            "",
        );
        let lines = err
            .lines()
            .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        let told = lines.filter(|line| line.to_string().contains("; overriding"));
        told.map(|line| line.to_string()).collect::<Vec<_>>()
    };
    let told = overriding(&["--config=@config"]);
    let [default, multi_point] = told.as_slice() else {
        panic!("{told:?}");
    };
    assert!(
        default.contains("Default plugin is explicitly re-configured; overriding"),
        "{default}"
    );
    assert!(default.contains("\"ImageLocality\""), "{default}");
    assert!(
        multi_point.contains("MultiPoint plugin is explicitly re-configured; overriding"),
        "{multi_point}"
    );
    assert!(multi_point.contains("\"NodeAffinity\""), "{multi_point}");
    assert!(overriding(&["--policy-config-file=@policy"]).is_empty());
    assert!(overriding(&[]).is_empty());
}

#[test]
fn flags_that_mean_nothing_are_warned_of_in_these_words() {
    let folder = Folder::new(&[("config", HEAD.as_bytes())]);
    let warnings = |arguments: &[&str]| {
        let written = ["--write-config-to=@written"];
        let (code, _, err) = folder.run(&[arguments, &written[..]].concat(), "");
        assert_eq!(code, Some(0), "{arguments:?}: {err}");
        let of_flags = err.lines().filter(|line| line.starts_with('W') && line.contains("lag"));
        let words = of_flags.filter_map(|line| Some(line.split_once("] ")?.1.to_owned()));
        words.collect::<Vec<_>>()
    };
    let without_meaning = [
        "--kube-api-content-type=application/json",
        "--contention-profiling=false",
        "--min-compatibility-version=1.35",
        "--emulated-version=1.35",
        "--permit-address-sharing",
    ];
    let expected = [
        r#""This flag is accepted and has no effect here" flag="kube-api-content-type" why="requests are JSON""#,
        r#""This flag is accepted and has no effect here" flag="contention-profiling" why="no thread waits for a lock worth measuring""#,
        r#""This flag is accepted and has no effect here" flag="min-compatibility-version" why="no behaviour depends on the versions of other components""#,
        r#""This flag is accepted and has no effect here" flag="permit-address-sharing" why="an address is taken over in any case from connections that are about to end""#,
        r#""This flag is accepted and has no effect here" flag="emulated-version" why="Plimsoll behaves as kube-scheduler 1.36 alone""#,
    ];
    assert_eq!(warnings(&without_meaning), expected);
    let beside = [
        "--config=@config",
        "--kube-api-qps=1",
        "--kube-api-burst=1",
        "--profiling=false",
    ];
    let expected = ["--kube-api-qps", "--kube-api-burst", "--profiling"]
        .map(|flag| format!(r#""This flag has no effect beside --config" flag="{flag}""#));
    assert_eq!(warnings(&beside), expected);
    assert!(warnings(&[]).is_empty());
}

#[test]
fn an_api_server_to_try_things_out_with_says_where_it_is() {
    let folder = Folder::new(&[]);
    let kubeconfig = folder.0.join("kubeconfig");
    let mut child = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .args(["apiserver", "--port=0", "--kubeconfig-out"])
        .arg(&kubeconfig)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let serving = lines.find_map(|line| line.unwrap().strip_prefix("Serving at ").map(str::to_owned));
    child.kill().unwrap();
    child.wait().unwrap();
    let url = serving.unwrap();
    let url = url.split(';').next().unwrap();
    assert!(url.starts_with("https://127.0.0.1:"), "{url}");
    assert!(folder.read("kubeconfig").contains(url), "{url}");
}

#[test]
fn config_commands_end_with_codes_for_ci() {
    let folder = Folder::new(&[
        ("good", HEAD.as_bytes()),
        ("other", format!("{HEAD}parallelism: 3\n").as_bytes()),
        ("bad", format!("{HEAD}parallelism: 0\n").as_bytes()),
        ("empty", b""),
        ("bytes", b"\xff\xfe"),
    ]);
    let cases: &[(&[&str], i32, &str)] = &[
        (&["check", "@good"], 0, "a valid KubeSchedulerConfiguration"),
        (&["check", "-"], 0, "-: a valid KubeSchedulerConfiguration"),
        (&["check", "@bad"], 1, "@bad:3:"),
        (&["check", "@empty"], 1, "Object 'Kind' is missing in ''"),
        (
            &["check", "@none"],
            2,
            "error: cannot read @none: No such file or directory",
        ),
        (&["check", "@folder"], 2, "error: cannot read @folder: Is a directory"),
        (&["check", "@bytes"], 2, "error: cannot read @bytes: it is not UTF-8"),
        (
            &["check", "/dev/zero"],
            2,
            "error: cannot read /dev/zero: it is larger than 16 MiB",
        ),
        (
            &["check", "@good", "--feature-gates=Foo=true"],
            2,
            "unrecognized feature gate: Foo",
        ),
        (&["check"], 2, "Usage: plimsoll config check"),
        (&["convert", "-"], 0, "kind: KubeSchedulerConfiguration"),
        (&["convert", "@bad"], 1, "@bad:3:"),
        (&["convert", "@none"], 2, "error: cannot read @none"),
        (&["diff", "@good", "-"], 0, ""),
        (&["diff", "@good", "@other"], 1, "~ parallelism: 16 -> 3"),
        (&["diff", "@good", "@bad"], 1, "@bad:3:"),
        (&["diff", "@none", "@bad"], 2, "error: cannot read @none"),
        (
            &["diff", "-", "-"],
            2,
            "error: standard input can be only one of the two files",
        ),
        (&["default"], 0, "kind: KubeSchedulerConfiguration"),
        (&["default", "--to=nothing"], 2, "invalid value 'nothing'"),
        (&["--help"], 0, "Usage: plimsoll config"),
        (&[], 2, "Usage: plimsoll config"),
    ];
    for (arguments, expected, says) in cases {
        let (code, out, err) = folder.run(&[&["config"][..], arguments].concat(), HEAD);
        assert_eq!(code, Some(*expected), "{arguments:?}: {out}{err}");
        let said = if *expected == 2 { &err } else { &format!("{out}{err}") };
        assert!(said.contains(says), "{arguments:?}: {said}");
    }
}
