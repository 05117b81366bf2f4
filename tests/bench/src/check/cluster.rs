//! The final state, and views of it by which rules are judged.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, Service};
use k8s_openapi::api::storage::v1::CSINode;
use plimsoll_cluster::PodFacts;
use plimsoll_cluster::quantity::{self, Amounts};

use super::selector::Labels;

/// What the API server holds.
#[derive(Debug, Default)]
pub(super) struct Cluster {
    pub(super) nodes: Vec<Node>,
    pub(super) pods: Vec<Pod>,
    pub(super) namespaces: Vec<Namespace>,
    pub(super) services: Vec<Service>,
    pub(super) volumes: Vec<PersistentVolume>,
    pub(super) claims: Vec<PersistentVolumeClaim>,
    pub(super) csi_nodes: Vec<CSINode>,
}

/// The state by name.
#[derive(Debug)]
pub(super) struct View<'a> {
    pub(super) nodes: BTreeMap<&'a str, NodeView<'a>>,
    /// Pods that have a node and are not done.
    pub(super) placed: Vec<Placed<'a>>,
    pub(super) pending: usize,
    pub(super) namespaces: BTreeMap<&'a str, &'a Labels>,
    pub(super) any_service: bool,
    pub(super) volumes: BTreeMap<&'a str, &'a PersistentVolume>,
    /// By namespace and name.
    pub(super) claims: BTreeMap<(&'a str, &'a str), &'a PersistentVolumeClaim>,
    pub(super) csi_nodes: BTreeMap<&'a str, &'a CSINode>,
}

#[derive(Debug)]
pub(super) struct NodeView<'a> {
    pub(super) node: &'a Node,
    pub(super) allocatable: Amounts,
}

#[derive(Debug)]
pub(super) struct Placed<'a> {
    pub(super) pod: &'a Pod,
    pub(super) key: String,
    pub(super) namespace: &'a str,
    pub(super) labels: &'a Labels,
    /// The name in its spec; there may be no such node.
    pub(super) on: &'a str,
    pub(super) requests: Amounts,
}

impl Cluster {
    pub(super) fn view(&self) -> anyhow::Result<View<'_>> {
        let mut nodes = BTreeMap::new();
        for node in &self.nodes {
            let allocatable = node.status.as_ref().and_then(|status| status.allocatable.as_ref());
            let allocatable = quantity::amounts(allocatable)?;
            nodes.insert(text(node.metadata.name.as_ref()), NodeView { node, allocatable });
        }
        let mut placed = Vec::new();
        let mut pending = 0;
        for pod in self.pods.iter().filter(|pod| !pod.finished()) {
            let Some(on) = pod.node() else {
                pending += 1;
                continue;
            };
            placed.push(Placed {
                pod,
                key: pod.key(),
                namespace: text(pod.metadata.namespace.as_ref()),
                labels: labels(pod.metadata.labels.as_ref()),
                on,
                requests: quantity::pod_requests(pod)?,
            });
        }
        Ok(View {
            nodes,
            placed,
            pending,
            namespaces: self
                .namespaces
                .iter()
                .map(|namespace| {
                    (
                        text(namespace.metadata.name.as_ref()),
                        labels(namespace.metadata.labels.as_ref()),
                    )
                })
                .collect(),
            // The API server's own one selects nothing.
            any_service: self.services.iter().any(|service| {
                service
                    .spec
                    .as_ref()
                    .is_some_and(|spec| spec.selector.as_ref().is_some_and(|selector| !selector.is_empty()))
            }),
            volumes: self
                .volumes
                .iter()
                .map(|volume| (text(volume.metadata.name.as_ref()), volume))
                .collect(),
            claims: self
                .claims
                .iter()
                .map(|claim| {
                    (
                        (
                            text(claim.metadata.namespace.as_ref()),
                            text(claim.metadata.name.as_ref()),
                        ),
                        claim,
                    )
                })
                .collect(),
            csi_nodes: self
                .csi_nodes
                .iter()
                .map(|node| (text(node.metadata.name.as_ref()), node))
                .collect(),
        })
    }
}

impl<'a> View<'a> {
    /// The node that the pod is on, if there is one.
    pub(super) fn node_of(&self, placed: &Placed<'_>) -> Option<&'a Node> {
        self.nodes.get(placed.on).map(|view| view.node)
    }

    /// The pods on each node.
    pub(super) fn by_node(&self) -> BTreeMap<&'a str, Vec<&Placed<'a>>> {
        let mut by_node: BTreeMap<&str, Vec<&Placed<'_>>> = BTreeMap::new();
        for placed in &self.placed {
            by_node.entry(placed.on).or_default().push(placed);
        }
        by_node
    }
}

pub(super) fn text(text: Option<&String>) -> &str {
    text.map_or("", String::as_str)
}

fn labels(labels: Option<&Labels>) -> &Labels {
    static NONE: Labels = Labels::new();
    labels.unwrap_or(&NONE)
}
