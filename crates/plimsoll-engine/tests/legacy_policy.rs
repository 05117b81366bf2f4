//! A Policy of the days of Kubernetes 1.0, with predicates and priorities of its user's own, places pods.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may fail in its helpers too")]

use std::sync::Arc;

use plimsoll_config::{FeatureGates, SchedulerConfig, decode_policy};
use plimsoll_engine::{Engine, Outcome, Step};
use plimsoll_framework::{
    CycleContext, CycleState, Extensions, PerNodeFilter, PerNodeRejection, PerNodeScore, Plugin, Profile, ProfileError,
    Registry, Resolvability,
};
use plimsoll_model::columns::NodeIndex;
use plimsoll_model::{Change, Delta, Moment, Seq, WorkloadKind, decode_node, decode_pod, decode_workload_selector};

const POLICY: &str = include_str!("legacy_policy/policy.json");

/// A predicate: nodes with, or without, a label are turned away.
struct LabelFilter {
    name: &'static str,
    label: &'static str,
    wanted: bool,
    reasons: &'static [&'static str],
}

impl Plugin for LabelFilter {
    fn name(&self) -> &'static str {
        self.name
    }
}

impl PerNodeFilter for LabelFilter {
    fn possible_reasons(&self) -> &'static [&'static str] {
        self.reasons
    }

    fn filter_node(&self, cycle: CycleContext<'_>, _: &CycleState, node: NodeIndex) -> Option<PerNodeRejection> {
        let is_there = cycle.columns.label(node, self.label).is_some();
        (is_there != self.wanted).then(|| PerNodeRejection {
            reason: self.reasons[0],
            resolvability: Resolvability::Unresolvable,
        })
    }
}

/// A priority: nodes with a label are better.
struct LabelScore {
    name: &'static str,
    label: &'static str,
}

impl Plugin for LabelScore {
    fn name(&self) -> &'static str {
        self.name
    }
}

impl PerNodeScore for LabelScore {
    fn score_node(&self, cycle: CycleContext<'_>, _: &CycleState, node: NodeIndex) -> Result<i64, String> {
        Ok(if cycle.columns.label(node, self.label).is_some() {
            100
        } else {
            0
        })
    }
}

fn registry() -> Registry {
    let mut registry = plimsoll_plugins::registry();
    registry.add("NotTooHot", |_| {
        Ok(Extensions::new().filter(Arc::new(LabelFilter {
            name: "NotTooHot",
            label: "hot",
            wanted: false,
            reasons: &["node(s) were too hot"],
        })))
    });
    registry.add("LicensedHost", |_| {
        Ok(Extensions::new().filter(Arc::new(LabelFilter {
            name: "LicensedHost",
            label: "licence",
            wanted: true,
            reasons: &["node(s) had no licence"],
        })))
    });
    for (name, label) in [("CheapPower", "cheap"), ("NewHardware", "new")] {
        registry.add(name, move |_| {
            Ok(Extensions::new().score(Arc::new(LabelScore { name, label })))
        });
    }
    registry
}

fn assembled(policy: &str) -> Result<Profile, ProfileError> {
    let registry = registry();
    let (policy, _) = decode_policy(policy).unwrap();
    let known = |name: &str| registry.names().any(|known| known == name);
    let config = policy.convert(&SchedulerConfig::default(), &known).unwrap().config;
    Profile::assemble(&config.profiles[0], &registry, &FeatureGates::default())
}

struct Cluster {
    engine: Engine,
    seq: Seq,
}

