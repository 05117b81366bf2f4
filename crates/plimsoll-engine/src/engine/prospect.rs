use std::sync::Arc;

use plimsoll_model::{Moment, Pod};

use super::Engine;
use crate::cycle::{Cycle, Look};
use crate::{NearNode, Prospect};

impl Engine {
    /// What would help the pod; `None` when no profile takes it. Nothing is claimed, nominated or drawn. No cycle may be
    /// waiting, since the columns are shared with it.
    pub fn prospect(&mut self, pod: &Arc<Pod>, now: Moment) -> Option<Prospect> {
        debug_assert!(!self.is_waiting(), "cycles are serial");
        let plan = self.plan_for(pod).map(Arc::clone)?;
        let mut cycle = Cycle::new(Arc::clone(pod), plan, now);
        let mut prospect = Prospect {
            nodes: self.ledger.columns().node_count(),
            ..Prospect::default()
        };
        if prospect.nodes > 0
            && let Err(message) = self.look_ahead(&mut cycle, &mut prospect, now)
        {
            prospect.failure = Some(message);
        }
        Some(prospect)
    }

    fn look_ahead(&mut self, cycle: &mut Cycle, prospect: &mut Prospect, now: Moment) -> Result<(), String> {
        match self.examine(cycle, now) {
            Look::Candidates => {}
            Look::Failed(message) => return Err(message),
            Look::Rejected(status) => {
                prospect.rejection = Some(status);
                return Ok(());
            }
        }
        let restricting = cycle.restricting();
        if !restricting.is_empty() {
            prospect.restricted = Some((restricting.to_vec(), cycle.candidates().len()));
        }
        let survey = cycle.survey(self.ledger.columns(), now)?;
        prospect.nearest = cycle.nearest(&survey, self.ledger.columns(), now);
        let left = cycle.unrejected(&survey);
        let contenders = self.nominations.contenders(&cycle.pod, &left, self.ledger.columns());
        let contested = cycle.contested_among(&contenders, self.ledger.columns_mut(), now)?;
        let columns = self.ledger.columns();
        let is_contested = |near: &&mut NearNode| {
            let node = columns.index_of(&near.name);
            node.is_some_and(|node| contested.contains(node))
        };
        for near in prospect.nearest.iter_mut().filter(is_contested) {
            let ahead = self.nominations.ahead_of(&cycle.pod, &near.name);
            near.kept_for = ahead.map(|pod| pod.name.clone()).collect();
        }
        // A node that is free comes before one that is kept for others.
        prospect
            .nearest
            .sort_by_key(|near| (near.lacks.len(), !near.kept_for.is_empty()));
        Ok(())
    }
}
