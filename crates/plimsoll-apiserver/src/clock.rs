//! Where the server's wall-clock time comes from.

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// The server's wall clock: what `creationTimestamp` and its kin are stamped with.
///
/// Timers (watch timeouts, bookmarks, injected latency) follow tokio's clock, never this one.
pub trait Clock: Send + Sync + 'static {
    /// The time now.
    fn now(&self) -> Timestamp;
}

impl<F: Fn() -> Timestamp + Send + Sync + 'static> Clock for F {
    fn now(&self) -> Timestamp {
        self()
    }
}

/// The operating system's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// A wall clock that starts at a given time and advances with tokio's clock, so that paused time pauses it as well.
#[derive(Clone, Copy, Debug)]
pub struct VirtualClock {
    epoch: Timestamp,
    started: Instant,
}

impl VirtualClock {
    /// A clock that reads `epoch` now. Outside a paused runtime it advances with real time.
    pub fn starting_at(epoch: Timestamp) -> Self {
        Self {
            epoch,
            started: Instant::now(),
        }
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        SignedDuration::try_from(self.started.elapsed())
            .ok()
            .and_then(|elapsed| self.epoch.checked_add(elapsed).ok())
            .unwrap_or(self.epoch)
    }
}

/// A time as `metav1.Time` writes it: UTC with whole seconds.
pub(crate) fn rfc3339_seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_virtual_clock_follows_paused_time() {
        let clock = VirtualClock::starting_at("2026-01-01T00:00:00Z".parse().expect("a time"));
        tokio::time::advance(Duration::from_millis(61_500)).await;
        assert_eq!(rfc3339_seconds(clock.now()), "2026-01-01T00:01:01Z");
    }
}
