//! Pods like others before them are placed by what is known from those, and by the nodes that have changed since. What comes
//! of it is what comes of a look at all nodes.

#![expect(clippy::unwrap_used, reason = "a test may fail in its helpers too")]

use std::collections::BTreeMap;
use std::sync::Arc;

use plimsoll_config::{FeatureGates, load};
use plimsoll_engine::{ClaimId, ClaimInput, Engine, Evaluations, Notice, Outcome, Step};
use plimsoll_framework::Profile;
use plimsoll_model::testing::{PodBuilder, node, pod};
use plimsoll_model::{
    Change, Delta, DisruptionBudget, Effect, LabelSelector, Moment, Namespace, Node, ObjectName, Pod, ResourceVersion,
    Seq, Timestamp, Uid, WorkloadKind, decode_workload_selector,
};
use proptest::prelude::*;

const KINDS: usize = 16;
const NODES: usize = 70;
const ZONE: &str = "zone";

/// What happens next. Numbers are taken modulo what there is.
#[derive(Debug, Clone)]
enum Event {
    /// Makes the node, or makes it anew with other properties.
    Node(usize, Shape),
    DeleteNode(usize),
    /// Pods of this kind are created and tried, so many.
    Pods(usize, usize),
    /// One that preemption has made room for, on this node: others of no higher priority must leave it alone.
    Nominate(usize),
    /// The oldest claim that waits hears this.
    Bound,
    Refused,
    /// A namespace gets other labels: a change that is about no node.
    Relabel(usize),
    /// A pod that is on a node goes.
    DeletePod(usize),
    /// A pod that is on a node is known to have started then, which makes it more or less important than others.
    Start(usize, usize),
    /// So many pods of this kind may be disrupted.
    Budget(usize, i32),
}

const STARTS: [&str; 2] = ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"];

#[derive(Debug, Clone, Copy)]
struct Shape {
    milli_cpu: u32,
    /// None in the last one.
    zone: usize,
    /// Says that it is the node before it.
    has_host_of_other: bool,
    cordoned: bool,
    taint: u8,
    image: bool,
}

fn shapes() -> impl Strategy<Value = Shape> {
    let odd = (
        prop::sample::select(vec![0, 0, 0, 1, 1, 1, 2, 2, 2, 3]),
        prop::bool::weighted(0.01),
    );
    (1..8_u32, odd, prop::bool::weighted(0.1), 0..8_u8, any::<bool>()).prop_map(
        |(cpus, (zone, has_host_of_other), cordoned, taint, image)| Shape {
            milli_cpu: cpus * 500,
            zone,
            has_host_of_other,
            cordoned,
            taint,
            image,
        },
    )
}

fn events() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => (0..NODES, shapes()).prop_map(|(node, shape)| Event::Node(node, shape)),
        1 => (0..NODES).prop_map(Event::DeleteNode),
        8 => (0..KINDS, 1..5_usize).prop_map(|(kind, pods)| Event::Pods(kind, pods)),
        4 => (8..10_usize, 1..4_usize).prop_map(|(kind, pods)| Event::Pods(kind, pods)),
        1 => (0..NODES).prop_map(Event::Nominate),
        4 => Just(Event::Bound),
        1 => Just(Event::Refused),
        1 => any::<usize>().prop_map(Event::Relabel),
        2 => any::<usize>().prop_map(Event::DeletePod),
        2 => (any::<usize>(), 0..STARTS.len()).prop_map(|(pod, start)| Event::Start(pod, start)),
        3 => (0..3_usize, 0..2_i32).prop_map(|(kind, allowed)| Event::Budget(kind, allowed)),
    ]
}

