use proptest::prelude::*;

use super::*;

const NODES: [&str; 3] = ["n1", "n2", "n3"];
const PODS: usize = 5;

#[derive(Debug, Clone)]
enum Event {
    AddNode(usize, i64),
    DeleteNode(usize),
    /// Creates the pod if it is not there.
    AddPod {
        pod: usize,
        milli_cpu: i64,
        nominated: Option<usize>,
    },
    DeletePod(usize),
    /// The watch shows what the API server would: where the claim wants it.
    ShowClaimed(usize),
    /// A foreign scheduler binds it.
    ShowElsewhere(usize, usize),
    Try(usize),
    Resume(Vec<&'static str>),
    Answer(usize, ClaimInput),
    Wait(u64),
    /// A pod that panics is tried.
    Poison,
}

fn answers() -> impl Strategy<Value = ClaimInput> {
    let text = String::new;
    prop_oneof![
        3 => Just(ClaimInput::Bound),
        1 => Just(ClaimInput::Conflict { message: text() }),
        1 => Just(ClaimInput::NotFound { message: text() }),
        1 => Just(ClaimInput::Refused { message: text() }),
        1 => Just(ClaimInput::Throttled { retry_after: Duration::from_secs(1) }),
        1 => (0..40_u64).prop_map(|at| ClaimInput::Unknown { settled_by: Moment::ZERO + Duration::from_secs(at) }),
        1 => (0..3_usize).prop_map(|node| ClaimInput::Read(ReadResult::Assigned { node: NODES[node].into() })),
        1 => Just(ClaimInput::Read(ReadResult::Unassigned)),
        1 => Just(ClaimInput::Read(ReadResult::Failed)),
    ]
}

fn events() -> impl Strategy<Value = Event> {
    let pods = 0..PODS;
    let nodes = 0..NODES.len();
    prop_oneof![
        3 => (nodes.clone(), 500..2000_i64).prop_map(|(node, cpu)| Event::AddNode(node, cpu)),
        1 => nodes.clone().prop_map(Event::DeleteNode),
        6 => (pods.clone(), 1..900_i64, proptest::option::of(nodes.clone()))
            .prop_map(|(pod, milli_cpu, nominated)| Event::AddPod { pod, milli_cpu, nominated }),
        1 => pods.clone().prop_map(Event::DeletePod),
        4 => pods.clone().prop_map(Event::ShowClaimed),
        1 => (pods.clone(), nodes).prop_map(|(pod, node)| Event::ShowElsewhere(pod, node)),
        8 => pods.clone().prop_map(Event::Try),
        8 => proptest::sample::subsequence(NODES.to_vec(), 0..=2).prop_map(Event::Resume),
        4 => (pods, answers()).prop_map(|(pod, input)| Event::Answer(pod, input)),
        1 => (1..5_u64).prop_map(Event::Wait),
        1 => Just(Event::Poison),
    ]
}

/// The cluster as the API server would have it, as far as the stream tells.
struct Run {
    cluster: Cluster,
    nodes: [Option<Arc<Node>>; 3],
    pods: [Option<Arc<Pod>>; PODS],
    made: u32,
}

impl Run {
    fn new() -> Self {
        let cluster = Cluster::new(ProfileBuilder::new().oracle().build());
        Self {
            cluster,
            nodes: Default::default(),
            pods: Default::default(),
            made: 0,
        }
    }

    fn play(&mut self, event: Event) {
        match event {
            Event::AddNode(at, milli_cpu) => self.set_node(at, milli_cpu),
            Event::DeleteNode(at) => {
                if let Some(node) = self.nodes[at].take() {
                    self.cluster.apply(Delta::NodeDeleted(node));
                }
            }
            Event::AddPod {
                pod,
                milli_cpu,
                nominated,
            } => self.add_pod(pod, milli_cpu, nominated),
            Event::DeletePod(at) => {
                if let Some(pod) = self.pods[at].take() {
                    self.cluster.apply(Delta::PodDeleted(pod));
                }
            }
            Event::ShowClaimed(at) => self.show_claimed(at),
            Event::ShowElsewhere(at, node) => self.show(at, NODES[node]),
            Event::Try(at) => {
                if let Some(pod) = self.pods[at].clone().filter(|_| !self.cluster.engine.is_waiting()) {
                    let step = self.cluster.begin(&pod);
                    self.check_choice(&step);
                }
            }
            Event::Resume(banned) => {
                if self.cluster.engine.is_waiting() {
                    let step = self.cluster.resume(Ok(Box::new(banned)));
                    self.check_choice(&step);
                }
            }
            Event::Answer(at, input) => self.answer(at, input),
            Event::Wait(seconds) => self.cluster.wait(seconds),
            Event::Poison => self.poison(),
        }
    }

