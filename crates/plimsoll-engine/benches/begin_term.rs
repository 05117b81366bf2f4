//! What a term costs before its first pod: columns and queue are made of everything that the cache holds, here 5,000 nodes and
//! 50,000 pods that have a node.
//!
//! `cargo bench --package plimsoll-engine --bench begin_term` runs it; `make bench-hand-over` measures whole schedulers.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use plimsoll_config::{FeatureGates, ProfileConfig};
use plimsoll_engine::Engine;
use plimsoll_framework::Profile;
use plimsoll_model::testing::{node, pod};
use plimsoll_model::{Change, Delta, Moment, Seq};
use plimsoll_queue::{QueueConfig, SchedulingQueue};

const NODES: usize = 5000;
const PODS_PER_NODE: usize = 10;
const APPLICATIONS: usize = 200;

fn changes() -> Vec<Change> {
    let mut deltas = Vec::new();
    let names = (0..NODES).map(|at| format!("n{at}"));
    for (at, name) in names.clone().enumerate() {
        let made = node(&name).label("kubernetes.io/hostname", &name);
        let made = made.label("topology.kubernetes.io/zone", &format!("z{}", at % 3));
        deltas.push(Delta::NodeAdded(Arc::new(
            made.cpu("10").memory("64Gi").pods(110).build(),
        )));
    }
    for (at, name) in names.enumerate() {
        for number in 0..PODS_PER_NODE {
            let guest = pod(&format!("{name}-{number}")).cpu("500m").memory("1Gi");
            let guest = guest.label("app", &format!("app{}", (at + number) % APPLICATIONS));
            deltas.push(Delta::PodAdded(Arc::new(guest.on(&name).build())));
        }
    }
    let numbered = deltas.into_iter().enumerate();
    let numbered = numbered.map(|(at, delta)| Change {
        seq: Seq::new(at as u64 + 1),
        delta,
    });
    numbered.collect()
}

fn profiles() -> Vec<Arc<Profile>> {
    let registry = plimsoll_plugins::registry();
    let profile = Profile::assemble(&ProfileConfig::default(), &registry, &FeatureGates::default());
    profile.into_iter().map(Arc::new).collect()
}

fn begin(c: &mut Criterion) {
    let changes = changes();
    let mut group = c.benchmark_group("begin_term_5000_nodes_50000_pods");
    group.sample_size(10);
    group.bench_function("columns", |bencher| {
        bencher.iter_batched(
            || Engine::new(profiles(), 1),
            |mut engine| {
                let mut out = Vec::new();
                for change in &changes {
                    engine.apply(change, Moment::ZERO, &mut out);
                }
                black_box((engine, out))
            },
            BatchSize::PerIteration,
        );
    });
    group.bench_function("queue", |bencher| {
        bencher.iter_batched(
            || SchedulingQueue::new(QueueConfig::default(), &profiles()),
            |mut queue| {
                for change in &changes {
                    queue.apply(change, Moment::ZERO);
                }
                black_box(queue)
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

criterion_group!(benches, begin);
criterion_main!(benches);
