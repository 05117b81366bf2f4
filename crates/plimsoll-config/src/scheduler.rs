use std::time::Duration;

use crate::{ElectionConfig, ProfileConfig};

/// How requests reach the API server, as kube-scheduler's `clientConnection` block.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientConnection {
    /// Sustained requests per second; negative switches the limit off.
    pub qps: f32,
    /// Requests that may go at once above the sustained rate.
    pub burst: u32,
}

impl Default for ClientConnection {
    fn default() -> Self {
        Self { qps: 50.0, burst: 100 }
    }
}

/// The whole configuration of a scheduler process, defaults applied.
#[derive(Debug, Clone, PartialEq)]
pub struct SchedulerConfig {
    /// Leader election.
    pub leader_election: ElectionConfig,
    /// Client limits.
    pub client_connection: ClientConnection,
    /// First backoff of a pod that did not fit.
    pub pod_initial_backoff: Duration,
    /// Backoff never grows past this.
    pub pod_max_backoff: Duration,
    /// A pod waits at most this long before it is tried again, whatever happens (`--pod-max-in-unschedulable-pods-duration`).
    pub pod_max_in_unschedulable_pods_duration: Duration,
    /// At least one; scheduler names differ.
    pub profiles: Vec<ProfileConfig>,
    /// Upper bound of API writes of pods (bindings, conditions) in flight.
    pub binding_workers: usize,
}

impl Default for SchedulerConfig {
    fn default() -> Self {
        Self {
            leader_election: ElectionConfig::default(),
            client_connection: ClientConnection::default(),
            pod_initial_backoff: Duration::from_secs(1),
            pod_max_backoff: Duration::from_secs(10),
            pod_max_in_unschedulable_pods_duration: Duration::from_mins(5),
            profiles: vec![ProfileConfig::default()],
            binding_workers: 64,
        }
    }
}
