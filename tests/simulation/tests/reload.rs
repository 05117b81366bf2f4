//! Another configuration on a running replica: nothing is lost, nothing is placed twice, and what had begun ends as it
//! began.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_actors::supervisor::RunningReplica;
use plimsoll_apiserver::fault::{Action, Rule};
use plimsoll_config::{PluginRef, ProfileConfig};
use plimsoll_framework::{CycleContext, CycleState, Extensions, Filter, FilterPass, Plugin, ReasonCode, Resolvability};
use plimsoll_simulation::world::{Setup, World};
use plimsoll_simulation::{rules, run, slow_plugins, workload};
use serde_json::{Value, json};
use smallvec::{SmallVec, smallvec};

const SECOND: Duration = Duration::from_secs(1);

/// Rejects every node.
struct Veto;

impl Plugin for Veto {
    fn name(&self) -> &'static str {
        "Veto"
    }
}

impl Filter for Veto {
    fn filter(&self, cycle: CycleContext<'_>, _: &CycleState, pass: &mut FilterPass<'_>) -> Result<(), String> {
        for node in cycle.columns.nodes() {
            pass.reject(node, ReasonCode(0), Resolvability::Unresolvable);
        }
        Ok(())
    }

    fn reasons(&self, _: CycleContext<'_>, _: &CycleState, _: ReasonCode) -> SmallVec<[Cow<'static, str>; 1]> {
        smallvec![Cow::Borrowed("vetoed")]
    }
}

/// The default profile under a name, with these plugins more.
fn profile(scheduler_name: &str, plugins: &[&str]) -> ProfileConfig {
    let mut profile = ProfileConfig {
        scheduler_name: scheduler_name.to_owned(),
        ..ProfileConfig::default()
    };
    let more = plugins.iter().map(|plugin| PluginRef::new(*plugin, 0));
    profile.plugins.multi_point.enabled.extend(more);
    profile
}

/// The profiles of a configuration, the first of which orders the queue.
fn setup(profiles: &[ProfileConfig]) -> Setup {
    let mut setup = Setup::default();
    setup
        .registry
        .add("Veto", |_| Ok(Extensions::new().filter(Arc::new(Veto))));
    slow_plugins::add_to(&mut setup, 10 * SECOND, 5 * SECOND);
    setup.profile = profiles[0].clone();
    setup.others = profiles[1..].to_vec();
    setup
}

fn plain() -> Setup {
    setup(&[profile("default-scheduler", &[])])
}

fn reload(replica: &RunningReplica, to: &Setup) {
    let note = "loaded a test's configuration".to_owned();
    replica.reconfigurer().reconfigure(to.assembled(), note);
}

async fn led(seed: u64, first: Setup) -> (World, RunningReplica) {
    let world = World::new(seed);
    world.add_node(workload::node("n1", 4000, 8000, 110));
    let replica = world.start("replica-a", first).await;
    world.pass(5 * SECOND).await;
    assert_eq!(world.leader(), "replica-a");
    (world, replica)
}

fn of_scheduler(name: &str, scheduler: &str) -> Value {
    let mut pod = workload::pod(name, 100, 10);
    pod["spec"]["schedulerName"] = json!(scheduler);
    pod
}

fn terms(world: &World) -> usize {
    let lines = world.trace().lines();
    lines.iter().filter(|line| line.contains("TermBegan")).count()
}

#[test]
fn pods_of_a_profile_that_is_added_are_placed_although_they_came_before_it() {
    run(async {
        let (world, replica) = led(80, plain()).await;
        world.add_pod(of_scheduler("early", "batch"));
        world.pass(20 * SECOND).await;
        assert_eq!(world.node_of("early"), None);
        reload(
            &replica,
            &setup(&[profile("default-scheduler", &[]), profile("batch", &[])]),
        );
        world.until_bound(1, 3 * SECOND).await;
        world.add_pod(of_scheduler("late", "batch"));
        world.until_bound(2, 3 * SECOND).await;
        assert_eq!(terms(&world), 1);
        world.check();
    });
}

