//! Lines of the log that need a whole replica to come about.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on fails")]

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use plimsoll_simulation::storage;
use plimsoll_simulation::world::{Setup, World};
use plimsoll_simulation::{run, workload};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};

const SECOND: Duration = Duration::from_secs(1);

/// A line: its level on klog's scale where it has one, and its values, the message among them.
type Line = (&'static str, BTreeMap<&'static str, String>);

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<Line>>>);

#[derive(Default)]
struct Values(BTreeMap<&'static str, String>);

impl Visit for Values {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let text = format!("{value:?}").trim_matches('"').to_owned();
        self.0.insert(field.name(), text);
    }
}

impl<S: Subscriber> Layer<S> for Log {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut values = Values::default();
        event.record(&mut values);
        self.0.lock().unwrap().push((event.metadata().name(), values.0));
    }
}

/// The lines with this message during the simulation.
fn lines_of(message: &str, simulation: impl Future<Output = ()>) -> Vec<Line> {
    let log = Log::default();
    let subscriber = tracing_subscriber::registry().with(log.clone());
    tracing::subscriber::with_default(subscriber, || run(simulation));
    let lines = log.0.lock().unwrap().clone();
    let told = |line: &Line| line.1.get("message").is_some_and(|text| text == message);
    lines.into_iter().filter(told).collect()
}

#[test]
fn each_move_of_a_waiting_pod_is_told_at_kube_schedulers_levels() {
    let lines = lines_of("Pod moved to an internal scheduling queue", async {
        let world = World::new(31);
        world.add_node(workload::node("small", 50, 8_000, 110));
        let _replica = world.start("replica-a", Setup::default()).await;
        world.pass(5 * SECOND).await;
        world.add_pod(workload::pod("a", 100, 10));
        world.pass(SECOND).await;
        world.add_node(workload::node("n1", 1_000, 8_000, 110));
        world.until_bound(1, 15 * SECOND).await;
    });
    let told = lines.iter().map(|(level, values)| {
        let value = |key| values.get(key).map(String::as_str).unwrap_or_default();
        assert_eq!((value("pod"), value("trace_id").len()), ("default/a", 32));
        (*level, value("event"), value("queue"))
    });
    let told: Vec<_> = told.collect();
    assert_eq!(
        told[..2],
        [
            ("V5", "UnschedulablePodAdd", "Active"),
            ("V3", "ScheduleAttemptFailure", "Unschedulable"),
        ],
        "{told:?}"
    );
    assert_eq!((told[2].0, told[2].1), ("V5", "NodeAdd"), "{told:?}");
    assert!(told[3..].iter().all(|(level, ..)| *level == "V5"), "{told:?}");
}

#[test]
fn a_volume_that_is_made_over_to_a_claim_is_told() {
    let lines = lines_of(
        "Updated PersistentVolume with claim. Waiting for binding to complete",
        async {
            let world = World::new(32);
            world.add_node(workload::node("n1", 1_000, 8_000, 110));
            for class in storage::classes() {
                world.add_storage("storageclasses", class);
            }
            world.add_storage("persistentvolumes", storage::local_volume("v", "n1"));
            world.add_storage(
                "persistentvolumeclaims",
                storage::claim("c", storage::LOCAL, "ReadWriteOnce"),
            );
            let controller = storage::Storage::new(world.server(), 1);
            world.add_controller(move || controller.look());
            let _replica = world.start("replica-a", Setup::default()).await;
            world.pass_with_kubelets(5 * SECOND).await;
            let mut pod = workload::pod("a", 100, 10);
            pod["spec"]["volumes"] =
                serde_json::json!([{ "name": "data", "persistentVolumeClaim": { "claimName": "c" } }]);
            world.add_pod(pod);
            world.pass_with_kubelets(5 * SECOND).await;
            let volume = world.server().get(storage::kind("persistentvolumes"), "", "v").unwrap();
            assert_eq!(volume["spec"]["claimRef"]["name"], "c", "{:?}", world.explanation("a"));
        },
    );
    let told: Vec<_> = lines
        .iter()
        .map(|(level, values)| {
            (
                *level,
                values["pod"].as_str(),
                values["PV"].as_str(),
                values["PVC"].as_str(),
            )
        })
        .collect();
    assert_eq!(told, [("V2", "default/a", "v", "default/c")]);
}
