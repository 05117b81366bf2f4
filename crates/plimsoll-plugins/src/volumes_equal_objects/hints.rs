//! Whatever makes a node fit for a waiting pod, as far as one of the plugins knows, that plugin's hint brings the pod back.

use std::sync::Arc;

use plimsoll_framework::Action;
use plimsoll_model::Footprint;
use plimsoll_model::storage::StorageKind;
use proptest::sample::Index;

use super::*;
use crate::fixture::Listener;

/// One change of a cluster.
#[derive(Debug, Clone)]
enum Change {
    /// One of these objects takes the place of the one of its name, if there is one.
    Set(Vec<StorageObject>, Index),
    /// An object goes.
    Remove(Index),
    /// A pod goes.
    PodGone(Index),
    /// A node comes.
    NodeAdded(Labels),
    /// A node gets other labels.
    Relabelled(&'static str, Labels),
}

/// What a change is to those who are told.
#[derive(Debug)]
enum Told {
    Storage(Option<StorageObject>, Option<StorageObject>),
    Pod(Box<Pod>),
    Node(Action),
}

fn changes() -> impl Strategy<Value = Change> {
    let objects = (volumes(), claims(), classes(), csi_nodes(), attachments());
    let objects = objects.prop_map(|(volumes, claims, classes, csi_nodes, attachments)| {
        [volumes, claims, classes, csi_nodes, attachments].concat()
    });
    let labels = || zone_labels().prop_map(|labels| labels.into_iter().collect::<Labels>());
    prop_oneof![
        4 => (objects, any::<Index>()).prop_map(|(objects, at)| Change::Set(objects, at)),
        2 => any::<Index>().prop_map(Change::Remove),
        3 => any::<Index>().prop_map(Change::PodGone),
        1 => labels().prop_map(Change::NodeAdded),
        1 => (select(&NODES[..]), labels()).prop_map(|(node, labels)| Change::Relabelled(node, labels)),
    ]
}

impl Objects {
    fn all(&self) -> Vec<StorageObject> {
        let claims = self.claims.values().map(|claim| Arc::new(claim.clone()).into());
        let volumes = self.volumes.values().map(|volume| Arc::new(volume.clone()).into());
        let classes = self.classes.values().map(|class| Arc::new(class.clone()).into());
        let csi_nodes = self.csi_nodes.values().map(|node| Arc::new(node.clone()).into());
        let attachments = self.attachments.iter().map(|own| Arc::new(own.clone()).into());
        claims
            .chain(volumes)
            .chain(classes)
            .chain(csi_nodes)
            .chain(attachments)
            .collect()
    }
}

/// Makes the change; none if there is nothing to change.
fn apply(change: Change, cluster: &mut Cluster, objects: &Objects) -> Option<Told> {
    let there = objects.all();
    match change {
        Change::Set(list, at) => {
            let new = list.get(at.index(list.len().max(1)))?.clone();
            let same = |old: &&StorageObject| old.kind() == new.kind() && old.name() == new.name();
            let old = there.iter().find(same).cloned();
            cluster.columns.set_storage(&new);
            Some(Told::Storage(old, Some(new)))
        }
        Change::Remove(at) => {
            let old = there.get(at.index(there.len().max(1)))?.clone();
            cluster.columns.remove_storage(&old);
            Some(Told::Storage(Some(old), None))
        }
        Change::PodGone(at) => {
            let pods = objects
                .nodes
                .iter()
                .flat_map(|(node, (_, pods))| pods.iter().map(move |pod| (*node, pod)));
            let pods: Vec<_> = pods.collect();
            let (node, pod) = pods.get(at.index(pods.len().max(1)))?;
            cluster.columns.remove_pod(node, &Footprint::of(pod));
            let mut pod = (*pod).clone();
            pod.node_name = Some((*node).into());
            Some(Told::Pod(Box::new(pod)))
        }
        Change::NodeAdded(labels) => Some(set_node(cluster, "new", labels, Action::ADD)),
        Change::Relabelled(name, labels) => Some(set_node(cluster, name, labels, Action::UPDATE_NODE_LABEL)),
    }
}

fn set_node(cluster: &mut Cluster, name: &str, labels: Labels, action: Action) -> Told {
    let mut node = fixture::node(name, "{}");
    node.labels = labels;
    cluster.columns.set_node(&node);
    Told::Node(action)
}

/// The nodes that a plugin lets the pod on; none if the attempt fails.
fn passing(cluster: &Cluster, plugin: &Extensions, pod: &Pod) -> Option<BTreeSet<String>> {
    if cluster.stopped(plugin, pod).is_some() {
        return Some(BTreeSet::new());
    }
    let names = cluster
        .columns
        .nodes()
        .iter()
        .map(|node| cluster.columns.name(node).to_owned());
    let names: BTreeSet<String> = names.collect();
    let has_state = plugin
        .pre_filter
        .as_ref()
        .is_some_and(|plugin| plugin.name() == volume_restrictions::NAME);
    if !has_state && cluster.failure(plugin, pod).is_some() {
        return None;
    }
    let filtered = cluster.filter(plugin, pod);
    Some(names.into_iter().filter(|name| filtered.of(name).is_none()).collect())
}

/// Changes that the API server lets nobody make, and those that only what other pods use tells to be of use.
fn is_excepted(plugin: &str, told: &Told, pod: &Pod) -> bool {
    let Told::Storage(old, new) = told else { return false };
    let kind = new.as_ref().or(old.as_ref()).unwrap().kind();
    let is_update = old.is_some() && new.is_some();
    let is_own = |object: &StorageObject| {
        let mut claims = pod
            .spec
            .volumes
            .iter()
            .filter_map(|volume| volume.claim_name(&pod.name.name));
        claims.any(|claim| claim == object.name().name)
    };
    match (plugin, kind) {
        (node_volume_limits::NAME, StorageKind::PersistentVolume | StorageKind::StorageClass) => true,
        (node_volume_limits::NAME, StorageKind::PersistentVolumeClaim) => !new.as_ref().is_some_and(is_own),
        (_, StorageKind::StorageClass | StorageKind::VolumeAttachment) | (volume_restrictions::NAME, _) => is_update,
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, ..ProptestConfig::default() })]

    #[test]
    fn whatever_makes_a_node_fit_is_told_by_the_hint_of_the_plugin_that_turned_the_pod_away(
        (mut cluster, objects) in clusters(),
        pod in pod("new"),
        change in changes(),
    ) {
        let plugins = [
            (volume_restrictions::NAME, volume_restrictions::extensions()),
            (volume_zone::NAME, volume_zone::extensions()),
            (node_volume_limits::NAME, fixture::made(node_volume_limits::construct)),
        ];
        let before = plugins.clone().map(|(_, plugin)| passing(&cluster, &plugin, &pod));
        let Some(told) = apply(change, &mut cluster, &objects) else { return Ok(()) };
        for ((name, plugin), before) in plugins.iter().zip(before) {
            let (Some(before), Some(after)) = (before, passing(&cluster, plugin, &pod)) else { continue };
            if after.is_subset(&before) || is_excepted(name, &told, &pod) {
                continue;
            }
            let listener = Listener::of(plugin);
            let wakes = match &told {
                Told::Storage(old, new) => listener.wakes_on_storage(&pod, old.clone(), new.clone()),
                Told::Pod(gone) => listener.wakes_on_pod(Action::DELETE, &pod, Some(gone), None),
                Told::Node(action) => {
                    let node = fixture::node("any", "{}");
                    listener.wakes_on_node(*action, &pod, Some(&node), Some(&node))
                }
            };
            prop_assert!(wakes, "{name} {told:?}");
        }
    }
}
