//! Plugins of others in a whole replica: one that asks outside, and one that panics.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use plimsoll_actors::effects::{Effects, PerformEffect};
use plimsoll_config::{PluginRef, ProfileConfig};
use plimsoll_framework::{
    CycleContext, CycleState, EffectFilter, EffectReply, EffectRequest, Extensions, FilterPass, Plugin, PreFilter,
    PreFilterOutcome, ReasonCode, Resolvability,
};
use plimsoll_model::Pod;
use plimsoll_model::columns::NodeSet;
use plimsoll_simulation::world::{Setup, World};
use plimsoll_simulation::{invariants, run, workload};
use serde_json::{Value, json};
use smallvec::{SmallVec, smallvec};

const SECOND: Duration = Duration::from_secs(1);

/// Bans the nodes that somebody outside names, for pods with the label `ask`.
struct Oracle;

impl Plugin for Oracle {
    fn name(&self) -> &'static str {
        "Oracle"
    }
}

fn label<'a>(pod: &'a Pod, key: &str) -> Option<&'a str> {
    pod.labels.get(key)
}

impl EffectFilter for Oracle {
    fn request(&self, cycle: CycleContext<'_>, _: &mut CycleState, _: &NodeSet) -> Option<EffectRequest> {
        let seconds: u64 = label(cycle.pod, "ask")?.parse().ok()?;
        Some(Box::new(seconds))
    }

    fn apply(
        &self,
        cycle: CycleContext<'_>,
        _: &mut CycleState,
        reply: EffectReply,
        pass: &mut FilterPass<'_>,
    ) -> Result<(), String> {
        let banned = reply?.downcast::<String>().map_err(|_| "not a name")?;
        if let Some(index) = cycle.columns.index_of(&banned) {
            pass.reject(index, ReasonCode(0), Resolvability::Unresolvable);
        }
        Ok(())
    }

    fn reasons(&self, _: CycleContext<'_>, _: &CycleState, _: ReasonCode) -> SmallVec<[Cow<'static, str>; 1]> {
        smallvec![Cow::Borrowed("the oracle said no")]
    }
}

/// Answers after as many seconds as the request says: not `banned`.
struct Outside;

impl PerformEffect for Outside {
    fn perform(&self, request: EffectRequest) -> BoxFuture<'static, EffectReply> {
        let seconds = request.downcast::<u64>().map_or(0, |seconds| *seconds);
        async move {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            let reply: EffectReply = Ok(Box::new("banned".to_owned()));
            reply
        }
        .boxed()
    }
}

/// Panics at pods with the label `poison`.
struct Fragile;

impl Plugin for Fragile {
    fn name(&self) -> &'static str {
        "Fragile"
    }
}

impl PreFilter for Fragile {
    fn pre_filter(&self, cycle: CycleContext<'_>, _: &mut CycleState) -> PreFilterOutcome {
        assert!(label(cycle.pod, "poison").is_none(), "poisoned");
        PreFilterOutcome::Skip
    }
}

fn setup() -> Setup {
    let mut setup = Setup::default();
    setup
        .registry
        .add("Oracle", |_| Ok(Extensions::new().effect_filter(Arc::new(Oracle))));
    setup
        .registry
        .add("Fragile", |_| Ok(Extensions::new().pre_filter(Arc::new(Fragile))));
    let mut profile = ProfileConfig::default();
    profile.plugins.multi_point.enabled.push(PluginRef::new("Oracle", 0));
    profile.plugins.multi_point.enabled.push(PluginRef::new("Fragile", 0));
    setup.profile = profile;
    let mut effects = Effects::default();
    effects.add("Oracle", Arc::new(Outside));
    setup.effects = effects;
    setup
}

fn labelled(name: &str, milli_cpu: i64, key: &str, value: &str) -> Value {
    let mut pod = workload::pod(name, milli_cpu, 10);
    pod["metadata"]["labels"] = json!({ key: value });
    pod
}

fn lines_between(world: &World, from: f64, to: f64, part: &str) -> usize {
    let at = |line: &String| {
        line.trim_start()
            .split(' ')
            .next()
            .and_then(|time| time.parse::<f64>().ok())
    };
    let lines = world.trace().lines();
    let within = lines
        .iter()
        .filter(|line| at(line).is_some_and(|at| at > from && at < to));
    within.filter(|line| line.contains(part)).count()
}

