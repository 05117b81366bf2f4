//! The snapshot that a scheduling cycle works on: one column per fact, one row per node.
//!
//! Filters and scores run over whole columns; nothing is kept per pair of pod and node. Each change touches only the
//! columns it concerns. A node that has pods but no object (yet, or no more) is a ghost: it keeps its row and its sums,
//! and is in no [`NodeSet`] that the columns hand out.

use compact_str::CompactString;
use foldhash::fast::FixedState;

use crate::{Allocatable, AvoidedController, Footprint, HostPort, Labels, Node, Taint};

mod attachable;
mod attachments;
mod claim_uses;
mod counts;
mod disks;
mod domain_counts;
mod image_columns;
mod label_columns;
mod match_index;
mod node_classes;
mod node_set;
mod numbered;
mod pod_columns;
mod pod_queries;
mod pod_terms;
mod port_columns;
mod priority_levels;
mod resource_columns;
mod rows;
mod selection;
mod sparse_column;
mod storage;
mod sum_column;
#[cfg(test)]
mod tests;
mod volume_columns;
mod workload_selectors;

pub use attachable::{AttachableVolume, VolumeHandle};
pub use attachments::AttachColumn;
pub use domain_counts::DomainCounts;
pub use image_columns::ImageColumn;
pub use label_columns::{LabelColumn, ValueId};
pub use node_classes::NodeClass;
pub use node_set::{Iter, NodeIndex, NodeSet};
pub use pod_queries::{PodCounts, QueryId};
pub use pod_terms::{MatchingTerm, TermId};
pub use resource_columns::ScalarColumn;
pub use sparse_column::Figures;
pub use storage::{BySize, MigratedTopology, Reach, Room, Storage, TopologyId};

use domain_counts::Spot;
use image_columns::ImageColumns;
use label_columns::LabelColumns;
use node_classes::NodeClasses;
use pod_columns::PodColumns;
use port_columns::PortColumns;
use resource_columns::ResourceColumns;
use rows::Rows;
use volume_columns::VolumeColumns;
use workload_selectors::WorkloadSelectors;

/// Of how many changes the rows are known without a look at all of them.
const LATEST: usize = 4096;

/// Hashed with a fixed seed, so that one sequence of changes always gives the same columns.
type Map<K, V> = hashbrown::HashMap<K, V, FixedState>;

/// The columns. Changes go in through four methods: [`set_node`](Self::set_node), [`remove_node`](Self::remove_node),
/// [`add_pod`](Self::add_pod) and [`remove_pod`](Self::remove_pod).
///
/// Slices are [`capacity`](Self::capacity) long unless they say otherwise. Rows without a node hold zeros.
#[derive(Debug, Clone, Default)]
pub struct Columns {
    version: u64,
    changed_at: Vec<u64>,
    /// The rows that changed last: that of version `v` at `v % LATEST`.
    latest: Vec<NodeIndex>,
    rows: Rows,
    /// Rows of nodes that have an object.
    nodes: NodeSet,
    node_count: usize,
    unschedulable: NodeSet,
    resources: ResourceColumns,
    taints: NodeClasses<Taint>,
    features: NodeClasses<CompactString>,
    avoided: NodeClasses<AvoidedController>,
    labels: LabelColumns,
    images: ImageColumns,
    ports: PortColumns,
    pods: PodColumns,
    workloads: WorkloadSelectors,
    storage: Storage,
    volumes: VolumeColumns,
}

// === Changes ===

impl Columns {
    /// No nodes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds or updates a node, or gives a ghost its object. Nothing changes when the columns say the same already.
    pub fn set_node(&mut self, node: &Node) {
        let row = self.claim(&node.name);
        let is_new = self.nodes.insert(row);
        self.node_count += usize::from(is_new);
        if is_new && self.has_pods(row) {
            self.pods.turn(row, true);
        }
        let schedulability_changed = if node.spec.unschedulable {
            self.unschedulable.insert(row)
        } else {
            self.unschedulable.remove(row)
        };
        let relabelled = self.relabel(row, &node.labels);
        if is_new || relabelled {
            self.storage.note_node(row);
        }
        let changed = [
            is_new,
            schedulability_changed,
            relabelled,
            self.resources.set_allocatable(row, &node.status.allocatable),
            self.taints.set(row, &node.spec.taints),
            self.features.set(row, &node.status.declared_features),
            self.avoided.set(row, &node.avoided_controllers),
            self.images.set(row, &node.status.images),
        ];
        if changed.contains(&true) {
            self.touch(row);
        }
    }

