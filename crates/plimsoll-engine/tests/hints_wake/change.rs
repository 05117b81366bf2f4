//! One change of a cluster, and the events that the queue makes of it.

use std::sync::Arc;

use plimsoll_framework::{Action, ClusterEvent, EventObjects, EventResource};
use plimsoll_model::{Namespace, Node, Pod, Timestamp, WorkloadKind, WorkloadSelector};
use plimsoll_queue::{UpdateEvents, node_update_events, pod_update_events};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::cluster::{
    Cluster, NAMESPACES, NODES, PODS, beside, make_roomy, namespaces, nodes, pods, services, waiting_pods,
};

/// What became of one object.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    Node(usize, Option<Node>, Option<Node>),
    Pod(usize, Option<Pod>, Option<Pod>),
    Waiting(Pod, Pod),
    Namespace(usize, Namespace, Namespace),
    Service(Option<WorkloadSelector>, Option<WorkloadSelector>),
}

type Event = (ClusterEvent, EventObjects);

impl Change {
    /// What it is, in one word.
    pub(crate) fn sort(&self) -> &'static str {
        match self {
            Self::Node(_, None, _) => "node added",
            Self::Node(_, Some(_), Some(_)) => "node updated",
            Self::Node(_, Some(_), None) => "node deleted",
            Self::Pod(_, None, _) => "pod added",
            Self::Pod(_, Some(_), Some(_)) => "pod updated",
            Self::Pod(_, Some(_), None) => "pod deleted",
            Self::Waiting(..) => "waiting pod updated",
            Self::Namespace(..) => "namespace updated",
            Self::Service(..) => "service changed",
        }
    }

    /// What plugins hear of it.
    pub(crate) fn events(&self) -> Vec<Event> {
        match self {
            Self::Node(_, old, new) => node_events(old.as_ref(), new.as_ref()),
            Self::Pod(_, old, new) => pod_events(old.as_ref(), new.as_ref()),
            Self::Waiting(old, new) => pod_events(Some(old), Some(new)),
            Self::Namespace(_, old, new) => {
                let event = ClusterEvent::new(EventResource::Namespace, Action::UPDATE);
                let (old, new) = (shared(Some(old)), shared(Some(new)));
                vec![(event, EventObjects::Namespace { old, new })]
            }
            Self::Service(old, new) => {
                let resource = EventResource::Workload(WorkloadKind::Service);
                let Some(action) = action_of(old.is_some(), new.is_some()) else {
                    return Vec::new();
                };
                let (old, new) = (shared(old.as_ref()), shared(new.as_ref()));
                vec![(ClusterEvent::new(resource, action), EventObjects::Workload { old, new })]
            }
        }
    }
}

fn node_events(old: Option<&Node>, new: Option<&Node>) -> Vec<Event> {
    let objects = EventObjects::Node {
        old: shared(old),
        new: shared(new),
    };
    events(EventResource::Node, (old, new), node_update_events, &objects)
}

fn pod_events(old: Option<&Pod>, new: Option<&Pod>) -> Vec<Event> {
    let objects = EventObjects::Pod {
        old: shared(old),
        new: shared(new),
    };
    events(EventResource::AssignedPod, (old, new), pod_update_events, &objects)
}

/// An update may stand for several events, anything else for one.
fn events<T>(
    resource: EventResource,
    change: (Option<&T>, Option<&T>),
    of_update: impl Fn(&T, &T) -> UpdateEvents,
    objects: &EventObjects,
) -> Vec<Event> {
    let events: UpdateEvents = match change {
        (Some(old), Some(new)) => of_update(old, new),
        (old, new) => action_of(old.is_some(), new.is_some())
            .map(|action| ClusterEvent::new(resource, action))
            .into_iter()
            .collect(),
    };
    events.into_iter().map(|event| (event, objects.clone())).collect()
}

/// None when there was nothing and is nothing.
fn action_of(before: bool, after: bool) -> Option<Action> {
    match (before, after) {
        (false, false) => None,
        (false, true) => Some(Action::ADD),
        (true, true) => Some(Action::UPDATE),
        (true, false) => Some(Action::DELETE),
    }
}

fn shared<T: Clone>(object: Option<&T>) -> Option<Arc<T>> {
    object.cloned().map(Arc::new)
}

impl Cluster {
    pub(crate) fn with(&self, change: &Change) -> Self {
        let mut cluster = self.clone();
        match change {
            Change::Node(at, _, new) => cluster.nodes[*at].clone_from(new),
            Change::Pod(at, _, new) => cluster.pods[*at].clone_from(new),
            Change::Waiting(_, new) => cluster.waiting.clone_from(new),
            Change::Namespace(at, _, new) => cluster.namespaces[*at].clone_from(new),
            Change::Service(_, new) => cluster.service.clone_from(new),
        }
        cluster
    }
}

