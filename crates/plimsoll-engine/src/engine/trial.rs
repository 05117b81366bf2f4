use std::sync::Arc;

use plimsoll_model::{Moment, Pod};

use super::Engine;
use super::attempt::no_nodes;
use crate::cycle::{Cycle, Look, Scope};
use crate::trial::{NodeTrial, Trial};

impl Engine {
    /// Tries the pod on every node without placing it; `None` when no profile has its `schedulerName`.
    ///
    /// The pod need not be one that the stream has told of. No cycle may be waiting, since the columns are shared with it.
    pub fn try_out(&mut self, pod: &Arc<Pod>, now: Moment) -> Option<Trial> {
        debug_assert!(!self.is_waiting(), "cycles are serial");
        let plan = self.plan_for(pod).map(Arc::clone)?;
        let mut cycle = Cycle::new(Arc::clone(pod), plan, now);
        let mut trial = Trial::default();
        if let Err(message) = self.try_nodes(&mut cycle, &mut trial, now) {
            trial.failure = Some(message);
        }
        Some(trial)
    }

    fn try_nodes(&mut self, cycle: &mut Cycle, trial: &mut Trial, now: Moment) -> Result<(), String> {
        if self.ledger.columns().node_count() == 0 {
            trial.diagnosis = Some(no_nodes(cycle));
            return Ok(());
        }
        match self.examine(cycle, now) {
            Look::Candidates => {}
            Look::Failed(message) => return Err(message),
            Look::Rejected(status) => {
                trial.diagnosis = Some(cycle.explain_rejection(&status, self.ledger.columns()));
                trial.rejection = Some(status);
                return Ok(());
            }
        }
        trial.restriction = cycle.restriction(self.ledger.columns());
        self.filter_pass(cycle, Scope::All, now)?;
        let columns = self.ledger.columns();
        let nodes = columns.nodes().iter().map(|node| NodeTrial {
            name: columns.name(node).into(),
            rejection: cycle.rejection_of(node, columns, now),
        });
        trial.nodes = nodes.collect();
        if cycle.verdicts.feasible().is_empty() {
            trial.diagnosis = Some(cycle.explain(columns, now));
        } else {
            cycle.rate(columns, now, &mut trial.scores)?;
        }
        Ok(())
    }
}
