//! A preemption that was planned while the world moved on.

use std::collections::BTreeSet;

use plimsoll_framework::{Code, Rejections};
use plimsoll_model::{Moment, Uid};

use super::Engine;
use super::attempt::{Flow, Stage};
use super::reservations::tell_volume_errors;
use crate::cycle::{Cycle, Look, Scope};
use crate::preemption::{Found, Search};
use crate::{Diagnosis, Notice, Outcome, PreemptionPlan};

impl Engine {
    /// Before a plan goes out it is checked against what was held back while its cycle waited, as a chosen node is: nobody
    /// may be evicted for a pod that is gone, and what follows only tells of changes from here on. A plan that would not be
    /// made any more sends the pod through its cycle again.
    pub(super) fn confirm_plan(&mut self, cycle: &mut Cycle, flow: Flow, now: Moment, out: &mut Vec<Notice>) -> Flow {
        let Flow::Done(Outcome::Unschedulable(Diagnosis {
            preemption: Some(plan), ..
        })) = &flow
        else {
            return flow;
        };
        if self.held.is_empty() {
            return flow;
        }
        self.release_held(now, out);
        match self.latest(&cycle.pod) {
            Ok(pod) => cycle.pod = pod,
            Err(reason) => return Flow::Done(Outcome::Dropped(reason)),
        }
        if self.still_helps(cycle, plan, now) {
            return flow;
        }
        tell_volume_errors(&cycle.state, out);
        let (pod, plan, begun_at) = (cycle.pod.clone(), cycle.plan.clone(), cycle.begun_at);
        cycle.reuse(pod, plan, begun_at);
        Flow::Go(Stage::Look)
    }

    /// Whether the pod still needs the room that the plan makes, and gets it from these victims.
    fn still_helps(&mut self, cycle: &mut Cycle, plan: &PreemptionPlan, now: Moment) -> bool {
        let columns = self.ledger.columns();
        let node = columns.index_of(&plan.node);
        let Some(node) = node.filter(|node| columns.nodes().contains(*node)) else {
            return false;
        };
        let refused = match self.examine(cycle, now) {
            Look::Candidates => {
                cycle.candidates().contains(node)
                    && self.filter_pass(cycle, Scope::Nominated(node), now).is_ok()
                    && Rejections::by_filters(&cycle.verdicts).code_of(node) == Code::Unschedulable
            }
            Look::Rejected(status) => status.code == Code::Unschedulable,
            Look::Failed(_) => false,
        };
        let Some(terms) = cycle.post_filtering.terms.filter(|_| refused) else {
            return false;
        };
        let planned: BTreeSet<&Uid> = plan.victims.iter().map(|victim| &victim.pod.uid).collect();
        if cycle
            .plan
            .extenders(&cycle.pod)
            .any(|(_, extender)| extender.preempts())
        {
            // Whom to evict was theirs to say.
            let there = self.ledger.guests_below(&plan.node, cycle.pod.priority());
            let going = there.filter(|guest| planned.contains(&guest.pod.uid) && !guest.pod.is_terminating());
            return going.count() == planned.len();
        }
        let nominations = &self.nominations;
        let mut search = Search::new(
            cycle,
            &mut self.ledger,
            nominations,
            (&terms, &self.memory),
            &[node],
            now,
        );
        let Found::Candidates(candidates) = search.run(&[node], 0, 1) else {
            return false;
        };
        let victims = candidates.iter().flat_map(|candidate| &candidate.victims);
        let wanted: BTreeSet<&Uid> = victims
            .filter(|pod| !pod.is_terminating())
            .map(|pod| &pod.uid)
            .collect();
        wanted == planned
    }
}
