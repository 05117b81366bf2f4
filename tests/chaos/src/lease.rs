//! The three durations of an election.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How long a lease lasts, and how it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LeaseTimes {
    /// 3 s, renewed within 2 s, tried every 0.5 s.
    Quick,
    /// The defaults: 15 s, 10 s, 2 s.
    Default,
}

impl LeaseTimes {
    /// How long others keep away from a lease that is not renewed.
    pub fn duration(self) -> Duration {
        match self {
            Self::Quick => Duration::from_secs(3),
            Self::Default => Duration::from_secs(15),
        }
    }

    /// Flags of the program.
    pub fn flags(self) -> &'static [&'static str] {
        match self {
            Self::Quick => &[
                "--leader-elect=true",
                "--leader-elect-lease-duration=3s",
                "--leader-elect-renew-deadline=2s",
                "--leader-elect-retry-period=500ms",
            ],
            Self::Default => &["--leader-elect=true"],
        }
    }
}
