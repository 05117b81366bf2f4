use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use compact_str::CompactString;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use plimsoll_model::columns::{Columns, NodeIndex};
use plimsoll_model::storage::{StorageKind, StorageObject, VolumeReservation};
use plimsoll_model::{
    DisruptionBudget, Footprint, Namespace, Node, ObjectName, Pod, Uid, WorkloadKind, WorkloadSelector,
};

use crate::ClaimId;
use crate::node_order::NodeOrder;
use crate::preemption::Stamp;

/// Who counts where: the objects as the stream told them, what claims hold, and the columns that follow from both.
///
/// A pod counts on the node that the watch shows; while it shows none, on the node that its claim holds; else nowhere. Volumes
/// are reserved for it while its claim holds them. `recount` is the only writer of pods and reservations into the columns, so
/// that a pod never counts twice, and nothing stays reserved when a claim is over.
#[derive(Default)]
pub(crate) struct Ledger {
    nodes: BTreeMap<CompactString, Arc<Node>>,
    namespaces: BTreeMap<CompactString, Arc<Namespace>>,
    workloads: BTreeMap<(WorkloadKind, ObjectName), Arc<WorkloadSelector>>,
    budgets: BTreeMap<ObjectName, Arc<DisruptionBudget>>,
    storage: BTreeMap<(StorageKind, ObjectName), StorageObject>,
    pods: HashMap<Uid, Entry, FixedState>,
    columns: Columns,
    order: NodeOrder,
    /// Who counts on each node, in the order in which they came.
    guests: HashMap<CompactString, Vec<Uid>, FixedState>,
    /// The number of the last change of a pod on the node of each row that the columns need not show.
    guests_changed_at: Vec<u64>,
    guest_changes: u64,
    budget_changes: u64,
    counted: usize,
}

#[derive(Default)]
struct Entry {
    pod: Option<Arc<Pod>>,
    hold: Option<Box<Hold>>,
    counted: Option<Place>,
    /// What the columns hold for it.
    reserved: Option<Arc<VolumeReservation>>,
}

struct Hold {
    claim: ClaimId,
    pod: Arc<Pod>,
    place: Place,
    volumes: Option<Arc<VolumeReservation>>,
}

#[derive(Clone, PartialEq, Eq)]
struct Place {
    node: CompactString,
    footprint: Arc<Footprint>,
}

/// A pod that counts on a node.
#[derive(Debug, Clone)]
pub(crate) struct Guest {
    pub(crate) pod: Arc<Pod>,
    /// What it adds to the columns.
    pub(crate) footprint: Arc<Footprint>,
}

impl Ledger {
    pub(crate) fn columns(&self) -> &Columns {
        &self.columns
    }

    /// For filters that must see a node with nominated pods on it; whoever adds a footprint takes the same one off again.
    pub(crate) fn columns_mut(&mut self) -> &mut Columns {
        &mut self.columns
    }

    /// The rows of all nodes, in the order in which kube-scheduler looks at nodes.
    pub(crate) fn node_order(&mut self) -> &[NodeIndex] {
        self.order.rows(&self.columns)
    }