fn built(at: usize, shape: Shape) -> Node {
    let name = format!("n{at}");
    let host = format!("n{}", at - usize::from(shape.has_host_of_other && at > 0));
    let mut made = node(&name)
        .label("kubernetes.io/hostname", &host)
        .cpu(&format!("{}m", shape.milli_cpu))
        .memory("4Gi")
        .pods(6);
    if shape.zone < 3 {
        made = made.label(ZONE, &format!("z{}", shape.zone));
    }
    if shape.cordoned {
        made = made.unschedulable();
    }
    match shape.taint {
        0 => made = made.taint("hard", "", Effect::NoSchedule),
        1 => made = made.taint("soft", "", Effect::PreferNoSchedule),
        _ => {}
    }
    if shape.image {
        made = made.image("heavy:1", 700 << 20);
    }
    made.build()
}

fn with_affinity(pod: PodBuilder, affinity: &str) -> PodBuilder {
    pod.with(|pod| pod.spec.affinity = serde_json::from_str(affinity).ok())
}

fn with_spread(pod: PodBuilder, constraints: &[(&str, &str, &str)]) -> PodBuilder {
    let constraint = |(key, when, app): &(&str, &str, &str)| {
        let text = format!(
            r#"{{"maxSkew":1,"topologyKey":"{key}","whenUnsatisfiable":"{when}","labelSelector":{{"matchLabels":{{"app":"{app}"}}}}}}"#
        );
        serde_json::from_str(&text).ok()
    };
    pod.with(|pod| pod.spec.topology_spread_constraints = constraints.iter().filter_map(constraint).collect())
}

fn of_kind(kind: usize, name: &str) -> Pod {
    let plain = pod(name).cpu("300m").memory("200Mi").label("app", &format!("a{kind}"));
    let built = match kind {
        // The other one is of a service, see `Run::new`.
        0 | 14 => plain,
        1 => plain.cpu("900m").image("heavy:1"),
        2 => plain.node_selector(ZONE, "z1"),
        3 => plain.host_port(80),
        4 => plain.with(|pod| {
            let spread = r#"{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule",
                "labelSelector":{"matchLabels":{"app":"a4"}}}"#;
            pod.spec.topology_spread_constraints = serde_json::from_str(spread).into_iter().collect();
        }),
        5 => with_affinity(
            plain,
            r#"{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[
            {"topologyKey":"kubernetes.io/hostname","labelSelector":{"matchLabels":{"app":"a5"}}}]}}"#,
        ),
        6 => with_affinity(
            plain,
            r#"{"podAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":10,"podAffinityTerm":
            {"topologyKey":"zone","labelSelector":{"matchLabels":{"app":"a0"}}}}]}}"#,
        ),
        7 => with_affinity(
            plain,
            r#"{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":5,"preference":
            {"matchExpressions":[{"key":"zone","operator":"In","values":["z2"]}]}}]}}"#,
        ),
        // They take the room of those above, and the first of them the second's too.
        8 => plain.cpu("2").priority(100),
        9 => plain.cpu("1500m").priority(50),
        10 => with_spread(
            plain,
            &[
                (ZONE, "ScheduleAnyway", "a10"),
                ("kubernetes.io/hostname", "ScheduleAnyway", "a10"),
            ],
        ),
        11 => with_spread(
            plain,
            &[
                (ZONE, "DoNotSchedule", "a11"),
                ("kubernetes.io/hostname", "ScheduleAnyway", "a0"),
            ],
        ),
        12 => with_affinity(
            plain.with(|pod| {
                let all = r#"{"key":"hard","operator":"Exists"}"#;
                pod.spec.tolerations = serde_json::from_str(all).into_iter().collect();
            }),
            r#"{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":100,"podAffinityTerm":
            {"topologyKey":"kubernetes.io/hostname","labelSelector":{"matchLabels":{"app":"a12"}}}}]}}"#,
        ),
        13 => with_affinity(
            plain,
            r#"{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone",
            "labelSelector":{"matchLabels":{"app":"a13"}}}],"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":7,
            "podAffinityTerm":{"topologyKey":"kubernetes.io/hostname","namespaceSelector":{"matchLabels":{"turn":"1"}},
            "labelSelector":{"matchExpressions":[{"key":"app","operator":"Exists"}]}}}]}}"#,
        ),
        // Asks for more than any node has.
        _ => plain.cpu("9"),
    };
    built.build()
}

