//! Which volumes the claims of a pod get on each node, for many nodes at once.
//!
//! What a node offers depends on the topologies it is in and on nothing else. So nodes that are in the same ones are judged as
//! one, and a topology of a few nodes, such as that of a local volume, costs no more than those nodes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use compact_str::CompactString;
use plimsoll_model::LabelSelector;
use plimsoll_model::columns::{BySize, Columns, NodeIndex, NodeSet, Reach, TopologyId};
use plimsoll_model::storage::{PersistentVolume, PersistentVolumeClaim};
use smallvec::SmallVec;

/// The volume that each claim gets, in the matcher's order; none for claims that find no volume.
pub(super) type Choice<'a> = SmallVec<[Option<&'a Arc<PersistentVolume>>; 2]>;

/// Nodes on which claims get the same volumes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Group<'g> {
    /// Only one.
    One(NodeIndex),
    /// Any number.
    All(&'g NodeSet),
}

impl Group<'_> {
    pub(super) fn add_to(self, nodes: &mut NodeSet) {
        match self {
            Self::One(node) => {
                nodes.insert(node);
            }
            Self::All(all) => nodes.union_with(all),
        }
    }
}

/// The claims of one pod that look for volumes.
pub(super) struct Matcher<'a> {
    /// Ordered by size, so that small claims leave large volumes to large ones.
    wanted: Vec<Wanted<'a>>,
    /// The topologies that matter to some claim, by position.
    reaches: Vec<Cow<'a, Reach>>,
}

struct Wanted<'a> {
    claim: &'a Arc<PersistentVolumeClaim>,
    offer: Offer<'a>,
}

/// The volumes that a claim can have.
enum Offer<'a> {
    /// The one that is made over to it, where that is reached, and none anywhere else.
    Own(&'a Arc<PersistentVolume>, usize),
    /// For each topology the first few that suit, as many as claims before it may take one of them away.
    Free(Vec<SmallVec<[&'a Arc<PersistentVolume>; 1]>>),
}

impl<'a> Matcher<'a> {
    /// For claims that look for volumes: on one node, if one is given. `Err` if the selector of one cannot be parsed.
    pub(super) fn new(
        columns: &'a Columns,
        mut claims: Vec<&'a Arc<PersistentVolumeClaim>>,
        only: Option<NodeIndex>,
    ) -> Result<Self, String> {
        claims.sort_by_key(|claim| claim.requested.unwrap_or(0));
        for claim in &claims {
            check_selector(claim)?;
        }
        let mut topologies = Topologies {
            columns,
            only,
            positions: BTreeMap::new(),
            reaches: Vec::new(),
        };
        let mut wanted: Vec<Wanted<'a>> = Vec::with_capacity(claims.len());
        for claim in claims {
            let rivals = wanted.iter().filter(|before| before.claim.class == claim.class).count();
            let offer = topologies.offer(claim, rivals + 1);
            wanted.push(Wanted { claim, offer });
        }
        Ok(Self {
            wanted,
            reaches: topologies.reaches,
        })
    }

    /// The claims, in the order in which they choose.
    pub(super) fn claims(&self) -> impl Iterator<Item = &'a Arc<PersistentVolumeClaim>> + '_ {
        self.wanted.iter().map(|wanted| wanted.claim)
    }

    /// What the claims get on each of the nodes.
    pub(super) fn for_each_group(&self, nodes: &NodeSet, mut visit: impl FnMut(Group<'_>, &Choice<'a>)) {
        let few = self.few_on(nodes);
        for (part, large) in self.parts(nodes) {
            let mut rest = part;
            for entries in few.chunk_by(|one, other| one.0 == other.0) {
                let node = entries[0].0;
                if rest.remove(node) {
                    let mut on = large.clone();
                    on.extend(entries.iter().map(|(_, position)| *position));
                    visit(Group::One(node), &self.choose(&on));
                }
            }
            if !rest.is_empty() {
                visit(Group::All(&rest), &self.choose(&large));
            }
        }
    }

    /// Each node with each small topology that it is in, ordered by node.
    fn few_on(&self, nodes: &NodeSet) -> Vec<(NodeIndex, usize)> {
        let mut on = Vec::new();
        for (position, reach) in self.reaches.iter().enumerate() {
            if let Reach::Few(few) = &**reach {
                let there = few.iter().filter(|node| nodes.contains(**node));
                on.extend(there.map(|node| (*node, position)));
            }
        }
        on.sort_unstable();
        on
    }

    /// The nodes divided by the large topologies that they are in.
    fn parts(&self, nodes: &NodeSet) -> Vec<(NodeSet, SmallVec<[usize; 4]>)> {
        let mut parts = vec![(nodes.clone(), SmallVec::new())];
        for (position, reach) in self.reaches.iter().enumerate() {
            let Reach::Many(reached) = &**reach else { continue };
            let mut outside = Vec::new();
            for (part, on) in &mut parts {
                if part.is_subset_of(reached) {
                    on.push(position);
                } else if part.intersects(reached) {
                    let mut without = part.clone();
                    without.subtract(reached);
                    outside.push((without, on.clone()));
                    part.intersect_with(reached);
                    on.push(position);
                }
            }
            parts.append(&mut outside);
        }
        parts
    }

    /// What the claims get on a node that is in these topologies.
    fn choose(&self, on: &[usize]) -> Choice<'a> {
        let mut choice = Choice::new();
        for wanted in &self.wanted {
            let chosen = match &wanted.offer {
                Offer::Own(volume, position) => on.contains(position).then_some(*volume),
                Offer::Free(first) => {
                    let is_left = |volume: &&Arc<PersistentVolume>| {
                        !choice.iter().flatten().any(|taken| Arc::ptr_eq(taken, volume))
                    };
                    let left = on
                        .iter()
                        .filter_map(|position| first.get(*position)?.iter().copied().find(is_left));
                    left.min_by_key(|volume| (volume.capacity.unwrap_or(0), &volume.name.name))
                }
            };
            choice.push(chosen);
        }
        choice
    }
}

/// The topologies that claims ask about, each once.
struct Topologies<'a> {
    columns: &'a Columns,
    only: Option<NodeIndex>,
    positions: BTreeMap<TopologyId, usize>,
    reaches: Vec<Cow<'a, Reach>>,
}