    /// Takes a node's object away. Its pods stay behind on a ghost; without pods the row becomes free.
    pub fn remove_node(&mut self, name: &str) {
        let Some(row) = self.rows.index_of(name).filter(|row| self.nodes.contains(*row)) else {
            return;
        };
        self.relabel(row, &Labels::default());
        self.storage.note_node(row);
        self.nodes.remove(row);
        self.node_count -= 1;
        if self.has_pods(row) {
            self.pods.turn(row, false);
        }
        self.unschedulable.remove(row);
        self.resources.set_allocatable(row, &Allocatable::default());
        self.taints.clear(row);
        self.features.clear(row);
        self.avoided.clear(row);
        self.images.set(row, &[]);
        self.touch(row);
        self.release_if_empty(row);
    }

    /// Puts a pod on a node; if the node is not known, on a ghost of that name.
    pub fn add_pod(&mut self, node: &str, footprint: &Footprint) {
        let row = self.claim(node);
        self.resources.add_pod(row, footprint);
        for port in &footprint.host_ports {
            self.ports.add(row, port);
        }
        let (pods, spot) = self.pods_at(row);
        pods.add_pod(&spot, &footprint.class);
        if let Some(volumes) = &footprint.volumes {
            self.volumes.add_pod(row, volumes, &self.storage);
        }
        self.touch(row);
    }

    /// Takes a pod off a node: the exact inverse of [`add_pod`](Self::add_pod) with the same footprint. A node without
    /// pods is left alone.
    pub fn remove_pod(&mut self, node: &str, footprint: &Footprint) {
        let Some(row) = self.rows.index_of(node).filter(|row| self.has_pods(*row)) else {
            return;
        };
        self.resources.remove_pod(row, footprint);
        for port in &footprint.host_ports {
            self.ports.remove(row, port);
        }
        let (pods, spot) = self.pods_at(row);
        pods.remove_pod(&spot, &footprint.class);
        if let Some(volumes) = &footprint.volumes {
            self.volumes.remove_pod(row, volumes);
        }
        self.touch(row);
        self.release_if_empty(row);
    }

    /// Takes what pods below a priority request off the sums of these nodes, and those pods off their counts of pods, for a
    /// look at what would be free without them. All else still shows the pods. Until
    /// [`bring_requests_back`](Self::bring_requests_back) with the same nodes and priority nothing else may change there.
    pub fn set_requests_aside(&mut self, nodes: &NodeSet, below: i32) {
        self.resources.change_below(nodes, below, -1);
    }

    /// Undoes [`set_requests_aside`](Self::set_requests_aside).
    pub fn bring_requests_back(&mut self, nodes: &NodeSet, below: i32) {
        self.resources.change_below(nodes, below, 1);
    }

    /// Adds what a pod requests to the sums of a node, and the pod to its count of pods; all else does not show it.
    /// [`remove_requests`](Self::remove_requests) undoes it.
    pub fn add_requests(&mut self, node: NodeIndex, footprint: &Footprint) {
        self.resources.change_by_pod(node, footprint, 1);
    }

    /// Undoes [`add_requests`](Self::add_requests).
    pub fn remove_requests(&mut self, node: NodeIndex, footprint: &Footprint) {
        self.resources.change_by_pod(node, footprint, -1);
    }

    fn claim(&mut self, name: &str) -> NodeIndex {
        if let Some(row) = self.rows.index_of(name) {
            return row;
        }
        let row = self.rows.claim(name);
        self.volumes.attachments.enter(row, name, &self.storage, &self.rows);
        let capacity = self.rows.capacity();
        if self.changed_at.len() < capacity {
            self.changed_at.resize(capacity, 0);
            self.resources.grow(capacity);
            self.taints.grow(capacity);
            self.features.grow(capacity);
            self.avoided.grow(capacity);
        }
        row
    }