    pub(crate) fn node_count(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn counted_pods(&self) -> usize {
        self.counted
    }

    pub(crate) fn pod(&self, uid: &Uid) -> Option<&Arc<Pod>> {
        self.pods.get(uid)?.pod.as_ref()
    }

    /// Every pod that the stream has told of and that has neither a node nor a claim, in the order of UIDs.
    pub(crate) fn waiting(&self) -> Vec<Arc<Pod>> {
        let unclaimed = self.pods.values().filter(|entry| entry.hold.is_none());
        let mut waiting: Vec<_> = unclaimed
            .filter_map(|entry| entry.pod.as_ref().filter(|pod| pod.node_name().is_none()))
            .cloned()
            .collect();
        waiting.sort_unstable_by(|a, b| a.uid.cmp(&b.uid));
        waiting
    }

    /// Whether the pod's claim holds volumes.
    pub(crate) fn holds_volumes(&self, uid: &Uid) -> bool {
        let hold = self.pods.get(uid).and_then(|entry| entry.hold.as_ref());
        hold.is_some_and(|hold| hold.volumes.is_some())
    }

    /// The volumes that the pod's claim holds.
    pub(crate) fn reserved_volumes(&self, uid: &Uid) -> impl Iterator<Item = &CompactString> {
        let hold = self.pods.get(uid).and_then(|entry| entry.hold.as_ref());
        let volumes = hold.and_then(|hold| hold.volumes.as_deref());
        volumes
            .into_iter()
            .flat_map(|volumes| volumes.volumes.iter().map(|(volume, _)| volume))
    }

    pub(crate) fn claim_of(&self, uid: &Uid) -> Option<ClaimId> {
        self.pods.get(uid)?.hold.as_ref().map(|hold| hold.claim)
    }

    pub(crate) fn node(&self, name: &str) -> Option<&Arc<Node>> {
        self.nodes.get(name)
    }

    /// The pods below a priority that count on a node, in the order in which they came.
    pub(crate) fn guests_below(&self, node: &str, priority: i32) -> impl Iterator<Item = Guest> {
        let entries = self.guests.get(node).into_iter().flatten();
        let entries = entries.filter_map(|uid| self.pods.get(uid));
        entries.filter_map(move |entry| entry.guest_below(priority))
    }

    /// What is different once the node has changed, or a pod that counts on it.
    pub(crate) fn stamp(&self, node: NodeIndex) -> Stamp {
        let at = node.as_usize();
        Stamp {
            row: self.columns.changed_at().get(at).copied().unwrap_or_default(),
            guests: self.guests_changed_at.get(at).copied().unwrap_or_default(),
        }
    }

    /// How often disruption budgets have changed.
    pub(crate) fn budget_changes(&self) -> u64 {
        self.budget_changes
    }

    /// Names of nodes that have an object or a pod that counts on them, in order: at most so many behind a name.
    pub(crate) fn node_names_after(&self, after: Option<&str>, limit: usize) -> Vec<&CompactString> {
        let behind = |name: &&CompactString| after.is_none_or(|after| name.as_str() > after);
        let ghosts = self
            .guests
            .iter()
            .filter(|(_, pods)| !pods.is_empty())
            .map(|(name, _)| name);
        let ghosts: BTreeSet<_> = ghosts
            .filter(|name| !self.nodes.contains_key(*name))
            .filter(behind)
            .collect();
        let bound = after.map_or(Bound::Unbounded, Bound::Excluded);
        let nodes = self
            .nodes
            .range::<str, _>((bound, Bound::Unbounded))
            .map(|(name, _)| name);
        let names: BTreeSet<_> = nodes.take(limit).chain(ghosts).collect();
        names.into_iter().take(limit).collect()
    }

    /// The pods that count on a node, in the order in which they came.
    pub(crate) fn guests(&self, node: &str) -> impl Iterator<Item = &Arc<Pod>> {
        let entries = self.guests.get(node).into_iter().flatten();
        let entries = entries.filter_map(|uid| self.pods.get(uid));
        entries.filter_map(|entry| entry.pod.as_ref().or_else(|| entry.hold.as_ref().map(|hold| &hold.pod)))
    }

    /// Every disruption budget, by namespace and name.
    pub(crate) fn budgets(&self) -> impl Iterator<Item = &Arc<DisruptionBudget>> {
        self.budgets.values()
    }

    /// The disruption budgets of a namespace, by name.
    pub(crate) fn budgets_in(&self, namespace: &str) -> impl Iterator<Item = &Arc<DisruptionBudget>> {
        let from = ObjectName::new(namespace, "");
        let budgets = self.budgets.range(from..).map(|(_, budget)| budget);
        budgets.take_while(move |budget| budget.name.namespace == namespace)
    }

    pub(crate) fn set_node(&mut self, node: &Arc<Node>) {
        self.columns.set_node(node);
        self.order.set(node);
        self.nodes.insert(node.name.clone(), Arc::clone(node));
    }

    pub(crate) fn remove_node(&mut self, name: &str) {
        self.columns.remove_node(name);
        self.order.remove(name);
        self.nodes.remove(name);
    }

    pub(crate) fn change_namespace(&mut self, old: Option<&Arc<Namespace>>, new: Option<&Arc<Namespace>>) {
        match (old, new) {
            (_, Some(new)) => {
                self.columns.set_namespace(new);
                self.namespaces.insert(new.name.clone(), Arc::clone(new));
            }
            (Some(old), None) => {
                self.columns.remove_namespace(&old.name);
                self.namespaces.remove(&old.name);
            }
            (None, None) => {}
        }
    }

    pub(crate) fn change_workload(&mut self, old: Option<&Arc<WorkloadSelector>>, new: Option<&Arc<WorkloadSelector>>) {
        match (old, new) {
            (_, Some(new)) => {
                self.columns.set_workload_selector(new);
                self.workloads.insert((new.kind, new.name.clone()), Arc::clone(new));
            }
            (Some(old), None) => {
                self.columns.remove_workload_selector(old.kind, &old.name);
                self.workloads.remove(&(old.kind, old.name.clone()));
            }
            (None, None) => {}
        }
    }

    pub(crate) fn change_disruption_budget(
        &mut self,
        old: Option<&Arc<DisruptionBudget>>,
        new: Option<&Arc<DisruptionBudget>>,
    ) {
        self.budget_changes += 1;
        match (old, new) {
            (_, Some(new)) => {
                self.budgets.insert(new.name.clone(), Arc::clone(new));
            }
            (Some(old), None) => {
                self.budgets.remove(&old.name);
            }
            (None, None) => {}
        }
    }

    pub(crate) fn change_storage(&mut self, old: Option<&StorageObject>, new: Option<&StorageObject>) {
        match (old, new) {
            (_, Some(new)) => {
                self.columns.set_storage(new);
                self.storage.insert((new.kind(), new.name().clone()), new.clone());
            }
            (Some(old), None) => {
                self.columns.remove_storage(old);
                self.storage.remove(&(old.kind(), old.name().clone()));
            }
            (None, None) => {}
        }
    }

    /// Remembers the object; it counts differently only after `recount`. Says which claim the pod has, if any.
    pub(crate) fn set_pod(&mut self, pod: &Arc<Pod>) -> Option<ClaimId> {
        self.note_guest(&pod.uid);
        let entry = self.pods.entry(pod.uid.clone()).or_default();
        entry.pod = Some(Arc::clone(pod));
        entry.hold.as_ref().map(|hold| hold.claim)
    }

    /// Forgets the object; it counts differently only after `recount`.
    pub(crate) fn remove_pod(&mut self, uid: &Uid) {
        self.note_guest(uid);
        if let Some(entry) = self.pods.get_mut(uid) {
            entry.pod = None;
        }
    }

    /// Lets a claim hold room for the pod; it counts only after `recount`.
    pub(crate) fn hold(&mut self, pod: &Arc<Pod>, claim: ClaimId, node: CompactString) {
        self.note_guest(&pod.uid);
        let entry = self.pods.entry(pod.uid.clone()).or_default();
        let hold = Hold {
            claim,
            pod: Arc::clone(pod),
            place: Place {
                node,
                footprint: Arc::clone(pod.footprint()),
            },
            volumes: None,
        };
        entry.hold = Some(Box::new(hold));
    }

    /// Lets the pod's claim hold volumes too; they are reserved only after `recount`. Another claim starts without any.
    pub(crate) fn reserve_volumes(&mut self, uid: &Uid, reservation: VolumeReservation) {
        let Some(hold) = self.pods.get_mut(uid).and_then(|entry| entry.hold.as_mut()) else {
            return;
        };
        let mut volumes = reservation;
        if let Some(before) = hold.volumes.take().map(Arc::unwrap_or_clone) {
            volumes.volumes.splice(..0, before.volumes);
            volumes.provisioned.splice(..0, before.provisioned);
        }
        hold.volumes = (!volumes.is_empty()).then(|| Arc::new(volumes));
    }

    /// The claim holds no room any more; it counts until `recount`.
    pub(crate) fn release(&mut self, uid: &Uid) {
        self.note_guest(uid);
        if let Some(entry) = self.pods.get_mut(uid) {
            entry.hold = None;
        }
    }

    /// Something about the pod changes. Whether it counts somewhere else the columns show later.
    fn note_guest(&mut self, uid: &Uid) {
        let counted = self.pods.get(uid).and_then(|entry| entry.counted.as_ref());
        let Some(row) = counted.and_then(|place| self.columns.index_of(&place.node)) else {
            return;
        };
        let at = row.as_usize();
        if self.guests_changed_at.len() <= at {
            self.guests_changed_at.resize(at + 1, 0);
        }
        self.guest_changes += 1;
        self.guests_changed_at[at] = self.guest_changes;
    }

    /// Brings the columns in line with what is known of one pod.
    pub(crate) fn recount(&mut self, uid: &Uid) {
        let Some(entry) = self.pods.get_mut(uid) else { return };
        let place = entry.place();
        if place != entry.counted {
            let before = entry.counted.take();
            if let Some(old) = &before {
                self.columns.remove_pod(&old.node, &old.footprint);
                self.counted -= 1;
            }
            if let Some(new) = &place {
                self.columns.add_pod(&new.node, &new.footprint);
                self.counted += 1;
            }
            let moved = before.as_ref().map(|old| &old.node) != place.as_ref().map(|new| &new.node);
            if let Some(old) = before.filter(|_| moved) {
                leave(&mut self.guests, &old.node, uid);
            }
            if let Some(new) = place.as_ref().filter(|_| moved) {
                self.guests.entry(new.node.clone()).or_default().push(uid.clone());
            }
            entry.counted = place;
        }
        let volumes = entry.hold.as_ref().and_then(|hold| hold.volumes.clone());
        if volumes != entry.reserved {
            if entry.reserved.is_some() {
                self.columns.unreserve_volumes(uid);
            }
            if let Some(volumes) = &volumes {
                self.columns.reserve_volumes(uid, volumes);
            }
            entry.reserved = volumes;
        }
        if entry.pod.is_none() && entry.hold.is_none() {
            self.pods.remove(uid);
        }
    }

    /// Reserves for the pod what its claim holds, and nothing else, whatever the columns hold for it.
    pub(crate) fn settle_reservation(&mut self, uid: &Uid) {
        self.columns.unreserve_volumes(uid);
        if let Some(entry) = self.pods.get_mut(uid) {
            entry.reserved = None;
        }
        self.recount(uid);
    }

    /// Makes the columns anew from objects and holds, whatever was in them.
    pub(crate) fn rebuild(&mut self) {
        self.columns = Columns::new();
        self.order.forget_rows();
        self.counted = 0;
        let arrivals = std::mem::take(&mut self.guests);
        for namespace in self.namespaces.values() {
            self.columns.set_namespace(namespace);
        }
        for workload in self.workloads.values() {
            self.columns.set_workload_selector(workload);
        }
        for object in self.storage.values() {
            self.columns.set_storage(object);
        }
        for node in self.nodes.values() {
            self.columns.set_node(node);
        }
        let mut uids: Vec<Uid> = self.pods.keys().cloned().collect();
        uids.sort_unstable();
        for uid in uids {
            if let Some(entry) = self.pods.get_mut(&uid) {
                entry.counted = None;
                entry.reserved = None;
            }
            self.recount(&uid);
        }
        for (node, guests) in &mut self.guests {
            if let Some(before) = arrivals.get(node) {
                guests.sort_by_cached_key(|uid| before.iter().position(|guest| guest == uid).unwrap_or(usize::MAX));
            }
        }
    }
}

fn leave(guests: &mut HashMap<CompactString, Vec<Uid>, FixedState>, node: &str, uid: &Uid) {
    if let Some(there) = guests.get_mut(node) {
        there.retain(|guest| guest != uid);
        if there.is_empty() {
            guests.remove(node);
        }
    }
}

impl Entry {
    fn guest_below(&self, priority: i32) -> Option<Guest> {
        let place = self
            .counted
            .as_ref()
            .filter(|place| place.footprint.priority < priority)?;
        let claimed = || self.hold.as_ref().map(|hold| &hold.pod);
        let pod = self.pod.as_ref().or_else(claimed)?;
        Some(Guest {
            pod: Arc::clone(pod),
            footprint: Arc::clone(&place.footprint),
        })
    }

    fn place(&self) -> Option<Place> {
        let shown = self.pod.as_deref().and_then(|pod| {
            let node = pod.node_name.clone()?;
            (!pod.is_finished()).then(|| Place {
                node,
                footprint: Arc::clone(pod.footprint()),
            })
        });
        let assigned = self.pod.as_deref().is_some_and(|pod| pod.node_name().is_some());
        if assigned {
            shown
        } else {
            self.hold.as_ref().map(|hold| hold.place.clone())
        }
    }
}
