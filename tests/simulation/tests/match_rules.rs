//! Several profiles of one scheduler name: pods go by their labels and their namespace's labels, and follow them.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::Arc;
use std::time::Duration;

use plimsoll_actors::supervisor::RunningReplica;
use plimsoll_apiserver::{Resource, resource};
use plimsoll_config::{MatchRule, PluginRef, ProfileConfig};
use plimsoll_framework::{
    CycleContext, CycleState, Extensions, PerNodeFilter, PerNodeRejection, Plugin, Resolvability,
};
use plimsoll_model::columns::NodeIndex;
use plimsoll_model::{LabelSelector, Labels};
use plimsoll_simulation::world::{Setup, World};
use plimsoll_simulation::{run, workload};
use serde_json::{Value, json};

const SECOND: Duration = Duration::from_secs(1);

/// Rejects every node.
struct Veto;

impl Plugin for Veto {
    fn name(&self) -> &'static str {
        "Veto"
    }
}

impl PerNodeFilter for Veto {
    fn possible_reasons(&self) -> &'static [&'static str] {
        &["vetoed"]
    }

    fn filter_node(&self, _: CycleContext<'_>, _: &CycleState, _: NodeIndex) -> Option<PerNodeRejection> {
        Some(PerNodeRejection {
            reason: "vetoed",
            resolvability: Resolvability::Unresolvable,
        })
    }
}

fn red() -> LabelSelector {
    let labels: Labels = [("team", "red")].into_iter().collect();
    LabelSelector::of_labels(labels)
}

fn profile(plugins: &[&str], rules: Vec<MatchRule>) -> ProfileConfig {
    let mut profile = ProfileConfig::default();
    let more = plugins.iter().map(|plugin| PluginRef::new(*plugin, 0));
    profile.plugins.multi_point.enabled.extend(more);
    profile.extras.match_rules = rules;
    profile
}

async fn led(seed: u64, first: ProfileConfig, others: Vec<ProfileConfig>) -> (World, RunningReplica) {
    let mut setup = Setup {
        profile: first,
        others,
        ..Setup::default()
    };
    setup
        .registry
        .add("Veto", |_| Ok(Extensions::new().filter(Arc::new(Veto))));
    let world = World::new(seed);
    world.add_node(workload::node("n1", 4000, 8000, 110));
    let replica = world.start("replica-a", setup).await;
    world.pass(5 * SECOND).await;
    (world, replica)
}

fn kind(group: &str, plural: &str) -> &'static Resource {
    resource::find(group, "v1", plural).unwrap()
}

fn of_team(name: &str, team: &str) -> Value {
    let mut pod = workload::pod(name, 100, 10);
    pod["metadata"]["labels"] = json!({"team": team});
    pod
}

fn label_pod(world: &World, name: &str, team: &str) {
    let label = |pod: &mut Value| pod["metadata"]["labels"]["team"] = json!(team);
    world.server().modify(kind("", "pods"), "default", name, label).unwrap();
}

/// The namespace of all pods has this team from now on.
fn label_namespace(world: &World, team: &str) {
    let namespaces = kind("", "namespaces");
    let label = |namespace: &mut Value| namespace["metadata"]["labels"] = json!({"team": team});
    if world.server().get(namespaces, "", "default").is_some() {
        world.server().modify(namespaces, "", "default", label).unwrap();
    } else {
        let namespace = json!({"metadata": {"name": "default", "labels": {"team": team}}});
        world.server().create(namespaces, "", namespace).unwrap();
    }
}

/// What users of the pods were told by event.
fn notes(world: &World) -> Vec<String> {
    let events = world.server().snapshot(kind("events.k8s.io", "events"));
    let of_pods = events.iter().filter(|event| event["regarding"]["kind"] == "Pod");
    of_pods
        .map(|event| event["note"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn a_pod_goes_to_the_profile_of_its_labels_and_follows_them() {
    run(async {
        let by_pod = MatchRule {
            pod_selector: Some(red()),
            namespace_selector: None,
        };
        let (world, _replica) = led(90, profile(&[], Vec::new()), vec![profile(&["Veto"], vec![by_pod])]).await;
        world.add_pod(of_team("blue", "blue"));
        world.until_bound(1, 3 * SECOND).await;
        world.add_pod(of_team("red", "red"));
        world
            .until("the pod is told", 5 * SECOND, || world.explanation("red").is_some())
            .await;
        assert!(world.explanation("red").unwrap().1.contains("vetoed"));
        label_pod(&world, "red", "blue");
        world.until_bound(2, 15 * SECOND).await;
        world.check();
    });
}

#[test]
fn pods_follow_the_labels_of_their_namespace_and_one_that_no_profile_takes_is_told_so() {
    run(async {
        let by_namespace = MatchRule {
            pod_selector: None,
            namespace_selector: Some(red()),
        };
        let (world, _replica) = led(91, profile(&[], vec![by_namespace]), Vec::new()).await;
        label_namespace(&world, "blue");
        world.pass(SECOND).await;
        world.add_pod(workload::pod("a", 100, 10));
        world.pass(20 * SECOND).await;
        assert_eq!(world.node_of("a"), None);
        let told = notes(&world);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].starts_with("no profile of scheduler default-scheduler takes this pod"));
        label_namespace(&world, "red");
        world.until_bound(1, 3 * SECOND).await;
        world.check();
    });
}
