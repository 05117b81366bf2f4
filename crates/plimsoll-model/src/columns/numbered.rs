use std::hash::{BuildHasher, Hash};

use foldhash::fast::FixedState;
use hashbrown::HashTable;

/// Entries with small numbers, each found by its key. A number is given to another entry once its own is gone.
#[derive(Debug, Clone)]
pub(super) struct Numbered<K, V> {
    slots: Vec<Option<(K, V)>>,
    by_key: HashTable<u32>,
    free: Vec<u32>,
    hasher: FixedState,
}

impl<K, V> Default for Numbered<K, V> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            by_key: HashTable::new(),
            free: Vec::new(),
            hasher: FixedState::default(),
        }
    }
}

impl<K: Hash + Eq, V> Numbered<K, V> {
    pub(super) fn find(&self, key: &K) -> Option<u32> {
        let same = |number: &u32| self.get(*number).is_some_and(|(own, _)| own == key);
        self.by_key.find(self.hasher.hash_one(key), same).copied()
    }

    pub(super) fn get(&self, number: u32) -> Option<&(K, V)> {
        self.slots.get(number as usize)?.as_ref()
    }

    pub(super) fn value_mut(&mut self, number: u32) -> Option<&mut V> {
        let entry = self.slots.get_mut(number as usize)?.as_mut();
        entry.map(|(_, value)| value)
    }

    pub(super) fn len(&self) -> usize {
        self.by_key.len()
    }

    /// In order of the numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &K, &V)> {
        let numbered = (0..).zip(&self.slots);
        numbered.filter_map(|(number, entry)| entry.as_ref().map(|(key, value)| (number, key, value)))
    }

    /// In order of the numbers.
    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = (&K, &mut V)> {
        let entries = self.slots.iter_mut().filter_map(Option::as_mut);
        entries.map(|(key, value)| (&*key, value))
    }

    /// Adds an entry whose key is not there yet.
    pub(super) fn insert(&mut self, key: K, value: V) -> u32 {
        let hash = self.hasher.hash_one(&key);
        let entry = Some((key, value));
        let number = if let Some(number) = self.free.pop() {
            self.slots[number as usize] = entry;
            number
        } else {
            self.slots.push(entry);
            u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
        };
        let rehash = |other: &u32| match self.slots.get(*other as usize) {
            Some(Some((key, _))) => self.hasher.hash_one(key),
            _ => 0,
        };
        self.by_key.insert_unique(hash, number, rehash);
        number
    }

    pub(super) fn remove(&mut self, number: u32) -> Option<(K, V)> {
        let entry = self.slots.get_mut(number as usize)?.take()?;
        if let Ok(found) = self
            .by_key
            .find_entry(self.hasher.hash_one(&entry.0), |other| *other == number)
        {
            found.remove();
        }
        self.free.push(number);
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_keep_their_numbers_and_free_ones_are_used_again() {
        let mut names: Numbered<String, i32> = Numbered::default();
        let numbers: Vec<u32> = (0..100).map(|value| names.insert(format!("n{value}"), value)).collect();
        assert_eq!(names.find(&"n7".to_owned()), Some(numbers[7]));
        assert_eq!(names.remove(numbers[7]), Some(("n7".to_owned(), 7)));
        assert_eq!(names.find(&"n7".to_owned()), None);
        assert_eq!(names.remove(numbers[7]), None);
        assert_eq!((names.len(), names.iter().count()), (99, 99));
        assert_eq!(names.insert("again".to_owned(), 7), numbers[7]);
        assert_eq!(names.get(numbers[7]).map(|(key, _)| key.as_str()), Some("again"));
        assert!(
            (0..100)
                .filter(|value| *value != 7)
                .all(|value| names.find(&format!("n{value}")) == Some(numbers[value]))
        );
    }
}
