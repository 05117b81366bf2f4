//! The static table of the kinds this server knows: everything a scheduler or `kubectl` reads or writes.

mod table;

pub use table::RESOURCES;

/// What `metadata.generation` does for a kind, as the registry strategy of kube-apiserver 1.36 has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// Never set.
    None,
    /// 1 at creation and never raised.
    Created,
    /// 1 at creation, raised by one whenever the spec changes.
    Spec,
    /// Absent at creation, raised by one whenever the spec changes.
    SpecFromZero,
}

/// How a kind's objects are held in the store when two API groups show the same objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// Stored in this kind's own form.
    Own,
    /// Stored as core `v1` events and converted both ways (`events.k8s.io`).
    CoreEvents,
}

/// A subresource of a kind, as discovery lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subresource {
    /// The path segment, such as `status`.
    pub name: &'static str,
    /// Group of `kind`; empty together with `version` when it is the parent's.
    pub group: &'static str,
    /// Version of `kind`; empty when it is the parent's.
    pub version: &'static str,
    /// Kind of the body; empty when it is the parent's.
    pub kind: &'static str,
    /// Verbs in discovery's (alphabetical) order.
    pub verbs: &'static [&'static str],
}

/// One kind in one group and version.
#[derive(Clone, Copy, Debug)]
pub struct Resource {
    /// Position in [`RESOURCES`].
    pub id: usize,
    /// Position in [`RESOURCES`] of the kind whose storage holds the objects: `id`, unless two groups share objects.
    pub storage_id: usize,
    /// API group; empty for the core group.
    pub group: &'static str,
    /// API version, such as `v1`.
    pub version: &'static str,
    /// Plural name, as in the path.
    pub plural: &'static str,
    /// Singular name.
    pub singular: &'static str,
    /// Kind of one object.
    pub kind: &'static str,
    /// Names `kubectl` accepts for short.
    pub short_names: &'static [&'static str],
    /// Categories such as `all`.
    pub categories: &'static [&'static str],
    /// Whether objects live in a namespace.
    pub namespaced: bool,
    /// Subresources, in the order of their names.
    pub subresources: &'static [Subresource],
    /// Verbs in discovery's (alphabetical) order.
    pub verbs: &'static [&'static str],
    /// How `metadata.generation` behaves.
    pub generation: Generation,
    /// Whether PUT to a name that does not exist creates the object.
    pub create_on_update: bool,
    /// Whether an update without `metadata.resourceVersion` overwrites.
    pub unconditional_update: bool,
    /// Form in which objects are stored.
    pub storage: Storage,
}

pub(crate) const STANDARD_VERBS: &[&str] = &[
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];

impl Resource {
    /// Kind of a list of objects of this kind.
    pub fn list_kind(&self) -> String {
        format!("{}List", self.kind)
    }

    /// `v1` for the core group, else `group/version`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// The name error messages use: `pods`, `replicasets.apps`.
    pub fn group_resource(&self) -> String {
        if self.group.is_empty() {
            self.plural.to_owned()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }

    /// Whether the kind has a subresource of this name.
    pub fn subresource(&self, name: &str) -> Option<&'static Subresource> {
        self.subresources.iter().find(|s| s.name == name)
    }

    /// Whether spec and status are written through separate paths.
    pub fn has_status(&self) -> bool {
        self.subresource("status").is_some()
    }

    /// Whether objects of this kind are stored at all (reviews and `bindings` are not).
    pub fn is_stored(&self) -> bool {
        self.verbs.contains(&"get")
    }

    /// The kind whose storage holds the objects.
    pub fn storage_resource(&self) -> &'static Resource {
        &RESOURCES[self.storage_id]
    }
}

impl PartialEq for Resource {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Resource {}

/// Finds a kind by the segments of its path.
pub fn find(group: &str, version: &str, plural: &str) -> Option<&'static Resource> {
    RESOURCES
        .iter()
        .find(|r| r.plural == plural && r.group == group && r.version == version)
}

/// Finds a kind by the `apiVersion` and `kind` of an object.
pub fn find_kind(api_version: &str, kind: &str) -> Option<&'static Resource> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    RESOURCES
        .iter()
        .find(|r| r.kind == kind && r.group == group && r.version == version)
}

/// Finds a kind by its plural name alone, the first in the table when groups share the name (`events`: core).
pub fn find_plural(plural: &str) -> Option<&'static Resource> {
    RESOURCES.iter().find(|r| r.plural == plural)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_are_positions_and_names_are_unique() {
        let mut seen = BTreeSet::new();
        for (at, resource) in RESOURCES.iter().enumerate() {
            assert_eq!(resource.id, at);
            assert!(
                seen.insert((resource.group, resource.version, resource.plural)),
                "{resource:?} twice"
            );
        }
    }

    #[test]
    fn both_event_groups_share_the_storage_of_core_events() {
        let core = find("", "v1", "events").expect("core events");
        let new = find("events.k8s.io", "v1", "events").expect("events.k8s.io events");
        assert_eq!(new.storage_id, core.id);
        assert_eq!(core.storage_id, core.id);
        assert_eq!(find_plural("events"), Some(core));
    }

    #[test]
    fn subresources_and_verbs_are_sorted_as_discovery_lists_them() {
        for resource in RESOURCES {
            assert!(
                resource.subresources.is_sorted_by_key(|s| s.name),
                "{}",
                resource.plural
            );
            assert!(resource.verbs.is_sorted(), "{}", resource.plural);
            assert!(
                resource.subresources.iter().all(|s| s.verbs.is_sorted()),
                "{}",
                resource.plural
            );
        }
    }

    #[test]
    fn kinds_are_found_by_api_version() {
        let replica_sets = find_kind("apps/v1", "ReplicaSet").expect("replica sets");
        assert_eq!(replica_sets.group_resource(), "replicasets.apps");
        assert_eq!(replica_sets.api_version(), "apps/v1");
        assert_eq!(
            find_kind("v1", "Pod").map(Resource::list_kind).as_deref(),
            Some("PodList")
        );
        assert_eq!(find_kind("apps/v1", "Pod"), None);
    }
}
