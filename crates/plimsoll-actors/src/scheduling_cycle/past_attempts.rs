//! What became of the last attempts at pods that are still pending, for those who ask why.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use plimsoll_model::{Delta, Uid};

use crate::attempt_record::AttemptRecord;

/// So many attempts of one pod are kept.
const OF_ONE: usize = 5;

/// And so many of all pods together, in some 30 MB with their texts; those that ended longest ago go first.
const OF_ALL: usize = 20_000;

/// The last attempts of each pending pod; they go when the pod is bound or gone.
#[derive(Debug)]
pub(super) struct PastAttempts {
    by_pod: HashMap<Uid, VecDeque<(u64, Arc<AttemptRecord>)>, FixedState>,
    /// Whose attempt each is, in the order in which they ended.
    in_order: BTreeMap<u64, Uid>,
    noted: u64,
}

impl Default for PastAttempts {
    fn default() -> Self {
        Self {
            by_pod: HashMap::with_hasher(FixedState::with_seed(0)),
            in_order: BTreeMap::new(),
            noted: 0,
        }
    }
}

impl PastAttempts {
    /// An attempt has ended without a node.
    pub(super) fn note(&mut self, attempt: Arc<AttemptRecord>) {
        self.noted += 1;
        let pod = attempt.pod.uid.clone();
        let own = self.by_pod.entry(pod.clone()).or_default();
        if own.len() >= OF_ONE
            && let Some((number, _)) = own.pop_front()
        {
            self.in_order.remove(&number);
        }
        own.push_back((self.noted, attempt));
        self.in_order.insert(self.noted, pod);
        if self.in_order.len() > OF_ALL
            && let Some((_, oldest)) = self.in_order.pop_first()
            && let Some(own) = self.by_pod.get_mut(&oldest)
        {
            own.pop_front();
            if own.is_empty() {
                self.by_pod.remove(&oldest);
            }
        }
    }

    /// What the stream tells of a pod: one that has a node or is gone is pending no more.
    pub(super) fn see(&mut self, delta: &Delta) {
        match delta {
            _ if self.by_pod.is_empty() => {}
            Delta::PodDeleted(pod) => self.forget(&pod.uid),
            Delta::PodAdded(pod) | Delta::PodUpdated { new: pod, .. } if pod.node_name().is_some() => {
                self.forget(&pod.uid);
            }
            _ => {}
        }
    }

    pub(super) fn forget(&mut self, pod: &Uid) {
        for (number, _) in self.by_pod.remove(pod).into_iter().flatten() {
            self.in_order.remove(&number);
        }
    }

    /// The pod's attempts, the last one first.
    pub(super) fn of(&self, pod: &Uid) -> Vec<Arc<AttemptRecord>> {
        let own = self.by_pod.get(pod).into_iter().flatten();
        own.rev().map(|(_, attempt)| Arc::clone(attempt)).collect()
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::testing::pod;

    use super::*;

    fn attempt(uid: &Uid, number: u32) -> Arc<AttemptRecord> {
        let failed = AttemptRecord::failed(uid, number);
        Arc::new(failed)
    }

    fn numbers(past: &PastAttempts, pod: &Uid) -> Vec<u32> {
        past.of(pod).iter().map(|record| record.attempt).collect()
    }

    #[test]
    fn the_last_five_attempts_of_a_pod_are_kept_the_last_one_first() {
        let mut past = PastAttempts::default();
        let uid = Uid::new("p");
        for number in 1..=7 {
            past.note(attempt(&uid, number));
        }
        assert_eq!(numbers(&past, &uid), [7, 6, 5, 4, 3]);
        assert_eq!(past.in_order.len(), OF_ONE);
    }

    #[test]
    fn of_all_pods_together_the_oldest_attempts_go() {
        let mut past = PastAttempts::default();
        let (old, young) = (Uid::new("old"), Uid::new("young"));
        past.note(attempt(&old, 1));
        past.note(attempt(&old, 2));
        for pod in 0..OF_ALL - 2 {
            past.note(attempt(&Uid::new(pod.to_string()), 1));
        }
        past.note(attempt(&young, 1));
        assert_eq!((numbers(&past, &old), numbers(&past, &young)), (vec![2], vec![1]));
        past.note(attempt(&young, 2));
        assert_eq!(numbers(&past, &old), [0_u32; 0]);
        assert_eq!(past.in_order.len(), OF_ALL);
        let bytes = size_of::<AttemptRecord>() * OF_ALL;
        assert!(bytes < 25_000_000, "{bytes}");
        assert!(!past.by_pod.contains_key(&old));
    }

    #[test]
    fn nothing_is_kept_of_a_pod_that_has_a_node_or_is_gone() {
        let placed = Arc::new(pod("p").on("n").build());
        let waiting = Arc::new(pod("p").build());
        let update = |new: &Arc<_>| Delta::PodUpdated {
            old: Arc::clone(&waiting),
            new: Arc::clone(new),
        };
        for (delta, kept) in [
            (update(&waiting), 1),
            (update(&placed), 0),
            (Delta::PodDeleted(Arc::clone(&waiting)), 0),
        ] {
            let mut past = PastAttempts::default();
            past.note(attempt(&waiting.uid, 1));
            past.see(&delta);
            assert_eq!(past.of(&waiting.uid).len(), kept, "{delta:?}");
            assert_eq!(past.in_order.len(), kept, "{delta:?}");
        }
    }
}
