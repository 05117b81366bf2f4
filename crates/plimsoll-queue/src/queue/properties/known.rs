use std::sync::Arc;

use plimsoll_model::{Moment, Pod};

use super::super::fixture::Fixture;
use crate::backoff;

/// What the naive model knows of a pod, whether it is pending or not.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) pod: Arc<Pod>,
    pub(super) arrival: u64,
    pub(super) timestamp: Moment,
    pub(super) rejections: u32,
    pub(super) errors: u32,
    /// Exists and has no node.
    pub(super) pending: bool,
    pub(super) attempt: Option<Attempt>,
    /// It was held, and since then its victims are going.
    pub(super) waits_for_victims: Option<Moment>,
}

/// An attempt under way as the model sees it.
#[derive(Debug, Clone, Default)]
pub(super) struct Attempt {
    pub(super) popped_at: u64,
    /// Numbers of the changes since the pop that may help, each with the priority that a pod must not exceed for that, if any.
    pub(super) changes: Vec<(u64, Option<i32>)>,
    /// Whether something came that is replayed whatever the columns knew.
    pub(super) unnumbered: bool,
}

impl Attempt {
    /// Whether something that may help was not seen when the attempt was judged: going by the pod as it is now, as its
    /// settlement does, not as it was then.
    pub(super) fn missed(&self, judged_at: u64, pod: &Pod) -> bool {
        let helps = |most: Option<i32>| most.is_none_or(|most| pod.priority() <= most);
        let mut changes = self.changes.iter();
        self.unnumbered || changes.any(|(seq, most)| *seq > judged_at && helps(*most))
    }
}

impl Known {
    pub(super) fn until(&self, f: &Fixture) -> Moment {
        let failures = if self.errors > 0 { self.errors } else { self.rejections };
        let since = self
            .waits_for_victims
            .map_or(self.timestamp, |going| going.max(self.timestamp));
        backoff::until(&f.queue.config, failures, since).unwrap_or(Moment::ZERO)
    }
}
