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
use plimsoll_model::storage::AccessModes;
use plimsoll_model::testing::{NodeBuilder, PodBuilder, claim, csi_node, node, pod, volume};
use plimsoll_model::{Change, Delta, Moment, Node, Pod};

/// How a kind of pods is made.
type Kind = fn() -> PodBuilder;

type Group<'a> = BenchmarkGroup<'a, WallTime>;

const NODES: [usize; 4] = [1000, 5000, 50_000, 100_000];
const HOSTNAME: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";

/// Plugins that filter or score by themselves, each with a pod for which it has something to do, if there is one: waiting pods
/// name no node.
const PLUGINS: [(&str, Kind); 15] = [
    ("NodeResourcesFit", plain),
    ("NodeResourcesBalancedAllocation", plain),
    ("TaintToleration", plain),
    ("NodeAffinity", in_zone),
    ("PodTopologySpread", spread),
    ("InterPodAffinity", apart),
    ("NodePorts", with_port),
    ("ImageLocality", plain),
    ("NodeName", plain),
    ("NodeUnschedulable", plain),
    ("NodeDeclaredFeatures", plain),
    ("VolumeBinding", with_claim),
    ("VolumeRestrictions", with_claim),
    ("VolumeZone", with_claim),
    ("NodeVolumeLimits", with_claim),
];

fn plain() -> PodBuilder {
    pod("p").cpu("100m").memory("500Mi").label("app", "measured")
}

fn in_zone() -> PodBuilder {
    plain().node_selector(ZONE, "z1")
}

/// Its volume is a CSI driver's, bound already, and reached from one zone.
fn with_claim() -> PodBuilder {
    plain().claim("data")
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

/// The volume of [`with_claim`], and what every node says of its driver.
fn tell_storage(engine: &mut Engine, nodes: usize) {
    let data = claim("data").bound("disk").access(AccessModes::READ_WRITE_ONCE_POD);
    let disk = volume("disk")
        .csi("driver", "disk")
        .label(ZONE, "z1")
        .reachable(ZONE, &["z1"]);
    let disk = disk.bound(&claim("data").build()).object();
    let drivers = (0..nodes).map(|at| csi_node(&format!("n{at}")).driver("driver", Some(39)).object());
    for object in [data.object(), disk].into_iter().chain(drivers) {
        let new = Some(object);
        tell(engine, Delta::StorageChanged { old: None, new });
    }
}

/// Half of the nodes have a pod.
fn cluster(nodes: usize, plugin: Option<&str>) -> Engine {
    let mut engine = Engine::new(profile(plugin), 1);
    for at in 0..nodes {
        let name = format!("n{at}");
        tell(&mut engine, Delta::NodeAdded(Arc::new(host(at).build())));
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

fn host(at: usize) -> NodeBuilder {
    let name = format!("n{at}");
    let made = node(&name).label(HOSTNAME, &name).label(ZONE, &format!("z{}", at % 3));
    made.cpu("4").memory("32Gi").pods(110)
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
    if !pod.spec.volumes.is_empty() {
        tell_storage(&mut engine, nodes);
    }
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
    let kinds: [(&str, Kind); 7] = [
        ("plain", plain),
        ("spread", spread),
        ("soft_spread", soft_spread),
        ("preferred_anti_affinity", rather_apart),
        ("affinity", together),
        ("anti_affinity", apart),
        ("volume", with_claim),
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

/// A node gets another label and loses it again: two changes.
fn node_changes(c: &mut Criterion) {
    let mut group = c.benchmark_group("node_changes_and_changes_back");
    for nodes in NODES {
        let mut made = None;
        group.bench_function(BenchmarkId::from_parameter(nodes), |bencher| {
            let engine = made.get_or_insert_with(|| cluster(nodes, None));
            let before = Arc::new(host(1).build());
            let after = Arc::new(host(1).label("maintenance", "soon").build());
            let update = |old: &Arc<Node>, new: &Arc<Node>| Delta::NodeUpdated {
                old: Arc::clone(old),
                new: Arc::clone(new),
            };
            bencher.iter(|| {
                tell(engine, update(&before, &after));
                tell(engine, update(&after, &before));
            });
        });
    }
    group.finish();
}

/// A pod comes to a node and goes again: two changes.
fn changes(c: &mut Criterion) {
    let mut group = c.benchmark_group("pod_comes_and_goes");
    let kinds: [(&str, Kind); 3] = [("plain", plain), ("spread", spread), ("anti_affinity", apart)];
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

criterion_group!(benches, default_profile, plugins, changes, node_changes);
criterion_main!(benches);