/// Changes of a cluster that an API server lets happen, most of them small.
pub(crate) fn changes(cluster: &Cluster) -> impl Strategy<Value = Change> + use<> {
    let node = nodes_changed(cluster, |name| nodes(name).boxed());
    let pod = pods_changed(cluster, |name| pods(name).boxed());
    prop_oneof![6 => node, 6 => pod, 3 => others_changed(cluster)]
}

/// Such changes of a cluster in which pods are together or apart.
pub(crate) fn changes_of_domains(cluster: &Cluster) -> impl Strategy<Value = Change> + use<> {
    let node = nodes_changed(cluster, |name| nodes(name).prop_map(make_roomy).boxed());
    let pod = pods_changed(cluster, |name| beside(name).boxed());
    prop_oneof![4 => node, 6 => pod, 5 => others_changed(cluster)]
}

fn nodes_changed(
    cluster: &Cluster,
    nodes: fn(&'static str) -> BoxedStrategy<Node>,
) -> impl Strategy<Value = Change> + use<> {
    let old = cluster.nodes.clone();
    let new = (0..NODES.len()).prop_flat_map(move |at| (Just(at), option::weighted(0.8, nodes(NODES[at])), parts()));
    new.prop_map(move |(at, new, parts)| {
        let old = old[at].clone();
        let new = new.map(|new| match &old {
            Some(old) => changed_node(old, new, parts),
            None => new,
        });
        Change::Node(at, old, new)
    })
}

fn pods_changed(
    cluster: &Cluster,
    pods: fn(&'static str) -> BoxedStrategy<Pod>,
) -> impl Strategy<Value = Change> + use<> {
    let old = cluster.pods.clone();
    let new = (0..PODS.len()).prop_flat_map(move |at| (Just(at), option::weighted(0.6, pods(PODS[at])), parts()));
    new.prop_map(move |(at, new, parts)| {
        let old = old[at].clone();
        let new = new.map(|new| match &old {
            Some(old) => changed_pod(old, &new, parts),
            None => new,
        });
        Change::Pod(at, old, new)
    })
}

fn others_changed(cluster: &Cluster) -> impl Strategy<Value = Change> + use<> {
    let old = cluster.waiting.clone();
    let waiting = (waiting_pods(), parts()).prop_map(move |(other, parts)| {
        let new = changed_waiting_pod(&old, &other, parts);
        Change::Waiting(old.clone(), new)
    });
    let old = cluster.namespaces.clone();
    let namespace = (0..NAMESPACES.len()).prop_flat_map(|at| (Just(at), namespaces(NAMESPACES[at])));
    let namespace = namespace.prop_map(move |(at, new)| Change::Namespace(at, old[at].clone(), new));
    let old = cluster.service.clone();
    let service = services().prop_map(move |new| Change::Service(old.clone(), new));
    prop_oneof![1 => waiting, 3 => namespace, 1 => service]
}

/// Which parts of an object change: mostly one.
fn parts() -> impl Strategy<Value = u8> {
    prop_oneof![5 => select(vec![1_u8, 2, 4, 8, 16, 32]), 1 => 0..64_u8]
}

fn changed_node(old: &Node, new: Node, parts: u8) -> Node {
    let mut node = old.clone();
    if parts & 1 != 0 {
        node.labels = new.labels.clone();
    }
    if parts & 32 != 0 {
        let others = node.labels.iter().filter(|(key, _)| *key != "disk");
        let disk = new.labels.get("disk").map(|disk| ("disk", disk));
        node.labels = others.chain(disk).collect();
    }
    if parts & 2 != 0 {
        node.spec.taints = new.spec.taints;
    }
    if parts & 4 != 0 {
        node.spec.unschedulable = new.spec.unschedulable;
    }
    if parts & 8 != 0 {
        node.status.allocatable = new.status.allocatable;
    }
    if parts & 16 != 0 {
        node.status.declared_features = new.status.declared_features;
    }
    node
}

/// Labels may change, requests may be resized, and the pod may be told to go.
fn changed_pod(old: &Pod, new: &Pod, parts: u8) -> Pod {
    let mut pod = old.clone();
    if parts & 1 != 0 {
        pod.labels = new.labels.clone();
    }
    if parts & 2 != 0 {
        for (container, new) in pod.spec.containers.iter_mut().zip(&new.spec.containers) {
            container.requests = new.requests.clone();
        }
    }
    if parts & 4 != 0 {
        pod.deletion_timestamp = Some(Timestamp::new("2030-01-01T00:00:00Z"));
    }
    pod
}

/// Labels and requests may change, and tolerations may be added.
fn changed_waiting_pod(old: &Pod, new: &Pod, parts: u8) -> Pod {
    let mut pod = changed_pod(old, new, parts & 3);
    if parts & (4 | 8 | 16) != 0 {
        pod.spec.tolerations.extend(new.spec.tolerations.iter().cloned());
    }
    pod
}
