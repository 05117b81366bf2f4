//! What is told of arguments that cannot be used.

use super::error;

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn errors_say_what_is_wrong() {
    let cases: [(&[&str], &str); 38] = [
        (&["demon"], r#""plimsoll" does not take any arguments, got ["demon"]"#),
        (
            &["--leader-elect", "false", "x"],
            r#""plimsoll" does not take any arguments, got ["false" "x"]"#,
        ),
        (
            &["--", "--v=2"],
            r#""plimsoll" does not take any arguments, got ["--v=2"]"#,
        ),
        (&["--tls-min-version=1.3"], "unknown tls version \"1.3\""),
        (
            &["--tls-cipher-suites=A"],
            "Cipher suite A not supported or doesn't exist",
        ),
        (
            &["--tls-curve-preferences=29,-1"],
            "curve preference -1 is out of range (must be 1-65535)",
        ),
        (
            &["--tls-sni-cert-key=a"],
            "expected comma separated certificate and key file paths",
        ),
        (
            &["--requestheader-group-headers= "],
            "empty value in \"requestheader-group-headers\"",
        ),
        (
            &["--requestheader-uid-headers=X-Uid"],
            "--requestheader-uid-headers is set without specifying the standard X-Remote-Uid header",
        ),
        (
            &["--authorization-always-allow-paths=/a*/b"],
            "only trailing * allowed in \"a*/b\"",
        ),
        (&["--feature_gates=A=true"], "unrecognized feature gate: A"),
        (
            &["--feature-gates", "GangScheduling=true"],
            "GangScheduling is enabled, but depends on features that are disabled: [GenericWorkload]",
        ),
        (
            &["--config=/a", "--policy-config-file=/b"],
            "--policy-config-file cannot be used with --config",
        ),
        (
            &["--config=/a", "--policy-configmap=b"],
            "--policy-configmap cannot be used with --config",
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
            &["--secure-port=65536"],
            "--secure-port 65536 must be between 1 and 65535, inclusive. It cannot be turned off with 0",
        ),
        (
            &["--secure-port=-1"],
            "--secure-port -1 must be between 0 and 65535, inclusive. 0 for turning off secure port",
        ),
        (&["--bind-address=localhost"], "invalid IP address syntax"),
        (&["--tls-cert-file=c"], "must be given together"),
        (
            &["--logging-format=xml"],
            r#"format: Invalid value: "xml": Unsupported log format"#,
        ),
        (
            &["--logging-format=json", "--feature-gates=LoggingBetaOptions=false"],
            "format: Forbidden: Log format json is disabled, see LoggingBetaOptions feature",
        ),
        (
            &["--log-flush-frequency=0s"],
            r#"flushFrequency: Invalid value: "0s": Must be greater than zero"#,
        ),
        (
            &[
                "--log-flush-frequency=-1s",
                "--log-text-split-stream",
                "--log-json-info-buffer-size=1k",
            ],
            r#"[flushFrequency: Invalid value: "-1s": Must be greater than zero, options.text.splitStream: Forbidden: Feature LoggingAlphaOptions is disabled, options.json.infoBufferSize: Forbidden: Feature LoggingAlphaOptions is disabled]"#,
        ),
        (
            &["--log-json-info-buffer-size=x"],
            "quantities must match the regular expression",
        ),
        (&["-v=-1"], r#"strconv.ParseUint: parsing "-1": invalid syntax"#),
        (&["--vmodule=a"], r#""a" does not have the pattern=N format"#),
        (
            &["--emulated-version=1.30"],
            "[emulation version 1.30 is not between [1.33, 1.36.0], minCompatibilityVersion version 1.33 is not between [1.33, 1.30]]",
        ),
        (&["--emulated-version=x"], r#"could not parse "x" as version"#),
        (
            &["--emulated-version=1.35.1"],
            "patch version not allowed, got: kube=1.35.1",
        ),
        (&["--emulated-version=foo=1.35"], "component not registered: foo"),
        (
            &["--emulated-version=1.35,1.34"],
            "duplicate version flag, kube=1.35 and kube=1.34",
        ),
        (
            &["--min-compatibility-version=1.30"],
            "minCompatibilityVersion version 1.30 is not between [1.33, 1.36]",
        ),
        (
            &["--emulated-version=v1.34", "--min-compatibility-version=kube=1.35"],
            "minCompatibilityVersion version 1.35 is not between [1.33, 1.34]",
        ),
        (
            &["--version=2"],
            "must be true, false, raw or a version that begins with v",
        ),
        (
            &["--version=v1.36.3"],
            "version \"v1.36.3\" must match major/minor/patch of default version \"v",
        ),
    ];
    for (arguments, expected) in cases {
        let error = error(arguments);
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
}
