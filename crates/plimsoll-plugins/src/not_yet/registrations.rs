//! What the plugins that are not there yet listen to. Their hints come with them: until then every such event counts.

use plimsoll_framework::{Action, ClusterEvent, EnqueueExtensions, EventObjects, EventResource, Plugin, QueueingHint};
use plimsoll_model::Pod;

use super::Missing;

/// The registrations of one plugin, as kube-scheduler has them.
pub(super) struct Registrations {
    pub(super) missing: Missing,
    pub(super) events: &'static [(EventResource, Action)],
}

impl Plugin for Registrations {
    fn name(&self) -> &'static str {
        self.missing.plugin
    }
}

impl EnqueueExtensions for Registrations {
    fn events_to_register(&self) -> Vec<ClusterEvent> {
        let events = self.events.iter();
        events
            .map(|(resource, action)| ClusterEvent::new(*resource, *action))
            .collect()
    }

    fn queueing_hint(
        &self,
        _: ClusterEvent,
        _: ClusterEvent,
        _: &Pod,
        _: &EventObjects,
    ) -> Result<QueueingHint, String> {
        Ok(QueueingHint::Queue)
    }
}

/// What a plugin of this name listens to.
pub(super) fn of(missing: Missing) -> Registrations {
    Registrations {
        missing,
        events: match missing.plugin {
            "DynamicResources" => DYNAMIC_RESOURCES,
            "GangScheduling" => GANG_SCHEDULING,
            _ => &[],
        },
    }
}

const DYNAMIC_RESOURCES: &[(EventResource, Action)] = &[
    (EventResource::Node, Action::ADD),
    (EventResource::Node, Action::UPDATE_NODE_LABEL),
    (EventResource::Node, Action::UPDATE_NODE_ALLOCATABLE),
    (EventResource::ResourceClaim, Action::ADD),
    (EventResource::ResourceClaim, Action::UPDATE),
    (EventResource::Pod, Action::UPDATE_POD_GENERATED_RESOURCE_CLAIM),
    (EventResource::DeviceClass, Action::ADD),
    (EventResource::DeviceClass, Action::UPDATE),
    (EventResource::ResourceSlice, Action::ADD),
    (EventResource::ResourceSlice, Action::UPDATE),
];

const GANG_SCHEDULING: &[(EventResource, Action)] = &[
    (EventResource::Pod, Action::ADD),
    (EventResource::PodGroup, Action::ADD),
];
