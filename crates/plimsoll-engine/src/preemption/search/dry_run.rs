use std::sync::Arc;

use plimsoll_framework::Verdict;
use plimsoll_model::Pod;
use plimsoll_model::columns::NodeIndex;

use super::{Search, Tried};
use crate::ledger::Guest;
use crate::preemption::Candidate;
use crate::preemption::budgets::Budgets;
use crate::preemption::importance::by_importance;

/// The pods that can't stay, the most important first, and how many of them no budget allows to go.
struct Victims {
    pods: Vec<Arc<Pod>>,
    violations: i64,
}

/// How pods are taken off a node for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Depth {
    /// Whole: filters see whatever they like.
    Whole,
    /// What they request only: no filter sees more.
    Requests,
}

impl Search<'_> {
    /// Tries one node without its less important pods, and how many of them can stay after all.
    pub(super) fn attempt(&mut self, node: NodeIndex) -> Tried {
        let priority = self.cycle.pod.priority();
        if self.ledger.columns().pod_count_below(node, priority) == 0 {
            return Tried::NoVictims;
        }
        let contested = self.contenders.contains_key(&node);
        let judged = self.hopeless.as_ref().filter(|_| !contested || self.sparing.is_idle());
        let judged = judged.map(|verdicts| verdicts.of(node));
        let by_sums = judged.is_some() && self.live.see_requests_only;
        if let Some(verdict) = judged.filter(|verdict| is_rejection(*verdict)) {
            let tried = Tried::Rejected(verdict);
            return if contested {
                self.as_if_tried_whole(node, tried)
            } else {
                tried
            };
        }
        if contested {
            let tried = self.try_out(node, by_sums);
            return self.as_if_tried_whole(node, tried);
        }
        if !(by_sums && self.recalls) {
            return self.try_out(node, by_sums);
        }
        if let Some(candidate) = self.recalled(node) {
            if cfg!(debug_assertions) {
                let tried = self.try_out(node, by_sums);
                assert_eq!(tried.candidate(), Some(&candidate), "as when it is tried");
            }
            return Tried::Candidate(candidate);
        }
        let tried = self.try_out(node, by_sums);
        if let (Some(candidate), Some(known)) = (tried.candidate(), self.cycle.known.as_mut()) {
            known.trials.keep(node, candidate, self.ledger);
        }
        tried
    }

    fn recalled(&self, node: NodeIndex) -> Option<Candidate> {
        let known = self.cycle.known.as_ref()?;
        known.trials.candidate(node, self.ledger).cloned()
    }

    /// The same, having made sure in debug builds that taking whole pods off the node comes to it too.
    fn as_if_tried_whole(&mut self, node: NodeIndex, tried: Tried) -> Tried {
        if cfg!(debug_assertions) {
            assert_eq!(tried, self.try_out(node, false), "as with whole pods");
        }
        tried
    }

    /// Tries it, whatever is known of it.
    fn try_out(&mut self, node: NodeIndex, by_sums: bool) -> Tried {
        let priority = self.cycle.pod.priority();
        let name = self.ledger.columns().name(node).to_owned();
        let mut guests: Vec<Guest> = self.ledger.guests_below(&name, priority).collect();
        let everyone = guests.len();
        if let Err(text) = self.sparing.thin(&name, &mut guests) {
            return Tried::Spared(text);
        }
        if guests.is_empty() {
            return Tried::NoVictims;
        }
        guests.sort_by(|a, b| by_importance(&a.pod, &b.pod));
        let is_judged = by_sums && guests.len() == everyone;
        let depth = if by_sums { Depth::Requests } else { Depth::Whole };
        match self.without(node, &guests, depth, is_judged) {
            Err(tried) => tried,
            Ok(victims) if victims.pods.is_empty() => {
                Tried::Failed(format!("expected at least one victim pod on node {name:?}"))
            }
            Ok(victims) => Tried::Candidate(Candidate {
                node: name.into(),
                victims: victims.pods,
                violations: victims.violations,
            }),
        }
    }

    /// Takes all of them off, puts back who can stay, and then the others: afterwards all is as before.
    fn without(&mut self, node: NodeIndex, guests: &[Guest], depth: Depth, is_judged: bool) -> Result<Victims, Tried> {
        for guest in guests {
            self.take_off(node, guest, depth);
        }
        let mut stays = vec![false; guests.len()];
        let victims = if is_judged {
            Ok(self.reprieve(node, guests, depth, &mut stays))
        } else {
            let contenders = self.contenders.get(&node).map_or(&[][..], Vec::as_slice);
            let columns = self.ledger.columns_mut();
            match self.cycle.judge(node, None, contenders, columns, self.now) {
                Ok(verdict) if is_rejection(verdict) => Err(Tried::Rejected(verdict)),
                Ok(_) => Ok(self.reprieve(node, guests, depth, &mut stays)),
                Err(text) => Err(Tried::Failed(text)),
            }
        };
        for (guest, _) in guests.iter().zip(stays).rev().filter(|(_, stays)| !stays) {
            self.put_on(node, guest, depth);
        }
        victims
    }

    /// Lets pods stay as far as the pod still fits: those first that no budget allows to go, and always the more important
    /// ones first.
    fn reprieve(&mut self, node: NodeIndex, guests: &[Guest], depth: Depth, stays: &mut [bool]) -> Victims {
        let violating = if self.sparing.keeps_budgets() {
            vec![false; guests.len()]
        } else {
            Budgets::violating(self.ledger, guests.iter().map(|guest| &guest.pod))
        };
        let mut pods = Vec::new();
        let mut violations = 0;
        for wanted in [true, false] {
            for at in (0..guests.len()).filter(|at| violating[*at] == wanted) {
                self.put_on(node, &guests[at], depth);
                stays[at] = self.still_fits(node);
                if !stays[at] {
                    self.take_off(node, &guests[at], depth);
                    pods.push(Arc::clone(&guests[at].pod));
                    violations += i64::from(wanted);
                }
            }
        }
        pods.sort_by(|a, b| by_importance(a, b));
        Victims { pods, violations }
    }

    /// Whether the node does for the pod as the columns are now, by the filters that see pods. A filter that fails counts as
    /// one that rejects.
    fn still_fits(&mut self, node: NodeIndex) -> bool {
        let live = Some(self.live.numbers.as_slice());
        let contenders = self.contenders.get(&node).map_or(&[][..], Vec::as_slice);
        let columns = self.ledger.columns_mut();
        let verdict = self.cycle.judge(node, live, contenders, columns, self.now);
        verdict.is_ok_and(|verdict| !is_rejection(verdict))
    }

    fn take_off(&mut self, node: NodeIndex, guest: &Guest, depth: Depth) {
        let columns = self.ledger.columns_mut();
        match depth {
            Depth::Requests => columns.remove_requests(node, &guest.footprint),
            Depth::Whole => {
                let name = columns.name(node).to_owned();
                columns.remove_pod(&name, &guest.footprint);
            }
        }
    }

    fn put_on(&mut self, node: NodeIndex, guest: &Guest, depth: Depth) {
        let columns = self.ledger.columns_mut();
        match depth {
            Depth::Requests => columns.add_requests(node, &guest.footprint),
            Depth::Whole => {
                let name = columns.name(node).to_owned();
                columns.add_pod(&name, &guest.footprint);
            }
        }
    }
}

fn is_rejection(verdict: Verdict) -> bool {
    verdict.filter().is_some()
}
