use std::time::Duration;

use plimsoll_model::{DisruptionBudget, Moment, Pod, Uid};

use super::PreemptionPlan;
use super::recent::{Barred, Recent};
use super::under_way::UnderWay;

/// What the engine keeps of preemptions beyond their attempts. It is lost with the engine.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    recent: Recent,
    under_way: UnderWay,
}

impl Memory {
    /// A plan is final. `there` are the pods on its node, victims or not; they are looked at if the profile has a window.
    pub(crate) fn note<'p>(
        &mut self,
        plan: &'p PreemptionPlan,
        there: impl Iterator<Item = &'p Pod>,
        window: Option<Duration>,
        now: Moment,
    ) {
        // One that is given up in memory is not running, and goes back to the queue.
        for victim in plan.victims.iter().filter(|victim| victim.claim.is_none()) {
            self.under_way.begin(&victim.pod, now);
        }
        if let Some(window) = window.filter(|_| !plan.victims.is_empty()) {
            let victims = plan.victims.iter().map(|victim| victim.pod.as_ref());
            self.recent
                .note(&plan.preemptor, &plan.node, victims, there, (window, now));
        }
    }

    /// The pod is not evicted after all.
    pub(crate) fn eviction_failed(&mut self, uid: &Uid) {
        self.under_way.failed(uid);
    }

    /// The stream shows the pod terminating, or gone.
    pub(crate) fn goes(&mut self, uid: &Uid) {
        self.under_way.goes(uid);
    }

    /// The stream shows the budget like this.
    pub(crate) fn budget_changed(&mut self, budget: &DisruptionBudget) {
        self.under_way.budget_changed(budget);
    }

    pub(super) fn against(&self, preemptor: &Pod, now: Moment) -> Barred<'_> {
        self.recent.against(preemptor, now)
    }

    pub(super) fn under_way(&self) -> &UnderWay {
        &self.under_way
    }
}
