//! What placing one pod costs in clusters of 1,000 to 100,000 nodes: by the default profile for several kinds of pods,
//! by each plugin alone, and what one change costs that is told meanwhile.
//!
//! `cargo bench --package plimsoll-engine --bench cycle` runs it; `make bench` measures whole schedulers.

use std::hint::black_box;
use std::sync::Arc;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, criterion_group, criterion_main};
use plimsoll_config::{FeatureGates, load};
use plimsoll_engine::{ClaimInput, Engine, Notice, Outcome, Step};
use plimsoll_framework::Profile;
use plimsoll_model::testing::{PodBuilder, node, pod};
use plimsoll_model::{Change, Delta, Moment, Pod};

/// How a kind of pods is made.
type Kind = fn() -> PodBuilder;

type Group<'a> = BenchmarkGroup<'a, WallTime>;

const NODES: [usize; 4] = [1000, 5000, 50_000, 100_000];
const HOSTNAME: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";

/// Plugins that filter or score by themselves, each with a pod for which it has something to do.
const PLUGINS: [(&str, Kind); 8] = [
    ("NodeResourcesFit", plain),
    ("NodeResourcesBalancedAllocation", plain),
    ("TaintToleration", plain),
    ("NodeAffinity", in_zone),
    ("PodTopologySpread", spread),
    ("InterPodAffinity", apart),
    ("NodePorts", with_port),
    ("ImageLocality", plain),
];

fn plain() -> PodBuilder {
    pod("p").cpu("100m").memory("500Mi").label("app", "measured")
}

fn in_zone() -> PodBuilder {
    plain().node_selector(ZONE, "z1")
}

fn with_port() -> PodBuilder {
    plain().host_port(8080)
}

fn spread() -> PodBuilder {
    plain().with(|pod| {
        let constraint = r#"{"maxSkew":5,"topologyKey":"topology.kubernetes.io/zone","whenUnsatisfiable":"DoNotSchedule",
            "labelSelector":{"matchLabels":{"app":"measured"}}}"#;
        pod.spec.topology_spread_constraints = serde_json::from_str(constraint).into_iter().collect();
    })
}

fn soft_spread() -> PodBuilder {
    plain().with(|pod| {
        let constraints = r#"[{"maxSkew":1,"topologyKey":"topology.kubernetes.io/zone","whenUnsatisfiable":"ScheduleAnyway",
            "labelSelector":{"matchLabels":{"app":"measured"}}},{"maxSkew":1,"topologyKey":"kubernetes.io/hostname",
            "whenUnsatisfiable":"ScheduleAnyway","labelSelector":{"matchLabels":{"app":"measured"}}}]"#;
        pod.spec.topology_spread_constraints = serde_json::from_str(constraints).unwrap_or_default();
    })
}

fn rather_apart() -> PodBuilder {
    with_affinity(
        r#"{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":100,"podAffinityTerm":
        {"topologyKey":"kubernetes.io/hostname","labelSelector":{"matchLabels":{"app":"app1"}}}}]}}"#,
    )
}

fn together() -> PodBuilder {
    with_affinity(
        r#"{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[
        {"topologyKey":"topology.kubernetes.io/zone","labelSelector":{"matchLabels":{"app":"measured"}}}]}}"#,
    )
}

fn apart() -> PodBuilder {
    with_affinity(
        r#"{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[
        {"topologyKey":"kubernetes.io/hostname","labelSelector":{"matchLabels":{"app":"measured"}}}]}}"#,
    )
}

fn with_affinity(affinity: &'static str) -> PodBuilder {
    plain().with(|pod| pod.spec.affinity = serde_json::from_str(affinity).ok())
}

/// The default profile, or one with this plugin alone beside those without which there is none.
fn profile(plugin: Option<&str>) -> Vec<Arc<Profile>> {
    let plugins = plugin.map_or_else(String::new, |plugin| {
        format!(
            "\n  plugins:\n    multiPoint:\n      disabled: [{{ name: '*' }}]\n      enabled: [{{ name: PrioritySort }}, \
             {{ name: DefaultBinder }}, {{ name: {plugin} }}]"
        )
    });
    let text = format!(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n\
         - schedulerName: default-scheduler{plugins}\n"
    );
    let gates = FeatureGates::default();
    let config = load(&text, &gates).expect("a configuration");
    let registry = plimsoll_plugins::registry();
    let assemble = |profile| Profile::assemble(profile, &registry, &gates).expect("a profile");
    config
        .profiles
        .iter()
        .map(|profile| Arc::new(assemble(profile)))
        .collect()
}

