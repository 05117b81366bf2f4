//! `NodeDeclaredFeatures`: pods that use a feature of the kubelet go to nodes that declare it.
//!
//! Nodes that declare the same features share a class, and each class is judged once.

use std::borrow::Cow;
use std::sync::Arc;

use plimsoll_config::Gate;
use plimsoll_framework::{
    Action, ClusterEvent, Construction, CycleContext, CycleState, EnqueueExtensions, EventObjects, EventResource,
    Extensions, Filter, FilterPass, ObjectChange, Plugin, PodsSeen, PreFilter, PreFilterOutcome, QueueingHint,
    ReasonCode, Resolvability,
};
use plimsoll_model::{Node, Pod, PodSpec};
use smallvec::{SmallVec, smallvec};

/// Name in profiles, metrics and messages.
pub const NAME: &str = "NodeDeclaredFeatures";

/// What users read.
pub const REASON: &str = "node(s) didn't match Pod's required features";

/// A container's end may restart all containers of its pod.
const RESTART_ALL_CONTAINERS: &str = "RestartAllContainersOnContainerExits";

/// A pod may use the node's network without using its user namespace.
const USER_NAMESPACES_HOST_NETWORK: &str = "UserNamespacesHostNetworkSupport";

/// Rejects nodes that do not declare every feature the pod uses.
#[derive(Debug, Clone, Copy)]
pub struct NodeDeclaredFeatures {
    enabled: bool,
}

