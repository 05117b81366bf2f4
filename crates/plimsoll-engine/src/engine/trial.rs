use std::sync::Arc;

use plimsoll_framework::{CycleContext, Status};
use plimsoll_model::storage::VolumeReservation;
use plimsoll_model::{Moment, Pod};

use super::Engine;
use super::attempt::{Flow, Stage, no_nodes};
use crate::Outcome;
use crate::cycle::{Cycle, Look, Scope};
use crate::trial::{NodeTrial, PreemptionTrial, Trial};

impl Engine {
    /// Tries the pod on every node without placing it; `None` when no profile has its `schedulerName`.
    ///
    /// The pod need not be one that the stream has told of. No cycle may be waiting, since the columns are shared with it.
    pub fn try_out(&mut self, pod: &Arc<Pod>, now: Moment) -> Option<Trial> {
        self.try_in_cycle(pod, now).map(|(_, trial)| trial)
    }

    /// As [`Engine::try_out`], and lets the plugins reserve on each node that will do, and take it back at once. What they
    /// hold of storage is told and not kept.
    pub fn try_out_reserving(&mut self, pod: &Arc<Pod>, now: Moment) -> Option<Trial> {
        let (mut cycle, mut trial) = self.try_in_cycle(pod, now)?;
        let tried = trial
            .feasible()
            .map(|node| self.try_reserving(&mut cycle, &node.name, now));
        trial.reservations = tried.collect();
        Some(trial)
    }

    fn try_in_cycle(&mut self, pod: &Arc<Pod>, now: Moment) -> Option<(Cycle, Trial)> {
        debug_assert!(!self.is_waiting(), "cycles are serial");
        let plan = self.plan_for(pod).map(Arc::clone)?;
        let mut cycle = Cycle::new(Arc::clone(pod), plan, now);
        let mut trial = Trial::default();
        if let Err(message) = self.try_nodes(&mut cycle, &mut trial, now) {
            trial.failure = Some(message);
        }
        Some((cycle, trial))
    }

    fn try_reserving(&self, cycle: &mut Cycle, node: &str, now: Moment) -> Result<VolumeReservation, Status> {
        let context = CycleContext {
            pod: &cycle.pod,
            columns: self.ledger.columns(),
            now,
        };
        let plugins = &cycle.plan.profile.reserve;
        let mut each = plugins.iter();
        let reserved = each.try_for_each(|plugin| plugin.reserve(context, &mut cycle.state, node));
        let volumes = cycle.state.take_reservation().unwrap_or_default();
        for plugin in plugins.iter().rev() {
            plugin.unreserve(&cycle.pod, &mut cycle.state, node);
        }
        reserved.map(|()| volumes)
    }

    /// Tries to make room for the pod without doing anything; `None` when some node will do for it as it is, when the attempt
    /// fails, or when no profile has its `schedulerName`. As with [`Engine::try_out`] extenders are not asked.
    pub fn preemption_trial(&mut self, pod: &Arc<Pod>, now: Moment) -> Option<PreemptionTrial> {
        debug_assert!(!self.is_waiting(), "cycles are serial");
        let plan = self.plan_for(pod).map(Arc::clone)?;
        let mut cycle = Cycle::new(Arc::clone(pod), plan, now);
        cycle.post_filtering.exhaustive = true;
        let mut trial = Trial::default();
        self.try_nodes(&mut cycle, &mut trial, now).ok()?;
        let diagnosis = trial.diagnosis.filter(|diagnosis| !diagnosis.no_nodes)?;
        cycle.begin_post_filters(diagnosis, trial.rejection);
        let mut stage = Stage::PostFilter;
        loop {
            let flow = match stage {
                Stage::AskAboutVictims(_) => Flow::Go(Stage::Victims),
                Stage::Victims => self.take_victims(&mut cycle),
                _ => self.post_filter(&mut cycle, now),
            };
            match flow {
                Flow::Go(next) => stage = next,
                Flow::Done(Outcome::Unschedulable(diagnosis)) => {
                    return Some(PreemptionTrial {
                        diagnosis,
                        candidates: cycle.post_filtering.candidates,
                    });
                }
                Flow::Done(_) | Flow::Wait(_) => return None,
            }
        }
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
