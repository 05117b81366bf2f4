//! Preemption as a step of a cycle: who may go is found out here, what is then to be done outside is told in the diagnosis.

use std::sync::Arc;

use plimsoll_framework::{Code, DisruptionBudgetPolicy, Nomination, PostFilterOutcome, PreemptionTerms, Status};
use plimsoll_model::columns::NodeIndex;
use plimsoll_model::{Moment, Pod, Uid};

use super::Engine;
use super::attempt::{Flow, Stage};
use crate::cycle::Cycle;
use crate::cycle::scoring::draw;
use crate::preemption::{Candidate, Found, Search, choose, ineligible};
use crate::{PreemptionPlan, Removal, Victim};

/// What came of looking for pods to evict.
pub(super) enum Sought {
    /// There are candidates; they wait in the cycle.
    Candidates,
    /// There are none.
    Outcome(PostFilterOutcome),
}

impl Engine {
    /// Looks for nodes where evicting less important pods makes room.
    pub(super) fn seek_victims(
        &mut self,
        cycle: &mut Cycle,
        (plugin, terms): (&'static str, &PreemptionTerms),
        now: Moment,
    ) -> Sought {
        cycle.note_preemption();
        let nominated_to = cycle.pod.status.nominated_node_name.clone();
        let nominated_to = nominated_to.or_else(|| self.nominations.node_of(&cycle.pod.uid).cloned());
        let (nominated_to, budgets) = (nominated_to.as_deref(), terms.disruption_budgets);
        if let Some(reason) = ineligible(&cycle.pod, nominated_to, cycle.rejections(), &self.ledger, budgets) {
            return Sought::Outcome(said(Nomination::Keep, Code::Unschedulable, reason));
        }
        let potential = self.potential_nodes(cycle);
        let (start, wanted) = self.sample_candidates(cycle, terms, potential.len());
        let mut search = Search::new(
            cycle,
            &mut self.ledger,
            &self.nominations,
            (terms, &self.memory),
            &potential,
            now,
        );
        let found = search.run(&potential, start, wanted);
        let hindrance = search.hindrance();
        match found {
            Found::Candidates(candidates) => {
                cycle.post_filtering.candidates = candidates;
                cycle.post_filtering.terms = Some(*terms);
                Sought::Candidates
            }
            Found::Nothing(message) => {
                cycle.note_hindrance(&hindrance, plugin);
                Sought::Outcome(said(Nomination::Clear, Code::Unschedulable, &message))
            }
            Found::Failure(message) => Sought::Outcome(said(Nomination::Keep, Code::Error, &message)),
        }
    }

    /// The nodes where removing pods could help, in the order in which nodes are looked at.
    fn potential_nodes(&mut self, cycle: &Cycle) -> Vec<NodeIndex> {
        let potential = cycle.rejections().resolvable(self.ledger.columns());
        let order = self.ledger.node_order();
        order.iter().copied().filter(|node| potential.contains(*node)).collect()
    }

    /// Where to begin among the potential nodes, and how many candidates are enough.
    fn sample_candidates(&mut self, cycle: &Cycle, terms: &PreemptionTerms, nodes: usize) -> (usize, usize) {
        if nodes == 0 || cycle.post_filtering.exhaustive {
            return (0, nodes);
        }
        (draw(&mut self.ties, nodes), candidates_wanted(terms, nodes))
    }

    /// Takes the candidate that hurts least. An extender may have had its say on the candidates before.
    pub(super) fn take_victims(&mut self, cycle: &mut Cycle) -> Flow {
        let chosen = choose(&cycle.post_filtering.candidates).cloned();
        let terms = cycle.post_filtering.terms;
        let (outcome, plan) = if let Some((candidate, terms)) = chosen.zip(terms) {
            let outcome = PostFilterOutcome::nominate(candidate.node.clone());
            (outcome, self.plan_preemption(&cycle.pod, candidate, &terms))
        } else {
            // A node that it was nominated to has turned it away by now, or there would be no preemption.
            let reason = "no candidate node for preemption";
            (said(Nomination::Clear, Code::Unschedulable, reason), None)
        };
        cycle.heed(outcome, plan);
        Flow::Go(Stage::PostFilter)
    }

    /// What is to be done so that the candidate becomes a node for the pod. Nothing, if all victims are going already and
    /// nobody waits for more.
    fn plan_preemption(
        &self,
        preemptor: &Arc<Pod>,
        candidate: Candidate,
        terms: &PreemptionTerms,
    ) -> Option<PreemptionPlan> {
        let chosen = candidate.victims.len();
        let victims: Vec<Victim> = candidate
            .victims
            .into_iter()
            .filter(|pod| !pod.is_terminating())
            .filter_map(|pod| self.victim(pod))
            .collect();
        if victims.is_empty() && terms.asynchronous {
            return None;
        }
        let lower = self.nominations.below(&candidate.node, preemptor.priority());
        Some(PreemptionPlan {
            preemptor: Arc::clone(preemptor),
            clear_nominations: lower.cloned().collect(),
            node: candidate.node,
            victims,
            chosen,
            removal: match terms.disruption_budgets {
                DisruptionBudgetPolicy::Soft => Removal::Delete,
                DisruptionBudgetPolicy::Hard => Removal::Evict,
            },
            asynchronous: terms.asynchronous,
        })
    }

    /// None for a pod that counted by a claim which has ended meanwhile: it is not there any more.
    fn victim(&self, pod: Arc<Pod>) -> Option<Victim> {
        if pod.node_name().is_some() {
            return Some(Victim { pod, claim: None });
        }
        let claim = self.ledger.claim_of(&pod.uid)?;
        Some(Victim {
            pod,
            claim: Some(claim),
        })
    }

    /// A plan is final: less important pods lose their nominations to its node at once, so that no cycle counts on them.
    /// Its evictions are remembered for as long as other attempts must know of them.
    pub(super) fn settle_plan(&mut self, plan: &PreemptionPlan, terms: Option<PreemptionTerms>, now: Moment) {
        for pod in &plan.clear_nominations {
            self.nominations.remove(&pod.uid);
        }
        let window = terms.and_then(|terms| terms.loop_window);
        let priority = plan.preemptor.priority();
        let there: Vec<_> = match window {
            Some(_) => self.ledger.guests_below(&plan.node, priority).collect(),
            None => Vec::new(),
        };
        self.memory
            .note(plan, there.iter().map(|guest| guest.pod.as_ref()), window, now);
    }

    /// These pods were to be evicted and are not: they do not count against their disruption budgets any more.
    pub fn eviction_failed(&mut self, pods: &[Uid]) {
        for uid in pods {
            self.memory.eviction_failed(uid);
        }
    }
}

/// What comes back from outside.
impl Engine {
    /// The plan for this pod was not carried out, before anybody else was tried: it is nominated no more than its status says.
    pub fn preemption_failed(&mut self, preemptor: &Arc<Pod>) {
        self.nominations.restore(preemptor);
    }
}

/// As kube-scheduler: a share of the potential nodes, or so many, and never more than there are.
fn candidates_wanted(terms: &PreemptionTerms, nodes: usize) -> usize {
    let percentage = usize::try_from(terms.min_candidate_nodes_percentage).unwrap_or(0);
    let absolute = usize::try_from(terms.min_candidate_nodes_absolute).unwrap_or(0);
    (nodes.saturating_mul(percentage) / 100).max(absolute).min(nodes)
}

pub(super) fn said(nomination: Nomination, code: Code, message: &str) -> PostFilterOutcome {
    PostFilterOutcome {
        nomination,
        status: Status::new(code, "", format!("preemption: {message}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_candidates_are_wanted() {
        let cases = [
            (10, 100, 50, 50),
            (10, 100, 1000, 100),
            (10, 100, 2000, 200),
            (100, 0, 7, 7),
            (10, 0, 5, 0),
            (0, 1, 5, 1),
        ];
        for (percentage, absolute, nodes, expected) in cases {
            let terms = PreemptionTerms {
                min_candidate_nodes_percentage: percentage,
                min_candidate_nodes_absolute: absolute,
                disruption_budgets: DisruptionBudgetPolicy::Soft,
                loop_window: None,
                asynchronous: true,
            };
            let wanted = candidates_wanted(&terms, nodes);
            assert_eq!(wanted, expected, "{percentage} % or {absolute} of {nodes}");
        }
    }
}
