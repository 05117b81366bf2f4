use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashSet;

/// A value that many objects may have alike and then hold together. Whoever changes it gets one of its own first.
#[derive(Default)]
pub struct Shared<T>(Arc<T>);

impl<T> Shared<T> {
    /// Whether both are held together, so that there is nothing to compare.
    pub fn is_one_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Where it is: the same for all who hold it together, as long as one of them does.
    pub(crate) fn place(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }
}

impl<T> From<T> for Shared<T> {
    fn from(value: T) -> Self {
        Self(Arc::new(value))
    }
}

impl<T> FromIterator<T> for Shared<Vec<T>> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Vec::from_iter(items).into()
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}

impl<T: PartialEq> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        self.is_one_with(other) || self.0 == other.0
    }
}

impl<T: Eq> Eq for Shared<T> {}

impl<T: Hash> Hash for Shared<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl<T: fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'a, T> IntoIterator for &'a Shared<Vec<T>> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Something of which equal ones can be held together.
pub(crate) trait Share: Clone + Eq + Hash {
    /// Whether nobody else holds it.
    fn is_alone(&self) -> bool;
}

impl<T: Eq + Hash> Share for Shared<T> {
    fn is_alone(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }
}

/// One of each of some values.
#[derive(Debug)]
pub(crate) struct Pool<S>(HashSet<S, FixedState>);

impl<S> Default for Pool<S> {
    fn default() -> Self {
        Self(HashSet::with_hasher(FixedState::default()))
    }
}

impl<S: Share> Pool<S> {
    /// Puts the one that is there in the place of an equal one, and says whether it is new here.
    pub(crate) fn share(&mut self, value: &mut S) -> bool {
        match self.0.get(value) {
            Some(known) => {
                *value = known.clone();
                false
            }
            None => self.0.insert(value.clone()),
        }
    }

    /// Forgets what nobody else holds any more.
    pub(crate) fn sweep(&mut self) {
        self.0.retain(|value| !value.is_alone());
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_changes_what_is_shared_changes_its_own() {
        let mut pool = Pool::default();
        let (mut one, mut two) = (Shared::from(vec![1, 2]), Shared::from(vec![1, 2]));
        assert!(one == two && !one.is_one_with(&two));
        assert!(pool.share(&mut one) && !pool.share(&mut two));
        assert!(one.is_one_with(&two));
        two.push(3);
        assert_eq!((one.len(), two.len()), (2, 3));
        assert!(!one.is_one_with(&two));
    }

    #[test]
    fn a_pool_keeps_what_somebody_holds() {
        let mut pool = Pool::default();
        let (mut kept, mut dropped) = (Shared::from(1), Shared::from(2));
        pool.share(&mut kept);
        pool.share(&mut dropped);
        drop(dropped);
        pool.sweep();
        assert_eq!(pool.len(), 1);
        let mut again = Shared::from(1);
        assert!(!pool.share(&mut again));
        assert!(again.is_one_with(&kept));
    }
}
