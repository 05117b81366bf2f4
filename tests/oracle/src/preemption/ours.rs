use crate::case::Case;
use crate::preemption::PreemptionAnswer;

pub(super) fn judge(_case: &Case) -> PreemptionAnswer {
    PreemptionAnswer::default()
}
