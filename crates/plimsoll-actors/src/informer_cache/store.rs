//! What the API server has told us of one kind, and what a watch event changes in it.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

use plimsoll_model::storage::StorageObject;
use plimsoll_model::{DisruptionBudget, Namespace, Node, ObjectName, Pod, ResourceVersion, Uid, WorkloadSelector};

/// What the store needs to know of an object.
pub(crate) trait Stored: 'static {
    /// Namespace and name, by which it is found.
    fn key(&self) -> (&str, &str);
    fn uid(&self) -> &Uid;
    fn version(&self) -> ResourceVersion;

    /// Whether nothing but the version differs. Most updates of some kinds concern only what is not kept of them.
    fn says_the_same(&self, _: &Self) -> bool {
        false
    }

    /// Whether this is the whole object, of which so far only the part is known that the scheduler reads.
    fn completes(&self, _: &Self) -> bool {
        false
    }
}

fn parts(name: &ObjectName) -> (&str, &str) {
    (&name.namespace, &name.name)
}

impl Stored for Namespace {
    fn key(&self) -> (&str, &str) {
        ("", &self.name)
    }

    fn uid(&self) -> &Uid {
        &self.uid
    }

    fn version(&self) -> ResourceVersion {
        self.resource_version
    }

    fn says_the_same(&self, other: &Self) -> bool {
        self.labels == other.labels
    }
}

impl Stored for WorkloadSelector {
    fn key(&self) -> (&str, &str) {
        parts(&self.name)
    }

    fn uid(&self) -> &Uid {
        &self.uid
    }

    fn version(&self) -> ResourceVersion {
        self.resource_version
    }

    fn says_the_same(&self, other: &Self) -> bool {
        self.selector == other.selector
    }
}

impl Stored for DisruptionBudget {
    fn key(&self) -> (&str, &str) {
        parts(&self.name)
    }

    fn uid(&self) -> &Uid {
        &self.uid
    }

    fn version(&self) -> ResourceVersion {
        self.resource_version
    }

    fn says_the_same(&self, other: &Self) -> bool {
        self.selector == other.selector
            && self.disruptions_allowed == other.disruptions_allowed
            && self.disrupted_pods == other.disrupted_pods
    }
}

impl Stored for StorageObject {
    fn key(&self) -> (&str, &str) {
        parts(self.name())
    }

    fn uid(&self) -> &Uid {
        self.uid()
    }

    fn version(&self) -> ResourceVersion {
        self.resource_version()
    }

    fn says_the_same(&self, other: &Self) -> bool {
        self.says_the_same_as(other)
    }
}

impl Stored for Pod {
    fn key(&self) -> (&str, &str) {
        parts(&self.name)
    }

    fn uid(&self) -> &Uid {
        &self.uid
    }

    fn version(&self) -> ResourceVersion {
        self.resource_version
    }

    fn completes(&self, known: &Self) -> bool {
        self.raw.is_some() && known.raw.is_none()
    }
}

impl Stored for Node {
    fn key(&self) -> (&str, &str) {
        ("", &self.name)
    }

    fn uid(&self) -> &Uid {
        &self.uid
    }

    fn version(&self) -> ResourceVersion {
        self.resource_version
    }

    fn completes(&self, known: &Self) -> bool {
        self.raw.is_some() && known.raw.is_none()
    }
}

/// One change of the kind, before it gets its number.
#[derive(Debug)]
pub(crate) enum StoreChange<T> {
    Added(Arc<T>),
    Updated { old: Arc<T>, new: Arc<T> },
    Deleted(Arc<T>),
}

impl<T> StoreChange<T> {
    /// The object before and after.
    pub(crate) fn into_both(self) -> (Option<Arc<T>>, Option<Arc<T>>) {
        match self {
            Self::Added(new) => (None, Some(new)),
            Self::Updated { old, new } => (Some(old), Some(new)),
            Self::Deleted(old) => (Some(old), None),
        }
    }
}

/// The objects of one kind by name, and the version up to which they are known.
///
/// Two streams may feed one store: the kind's own watch and the short one that forces progress. Each delivers every
/// change in order, so an event at or below `applied` has been seen and is passed over; that also keeps a late
/// "modified" from bringing back what the other stream saw deleted.
///
/// Before the first whole list nothing else counts: a short watch from version 0 tells what there is in any order of
/// versions, so the highest that it has told says nothing about the rest.
#[derive(Debug)]
pub(crate) struct Store<T> {
    objects: BTreeSet<ByName<T>>,
    applied: ResourceVersion,
    synced: bool,
}

impl<T> Default for Store<T> {
    fn default() -> Self {
        Self {
            objects: BTreeSet::new(),
            applied: ResourceVersion::new(0),
            synced: false,
        }
    }
}

/// An object in the order of names, each of which is there once: within the object.
#[derive(Debug)]
struct ByName<T>(Arc<T>);

/// What can be looked up among objects in the order of names.
trait Named {
    fn key(&self) -> (&str, &str);
}

impl<T: Stored> Named for ByName<T> {
    fn key(&self) -> (&str, &str) {
        self.0.key()
    }
}

impl Named for ObjectName {
    fn key(&self) -> (&str, &str) {
        parts(self)
    }
}

