use std::fmt;
use std::sync::Arc;

use plimsoll_model::storage::StorageObject;
use plimsoll_model::{DisruptionBudget, Namespace, Node, Pod, WorkloadKind, WorkloadSelector};

use crate::{Action, ClusterEvent, EventResource, Plugin};

/// The objects behind an event, before and after: no `old` when it is new, no `new` when it is gone.
#[derive(Debug, Clone)]
pub enum EventObjects {
    /// The event has none.
    None,
    /// A pod.
    Pod {
        /// As it was last told.
        old: Option<Arc<Pod>>,
        /// As it is now.
        new: Option<Arc<Pod>>,
    },
    /// A node.
    Node {
        /// As it was last told.
        old: Option<Arc<Node>>,
        /// As it is now.
        new: Option<Arc<Node>>,
    },
    /// A namespace.
    Namespace {
        /// As it was last told.
        old: Option<Arc<Namespace>>,
        /// As it is now.
        new: Option<Arc<Namespace>>,
    },
    /// What selects the pods of a workload.
    Workload {
        /// As it was last told.
        old: Option<Arc<WorkloadSelector>>,
        /// As it is now.
        new: Option<Arc<WorkloadSelector>>,
    },
    /// A pod disruption budget.
    DisruptionBudget {
        /// As it was last told.
        old: Option<Arc<DisruptionBudget>>,
        /// As it is now.
        new: Option<Arc<DisruptionBudget>>,
    },
    /// An object of storage.
    Storage {
        /// As it was last told.
        old: Option<StorageObject>,
        /// As it is now.
        new: Option<StorageObject>,
    },
}

/// What an event means for a pod that a plugin rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueingHint {
    /// It cannot change the plugin's mind.
    Skip,
    /// It may.
    Queue,
}

impl QueueingHint {
    /// `Queue` if it may help.
    pub fn queue_if(may_help: bool) -> Self {
        if may_help { Self::Queue } else { Self::Skip }
    }
}

/// Says which events may change a plugin's mind about a pod that it rejected. Only asked of plugins that can reject one:
/// those enabled at pre-enqueue, pre-filter, filter, reserve or permit.
pub trait EnqueueExtensions: Plugin {
    /// The events to hear of. None at all: no event ever brings the plugin's pods back, only their own changes and time.
    fn events_to_register(&self) -> Vec<ClusterEvent>;

    /// Whether `event`, which matches `registered`, may let any pod at all fit. Asked once, before any pod is: a `false` here
    /// must mean [`QueueingHint::Skip`] for every pod. Worth having for what happens all the time and hardly ever helps.
    fn may_help_some_pod(&self, _registered: ClusterEvent, _event: ClusterEvent, _objects: &EventObjects) -> bool {
        true
    }

    /// Whether hints read the labels of the waiting pod, or what controls it. Otherwise pods that differ in nothing else, as
    /// those of an indexed job or a stateful set do, are asked about as one.
    fn reads_labels(&self) -> bool {
        true
    }

    /// Whether `event`, which matches `registered`, may let `pod` fit as far as this plugin knows. It must depend on its
    /// arguments alone: pods that are alike are asked for once. `Err` is logged and counts as `Queue`.
    fn queueing_hint(
        &self,
        _registered: ClusterEvent,
        _event: ClusterEvent,
        _pod: &Pod,
        _objects: &EventObjects,
    ) -> Result<QueueingHint, String> {
        Ok(QueueingHint::Queue)
    }
}

/// What one plugin of a profile listens to.
#[derive(Clone)]
pub struct PluginEvents {
    plugin: String,
    registered: Vec<ClusterEvent>,
    /// Not of the plugin's own: heard of whatever the hint would say.
    implied: Vec<ClusterEvent>,
    hints: Option<Arc<dyn EnqueueExtensions>>,
    nodes_alone: bool,
}

