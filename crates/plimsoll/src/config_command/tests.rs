use std::path::Path;

use serde_json::Value;

use super::*;

const HEAD: &str = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
const OWN: &str = "apiVersion: plimsoll.dev/v1alpha1\nkind: SchedulerConfiguration\n";

/// Files in a folder of their own.
struct Folder(PathBuf);

impl Folder {
    fn new(files: &[(&str, String)]) -> Self {
        let folder = std::env::temp_dir().join(format!("plimsoll-config-command-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir_all(&folder).unwrap();
        for (name, text) in files {
            std::fs::write(folder.join(name), text).unwrap();
        }
        Self(folder)
    }

    /// Runs a command in which `@name` is a file here.
    fn run(&self, arguments: &[&str]) -> (End, String, String) {
        let at = |argument: &&str| match argument.strip_prefix('@') {
            Some(name) => self.0.join(name).display().to_string(),
            None => (*argument).to_owned(),
        };
        let arguments = std::iter::once("plimsoll config".to_owned()).chain(arguments.iter().map(at));
        let flags = ConfigFlags::try_parse_from(arguments).unwrap();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let end = run_on(&flags, &mut out, &mut err).unwrap();
        let text = |bytes: Vec<u8>| {
            String::from_utf8(bytes)
                .unwrap()
                .replace(&format!("{}/", self.0.display()), "")
        };
        (end, text(out), text(err))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn every_fault_is_told_with_its_place_and_a_way_out() {
    let faulty = format!("{HEAD}parallelism: 0\npodMaxBackoffSeconds: 0\n");
    let folder = Folder::new(&[("f", faulty)]);
    let (end, out, _) = folder.run(&["check", "@f"]);
    assert_eq!(end, End::Found);
    assert!(out.contains("f:3:"), "{out}");
    assert!(
        out.contains("parallelism: Invalid value: 0: should be an integer value greater than zero"),
        "{out}"
    );
    assert!(out.contains("f:4:"), "{out}");
    assert!(out.contains("    try: "), "{out}");
    assert!(
        out.ends_with("f: 2 problems in this KubeSchedulerConfiguration of kubescheduler.config.k8s.io/v1\n"),
        "{out}"
    );
}

#[test]
fn json_says_the_same_to_programs() {
    let folder = Folder::new(&[("f", format!("{HEAD}paralelism: 1\n"))]);
    let (end, out, _) = folder.run(&["check", "--output=json", "@f"]);
    assert_eq!(end, End::Found);
    let value: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(value["valid"], false);
    assert_eq!(
        (&value["problems"][0]["line"], &value["problems"][0]["column"]),
        (&3.into(), &1.into())
    );
    assert!(
        value["problems"][0]["hint"].as_str().unwrap().contains("parallelism"),
        "{out}"
    );
}

#[test]
fn a_valid_file_is_called_so_with_what_is_not_there_yet() {
    let folder = Folder::new(&[("f", HEAD.to_owned())]);
    let (end, out, _) = folder.run(&["check", "@f"]);
    assert_eq!(end, End::Fine);
    assert!(out.contains("f: warning: DynamicResources is not there yet"), "{out}");
    assert!(
        out.ends_with("f: a valid KubeSchedulerConfiguration of kubescheduler.config.k8s.io/v1\n"),
        "{out}"
    );
}

#[test]
fn plugins_that_do_not_exist_and_those_that_are_not_there_yet_are_problems_by_name() {
    let enable = |name: &str| format!("{HEAD}profiles:\n- plugins:\n    filter:\n      enabled: [{{name: {name}}}]\n");
    let folder = Folder::new(&[("typo", enable("NodeAfinity")), ("yet", enable("DynamicResources"))]);
    let (end, out, _) = folder.run(&["check", "@typo"]);
    assert_eq!(end, End::Found);
    assert!(out.contains(r#"FilterPlugin "NodeAfinity" does not exist"#), "{out}");
    assert!(out.contains(r#"try: did you mean "NodeAffinity"?"#), "{out}");
    let (end, out, _) = folder.run(&["check", "@yet"]);
    assert_eq!(end, End::Found);
    assert!(out.contains("DynamicResources"), "{out}");
    assert!(out.contains("    try: leave DynamicResources out"), "{out}");
}

#[test]
fn a_file_that_is_not_there_or_gates_that_are_unknown_are_trouble() {
    let folder = Folder::new(&[]);
    let (end, _, err) = folder.run(&["check", "@none"]);
    assert_eq!(end, End::Trouble);
    assert!(err.contains("cannot read none"), "{err}");
    let (end, _, err) = folder.run(&["default", "--feature-gates=GangSchedulin=true"]);
    assert_eq!(end, End::Trouble);
    assert!(
        err.contains("unrecognized feature gate: GangSchedulin") && err.contains("GangScheduling"),
        "{err}"
    );
}

#[test]
fn the_default_of_either_kind_is_valid_and_converts_into_itself() {
    for kind in ["kube", "plimsoll"] {
        let (_, default, _) = Folder::new(&[]).run(&["default", "--to", kind]);
        let folder = Folder::new(&[("f", default.clone())]);
        assert_eq!(folder.run(&["check", "@f"]).0, End::Fine, "{kind}");
        let (end, converted, err) = folder.run(&["convert", "@f", "--to", kind]);
        assert_eq!((end, converted), (End::Fine, default), "{kind}: {err}");
    }
}

#[test]
fn a_conversion_says_what_it_leaves_out() {
    let own = format!("{OWN}profiles:\n- backoff: {{initial: 2s, max: 30s}}\n");
    let folder = Folder::new(&[("own", own), ("kube", HEAD.to_owned())]);
    let (end, out, err) = folder.run(&["convert", "@own"]);
    assert_eq!(end, End::Found, "{err}");
    assert!(out.starts_with("apiVersion: kubescheduler.config.k8s.io/v1"), "{out}");
    assert!(
        err.contains("left out, since this kind cannot say it: profiles[default-scheduler].backoff"),
        "{err}"
    );
    let (end, out, _) = folder.run(&["convert", "@kube", "--to=plimsoll"]);
    assert_eq!(end, End::Fine);
    assert!(out.starts_with("apiVersion: plimsoll.dev/v1alpha1"), "{out}");
}

#[test]
fn what_the_program_cannot_start_with_yet_still_converts() {
    let devices = format!("{HEAD}profiles: [{{plugins: {{filter: {{enabled: [{{name: DynamicResources}}]}}}}}}]\n");
    let folder = Folder::new(&[("d", devices)]);
    let (end, out, _) = folder.run(&["check", "@d"]);
    assert_eq!(end, End::Found);
    assert!(out.contains("DynamicResources"), "{out}");
    let (_, out, err) = folder.run(&["convert", "@d"]);
    assert!(out.starts_with("apiVersion: kubescheduler.config.k8s.io/v1"), "{out}");
    assert!(err.contains("DynamicResources"), "{err}");
}

#[test]
fn a_configuration_with_extenders_is_fine() {
    let extenders = format!("{HEAD}extenders: [{{urlPrefix: http://x, filterVerb: f, bindVerb: b}}]\n");
    let folder = Folder::new(&[("e", extenders)]);
    let (end, out, err) = folder.run(&["check", "@e"]);
    assert_eq!(end, End::Fine, "{out} {err}");
}

#[test]
fn a_policy_is_checked_and_becomes_a_configuration() {
    let policy = r#"{"kind": "Policy", "apiVersion": "v1", "predicates": [{"name": "PodFitsResources"}], "priorities": [{"name": "LeastRequestedPriority", "weight": 2}]}"#;
    let unknown = r#"{"kind": "Policy", "apiVersion": "v1", "predicates": [{"name": "Nobody"}]}"#;
    let folder = Folder::new(&[("p", policy.to_owned()), ("u", unknown.to_owned())]);
    let (end, out, err) = folder.run(&["convert", "@p"]);
    assert_eq!(end, End::Fine, "{err}");
    let converted = Folder::new(&[("c", out)]);
    assert_eq!(converted.run(&["check", "@c"]).0, End::Fine);
    let (end, out, _) = folder.run(&["check", "@u"]);
    assert_eq!(end, End::Found);
    assert!(out.contains(r#"Invalid predicate name "Nobody" specified"#), "{out}");
    assert!(out.contains("    try: build a plugin of that name"), "{out}");
}

#[test]
fn many_faults_are_counted_beyond_the_first() {
    let names = (0..5_000).map(|number| format!(r#"{{"name": "Nobody{number}", "weight": 1}}"#));
    let priorities = names.collect::<Vec<_>>().join(",");
    let policy = format!(r#"{{"kind": "Policy", "apiVersion": "v1", "priorities": [{priorities}]}}"#);
    let folder = Folder::new(&[("p", policy)]);
    let (end, _, err) = folder.run(&["convert", "@p"]);
    assert_eq!(end, End::Found);
    assert!(err.contains("Nobody99 ") && !err.contains("Nobody100 "), "{err}");
    assert!(err.ends_with("p: and 4900 more\n"), "{err}");
    let (_, out, _) = folder.run(&["check", "@p"]);
    assert!(out.ends_with("p: 5000 problems in this Policy of v1\n"), "{out}");
    let (_, out, _) = folder.run(&["check", "-o", "json", "@p"]);
    let value: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(value["problemCount"], 5_000);
    assert_eq!(value["problems"].as_array().unwrap().len(), 100);
}

#[test]
fn a_conversion_that_could_not_be_read_again_is_refused_before_a_word_of_it() {
    let profiles = (0..999).map(|number| format!("- schedulerName: s{number}\n"));
    let folder = Folder::new(&[("f", format!("{HEAD}profiles:\n{}", profiles.collect::<String>()))]);
    let (end, out, err) = folder.run(&["convert", "@f"]);
    assert_eq!((end, out.as_str()), (End::Found, ""));
    let told = "error: the converted file could not be read again: more than 250000 values";
    assert!(err.contains(told), "{err}");
}

#[test]
fn a_diff_tells_what_changes_after_defaulting_and_nothing_else() {
    let spelled = format!("{HEAD}parallelism: 16\n");
    let changed = format!("{HEAD}podMaxBackoffSeconds: 20\nprofiles:\n- schedulerName: batch\n");
    let folder = Folder::new(&[
        ("a", HEAD.to_owned()),
        ("b", spelled),
        ("c", changed),
        ("d", "x".to_owned()),
    ]);
    assert_eq!(
        folder.run(&["diff", "@a", "@b"]),
        (End::Fine, String::new(), String::new())
    );
    let (end, out, _) = folder.run(&["diff", "@a", "@c"]);
    assert_eq!(end, End::Found);
    assert!(out.contains("~ podMaxBackoffSeconds: 10 -> 20\n"), "{out}");
    assert!(out.contains("+ profiles[batch]: "), "{out}");
    let (_, out, _) = folder.run(&["diff", "@a", "@c", "-o", "json"]);
    let value: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(value["differences"][0]["to"], 20);
    let (end, _, err) = folder.run(&["diff", "@a", "@d"]);
    assert_eq!(end, End::Found);
    assert!(err.starts_with("d:"), "{err}");
}

#[test]
fn output_that_nobody_takes_is_trouble() {
    let mut err = Vec::new();
    let closed = io::Error::from(io::ErrorKind::BrokenPipe);
    assert_eq!(told(Err(closed), &mut err), End::Trouble);
    assert_eq!(String::from_utf8(err).unwrap(), "error: cannot write: broken pipe\n");
    assert_eq!(told(Ok(End::Found), &mut Vec::new()), End::Found);
}

#[test]
fn usage_mistakes_are_no_commands() {
    for arguments in [
        &["plimsoll config"][..],
        &["plimsoll config", "diff", "one"],
        &["plimsoll config", "chek", "x"],
    ] {
        assert!(ConfigFlags::try_parse_from(arguments).unwrap_err().use_stderr());
    }
    assert!(Path::new("-").is_relative());
}
