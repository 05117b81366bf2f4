use std::sync::Arc;

use plimsoll_model::columns::{Columns, NodeIndex};
use plimsoll_model::storage::PersistentVolumeClaim;

/// Claims that get a volume once their pod has a node.
pub(super) struct Delayed<'a> {
    /// Those whose volumes are to be made, for a node that is chosen already.
    pub(super) selected: Vec<&'a Arc<PersistentVolumeClaim>>,
    /// The others: they look for a volume that is there.
    pub(super) unselected: Vec<&'a Arc<PersistentVolumeClaim>>,
    place: Place,
}

/// Where claims can go whose node is chosen already.
#[derive(Debug, Clone, Copy)]
enum Place {
    Anywhere,
    On(NodeIndex),
    Nowhere,
}

impl<'a> Delayed<'a> {
    pub(super) fn of(columns: &Columns, claims: &'a [Arc<PersistentVolumeClaim>]) -> Self {
        let mut delayed = Self {
            selected: Vec::new(),
            unselected: Vec::new(),
            place: Place::Anywhere,
        };
        for claim in claims {
            let Some(node) = columns.storage().selected_node(claim) else {
                delayed.unselected.push(claim);
                continue;
            };
            delayed.selected.push(claim);
            delayed.place = match (delayed.place, columns.index_of(node)) {
                (Place::Anywhere, Some(node)) => Place::On(node),
                (Place::On(before), Some(node)) if before == node => Place::On(node),
                _ => Place::Nowhere,
            };
        }
        delayed
    }

    /// The one node that is chosen already, if one can be meant at all; none when no node is chosen.
    pub(super) fn only(&self) -> Option<impl Iterator<Item = NodeIndex>> {
        match self.place {
            Place::Anywhere => None,
            Place::On(node) => Some(Some(node).into_iter()),
            Place::Nowhere => Some(None.into_iter()),
        }
    }

    /// The node to look at, if there is no other.
    pub(super) fn node(&self) -> Option<NodeIndex> {
        match self.place {
            Place::On(node) => Some(node),
            Place::Anywhere | Place::Nowhere => None,
        }
    }
}