impl PluginEvents {
    /// Those of a plugin that declares them, or of one that declares none and so hears of everything.
    pub fn new(plugin: &str, hints: Option<Arc<dyn EnqueueExtensions>>) -> Self {
        let registered = hints.as_ref().map(|hints| hints.events_to_register());
        // A new node that has a taint is kept from plugins that come after the taint's; they must hear when it goes.
        let implied = registered.as_deref().map_or_else(everything, |registered| {
            let hears_of = |action| registered.iter().any(|event| event.covers(EventResource::Node, action));
            if hears_of(Action::ADD) && !hears_of(Action::UPDATE_NODE_TAINT) {
                vec![ClusterEvent::new(EventResource::Node, Action::UPDATE_NODE_TAINT)]
            } else {
                Vec::new()
            }
        });
        Self {
            plugin: plugin.to_owned(),
            registered: registered.unwrap_or_default(),
            implied,
            hints,
            nodes_alone: false,
        }
    }

    /// Those of a plugin whose filter judges nodes alone, see [`Filter::judges_nodes_alone`](crate::Filter): a new node can
    /// help its pods only by taking them.
    #[must_use]
    pub fn judging_nodes_alone(mut self, alone: bool) -> Self {
        self.nodes_alone = alone;
        self
    }

    /// The plugin's name.
    pub fn plugin(&self) -> &str {
        &self.plugin
    }

    /// Every event listened to.
    pub fn events(&self) -> impl Iterator<Item = ClusterEvent> + '_ {
        self.registered.iter().chain(&self.implied).copied()
    }

    /// Whether the plugin's pods can be helped by this event only if a node that was added takes them. A pod that several
    /// such plugins rejected is woken only when the new node suits all of them.
    pub fn helped_by_the_node_alone(&self, event: ClusterEvent) -> bool {
        self.nodes_alone && event.resource == EventResource::Node && event.action == Action::ADD
    }

    /// Whether an event of that sort is listened to, whatever its objects.
    pub fn listens_to(&self, event: ClusterEvent) -> bool {
        self.events().any(|registered| registered.matches(event))
    }

    /// Whether asking about single pods is worth it: the event is listened to, and may help some pod.
    pub fn may_help_some_pod(&self, event: ClusterEvent, objects: &EventObjects) -> bool {
        let may_help = |registered: &ClusterEvent| {
            let hints = self.hints.as_ref();
            registered.matches(event) && hints.is_none_or(|hints| hints.may_help_some_pod(*registered, event, objects))
        };
        self.implied.iter().any(|implied| implied.matches(event)) || self.registered.iter().any(may_help)
    }

    /// Whether what is said of a pod may depend on its labels or on what controls it.
    pub fn reads_labels(&self) -> bool {
        self.hints.as_ref().is_some_and(|hints| hints.reads_labels())
    }

    /// Asks the plugin about each of its registrations that the event matches, until one says `Queue`; `Skip` when none
    /// does or none matches.
    pub fn hint(&self, event: ClusterEvent, pod: &Pod, objects: &EventObjects) -> Result<QueueingHint, String> {
        if self.implied.iter().any(|implied| implied.matches(event)) {
            return Ok(QueueingHint::Queue);
        }
        let Some(hints) = &self.hints else {
            return Ok(QueueingHint::Skip);
        };
        for registered in self.registered.iter().filter(|registered| registered.matches(event)) {
            if hints.queueing_hint(*registered, event, pod, objects)? == QueueingHint::Queue {
                return Ok(QueueingHint::Queue);
            }
        }
        Ok(QueueingHint::Skip)
    }
}

impl fmt::Debug for PluginEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let events: Vec<_> = self.events().map(|event| event.to_string()).collect();
        f.debug_struct("PluginEvents")
            .field("plugin", &self.plugin)
            .field("events", &events)
            .finish_non_exhaustive()
    }
}

/// What may matter to a plugin that does not say: kube-scheduler's list, and what only Plimsoll has events for.
fn everything() -> Vec<ClusterEvent> {
    let workloads = WorkloadKind::ALL.map(EventResource::Workload);
    let resources = [
        EventResource::Pod,
        EventResource::Node,
        EventResource::PersistentVolume,
        EventResource::PersistentVolumeClaim,
        EventResource::CsiNode,
        EventResource::CsiDriver,
        EventResource::CsiStorageCapacity,
        EventResource::StorageClass,
        EventResource::ResourceClaim,
        EventResource::DeviceClass,
        EventResource::PodGroup,
        EventResource::Namespace,
    ];
    resources
        .into_iter()
        .chain(workloads)
        .map(|resource| ClusterEvent::new(resource, Action::ALL))
        .collect()
}

