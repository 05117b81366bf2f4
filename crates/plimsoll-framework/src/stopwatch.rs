use std::fmt;

use plimsoll_model::Moment;

/// Tells how long things take. It never has a say in a decision: those are made by the time that is passed in.
pub trait Stopwatch: Send + Sync + fmt::Debug {
    /// The time, by the clock of the moments that are passed in.
    fn now(&self) -> Moment;
}

/// Measures nothing: everything takes no time at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NoStopwatch;

impl Stopwatch for NoStopwatch {
    fn now(&self) -> Moment {
        Moment::ZERO
    }
}
