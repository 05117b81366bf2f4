use plimsoll_framework::{Action, ClusterEvent, EventResource};

use crate::worth::Objects;

/// Which events about other objects may let a plugin change its mind about a pod that it rejected.
///
/// For in-tree plugins what they register in kube-scheduler, and beyond that whatever changes what they read: namespaces
/// and workloads, for which kube-scheduler has no events; nodes that vanish with the pods a pod insists to be near; pods
/// that have been told to go, which no longer count for spreading. Plugins that are not known here may read anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Interest {
    /// What happens to pods on nodes.
    pods: Action,
    /// Pods on nodes that are told to go.
    departures: bool,
    /// What happens to nodes.
    nodes: Action,
    /// Labels of namespaces.
    namespaces: bool,
    /// What selects the pods of a workload.
    workloads: bool,
}

impl Interest {
    /// All that a plugin can see through the columns.
    fn everything() -> Self {
        Self {
            pods: Action::ADD | Action::DELETE | Action::UPDATE_POD_LABEL | Action::UPDATE_POD_SCALE_DOWN,
            departures: true,
            nodes: Action::ADD
                | Action::DELETE
                | Action::UPDATE_NODE_ALLOCATABLE
                | Action::UPDATE_NODE_LABEL
                | Action::UPDATE_NODE_TAINT
                | Action::UPDATE_NODE_DECLARED_FEATURE,
            namespaces: true,
            workloads: true,
        }
    }

    fn in_pods_and_nodes(pods: Action, nodes: Action) -> Self {
        Self {
            pods,
            departures: false,
            nodes,
            namespaces: false,
            workloads: false,
        }
    }

    /// As kube-scheduler has it, whoever hears of new nodes hears of taints too: a node may have been kept from a plugin by
    /// one.
    fn of(plugin: &str) -> Self {
        let new_node = Action::ADD | Action::UPDATE_NODE_TAINT;
        let labelled = new_node | Action::UPDATE_NODE_LABEL;
        let beside = Action::ADD | Action::DELETE | Action::UPDATE_POD_LABEL;
        let in_nodes = |nodes| Self::in_pods_and_nodes(Action::NONE, nodes);
        match plugin {
            "SchedulingGates" | "GangScheduling" => in_nodes(Action::NONE),
            "NodeUnschedulable" | "NodeName" | "TaintToleration" => in_nodes(new_node),
            "NodeAffinity" | "NodeLabel" | "VolumeBinding" | "VolumeZone" => in_nodes(labelled),
            "NodeDeclaredFeatures" => in_nodes(new_node | Action::UPDATE_NODE_DECLARED_FEATURE),
            "DynamicResources" => in_nodes(labelled | Action::UPDATE_NODE_ALLOCATABLE),
            "NodePorts" | "VolumeRestrictions" | "NodeVolumeLimits" => {
                Self::in_pods_and_nodes(Action::DELETE, new_node)
            }
            "NodeResourcesFit" => Self::in_pods_and_nodes(
                Action::DELETE | Action::UPDATE_POD_SCALE_DOWN,
                new_node | Action::UPDATE_NODE_ALLOCATABLE,
            ),
            "DefaultPreemption" => Self::in_pods_and_nodes(Action::DELETE, Action::NONE),
            "InterPodAffinity" => Self {
                namespaces: true,
                ..Self::in_pods_and_nodes(beside, labelled | Action::DELETE)
            },
            "PodTopologySpread" | "ServiceAffinity" => Self {
                departures: true,
                workloads: true,
                ..Self::in_pods_and_nodes(beside, labelled | Action::DELETE)
            },
            _ => Self::everything(),
        }
    }

    fn covers(self, event: ClusterEvent, objects: &Objects) -> bool {
        match event.resource {
            EventResource::Wildcard => true,
            EventResource::Node => self.nodes.intersects(event.action),
            // The generic update has every bit, though nothing that has an event of its own changed.
            EventResource::AssignedPod | EventResource::Pod => {
                (event.action != Action::UPDATE && self.pods.intersects(event.action))
                    || (self.departures && objects.show_a_departure())
            }
            EventResource::UnschedulablePod => false,
            EventResource::Namespace => self.namespaces,
            EventResource::Workload(_) => self.workloads,
        }
    }
}

/// Whether an event about another object can help any pod at all; if not it is neither recorded nor walked over.
pub(crate) fn can_help_anybody(event: ClusterEvent, objects: &Objects) -> bool {
    Interest::everything().covers(event, objects)
}

