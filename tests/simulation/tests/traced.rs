//! Runs that are told of: what is told is true and whole, and no pod waits for it.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on fails")]

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_apiserver::fault::{Action, Failure, Rule};
use plimsoll_simulation::collector::{Collector, Mood};
use plimsoll_simulation::invariants::placements;
use plimsoll_simulation::invariants::traces::attribute;
use plimsoll_simulation::world::{Setup, Traces, World};
use plimsoll_simulation::{rules, run, workload};
use plimsoll_telemetry::traces::{ExportLimits, SpanData};

const SECOND: Duration = Duration::from_secs(1);

fn told_to(collector: &Collector, ratio: f64) -> Setup {
    let limits = ExportLimits {
        queue_size: 100,
        batch_size: 20,
        delay: SECOND,
        timeout: 2 * SECOND,
    };
    let collector = collector.clone();
    Setup {
        traces: Some(Traces {
            collector,
            limits,
            ratio,
        }),
        ..Setup::default()
    }
}

/// Places pods with a collector in this mood from the start, and again when it is well; tells where they went, how many
/// spans came, and how many were counted as dropped.
fn placed(mood: Mood) -> (BTreeMap<String, String>, usize, u64) {
    run(async move {
        let world = World::new(5);
        let collector = Collector::default();
        collector.set_mood(mood);
        for node in ["n1", "n2", "n3"] {
            world.add_node(workload::node(node, 2_000, 8_000, 110));
        }
        let _replica = world.start("replica-a", told_to(&collector, 1.0)).await;
        world.pass(5 * SECOND).await;
        for pod in 0..30 {
            world.add_pod(workload::pod(&format!("p{pod}"), 100, 10));
        }
        // No later than without a collector.
        world.until_bound(30, 3 * SECOND).await;
        world.pass(30 * SECOND).await;
        collector.set_mood(Mood::Takes);
        world.pass(30 * SECOND).await;
        world.add_pod(workload::pod("late", 100, 10));
        world.until_bound(31, 3 * SECOND).await;
        world.pass(5 * SECOND).await;
        let counted = world.metrics("replica-a").traces().counted();
        let spans = collector.taken().remove("replica-a").unwrap_or_default();
        assert_eq!(spans.len() as u64, counted.exported, "each span that came counts once");
        let roots = spans.iter().filter(|span| span.name == "schedule pod");
        let ended: Vec<_> = roots.map(|span| attribute(span, "k8s.pod.name")).collect();
        assert!(
            ended.contains(&"late".to_owned()),
            "it goes on when the collector is well: {ended:?}"
        );
        (placements(world.server()), spans.len(), counted.dropped())
    })
}

#[test]
fn a_collector_that_is_slow_refuses_or_hangs_costs_spans_that_are_counted_and_no_pod_waits_for_it() {
    let (well, all, dropped) = placed(Mood::Takes);
    assert!(all > 300 && dropped == 0, "{all} spans came, {dropped} did not");
    for mood in [
        Mood::Refuses,
        Mood::Hangs,
        Mood::Flaps,
        Mood::Slow(SECOND),
        Mood::Slow(10 * SECOND),
    ] {
        let (placements, came, dropped) = placed(mood);
        assert_eq!(placements, well, "{mood:?}");
        assert!(
            came < all && dropped > 0,
            "{mood:?}: {came} of {all} came, {dropped} did not"
        );
        assert_eq!(
            came as u64 + dropped,
            all as u64,
            "{mood:?}: each span came or was counted"
        );
    }
}

/// The exemplars of a scrape: the labels of each observation, its family before them, and its trace.
fn exemplars(scrape: &str) -> Vec<(String, String)> {
    let exemplar = |line: &str| {
        let (observation, exemplar) = line.split_once(" # {trace_id=\"")?;
        let (trace, _) = exemplar.split_once('"')?;
        Some((observation.to_owned(), trace.to_owned()))
    };
    scrape.lines().filter_map(exemplar).collect()
}

#[test]
fn each_exemplar_leads_to_a_trace_that_has_come_and_all_latencies_of_attempts_have_some() {
    for (ratio, sampled) in [(1.0, true), (0.0, false)] {
        run(async move {
            let world = World::new(6);
            let collector = Collector::default();
            world.add_node(workload::node("n1", 1_000, 8_000, 110));
            let _replica = world.start("replica-a", told_to(&collector, ratio)).await;
            world.pass(5 * SECOND).await;
            world.add_pod(workload::pod("placed", 100, 10));
            world.until_bound(1, 3 * SECOND).await;
            world.add_pod(workload::pod("pending", 5_000, 10));
            world.pass(5 * SECOND).await;
            let scrape = world.metrics("replica-a").open_metrics().unwrap();
            let exemplars = exemplars(&scrape);
            let spans = collector.taken().remove("replica-a").unwrap_or_default();
            let came = |trace: &str| {
                let of_trace = |id: plimsoll_telemetry::traces::opentelemetry::trace::TraceId| id.to_string() == trace;
                spans.iter().any(|span| of_trace(span.span_context.trace_id()))
            };
            for (observation, trace) in &exemplars {
                assert!(came(trace), "{observation} leads to {trace}, of which nothing came");
            }
            let has = |parts: &[&str]| {
                let fits = |observation: &str| parts.iter().all(|part| observation.contains(part));
                exemplars.iter().any(|(observation, _)| fits(observation))
            };
            let point = "scheduler_framework_extension_point_duration_seconds_bucket";
            for of_all in [
                &[
                    "scheduler_scheduling_attempt_duration_seconds_bucket",
                    "result=\"unschedulable\"",
                ] as &[&str],
                &["scheduler_scheduling_algorithm_duration_seconds_bucket"],
                &[point, "extension_point=\"Filter\""],
                &[point, "extension_point=\"PostFilter\""],
            ] {
                assert!(has(of_all), "{of_all:?} of {ratio}: {exemplars:#?}");
            }
            for of_sampled in [
                &[
                    "scheduler_scheduling_attempt_duration_seconds_bucket",
                    "result=\"scheduled\"",
                ] as &[&str],
                &["scheduler_pod_scheduling_sli_duration_seconds_bucket"],
                &[point, "extension_point=\"PreEnqueue\""],
                &[point, "extension_point=\"Reserve\""],
                &[point, "extension_point=\"Bind\""],
            ] {
                assert_eq!(has(of_sampled), sampled, "{of_sampled:?} of {ratio}: {exemplars:#?}");
            }
        });
    }
}