fn profiles(percentage: u32) -> Vec<Arc<Profile>> {
    let gates = FeatureGates::default();
    let text = format!(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n\
         percentageOfNodesToScore: {percentage}\nprofiles: [{{ schedulerName: default-scheduler }}]\n"
    );
    let config = load(&text, &gates).unwrap();
    let profile = Profile::assemble(&config.profiles[0], &plimsoll_plugins::registry(), &gates).unwrap();
    vec![Arc::new(profile)]
}

/// One engine and what it has said.
struct Run {
    engine: Engine,
    seq: Seq,
    nodes: BTreeMap<usize, Arc<Node>>,
    guests: Vec<Arc<Pod>>,
    namespace: Option<Arc<Namespace>>,
    budgets: BTreeMap<usize, Arc<DisruptionBudget>>,
    claims: Vec<(ClaimId, Arc<Pod>)>,
    made: usize,
    said: Vec<String>,
}

impl Run {
    fn new(engine: Engine) -> Self {
        let mut run = Self {
            engine,
            seq: Seq::ZERO,
            nodes: BTreeMap::new(),
            guests: Vec::new(),
            namespace: None,
            budgets: BTreeMap::new(),
            claims: Vec::new(),
            made: 0,
            said: Vec::new(),
        };
        let service = br#"{"metadata":{"namespace":"default","name":"s","uid":"s","resourceVersion":"1"},
            "spec":{"selector":{"app":"a14"}}}"#;
        let new = decode_workload_selector(WorkloadKind::Service, service).unwrap();
        run.tell(Delta::WorkloadSelectorChanged {
            old: None,
            new: Some(Arc::new(new)),
        });
        run
    }

    fn tell(&mut self, delta: Delta) {
        self.seq = self.seq.next();
        let change = Change { seq: self.seq, delta };
        self.engine.apply(&change, Moment::ZERO, &mut Vec::new());
    }

    fn play(&mut self, event: &Event) {
        match event {
            Event::Node(at, shape) => {
                let new = Arc::new(built(*at, *shape));
                match self.nodes.insert(*at, Arc::clone(&new)) {
                    Some(old) => self.tell(Delta::NodeUpdated { old, new }),
                    None => self.tell(Delta::NodeAdded(new)),
                }
            }
            Event::DeleteNode(at) => {
                if let Some(node) = self.nodes.remove(at) {
                    self.tell(Delta::NodeDeleted(node));
                }
            }
            Event::Pods(kind, pods) => (0..*pods).for_each(|_| self.place(*kind)),
            Event::Nominate(at) => {
                self.made += 1;
                let waiting = pod(&format!("p{}", self.made)).cpu("400m").priority(10);
                let waiting = waiting.nominated(&format!("n{at}")).build();
                self.tell(Delta::PodAdded(Arc::new(waiting)));
            }
            Event::Bound => {
                if let Some((claim, pod)) = self.oldest_claim() {
                    let node = self.engine.claim(claim).map(|claim| claim.node().to_owned());
                    let mut new = Pod::clone(&pod);
                    new.node_name = node.map(Into::into);
                    self.answer(claim, ClaimInput::Bound);
                    let new = Arc::new(new);
                    self.guests.push(Arc::clone(&new));
                    self.tell(Delta::PodUpdated { old: pod, new });
                }
            }
            Event::Refused => {
                if let Some((claim, pod)) = self.oldest_claim() {
                    self.answer(claim, ClaimInput::Refused { message: String::new() });
                    self.tell(Delta::PodDeleted(pod));
                }
            }
            Event::Relabel(at) => {
                let new = Namespace {
                    name: "default".into(),
                    uid: Uid::from("u"),
                    resource_version: ResourceVersion::new(1),
                    labels: [("turn", (at % 3).to_string().as_str())].into_iter().collect(),
                };
                let new = Some(Arc::new(new));
                let old = std::mem::replace(&mut self.namespace, new.clone());
                self.tell(Delta::NamespaceChanged { old, new });
            }
            Event::DeletePod(at) => {
                if !self.guests.is_empty() {
                    let guest = self.guests.remove(at % self.guests.len());
                    self.tell(Delta::PodDeleted(guest));
                }
            }
            Event::Start(at, start) => {
                if !self.guests.is_empty() {
                    let at = at % self.guests.len();
                    let mut new = Pod::clone(&self.guests[at]);
                    new.status.start_time = Some(Timestamp::new(STARTS[*start]));
                    let new = Arc::new(new);
                    let old = std::mem::replace(&mut self.guests[at], Arc::clone(&new));
                    self.tell(Delta::PodUpdated { old, new });
                }
            }
            Event::Budget(kind, allowed) => {
                let app = format!("a{kind}");
                let new = Arc::new(DisruptionBudget {
                    name: ObjectName::new("default", &app),
                    uid: Uid::new(&app),
                    resource_version: ResourceVersion::new(1),
                    selector: Some(LabelSelector::of_labels([("app", app.as_str())].into_iter().collect())),
                    disruptions_allowed: *allowed,
                    disrupted_pods: Vec::default(),
                });
                let old = self.budgets.insert(*kind, Arc::clone(&new));
                let new = Some(new);
                self.tell(Delta::DisruptionBudgetChanged { old, new });
            }
        }
    }

    fn oldest_claim(&mut self) -> Option<(ClaimId, Arc<Pod>)> {
        (!self.claims.is_empty()).then(|| self.claims.remove(0))
    }

    fn answer(&mut self, claim: ClaimId, input: ClaimInput) {
        let mut out: Vec<Notice> = Vec::new();
        self.engine.bind_input(claim, input, Moment::ZERO, &mut out);
    }

    fn place(&mut self, kind: usize) {
        self.made += 1;
        let pod = Arc::new(of_kind(kind, &format!("p{}", self.made)));
        self.tell(Delta::PodAdded(Arc::clone(&pod)));
        let step = self.engine.begin(&pod, Moment::ZERO, &mut Vec::new());
        self.said.push(format!("{step:?}"));
        // Nodes that preemption knows are not tried, nor counted.
        let preempts = matches!(&step, Step::Done(Outcome::Unschedulable(diagnosis)) if diagnosis.preemption_tried);
        if !preempts {
            let counted = Evaluations::POINTS.map(|point| self.engine.evaluations().at(point).collect::<Vec<_>>());
            self.said.push(format!("{counted:?}"));
        }
        match step {
            Step::Done(Outcome::Placed(placement)) => self.claims.push((placement.claim, pod)),
            // Some of those for which room is to be made stay, and keep it from others.
            Step::Done(Outcome::Unschedulable(diagnosis))
                if diagnosis.preemption.is_some() && self.made.is_multiple_of(3) => {}
            _ => self.tell(Delta::PodDeleted(pod)),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 150 } else { 3000 }))]

    /// Decisions, reasons, nominations and how many nodes each plugin is said to have seen.
    #[test]
    fn what_is_decided_is_the_same_as_by_a_look_at_all_nodes(
        first in prop::collection::vec(shapes(), 1..NODES),
        events in prop::collection::vec(events(), 1..80),
        percentage in prop::sample::select(vec![100_u32, 10]),
    ) {
        let nodes = first.iter().enumerate().map(|(at, shape)| Event::Node(at, *shape));
        let events: Vec<Event> = nodes.chain(events).collect();
        let engine = || Engine::new(profiles(percentage), 3);
        let (mut knowing, mut looking) = (Run::new(engine()), Run::new(engine().looking_at_all()));
        for event in &events {
            knowing.play(event);
            looking.play(event);
            prop_assert_eq!(&knowing.said, &looking.said);
            knowing.said.clear();
            looking.said.clear();
        }
    }
}
