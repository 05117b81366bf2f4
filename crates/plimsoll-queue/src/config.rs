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
    /// The feature gate `SchedulerPopFromBackoffQ`: whether pods that back off after a rejection are popped when nothing is
    /// active. Then pre-enqueue plugins are asked before the backoff rather than after it, and pods whose backoff ends
    /// within one second compete by the queue sort.
    pub pop_from_backoff: bool,
    /// The feature gate `GenericWorkload`: pods of a scheduling group come back after a backoff whatever happened.
    pub generic_workload: bool,
    /// The feature gate `GangScheduling`: a new pod without a node is an event to the others of its group.
    pub gang_scheduling: bool,
}

impl Default for QueueConfig {
    /// kube-scheduler's defaults: 1 s, 10 s, 5 min, and its gates' as released.
    fn default() -> Self {
        Self {
            initial_backoff: Duration::from_secs(1),
            max_backoff: Duration::from_secs(10),
            max_in_unschedulable: Duration::from_mins(5),
            pop_from_backoff: true,
            generic_workload: false,
            gang_scheduling: false,
        }
    }
}