#[test]
fn while_a_cycle_waits_for_an_answer_from_outside_everything_else_is_served() {
    run(async {
        let world = World::new(60);
        world.add_node(workload::node("banned", 4000, 8000, 110));
        world.add_node(workload::node("n1", 1000, 8000, 110));
        let _replica = world.start("replica-a", setup()).await;
        let _standby = world.start("replica-b", setup()).await;
        world.pass(10 * SECOND).await;
        // Longer than any deadline of the lease: waiting is not a wedge.
        world.add_pod(labelled("slow", 100, "ask", "29"));
        world.pass(SECOND).await;
        world.add_pod(workload::pod("next", 100, 10));
        world.pass(27 * SECOND).await;
        assert_eq!(invariants::placements(world.server()).len(), 0);
        assert_eq!(world.leader(), "replica-a");
        assert!(lines_between(&world, 11.5, 40.0, "replica-a Elector: Alive SchedulingCycle") > 5);
        world.until_bound(2, 15 * SECOND).await;
        assert_eq!(world.node_of("slow").as_deref(), Some("n1"));
        assert_eq!(world.leader(), "replica-a");
        world.check();
    });
}

#[test]
fn a_node_that_filled_up_while_the_answer_was_on_its_way_is_not_taken() {
    run(async {
        let world = World::new(61);
        world.add_node(workload::node("n1", 1000, 8000, 110));
        let _replica = world.start("replica-a", setup()).await;
        world.pass(10 * SECOND).await;
        world.add_pod(labelled("slow", 600, "ask", "5"));
        world.pass(SECOND).await;
        world.add_pod(workload::pod("foreign", 600, 10));
        world.server().bind("default", "foreign", "n1").unwrap();
        world.pass(30 * SECOND).await;
        world.check();
        assert_eq!(world.node_of("slow"), None);
        world.add_node(workload::node("n2", 1000, 8000, 110));
        world
            .until("the pod is bound", 30 * SECOND, || world.node_of("slow").is_some())
            .await;
        world.check();
        world.check_nothing_forgotten();
    });
}

#[test]
fn an_answer_that_never_comes_costs_its_pod_an_attempt_and_nobody_else_more() {
    run(async {
        let world = World::new(67);
        world.add_node(workload::node("n1", 1000, 8000, 110));
        let _replica = world.start("replica-a", setup()).await;
        world.pass(10 * SECOND).await;
        let for_ever = "1000000";
        world.add_pod(labelled("slow", 600, "ask", for_ever));
        world.pass(SECOND).await;
        world.add_pod(workload::pod("next", 600, 10));
        world.pass(28 * SECOND).await;
        assert_eq!(world.node_of("next"), None);
        world
            .until("the pod behind it is bound", 4 * SECOND, || {
                world.node_of("next").is_some()
            })
            .await;
        let (reason, message) = world.explanation("slow").unwrap();
        assert_eq!(reason, "SchedulerError");
        assert!(message.contains("plugin Oracle got no answer within 30 s"), "{message}");
        assert_eq!(world.leader(), "replica-a");
        world.check();
    });
}

#[test]
fn while_a_cycle_waits_the_watch_waits_too_and_nothing_piles_up() {
    run(async {
        let world = World::new(68);
        world.add_node(workload::node("n1", 1000, 8000, 110));
        let _replica = world.start("replica-a", setup()).await;
        world.pass(10 * SECOND).await;
        world.add_pod(labelled("slow", 100, "ask", "20"));
        world.pass(SECOND).await;
        for number in 0..60 {
            world.add_pod(workload::pod(&format!("p{number}"), 10, 10));
            world.pass(SECOND / 10).await;
        }
        let changes = "replica-a SchedulingCycle: Changes";
        // As many batches as there is room for, and not one for each pod.
        let held = lines_between(&world, 10.9, 19.0, changes);
        assert!((10..=17).contains(&held), "{held}");
        world.until_bound(61, 30 * SECOND).await;
        world.check();
        world.check_nothing_forgotten();
    });
}

