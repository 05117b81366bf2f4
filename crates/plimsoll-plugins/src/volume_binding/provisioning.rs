use std::borrow::Cow;
use std::sync::Arc;

use plimsoll_model::columns::{Columns, NodeSet, Reach};
use plimsoll_model::storage::{PersistentVolumeClaim, StorageClass};

/// The provisioner of classes whose volumes somebody makes by hand.
const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

/// Where a volume for one claim can be made.
pub(super) struct Provisioning<'a> {
    /// Where the class makes volumes; none when it makes none.
    allowed: Option<Cow<'a, Reach>>,
    /// Where there is room for it; none when nobody tells.
    with_room: Option<NodeSet>,
}

impl<'a> Provisioning<'a> {
    /// `Err` if the claim's class is not there, which cannot be within one cycle: then the claim would not wait for a node.
    pub(super) fn of(columns: &'a Columns, claim: &PersistentVolumeClaim) -> Result<Self, String> {
        let storage = columns.storage();
        if claim.class.is_empty() {
            return Err(format!("no class for claim \"{}\"", claim.name));
        }
        let Some((class, allowed)) = storage.class(&claim.class).zip(storage.allowed(&claim.class)) else {
            return Err(format!("failed to find storage class {:?}", claim.class));
        };
        if class.provisioner.is_empty() || class.provisioner == NO_PROVISIONER {
            return Ok(Self {
                allowed: None,
                with_room: None,
            });
        }
        Ok(Self {
            allowed: Some(columns.reach(allowed)),
            with_room: needed_room(columns, claim, class).map(|bytes| nodes_with_room(columns, class, bytes)),
        })
    }

    /// Takes the nodes out on which the volume cannot be made: those elsewhere than the class makes volumes, then those where
    /// there is no room.
    pub(super) fn narrow(&self, nodes: &mut NodeSet, elsewhere: &mut NodeSet, without_room: &mut NodeSet) {
        let allowed = match &self.allowed {
            Some(allowed) => allowed.within(nodes),
            None => NodeSet::new(),
        };
        nodes.subtract(&allowed);
        elsewhere.union_with(nodes);
        *nodes = allowed;
        if let Some(with_room) = &self.with_room {
            let mut full = nodes.clone();
            full.subtract(with_room);
            without_room.union_with(&full);
            nodes.intersect_with(with_room);
        }
    }
}

/// How many bytes must be free for a claim's volume; none if that cannot be told, since the class's driver does not tell what
/// room it has.
pub(super) fn needed_room(columns: &Columns, claim: &PersistentVolumeClaim, class: &Arc<StorageClass>) -> Option<i64> {
    let bytes = claim.requested?;
    let driver = columns.storage().driver(&class.provisioner)?;
    driver.storage_capacity.then_some(bytes)
}

fn nodes_with_room(columns: &Columns, class: &StorageClass, bytes: i64) -> NodeSet {
    let mut nodes = NodeSet::new();
    for room in columns.storage().rooms(&class.name.name, bytes) {
        columns.reach(room.topology).add_to(&mut nodes);
    }
    nodes
}
