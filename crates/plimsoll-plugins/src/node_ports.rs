//! `NodePorts`: two pods on a node cannot have the same host port.

use std::borrow::Cow;
use std::sync::Arc;

use plimsoll_framework::{
    Action, ClusterEvent, CycleContext, CycleState, EnqueueExtensions, EventObjects, EventResource, Extensions, Filter,
    FilterPass, ObjectChange, Plugin, PreFilter, PreFilterOutcome, QueueingHint, ReasonCode, Resolvability,
};
use plimsoll_model::columns::NodeIndex;
use plimsoll_model::{HostPort, Pod};
use smallvec::{SmallVec, smallvec};

use crate::placed::is_placed;

/// Name in profiles, metrics and messages.
pub const NAME: &str = "NodePorts";

/// What users read.
pub const REASON: &str = "node(s) didn't have free ports for the requested pod ports";

/// Rejects nodes whose pods have a host port that the pod wants.
#[derive(Debug, Clone, Copy)]
pub struct NodePorts;

struct WantedPorts(SmallVec<[HostPort; 1]>);

/// Where it takes part.
pub fn extensions() -> Extensions {
    Extensions::new()
        .enqueue(Arc::new(NodePorts))
        .pre_filter(Arc::new(NodePorts))
        .filter(Arc::new(NodePorts))
}

impl Plugin for NodePorts {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl PreFilter for NodePorts {
    fn pre_filter(&self, cycle: CycleContext<'_>, state: &mut CycleState) -> PreFilterOutcome {
        let wanted: SmallVec<[HostPort; 1]> = cycle.pod.host_ports().cloned().collect();
        if wanted.is_empty() {
            return PreFilterOutcome::Skip;
        }
        state.insert(WantedPorts(wanted));
        PreFilterOutcome::Continue
    }
}

impl Filter for NodePorts {
    fn filter(&self, cycle: CycleContext<'_>, state: &CycleState, pass: &mut FilterPass<'_>) -> Result<(), String> {
        let Some(WantedPorts(wanted)) = state.get() else {
            return Err(format!("reading \"PreFilter{NAME}\" from cycleState: not found"));
        };
        pass.reject_set(
            &cycle.columns.port_conflicts(wanted),
            ReasonCode(0),
            Resolvability::Resolvable,
        );
        Ok(())
    }

    fn judges_nodes_alone(&self) -> bool {
        true
    }

    fn follows_rows(&self) -> bool {
        true
    }

    fn reasons(&self, _: CycleContext<'_>, _: &CycleState, _: ReasonCode) -> SmallVec<[Cow<'static, str>; 1]> {
        smallvec![Cow::Borrowed(REASON)]
    }

    fn lacking(&self, cycle: CycleContext<'_>, state: &CycleState, node: NodeIndex) -> Vec<String> {
        let wanted = state
            .get::<WantedPorts>()
            .into_iter()
            .flat_map(|WantedPorts(wanted)| wanted);
        let taken = wanted.filter(|port| cycle.columns.port_conflicts(std::slice::from_ref(*port)).contains(node));
        taken.map(|port| format!("host port {port} is taken")).collect()
    }
}

impl EnqueueExtensions for NodePorts {
    fn events_to_register(&self) -> Vec<ClusterEvent> {
        vec![
            ClusterEvent::new(EventResource::Pod, Action::DELETE),
            ClusterEvent::new(EventResource::Node, Action::ADD),
        ]
    }

    fn reads_labels(&self) -> bool {
        false
    }

