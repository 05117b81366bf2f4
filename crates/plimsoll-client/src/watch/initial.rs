use std::collections::BTreeMap;
use std::sync::Arc;

use plimsoll_model::{ObjectName, RawPolicy, ResourceVersion};

use super::{UndecodableObject, WatchEvent, WatchedKind};

/// The objects that a streaming list begins with, and changes that mix with them.
///
/// A server tells of objects in the order of their names, so there is no need to find any by its name: what comes in order is
/// put behind the others. What does not is kept beside, and takes the place of what was there.
#[derive(Debug)]
pub(super) struct InitialObjects<K: WatchedKind> {
    in_order: Vec<Arc<K::Object>>,
    last: Option<ObjectName>,
    /// What became of objects since they came, or that came late. None when gone.
    beside: BTreeMap<ObjectName, Option<Known<K::Object>>>,
}

type Known<T> = Result<Arc<T>, UndecodableObject>;

impl<K: WatchedKind> Default for InitialObjects<K> {
    fn default() -> Self {
        Self {
            in_order: Vec::new(),
            last: None,
            beside: BTreeMap::new(),
        }
    }
}

impl<K: WatchedKind> InitialObjects<K> {
    pub(super) fn upsert(&mut self, object: Arc<K::Object>) {
        let name = K::name(&object);
        let is_next = self.last.as_ref().is_none_or(|last| *last < name) && !self.beside.contains_key(&name);
        if is_next {
            self.in_order.push(object);
            self.last = Some(name);
        } else {
            self.beside.insert(name, Some(Ok(object)));
        }
    }

    pub(super) fn undecodable(&mut self, object: UndecodableObject) {
        self.beside.insert(object.name.clone(), Some(Err(object)));
    }

    pub(super) fn delete(&mut self, name: ObjectName) {
        self.beside.insert(name, None);
    }

    /// The collection at this version.
    pub(super) fn replace(self, version: ResourceVersion, raw: RawPolicy) -> WatchEvent<K::Object> {
        let Self {
            in_order: mut objects,
            beside,
            ..
        } = self;
        let mut undecodable = Vec::new();
        if !beside.is_empty() {
            objects.retain(|object| !beside.contains_key(&K::name(object)));
            for known in beside.into_values().flatten() {
                match known {
                    Ok(object) => objects.push(object),
                    Err(object) => undecodable.push(object),
                }
            }
            objects.sort_by_cached_key(|object| K::name(object));
        }
        WatchEvent::Replace {
            objects,
            undecodable,
            version,
            history_began_anew: false,
            raw,
        }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::{Pod, decode_pod};

    use super::*;
    use crate::watch::Pods;

    fn pod(name: &str, version: u64) -> Arc<Pod> {
        let json = format!(
            r#"{{"metadata":{{"name":"{name}","namespace":"ns","uid":"{name}","resourceVersion":"{version}"}},"spec":{{}}}}"#
        );
        Arc::new(decode_pod(json.as_bytes()).unwrap())
    }

    fn unreadable(name: &str) -> UndecodableObject {
        UndecodableObject {
            name: ObjectName::new("ns", name),
            version: ResourceVersion::new(9),
            error: "no pod".to_owned(),
        }
    }

    fn outcome(initial: InitialObjects<Pods>) -> (Vec<(String, String)>, Vec<String>) {
        let event = initial.replace(ResourceVersion::new(9), RawPolicy::NOTHING);
        let WatchEvent::Replace {
            objects, undecodable, ..
        } = event
        else {
            panic!("no list")
        };
        let told = |pod: &Arc<Pod>| (pod.name.name.to_string(), pod.resource_version.to_string());
        let unread = undecodable.iter().map(|object| object.name.name.to_string());
        (objects.iter().map(told).collect(), unread.collect())
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected
            .iter()
            .map(|(name, version)| (name.to_string(), version.to_string()))
            .collect()
    }

    #[test]
    fn what_comes_last_of_an_object_counts_in_whatever_order_they_come() {
        let mut initial = InitialObjects::default();
        for (name, version) in [("b", 1), ("d", 2), ("a", 3), ("b", 4), ("e", 5), ("a", 6)] {
            initial.upsert(pod(name, version));
        }
        assert_eq!(
            outcome(initial),
            (pairs(&[("a", "6"), ("b", "4"), ("d", "2"), ("e", "5")]), vec![])
        );
    }

    #[test]
    fn what_is_gone_or_cannot_be_read_is_so_until_it_comes_again() {
        let mut initial = InitialObjects::default();
        let name = |name: &str| ObjectName::new("ns", name);
        initial.upsert(pod("a", 1));
        initial.upsert(pod("b", 2));
        initial.delete(name("a"));
        initial.delete(name("c"));
        initial.undecodable(unreadable("b"));
        initial.undecodable(unreadable("d"));
        initial.upsert(pod("c", 5));
        initial.upsert(pod("d", 6));
        initial.delete(name("e"));
        assert_eq!(
            outcome(initial),
            (pairs(&[("c", "5"), ("d", "6")]), vec!["b".to_owned()])
        );
    }
}