#[cfg(test)]
mod tests {
    use plimsoll_model::testing::pod;

    use super::*;

    struct OnlyNamed(Vec<ClusterEvent>);

    impl Plugin for OnlyNamed {
        fn name(&self) -> &'static str {
            "OnlyNamed"
        }
    }

    impl EnqueueExtensions for OnlyNamed {
        fn events_to_register(&self) -> Vec<ClusterEvent> {
            self.0.clone()
        }

        fn queueing_hint(
            &self,
            registered: ClusterEvent,
            _: ClusterEvent,
            pod: &Pod,
            _: &EventObjects,
        ) -> Result<QueueingHint, String> {
            match pod.name.name.as_str() {
                "broken" => Err("no idea".to_owned()),
                "deleted" if registered.action == Action::DELETE => Ok(QueueingHint::Queue),
                _ => Ok(QueueingHint::Skip),
            }
        }
    }

    fn on(resource: EventResource, action: Action) -> ClusterEvent {
        ClusterEvent::new(resource, action)
    }

    #[test]
    fn each_matching_registration_is_asked_until_one_queues() {
        let events = vec![
            on(EventResource::Pod, Action::ADD | Action::DELETE),
            on(EventResource::Pod, Action::DELETE),
        ];
        let events = PluginEvents::new("OnlyNamed", Some(Arc::new(OnlyNamed(events))));
        let gone = on(EventResource::AssignedPod, Action::DELETE);
        let hint = |name: &str, event| events.hint(event, &pod(name).build(), &EventObjects::None);
        assert_eq!(hint("deleted", gone), Ok(QueueingHint::Queue));
        assert_eq!(hint("other", gone), Ok(QueueingHint::Skip));
        assert_eq!(hint("broken", gone), Err("no idea".to_owned()));
        assert_eq!(
            hint("broken", on(EventResource::Node, Action::ADD)),
            Ok(QueueingHint::Skip)
        );
    }

    #[test]
    fn who_hears_of_new_nodes_hears_of_their_taints() {
        let taint = on(EventResource::Node, Action::UPDATE_NODE_TAINT);
        let heard = |events: Vec<ClusterEvent>| {
            let events = PluginEvents::new("OnlyNamed", Some(Arc::new(OnlyNamed(events))));
            let hint = events.hint(taint, &pod("p").build(), &EventObjects::None);
            (events.listens_to(taint), hint)
        };
        let node = |action| on(EventResource::Node, action);
        assert_eq!(heard(vec![node(Action::ADD)]), (true, Ok(QueueingHint::Queue)));
        assert_eq!(
            heard(vec![node(Action::ADD | Action::UPDATE_NODE_TAINT)]),
            (true, Ok(QueueingHint::Skip))
        );
        assert_eq!(heard(vec![node(Action::DELETE)]), (false, Ok(QueueingHint::Skip)));
        assert_eq!(heard(Vec::new()), (false, Ok(QueueingHint::Skip)));
    }

    #[test]
    fn a_plugin_that_declares_nothing_hears_of_all_but_attachments_and_slices() {
        let events = PluginEvents::new("Mine", None);
        for event in [
            on(EventResource::AssignedPod, Action::DELETE),
            on(EventResource::UnschedulablePod, Action::UPDATE_POD_LABEL),
            on(EventResource::Node, Action::UPDATE_NODE_CONDITION),
            on(EventResource::Workload(WorkloadKind::Service), Action::ADD),
        ] {
            assert_eq!(
                events.hint(event, &pod("p").build(), &EventObjects::None),
                Ok(QueueingHint::Queue),
                "{event}"
            );
        }
        for resource in [EventResource::VolumeAttachment, EventResource::ResourceSlice] {
            assert!(!events.listens_to(on(resource, Action::ADD)), "{resource:?}");
        }
    }
}