    fn queueing_hint(
        &self,
        registered: ClusterEvent,
        _: ClusterEvent,
        pod: &Pod,
        objects: &EventObjects,
    ) -> Result<QueueingHint, String> {
        let gone = objects.pod().and_then(ObjectChange::before);
        let may_help = registered.resource == EventResource::Node
            || gone.is_none_or(|gone| is_placed(gone) && want_one_port(gone, pod));
        Ok(QueueingHint::queue_if(may_help))
    }
}

fn want_one_port(one: &Pod, other: &Pod) -> bool {
    one.host_ports()
        .any(|port| other.host_ports().any(|wanted| wanted.conflicts_with(port)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Cluster, Listener, node, pod, resolvable};

    #[test]
    fn a_pod_that_frees_a_wanted_port_brings_pods_back() {
        let listener = Listener::of(&extensions());
        let waiting = pod(&with_ports(r#"[{"containerPort":1,"hostPort":80}]"#));
        let of =
            |fields: &str, port: &str| pod(&format!(r#"{{{fields}"containers":[{{"name":"c","ports":{port}}}]}}"#));
        let on_node = r#""nodeName":"n","#;
        let mut nominated = of("", r#"[{"containerPort":1,"hostPort":80}]"#);
        nominated.status.nominated_node_name = Some("n".into());
        let cases = [
            (
                of(on_node, r#"[{"containerPort":1,"hostPort":80,"hostIP":"10.0.0.1"}]"#),
                true,
            ),
            (nominated, true),
            (of("", r#"[{"containerPort":1,"hostPort":80}]"#), false),
            (of(on_node, r#"[{"containerPort":1,"hostPort":81}]"#), false),
            (of(on_node, r#"[{"containerPort":80}]"#), false),
        ];
        for (gone, expected) in cases {
            let wakes = listener.wakes_on_pod(Action::DELETE, &waiting, Some(&gone), None);
            assert_eq!(wakes, expected, "{gone:?}");
        }
    }

    #[test]
    fn every_new_node_brings_pods_back() {
        let listener = Listener::of(&extensions());
        let waiting = pod(&with_ports(r#"[{"containerPort":1,"hostPort":80}]"#));
        let node = node("n", "{}");
        assert!(listener.wakes_on_node(Action::ADD, &waiting, None, Some(&node)));
        assert!(listener.wakes_on_node(Action::UPDATE_NODE_TAINT, &waiting, Some(&node), Some(&node)));
        assert!(!listener.hears_of(EventResource::Node, Action::UPDATE_NODE_LABEL));
    }

    fn with_ports(ports: &str) -> String {
        format!(r#"{{"containers":[{{"name":"c","ports":{ports}}}]}}"#)
    }

    #[test]
    fn a_taken_host_port_rejects() {
        let any_80 = r#"[{"containerPort":1,"hostPort":80}]"#;
        let one_80 = r#"[{"containerPort":1,"hostPort":80,"hostIP":"10.0.0.1"}]"#;
        let other_80 = r#"[{"containerPort":1,"hostPort":80,"hostIP":"10.0.0.2"}]"#;
        let zeros_80 = r#"[{"containerPort":1,"hostPort":80,"hostIP":"0.0.0.0","protocol":"TCP"}]"#;
        let udp_80 = r#"[{"containerPort":1,"hostPort":80,"protocol":"UDP"}]"#;
        let two = r#"[{"containerPort":1,"hostPort":81},{"containerPort":1,"hostPort":80}]"#;
        let cases = [
            (any_80, any_80, true),
            (any_80, one_80, true),
            (one_80, any_80, true),
            (one_80, one_80, true),
            (one_80, other_80, false),
            (zeros_80, any_80, true),
            (any_80, udp_80, false),
            (any_80, two, true),
            (any_80, r#"[{"containerPort":80}]"#, false),
            (r#"[{"containerPort":80}]"#, any_80, false),
        ];
        for (taken, wanted, rejected) in cases {
            let mut cluster = Cluster::of_nodes([("free", "{}"), ("busy", "{}")]);
            cluster.add_pod("busy", &pod(&with_ports(taken)));
            let verdicts = cluster.filter(&extensions(), &pod(&with_ports(wanted)));
            assert_eq!(verdicts.of("free"), None);
            let reason = "node(s) didn't have free ports for the requested pod ports";
            assert_eq!(
                verdicts.of("busy"),
                rejected.then(|| resolvable([reason])),
                "{taken} {wanted}"
            );
        }
    }

    #[test]
    fn sidecars_have_host_ports_and_other_init_containers_have_not() {
        let port = r#"[{"containerPort":1,"hostPort":80}]"#;
        let init = format!(r#"{{"initContainers":[{{"name":"i","ports":{port}}}]}}"#);
        let sidecar = format!(r#"{{"initContainers":[{{"name":"i","restartPolicy":"Always","ports":{port}}}]}}"#);
        let mut cluster = Cluster::of_nodes([("busy", "{}")]);
        cluster.add_pod("busy", &pod(&with_ports(port)));
        assert!(cluster.filter(&extensions(), &pod(&init)).skipped());
        assert!(cluster.filter(&extensions(), &pod(&sidecar)).of("busy").is_some());
    }

    #[test]
    fn a_pod_without_host_ports_skips_the_filter() {
        let cluster = Cluster::of_nodes([("a", "{}")]);
        assert!(cluster.filter(&extensions(), &pod("{}")).skipped());
    }
}
