//! Preemption with kube-scheduler's own plugins.

use plimsoll_config::{FeatureGates, Gate, ProfileConfig, ProfileExtras};
use plimsoll_framework::{Code, Restriction, Status};
use plimsoll_model::testing::{PodBuilder, node, pod};
use plimsoll_model::{DisruptionBudget, LabelSelector, ObjectName, PodCondition, ResourceVersion};
use plimsoll_plugins::default_preemption;

use super::fixture::{Cluster, ProfileBuilder, view};
use super::*;
use crate::{PreemptionPlan, Removal};

mod extenders;
mod hard_budgets;
mod loop_free;
mod outcomes;
mod properties;
mod texts;
mod turned_down;

/// kube-scheduler's default profile with preemption, and what the test wants besides.
fn profile_with(gates: &FeatureGates, change: impl FnOnce(&mut Profile)) -> Profile {
    let mut profile = assembled(&ProfileConfig::default(), gates);
    change(&mut profile);
    profile
}

fn assembled(config: &ProfileConfig, gates: &FeatureGates) -> Profile {
    let registry = plimsoll_plugins::registry();
    let mut profile = Profile::assemble(config, &registry, gates).unwrap();
    profile.percentage_of_nodes_to_score = None;
    profile
}

/// The default profile with what only Plimsoll's own kind of configuration can say.
fn profile_of(extras: ProfileExtras) -> Profile {
    let config = ProfileConfig {
        extras,
        ..ProfileConfig::default()
    };
    assembled(&config, &FeatureGates::default())
}

fn profile() -> Profile {
    profile_with(&FeatureGates::default(), |_| {})
}

fn synchronous() -> Profile {
    let gates = FeatureGates::default().with(Gate::SchedulerAsyncPreemption, false);
    profile_with(&gates, |_| {})
}

impl Cluster {
    /// Nodes with two cores each.
    fn with_nodes(profile: Profile, names: &[&str]) -> Self {
        let mut cluster = Self::new(profile);
        for name in names {
            cluster.set_node(node(name).cpu("2").memory("8Gi").pods(10).build());
        }
        cluster
    }

    fn set_node(&mut self, node: Node) {
        self.apply(Delta::NodeAdded(Arc::new(node)));
    }

    fn run(&mut self, pod: PodBuilder) {
        self.add(&Arc::new(pod.build()));
    }

    fn refuse_built(&mut self, pod: PodBuilder) -> Diagnosis {
        self.refuse(&Arc::new(pod.build()))
    }

    fn set_budget(&mut self, name: &str, app: &str, allowed: i32, disrupted: &[&str]) {
        let budget = DisruptionBudget {
            name: ObjectName::new("default", name),
            uid: Uid::new(name),
            resource_version: ResourceVersion::new(1),
            selector: Some(LabelSelector::of_labels([("app", app)].into_iter().collect())),
            disruptions_allowed: allowed,
            disrupted_pods: disrupted.iter().map(|name| (*name).into()).collect(),
        };
        self.apply(Delta::DisruptionBudgetChanged {
            old: None,
            new: Some(Arc::new(budget)),
        });
    }
}

/// A pod on a node.
fn guest(name: &str, on: &str, cpu: &str, priority: i32) -> PodBuilder {
    pod(name).cpu(cpu).priority(priority).on(on)
}

/// The pod that wants room.
fn preemptor(cpu: &str) -> PodBuilder {
    pod("p").cpu(cpu).priority(100)
}

fn being_preempted(pod: PodBuilder) -> PodBuilder {
    pod.terminating().with(|pod| {
        pod.status.disruption_target = Some(Box::new(PodCondition {
            status: "True".into(),
            reason: "PreemptionByScheduler".into(),
            ..PodCondition::default()
        }));
    })
}

fn victims(plan: &PreemptionPlan) -> Vec<&str> {
    let names = plan.victims.iter().map(|victim| victim.pod.name.name.as_str());
    names.collect()
}

/// Where to, and who goes.
fn chosen(diagnosis: &Diagnosis) -> (&str, Vec<&str>) {
    let plan = diagnosis.preemption.as_ref().unwrap_or_else(|| panic!("{diagnosis:?}"));
    assert_eq!(diagnosis.nominate, Nomination::Set(plan.node.clone()));
    (&plan.node, victims(plan))
}

/// What is said of preemption.
fn said(diagnosis: &Diagnosis) -> &str {
    let said = diagnosis.message.split_once("preemption: ");
    said.map_or("", |(_, said)| said)
}