#[test]
fn pods_of_a_profile_that_is_removed_are_left_alone_until_it_comes_back() {
    run(async {
        let both = || setup(&[profile("default-scheduler", &[]), profile("batch", &["Veto"])]);
        let (world, replica) = led(81, both()).await;
        world.add_pod(of_scheduler("theirs", "batch"));
        world
            .until("the pod is told", 5 * SECOND, || world.explanation("theirs").is_some())
            .await;
        let version = world.pod("theirs").unwrap()["metadata"]["resourceVersion"].clone();
        reload(&replica, &plain());
        world.pass(400 * SECOND).await;
        assert_eq!(world.pod("theirs").unwrap()["metadata"]["resourceVersion"], version);
        world.add_pod(workload::pod("ours", 100, 10));
        world.until_bound(1, 3 * SECOND).await;
        reload(
            &replica,
            &setup(&[profile("default-scheduler", &[]), profile("batch", &[])]),
        );
        world.until_bound(2, 3 * SECOND).await;
        world.check();
    });
}

#[test]
fn pods_that_a_plugin_turned_away_are_tried_again_without_it() {
    run(async {
        let (world, replica) = led(82, setup(&[profile("default-scheduler", &["Veto"])])).await;
        for number in 0..20 {
            world.add_pod(workload::pod(&format!("p{number}"), 100, 10));
        }
        world.pass(30 * SECOND).await;
        let (reason, message) = world.explanation("p7").unwrap();
        assert_eq!(reason, "Unschedulable");
        assert!(message.contains("vetoed"), "{message}");
        reload(&replica, &plain());
        // Well before anybody would have looked at them anyway.
        world.until_bound(20, 15 * SECOND).await;
        world.check();
    });
}

#[test]
fn a_plugin_that_is_added_judges_from_then_on() {
    run(async {
        let (world, replica) = led(83, plain()).await;
        world.add_pod(workload::pod("before", 100, 10));
        world.until_bound(1, 3 * SECOND).await;
        reload(&replica, &setup(&[profile("default-scheduler", &["Veto"])]));
        world.pass(SECOND).await;
        world.add_pod(workload::pod("after", 100, 10));
        world.pass(10 * SECOND).await;
        assert_eq!(world.node_of("after"), None);
        assert!(world.explanation("after").is_some());
        world.check();
    });
}

#[test]
fn a_binding_in_flight_ends_as_it_began_though_its_profile_is_gone() {
    run(async {
        let both = setup(&[profile("default-scheduler", &[]), profile("batch", &[])]);
        let (world, replica) = led(84, both).await;
        let slow = Action::Latency { millis: 3_000 };
        world.server().faults().add(Rule::new(rules::bindings(), slow).times(1));
        world.add_pod(of_scheduler("theirs", "batch"));
        world.pass(SECOND).await;
        assert_eq!(world.node_of("theirs"), None);
        reload(&replica, &plain());
        world.until_bound(1, 10 * SECOND).await;
        world.pass(20 * SECOND).await;
        world.add_pod(workload::pod("ours", 100, 10));
        world.until_bound(2, 3 * SECOND).await;
        world.check();
    });
}

#[test]
fn a_binding_that_fails_after_the_switch_is_tried_again_with_the_new_profile() {
    run(async {
        let (world, replica) = led(85, plain()).await;
        let hold = Action::Hold { gate: "binding".into() };
        world.server().faults().add(Rule::new(rules::bindings(), hold).times(1));
        world.add_pod(workload::pod("a", 100, 10));
        world.pass(SECOND).await;
        reload(
            &replica,
            &setup(&[profile("default-scheduler", &[]), profile("batch", &[])]),
        );
        world.pass(SECOND).await;
        world.server().faults().release("binding");
        world.until_bound(1, 60 * SECOND).await;
        world.check();
    });
}

#[test]
fn a_pod_parked_at_permit_waits_as_it_began_and_is_then_tried_with_the_new_profile() {
    run(async {
        let (world, replica) = led(86, setup(&[profile("default-scheduler", &["Wait"])])).await;
        world.add_pod(workload::pod("parked", 100, 10));
        world.pass(2 * SECOND).await;
        reload(&replica, &plain());
        world.pass(5 * SECOND).await;
        assert_eq!(world.node_of("parked"), None, "its permit is still awaited");
        world.add_pod(workload::pod("next", 100, 10));
        world.until_bound(1, 2 * SECOND).await;
        assert!(world.node_of("next").is_some());
        world.until_bound(2, 15 * SECOND).await;
        world.check();
        world.check_nothing_forgotten();
    });
}

