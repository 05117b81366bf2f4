use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use plimsoll_model::Moment;
use tokio::time::Instant;

/// The only source of time outside tokio's timers.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Time that never goes back and goes on while the machine is suspended: what deadlines of a term are made of.
    fn now(&self) -> Moment;

    /// The time of day, for texts that people and other programs read; it may jump and is never compared.
    fn wall(&self) -> Timestamp;
}

/// The operating system's clocks.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Moment {
        // CLOCK_MONOTONIC stands still during suspend on Linux: a lease could run out unnoticed.
        #[cfg(target_os = "linux")]
        let id = rustix::time::ClockId::Boottime;
        #[cfg(not(target_os = "linux"))]
        let id = rustix::time::ClockId::Monotonic;
        let time = rustix::time::clock_gettime(id);
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
        Moment::from_nanos(seconds.saturating_mul(1_000_000_000).saturating_add(nanos))
    }

    fn wall(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// A clock that follows tokio's timers, for simulations on paused time.
///
/// Each simulated machine may have its own: its wall clock may be skewed against the others, and it may be suspended.
#[derive(Debug)]
pub struct VirtualClock {
    started: Instant,
    start_wall: Timestamp,
    skew: SignedDuration,
    /// Parts per million by which it runs fast, or slow.
    drift: i64,
    suspended: AtomicU64,
}

impl VirtualClock {
    /// A clock whose wall time is `start_wall` now; its moments count from zero now.
    pub fn new(start_wall: Timestamp) -> Self {
        Self {
            started: Instant::now(),
            start_wall,
            skew: SignedDuration::ZERO,
            drift: 0,
            suspended: AtomicU64::new(0),
        }
    }

    /// The same clock with a wall time that is off by `skew`.
    #[must_use]
    pub fn with_skew(self, skew: SignedDuration) -> Self {
        Self { skew, ..self }
    }

    /// The same clock running fast by so many parts per million, or slow.
    #[must_use]
    pub fn with_drift(self, parts_per_million: i64) -> Self {
        Self {
            drift: parts_per_million,
            ..self
        }
    }

    /// Lets time pass that no timer of the process notices, as a suspended machine does.
    pub fn suspend(&self, asleep: Duration) {
        self.suspended.fetch_add(nanos(asleep), Ordering::SeqCst);
    }

    fn elapsed(&self) -> Duration {
        let passed = nanos(self.started.elapsed());
        let gained = (i128::from(passed) * i128::from(self.drift)) / 1_000_000;
        let passed = u64::try_from(i128::from(passed) + gained).unwrap_or(passed);
        Duration::from_nanos(passed.saturating_add(self.suspended.load(Ordering::SeqCst)))
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Moment {
        Moment::ZERO + self.elapsed()
    }

    fn wall(&self) -> Timestamp {
        let passed = SignedDuration::try_from(self.elapsed()).unwrap_or(SignedDuration::MAX);
        self.start_wall
            .saturating_add(passed.saturating_add(self.skew))
            .unwrap_or(self.start_wall)
    }
}

/// Whole seconds, as Kubernetes writes `metav1.Time`: `2026-11-28T02:30:00Z`.
pub fn seconds_text(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Microseconds, as Kubernetes writes `metav1.MicroTime`: `2026-11-28T02:30:00.000000Z`.
pub fn micros_text(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start() -> Timestamp {
        "2026-11-28T02:30:00.25Z".parse().unwrap()
    }

    #[test]
    fn times_are_written_as_kubernetes_writes_them() {
        assert_eq!(seconds_text(start()), "2026-11-28T02:30:00Z");
        assert_eq!(micros_text(start()), "2026-11-28T02:30:00.250000Z");
        assert_eq!(
            micros_text("2026-11-28T02:30:00Z".parse().unwrap()),
            "2026-11-28T02:30:00.000000Z"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn the_virtual_clock_follows_paused_time_and_suspension() {
        let clock = VirtualClock::new(start()).with_skew(SignedDuration::from_secs(60));
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(clock.now(), Moment::ZERO + Duration::from_secs(2));
        clock.suspend(Duration::from_secs(3));
        assert_eq!(clock.now(), Moment::ZERO + Duration::from_secs(5));
        assert_eq!(seconds_text(clock.wall()), "2026-11-28T02:31:05Z");
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_that_runs_fast_is_ahead_and_one_that_runs_slow_behind() {
        let (fast, slow) = (
            VirtualClock::new(start()).with_drift(300),
            VirtualClock::new(start()).with_drift(-300),
        );
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(fast.now(), Moment::ZERO + Duration::from_millis(10_003));
        assert_eq!(slow.now(), Moment::ZERO + Duration::from_millis(9_997));
    }

    #[test]
    fn the_system_clock_does_not_go_back() {
        let first = SystemClock.now();
        assert!(SystemClock.now() >= first);
        assert!(first > Moment::ZERO);
    }
}