    fn set_node(&mut self, at: usize, milli_cpu: i64) {
        let new = node(NODES[at], milli_cpu);
        match self.nodes[at].replace(Arc::clone(&new)) {
            Some(old) => self.cluster.apply(Delta::NodeUpdated { old, new }),
            None => self.cluster.apply(Delta::NodeAdded(new)),
        }
    }

    /// Whatever others did, and however the node shrank: given what was delivered, our choice fits.
    fn check_choice(&self, step: &Step) {
        if let Step::Done(Outcome::Placed(placement)) = step {
            let columns = fixture::view(self.cluster.engine.columns());
            let [allocatable, requested, ..] = columns[placement.node.as_str()];
            assert!(requested <= allocatable, "{} is past its line", placement.node);
        }
    }

    fn add_pod(&mut self, at: usize, milli_cpu: i64, node: Option<usize>) {
        if self.pods[at].is_none() {
            self.made += 1;
            let name = format!("p{at}-{}", self.made);
            let new = match node {
                Some(node) => nominated(&name, milli_cpu, 0, NODES[node]),
                None => pod(&name, milli_cpu),
            };
            self.pods[at] = Some(Arc::clone(&new));
            self.cluster.add(&new);
        }
    }

    fn show_claimed(&mut self, at: usize) {
        let Some(uid) = self.pods[at].as_ref().map(|pod| pod.uid.clone()) else {
            return;
        };
        let claim = self.cluster.engine.claims().find(|claim| claim.pod().uid == uid);
        if let Some(node) = claim.map(|claim| claim.node().to_owned()) {
            self.show(at, &node);
        }
    }

    fn show(&mut self, at: usize, node: &str) {
        let Some(old) = self.pods[at].clone().filter(|pod| pod.node_name().is_none()) else {
            return;
        };
        self.cluster.show(&old, node);
        self.pods[at] = Some(fixture::assigned(&old, node));
    }

    fn answer(&mut self, at: usize, input: ClaimInput) {
        let Some(claim) = self.cluster.engine.claims().nth(at) else {
            return;
        };
        let id = claim.id();
        self.cluster.answer(id, input);
    }

    fn poison(&mut self) {
        if self.cluster.engine.is_waiting() || self.nodes.iter().all(Option::is_none) {
            return;
        }
        let poison = pod("poison", 1);
        self.cluster.add(&poison);
        let claims = self.cluster.engine.claims().count();
        let attempt = std::panic::AssertUnwindSafe(|| self.cluster.begin(&poison));
        assert!(std::panic::catch_unwind(attempt).is_err());
        self.cluster.engine.abandon();
        self.cluster.engine.rebuild(self.cluster.now, &mut self.cluster.out);
        assert_eq!(self.cluster.engine.claims().count(), claims);
        self.cluster.apply(Delta::PodDeleted(poison));
    }

    fn check(&mut self) {
        if self.cluster.engine.is_waiting() {
            return;
        }
        assert_eq!(
            fixture::view(self.cluster.engine.columns()),
            self.naive(),
            "columns equal the naive sums"
        );
        let before = fixture::view(self.cluster.engine.columns());
        self.cluster.engine.rebuild(self.cluster.now, &mut self.cluster.out);
        assert_eq!(
            fixture::view(self.cluster.engine.columns()),
            before,
            "columns equal a rebuild"
        );
        self.check_bound_once();
    }

    /// Each node with the pods that the stream shows on it, and the claims of pods that it shows on none.
    fn naive(&self) -> std::collections::BTreeMap<String, [i64; 4]> {
        let mut sums: std::collections::BTreeMap<String, [i64; 4]> = self
            .nodes
            .iter()
            .flatten()
            .map(|node| {
                (
                    node.name.to_string(),
                    [node.status.allocatable.amounts.milli_cpu, 0, 0, 0],
                )
            })
            .collect();
        let shown = self
            .pods
            .iter()
            .flatten()
            .filter_map(|pod| Some((pod.node_name()?, pod)));
        let claims = self.cluster.engine.claims();
        let unshown = claims.filter(|claim| claim.state() != ClaimState::Seen);
        let claimed = unshown.map(|claim| (claim.node(), claim.pod()));
        for (node, pod) in shown.chain(claimed) {
            let footprint = plimsoll_model::Footprint::of(pod);
            if let Some(sum) = sums.get_mut(node) {
                sum[1] += footprint.requests.milli_cpu;
                sum[2] += footprint.non_zero_memory;
                sum[3] += 1;
            }
        }
        sums
    }

    fn check_bound_once(&self) {
        let mut bound: Vec<ClaimId> = Vec::new();
        for notice in &self.cluster.out {
            if let Notice::Bound { claim, .. } = notice {
                assert!(!bound.contains(claim), "{claim} is said to be bound twice");
                bound.push(*claim);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn after_any_history_columns_equal_a_rebuild_and_no_choice_of_ours_overcommits(
        history in proptest::collection::vec(events(), 1..60)
    ) {
        let mut run = Run::new();
        for event in history {
            run.play(event);
            run.check();
        }
    }
}