    fn release_if_empty(&mut self, row: NodeIndex) {
        if !self.nodes.contains(row) && !self.has_pods(row) {
            self.volumes.attachments.leave(row, self.rows.name(row));
            self.rows.release(row);
        }
    }

    fn has_pods(&self, row: NodeIndex) -> bool {
        self.resources.pod_count()[row.as_usize()] > 0
    }

    fn pods_at(&mut self, row: NodeIndex) -> (&mut PodColumns, Spot<'_>) {
        let spot = Spot {
            row,
            is_node: self.nodes.contains(row),
            labels: &self.labels,
        };
        (&mut self.pods, spot)
    }

    /// Whether anything changed. The pods there go with the node from domain to domain.
    fn relabel(&mut self, row: NodeIndex, labels: &Labels) -> bool {
        if !self.has_pods(row) {
            return self.labels.set(row, labels);
        }
        let before = self.labels.of(row).cloned().unwrap_or_default();
        let keys = before.iter().chain(labels.iter()).map(|(key, _)| key);
        let keys: Vec<&str> = keys.filter(|key| before.get(key) != labels.get(key)).collect();
        if keys.is_empty() {
            return false;
        }
        let (pods, spot) = self.pods_at(row);
        pods.leave(&spot, &keys);
        self.labels.set(row, labels);
        let (pods, spot) = self.pods_at(row);
        pods.enter(&spot, &keys);
        true
    }

    fn touch(&mut self, row: NodeIndex) {
        self.version += 1;
        self.changed_at[row.as_usize()] = self.version;
        let at = place_of(self.version);
        if at >= self.latest.len() {
            self.latest.resize(at + 1, row);
        }
        self.latest[at] = row;
    }
}

fn place_of(version: u64) -> usize {
    usize::try_from(version % LATEST as u64).unwrap_or(0)
}

// === Rows ===

impl Columns {
    /// Rises with every change.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The version with which each row changed last. A row that went to another node has changed too.
    pub fn changed_at(&self) -> &[u64] {
        &self.changed_at
    }

    /// The rows that have changed since the columns had this version, free ones among them, and maybe some that have not.
    pub fn changed_since(&self, version: u64) -> NodeSet {
        let changes = self.version.saturating_sub(version);
        if changes <= LATEST as u64 {
            // Changes that are about no row leave an older one in their place, which does no harm.
            let versions = self.version - changes + 1..=self.version;
            versions
                .filter_map(|version| self.latest.get(place_of(version)).copied())
                .collect()
        } else {
            NodeSet::from_column(&self.changed_at, |changed_at| *changed_at > version)
        }
    }

    /// Nodes that have an object: all but ghosts.
    pub fn nodes(&self) -> &NodeSet {
        &self.nodes
    }

    /// How many nodes have an object.
    pub fn node_count(&self) -> usize {
        self.node_count
    }

    /// Length of the columns.
    pub fn capacity(&self) -> usize {
        self.rows.capacity()
    }

    /// The row of a node or ghost.
    pub fn index_of(&self, name: &str) -> Option<NodeIndex> {
        self.rows.index_of(name)
    }

    /// The name of the node or ghost in a row; empty for a free row.
    pub fn name(&self, node: NodeIndex) -> &str {
        self.rows.name(node)
    }
}

// === Columns ===

impl Columns {
    /// Thousandths of a core that pods may use.
    pub fn allocatable_cpu(&self) -> &[i64] {
        &self.resources.allocatable_cpu
    }

    /// Bytes of memory that pods may use.
    pub fn allocatable_memory(&self) -> &[i64] {
        &self.resources.allocatable_memory
    }

    /// Bytes of ephemeral storage that pods may use.
    pub fn allocatable_ephemeral_storage(&self) -> &[i64] {
        &self.resources.allocatable_ephemeral_storage
    }

