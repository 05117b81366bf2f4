use std::time::Duration;

/// How long pods wait after an attempt that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueConfig {
    /// `podInitialBackoffSeconds`: the wait after the first failed attempt; doubles with each further one.
    pub initial_backoff: Duration,
    /// `podMaxBackoffSeconds`: the longest wait; zero turns backoff off.
    pub max_backoff: Duration,
    /// `--pod-max-in-unschedulable-pods-duration`: a parked pod is looked at again after this long, whatever happens.
    pub max_in_unschedulable: Duration,
}

impl Default for QueueConfig {
    /// kube-scheduler's defaults: 1 s, 10 s, 5 min.
    fn default() -> Self {
        Self {
            initial_backoff: Duration::from_secs(1),
            max_backoff: Duration::from_secs(10),
            max_in_unschedulable: Duration::from_mins(5),
        }
    }
}
