use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How many answers are remembered, as in kube-scheduler.
const CAPACITY: usize = 8192;

/// Answers that count for a while. The oldest go when there are too many.
#[derive(Debug)]
pub(crate) struct ExpiringCache<K, V> {
    // Asked once for a request, far from scheduling.
    entries: Mutex<Entries<K, V>>,
}

#[derive(Debug)]
struct Entries<K, V> {
    known: HashMap<K, (u64, Instant, V)>,
    /// In the order of their coming, with the number by which an entry that was replaced is told apart.
    order: VecDeque<(u64, K)>,
    next: u64,
}

impl<K: Eq + Hash + Clone, V: Clone> ExpiringCache<K, V> {
    pub(crate) fn new() -> Self {
        Self {
            entries: Mutex::new(Entries {
                known: HashMap::new(),
                order: VecDeque::new(),
                next: 0,
            }),
        }
    }

    pub(crate) fn get(&self, key: &K) -> Option<V> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, until, value) = entries.known.get(key)?;
        (Instant::now() < *until).then(|| value.clone())
    }

    /// Remembers the answer for so long; not at all, if that is no time.
    pub(crate) fn put(&self, key: K, value: V, ttl: Duration) {
        let now = Instant::now();
        let Some(until) = now.checked_add(ttl).filter(|until| *until > now) else {
            return;
        };
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let Entries { known, order, next } = &mut *entries;
        *next += 1;
        known.insert(key.clone(), (*next, until, value));
        order.push_back((*next, key));
        while let Some((number, key)) = order.front() {
            let current = known.get(key).filter(|(own, _, _)| own == number);
            match current {
                Some((_, until, _)) if *until > now && known.len() <= CAPACITY && order.len() <= 2 * CAPACITY => break,
                Some(_) => {
                    known.remove(key);
                }
                None => {}
            }
            order.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_answer_counts_until_its_time_is_over() {
        let cache = ExpiringCache::new();
        cache.put("a", 1, Duration::from_secs(10));
        cache.put("never", 1, Duration::ZERO);
        tokio::time::advance(Duration::from_secs(9)).await;
        assert_eq!((cache.get(&"a"), cache.get(&"never")), (Some(1), None));
        cache.put("a", 2, Duration::from_secs(10));
        tokio::time::advance(Duration::from_secs(9)).await;
        assert_eq!(cache.get(&"a"), Some(2));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(cache.get(&"a"), None);
    }

    #[tokio::test(start_paused = true)]
    async fn there_are_never_more_than_it_holds_and_the_newest_are_among_them() {
        let cache = ExpiringCache::new();
        for number in 0..3 * CAPACITY {
            cache.put(number, number, Duration::from_secs(10));
            cache.put(0, number, Duration::from_secs(10));
        }
        let entries = cache.entries.lock().unwrap();
        assert!(entries.known.len() <= CAPACITY && entries.order.len() <= 2 * CAPACITY);
        drop(entries);
        assert_eq!(cache.get(&(3 * CAPACITY - 1)), Some(3 * CAPACITY - 1));
        assert_eq!(cache.get(&1), None);
    }
}