fn called<'s>(spans: &'s [SpanData], name: &str) -> Vec<&'s SpanData> {
    spans.iter().filter(|span| span.name == name).collect()
}

#[test]
fn a_slow_attempt_is_told_of_with_its_plugins_though_nobody_asked_for_it() {
    run(async {
        let world = World::new(7);
        let collector = Collector::default();
        world.add_node(workload::node("n1", 1_000, 8_000, 110));
        let _replica = world.start("replica-a", told_to(&collector, 0.0)).await;
        world.pass(5 * SECOND).await;
        world.add_pod(workload::pod("quick", 100, 10));
        world.until_bound(1, 3 * SECOND).await;
        let late = Action::Latency { millis: 1_500 };
        world.server().faults().add(Rule::new(rules::bindings(), late));
        world.add_pod(workload::pod("slow", 100, 10));
        world.until_bound(2, 3 * SECOND).await;
        world.pass(5 * SECOND).await;
        let spans = collector.taken().remove("replica-a").unwrap_or_default();
        let lives = called(&spans, "schedule pod");
        assert_eq!(lives.len(), 1);
        assert_eq!(attribute(lives[0], "k8s.pod.name"), "slow");
        let attempts = called(&spans, "attempt");
        assert_eq!(attribute(attempts[0], "plimsoll.recorded_because"), "slow");
        for part in ["Bind/DefaultBinder", "POST pods/binding"] {
            assert_eq!(called(&spans, part).len(), 1, "{part}");
        }
    });
}

#[test]
fn the_end_of_a_life_that_two_leaders_see_is_told_by_the_one_that_leads_then() {
    run(async {
        let world = World::new(9);
        let collector = Collector::default();
        world.add_node(workload::node("n1", 1_000, 8_000, 110));
        let mut machine = world.machine("replica-a");
        let _first = world.start_on(&machine, told_to(&collector, 0.0)).await;
        world.pass(5 * SECOND).await;
        let _second = world.start("replica-b", told_to(&collector, 0.0)).await;
        world.add_pod(workload::pod("waiting", 5_000, 10));
        world.pass(5 * SECOND).await;
        machine.stop();
        world.pass(60 * SECOND).await;
        assert_eq!(world.leader(), "replica-b");
        // Whoever wakes past its lease hears of this before it knows that it leads no more.
        world.delete_pod("waiting");
        world.pass(SECOND).await;
        machine.resume();
        world.pass(30 * SECOND).await;
        let taken = collector.taken();
        let told = |replica: &str, name| called(&taken[replica], name).len();
        for replica in ["replica-a", "replica-b"] {
            assert!(told(replica, "attempt") > 0, "{replica} has tried the pod");
        }
        assert_eq!(
            (told("replica-a", "schedule pod"), told("replica-b", "schedule pod")),
            (0, 1)
        );
    });
}

#[test]
fn elections_terms_hand_overs_reloads_and_relists_have_traces_of_their_own() {
    run(async {
        let world = World::new(8);
        let collector = Collector::default();
        let cut = Action::CutWatch { after_events: 1 };
        world.server().faults().add(Rule::new(rules::watches("pods"), cut));
        world.add_node(workload::node("n1", 1_000, 8_000, 110));
        let first = world.start("replica-a", told_to(&collector, 0.0)).await;
        world.pass(5 * SECOND).await;
        // Two at one moment, and with the same words.
        for _ in 0..2 {
            let assembled = told_to(&collector, 0.0).assembled();
            let note = "loaded another configuration".to_owned();
            first.reconfigurer().reconfigure(assembled, note);
        }
        // The watch that is open ends with the next pod, and what it goes on with is gone.
        world.server().faults().clear();
        let gone = Action::WatchError {
            failure: Failure::code(410),
        };
        world
            .server()
            .faults()
            .add(Rule::new(rules::watches("pods"), gone).times(1));
        world.add_pod(workload::pod("a", 100, 10));
        world.until_bound(1, 60 * SECOND).await;
        world.pass(30 * SECOND).await;
        let _second = world.start("replica-b", told_to(&collector, 0.0)).await;
        world.pass(5 * SECOND).await;
        first.shutdown();
        world.pass(30 * SECOND).await;
        let taken = collector.taken();
        assert_eq!(called(&taken["replica-a"], "reload").len(), 2);
        for (replica, operations) in [
            (
                "replica-a",
                &["election", "hand-over", "list", "reload", "relist", "term"] as &[&str],
            ),
            ("replica-b", &["election", "hand-over", "list"]),
        ] {
            for operation in operations {
                let told = called(&taken[replica], operation);
                assert!(!told.is_empty(), "{replica} tells of no {operation}");
                let traces: std::collections::BTreeSet<_> = told
                    .iter()
                    .map(|span| span.span_context.trace_id().to_bytes())
                    .collect();
                assert_eq!(traces.len(), told.len(), "{operation}");
                assert!(told.iter().all(|span| attribute(span, "plimsoll.identity") == replica));
            }
        }
    });
}
