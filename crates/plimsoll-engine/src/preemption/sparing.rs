use plimsoll_framework::{DisruptionBudgetPolicy, PreemptionTerms};
use plimsoll_model::{Moment, Pod};

use super::hard_budgets::HardBudgets;
use super::importance::by_importance;
use super::memory::Memory;
use super::recent::Barred;
use crate::ledger::{Guest, Ledger};

/// What users read of nodes on which budgets leave nobody to evict.
const ALL_SPARED: &str = "Pod disruption budgets spare all victims";

/// What one attempt at preemption leaves alone beyond what kube-scheduler would: nothing, unless the profile asks for it.
#[derive(Debug, Default)]
pub(super) struct Sparing<'m> {
    barred: Barred<'m>,
    hard: Option<HardBudgets>,
    hindrance: Hindrance,
}

/// What kept the attempt from a node that it might have taken otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Hindrance {
    /// When the first node becomes a candidate again that recent evictions speak against.
    pub(crate) until: Option<Moment>,
    /// Whether disruption budgets spared somebody.
    pub(crate) budgets: bool,
    /// Numbers of the filters that turned nodes down even without the pods that may go, each once.
    pub(crate) filters: Vec<u8>,
}

impl<'m> Sparing<'m> {
    pub(super) fn for_attempt(
        terms: &PreemptionTerms,
        pod: &Pod,
        ledger: &Ledger,
        memory: &'m Memory,
        now: Moment,
    ) -> Self {
        let barred = match terms.loop_window {
            Some(_) => memory.against(pod, now),
            None => Barred::default(),
        };
        let hard = terms.disruption_budgets == DisruptionBudgetPolicy::Hard;
        Self {
            barred,
            hard: hard.then(|| HardBudgets::new(ledger.budgets(), memory.under_way(), now)),
            hindrance: Hindrance::default(),
        }
    }

    /// Whether it leaves nothing alone.
    pub(super) fn is_idle(&self) -> bool {
        self.barred.is_empty() && self.hard.is_none()
    }

    /// Takes those away from the potential victims on a node that must stay; or says why the node is no candidate at all.
    pub(super) fn thin(&mut self, node: &str, guests: &mut Vec<Guest>) -> Result<(), &'static str> {
        if !self.barred.is_empty() {
            let pods = guests.iter().map(|guest| guest.pod.as_ref());
            if let Some((bar, until)) = self.barred.judge(node, &pods) {
                let first = self.hindrance.until.map_or(until, |first| first.min(until));
                self.hindrance.until = Some(first);
                return Err(bar.reason());
            }
        }
        let Some(hard) = &self.hard else { return Ok(()) };
        guests.sort_by(|a, b| by_importance(&a.pod, &b.pod));
        let spared = hard.spared(guests.iter().map(|guest| guest.pod.as_ref()));
        self.hindrance.budgets |= spared.contains(&true);
        let mut spared = spared.into_iter();
        guests.retain(|_| !spared.next().unwrap_or(false));
        if guests.is_empty() { Err(ALL_SPARED) } else { Ok(()) }
    }

    /// Whether whoever is left may be evicted as far as budgets go.
    pub(super) fn keeps_budgets(&self) -> bool {
        self.hard.is_some()
    }

    pub(super) fn hindrance(&self) -> Hindrance {
        self.hindrance.clone()
    }
}
