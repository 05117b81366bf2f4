//! What would help a pod, with kube-scheduler's own plugins.

use plimsoll_config::{FeatureGates, ProfileConfig};
use plimsoll_framework::Resolvability;
use plimsoll_model::testing::{NodeBuilder, PodBuilder, node, pod};
use plimsoll_model::{Effect, LabelSelector, TopologySpreadConstraint};

use super::fixture::{Cluster, view};
use super::*;
use crate::{NearNode, Prospect};

fn profile() -> Profile {
    let registry = plimsoll_plugins::registry();
    let mut profile = Profile::assemble(&ProfileConfig::default(), &registry, &FeatureGates::default()).unwrap();
    profile.percentage_of_nodes_to_score = None;
    profile
}

fn sized(name: &str, cpu: &str) -> NodeBuilder {
    node(name).cpu(cpu).memory("8Gi").pods(10)
}

fn cluster(nodes: impl IntoIterator<Item = NodeBuilder>) -> Cluster {
    let mut cluster = Cluster::new(profile());
    for node in nodes {
        cluster.apply(Delta::NodeAdded(Arc::new(node.build())));
    }
    cluster
}

impl Cluster {
    fn settled(&mut self, pod: PodBuilder) {
        self.add(&Arc::new(pod.build()));
    }

    fn prospect(&mut self, pod: PodBuilder) -> Prospect {
        let pod = Arc::new(pod.build());
        self.add(&pod);
        self.engine.prospect(&pod, self.now).unwrap()
    }
}

/// Each near node with what it lacks.
fn told(prospect: &Prospect) -> Vec<String> {
    let near = |near: &NearNode| {
        let lacks = near.lacks.iter().map(|lack| {
            let what = if lack.details.is_empty() {
                &lack.reasons
            } else {
                &lack.details
            };
            format!("{}: {}", lack.plugin, what.join(", "))
        });
        let kept = near.kept_for.iter().map(|pod| format!("kept for {pod}"));
        let lacks: Vec<String> = lacks.chain(kept).collect();
        format!("{} {}", near.name, lacks.join("; "))
    };
    prospect.nearest.iter().map(near).collect()
}

#[test]
fn of_nodes_that_lack_the_same_the_one_that_lacks_the_least_is_nearest() {
    let mut cluster = cluster(["1", "3", "2", "500m", "3500m", "100m"].map(|cpu| sized(&format!("n-{cpu}"), cpu)));
    let prospect = cluster.prospect(pod("p").cpu("4"));
    assert_eq!(prospect.nodes, 6);
    assert_eq!(
        told(&prospect),
        [
            "n-3500m NodeResourcesFit: cpu: needs 4, the whole node has 3.5",
            "n-3 NodeResourcesFit: cpu: needs 4, the whole node has 3",
            "n-2 NodeResourcesFit: cpu: needs 4, the whole node has 2",
            "n-1 NodeResourcesFit: cpu: needs 4, the whole node has 1",
            "n-500m NodeResourcesFit: cpu: needs 4, the whole node has 0.5"
        ]
    );
}

#[test]
fn the_nodes_that_the_fewest_plugins_reject_come_first_and_those_where_room_can_be_made_before_others() {
    let mut cluster = cluster([
        sized("busy", "4"),
        sized("tainted", "4").taint("gpu", "yes", Effect::NoSchedule),
        sized("both", "1").taint("gpu", "yes", Effect::NoSchedule),
        sized("all", "1")
            .taint("gpu", "yes", Effect::NoSchedule)
            .unschedulable(),
    ]);
    cluster.settled(pod("guest").cpu("3").on("busy"));
    let prospect = cluster.prospect(pod("p").cpu("2"));
    assert_eq!(
        told(&prospect),
        [
            "busy NodeResourcesFit: cpu: needs 2, free 1",
            "tainted TaintToleration: taint gpu=yes:NoSchedule is not tolerated",
            "both TaintToleration: taint gpu=yes:NoSchedule is not tolerated; \
             NodeResourcesFit: cpu: needs 2, the whole node has 1",
            "all NodeUnschedulable: the node is cordoned; \
             TaintToleration: taint gpu=yes:NoSchedule is not tolerated; \
             NodeResourcesFit: cpu: needs 2, the whole node has 1"
        ]
    );
    assert_eq!(prospect.nearest[0].lacks[0].resolvability, Resolvability::Resolvable);
    assert_eq!(prospect.nearest[1].lacks[0].resolvability, Resolvability::Unresolvable);
    assert_eq!(prospect.nearest[0].lacks[0].reasons, ["Insufficient cpu"]);
}

