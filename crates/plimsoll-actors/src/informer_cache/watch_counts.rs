//! What each watch has shown so far.

use plimsoll_client::{Pulse, WatchPulse};
use plimsoll_model::ResourceVersion;

use super::Kind;

/// How often the watch of one kind has shown something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchCounts {
    /// Batches of events or bookmarks that the cache has taken up.
    pub delivered: u64,
    /// Parts of lists that came, of which nothing may be delivered yet.
    pub listed: u64,
    /// See [`WatchPulse::excused`].
    pub excused: u64,
    /// Marks that new leaders have read, and answers that they may not.
    pub marked: u64,
    /// Whether the API server does not let us read the kind.
    pub forbidden: bool,
    /// Up to which version the kind is known.
    pub applied: ResourceVersion,
    /// Whether that is short of what a new leader waits for, or nothing is known yet.
    pub behind: bool,
}

impl WatchCounts {
    /// Whether a kind that was waited for has come nearer since.
    pub(crate) fn came_nearer(&self, later: &Self) -> bool {
        self.marked != later.marked || (self.behind && (self.applied, self.listed) != (later.applied, later.listed))
    }
}

/// The pulses of all watches that feed one cache, and of the reads that tell a new leader what it must have.
#[derive(Debug, Clone, Default)]
pub struct WatchPulses {
    watches: [WatchPulse; Kind::ALL.len()],
    marks: [Pulse; Kind::ALL.len()],
}

impl WatchPulses {
    /// Of one kind.
    pub fn of(&self, kind: Kind) -> &WatchPulse {
        &self.watches[kind.position()]
    }

    /// Shown when the mark of a kind came, or an answer that it may not be read.
    pub fn mark(&self, kind: Kind) -> &Pulse {
        &self.marks[kind.position()]
    }
}
