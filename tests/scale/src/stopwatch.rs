use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

#[expect(
    clippy::disallowed_methods,
    reason = "how long it takes is what is measured; nothing is decided by it"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// The processor time of this thread. On a machine that does other things too, it still says what was done here.
pub(crate) fn spent() -> Duration {
    let spent = clock_gettime(ClockId::ThreadCPUTime);
    let (seconds, nanoseconds) = (spent.tv_sec, spent.tv_nsec);
    Duration::new(seconds.try_into().unwrap_or(0), nanoseconds.try_into().unwrap_or(0))
}
