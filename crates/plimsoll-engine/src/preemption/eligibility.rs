use plimsoll_framework::{Code, DisruptionBudgetPolicy, Rejections};
use plimsoll_model::{Pod, PreemptionPolicy};

use crate::ledger::Ledger;

/// Reason that kube-scheduler gives in the condition of a pod that it evicts.
const BY_SCHEDULER: &str = "PreemptionByScheduler";
/// Reason that the API server gives in that of a pod whose eviction it has granted.
const BY_EVICTION_API: &str = "EvictionByEvictionAPI";

/// Why the pod may not have others evicted, or not now; none when it may. While pods that were evicted for it are still
/// going, it waits for them instead of evicting more, unless the node will not do for it whoever goes.
///
/// A leader that evicts through the API may have died before it could say for whom. So where budgets are hard, any pod whose
/// eviction was granted counts.
pub(crate) fn ineligible(
    pod: &Pod,
    nominated_to: Option<&str>,
    rejections: Rejections<'_>,
    ledger: &Ledger,
    budgets: DisruptionBudgetPolicy,
) -> Option<&'static str> {
    if pod.spec.preemption_policy == PreemptionPolicy::Never {
        return Some("not eligible due to preemptionPolicy=Never.");
    }
    let name = nominated_to?;
    let node = ledger.columns().index_of(name)?;
    if !ledger.columns().nodes().contains(node) || rejections.code_of(node) == Code::UnschedulableAndUnresolvable {
        return None;
    }
    let mut guests = ledger.guests_below(name, pod.priority());
    guests
        .any(|guest| is_being_preempted(&guest.pod, budgets))
        .then_some("not eligible due to a terminating pod on the nominated node.")
}

/// Whether the pod is on its way out because a preemption or an eviction takes it. Who decided that may have led before us.
pub(crate) fn is_going_for_room(pod: &Pod) -> bool {
    is_being_preempted(pod, DisruptionBudgetPolicy::Hard)
}

fn is_being_preempted(pod: &Pod, budgets: DisruptionBudgetPolicy) -> bool {
    let condition = pod.status.disruption_target.as_deref();
    let is_ours =
        |reason: &str| reason == BY_SCHEDULER || (budgets == DisruptionBudgetPolicy::Hard && reason == BY_EVICTION_API);
    pod.is_terminating() && condition.is_some_and(|condition| condition.status == "True" && is_ours(&condition.reason))
}
