use compact_str::CompactString;
use plimsoll_framework::Adopt;
use plimsoll_model::Pod;
use plimsoll_model::columns::{Columns, NodeSet};
use plimsoll_model::storage::PersistentVolumeClaim;

use super::VolumeBinding;
use super::claims::{claim_names, is_fully_bound};

/// What an earlier leader has written for a pod stands in the API server's objects: the node that a claim's volume is made for,
/// and the claim that a volume is made over to. Matching heeds both, so nothing has to be held beyond the node's room.
impl Adopt for VolumeBinding {
    fn adopt(&self, pod: &Pod, columns: &Columns) -> Option<CompactString> {
        let claims = claim_names(pod).filter_map(|(name, _)| columns.storage().claim(&name));
        let mut unbound = claims.filter(|claim| !is_fully_bound(claim));
        unbound.find_map(|claim| selected_node(claim, columns).or_else(|| only_node(claim, columns)))
    }
}

fn selected_node(claim: &PersistentVolumeClaim, columns: &Columns) -> Option<CompactString> {
    let node = claim.selected_node.as_ref()?;
    let index = columns.index_of(node)?;
    columns.nodes().contains(index).then(|| node.clone())
}

/// The node that alone reaches the volume which is made over to the claim.
fn only_node(claim: &PersistentVolumeClaim, columns: &Columns) -> Option<CompactString> {
    let storage = columns.storage();
    let mut volumes = storage.volumes_of_claim(&claim.name);
    let volume = volumes.find(|volume| {
        let reference = volume.claim.as_ref();
        reference.is_some_and(|reference| reference.uid.as_ref() == Some(&claim.uid))
    })?;
    let mut reached = NodeSet::new();
    columns
        .reach(storage.topology_of(&volume.name.name)?)
        .add_to(&mut reached);
    let mut nodes = reached.iter();
    let node = nodes.next()?;
    nodes.next().is_none().then(|| columns.name(node).into())
}
