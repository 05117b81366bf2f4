use std::time::Duration;

/// How the engine is to make room for a pod by evicting less important ones; what a [`PostFilter`](crate::PostFilter) that
/// leaves preemption to it was configured with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PreemptionTerms {
    /// Share of the potential nodes that is looked for as candidates, in percent.
    pub min_candidate_nodes_percentage: i32,
    /// At least so many of them.
    pub min_candidate_nodes_absolute: i32,
    /// What pod disruption budgets mean.
    pub disruption_budgets: DisruptionBudgetPolicy,
    /// For how long a node on which the evicted have been replaced is not evicted from again for the same pod; none: no
    /// such memory, as kube-scheduler.
    pub loop_window: Option<Duration>,
    /// Whether the pod goes back to the queue while its victims are being removed.
    pub asynchronous: bool,
}

/// What pod disruption budgets mean to preemption.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum DisruptionBudgetPolicy {
    /// They are violated when nothing else helps, as kube-scheduler does.
    #[default]
    Soft,
    /// They are never violated.
    Hard,
}