/// Whether an event about another object may help a pod that this plugin rejected.
pub(crate) fn may_help(plugin: &str, event: ClusterEvent, objects: &Objects) -> bool {
    Interest::of(plugin).covers(event, objects)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use plimsoll_model::WorkloadKind;
    use plimsoll_model::testing::pod;

    use super::*;

    const KNOWN: [&str; 18] = [
        "SchedulingGates",
        "GangScheduling",
        "NodeUnschedulable",
        "NodeName",
        "TaintToleration",
        "NodeAffinity",
        "NodeLabel",
        "VolumeBinding",
        "VolumeZone",
        "NodeDeclaredFeatures",
        "DynamicResources",
        "NodePorts",
        "VolumeRestrictions",
        "NodeVolumeLimits",
        "NodeResourcesFit",
        "DefaultPreemption",
        "InterPodAffinity",
        "PodTopologySpread",
    ];

    fn listening(event: ClusterEvent, objects: &Objects) -> Vec<&'static str> {
        KNOWN
            .into_iter()
            .filter(|plugin| may_help(plugin, event, objects))
            .collect()
    }

    #[test]
    fn each_event_reaches_the_plugins_that_read_what_changed() {
        let by_domain = ["InterPodAffinity", "PodTopologySpread"];
        let on_nodes = |action| ClusterEvent::new(EventResource::Node, action);
        let on_pods = |action| ClusterEvent::new(EventResource::AssignedPod, action);
        let cases: [(ClusterEvent, &[&str]); 9] = [
            (on_pods(Action::ADD), &by_domain),
            (on_pods(Action::UPDATE_POD_LABEL), &by_domain),
            (on_pods(Action::UPDATE_POD_SCALE_DOWN), &["NodeResourcesFit"]),
            (on_pods(Action::UPDATE), &[]),
            (on_nodes(Action::DELETE), &by_domain),
            (
                on_nodes(Action::UPDATE_NODE_ALLOCATABLE),
                &["DynamicResources", "NodeResourcesFit"],
            ),
            (
                on_nodes(Action::UPDATE_NODE_DECLARED_FEATURE),
                &["NodeDeclaredFeatures"],
            ),
            (
                ClusterEvent::new(EventResource::Namespace, Action::UPDATE),
                &["InterPodAffinity"],
            ),
            (
                ClusterEvent::new(EventResource::Workload(WorkloadKind::Service), Action::ADD),
                &["PodTopologySpread"],
            ),
        ];
        for (event, plugins) in cases {
            assert_eq!(listening(event, &Objects::None), plugins, "{event}");
        }
        assert_eq!(
            listening(on_nodes(Action::UPDATE_NODE_CONDITION), &Objects::None),
            [""; 0]
        );
        assert_eq!(listening(on_nodes(Action::UPDATE_NODE_TAINT), &Objects::None).len(), 15);
    }

    #[test]
    fn a_pod_that_is_told_to_go_no_longer_counts_for_spreading() {
        let staying = Arc::new(pod("a").on("n").build());
        let going = Arc::new(pod("a").on("n").terminating().build());
        let update = |old: &Arc<_>, new: &Arc<_>| Objects::Pod {
            old: Some(Arc::clone(old)),
            new: Some(Arc::clone(new)),
        };
        let event = ClusterEvent::new(EventResource::AssignedPod, Action::UPDATE);
        assert_eq!(listening(event, &update(&staying, &going)), ["PodTopologySpread"]);
        assert_eq!(listening(event, &update(&going, &going)), [""; 0]);
    }

    #[test]
    fn what_may_help_a_known_plugin_can_help_somebody_and_may_help_an_unknown_one() {
        let actions = [
            Action::ADD,
            Action::DELETE,
            Action::UPDATE,
            Action::UPDATE_NODE_ALLOCATABLE,
            Action::UPDATE_NODE_LABEL,
            Action::UPDATE_NODE_TAINT,
            Action::UPDATE_NODE_DECLARED_FEATURE,
            Action::UPDATE_POD_LABEL,
            Action::UPDATE_POD_SCALE_DOWN,
        ];
        let resources = [
            EventResource::Node,
            EventResource::AssignedPod,
            EventResource::Namespace,
            EventResource::Workload(WorkloadKind::ReplicaSet),
        ];
        for event in resources
            .into_iter()
            .flat_map(|resource| actions.map(|action| ClusterEvent::new(resource, action)))
        {
            if !listening(event, &Objects::None).is_empty() {
                assert!(can_help_anybody(event, &Objects::None), "{event}");
                assert!(may_help("Mine", event, &Objects::None), "{event}");
            }
        }
    }
}
