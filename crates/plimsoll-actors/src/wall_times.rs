//! From the moments of a clock that never jumps to the time of day.

use jiff::Timestamp;
use plimsoll_client::seconds_text;
use plimsoll_model::Moment;

/// Tells moments by the time of day, as the two clocks stood to each other once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WallTimes {
    at: Moment,
    wall: Timestamp,
}

impl WallTimes {
    /// At this moment it was this time of day.
    pub fn new(at: Moment, wall: Timestamp) -> Self {
        Self { at, wall }
    }

    /// The moment, in whole seconds.
    pub fn text(&self, moment: Moment) -> String {
        let shifted = if moment < self.at {
            self.wall.checked_sub(self.at.since(moment))
        } else {
            self.wall.checked_add(moment.since(self.at))
        };
        seconds_text(shifted.unwrap_or(self.wall))
    }
}