#[test]
fn a_pod_deleted_while_its_cycle_waits_is_dropped_and_the_next_goes_on() {
    run(async {
        let world = World::new(62);
        world.add_node(workload::node("n1", 1000, 8000, 110));
        let _replica = world.start("replica-a", setup()).await;
        world.pass(10 * SECOND).await;
        world.add_pod(labelled("slow", 600, "ask", "5"));
        world.pass(SECOND).await;
        world.delete_pod("slow");
        world.add_pod(workload::pod("next", 600, 10));
        world.until_bound(1, 15 * SECOND).await;
        assert!(world.node_of("next").is_some());
        world.check();
    });
}

#[test]
fn a_leader_killed_while_a_cycle_waits_leaves_the_pod_to_the_next() {
    run(async {
        let world = World::new(63);
        world.add_node(workload::node("n1", 1000, 8000, 110));
        let first = world.start("replica-a", setup()).await;
        world.pass(5 * SECOND).await;
        let _second = world.start("replica-b", setup()).await;
        world.pass(5 * SECOND).await;
        world.add_pod(labelled("slow", 600, "ask", "5"));
        world.pass(SECOND).await;
        first.kill();
        world.until_bound(1, 40 * SECOND).await;
        world.check();
    });
}

#[test]
fn a_pod_whose_decision_panics_is_set_aside_and_the_term_goes_on() {
    run(async {
        let world = World::new(64);
        world.add_node(workload::node("n1", 4000, 8000, 110));
        let _replica = world.start("replica-a", setup()).await;
        world.pass(5 * SECOND).await;
        for number in 0..3 {
            world.add_pod(labelled(&format!("poison-{number}"), 100, "poison", "yes"));
            world.add_pod(workload::pod(&format!("good-{number}"), 100, 10));
        }
        world.until_bound(3, 10 * SECOND).await;
        world.pass(10 * SECOND).await;
        for number in 0..3 {
            let name = format!("poison-{number}");
            assert_eq!(world.node_of(&name), None);
            assert_eq!(world.explanation(&name).unwrap().0, "SchedulerError");
        }
        world.add_pod(workload::pod("later", 100, 10));
        world.until_bound(4, 10 * SECOND).await;
        let terms = world
            .trace()
            .lines()
            .iter()
            .filter(|line| line.contains("TermBegan"))
            .count();
        assert_eq!(terms, 1);
        world.edit_pod("poison-0", |pod| {
            pod["metadata"]["labels"] = json!({});
            // Only a change of its spec wakes a pod that was set aside.
            let tolerate = json!({"key": "any", "operator": "Exists"});
            pod["spec"]["tolerations"].as_array_mut().unwrap().push(tolerate);
        });
        world
            .until("the pod is cured", 10 * SECOND, || world.node_of("poison-0").is_some())
            .await;
        world.check();
        world.check_nothing_forgotten();
    });
}

#[test]
fn more_panics_than_a_term_bears_end_it_and_a_standby_takes_over() {
    run(async {
        let world = World::new(65);
        world.add_node(workload::node("n1", 4000, 8000, 110));
        let _first = world.start("replica-a", setup()).await;
        world.pass(5 * SECOND).await;
        let _second = world.start("replica-b", setup()).await;
        world.pass(5 * SECOND).await;
        for number in 0..20 {
            world.add_pod(labelled(&format!("poison-{number}"), 10, "poison", "yes"));
        }
        world
            .until("the standby leads", 60 * SECOND, || world.leader() == "replica-b")
            .await;
        world.check();
    });
}
#[test]
fn good_pods_behind_many_poisonous_ones_are_placed_in_the_end() {
    run(async {
        let world = World::new(66);
        world.add_node(workload::node("n1", 4000, 8000, 110));
        let _first = world.start("replica-a", setup()).await;
        let _second = world.start("replica-b", setup()).await;
        world.pass(5 * SECOND).await;
        for number in 0..20 {
            world.add_pod(labelled(&format!("poison-{number}"), 10, "poison", "yes"));
        }
        world.add_pod(workload::pod("zz-good", 100, 10));
        world
            .until("the good pod is bound", 120 * SECOND, || {
                world.node_of("zz-good").is_some()
            })
            .await;
        world.check();
    });
}
