//! What concerns one pod reads as one trace, across actors and the API server's answers.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on fails")]

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use plimsoll_actors::trace_context::TraceContext;
use plimsoll_apiserver::fault::{Action, Failure, Rule};
use plimsoll_model::decode_pod;
use plimsoll_simulation::world::{Setup, World};
use plimsoll_simulation::{rules, run, workload};
use tracing::field::{Field, Visit};
use tracing::span::Attributes;
use tracing::{Id, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

const SECOND: Duration = Duration::from_secs(1);

/// Every span about a pod: which message was worked off, and in which trace.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<(String, String)>>>);

impl Spans {
    fn of(&self, trace: &str) -> Vec<String> {
        let spans = self.0.lock().unwrap();
        spans
            .iter()
            .filter(|(_, id)| id == trace)
            .map(|(message, _)| message.clone())
            .collect()
    }
}

#[derive(Default)]
struct Fields {
    handling: String,
    trace_id: String,
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "handling" => format!("{value:?}").trim_matches('"').clone_into(&mut self.handling),
            "trace_id" => self.trace_id = format!("{value:?}"),
            _ => {}
        }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if attributes.metadata().name() == "pod" {
            self.0.lock().unwrap().push((fields.handling, fields.trace_id));
        }
    }
}

fn trace_of(world: &World, pod: &str) -> String {
    let pod = world.pod(pod).unwrap();
    TraceContext::of(&decode_pod(pod.to_string().as_bytes()).unwrap()).to_string()
}

#[test]
fn the_trace_that_went_out_with_a_pod_comes_back_with_each_answer_about_it() {
    let spans = Spans::default();
    let subscriber = tracing_subscriber::registry().with(spans.clone());
    tracing::subscriber::with_default(subscriber, || {
        run(async {
            let world = World::new(90);
            let _replica = world.start("replica-a", Setup::default()).await;
            world.pass(5 * SECOND).await;
            world.add_node(workload::node("n1", 1000, 8000, 110));
            // A conflict about a pod that is not bound has the pod read before it is tried again.
            let conflict = Action::Fail {
                failure: Failure::code(409),
            };
            let once = Rule::new(rules::bindings(), conflict).times(1);
            world.server().faults().add(once);
            world.add_pod(workload::pod("a", 600, 10));
            world.until_bound(1, 30 * SECOND).await;
            world.add_pod(workload::pod("b", 600, 10));
            world.pass(5 * SECOND).await;
            let (a, b) = (trace_of(&world, "a"), trace_of(&world, "b"));
            let (of_a, of_b) = (spans.of(&a), spans.of(&b));
            for message in [
                "Attempt",
                "BindAnswered",
                "ReadAnswered",
                "Settle",
                "StatusAnswered",
                "Pod",
            ] {
                assert!(
                    of_a.iter().any(|span| span == message),
                    "{message} is missing: {of_a:?}"
                );
            }
            assert_eq!(of_a.first().map(String::as_str), Some("Attempt"));
            assert!(of_b.iter().any(|span| span == "StatusAnswered"), "{of_b:?}");
            assert!(!of_b.iter().any(|span| span == "BindAnswered"), "{of_b:?}");
            // Nothing belongs to a pod that is not there.
            let all = spans.0.lock().unwrap();
            assert!(all.iter().all(|(_, trace)| *trace == a || *trace == b), "{all:?}");
        });
    });
}