    /// How many pods there may be.
    pub fn allowed_pods(&self) -> &[i64] {
        &self.resources.allowed_pods
    }

    /// Thousandths of a core that the pods there request.
    pub fn requested_cpu(&self) -> &[i64] {
        self.resources.requested_cpu.values()
    }

    /// Bytes of memory that the pods there request.
    pub fn requested_memory(&self) -> &[i64] {
        self.resources.requested_memory.values()
    }

    /// Bytes of ephemeral storage that the pods there request.
    pub fn requested_ephemeral_storage(&self) -> &[i64] {
        self.resources.requested_ephemeral_storage.values()
    }

    /// As [`requested_cpu`](Self::requested_cpu), with defaults for containers that name none.
    pub fn non_zero_cpu(&self) -> &[i64] {
        self.resources.non_zero_cpu.values()
    }

    /// As [`requested_memory`](Self::requested_memory), with defaults for containers that name none.
    pub fn non_zero_memory(&self) -> &[i64] {
        self.resources.non_zero_memory.values()
    }

    /// How many pods there are.
    pub fn pod_count(&self) -> &[i64] {
        self.resources.pod_count()
    }

    /// How many pods below a priority there are.
    pub fn pod_count_below(&self, node: NodeIndex, priority: i32) -> i64 {
        self.resources.levels().pods_below(node, priority)
    }

    /// An extended or other scalar resource, if some node or pod names it.
    pub fn scalar(&self, name: &str) -> Option<ScalarColumn<'_>> {
        self.resources.scalar(name)
    }

    /// Cordoned nodes.
    pub fn unschedulable(&self) -> &NodeSet {
        &self.unschedulable
    }

    /// The taints of each node, as a class. Of rows without a node it says nothing.
    pub fn taint_class(&self) -> &[NodeClass] {
        self.taints.classes()
    }

    /// The classes that nodes have, and their taints in the nodes' order.
    pub fn taint_classes(&self) -> impl Iterator<Item = (NodeClass, &[Taint])> {
        self.taints.iter()
    }

    /// The nodes that have exactly the taints of a class.
    pub fn nodes_of_taint_class(&self, class: NodeClass) -> &NodeSet {
        self.taints.nodes(class)
    }

    /// The taints of a node; none for a row without a node.
    pub fn taints(&self, node: NodeIndex) -> &[Taint] {
        self.taints.of(node)
    }

    /// The lists of features that nodes declare, and the nodes that declare exactly those.
    pub fn declared_features(&self) -> impl Iterator<Item = (&[CompactString], &NodeSet)> {
        self.features
            .iter()
            .map(|(class, features)| (features, self.features.nodes(class)))
    }

    /// The nodes that pods of a controller would rather not be on.
    pub fn nodes_avoided_by(&self, controller_kind: &str, controller_uid: &str) -> NodeSet {
        let mut nodes = NodeSet::new();
        for (class, avoided) in self.avoided.iter() {
            if avoided
                .iter()
                .any(|avoided| avoided.kind == controller_kind && avoided.uid == controller_uid)
            {
                nodes.union_with(self.avoided.nodes(class));
            }
        }
        nodes
    }

    /// The values of one label, if some node has it.
    pub fn label_key(&self, key: &str) -> Option<LabelColumn<'_>> {
        self.labels.column(key)
    }

    /// A node's value of one label.
    pub fn label(&self, node: NodeIndex, key: &str) -> Option<&str> {
        self.labels.of(node)?.get(key)
    }

    /// Nodes where one of the ports is taken.
    pub fn port_conflicts(&self, wanted: &[HostPort]) -> NodeSet {
        let mut taken = self.ports.conflicts(wanted);
        taken.intersect_with(&self.nodes);
        taken
    }

    /// An image by a name it is reported under, if some node has it.
    pub fn image(&self, normalised: &str) -> Option<ImageColumn<'_>> {
        self.images.column(normalised)
    }
}

fn slot(names: &Map<CompactString, u32>, name: &str) -> Option<usize> {
    names.get(name).map(|id| *id as usize)
}
