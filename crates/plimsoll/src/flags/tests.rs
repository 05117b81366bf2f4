use super::*;

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
    let listen = options.listen.expect("it serves");
    assert_eq!(listen.address, "0.0.0.0:10259".parse().unwrap());
    assert!(matches!(listen.tls, TlsIdentity::SelfSigned));
    assert_eq!((options.host, options.test_panic_label), (None, None));
}

#[test]
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
    let listen: Look = |options| format!("{:?}", options.listen.as_ref().map(|listen| listen.address));
    let logging: Look = |options| format!("{:?} {}", options.logging.format, options.logging.verbosity);
    let host: Look = |options| format!("{:?}", options.host);
    let test: Look = |options| format!("{:?}", options.test_panic_label);
    let waits: Look = |options| format!("{:?}", options.config.pod_max_in_unschedulable_pods_duration);
    let binds: Look = |options| format!("{:?} {}", options.config.bind_pods_qps, options.config.bind_pods_burst);
    let standard = "true 15s 10s 2s kube-system/kube-scheduler";
    let off = "false 15s 10s 2s kube-system/kube-scheduler";
    let cases: [(&[&str], Look, &str); 37] = [
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

#[test]
fn certificate_and_key_come_from_files() {
    let listen = options(&["--tls-cert-file=c", "--tls-private-key-file=k"])
        .listen
        .expect("it serves");
    let TlsIdentity::Files { certificate, key } = listen.tls else {
        panic!("{:?}", listen.tls);
    };
    assert_eq!((certificate, key), (PathBuf::from("c"), PathBuf::from("k")));
}

#[test]
fn errors_say_what_is_wrong() {
    let cases: [(&[&str], &str); 17] = [
        (&["demon"], r#""plimsoll" does not take any arguments, got ["demon"]"#),
        (
            &["--leader-elect", "false", "x"],
            r#""plimsoll" does not take any arguments, got ["false" "x"]"#,
        ),
        (
            &["--", "--v=2"],
            r#""plimsoll" does not take any arguments, got ["--v=2"]"#,
        ),
        (
            &["--config=/a"],
            "--config is a flag of kube-scheduler that this version of Plimsoll does not have yet",
        ),
        (
            &["--config", "/a"],
            "--config is a flag of kube-scheduler that this version of Plimsoll does not have yet",
        ),
        (
            &["--feature_gates=A=true"],
            "--feature-gates is a flag of kube-scheduler",
        ),
        (&["--no-such-flag"], "unexpected argument '--no-such-flag' found"),
        (
            &["--leader-elect-lease-duration=15"],
            r#"time: missing unit in duration "15""#,
        ),
        (
            &["--leader-elect-retry-period=-1s"],
            r#"duration "-1s" must not be negative"#,
        ),
        (
            &["--leader-elect=maybe"],
            r#"strconv.ParseBool: parsing "maybe": invalid syntax"#,
        ),
        (
            &["--leader-elect-resource-lock=endpoints"],
            r#""endpoints" is not supported, it must be "leases""#,
        ),
        (
            &["--secure-port=65536"],
            "--secure-port 65536 must be between 0 and 65535, inclusive",
        ),
        (
            &["--secure-port=-1"],
            "--secure-port -1 must be between 0 and 65535, inclusive",
        ),
        (&["--bind-address=localhost"], "invalid IP address syntax"),
        (&["--tls-cert-file=c"], "must be given together"),
        (&["--logging-format=xml"], "[possible values: text, json]"),
        (&["--version=2"], "must be true, false or raw"),
    ];
    for (arguments, expected) in cases {
        let error = error(arguments);
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
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
    for help in [text(&["--help"]), text(&["-h"])] {
        assert!(help.contains("--leader-elect-lease-duration <DURATION>"), "{help}");
        assert!(!help.contains("test-plugins") && !help.contains("ARGUMENTS"), "{help}");
    }
}
