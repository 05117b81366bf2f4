use std::collections::VecDeque;
use std::fmt;

use plimsoll_framework::ClusterEvent;
use plimsoll_model::Moment;

use crate::Place;

/// So many moves of all pods together are remembered, in some 250 kB.
const CAPACITY: usize = 4_096;

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
        if self.moves.len() == CAPACITY {
            self.moves.pop_front();
        }
        let at = self.now;
        self.moves.push_back((pod, Move { at, from, to, cause }));
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
    fn the_last_moves_are_kept_and_no_more() {
        let mut history = History::default();
        for at in 0..CAPACITY as u64 + 10 {
            history.turn_to(Moment::from_nanos(at));
            history.note(at % 2, None, Some(Place::Active), ClusterEvent::labelled("test"));
        }
        assert_eq!(history.of(0).len() + history.of(1).len(), CAPACITY);
        assert_eq!(history.of(0)[0].at, Moment::from_nanos(10));
        assert!(history.of(7).is_empty());
        assert!(size_of::<(u64, Move)>() * CAPACITY < 260_000);
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
