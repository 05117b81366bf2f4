//! The log of changes: what watches replay, until it is compacted.

use std::{
    collections::VecDeque,
    sync::{Arc, OnceLock},
};

use bytes::{BufMut, Bytes, BytesMut};

use crate::{
    object::Object,
    resource::{RESOURCES, Resource},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    Added,
    Modified,
    Deleted,
}

impl ChangeKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

/// One change of one object.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) rv: u64,
    pub(crate) storage_id: usize,
    pub(crate) kind: ChangeKind,
    pub(crate) key: String,
    /// The new state, or the last one for a deletion (with the deletion's version).
    pub(crate) object: Object,
    pub(crate) previous: Option<Object>,
    /// The previous state with this change's version: what a watcher sees whose selector the object left.
    left: OnceLock<Object>,
    /// Ready watch lines by event kind, in the stored form and as `events.k8s.io`.
    lines: [[OnceLock<Bytes>; 3]; 2],
}

impl Change {
    pub(crate) fn new(
        rv: u64,
        storage_id: usize,
        kind: ChangeKind,
        key: &str,
        object: Object,
        previous: Option<Object>,
    ) -> Self {
        Self {
            rv,
            storage_id,
            kind,
            key: key.to_owned(),
            object,
            previous,
            left: OnceLock::new(),
            lines: Default::default(),
        }
    }

    /// The object that an event of this kind about this change carries.
    pub(crate) fn object_for(&self, kind: ChangeKind) -> Object {
        match (kind, self.kind, &self.previous) {
            (ChangeKind::Deleted, ChangeKind::Modified, Some(previous)) => {
                Arc::clone(self.left.get_or_init(|| previous.restamped(self.rv)))
            }
            _ => Arc::clone(&self.object),
        }
    }

    /// The watch line of an event of this kind about this change: serialised once, shared by all watchers.
    pub(crate) fn line(&self, kind: ChangeKind, resource: &Resource) -> Bytes {
        let form = usize::from(resource.id != resource.storage_id);
        self.lines[form][kind as usize]
            .get_or_init(|| watch_line(kind.name(), &self.object_for(kind).json(resource)))
            .clone()
    }
}

