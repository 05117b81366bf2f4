use std::sync::Arc;

use plimsoll_framework::Profile;
use plimsoll_model::Seq;

use super::{Engine, Held};
use crate::Notice;
use crate::cycle::Cycle;
use crate::plan::Plans;

impl Engine {
    /// Decides with other profiles from here on. `seq` is the number of the switch in the stream of changes; the queue
    /// switches at the same one.
    ///
    /// A cycle that waits for an effect ends with the profile that it began with, and the switch comes after it; so do
    /// claims with theirs, whatever they wait for.
    pub fn reconfigure(&mut self, profiles: Vec<Arc<Profile>>, seq: Seq, out: &mut Vec<Notice>) {
        let plans = Plans::new(profiles);
        if self.cycle.is_some() {
            self.held.push_back(Held::Plans(plans, seq));
        } else {
            self.switch(plans, seq, out);
        }
    }

    pub(super) fn switch(&mut self, plans: Plans, seq: Seq, out: &mut Vec<Notice>) {
        self.plans = plans;
        // Its buffers serve any plan, but it would keep plugins alive that nobody uses.
        self.spare = None;
        self.recall.clear();
        for pod in self.ledger.waiting() {
            self.judge_membership(&pod);
        }
        self.tell_unmatched(out);
        self.tell_of_ended_nominations(out);
        self.applied = seq;
    }

    /// Says how much the judgement knows: of the switch nothing, when it is made with a profile from before it.
    pub(super) fn note_judgement(&self, cycle: &mut Cycle) {
        if self.plans.contains(&cycle.plan) {
            cycle.judged_at = self.applied;
        }
    }
}
