//! What a watch of the lease tells a candidate between its tries, and when the next try is due by it.
//!
//! A watch is a hint that comes at once and may be late or missing. It never shortens what a record counts for: that is
//! counted from when we first saw it, which is never before it was written, and only while this machine was awake: while it
//! slept the record may have been renewed unseen.

use std::time::Duration;

use plimsoll_client::StoredLease;
use plimsoll_model::Moment;
use rand_core::RngCore;

use super::{Election, Observed};

/// Candidates that hear of a free lease at the same time try apart by up to this many microseconds. Only one write is
/// accepted anyway.
const APART: u32 = 10_000;

impl Observed {
    /// When it ceases to keep others away.
    fn runs_out(&self) -> Moment {
        let seconds = u64::try_from(self.stored.record.duration_seconds).unwrap_or(0);
        self.at + Duration::from_secs(seconds)
    }

    fn is_older_than(&self, stored: &StoredLease) -> bool {
        let version = |stored: &StoredLease| stored.resource_version.parse::<u64>().ok();
        match (version(&self.stored), version(stored)) {
            (Some(known), Some(seen)) => known < seen,
            _ => false,
        }
    }
}

impl Election {
    /// A watch has told of the lease. Returns when the next try is due by it; nothing when it is no news, or none of a
    /// leader's business, who goes by the answers to its own writes. With a coordinator the lease is never taken, and what
    /// is seen changes nothing.
    pub fn seen(&mut self, stored: Box<StoredLease>, now: Moment) -> Option<Moment> {
        if self.held_since.is_some()
            || self.coordinated
            || self
                .observed
                .as_ref()
                .is_some_and(|known| !known.is_older_than(&stored))
        {
            return None;
        }
        let given = stored.record.holder == self.identity;
        self.observe(stored, now);
        let free = self.vacant_since(now).is_some();
        let at = self.observed.as_ref()?.runs_out();
        let at = if free { now } else { at };
        (!given).then(|| at + self.apart())
    }

    /// The machine has slept for so long. That does not count for what others hold; what we hold ourselves has run on.
    pub fn slept(&mut self, time: Duration) {
        if let Some(observed) = &mut self.observed {
            observed.at = observed.at + time;
        }
    }

    /// Since when we have seen that nobody holds the lease; nothing when somebody does.
    pub fn vacant_since(&self, now: Moment) -> Option<Moment> {
        let observed = self.observed.as_ref()?;
        if observed.stored.record.holder.is_empty() {
            return Some(observed.at);
        }
        let run_out = observed.runs_out();
        (run_out <= now).then_some(run_out)
    }

    /// A candidate's next try is no later than the moment at which the record in force runs out.
    pub(super) fn no_later_than_vacant(&mut self, poll: Moment, now: Moment) -> Moment {
        match self.observed.as_ref().map(Observed::runs_out) {
            Some(at) if at > now && !self.coordinated => poll.min(at + self.apart()),
            _ => poll,
        }
    }

    fn apart(&mut self) -> Duration {
        Duration::from_micros(u64::from(self.random.next_u32() % APART))
    }
}

#[cfg(test)]
mod tests;
