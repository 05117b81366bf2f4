use std::ops::Add;
use std::time::Duration;

/// A point in time: nanoseconds of a clock that also counts while the machine is suspended.
///
/// The core never asks for it; whoever calls passes it in. Only differences have a meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Moment(u64);

impl Moment {
    /// The clock's own zero.
    pub const ZERO: Self = Self(0);

    /// A moment so many nanoseconds after the clock's zero.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the clock's zero.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Time since `earlier`; zero when that lies ahead.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Moment {
    type Output = Self;

    /// The moment so much later, at most the end of the clock.
    fn add(self, after: Duration) -> Self {
        Self(
            self.0
                .saturating_add(u64::try_from(after.as_nanos()).unwrap_or(u64::MAX)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_never_go_below_zero_nor_sums_past_the_end() {
        let early = Moment::from_nanos(5);
        let late = early + Duration::from_secs(1);
        assert_eq!(late.since(early), Duration::from_secs(1));
        assert_eq!(early.since(late), Duration::ZERO);
        assert_eq!((late + Duration::MAX).as_nanos(), u64::MAX);
    }
}