/// Half of the nodes have a pod.
fn cluster(nodes: usize, plugin: Option<&str>) -> Engine {
    let mut engine = Engine::new(profile(plugin), 1);
    for at in 0..nodes {
        let name = format!("n{at}");
        let made = node(&name).label(HOSTNAME, &name).label(ZONE, &format!("z{}", at % 3));
        tell(
            &mut engine,
            Delta::NodeAdded(Arc::new(made.cpu("4").memory("32Gi").pods(110).build())),
        );
        if at % 2 == 0 {
            let guest = pod(&format!("guest-{at}"))
                .cpu("500m")
                .memory("1Gi")
                .label("app", &format!("app{}", at % 200));
            tell(&mut engine, Delta::PodAdded(Arc::new(guest.on(&name).build())));
        }
    }
    engine
}

fn tell(engine: &mut Engine, delta: Delta) {
    let change = Change {
        seq: engine.applied().next(),
        delta,
    };
    engine.apply(&change, Moment::ZERO, &mut Vec::new());
}

/// Finds a place for the pod, and takes it back so that the next time is the same: its binding is refused.
fn place(engine: &mut Engine, pod: &Arc<Pod>, out: &mut Vec<Notice>) {
    out.clear();
    let claim = match engine.begin(pod, Moment::ZERO, out) {
        Step::Done(Outcome::Placed(placement)) => Some(black_box(placement).claim),
        _ => None,
    };
    let refused = ClaimInput::Refused { message: String::new() };
    engine.bind_input(claim.expect("a place"), refused, Moment::ZERO, out);
    assert_eq!(engine.claims().count(), 0, "the place was taken back");
}

/// A cluster in which the pod waits.
fn waiting(nodes: usize, plugin: Option<&str>, builder: Kind) -> (Engine, Arc<Pod>) {
    let mut engine = cluster(nodes, plugin);
    let pod = Arc::new(builder().build());
    tell(&mut engine, Delta::PodAdded(Arc::clone(&pod)));
    (engine, pod)
}

/// The cluster is made when it is known that this one is to be measured, and once.
fn measure(group: &mut Group<'_>, id: BenchmarkId, make: impl Fn() -> (Engine, Arc<Pod>)) {
    let (mut ready, mut out) = (None, Vec::new());
    group.bench_function(id, |bencher| {
        let (engine, pod) = ready.get_or_insert_with(&make);
        bencher.iter(|| place(engine, pod, &mut out));
    });
}

fn default_profile(c: &mut Criterion) {
    let kinds: [(&str, Kind); 6] = [
        ("plain", plain),
        ("spread", spread),
        ("soft_spread", soft_spread),
        ("preferred_anti_affinity", rather_apart),
        ("affinity", together),
        ("anti_affinity", apart),
    ];
    let mut group = c.benchmark_group("default_profile");
    group.sample_size(20);
    for nodes in NODES {
        for (kind, builder) in kinds {
            measure(&mut group, BenchmarkId::new(kind, nodes), || {
                waiting(nodes, None, builder)
            });
        }
    }
    group.finish();
}

fn plugins(c: &mut Criterion) {
    let mut group = c.benchmark_group("plugin");
    group.sample_size(20);
    for nodes in NODES {
        for (plugin, builder) in PLUGINS {
            let made = || waiting(nodes, Some(plugin), builder);
            measure(&mut group, BenchmarkId::new(plugin, nodes), made);
        }
    }
    group.finish();
}

/// A pod comes to a node and goes again: two changes.
fn changes(c: &mut Criterion) {
    let mut group = c.benchmark_group("pod_comes_and_goes");
    let kinds: [(&str, Kind); 2] = [("plain", plain), ("anti_affinity", apart)];
    for nodes in NODES {
        for (kind, builder) in kinds {
            let guest = Arc::new(builder().on("n1").build());
            let mut made = None;
            group.bench_function(BenchmarkId::new(kind, nodes), |bencher| {
                let engine = made.get_or_insert_with(|| cluster(nodes, None));
                bencher.iter(|| {
                    tell(engine, Delta::PodAdded(Arc::clone(&guest)));
                    tell(engine, Delta::PodDeleted(Arc::clone(&guest)));
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, default_profile, plugins, changes);
criterion_main!(benches);