impl Cluster {
    /// A service `web`, and nodes with these labels.
    fn new(nodes: &[(&str, &str)]) -> Self {
        let profile = Arc::new(assembled(POLICY).unwrap());
        let mut cluster = Self {
            engine: Engine::new(vec![profile], 7),
            seq: Seq::ZERO,
        };
        let metadata = r#"{"name":"web","namespace":"default","uid":"web","resourceVersion":"1"}"#;
        let service = format!(r#"{{"metadata":{metadata},"spec":{{"selector":{{"app":"web"}}}}}}"#);
        let service = decode_workload_selector(WorkloadKind::Service, service.as_bytes()).unwrap();
        cluster.apply(Delta::WorkloadSelectorChanged {
            old: None,
            new: Some(Arc::new(service)),
        });
        for (name, labels) in nodes {
            let metadata = format!(r#"{{"name":"{name}","uid":"{name}","resourceVersion":"1","labels":{labels}}}"#);
            let allocatable = r#"{"cpu":"8","memory":"8Gi","pods":"10"}"#;
            let node = format!(r#"{{"metadata":{metadata},"status":{{"allocatable":{allocatable}}}}}"#);
            cluster.apply(Delta::NodeAdded(Arc::new(decode_node(node.as_bytes()).unwrap())));
        }
        cluster
    }

    fn apply(&mut self, delta: Delta) {
        self.seq = self.seq.next();
        let change = Change { seq: self.seq, delta };
        self.engine.apply(&change, Moment::ZERO, &mut Vec::new());
    }

    /// Where a new pod goes, or why nowhere, without what post-filters add.
    fn place(&mut self, name: &str, app: &str) -> Result<String, String> {
        let metadata = format!(
            r#"{{"name":"{name}","namespace":"default","uid":"{name}","resourceVersion":"1","labels":{{"app":"{app}"}}}}"#
        );
        let pod = format!(r#"{{"metadata":{metadata},"spec":{{"containers":[{{"name":"c"}}]}}}}"#);
        let pod = Arc::new(decode_pod(pod.as_bytes()).unwrap());
        self.apply(Delta::PodAdded(Arc::clone(&pod)));
        match self.engine.begin(&pod, Moment::ZERO, &mut Vec::new()) {
            Step::Done(Outcome::Placed(placement)) => Ok(placement.node.to_string()),
            Step::Done(Outcome::Unschedulable(diagnosis)) => Err(of_filters(&diagnosis.message)),
            other => panic!("{other:?}"),
        }
    }
}

fn of_filters(message: &str) -> String {
    let (said, _) = message
        .split_once(" no new claims to deallocate, preemption: ")
        .unwrap();
    said.to_owned()
}

#[test]
fn predicates_and_priorities_of_old_and_of_the_user_place_pods_together() {
    let mut cluster = Cluster::new(&[
        ("x1", r#"{"zone":"x","rack":"1","licence":"1","cheap":"1"}"#),
        ("x2", r#"{"zone":"x","rack":"2","licence":"1","cheap":"1"}"#),
        ("y1", r#"{"zone":"y","rack":"3","licence":"1","new":"1"}"#),
        ("y2", r#"{"zone":"y","rack":"4","licence":"1","cheap":"1"}"#),
        (
            "hot",
            r#"{"zone":"y","rack":"5","licence":"1","cheap":"1","new":"1","hot":"1"}"#,
        ),
        ("unlicensed", r#"{"zone":"y","rack":"6","cheap":"1","new":"1"}"#),
        ("zoneless", r#"{"rack":"7","licence":"1","cheap":"1","new":"1"}"#),
    ]);
    // New hardware weighs 5 and cheap power 2; the three nodes with both are turned away.
    assert_eq!(cluster.place("web-1", "web").unwrap(), "y1");
    // The service stays in its zone. There a rack without the service weighs 3, an emptier node 1 and cheap power 2, so
    // that the other node wins by 600 to 500.
    assert_eq!(cluster.place("web-2", "web").unwrap(), "y2");
    // Both have one now, so that only hardware and power tell them apart.
    assert_eq!(cluster.place("web-3", "web").unwrap(), "y1");
    // Racks: a third of the service is elsewhere seen from y1, two thirds from y2, which add 99 and 198; the emptier node
    // gets 50 more. Hardware still outweighs that.
    assert_eq!(cluster.place("web-4", "web").unwrap(), "y1");
    // Pods of no service are bound to no zone.
    assert_eq!(cluster.place("db-1", "db").unwrap(), "y1");
}

#[test]
fn every_predicate_says_why_a_node_is_turned_away() {
    let mut cluster = Cluster::new(&[
        ("hot", r#"{"zone":"x","licence":"1","hot":"1"}"#),
        ("unlicensed", r#"{"zone":"x"}"#),
        ("zoneless", r#"{"licence":"1"}"#),
    ]);
    assert_eq!(
        cluster.place("web-1", "web").unwrap_err(),
        "0/3 nodes are available: 1 node(s) didn't have the requested labels, 1 node(s) had no licence, 1 node(s) were too \
         hot."
    );
    let good = r#"{"zone":"x","rack":"1","licence":"1"}"#;
    let other = r#"{"zone":"y","rack":"2","licence":"1"}"#;
    let mut cluster = Cluster::new(&[("only", good)]);
    assert_eq!(cluster.place("web-1", "web").unwrap(), "only");
    let mut cluster = Cluster::new(&[("a", good), ("b", other)]);
    let first = cluster.place("web-1", "web").unwrap();
    for pod in 2..=10 {
        assert_eq!(cluster.place(&format!("web-{pod}"), "web").unwrap(), first);
    }
    assert_eq!(
        cluster.place("web-11", "web").unwrap_err(),
        "0/2 nodes are available: 1 Too many pods, 1 node(s) didn't match service affinity."
    );
}

#[test]
fn a_policy_may_name_any_predicate_about_volumes() {
    let volumes = [
        "NoDiskConflict",
        "NoVolumeZoneConflict",
        "MaxEBSVolumeCount",
        "CheckVolumeBinding",
    ];
    for predicate in volumes {
        let policy =
            format!(r#"{{"kind":"Policy","apiVersion":"v1","predicates":[{{"name":"{predicate}"}}],"priorities":[]}}"#);
        assert_eq!(assembled(&policy).err(), None, "{predicate}");
    }
    assembled(r#"{"kind":"Policy","apiVersion":"v1"}"#).unwrap();
}