#[test]
fn ports_labels_and_spread_are_told() {
    let zoned = |name: &str, zone: &str| sized(name, "4").label("zone", zone);
    let tainted = zoned("b1", "b").taint("gpu", "yes", Effect::NoSchedule);
    let mut cluster = cluster([zoned("a1", "a"), tainted]);
    cluster.settled(pod("one").label("app", "web").host_port(80).on("a1"));
    let labels = pod("x").label("app", "web").build().labels;
    let spread = TopologySpreadConstraint {
        label_selector: Some(LabelSelector::of_labels(labels)),
        ..spread_by_zone()
    };
    let two = pod("two").label("app", "web").host_port(80);
    let prospect = cluster.prospect(two.with(|pod| pod.spec.topology_spread_constraints.push(spread)));
    assert_eq!(
        told(&prospect),
        [
            "b1 TaintToleration: taint gpu=yes:NoSchedule is not tolerated",
            "a1 NodePorts: host port 80/TCP is taken; \
             PodTopologySpread: zone=a has 1 matching pods, the fewest of any zone is 0, maxSkew 1"
        ]
    );
    let prospect = cluster.prospect(pod("three").node_selector("disk", "ssd"));
    assert_eq!(
        told(&prospect),
        [
            "a1 NodeAffinity: label disk=ssd is wanted, the node has none",
            "b1 TaintToleration: taint gpu=yes:NoSchedule is not tolerated; \
             NodeAffinity: label disk=ssd is wanted, the node has none"
        ]
    );
}

fn spread_by_zone() -> TopologySpreadConstraint {
    let json = br#"{"metadata":{"namespace":"d","name":"p","uid":"p","resourceVersion":"1"},"spec":{
        "topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule"}]}}"#;
    let pod = plimsoll_model::decode_pod(json).unwrap();
    pod.spec.topology_spread_constraints[0].clone()
}

#[test]
fn room_that_is_kept_for_a_nominated_pod_is_told_with_its_name() {
    let mut cluster = cluster([sized("n1", "4")]);
    cluster.settled(pod("first").cpu("3").priority(10).nominated("n1"));
    let prospect = cluster.prospect(pod("p").cpu("2").priority(10));
    assert_eq!(told(&prospect), ["n1 kept for default/first"]);
    assert!(!prospect.nearest[0].fits());
    let prospect = cluster.prospect(pod("higher").cpu("2").priority(11));
    assert_eq!(told(&prospect), ["n1 "]);
    assert!(
        prospect.nearest[0].fits(),
        "room is not kept from a pod of higher priority"
    );
}

#[test]
fn a_pod_that_no_node_would_help_is_told_so() {
    let mut cluster = cluster([sized("n1", "4")]);
    let prospect = cluster.prospect(pod("p").claim("missing"));
    let rejection = prospect.rejection.unwrap();
    assert_eq!(rejection.message(), "persistentvolumeclaim \"missing\" not found");
    assert!(prospect.nearest.is_empty());
    let foreign = Arc::new(pod("foreign").scheduler("other").build());
    assert_eq!(cluster.engine.prospect(&foreign, cluster.now), None);
    assert_eq!(Cluster::new(profile()).prospect(pod("alone")), Prospect::default());
}

/// What two engines of one seed decide, of which one is asked in between what would help.
#[test]
fn asking_what_would_help_changes_nothing() {
    let nodes = || (0..12).map(|n| sized(&format!("n{n}"), "2").label("zone", if n % 2 == 0 { "a" } else { "b" }));
    let (mut asked, mut left_alone) = (cluster(nodes()), cluster(nodes()));
    let waiting = |n: u32| Arc::new(pod(&format!("p{n}")).cpu("700m").label("app", "web").build());
    for n in 0..30 {
        let before = view(asked.engine.columns());
        let curious = Arc::new(pod(&format!("curious{n}")).cpu("1900m").priority(5).build());
        let prospect = asked.engine.prospect(&curious, asked.now).unwrap();
        assert!(!prospect.nearest.is_empty());
        assert_eq!(view(asked.engine.columns()), before);
        let outcomes = [&mut asked, &mut left_alone].map(|cluster| match cluster.try_new(&waiting(n)) {
            Outcome::Placed(placement) => placement.node.to_string(),
            Outcome::Unschedulable(diagnosis) => diagnosis.message,
            other => panic!("{other:?}"),
        });
        assert_eq!(outcomes[0], outcomes[1]);
    }
    assert_eq!(asked.engine.claims().count(), left_alone.engine.claims().count());
    assert_eq!(asked.said(), left_alone.said());
}
