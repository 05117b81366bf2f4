//! What one attempt costs that ends in a preemption, or finds that none would help, on 5,000 full nodes.
//!
//! `cargo bench --package plimsoll-engine --bench preemption` runs it; `make bench-preemption` measures whole schedulers.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use plimsoll_config::{FeatureGates, ProfileConfig};
use plimsoll_engine::{Engine, Outcome, Step};
use plimsoll_framework::Profile;
use plimsoll_model::testing::{PodBuilder, node, pod};
use plimsoll_model::{
    Change, Delta, DisruptionBudget, LabelSelector, Moment, ObjectName, Pod, ResourceVersion, Seq, Uid,
};

const NODES: usize = 5000;
const PODS_PER_NODE: usize = 20;
const BUDGETS: usize = 50;

/// Nodes of ten cores, each full of pods of three priorities.
fn cluster(budgets: usize) -> Engine {
    let registry = plimsoll_plugins::registry();
    let profile = Profile::assemble(&ProfileConfig::default(), &registry, &FeatureGates::default());
    let profiles = profile.into_iter().map(Arc::new).collect();
    let mut engine = Engine::new(profiles, 1);
    let mut deltas = Vec::new();
    for at in 0..budgets {
        deltas.push(Delta::DisruptionBudgetChanged {
            old: None,
            new: Some(Arc::new(budget(at))),
        });
    }
    for at in 0..NODES {
        let name = format!("n{at}");
        let made = node(&name).label("kubernetes.io/hostname", &name);
        let made = made.label("zone", &format!("z{}", at % 3));
        deltas.push(Delta::NodeAdded(Arc::new(
            made.cpu("10").memory("64Gi").pods(110).build(),
        )));
        for number in 0..PODS_PER_NODE {
            deltas.push(Delta::PodAdded(Arc::new(guest(&name, at, number).build())));
        }
    }
    let mut out = Vec::new();
    for (at, delta) in deltas.into_iter().enumerate() {
        let seq = Seq::new(at as u64 + 1);
        engine.apply(&Change { seq, delta }, Moment::ZERO, &mut out);
    }
    engine
}

fn guest(node: &str, at: usize, number: usize) -> PodBuilder {
    let priority = [0, 10, 20][number % 3];
    let app = format!("app{}", (at + number) % 200);
    let started = format!("2026-01-01T00:{:02}:{:02}Z", at % 60, number);
    pod(&format!("{node}-{number}"))
        .cpu("500m")
        .memory("1Gi")
        .priority(priority)
        .label("app", &app)
        .started(&started)
        .on(node)
}

fn budget(at: usize) -> DisruptionBudget {
    let app = format!("app{at}");
    DisruptionBudget {
        name: ObjectName::new("default", format!("b{at}")),
        uid: Uid::new(format!("b{at}")),
        resource_version: ResourceVersion::new(1),
        selector: Some(LabelSelector::of_labels([("app", app.as_str())].into_iter().collect())),
        disruptions_allowed: 0,
        disrupted_pods: Vec::new(),
    }
}

fn preemptor(name: &str, cpu: &str) -> PodBuilder {
    pod(name).cpu(cpu).memory("1Gi").priority(100)
}

fn spread(builder: PodBuilder) -> PodBuilder {
    builder.label("app", "app1").with(|pod| {
        let constraint = r#"{"maxSkew":100,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule",
            "labelSelector":{"matchLabels":{"app":"app1"}}}"#;
        pod.spec.topology_spread_constraints = serde_json::from_str(constraint).into_iter().collect();
    })
}

fn attempts(c: &mut Criterion) {
    let mut group = c.benchmark_group("preemption_5000_nodes");
    group.sample_size(20);
    let cases: [(&str, usize, Arc<Pod>); 4] = [
        ("victims_are_found", 0, Arc::new(preemptor("p", "2").build())),
        (
            "victims_are_found_under_budgets",
            BUDGETS,
            Arc::new(preemptor("p", "2").build()),
        ),
        (
            "victims_are_found_with_spreading",
            0,
            Arc::new(spread(preemptor("p", "2")).build()),
        ),
        (
            "nobody_is_less_important",
            0,
            Arc::new(preemptor("p", "2").priority(0).build()),
        ),
    ];
    for (name, budgets, pod) in cases {
        let mut engine = cluster(budgets);
        let mut out = Vec::new();
        let change = Change {
            seq: engine.applied().next(),
            delta: Delta::PodAdded(Arc::clone(&pod)),
        };
        engine.apply(&change, Moment::ZERO, &mut out);
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let step = engine.begin(&pod, Moment::ZERO, &mut out);
                assert!(matches!(step, Step::Done(Outcome::Unschedulable(_))));
                black_box(step)
            });
        });
    }
    // Room is being made on every other node for pods like this one.
    let mut engine = cluster(0);
    let mut out = Vec::new();
    let pod = Arc::new(preemptor("p", "2").build());
    let others = (0..NODES / 2).map(|at| {
        let other = preemptor(&format!("other-{at}"), "2");
        Arc::new(other.nominated(&format!("n{}", 2 * at)).build())
    });
    for pod in others.chain([Arc::clone(&pod)]) {
        let seq = engine.applied().next();
        let delta = Delta::PodAdded(pod);
        engine.apply(&Change { seq, delta }, Moment::ZERO, &mut out);
    }
    group.bench_function("others_are_nominated_to_half_of_the_nodes", |bencher| {
        bencher.iter(|| {
            let step = engine.begin(&pod, Moment::ZERO, &mut out);
            assert!(matches!(step, Step::Done(Outcome::Unschedulable(_))));
            black_box(step)
        });
    });
    group.finish();
}

criterion_group!(benches, attempts);
criterion_main!(benches);