#[test]
fn a_cycle_that_waits_for_an_answer_ends_as_it_began_and_the_next_pod_gets_the_new_profile() {
    run(async {
        let (world, replica) = led(87, setup(&[profile("default-scheduler", &["Ask"])])).await;
        world.add_pod(workload::pod("slow", 100, 10));
        world.pass(SECOND).await;
        world.add_pod(workload::pod("next", 100, 10));
        reload(&replica, &setup(&[profile("default-scheduler", &["Veto"])]));
        world.until_bound(1, 10 * SECOND).await;
        assert!(world.node_of("slow").is_some());
        world.pass(10 * SECOND).await;
        assert_eq!(world.node_of("next"), None);
        assert!(world.explanation("next").unwrap().1.contains("vetoed"));
        world.check();
        world.check_nothing_forgotten();
    });
}

#[test]
fn under_load_no_pod_is_lost_and_the_term_goes_on() {
    run(async {
        let (world, replica) = led(88, plain()).await;
        for number in 2..8 {
            world.add_node(workload::node(&format!("n{number}"), 4000, 8000, 110));
        }
        let late = Action::ApplyLate { millis: 1_500 };
        world.server().faults().add(Rule::new(rules::bindings(), late).times(5));
        let configurations = [
            setup(&[profile("default-scheduler", &[]), profile("batch", &["Veto"])]),
            setup(&[profile("batch", &[]), profile("default-scheduler", &["Wait"])]),
            setup(&[profile("default-scheduler", &["Veto"])]),
            setup(&[profile("default-scheduler", &["Ask"])]),
            setup(&[profile("default-scheduler", &[]), profile("batch", &[])]),
        ];
        for (round, configuration) in configurations.iter().enumerate() {
            for number in 0..20 {
                world.add_pod(workload::pod(&format!("r{round}-{number}"), 100, 10));
                world.add_pod(of_scheduler(&format!("b{round}-{number}"), "batch"));
                if number == 10 {
                    reload(&replica, configuration);
                }
                world.pass(SECOND / 20).await;
            }
        }
        world.until_bound(200, 120 * SECOND).await;
        assert_eq!(terms(&world), 1);
        world.check();
    });
}

#[test]
fn a_standby_takes_over_with_the_configuration_it_loaded() {
    run(async {
        let (world, first) = led(89, plain()).await;
        let second = world.start("replica-b", plain()).await;
        world.pass(5 * SECOND).await;
        let both = setup(&[profile("default-scheduler", &[]), profile("batch", &[])]);
        reload(&second, &both);
        world.add_pod(of_scheduler("theirs", "batch"));
        world.pass(10 * SECOND).await;
        assert_eq!(world.node_of("theirs"), None, "the leader has not loaded it");
        first.kill();
        world.until_bound(1, 40 * SECOND).await;
        world.check();
    });
}

#[test]
fn a_configuration_that_comes_while_the_caches_catch_up_counts_from_the_start() {
    run(async {
        let world = World::new(90);
        world.add_node(workload::node("n1", 4000, 8000, 110));
        world.add_pod(of_scheduler("theirs", "batch"));
        let replica = world.start("replica-a", plain()).await;
        reload(
            &replica,
            &setup(&[profile("default-scheduler", &[]), profile("batch", &[])]),
        );
        world.until_bound(1, 10 * SECOND).await;
        world.check();
    });
}

#[test]
fn what_became_of_a_new_configuration_is_told_on_the_lease() {
    run(async {
        let (world, replica) = led(91, plain()).await;
        reload(&replica, &plain());
        // Two events of one moment would have one name.
        world.pass(SECOND).await;
        replica.reconfigurer().reject("profiles: Required value".to_owned());
        world.pass(5 * SECOND).await;
        let loaded = (
            "Normal".to_owned(),
            "replica-a loaded a test's configuration".to_owned(),
        );
        assert_eq!(world.events("ConfigReloaded"), [loaded]);
        let rejected = ("Warning".to_owned(), "replica-a profiles: Required value".to_owned());
        assert_eq!(world.events("ConfigRejected"), [rejected]);
        world.add_pod(workload::pod("a", 100, 10));
        world.until_bound(1, 3 * SECOND).await;
    });
}
