use std::time::Duration;

use crate::{ElectionConfig, ExtenderConfig, FeatureGates, ProfileConfig, TracingConfig};

/// How requests reach the API server, as kube-scheduler's `clientConnection` block.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientConnection {
    /// File with credentials and address; empty means those of the pod it runs in.
    pub kubeconfig: String,
    /// `Accept` header; empty means the client's own.
    pub accept_content_types: String,
    /// Encoding of requests. Accepted for compatibility: Plimsoll speaks JSON.
    pub content_type: String,
    /// Sustained requests per second; negative switches the limit off.
    pub qps: f32,
    /// Requests that may go at once above the sustained rate.
    pub burst: u32,
}

impl Default for ClientConnection {
    fn default() -> Self {
        Self {
            kubeconfig: String::new(),
            accept_content_types: String::new(),
            content_type: "application/vnd.kubernetes.protobuf".to_owned(),
            qps: 50.0,
            burst: 100,
        }
    }
}

/// The whole configuration of a scheduler process, defaults applied.
#[derive(Debug, Clone, PartialEq)]
pub struct SchedulerConfig {
    /// Accepted for compatibility; checked and shown, and otherwise without effect: cycles run on one thread.
    pub parallelism: i32,
    /// Leader election.
    pub leader_election: ElectionConfig,
    /// Client limits.
    pub client_connection: ClientConnection,
    /// Whether profiles of the process may be read.
    pub enable_profiling: bool,
    /// Accepted for compatibility: there are no contended locks to profile.
    pub enable_contention_profiling: bool,
    /// Share of the nodes that is looked for, 0 to 100; 0 is kube-scheduler's adaptive share, none means all nodes.
    pub percentage_of_nodes_to_score: Option<i32>,
    /// First backoff of a pod that did not fit.
    pub pod_initial_backoff: Duration,
    /// Backoff never grows past this.
    pub pod_max_backoff: Duration,
    /// A pod waits at most this long before it is tried again, whatever happens (`--pod-max-in-unschedulable-pods-duration`).
    pub pod_max_in_unschedulable_pods_duration: Duration,
    /// At least one.
    pub profiles: Vec<ProfileConfig>,
    /// Extenders of all profiles.
    pub extenders: Vec<ExtenderConfig>,
    /// Whether the cache is filled only by the leader.
    pub delay_cache_until_active: bool,
    /// Where traces go.
    pub tracing: TracingConfig,
    /// Which optional behaviour is on.
    pub feature_gates: FeatureGates,
    /// Upper bound of API writes of pods (bindings, conditions) in flight.
    pub binding_workers: usize,
    /// Bindings a second (`--bind-pods-qps`); none is no limit. Kubernetes 1.0 had 15.
    pub bind_pods_qps: Option<f32>,
    /// Bindings that may exceed that rate at once (`--bind-pods-burst`). Kubernetes 1.0 had 20.
    pub bind_pods_burst: u32,
}

/// What `--bind-pods-burst` is unless it is set, as in Kubernetes 1.0.
pub const DEFAULT_BIND_PODS_BURST: u32 = 20;

impl Default for SchedulerConfig {
    fn default() -> Self {
        Self {
            parallelism: 16,
            leader_election: ElectionConfig::default(),
            client_connection: ClientConnection::default(),
            enable_profiling: true,
            enable_contention_profiling: true,
            percentage_of_nodes_to_score: None,
            pod_initial_backoff: Duration::from_secs(1),
            pod_max_backoff: Duration::from_secs(10),
            pod_max_in_unschedulable_pods_duration: Duration::from_mins(5),
            profiles: vec![ProfileConfig::default()],
            extenders: Vec::new(),
            delay_cache_until_active: false,
            tracing: TracingConfig::default(),
            feature_gates: FeatureGates::default(),
            binding_workers: 64,
            bind_pods_qps: None,
            bind_pods_burst: DEFAULT_BIND_PODS_BURST,
        }
    }
}
