use plimsoll_model::Moment;
use plimsoll_telemetry::PageOf;

use super::SchedulingQueueState;
use crate::debugging::{QueueDump, QueueListing};
use crate::wall_times::WallTimes;

impl SchedulingQueueState {
    /// A page; one that begins nowhere is empty.
    pub(super) fn list(&self, page: &PageOf, now: Moment) -> QueueListing {
        let start = page.after.as_deref().map_or(Ok(0), str::parse);
        let page = self.queue.page(start.unwrap_or(usize::MAX), page.limit);
        QueueListing {
            counts: self.queue.counts(),
            pods: page.pods,
            next: page.next,
            times: WallTimes::new(now, self.clock.wall()),
        }
    }

    pub(super) fn dump(&self) -> QueueDump {
        QueueDump {
            counts: self.queue.counts(),
            pods: self.queue.page(0, usize::MAX).pods,
        }
    }
}
