use std::sync::Arc;

use plimsoll_model::storage::{
    CsiDriver, CsiNode, CsiStorageCapacity, PersistentVolume, PersistentVolumeClaim, StorageClass, StorageObject,
    VolumeAttachment,
};
use plimsoll_model::{Namespace, Node, Pod, Uid, WorkloadSelector};

use crate::EventObjects;

/// What happened to the object of an event.
#[derive(Debug, PartialEq, Eq)]
pub enum ObjectChange<'a, T> {
    /// It is new, or what waited for a node has one now.
    Added(&'a T),
    /// It changed.
    Updated {
        /// As it was last told.
        old: &'a T,
        /// As it is now.
        new: &'a T,
    },
    /// It is gone, or what it held is free; this is the last that is known of it.
    Deleted(&'a T),
}

// Derived ones would ask the object to be so too.
impl<T> Clone for ObjectChange<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for ObjectChange<'_, T> {}

impl<'a, T> ObjectChange<'a, T> {
    fn of(old: Option<&'a Arc<T>>, new: Option<&'a Arc<T>>) -> Option<Self> {
        match (old, new) {
            (None, None) => None,
            (None, Some(new)) => Some(Self::Added(new)),
            (Some(old), Some(new)) => Some(Self::Updated { old, new }),
            (Some(old), None) => Some(Self::Deleted(old)),
        }
    }

    /// As it was, if it was there.
    pub fn before(self) -> Option<&'a T> {
        match self {
            Self::Added(_) => None,
            Self::Updated { old, .. } | Self::Deleted(old) => Some(old),
        }
    }

    /// As it is, if it is there.
    pub fn after(self) -> Option<&'a T> {
        match self {
            Self::Added(new) | Self::Updated { new, .. } => Some(new),
            Self::Deleted(_) => None,
        }
    }
}

impl ObjectChange<'_, Pod> {
    /// Whether it happened to the pod with this identity.
    pub fn is_of(self, uid: &Uid) -> bool {
        self.after()
            .or_else(|| self.before())
            .is_some_and(|pod| pod.uid == *uid)
    }
}

impl EventObjects {
    /// What happened to a pod; none if the event is about something else or comes without its objects.
    pub fn pod(&self) -> Option<ObjectChange<'_, Pod>> {
        match self {
            Self::Pod { old, new } => ObjectChange::of(old.as_ref(), new.as_ref()),
            _ => None,
        }
    }

    /// What happened to a node; none if the event is about something else or comes without its objects.
    pub fn node(&self) -> Option<ObjectChange<'_, Node>> {
        match self {
            Self::Node { old, new } => ObjectChange::of(old.as_ref(), new.as_ref()),
            _ => None,
        }
    }

    /// What happened to a namespace; none if the event is about something else or comes without its objects.
    pub fn namespace(&self) -> Option<ObjectChange<'_, Namespace>> {
        match self {
            Self::Namespace { old, new } => ObjectChange::of(old.as_ref(), new.as_ref()),
            _ => None,
        }
    }

    /// What happened to what selects the pods of a workload; none if the event is about something else or comes without
    /// its objects.
    pub fn workload(&self) -> Option<ObjectChange<'_, WorkloadSelector>> {
        match self {
            Self::Workload { old, new } => ObjectChange::of(old.as_ref(), new.as_ref()),
            _ => None,
        }
    }
}

macro_rules! changes_of_storage {
    ($($(#[$doc:meta])* $name:ident: $kind:ident),* $(,)?) => {
        impl EventObjects {$(
            $(#[$doc])*
            pub fn $name(&self) -> Option<ObjectChange<'_, $kind>> {
                fn of_kind(object: Option<&StorageObject>) -> Option<&Arc<$kind>> {
                    match object {
                        Some(StorageObject::$kind(object)) => Some(object),
                        _ => None,
                    }
                }
                match self {
                    Self::Storage { old, new } => ObjectChange::of(of_kind(old.as_ref()), of_kind(new.as_ref())),
                    _ => None,
                }
            }
        )*}
    };
}

changes_of_storage! {
        /// What happened to a storage class; none if the event is about something else or comes without its objects.
        class: StorageClass,
        /// What happened to a CSI driver; none if the event is about something else or comes without its objects.
        csi_driver: CsiDriver,
        /// What happened to what CSI drivers say of a node; none if the event is about something else or comes without its objects.
        csi_node: CsiNode,
        /// What happened to what room a CSI driver has; none if the event is about something else or comes without its objects.
        storage_capacity: CsiStorageCapacity,
        /// What happened to an attachment of a volume; none if the event is about something else or comes without its objects.
        attachment: VolumeAttachment,
        /// What happened to a volume; none if the event is about something else or comes without its objects.
        volume: PersistentVolume,
        /// What happened to a claim of a volume; none if the event is about something else or comes without its objects.
        claim: PersistentVolumeClaim,
}

#[cfg(test)]
mod tests {
    use plimsoll_model::testing::{node, pod};

    use super::*;

    #[test]
    fn an_object_is_new_or_changed_or_gone_and_of_one_kind() {
        let (before, after) = (pod("before").build(), pod("after").build());
        let of = |old: Option<&Pod>, new: Option<&Pod>| EventObjects::Pod {
            old: old.cloned().map(Arc::new),
            new: new.cloned().map(Arc::new),
        };
        assert_eq!(of(None, Some(&after)).pod(), Some(ObjectChange::Added(&after)));
        assert_eq!(of(Some(&before), None).pod(), Some(ObjectChange::Deleted(&before)));
        let both = of(Some(&before), Some(&after));
        let updated = ObjectChange::Updated {
            old: &before,
            new: &after,
        };
        assert_eq!((updated.before(), updated.after()), (Some(&before), Some(&after)));
        assert_eq!(both.pod().as_ref(), Some(&updated));
        assert!(updated.is_of(&after.uid) && !updated.is_of(&before.uid));
        assert_eq!(of(None, None).pod(), None);
        assert_eq!(both.node(), None);
        let nodes = EventObjects::Node {
            old: None,
            new: Some(Arc::new(node("n").build())),
        };
        assert!(nodes.node().is_some() && nodes.pod().is_none() && nodes.namespace().is_none());
        assert!(EventObjects::None.workload().is_none());
    }
}
