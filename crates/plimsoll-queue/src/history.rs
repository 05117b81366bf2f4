use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use plimsoll_framework::ClusterEvent;
use plimsoll_model::Moment;

use crate::Place;

/// So many moves of all pods together are always remembered, in some 250 kB.
const LEAST: usize = 4_096;

/// And so many at most, in some 16 MB: what some thousand pods a second do in a minute and a half.
const MOST: usize = 262_144;

/// What happened before the audit before the last one is of no more use to an audit that repairs a pod.
const USEFUL: Duration = Duration::from_secs(150);

/// One move of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Move {
    /// When.
    pub at: Moment,
    /// Where it was; nothing when it was not there.
    pub from: Option<Place>,
    /// Where it went; nothing when it left.
    pub to: Option<Place>,
    /// What moved it.
    pub cause: ClusterEvent,
}

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |place: Option<Place>| place.map_or("nowhere", Place::name);
        let (from, to) = (name(self.from), name(self.to));
        write!(
            f,
            "{from} to {to} ({}) at {} ms",
            self.cause,
            self.at.as_nanos() / 1_000_000
        )
    }
}

/// The last moves of all pods, to tell what became of one that an audit misses. Pods are told apart by a hash of their
/// UIDs, so that one in some thousand million million may be shown a move of another.
#[derive(Debug, Default)]
pub(crate) struct History {
    now: Moment,
    moves: VecDeque<(u64, Move)>,
}

impl History {
    /// What is noted from here on happens at this moment.
    pub(crate) fn turn_to(&mut self, now: Moment) {
        self.now = now;
    }

    /// The moment of the last call.
    pub(crate) fn now(&self) -> Moment {
        self.now
    }

    pub(crate) fn note(&mut self, pod: u64, from: Option<Place>, to: Option<Place>, cause: ClusterEvent) {
        let at = self.now;
        // Two for one, so that what a storm has left goes again.
        for _ in 0..2 {
            let old = |(_, noted): &(u64, Move)| at.since(noted.at) > USEFUL;
            if self.moves.len() >= MOST || (self.moves.len() >= LEAST && self.moves.front().is_some_and(old)) {
                self.moves.pop_front();
            }
        }
        self.moves.push_back((pod, Move { at, from, to, cause }));
    }

    /// The pod's last move, if it is remembered.
    pub(crate) fn last_of(&self, pod: u64) -> Option<Move> {
        let own = self.moves.iter().rev().find(|(other, _)| *other == pod);
        own.map(|(_, noted)| *noted)
    }

    pub(crate) fn of(&self, pod: u64) -> Vec<Move> {
        let own = self.moves.iter().filter(|(other, _)| *other == pod);
        own.map(|(_, noted)| *noted).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_are_kept_for_as_long_as_audits_want_them_and_some_always() {
        let note = |history: &mut History, at: Duration, pod| {
            history.turn_to(Moment::ZERO + at);
            history.note(pod, None, Some(Place::Active), ClusterEvent::labelled("test"));
        };
        let mut history = History::default();
        for at in 0..MOST as u64 + 10 {
            note(&mut history, Duration::from_nanos(at), at % 2);
        }
        assert_eq!(history.of(0).len() + history.of(1).len(), MOST);
        assert_eq!(history.of(0)[0].at, Moment::from_nanos(10));
        assert!(history.of(7).is_empty());
        // Long after, each new one drives out two old ones, down to those that are always kept.
        for at in 0..MOST as u64 {
            note(&mut history, Duration::from_hours(1) + Duration::from_nanos(at), 2);
        }
        assert!(history.of(0).is_empty() && history.of(1).is_empty());
        assert_eq!(history.of(2).len(), MOST);
        for hours in 2..LEAST as u64 * 100 {
            note(&mut history, Duration::from_hours(1) * u32::try_from(hours).unwrap(), 3);
        }
        assert_eq!(history.of(3).len(), LEAST);
        assert!(size_of::<(u64, Move)>() * MOST < 17_000_000);
    }

    #[test]
    fn a_move_is_told_in_one_line() {
        let told = Move {
            at: Moment::from_nanos(1_500_000_000),
            from: Some(Place::Unschedulable),
            to: Some(Place::Backoff),
            cause: ClusterEvent::labelled("NodeAdd"),
        };
        assert_eq!(told.to_string(), "unschedulable to backoff (NodeAdd) at 1500 ms");
    }
}
