use crate::GoDuration;

/// An HTTP extender, as kube-scheduler's `extenders[]`, defaults applied.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ExtenderConfig {
    /// Base URL.
    pub url_prefix: String,
    /// Appended to the URL to filter; empty when it does not.
    pub filter_verb: String,
    /// Appended to the URL to preempt; empty when it does not.
    pub preempt_verb: String,
    /// Appended to the URL to score; empty when it does not.
    pub prioritize_verb: String,
    /// Multiplies its scores.
    pub weight: i64,
    /// Appended to the URL to bind; empty when it does not.
    pub bind_verb: String,
    /// TLS even without `tls_config`.
    pub enable_https: bool,
    /// Certificates.
    pub tls_config: Option<ExtenderTls>,
    /// Of a whole request; a negative one is no limit.
    pub http_timeout: GoDuration,
    /// Node names are exchanged in place of nodes.
    pub node_cache_capable: bool,
    /// Only pods that request one of these are of interest; empty means all pods.
    pub managed_resources: Vec<ManagedResource>,
    /// Its errors do not fail scheduling.
    pub ignorable: bool,
}

/// A resource that an extender manages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ManagedResource {
    /// The extended resource.
    pub name: String,
    /// Whether the scheduler leaves the resource out of its own fit check.
    pub ignored_by_scheduler: bool,
}

/// How an extender is reached over TLS. Data wins over files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExtenderTls {
    /// The server's certificate is not verified.
    pub insecure: bool,
    /// Name to verify in place of the host's.
    pub server_name: String,
    /// Client certificate.
    pub cert_file: String,
    /// Client key.
    pub key_file: String,
    /// Authorities.
    pub ca_file: String,
    /// Client certificate, PEM.
    pub cert_data: Vec<u8>,
    /// Client key, PEM.
    pub key_data: Vec<u8>,
    /// Authorities, PEM.
    pub ca_data: Vec<u8>,
}
