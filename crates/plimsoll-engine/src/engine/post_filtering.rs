use plimsoll_framework::{Code, ExtensionPoint};
use plimsoll_model::Moment;

use super::Engine;
use super::attempt::{Flow, Stage, no_nodes};
use super::preempting::Sought;
use crate::Outcome;
use crate::cycle::Cycle;

impl Engine {
    /// Asks the next post-filter. One that leaves preemption to the engine is not asked itself.
    pub(super) fn post_filter(&mut self, cycle: &mut Cycle, now: Moment) -> Flow {
        let Some(plugin) = cycle.next_post_filter() else {
            return end(cycle, now);
        };
        let outcome = match plugin.preempts() {
            None => cycle.ask_post_filter(plugin.as_ref(), self.ledger.columns(), now),
            Some(terms) => {
                let begun = cycle.timing.plugin_begins();
                let sought = self.seek_victims(cycle, (plugin.name(), &terms), now);
                let code = match &sought {
                    Sought::Candidates => Code::Success,
                    Sought::Outcome(outcome) => outcome.status.code,
                };
                cycle
                    .timing
                    .plugin_ended(begun, plugin.name(), ExtensionPoint::PostFilter, code, 0);
                match sought {
                    Sought::Candidates => return Flow::Go(Stage::AskAboutVictims(0)),
                    Sought::Outcome(outcome) => outcome,
                }
            }
        };
        cycle.heed(outcome, None);
        Flow::Go(Stage::PostFilter)
    }
}

fn end(cycle: &mut Cycle, now: Moment) -> Flow {
    let diagnosis = cycle.end_post_filters(now).unwrap_or_else(|| no_nodes(cycle));
    Flow::Done(Outcome::Unschedulable(diagnosis))
}
