use std::cmp::Ordering;

use plimsoll_model::{Pod, Timestamp};

/// The more important pod first: the one of higher priority, then the one that has run for longer.
pub(super) fn by_importance(a: &Pod, b: &Pod) -> Ordering {
    let by_priority = b.priority().cmp(&a.priority());
    by_priority.then_with(|| started(a).cmp(&started(b)))
}

/// When a pod started, for comparison: one that has not is taken to start now, after all others.
pub(super) fn started(pod: &Pod) -> (bool, Option<&Timestamp>) {
    let start_time = pod.status.start_time.as_ref();
    (start_time.is_none(), start_time)
}
