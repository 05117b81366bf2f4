//! Flags of kube-scheduler 1.36 that are not there yet: naming one is an error that says so, since to ignore it would be
//! to do something else than the operator asked for.

const NOT_YET: [&str; 33] = [
    "authentication-kubeconfig",
    "authentication-skip-lookup",
    "authentication-token-webhook-cache-ttl",
    "authentication-tolerate-lookup-failure",
    "authorization-always-allow-paths",
    "authorization-kubeconfig",
    "authorization-webhook-cache-authorized-ttl",
    "authorization-webhook-cache-unauthorized-ttl",
    "cert-dir",
    "client-ca-file",
    "disable-http2-serving",
    "emulated-version",
    "emulation-forward-compatible",
    "http2-max-streams-per-connection",
    "log-flush-frequency",
    "log-json-info-buffer-size",
    "log-json-split-stream",
    "log-text-info-buffer-size",
    "log-text-split-stream",
    "min-compatibility-version",
    "permit-address-sharing",
    "permit-port-sharing",
    "requestheader-allowed-names",
    "requestheader-client-ca-file",
    "requestheader-extra-headers-prefix",
    "requestheader-group-headers",
    "requestheader-uid-headers",
    "requestheader-username-headers",
    "tls-cipher-suites",
    "tls-curve-preferences",
    "tls-min-version",
    "tls-sni-cert-key",
    "vmodule",
];

/// Whether kube-scheduler has a flag of this name (without dashes) that Plimsoll lacks.
pub(super) fn is_not_there_yet(name: &str) -> bool {
    NOT_YET.contains(&name)
}