/// One line of a watch: `{"type":…,"object":…}` and a line feed.
pub(crate) fn watch_line(kind: &str, object: &[u8]) -> Bytes {
    let mut line = BytesMut::with_capacity(object.len() + kind.len() + 24);
    line.put_slice(br#"{"type":""#);
    line.put_slice(kind.as_bytes());
    line.put_slice(br#"","object":"#);
    line.put_slice(object);
    line.put_slice(b"}\n");
    line.freeze()
}

/// The version asked for lies before what the log still holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expired {
    /// The oldest version that can still be asked for.
    pub(crate) oldest: u64,
}

/// A bounded log in order of versions.
///
/// What makes room for newer changes is lost to those who look at its kind alone: kube-apiserver has a log for each, so that a
/// watch of what hardly ever changes does not grow old for all that goes on beside it.
#[derive(Debug)]
pub(crate) struct Log {
    changes: VecDeque<Arc<Change>>,
    capacity: usize,
    /// Changes up to and including this version are gone.
    compacted: u64,
    /// The newest change of each kind that made room for others, by the number under which it is stored.
    dropped: Vec<u64>,
}

impl Log {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            changes: VecDeque::new(),
            capacity: capacity.max(1),
            compacted: 0,
            dropped: vec![0; RESOURCES.len()],
        }
    }

    pub(super) fn push(&mut self, change: Change) {
        if self.changes.len() == self.capacity
            && let Some(dropped) = self.changes.pop_front()
        {
            self.dropped[dropped.storage_id] = dropped.rv;
        }
        self.changes.push_back(Arc::new(change));
    }

    pub(super) fn compact(&mut self, rv: u64) {
        self.compacted = self.compacted.max(rv);
        let gone = self.first_after(rv);
        self.changes.drain(..gone);
    }

    /// Knows nothing but that the store is at `rv`.
    pub(super) fn restart(&mut self, rv: u64) {
        self.changes.clear();
        self.dropped.fill(0);
        self.compacted = rv;
    }

    /// The oldest version from which everything later is known of a kind.
    pub(crate) fn oldest(&self, resource: &Resource) -> u64 {
        self.compacted.max(self.dropped[resource.storage_id])
    }

    fn first_after(&self, rv: u64) -> usize {
        self.changes.partition_point(|c| c.rv <= rv)
    }

    /// Changes of a kind after `rv`, oldest first.
    pub(crate) fn after<'a>(
        &'a self,
        resource: &Resource,
        rv: u64,
    ) -> Result<impl DoubleEndedIterator<Item = &'a Arc<Change>> + use<'a>, Expired> {
        let oldest = self.oldest(resource);
        if rv < oldest {
            return Err(Expired { oldest });
        }
        let id = resource.storage_id;
        let changes = self.changes.range(self.first_after(rv)..);
        Ok(changes.filter(move |change| change.storage_id == id))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::object::Stored;
    use crate::resource::find;

    fn kind(plural: &str) -> &'static Resource {
        find("", "v1", plural).expect(plural)
    }

    fn add(log: &mut Log, rv: u64, plural: &str) {
        let object = Stored::new(rv, json!({}));
        log.push(Change::new(
            rv,
            kind(plural).storage_id,
            ChangeKind::Added,
            "a",
            object,
            None,
        ));
    }

    fn log(capacity: usize, changes: u64) -> Log {
        let mut log = Log::new(capacity);
        for rv in 1..=changes {
            add(&mut log, rv, "pods");
        }
        log
    }

    fn after(log: &Log, rv: u64) -> Result<Vec<u64>, Expired> {
        Ok(log.after(kind("pods"), rv)?.map(|c| c.rv).collect())
    }

    #[test]
    fn changes_are_replayed_from_any_version_still_held() {
        let log = log(3, 5);
        assert_eq!(after(&log, 2), Ok(vec![3, 4, 5]));
        assert_eq!(after(&log, 4), Ok(vec![5]));
        assert_eq!(after(&log, 9), Ok(vec![]));
        assert_eq!(after(&log, 1), Err(Expired { oldest: 2 }));
    }

    #[test]
    fn changes_of_other_kinds_make_no_version_of_a_kind_too_old() {
        let mut log = Log::new(3);
        add(&mut log, 1, "pods");
        add(&mut log, 2, "pods");
        for rv in 3..=9 {
            add(&mut log, rv, "nodes");
        }
        assert_eq!(after(&log, 2), Ok(vec![]));
        assert_eq!(after(&log, 1), Err(Expired { oldest: 2 }));
        add(&mut log, 10, "pods");
        assert_eq!(after(&log, 2), Ok(vec![10]));
        log.restart(1);
        assert_eq!(after(&log, 1), Ok(vec![]));
        log.compact(3);
        assert_eq!(after(&log, 2), Err(Expired { oldest: 3 }));
    }

    #[test]
    fn compaction_forgets_up_to_its_version() {
        let mut log = log(10, 5);
        log.compact(4);
        assert_eq!(after(&log, 4), Ok(vec![5]));
        assert_eq!(after(&log, 3), Err(Expired { oldest: 4 }));
    }

    #[test]
    fn an_object_that_leaves_a_selector_is_shown_as_it_was_with_the_new_version() {
        let old = Stored::new(
            1,
            json!({ "metadata": { "resourceVersion": "1", "labels": { "a": "b" } } }),
        );
        let new = Stored::new(2, json!({ "metadata": { "resourceVersion": "2" } }));
        let change = Change::new(2, 0, ChangeKind::Modified, "a", new, Some(old));
        let shown = change.object_for(ChangeKind::Deleted);
        assert_eq!(
            **shown.value(),
            json!({ "metadata": { "resourceVersion": "2", "labels": { "a": "b" } } })
        );
    }
}