impl<'a> Topologies<'a> {
    fn offer(&mut self, claim: &PersistentVolumeClaim, most: usize) -> Offer<'a> {
        let storage = self.columns.storage();
        if let Some(volume) = own_volume(self.columns, claim) {
            let position = storage.topology_of(&volume.name.name).and_then(|id| self.position(id));
            return Offer::Own(volume, position.unwrap_or(usize::MAX));
        }
        let mut first = Vec::new();
        for (topology, volumes) in storage.free_volumes(&claim.class) {
            let suitable = first_suitable(volumes, claim, most);
            if suitable.is_empty() {
                continue;
            }
            if let Some(position) = self.position(topology) {
                first.resize_with(first.len().max(position + 1), SmallVec::new);
                first[position] = suitable;
            }
        }
        Offer::Free(first)
    }

    /// None if the topology does not matter.
    fn position(&mut self, topology: TopologyId) -> Option<usize> {
        if let Some(position) = self.positions.get(&topology) {
            return Some(*position);
        }
        let reach = self.columns.reach(topology);
        if self.only.is_some_and(|node| !reach.contains(node)) {
            return None;
        }
        self.reaches.push(reach);
        self.positions.insert(topology, self.reaches.len() - 1);
        Some(self.reaches.len() - 1)
    }
}

/// The nodes on which a claim that has no rival finds a volume. `Err` as for [`Matcher::new`].
pub(super) fn nodes_with_a_volume(columns: &Columns, claim: &PersistentVolumeClaim) -> Result<NodeSet, String> {
    check_selector(claim)?;
    let storage = columns.storage();
    let mut nodes = NodeSet::new();
    if let Some(own) = own_volume(columns, claim) {
        if let Some(topology) = storage.topology_of(&own.name.name) {
            columns.reach(topology).add_to(&mut nodes);
        }
        return Ok(nodes);
    }
    for (topology, volumes) in storage.free_volumes(&claim.class) {
        if !first_suitable(volumes, claim, 1).is_empty() {
            columns.reach(topology).add_to(&mut nodes);
        }
    }
    Ok(nodes)
}

fn check_selector(claim: &PersistentVolumeClaim) -> Result<(), String> {
    let checked = claim.selector.as_ref().map_or(Ok(()), LabelSelector::check);
    let name = &claim.name;
    checked.map_err(|error| format!("error creating internal label selector for claim: {name}: {error}"))
}

/// The volume that is made over to a claim, if it can have that one at all.
fn own_volume<'a>(columns: &'a Columns, claim: &PersistentVolumeClaim) -> Option<&'a Arc<PersistentVolume>> {
    let mut own = columns.storage().volumes_of_claim(&claim.name);
    own.find(|volume| is_for(columns, volume, claim) && may_be_had(volume, claim))
}

fn first_suitable<'a>(
    volumes: &'a BySize,
    claim: &PersistentVolumeClaim,
    most: usize,
) -> SmallVec<[&'a Arc<PersistentVolume>; 1]> {
    let enough = volumes.range((claim.requested.unwrap_or(0), CompactString::default())..);
    let suitable = enough.map(|(_, volume)| volume).filter(|volume| suits(volume, claim));
    suitable.take(most).collect()
}

/// Whether a volume is made over to the claim.
fn is_for(columns: &Columns, volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    columns.storage().volume_claim(volume).is_some_and(|reference| {
        reference.name == claim.name && reference.uid.as_ref().is_none_or(|uid| *uid == claim.uid)
    })
}

/// What holds of any volume that a claim gets, also of one that is made over to it.
fn may_be_had(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    volume.class == claim.class
        && volume.capacity.unwrap_or(0) >= claim.requested.unwrap_or(0)
        && volume.volume_mode.unwrap_or_default() == claim.volume_mode.unwrap_or_default()
        && volume.attributes_class.as_deref().unwrap_or_default()
            == claim.attributes_class.as_deref().unwrap_or_default()
        && !volume.deleting
}

/// Whether a claim can have a volume that is for nobody.
fn suits(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    may_be_had(volume, claim)
        && volume.access_modes.contains(claim.access_modes)
        && claim
            .selector
            .as_ref()
            .is_none_or(|selector| selector.matches(&volume.labels))
}