/// Features that a pod uses and that change where it may go; kube-scheduler knows others, which only concern updates.
type Features = SmallVec<[&'static str; 2]>;

struct Required(Features);

/// Makes it; when its feature gate is off it lets every pod pass.
pub fn construct(with: &Construction<'_>) -> Result<Extensions, String> {
    let plugin = Arc::new(NodeDeclaredFeatures {
        enabled: with.gates.enabled(Gate::NodeDeclaredFeatures),
    });
    Ok(Extensions::new()
        .enqueue(plugin.clone())
        .pre_filter(plugin.clone())
        .filter(plugin))
}

impl Plugin for NodeDeclaredFeatures {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl PreFilter for NodeDeclaredFeatures {
    fn pre_filter(&self, cycle: CycleContext<'_>, state: &mut CycleState) -> PreFilterOutcome {
        let required = required_features(&cycle.pod.spec);
        if !self.enabled || required.is_empty() {
            return PreFilterOutcome::Skip;
        }
        state.insert(Required(required));
        PreFilterOutcome::Continue
    }
}

impl Filter for NodeDeclaredFeatures {
    fn filter(&self, cycle: CycleContext<'_>, state: &CycleState, pass: &mut FilterPass<'_>) -> Result<(), String> {
        if !self.enabled {
            return Ok(());
        }
        let Some(Required(required)) = state.get() else {
            return Err(format!("error reading \"PreFilter{NAME}\" from cycle-state: not found"));
        };
        for (declared, nodes) in cycle.columns.declared_features() {
            let declares = |feature: &&str| declared.iter().any(|own| own == feature);
            if !required.iter().all(declares) {
                pass.reject_set(nodes, ReasonCode(0), Resolvability::Unresolvable);
            }
        }
        Ok(())
    }

    fn judges_nodes_alone(&self) -> bool {
        true
    }

    fn follows_rows(&self) -> bool {
        true
    }

    fn pods_seen(&self) -> PodsSeen {
        PodsSeen::Nothing
    }

    fn reasons(&self, _: CycleContext<'_>, _: &CycleState, _: ReasonCode) -> SmallVec<[Cow<'static, str>; 1]> {
        smallvec![Cow::Borrowed(REASON)]
    }
}

fn required_features(spec: &PodSpec) -> Features {
    let restarts_all = spec
        .containers
        .iter()
        .chain(&spec.init_containers)
        .any(|container| container.restarts_all_containers);
    let isolated_on_host_network = spec.host_network && spec.host_users == Some(false);
    let uses = [
        (restarts_all, RESTART_ALL_CONTAINERS),
        (isolated_on_host_network, USER_NAMESPACES_HOST_NETWORK),
    ];
    uses.into_iter()
        .filter_map(|(used, feature)| used.then_some(feature))
        .collect()
}

impl EnqueueExtensions for NodeDeclaredFeatures {
    fn events_to_register(&self) -> Vec<ClusterEvent> {
        if !self.enabled {
            return Vec::new();
        }
        let node = Action::ADD | Action::UPDATE_NODE_DECLARED_FEATURE;
        vec![
            ClusterEvent::new(EventResource::Node, node),
            ClusterEvent::new(EventResource::Pod, Action::UPDATE),
        ]
    }

    fn queueing_hint(
        &self,
        registered: ClusterEvent,
        _: ClusterEvent,
        pod: &Pod,
        objects: &EventObjects,
    ) -> Result<QueueingHint, String> {
        let may_help = if registered.resource == EventResource::Node {
            objects.node().is_none_or(declares_other_features)
        } else {
            let needs_others = |change| own_needs_differ(pod, change);
            objects.pod().is_none_or(needs_others)
        };
        Ok(QueueingHint::queue_if(may_help))
    }
}

fn declares_other_features(change: ObjectChange<'_, Node>) -> bool {
    match change {
        ObjectChange::Updated { old, new } => old.status.declared_features != new.status.declared_features,
        ObjectChange::Added(_) | ObjectChange::Deleted(_) => true,
    }
}

fn own_needs_differ(pod: &Pod, change: ObjectChange<'_, Pod>) -> bool {
    let needs = |pod: &Pod| required_features(&pod.spec);
    change.is_of(&pod.uid) && change.before().map(needs) != change.after().map(needs)
}

#[cfg(test)]
mod tests {
    use plimsoll_config::{FeatureGates, ProfileExtras};

    use super::*;
    use crate::fixture::{Cluster, Listener, node, pod, unresolvable};

    #[test]
    fn other_features_of_nodes_and_other_needs_of_its_own_bring_a_pod_back() {
        let listener = Listener::of(&with_gate(true));
        let isolated = pod(r#"{"hostNetwork":true,"hostUsers":false}"#);
        let plain = pod("{}");
        let declaring = |features: &str| node("n", &format!(r#"{{"status":{{"declaredFeatures":{features}}}}}"#));
        let (none, some) = (declaring("[]"), declaring(r#"["UserNamespacesHostNetworkSupport"]"#));
        let updated = Action::UPDATE_NODE_DECLARED_FEATURE;
        assert!(listener.wakes_on_node(Action::ADD, &isolated, None, Some(&none)));
        assert!(listener.wakes_on_node(updated, &isolated, Some(&none), Some(&some)));
        assert!(!listener.wakes_on_node(updated, &isolated, Some(&some), Some(&some)));
        assert!(listener.wakes_on_pod(Action::UPDATE, &plain, Some(&isolated), Some(&plain)));
        assert!(!listener.wakes_on_pod(Action::UPDATE, &plain, Some(&plain), Some(&plain)));
        let other = Pod {
            uid: "other".into(),
            ..isolated.clone()
        };
        assert!(!listener.wakes_on_pod(Action::UPDATE, &other, Some(&isolated), Some(&plain)));
    }

    #[test]
    fn nothing_is_heard_while_the_gate_is_off() {
        assert!(Listener::of(&with_gate(false)).events().is_empty());
    }

    fn with_gate(enabled: bool) -> Extensions {
        construct(&Construction {
            args: None,
            gates: &FeatureGates::default().with(Gate::NodeDeclaredFeatures, enabled),
            scheduler_name: "default-scheduler",
            extras: &ProfileExtras::default(),
        })
        .unwrap()
    }

    #[test]
    fn a_node_must_declare_every_feature_that_the_pod_uses() {
        let restart = r#""restartPolicyRules":[{"action":"RestartAllContainers"}]"#;
        let mild = r#""restartPolicyRules":[{"action":"Restart"}]"#;
        let container = |rules: &str| format!(r#"{{"containers":[{{"name":"c",{rules}}}]}}"#);
        let init = format!(r#"{{"initContainers":[{{"name":"i",{restart}}}]}}"#);
        let both = format!(r#"{{"hostNetwork":true,"hostUsers":false,"containers":[{{"name":"c",{restart}}}]}}"#);
        let isolated = r#"{"hostNetwork":true,"hostUsers":false}"#;
        let nodes = [
            ("none", "{}"),
            (
                "restart",
                r#"{"status":{"declaredFeatures":["RestartAllContainersOnContainerExits"]}}"#,
            ),
            (
                "users",
                r#"{"status":{"declaredFeatures":["ExtendWebSocketsToKubelet","UserNamespacesHostNetworkSupport"]}}"#,
            ),
            (
                "all",
                r#"{"status":{"declaredFeatures":["RestartAllContainersOnContainerExits","UserNamespacesHostNetworkSupport"]}}"#,
            ),
        ];
        let cases: [(&str, Option<&[&str]>); 8] = [
            ("{}", None),
            (r#"{"hostNetwork":true}"#, None),
            (r#"{"hostNetwork":true,"hostUsers":true}"#, None),
            (r#"{"hostUsers":false}"#, None),
            (&container(mild), None),
            (&container(restart), Some(&["none", "users"])),
            (isolated, Some(&["none", "restart"])),
            (&both, Some(&["none", "restart", "users"])),
        ];
        let cluster = Cluster::of_nodes(nodes);
        for (spec, rejected) in cases
            .into_iter()
            .chain([(init.as_str(), Some(&["none", "users"] as &[&str]))])
        {
            let verdicts = cluster.filter(&with_gate(true), &pod(spec));
            assert_eq!(verdicts.skipped(), rejected.is_none(), "{spec}");
            for (name, _) in nodes {
                let expected = rejected
                    .is_some_and(|rejected| rejected.contains(&name))
                    .then(|| unresolvable(["node(s) didn't match Pod's required features"]));
                assert_eq!(verdicts.of(name), expected, "{spec} {name}");
            }
        }
    }

    #[test]
    fn without_the_gate_every_pod_passes() {
        let cluster = Cluster::of_nodes([("none", "{}")]);
        let verdicts = cluster.filter(&with_gate(false), &pod(r#"{"hostNetwork":true,"hostUsers":false}"#));
        assert!(verdicts.skipped());
    }

    #[test]
    fn without_the_gate_every_pod_passes_even_a_filter_that_is_enabled_alone() {
        let cluster = Cluster::of_nodes([("none", "{}")]);
        let alone = Extensions {
            filter: with_gate(false).filter,
            ..Extensions::new()
        };
        let verdicts = cluster.filter(&alone, &pod(r#"{"hostNetwork":true,"hostUsers":false}"#));
        assert_eq!(verdicts.of("none"), None);
    }
}
