//! What it costs to push, pop and move pods, with few of them waiting and with very many.
//!
//! Run it with `make bench-queue`. What came of it stands in `docs/performance.md`.

use std::cmp::Ordering;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use plimsoll_config::{FeatureGates, PluginRef, PluginSet, Plugins, ProfileConfig};
use plimsoll_framework::{
    Action, Bind, BindAction, ClusterEvent, EnqueueExtensions, EventObjects, EventResource, Extensions, Plugin,
    PluginEvents, Profile, QueueOrder, QueueSort, QueueingHint, Registry,
};
use plimsoll_model::testing::pod;
use plimsoll_model::{Change, Delta, Moment, Pod, Seq};
use plimsoll_queue::{Outcome, QueueConfig, SchedulingQueue};

const SIZES: [usize; 3] = [10_000, 100_000, 1_000_000];
const SECOND: Duration = Duration::from_secs(1);

/// An event that hints take to help nobody.
const IN_VAIN: ClusterEvent = ClusterEvent::new(EventResource::Node, Action::UPDATE_NODE_ALLOCATABLE);
/// An event that hints take to help everybody.
const HELPFUL: ClusterEvent = ClusterEvent::new(EventResource::AssignedPod, Action::DELETE);
/// An event that the plugin which turned the pods away does not listen to.
const UNHEARD: ClusterEvent = ClusterEvent::new(EventResource::Node, Action::UPDATE_NODE_LABEL);

/// Higher priority first, then the earlier timestamp.
struct ByPriority;

impl Plugin for ByPriority {
    fn name(&self) -> &'static str {
        "ByPriority"
    }
}

impl QueueSort for ByPriority {
    fn compare(&self, a: QueueOrder<'_>, b: QueueOrder<'_>) -> Ordering {
        let by_priority = b.pod.priority().cmp(&a.pod.priority());
        by_priority.then(a.timestamp.cmp(&b.timestamp))
    }
}

/// Turns pods away, and listens.
struct Full;

impl Plugin for Full {
    fn name(&self) -> &'static str {
        "Full"
    }
}

impl EnqueueExtensions for Full {
    fn events_to_register(&self) -> Vec<ClusterEvent> {
        vec![HELPFUL, IN_VAIN]
    }

    fn queueing_hint(
        &self,
        _: ClusterEvent,
        event: ClusterEvent,
        _: &Pod,
        _: &EventObjects,
    ) -> Result<QueueingHint, String> {
        Ok(if event == HELPFUL {
            QueueingHint::Queue
        } else {
            QueueingHint::Skip
        })
    }
}

/// Listens to what [`Full`] does not.
struct Other;

impl Plugin for Other {
    fn name(&self) -> &'static str {
        "Other"
    }
}

impl EnqueueExtensions for Other {
    fn events_to_register(&self) -> Vec<ClusterEvent> {
        vec![UNHEARD]
    }
}

struct Binder;

impl Plugin for Binder {
    fn name(&self) -> &'static str {
        "Binder"
    }
}

impl Bind for Binder {
    fn bind(&self, _: &Pod, _: &str) -> BindAction {
        BindAction::PostBinding
    }
}

fn profile() -> Profile {
    let mut registry = Registry::new();
    registry.add("ByPriority", |_| Ok(Extensions::new().queue_sort(Arc::new(ByPriority))));
    registry.add("Binder", |_| Ok(Extensions::new().bind(Arc::new(Binder))));
    let config = ProfileConfig {
        scheduler_name: "default-scheduler".to_owned(),
        plugins: Plugins {
            multi_point: PluginSet {
                enabled: ["ByPriority", "Binder"].map(|name| PluginRef::new(name, 0)).to_vec(),
                disabled: Vec::new(),
            },
            ..Plugins::default()
        },
        ..ProfileConfig::default()
    };
    let assembled = Profile::assemble(&config, &registry, &FeatureGates::default());
    let mut profile = assembled.expect("the profile is valid");
    profile.events = vec![
        PluginEvents::new("Full", Some(Arc::new(Full))),
        PluginEvents::new("Other", Some(Arc::new(Other))),
    ];
    profile
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
fn timed(call: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    call();
    begun.elapsed()
}

/// Who is like whom among the waiting pods.
#[derive(Clone, Copy)]
enum Kind {
    /// A thousand workloads.
    OfWorkloads,
    /// No two are alike, as in stateful sets and indexed jobs.
    Distinct,
}

/// A queue, what waits in it, and the time.
struct Bench {
    queue: SchedulingQueue,
    pods: Vec<Arc<Pod>>,
    now: Moment,
    seq: u64,
}

impl Bench {
    /// All pods are active, with ten priorities.
    fn active(count: usize, kind: Kind) -> Self {
        let mut bench = Self {
            queue: SchedulingQueue::new(QueueConfig::default(), &[Arc::new(profile())]),
            pods: Vec::with_capacity(count),
            now: Moment::from_nanos(1_000_000_000_000),
            seq: 0,
        };
        for number in 0..count {
            let pod = Arc::new(Self::pod(number, kind));
            bench.apply(Delta::PodAdded(Arc::clone(&pod)));
            bench.pods.push(pod);
        }
        bench
    }

    fn pod(number: usize, kind: Kind) -> Pod {
        let app = match kind {
            Kind::OfWorkloads => number % 1_000,
            Kind::Distinct => number,
        };
        let priority = i32::try_from(app % 10).unwrap_or(0);
        let name = format!("pod-{number}");
        let pod = pod(&name).uid(&name).priority(priority).cpu("2").memory("1Gi");
        pod.label("app", &format!("app-{app}")).build()
    }

    /// All pods have been turned away.
    fn parked(count: usize, kind: Kind) -> Self {
        let mut bench = Self::active(count, kind);
        bench.turn_all_away();
        bench
    }

    fn turn_all_away(&mut self) {
        while let Some(popped) = self.queue.pop(self.now) {
            self.reject(&popped.pod);
        }
    }

    fn reject(&mut self, pod: &Pod) {
        let outcome = Outcome::Rejected {
            plugins: vec!["Full"],
            pending_plugins: Vec::new(),
            preemption_plugins: Vec::new(),
            judged_at: Seq::new(self.seq),
        };
        self.settle(pod, outcome);
    }

    fn settle(&mut self, pod: &Pod, outcome: Outcome) {
        let settled = self.queue.settle(&pod.uid, outcome, self.now);
        settled.expect("the pod is in flight");
    }

    fn apply(&mut self, delta: Delta) {
        self.seq += 1;
        let seq = Seq::new(self.seq);
        self.queue.apply(&Change { seq, delta }, self.now);
    }

    fn announce(&mut self, event: ClusterEvent) {
        self.queue.observe(event, EventObjects::None, self.now);
    }

    /// Until nothing more is due; the longest of the calls that takes.
    fn drain(&mut self) -> Duration {
        let mut longest = Duration::ZERO;
        while self.queue.next_deadline().is_some_and(|due| due <= self.now) {
            let took = timed(|| self.queue.tick(self.now));
            longest = longest.max(took);
        }
        longest
    }
}

/// A pod comes, the first one is popped and placed, and is gone: everything that a pod that fits goes through.
fn push_and_pop(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("push and pop");
    for size in SIZES {
        let mut bench = Bench::active(size, Kind::OfWorkloads);
        let mut number = size;
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            bencher.iter(|| {
                let pod = Arc::new(Bench::pod(number, Kind::OfWorkloads));
                number += 1;
                bench.apply(Delta::PodAdded(pod));
                let popped = bench.queue.pop(bench.now).expect("pods are active");
                bench.settle(&popped.pod, Outcome::Placed);
                bench.apply(Delta::PodDeleted(popped.pod));
            });
        });
    }
    group.finish();
}

