use plimsoll_framework::{Code, CycleContext, Nomination, Rejections, Status};
use plimsoll_model::Moment;
use plimsoll_model::columns::Columns;

use super::Cycle;
use crate::Diagnosis;

impl Cycle {
    /// Lets the post-filters try to make the pod schedulable. What they say is added to the text, and what becomes of the
    /// nomination is theirs to say. `whole` is why the pre-filters turned the pod away as a whole, if they did.
    pub(crate) fn post_filter(
        &mut self,
        diagnosis: &mut Diagnosis,
        whole: Option<&Status>,
        columns: &Columns,
        now: Moment,
    ) {
        if self.plan.profile.post_filter.is_empty() {
            return;
        }
        let (nomination, reasons) = self.ask_post_filters(whole, columns, now);
        diagnosis.nominate = nomination;
        let message = reasons.join(", ");
        if !message.is_empty() {
            diagnosis.message.push(' ');
            diagnosis.message.push_str(&message);
        }
    }

    fn ask_post_filters(
        &mut self,
        whole: Option<&Status>,
        columns: &Columns,
        now: Moment,
    ) -> (Nomination, Vec<String>) {
        let context = CycleContext {
            pod: &self.pod,
            columns,
            now,
        };
        let rejections = match whole {
            Some(status) => Rejections::of_all_nodes(status.code),
            None => Rejections::by_filters(&self.verdicts),
        };
        let mut nomination = Nomination::Keep;
        let mut reasons = Vec::new();
        for plugin in &self.plan.profile.post_filter {
            let outcome = plugin.post_filter(context, &mut self.state, rejections);
            match outcome.status.code {
                Code::Success | Code::UnschedulableAndUnresolvable => {
                    return (outcome.nomination, outcome.status.reasons);
                }
                Code::Unschedulable | Code::Pending => {
                    if outcome.nomination != Nomination::Keep {
                        nomination = outcome.nomination;
                    }
                    reasons.extend(outcome.status.reasons);
                }
                Code::Error | Code::Wait | Code::Skip => return (Nomination::Keep, outcome.status.reasons),
            }
        }
        (nomination, reasons)
    }
}
