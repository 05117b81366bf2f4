use std::sync::Arc;

use plimsoll_client::Clock;
use plimsoll_framework::Stopwatch;
use plimsoll_model::Moment;

/// Lets the core take times by the process's clock; on virtual time nothing inside of one message takes any.
#[derive(Debug)]
pub(crate) struct ClockStopwatch(pub(crate) Arc<dyn Clock>);

impl Stopwatch for ClockStopwatch {
    fn now(&self) -> Moment {
        self.0.now()
    }
}
