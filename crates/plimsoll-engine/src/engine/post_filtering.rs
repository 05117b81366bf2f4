use super::Engine;
use super::attempt::{Flow, Stage};
use super::preempting::Sought;
use crate::Outcome;
use crate::cycle::Cycle;
use plimsoll_model::Moment;

impl Engine {
    /// Asks the next post-filter. One that leaves preemption to the engine is not asked itself.
    pub(super) fn post_filter(&mut self, cycle: &mut Cycle, now: Moment) -> Flow {
        let Some(plugin) = cycle.next_post_filter() else {
            return self.end_post_filters(cycle);
        };
        let outcome = match plugin.preempts() {
            None => cycle.ask_post_filter(plugin.as_ref(), self.ledger.columns(), now),
            Some(terms) => match self.seek_victims(cycle, &terms, now) {
                Sought::Candidates => return Flow::Go(Stage::Victims),
                Sought::Outcome(outcome) => outcome,
            },
        };
        cycle.heed(outcome, None);
        Flow::Go(Stage::PostFilter)
    }

    fn end_post_filters(&mut self, cycle: &mut Cycle) -> Flow {
        let diagnosis = cycle
            .end_post_filters()
            .unwrap_or_else(|| super::attempt::no_nodes(cycle));
        Flow::Done(Outcome::Unschedulable(diagnosis))
    }
}
