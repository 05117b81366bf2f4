use plimsoll_config::SchedulerConfig;
use plimsoll_telemetry::{AuthenticationOptions, AuthorizationOptions, RequestHeaderOptions, TlsIdentity, TlsVersion};

use super::*;
use crate::logging::{Logging, Routing};
use crate::serving::Serving;

mod configuration;
mod errors;

fn read(arguments: &[&str]) -> Result<Request, FlagError> {
    parse("plimsoll", arguments.iter().map(OsString::from))
}

fn options(arguments: &[&str]) -> Options {
    match read(arguments) {
        Ok(Request::Run(options)) => *options,
        other => panic!("{arguments:?}: {other:?}"),
    }
}

fn error(arguments: &[&str]) -> String {
    read(arguments).expect_err("an error").to_string()
}

#[test]
fn without_flags_everything_is_as_kube_scheduler_has_it() {
    let options = options(&[]);
    assert_eq!(options.access, Access::default());
    assert_eq!(options.config, SchedulerConfig::default());
    assert_eq!(options.logging, Logging::default());
    let serving = options.serving.expect("it serves");
    assert_eq!(serving.options.address, "0.0.0.0:10259".parse().unwrap());
    let tls = &serving.options.tls;
    assert!(matches!(tls.identity, TlsIdentity::SelfSigned) && tls.http2 && tls.by_name.is_empty());
    assert_eq!(tls.min_version, TlsVersion::Tls12);
    assert_eq!(
        (serving.options.http2_max_streams, serving.options.port_sharing),
        (0, false)
    );
    assert_eq!(serving.authentication, AuthenticationOptions::default());
    assert_eq!(serving.authorization, AuthorizationOptions::default());
    assert_eq!(
        (serving.authentication_kubeconfig, serving.authorization_kubeconfig),
        (None, None)
    );
    assert!(serving.warnings.is_empty());
    assert_eq!((options.host, options.test_panic_label), (None, None));
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn each_flag_lands_where_it_belongs() {
    type Look = fn(&Options) -> String;
    let election: Look = |options| {
        let election = &options.config.leader_election;
        format!(
            "{} {:?} {:?} {:?} {}/{}",
            election.leader_elect,
            election.lease_duration,
            election.renew_deadline,
            election.retry_period,
            election.resource_namespace,
            election.resource_name
        )
    };
    let client: Look = |options| {
        let client = &options.config.client_connection;
        format!("{} {}", client.qps, client.burst)
    };
    let access: Look = |options| format!("{:?} {:?}", options.access.kubeconfig, options.access.master);
    let listen: Look = |options| format!("{:?}", options.serving.as_ref().map(|serving| serving.options.address));
    let logging: Look = |options| format!("{:?} {}", options.logging.format, options.logging.verbosity);
    let modules: Look = |options| options.logging.vmodule.to_string();
    let flushes: Look = |options| format!("{:?}", options.logging.flush_frequency);
    let host: Look = |options| format!("{:?}", options.host);
    let test: Look = |options| format!("{:?}", options.test_panic_label);
    let waits: Look = |options| format!("{:?}", options.config.pod_max_in_unschedulable_pods_duration);
    let binds: Look = |options| format!("{:?} {}", options.config.bind_pods_qps, options.config.bind_pods_burst);
    let standard = "true 15s 10s 2s kube-system/kube-scheduler";
    let off = "false 15s 10s 2s kube-system/kube-scheduler";
    let cases: [(&[&str], Look, &str); 41] = [
        (&["--leader-elect"], election, standard),
        (&["--leader-elect=true"], election, standard),
        (&["--leader-elect=T"], election, standard),
        (&["--leader-elect=false"], election, off),
        (&["--leader-elect=0"], election, off),
        (&["--leader_elect=false"], election, off),
        (&["--leader-elect=false", "--leader-elect"], election, standard),
        (
            &[
                "--leader-elect-lease-duration=1m30s",
                "--leader-elect-renew-deadline",
                "1m",
                "--leader_elect_retry_period=500ms",
            ],
            election,
            "true 90s 60s 500ms kube-system/kube-scheduler",
        ),
        (
            &[
                "--leader-elect-resource-name=a",
                "--leader-elect-resource-namespace=b",
                "--leader-elect-resource-lock=leases",
            ],
            election,
            "true 15s 10s 2s b/a",
        ),
        (
            &["--kube-api-qps=5000", "--kube-api-burst", "6000"],
            client,
            "5000 6000",
        ),
        (&["--kube-api-qps=-1"], client, "-1 100"),
        (&["--kube-api-qps", "-1"], client, "-1 100"),
        (&["--kube-api-qps=1", "--kube-api-qps=2"], client, "2 100"),
        (
            &["--kubeconfig=/a_b", "--master=https://c_d"],
            access,
            "Some(\"/a_b\") Some(\"https://c_d\")",
        ),
        (&["--kubeconfig", "/a"], access, "Some(\"/a\") None"),
        (&["--kubeconfig="], access, "None None"),
        (&["--secure-port=0"], listen, "None"),
        (&["--secure-port=1"], listen, "Some(0.0.0.0:1)"),
        (
            &["--secure-port=65535", "--bind-address=::1"],
            listen,
            "Some([::1]:65535)",
        ),
        (&["--bind-address", "127.0.0.1"], listen, "Some(127.0.0.1:10259)"),
        (&["--logging-format=json"], logging, "Json 0"),
        (&["--logging-format", "text"], logging, "Text 0"),
        (&["-v=2"], logging, "Text 2"),
        (&["-v2"], logging, "Text 2"),
        (&["-v", "2"], logging, "Text 2"),
        (&["--v=2"], logging, "Text 2"),
        (&["--v", "2"], logging, "Text 2"),
        (&["--vmodule=elector=4,term*=2"], modules, "elector=4,term*=2"),
        (
            &["--vmodule=elector=4", "--vmodule", "term*=2"],
            modules,
            "elector=4,term*=2",
        ),
        (&[""], flushes, "5s"),
        (&["--log_flush_frequency=1m"], flushes, "60s"),
        (&["--hostname-override=me"], host, "Some(\"me\")"),
        (&["--enable-test-plugins"], test, "Some(\"plimsoll.dev/test-panic\")"),
        (&["--enable-test-plugins=a/b"], test, "Some(\"a/b\")"),
        (&["--pod-max-in-unschedulable-pods-duration=1m30s"], waits, "90s"),
        (&[""], binds, "None 20"),
        (&["--bind-pods-qps=15"], binds, "Some(15.0) 20"),
        (&["--bind-pods-qps=1.5", "--bind-pods-burst=3"], binds, "Some(1.5) 3"),
        (&["--version=false", "--v=1"], logging, "Text 1"),
        (&["--v=1", "--"], logging, "Text 1"),
        (&[""], logging, "Text 0"),
    ];
    for (arguments, look, expected) in cases {
        assert_eq!(look(&options(arguments)), expected, "{arguments:?}");
    }
}

fn serving(arguments: &[&str]) -> Serving {
    options(arguments).serving.expect("it serves")
}

#[test]
fn certificates_come_from_files_or_a_folder() {
    let identity = |arguments: &[&str]| serving(arguments).options.tls.identity;
    let files = ["--tls-cert-file=c", "--tls-private-key-file=k", "--cert-dir=/d"];
    let TlsIdentity::Files { certificate, key } = identity(&files) else {
        panic!("{:?}", identity(&files));
    };
    assert_eq!((certificate, key), (PathBuf::from("c"), PathBuf::from("k")));
    let TlsIdentity::Folder { folder, address } = identity(&["--cert-dir=/d", "--bind-address=10.0.0.1"]) else {
        panic!("no folder");
    };
    assert_eq!((folder, address), (PathBuf::from("/d"), "10.0.0.1".parse().ok()));
    let by_name = serving(&["--tls-sni-cert-key=a,b:x,y", "--tls-sni-cert-key", "c,d"])
        .options
        .tls
        .by_name;
    assert_eq!(by_name.len(), 2);
    assert_eq!(
        (by_name[0].names.as_slice(), &by_name[1].key),
        (&["x".to_owned(), "y".to_owned()][..], &PathBuf::from("d"))
    );
}

#[test]
fn tls_is_spoken_as_flags_say_and_what_is_not_there_is_warned_of() {
    let options = serving(&[
        "--tls-min-version=VersionTLS13",
        "--disable-http2-serving",
        "--http2-max-streams-per-connection=7",
        "--permit-port-sharing=true",
        "--permit-address-sharing",
    ])
    .options;
    assert_eq!((options.tls.min_version, options.tls.http2), (TlsVersion::Tls13, false));
    assert_eq!((options.http2_max_streams, options.port_sharing), (7, true));
    let warned = serving(&[
        "--tls-min-version=VersionTLS10",
        "--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_RSA_WITH_RC4_128_SHA",
        "--tls-curve-preferences=29,25",
        "--requestheader-group-headers=X-Groups",
    ]);
    assert_eq!(
        warned.warnings,
        [
            "--tls-min-version=VersionTLS10: TLS 1.2 is the oldest version that is spoken",
            "--tls-cipher-suites: TLS_RSA_WITH_RC4_128_SHA is not there and not used",
            "--tls-curve-preferences: 25 is not there and not used",
            "--requestheader-group-headers is set without specifying the standard X-Remote-Group header - API aggregation \
             will not work",
        ]
    );
}

#[test]
fn flags_say_whom_to_ask_about_senders_and_what_anybody_may() {
    let serving = serving(&[
        "--authentication-kubeconfig=/n",
        "--authentication-skip-lookup",
        "--authentication-token-webhook-cache-ttl=1m",
        "--authentication-tolerate-lookup-failure=false",
        "--client-ca-file=/c",
        "--requestheader-client-ca-file=/r",
        "--requestheader-allowed-names=a,b",
        "--requestheader-allowed-names=c",
        "--requestheader-uid-headers=x-remote-uid",
        "--authorization-kubeconfig=/z",
        "--authorization-always-allow-paths=/healthz,/metrics*",
        "--authorization-webhook-cache-authorized-ttl=2s",
        "--authorization-webhook-cache-unauthorized-ttl=3s",
    ]);
    let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    let expected = AuthenticationOptions {
        client_ca_file: Some("/c".into()),
        request_header: RequestHeaderOptions {
            client_ca_file: Some("/r".into()),
            allowed_names: texts(&["a", "b", "c"]),
            uid_headers: texts(&["x-remote-uid"]),
            ..RequestHeaderOptions::default()
        },
        skip_lookup: true,
        tolerate_lookup_failure: false,
        token_ttl: Duration::from_mins(1),
    };
    assert_eq!(serving.authentication, expected);
    let expected = AuthorizationOptions {
        always_allow_paths: texts(&["/healthz", "/metrics*"]),
        authorized_ttl: Duration::from_secs(2),
        unauthorized_ttl: Duration::from_secs(3),
    };
    assert_eq!(serving.authorization, expected);
    let kubeconfigs = (serving.authentication_kubeconfig, serving.authorization_kubeconfig);
    assert_eq!(kubeconfigs, (Some("/n".into()), Some("/z".into())));
}

#[test]
fn version_and_help_are_printed_and_nothing_runs() {
    let text = |arguments: &[&str]| match read(arguments) {
        Ok(Request::Print(text)) => text,
        other => panic!("{arguments:?}: {other:?}"),
    };
    assert!(text(&["--version"]).starts_with("Plimsoll v"));
    assert!(text(&["--version=true"]).starts_with("Plimsoll v"));
    assert!(text(&["--version=raw"]).starts_with("plimsoll.Version{Version:\"v"));
    let marked = format!("{}-acme.1", version::VERSION);
    let flag = format!("--version={marked}");
    assert_eq!(
        (options(&[&flag]).version, options(&["--version=false"]).version),
        (Some(marked), None)
    );
    for help in [text(&["--help"]), text(&["-h"])] {
        assert!(help.contains("--leader-elect-lease-duration <DURATION>"), "{help}");
        assert!(
            help.contains("kube:GangScheduling=true|false (ALPHA - default=false)"),
            "{help}"
        );
        assert!(!help.contains("test-plugins") && !help.contains("ARGUMENTS"), "{help}");
    }
}

#[test]
fn split_streams_and_their_buffers_are_those_of_the_format() {
    let gate = "--feature-gates=LoggingAlphaOptions=true";
    let flags = [
        gate,
        "--log-text-split-stream",
        "--log-text-info-buffer-size=2Ki",
        "--log-json-info-buffer-size=1M",
    ];
    let routing = |format: &str| options(&[&flags[..], &[format]].concat()).logging.routing;
    let split = |split, info_buffer| Routing { split, info_buffer };
    assert_eq!(routing("--logging-format=text"), split(true, 2048));
    assert_eq!(routing("--logging-format=json"), split(false, 1_000_000));
}

/// kube-scheduler's own flags, with their defaults as its `--help` shows them; a test on the real program holds the list
/// against it.
const KUBE_SCHEDULER: &str = include_str!("kube-scheduler.txt");

#[test]
fn every_flag_of_kube_scheduler_is_there_with_its_default() {
    let command = Flags::command();
    let of = |name: &str| command.get_arguments().find(|flag| flag.get_long() == Some(name));
    for line in KUBE_SCHEDULER.lines() {
        let (name, default) = line.split_once(' ').unwrap_or((line, ""));
        if name == "help" {
            continue;
        }
        let flag = of(name).unwrap_or_else(|| panic!("--{name} is not there"));
        let ours: Vec<_> = flag
            .get_default_values()
            .iter()
            .map(|value| value.to_string_lossy())
            .collect();
        let ours = ours.join(",");
        // Nothing is shown there for what Go takes for nothing.
        let shown = if matches!(ours.as_str(), "false" | "0") {
            ""
        } else {
            &ours
        };
        assert_eq!(shown, default.trim_matches(['"', '[', ']']), "--{name}");
    }
}

#[test]
fn flags_are_told_with_their_values_and_those_without_meaning_by_name() {
    let given = options(&[
        "--v=1",
        "--kube_api_content_type=application/json",
        "--emulated-version=1.35",
    ])
    .flags;
    let value = |name: &str| {
        let found = given.values.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str())
    };
    assert_eq!(
        [
            "v",
            "leader-elect-lease-duration",
            "emulated-version",
            "kubeconfig",
            "nothing"
        ]
        .map(value),
        [Some("1"), Some("15s"), Some("1.35"), Some(""), None]
    );
    assert!(given.values.is_sorted());
    let meaningless: Vec<_> = given.without_meaning.iter().map(|(name, _)| *name).collect();
    assert_eq!(meaningless, ["kube-api-content-type", "emulated-version"]);
    let same = ["--emulated-version=1.36", "--min-compatibility-version=1.35"];
    assert_eq!(options(&same).flags.without_meaning.len(), 1);
    assert_eq!(options(&[]).flags.without_meaning, []);
}

#[test]
fn a_flag_that_its_help_says_to_mean_nothing_is_warned_of_when_it_is_set() {
    let command = Flags::command();
    let said = command.get_arguments().filter(|flag| {
        let help = flag.get_help().map(ToString::to_string).unwrap_or_default();
        help.contains("without meaning")
    });
    let mut said: Vec<_> = said.filter_map(|flag| flag.get_long()).collect();
    said.sort_unstable();
    let set = said.iter().map(|name| match *name {
        "kube-api-content-type" => "--kube-api-content-type=application/json".to_owned(),
        "min-compatibility-version" => "--min-compatibility-version=1.35".to_owned(),
        switch => format!("--{switch}=true"),
    });
    let set: Vec<_> = set.collect();
    let given = options(&set.iter().map(String::as_str).collect::<Vec<_>>()).flags;
    let mut warned: Vec<_> = given.without_meaning.iter().map(|(name, _)| *name).collect();
    warned.sort_unstable();
    assert_eq!(warned, said);
    assert_eq!(said.len(), 4);
}
