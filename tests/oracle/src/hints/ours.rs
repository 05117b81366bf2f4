use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Context;
use plimsoll_framework::{Action, ClusterEvent, EventObjects, EventResource, PluginEvents, QueueingHint};
use plimsoll_model::storage::StorageObject;
use plimsoll_model::{Node, Pod, decode_node};
use plimsoll_queue::{node_update_events, pod_update_events};
use serde_json::Value;

use super::{HintAnswer, HintCase};
use crate::ours::storage::decode_told;
use crate::ours::{bytes, decoded, guarded, profiles};

/// All of kube-scheduler's events are made of these.
const RESOURCES: [EventResource; 14] = [
    EventResource::AssignedPod,
    EventResource::UnschedulablePod,
    EventResource::Node,
    EventResource::PersistentVolume,
    EventResource::PersistentVolumeClaim,
    EventResource::CsiNode,
    EventResource::CsiDriver,
    EventResource::VolumeAttachment,
    EventResource::CsiStorageCapacity,
    EventResource::StorageClass,
    EventResource::ResourceClaim,
    EventResource::ResourceSlice,
    EventResource::DeviceClass,
    EventResource::PodGroup,
];
const ACTIONS: [Action; 14] = [
    Action::ADD,
    Action::DELETE,
    Action::UPDATE,
    Action::UPDATE_NODE_ALLOCATABLE,
    Action::UPDATE_NODE_LABEL,
    Action::UPDATE_NODE_TAINT,
    Action::UPDATE_NODE_CONDITION,
    Action::UPDATE_NODE_ANNOTATION,
    Action::UPDATE_NODE_DECLARED_FEATURE,
    Action::UPDATE_POD_LABEL,
    Action::UPDATE_POD_SCALE_DOWN,
    Action::UPDATE_POD_TOLERATION,
    Action::UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
    Action::UPDATE_POD_GENERATED_RESOURCE_CLAIM,
];

/// Plugins that Plimsoll does not have yet.
const NOT_BUILT: [&str; 3] = ["DynamicResources", "DefaultPreemption", "GangScheduling"];

pub(super) fn judge(case: &HintCase) -> HintAnswer {
    guarded(
        || try_case(case),
        |error| HintAnswer {
            error: Some(error),
            ..HintAnswer::default()
        },
    )
}

fn try_case(case: &HintCase) -> anyhow::Result<HintAnswer> {
    let pod = decoded(&case.cluster.pod)?;
    let profiles = profiles(&case.cluster)?;
    let profile = profiles
        .iter()
        .find(|profile| profile.scheduler_name == pod.spec.scheduler_name)
        .context("no profile has the pod's scheduler name")?;
    let (events, objects) = change(case)?;
    let mut answer = HintAnswer {
        events: Some(events.iter().map(ToString::to_string).collect()),
        ..HintAnswer::default()
    };
    for event in &events {
        answer.hints.insert(event.to_string(), BTreeMap::new());
    }
    let built = |plugin: &&PluginEvents| !NOT_BUILT.contains(&plugin.plugin());
    for plugin in profile.events.iter().filter(built) {
        answer.listens.insert(plugin.plugin().to_owned(), heard(plugin));
        for event in events.iter().filter(|event| plugin.listens_to(**event)) {
            let hint = match plugin.hint(*event, &pod, &objects) {
                Ok(QueueingHint::Queue) => "Queue",
                Ok(QueueingHint::Skip) => "Skip",
                Err(_) => "Error",
            };
            let hints = answer.hints.entry(event.to_string()).or_default();
            hints.insert(plugin.plugin().to_owned(), hint.to_owned());
        }
    }
    Ok(answer)
}

fn heard(plugin: &PluginEvents) -> Vec<String> {
    RESOURCES
        .into_iter()
        .flat_map(|resource| ACTIONS.map(|action| ClusterEvent::new(resource, action)))
        .filter(|event| plugin.listens_to(*event))
        .map(|event| event.to_string())
        .collect()
}

/// The events that a change stands for, as the queue derives them, and its objects.
fn change(case: &HintCase) -> anyhow::Result<(Vec<ClusterEvent>, EventObjects)> {
    let pod = |pod: &Option<Value>| pod.as_ref().map(decoded).transpose();
    let node = |node: &Option<Value>| -> anyhow::Result<Option<Arc<Node>>> {
        Ok(match node {
            Some(node) => Some(Arc::new(decode_node(&bytes(node))?)),
            None => None,
        })
    };
    let (old, new) = (pod(&case.old_pod)?, pod(&case.new_pod)?);
    if old.is_some() || new.is_some() {
        return Ok((
            pod_events(old.as_deref(), new.as_deref()),
            EventObjects::Pod { old, new },
        ));
    }
    let (old, new) = (node(&case.old_node)?, node(&case.new_node)?);
    if old.is_some() || new.is_some() {
        return Ok((
            node_events(old.as_deref(), new.as_deref()),
            EventObjects::Node { old, new },
        ));
    }
    let storage = |object: &Option<Value>| object.as_ref().map(decode_told).transpose();
    let (old, new) = (storage(&case.old_storage)?, storage(&case.new_storage)?);
    Ok((
        storage_events(old.as_ref(), new.as_ref()),
        EventObjects::Storage { old, new },
    ))
}

fn storage_events(old: Option<&StorageObject>, new: Option<&StorageObject>) -> Vec<ClusterEvent> {
    let (object, action) = match (old, new) {
        (Some(_), Some(new)) => (new, Action::UPDATE),
        (None, Some(new)) => (new, Action::ADD),
        (Some(old), None) => (old, Action::DELETE),
        (None, None) => return Vec::new(),
    };
    vec![ClusterEvent::new(EventResource::from(object.kind()), action)]
}

fn pod_events(old: Option<&Pod>, new: Option<&Pod>) -> Vec<ClusterEvent> {
    let (pod, action) = match (old, new) {
        (Some(old), Some(new)) => return pod_update_events(old, new).into_vec(),
        (None, Some(new)) => (new, Action::ADD),
        (Some(old), None) => (old, Action::DELETE),
        (None, None) => return Vec::new(),
    };
    let resource = if pod.node_name().is_some() {
        EventResource::AssignedPod
    } else {
        EventResource::UnschedulablePod
    };
    vec![ClusterEvent::new(resource, action)]
}

fn node_events(old: Option<&Node>, new: Option<&Node>) -> Vec<ClusterEvent> {
    match (old, new) {
        (Some(old), Some(new)) => node_update_events(old, new).into_vec(),
        (None, Some(_)) => vec![ClusterEvent::new(EventResource::Node, Action::ADD)],
        (Some(_), None) => vec![ClusterEvent::new(EventResource::Node, Action::DELETE)],
        (None, None) => Vec::new(),
    }
}
