use std::sync::Arc;

use plimsoll_model::{Moment, Pod, Seq};

use crate::groups::GroupId;
use crate::plugin_sets::PluginSetId;
use crate::{Place, QueueConfig, backoff};

/// Where a record is, with what only that place needs to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// In no container; only while it is being moved.
    Nowhere,
    /// In the active heap.
    Active,
    /// In the heap of rejected pods that back off through the second `until`.
    Backoff { until: Moment },
    /// In the heap of pods that back off through the second `until` whatever happens: failed ones, and those whose victims
    /// are still going.
    ErrorBackoff { until: Moment },
    /// Unschedulable or gated; looked at again at `due`.
    Parked { due: Moment },
    /// Popped. `gone` once it was deleted, assigned or given to another scheduler meanwhile: the record then only
    /// waits for the attempt to be settled, so that no second attempt can start beside it.
    InFlight { mark: u64, popped_at: Moment, gone: bool },
    /// Settled for good as far as we know; looked at again at `due` in case the watch never confirms it.
    Placed { due: Moment },
}

/// How far the queue knows the pod's own preemption to have come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Victims {
    /// None is under way.
    #[default]
    None,
    /// Not all of them are seen on their way out: it is held back.
    Asked,
    /// They are, and not all are gone: it may be tried, but nothing cuts its backoff short, which counts from this second on.
    Going { since: u32 },
}

/// What the queue keeps of one pod.
///
/// There may be a million of these. Beside the pod itself, which is shared with everybody else who keeps it, a waiting pod
/// costs at most 300 bytes: the record, its place in the table of UIDs, and for a parked pod its deadline and its share of a
/// group, which is largest when no other pod is like it. Tables grow by doubling, so they may hold as much again unused: a
/// million waiting pods take less than 600 MB at worst.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) pod: Arc<Pod>,
    pub(crate) state: State,
    /// Number of the record in order of arrival: breaks ties of the queue sort, and tells it from any other ever.
    pub(crate) arrival: u64,
    /// When the pod entered, or returned after its last attempt; order and backoff count from it.
    pub(crate) timestamp: Moment,
    pub(crate) added: Moment,
    pub(crate) initial_attempt: Option<Moment>,
    /// What the queue had seen when the pod was last popped.
    pub(crate) popped_seq: Seq,
    pub(crate) attempts: u32,
    /// Attempts that plugins rejected.
    pub(crate) rejections: u32,
    /// Attempts in a row that failed otherwise.
    pub(crate) errors: u32,
    pub(crate) rejected_by: PluginSetId,
    /// Index in whichever heap or group the record is in.
    pub(crate) position: u32,
    pub(crate) profile: u16,
    /// Which pre-enqueue plugin of the profile holds it back.
    pub(crate) gate: Option<u16>,
    /// Whether the deadline of parked pods moved it since its last attempt.
    pub(crate) flushed: bool,
    /// Whether only its own change or its deadline moves it.
    pub(crate) set_aside: bool,
    /// Whether its own preemption holds it back or makes it wait. Its gate is the hold's once it is to be tried.
    pub(crate) victims: Victims,
    /// Whether an event woke it for the attempt to come.
    pub(crate) woken: bool,
    /// The parked pods that it is like.
    pub(crate) group: GroupId,
}

impl Record {
    /// Where the pod is; nothing when the queue holds the record for bookkeeping only.
    pub(crate) fn place(&self) -> Option<Place> {
        match self.state {
            State::Active => Some(Place::Active),
            State::Backoff { .. } => Some(Place::Backoff),
            State::ErrorBackoff { .. } => Some(Place::ErrorBackoff),
            State::Parked { .. } if self.gate.is_some() => Some(Place::Gated),
            State::Parked { .. } => Some(Place::Unschedulable),
            State::InFlight { gone: false, .. } => Some(Place::InFlight),
            State::Placed { .. } => Some(Place::Placed),
            State::Nowhere | State::InFlight { gone: true, .. } => None,
        }
    }

    /// When somebody looks at the pod again: for an active pod and one in flight, since when it is somebody's turn.
    pub(crate) fn next_look(&self, config: &QueueConfig) -> Moment {
        match self.state {
            State::Nowhere | State::Active => self.timestamp,
            State::Backoff { until } | State::ErrorBackoff { until } => backoff::over(config, until),
            State::Parked { due } | State::Placed { due } => due,
            State::InFlight { popped_at, .. } => popped_at,
        }
    }

    /// The end of its backoff, for ordering backoff heaps.
    pub(crate) fn until(&self) -> Moment {
        match self.state {
            State::Backoff { until } | State::ErrorBackoff { until } => until,
            _ => Moment::ZERO,
        }
    }

    /// Whether its own preemption holds it back.
    pub(crate) fn is_held(&self) -> bool {
        self.victims == Victims::Asked
    }

    /// Since when it backs off.
    pub(crate) fn backs_off_since(&self) -> Moment {
        match self.victims {
            Victims::Going { since } => self.timestamp.max(backoff::start_of(since)),
            Victims::None | Victims::Asked => self.timestamp,
        }
    }

    /// Failed attempts that its backoff counts: errors in a row if the last attempt was one, else rejections.
    pub(crate) fn failures(&self) -> u32 {
        if self.errors > 0 { self.errors } else { self.rejections }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::groups::Groups;
    use crate::records::Slot;

    /// An entry of the ordered map of deadlines, whose nodes are at least half full.
    const DEADLINE: usize = 2 * size_of::<((Moment, u64), Slot)>();
    /// An entry of the table of UIDs, with its control byte, at half load.
    const INDEX: usize = 2 * (size_of::<Slot>() + 1);

    /// What one waiting pod takes at most, beside the shared pod.
    const MOST_BYTES: usize = size_of::<Record>() + INDEX + DEADLINE + Groups::group_size();

    #[test]
    fn a_million_waiting_pods_fit_in_a_gigabyte_with_room_for_tables_to_grow() {
        assert!(size_of::<Record>() <= 128, "{}", size_of::<Record>());
        const { assert!(MOST_BYTES <= 300) };
        const { assert!(2 * MOST_BYTES * 1_000_000 < 1_000_000_000) };
    }
}
