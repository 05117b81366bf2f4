//! What a new leader tells of each stage. Alone in its file: which spans are wanted is decided for a whole process.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on fails")]

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use plimsoll_simulation::world::World;
use plimsoll_simulation::{run, workload};
use plimsoll_telemetry::HandOverStage;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Record};
use tracing::{Id, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

const SECOND: Duration = Duration::from_secs(1);
const STAGES: [HandOverStage; 4] = [
    HandOverStage::VersionRead,
    HandOverStage::CaughtUp,
    HandOverStage::QueueBuilt,
    HandOverStage::FirstBind,
];

fn seconds(world: &World, replica: &str, stage: HandOverStage) -> Option<f64> {
    world.metrics(replica).hand_over().seconds(stage)
}

/// Spans of hand-overs that have ended, by name, stage and whether they tell how long it took, and in which other.
#[derive(Clone, Default)]
struct Ended(Arc<Mutex<Vec<(String, String, bool)>>>);

#[derive(Clone, Default)]
struct Fields {
    stage: String,
    seconds: Option<f64>,
}

impl Visit for Fields {
    fn record_debug(&mut self, _: &Field, _: &dyn fmt::Debug) {}

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "stage" {
            value.clone_into(&mut self.stage);
        }
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        if field.name() == "seconds" {
            self.seconds = Some(value);
        }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Ended {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(fields);
        }
    }

    fn on_record(&self, id: &Id, record: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(fields) = span.extensions_mut().get_mut::<Fields>()
        {
            record.record(fields);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        if !span.name().starts_with("hand_over") {
            return;
        }
        let fields = span.extensions().get::<Fields>().cloned().unwrap_or_default();
        let parent = span.parent().map_or("", |parent| parent.name());
        let name = format!("{parent}/{}", span.name());
        self.0
            .lock()
            .unwrap()
            .push((name, fields.stage, fields.seconds.is_some()));
    }
}

#[test]
fn each_stage_of_a_hand_over_is_told_as_a_metric_and_a_span() {
    let ended = Ended::default();
    let subscriber = tracing_subscriber::registry().with(ended.clone());
    tracing::subscriber::with_default(subscriber, || {
        run(async {
            let (world, _replica) = World::led(160).await;
            assert_eq!(seconds(&world, "replica-a", HandOverStage::FirstBind), None);
            world.add_node(workload::node("n1", 1000, 8000, 110));
            world.add_pod(workload::pod("a", 600, 10));
            world.until_bound(1, 10 * SECOND).await;
            world.pass(SECOND).await;
            let told = STAGES.map(|stage| seconds(&world, "replica-a", stage).unwrap());
            assert!(told.is_sorted(), "{told:?}");
            let text = world.metrics("replica-a").text().unwrap();
            assert!(
                text.contains(r#"plimsoll_hand_over_seconds{stage="queue_built"}"#),
                "{text}"
            );
        });
    });
    let ended = ended.0.lock().unwrap();
    let stages = STAGES.map(|stage| ("hand_over/hand_over_stage".to_owned(), stage.as_str().to_owned(), true));
    assert_eq!(ended[..4], stages);
    assert_eq!(ended[4..], [("/hand_over".to_owned(), "first_bind".to_owned(), true)]);
}