impl<'a, T: Stored + 'a> Borrow<dyn Named + 'a> for ByName<T> {
    fn borrow(&self) -> &(dyn Named + 'a) {
        self
    }
}

impl Ord for dyn Named + '_ {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for dyn Named + '_ {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for dyn Named + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for dyn Named + '_ {}

impl<T: Stored> Ord for ByName<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.key().cmp(&other.0.key())
    }
}

impl<T: Stored> PartialOrd for ByName<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Stored> PartialEq for ByName<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0.key() == other.0.key()
    }
}

impl<T: Stored> Eq for ByName<T> {}

impl<T: Stored> Store<T> {
    /// Every change up to this version is in the store.
    pub(crate) fn applied(&self) -> ResourceVersion {
        self.applied
    }

    /// Whether a whole list has come once.
    pub(crate) fn synced(&self) -> bool {
        self.synced
    }

    pub(crate) fn find(&self, key: &ObjectName) -> Option<&Arc<T>> {
        self.objects.get(key as &dyn Named).map(|object| &object.0)
    }

    pub(crate) fn objects(&self) -> impl Iterator<Item = &Arc<T>> {
        self.objects.iter().map(|object| &object.0)
    }

    /// The objects behind this name, in the order of names.
    pub(crate) fn objects_after(&self, after: Option<&ObjectName>) -> impl Iterator<Item = &Arc<T>> {
        let bound = after.map_or(Bound::Unbounded, |after| Bound::Excluded(after as &dyn Named));
        let behind = self.objects.range::<dyn Named, _>((bound, Bound::Unbounded));
        behind.map(|object| &object.0)
    }

    pub(crate) fn len(&self) -> usize {
        self.objects.len()
    }

    /// A whole list as of `version`. Objects that are missing from it are gone, except those in `keep`: they are there
    /// but could not be decoded, and what we knew of them is better than nothing.
    pub(crate) fn replace(
        &mut self,
        objects: Vec<Arc<T>>,
        keep: &[ObjectName],
        version: ResourceVersion,
        out: &mut Vec<StoreChange<T>>,
    ) {
        // A list older than what a watch has delivered would turn time back; the watch that follows it catches up. What
        // it has of objects that are still as they were then is not old.
        if self.synced && version < self.applied {
            for object in objects {
                self.complete(object, out);
            }
            return;
        }
        let mut before = std::mem::take(&mut self.objects);
        for new in objects {
            let new = ByName(new);
            match before.take(&new) {
                None => out.push(StoreChange::Added(Arc::clone(&new.0))),
                Some(old) => Self::difference(old.0, &new.0, out),
            }
            self.objects.insert(new);
        }
        // What cannot even be named may be any of those that are missing.
        let keep_all = keep.iter().any(|name| name.name.is_empty());
        for old in before {
            if keep_all || keep.iter().any(|name| parts(name) == old.0.key()) {
                self.objects.insert(old);
            } else {
                out.push(StoreChange::Deleted(old.0));
            }
        }
        self.applied = version;
        self.synced = true;
    }

    /// An added or modified object.
    pub(crate) fn upsert(&mut self, new: Arc<T>, out: &mut Vec<StoreChange<T>>) {
        if !self.synced {
            return;
        }
        if new.version() <= self.applied {
            self.complete(new, out);
            return;
        }
        self.applied = new.version();
        match self.objects.replace(ByName(Arc::clone(&new))) {
            None => out.push(StoreChange::Added(new)),
            Some(old) => Self::difference(old.0, &new, out),
        }
    }

    /// A deleted object, or one that no longer matches the watch's selector.
    pub(crate) fn delete(&mut self, key: &ObjectName, version: ResourceVersion, out: &mut Vec<StoreChange<T>>) {
        if !self.synced || version <= self.applied {
            return;
        }
        self.applied = version;
        if let Some(old) = self.objects.take(key as &dyn Named) {
            out.push(StoreChange::Deleted(old.0));
        }
    }

    /// Nothing new up to this version.
    pub(crate) fn progress(&mut self, version: ResourceVersion) {
        if self.synced {
            self.applied = self.applied.max(version);
        }
    }

    /// Takes the whole of an object that is known in part.
    fn complete(&mut self, new: Arc<T>, out: &mut Vec<StoreChange<T>>) {
        let new = ByName(new);
        let Some(ByName(old)) = self.objects.get(&new) else {
            return;
        };
        if old.uid() == new.0.uid() && old.version() == new.0.version() && new.0.completes(old) {
            let old = Arc::clone(old);
            out.push(StoreChange::Updated {
                old,
                new: Arc::clone(&new.0),
            });
            self.objects.replace(new);
        }
    }

    fn difference(old: Arc<T>, new: &Arc<T>, out: &mut Vec<StoreChange<T>>) {
        if old.uid() != new.uid() {
            // Deleted and created anew while we looked away: to everyone else these are two objects.
            out.push(StoreChange::Deleted(old));
            out.push(StoreChange::Added(Arc::clone(new)));
        } else if new.completes(&old) || (old.version() != new.version() && !new.says_the_same(&old)) {
            out.push(StoreChange::Updated {
                old,
                new: Arc::clone(new),
            });
        }
    }
}

#[cfg(test)]
mod tests;
