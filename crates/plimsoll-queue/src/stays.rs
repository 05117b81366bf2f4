//! Where pods have waited since their last attempt, for those who tell of it.

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use plimsoll_framework::ClusterEvent;
use plimsoll_model::Moment;
use smallvec::SmallVec;

use crate::Place;

/// So many stays of one pod between two attempts are kept, the first and the latest ones.
const MOST_STAYS: usize = 16;

/// Of so many pods at a time it is kept where they waited before they came to where they are, in some 16 MB. When an event
/// moves more than that at once, the others seem to have been all the time where they are.
const MOST_PODS: usize = 65_536;

/// One wait of a pod in one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stay {
    /// Where.
    pub place: Place,
    /// The plugin that held it back, if it was [`Place::Gated`].
    pub gate: Option<&'static str>,
    /// What brought it there.
    pub cause: ClusterEvent,
    /// Since when.
    pub from: Moment,
    /// Until when.
    pub to: Moment,
}

/// Where a pod has waited since its last attempt, or since it came, in order and without gaps but for those left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stays {
    /// The waits.
    pub stays: SmallVec<[Stay; 1]>,
    /// How many more there were, behind the first.
    pub left_out: u32,
}

impl Stays {
    fn push(&mut self, stay: Stay) {
        if self.stays.len() >= MOST_STAYS {
            self.stays.remove(1);
            self.left_out = self.left_out.saturating_add(1);
        }
        self.stays.push(stay);
    }
}

/// What is kept of one pod.
#[derive(Debug, Default)]
struct Kept {
    stays: Stays,
    /// When it came to where it is, and what brought it there.
    arrived: Option<(Moment, ClusterEvent)>,
}

/// A move of a pod out of a place where it waited.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leaving {
    pub(crate) place: Place,
    pub(crate) gate: Option<&'static str>,
    /// Since when and why it has waited, if it has moved nowhere since its last attempt.
    pub(crate) since: Moment,
    pub(crate) cause: ClusterEvent,
    /// What moves it.
    pub(crate) leaves_for: ClusterEvent,
    pub(crate) now: Moment,
}

/// The stays of all pods that have moved from one waiting place to another since their last attempt; of those that have
/// not, when and why they came is known anyway.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    on: bool,
    pods: HashMap<u64, Kept, FixedState>,
}

impl Journal {
    /// Whether anybody wants to know.
    pub(crate) fn keep(&mut self, on: bool) {
        self.on = on;
        if !on {
            self.pods = HashMap::default();
        }
    }

    pub(crate) fn is_kept(&self) -> bool {
        self.on
    }

    /// The pod with this number of arrival leaves a place.
    pub(crate) fn leave(&mut self, pod: u64, leaving: Leaving) {
        if self.pods.len() >= MOST_PODS && !self.pods.contains_key(&pod) {
            return;
        }
        let kept = self.pods.entry(pod).or_default();
        let (from, cause) = kept.arrived.unwrap_or((leaving.since, leaving.cause));
        kept.arrived = Some((leaving.now, leaving.leaves_for));
        // Within one turn a pod may pass through places where it does not stay.
        if leaving.now == from && !kept.stays.stays.is_empty() {
            return;
        }
        kept.stays.push(Stay {
            place: leaving.place,
            gate: leaving.gate,
            cause,
            from,
            to: leaving.now,
        });
    }

    /// Takes what is kept of a pod.
    pub(crate) fn take(&mut self, pod: u64) -> Stays {
        self.pods.remove(&pod).map(|kept| kept.stays).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(seconds: u64) -> Moment {
        Moment::ZERO + Duration::from_secs(seconds)
    }

    fn leaving(place: Place, seconds: u64) -> Leaving {
        Leaving {
            place,
            gate: None,
            since: at(0),
            cause: ClusterEvent::labelled("came"),
            leaves_for: ClusterEvent::labelled("went"),
            now: at(seconds),
        }
    }

    #[test]
    fn of_very_many_stays_the_first_and_the_latest_are_kept() {
        let mut journal = Journal::default();
        for turn in 1..=40 {
            journal.leave(7, leaving(Place::Backoff, turn));
        }
        let stays = journal.take(7);
        assert_eq!((stays.stays.len(), stays.left_out), (MOST_STAYS, 24));
        assert_eq!((stays.stays[0].from, stays.stays[0].to), (at(0), at(1)));
        assert_eq!(stays.stays[MOST_STAYS - 1].to, at(40));
        assert_eq!(journal.take(7), Stays::default());
    }

    #[test]
    fn what_is_kept_of_all_pods_is_bounded() {
        let mut journal = Journal::default();
        for pod in 0..2 * MOST_PODS as u64 {
            journal.leave(pod, leaving(Place::Active, 1));
        }
        assert_eq!(journal.pods.len(), MOST_PODS);
        assert!(MOST_PODS * (size_of::<(u64, Kept)>() + 1) < 16_000_000);
        journal.keep(false);
        assert_eq!(journal.pods.capacity(), 0);
    }
}
