use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use plimsoll_config::ClientConnection;
use tokio::time::Instant;

/// No sum of these that anybody waits for is beyond what a clock can tell.
const LONGEST_INTERVAL: Duration = Duration::from_hours(365 * 24);

/// A token bucket with client-go's meaning of `qps` and `burst`: callers are served in the order they came.
#[derive(Debug)]
pub struct RateLimit {
    interval: Duration,
    burst: u32,
    /// When the bucket was, or will be, full again. Tokens are spent by moving it ahead, even past the present.
    full_at: Mutex<Instant>,
}

impl RateLimit {
    /// The limit that `connection` asks for; none when its `qps` is zero or negative, or either number is useless.
    pub fn new(connection: &ClientConnection) -> Option<Self> {
        Self::per_second(connection.qps, connection.burst)
    }

    /// A limit of so many a second, with a burst; none when the rate is zero or negative, or no number. Less than one a year
    /// counts as one.
    pub fn per_second(rate: f32, burst: u32) -> Option<Self> {
        let qps = f64::from(rate);
        if !qps.is_finite() || qps <= 0.0 {
            return None;
        }
        let interval = Duration::try_from_secs_f64(qps.recip())
            .map_or(LONGEST_INTERVAL, |interval| interval.min(LONGEST_INTERVAL));
        Some(Self {
            interval,
            burst: burst.max(1),
            full_at: Mutex::new(Instant::now()),
        })
    }

    /// Waits until a request may go. A caller that gives up while waiting has spent its turn.
    pub async fn acquire(&self) {
        tokio::time::sleep_until(self.take_turn()).await;
    }

    /// When a request may go, which may be now or before. The turn is taken, and not given back.
    pub fn take_turn(&self) -> Instant {
        self.reserve(Instant::now())
    }

    fn reserve(&self, now: Instant) -> Instant {
        let mut full_at = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        *full_at = (*full_at).max(now) + self.interval;
        // With `burst` tokens saved, a request goes at once while the bucket fills within `burst` intervals.
        let saved = self.interval * self.burst;
        (*full_at).checked_sub(saved).map_or(now, |turn| turn.max(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(qps: f32, burst: u32) -> Option<RateLimit> {
        RateLimit::new(&ClientConnection {
            qps,
            burst,
            ..ClientConnection::default()
        })
    }

    async fn taken(limit: &RateLimit, count: u32) -> Duration {
        let start = Instant::now();
        for _ in 0..count {
            limit.acquire().await;
        }
        start.elapsed()
    }

    #[test]
    fn a_qps_that_is_not_positive_switches_the_limit_off() {
        assert!(limit(-1.0, 10).is_none());
        assert!(limit(0.0, 10).is_none());
        assert!(limit(f32::NAN, 10).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_rate_next_to_nothing_lets_the_burst_go_and_then_makes_wait() {
        for rate in [1e-30, 1e-18, 1e-9] {
            let limit = limit(rate, u32::MAX).unwrap();
            assert!(limit.take_turn() <= Instant::now());
            let limit = RateLimit::per_second(rate, 1).unwrap();
            assert_eq!(taken(&limit, 1).await, Duration::ZERO);
            assert!(limit.take_turn() > Instant::now() + Duration::from_hours(24), "{rate}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_goes_at_once_and_the_rest_at_the_sustained_rate() {
        let limit = limit(10.0, 5).unwrap();
        assert_eq!(taken(&limit, 5).await, Duration::ZERO);
        let waited = taken(&limit, 10).await;
        assert!(
            waited >= Duration::from_millis(999) && waited <= Duration::from_millis(1010),
            "{waited:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn tokens_saved_while_idle_never_exceed_the_burst() {
        let limit = limit(10.0, 5).unwrap();
        tokio::time::advance(Duration::from_mins(1)).await;
        assert_eq!(taken(&limit, 5).await, Duration::ZERO);
        assert!(taken(&limit, 1).await >= Duration::from_millis(99));
    }
}