/// The first pod is popped, turned away, parked with those like it, and made active again.
fn park_and_activate(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("park and activate");
    for size in SIZES {
        let mut bench = Bench::active(size, Kind::OfWorkloads);
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            bencher.iter(|| {
                let popped = bench.queue.pop(bench.now).expect("pods are active");
                bench.reject(&popped.pod);
                bench.queue.activate(std::slice::from_ref(&popped.pod.uid), bench.now);
            });
        });
    }
    group.finish();
}

/// An event that wakes nobody: because the plugin does not listen to it, because the hint says so for each of a thousand
/// workloads, and because it says so for each pod of those of which no two are alike.
fn event_in_vain(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("event in vain");
    let cases = [
        ("not listened to", UNHEARD, Kind::Distinct),
        ("a thousand workloads", IN_VAIN, Kind::OfWorkloads),
        ("no two alike", IN_VAIN, Kind::Distinct),
    ];
    for (what, event, kind) in cases {
        for size in SIZES {
            let mut bench = Bench::parked(size, kind);
            group.bench_function(BenchmarkId::new(what, size), |bencher| {
                bencher.iter(|| bench.announce(black_box(event)));
            });
        }
    }
    group.finish();
}

/// An event that wakes every pod, until all have moved to the active queue: the time for all of them, and that of the longest
/// single call, which is for how long other messages have to wait.
fn event_wakes_all(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("event wakes all");
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    for (what, kind) in [
        ("a thousand workloads", Kind::OfWorkloads),
        ("no two alike", Kind::Distinct),
    ] {
        for size in SIZES {
            let mut bench = Bench::parked(size, kind);
            group.throughput(Throughput::Elements(size as u64));
            for longest_call in [false, true] {
                let measured = if longest_call { "longest call" } else { "all calls" };
                let name = BenchmarkId::new(format!("{what}, {measured}"), size);
                group.bench_function(name, |bencher| {
                    bencher.iter_custom(|rounds| (0..rounds).map(|_| wake_all(&mut bench, longest_call)).sum());
                });
            }
        }
    }
    group.finish();
}

fn wake_all(bench: &mut Bench, longest_call: bool) -> Duration {
    // Past every backoff, so that each pod becomes active.
    bench.now = bench.now + 20 * SECOND;
    bench.drain();
    let mut longest = Duration::ZERO;
    let all = timed(|| {
        let first = timed(|| bench.announce(HELPFUL));
        longest = first.max(bench.drain());
    });
    bench.turn_all_away();
    bench.queue.take_metrics();
    if longest_call { longest } else { all }
}

/// Another configuration, which looks at every pod in one call.
fn reconfigure(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("another configuration");
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    for size in SIZES {
        let mut bench = Bench::parked(size, Kind::OfWorkloads);
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            bencher.iter_custom(|rounds| {
                let mut took = Duration::ZERO;
                for _ in 0..rounds {
                    let profiles = [Arc::new(profile())];
                    bench.seq += 1;
                    let seq = Seq::new(bench.seq);
                    took += timed(|| {
                        bench
                            .queue
                            .reconfigure(QueueConfig::default(), &profiles, seq, &[], bench.now);
                    });
                    bench.turn_all_away();
                }
                took
            });
        });
    }
    group.finish();
}

criterion_group!(
    benches,
    push_and_pop,
    park_and_activate,
    event_in_vain,
    event_wakes_all,
    reconfigure
);
criterion_main!(benches);
