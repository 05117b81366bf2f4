use std::sync::Arc;

use plimsoll_client::{RateLimit, TermToken};
use plimsoll_config::SchedulerConfig;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

/// Holds bindings back to a rate of so many a second. What waits for its turn waits here and keeps no worker busy.
#[derive(Debug, Clone)]
pub(crate) struct BindPace {
    limit: Arc<RateLimit>,
    waiting: TaskTracker,
    token: Arc<TermToken>,
}

impl BindPace {
    /// The rate that is configured for a term; none when there is no limit.
    pub(crate) fn new(config: &SchedulerConfig, token: &Arc<TermToken>) -> Option<Self> {
        let limit = RateLimit::per_second(config.bind_pods_qps?, config.bind_pods_burst)?;
        Some(Self {
            limit: Arc::new(limit),
            waiting: TaskTracker::new(),
            token: Arc::clone(token),
        })
    }

    /// Goes on at once if it may, else when its turn has come, first come first served. A term that is over makes nobody
    /// wait: what then goes on finds out that it may not write.
    pub(crate) fn in_turn(&self, go_on: impl FnOnce() + Send + 'static) {
        let turn = self.limit.take_turn();
        if turn <= Instant::now() {
            return go_on();
        }
        let over = self.token.cancellation();
        self.waiting.spawn(async move {
            over.run_until_cancelled_owned(tokio::time::sleep_until(turn)).await;
            go_on();
        });
    }
}
