//! Whatever happens in whatever order: the columns hold exactly what living claims hold.

use proptest::prelude::*;

use super::*;

const NODES: [&str; 2] = ["n1", "n2"];
const PODS: usize = 4;

/// What a step of the plugin says.
#[derive(Debug, Clone, Copy)]
enum Say {
    Done,
    Write,
    Wait(u64),
    Fail,
    Panic,
}

#[derive(Debug, Clone)]
enum Event {
    AddNode(usize),
    DeleteNode(usize),
    AddPod(usize),
    DeletePod(usize),
    Try(usize),
    Resume,
    Allow(usize),
    /// The next steps say this.
    Told(Vec<Say>),
    Written(usize, VolumeWritten),
    ChangeClaim(usize),
    ChangeVolume(usize),
    Preempt(usize),
    Answer(usize, ClaimInput),
    ShowClaimed(usize),
    ShowElsewhere(usize),
    Wait(u64),
    Rotten,
    Reconfigure,
    EndTerm,
}

fn says() -> impl Strategy<Value = Say> {
    prop_oneof![
        3 => Just(Say::Done),
        4 => Just(Say::Write),
        4 => (1..20_u64).prop_map(Say::Wait),
        1 => Just(Say::Fail),
        1 => Just(Say::Panic),
    ]
}

fn answers() -> impl Strategy<Value = ClaimInput> {
    let message = String::new;
    prop_oneof![
        3 => Just(ClaimInput::Bound),
        1 => Just(ClaimInput::Conflict { message: message() }),
        1 => Just(ClaimInput::Refused { message: message() }),
        1 => Just(ClaimInput::Read(ReadResult::Assigned { node: "n2".into() })),
        1 => Just(ClaimInput::Read(ReadResult::Unassigned)),
        1 => Just(ClaimInput::Read(ReadResult::Gone)),
    ]
}

fn outcomes() -> impl Strategy<Value = VolumeWritten> {
    prop_oneof![
        4 => Just(done(2)),
        1 => Just(VolumeWritten::Refused("no".to_owned())),
        1 => Just(VolumeWritten::Unknown("lost".to_owned())),
        1 => Just(VolumeWritten::TermOver),
    ]
}

fn events() -> impl Strategy<Value = Event> {
    let pods = || 0..PODS;
    let nodes = || 0..NODES.len();
    prop_oneof![
        4 => nodes().prop_map(Event::AddNode),
        1 => nodes().prop_map(Event::DeleteNode),
        6 => pods().prop_map(Event::AddPod),
        1 => pods().prop_map(Event::DeletePod),
        8 => pods().prop_map(Event::Try),
        8 => Just(Event::Resume),
        2 => pods().prop_map(Event::Allow),
        6 => proptest::collection::vec(says(), 1..4).prop_map(Event::Told),
        6 => (pods(), outcomes()).prop_map(|(pod, outcome)| Event::Written(pod, outcome)),
        4 => pods().prop_map(Event::ChangeClaim),
        2 => pods().prop_map(Event::ChangeVolume),
        1 => pods().prop_map(Event::Preempt),
        3 => (pods(), answers()).prop_map(|(pod, answer)| Event::Answer(pod, answer)),
        2 => pods().prop_map(Event::ShowClaimed),
        1 => pods().prop_map(Event::ShowElsewhere),
        2 => (1..12_u64).prop_map(Event::Wait),
        1 => Just(Event::Rotten),
        1 => Just(Event::Reconfigure),
    ]
}

struct Run {
    cluster: Cluster,
    steps: Arc<Steps>,
    pods: [Option<Arc<Pod>>; PODS],
    made: u32,
}

fn profile(steps: &Arc<Steps>) -> Profile {
    let permit = |pod: Pod| {
        if pod.name.name.starts_with("p3") {
            PermitOutcome::Wait(Duration::from_secs(5))
        } else {
            PermitOutcome::Allow
        }
    };
    with_steps(ProfileBuilder::new().oracle().permit("Gang", permit), steps)
}

impl Run {
    fn new() -> Self {
        let steps = Steps::told([]);
        let mut cluster = Cluster::new(profile(&steps));
        cluster.add_node("n1", 1000);
        Self {
            cluster,
            steps,
            pods: Default::default(),
            made: 0,
        }
    }

    fn play(&mut self, event: Event) {
        let Self { cluster, .. } = self;
        match event {
            Event::AddNode(at) => cluster.add_node(NODES[at], 1000),
            Event::DeleteNode(at) => cluster.apply(Delta::NodeDeleted(node(NODES[at], 1000))),
            Event::AddPod(at) => self.add_pod(at),
            Event::DeletePod(at) => {
                if let Some(pod) = self.pods[at].take() {
                    cluster.apply(Delta::PodDeleted(pod));
                }
            }
            Event::Try(at) => {
                if let Some(pod) = self.pods[at].clone().filter(|_| !cluster.engine.is_waiting()) {
                    cluster.begin(&pod);
                }
            }
            Event::Resume => {
                if cluster.engine.is_waiting() {
                    cluster.resume(Ok(Box::new(Vec::<&str>::new())));
                }
            }
            Event::Allow(at) => {
                if let Some(pod) = &self.pods[at] {
                    cluster.engine.allow(&pod.uid, "Gang", cluster.now, &mut cluster.out);
                }
            }
            Event::Told(says) => self.tell(&says),
            Event::Written(at, outcome) => {
                if let Some(id) = self.claim(at) {
                    written(&mut self.cluster, id, outcome);
                }
            }
            Event::ChangeClaim(at) => self.change_about(at, |pod| claim(&format!("claim-{pod}")).object()),
            Event::ChangeVolume(at) => self.change_about(at, |pod| volume(&format!("volume-{pod}")).object()),
            Event::Preempt(at) => {
                if let Some(id) = self.claim(at) {
                    let Cluster { engine, now, out, .. } = &mut self.cluster;
                    engine.reject_for_preemption(id, *now, out);
                }
            }
            Event::Answer(at, answer) => {
                if let Some(id) = self.claim(at) {
                    self.cluster.answer(id, answer);
                }
            }
            Event::ShowClaimed(at) => {
                let node = self.claim(at).and_then(|id| self.cluster.engine.claim(id));
                if let Some(node) = node.map(|claim| claim.node().to_owned()) {
                    self.show(at, &node);
                }
            }
            Event::ShowElsewhere(at) => self.show(at, "n2"),
            Event::Wait(seconds) => cluster.wait(seconds),
            Event::Rotten => self.panic(),
            Event::Reconfigure => {
                let profile = profile(&self.steps);
                self.cluster.reconfigure(profile);
            }
            Event::EndTerm => cluster.engine.end_term(cluster.now, &mut cluster.out),
        }
    }

    fn add_pod(&mut self, at: usize) {
        if self.pods[at].is_none() {
            self.made += 1;
            let name = format!("p{at}-{}", self.made);
            let new = if at == 0 {
                pod(&name, 100)
            } else {
                with_claim(&name, 100)
            };
            self.pods[at] = Some(Arc::clone(&new));
            self.cluster.add(&new);
        }
    }

    fn tell(&self, says: &[Say]) {
        let now = self.cluster.now;
        let steps = says.iter().map(|say| match say {
            Say::Done => PreBindStep::Done,
            Say::Write => PreBindStep::Write(write("a")),
            Say::Wait(seconds) => PreBindStep::Wait {
                until: now + Duration::from_secs(*seconds),
            },
            Say::Fail => PreBindStep::Fail("no".to_owned()),
            Say::Panic => PreBindStep::Fail("panic".to_owned()),
        });
        *self.steps.next.lock().unwrap() = steps.collect();
    }

    fn claim(&self, at: usize) -> Option<ClaimId> {
        let pod = self.pods[at].as_ref()?;
        let mut claims = self.cluster.engine.claims();
        claims.find(|claim| claim.pod().uid == pod.uid).map(Claim::id)
    }

    fn change_about(&mut self, at: usize, object: impl Fn(&str) -> StorageObject) {
        if let Some(pod) = self.pods[at].clone() {
            change(&mut self.cluster, object(&pod.name.name));
        }
    }

    fn show(&mut self, at: usize, node: &str) {
        if let Some(old) = self.pods[at].clone().filter(|pod| pod.node_name().is_none()) {
            self.cluster.show(&old, node);
            self.pods[at] = Some(fixture::assigned(&old, node));
        }
    }

    /// A pod panics when it has reserved already.
    fn panic(&mut self) {
        let Self { cluster, .. } = self;
        if cluster.engine.is_waiting() || cluster.engine.columns().node_count() == 0 {
            return;
        }
        let rotten = with_claim("rotten", 1);
        cluster.add(&rotten);
        let cycle = AssertUnwindSafe(|| {
            cluster.begin(&rotten);
            cluster.resume(Ok(Box::new(Vec::<&str>::new())))
        });
        assert!(catch_unwind(cycle).is_err());
        cluster.engine.abandon();
        cluster.engine.rebuild(cluster.now, &mut cluster.out);
        cluster.apply(Delta::PodDeleted(rotten));
    }

    fn check(&mut self) {
        let waits = self.cluster.engine.waits.waiting();
        let living: Vec<ClaimId> = self.cluster.engine.claims().map(Claim::id).collect();
        assert!(
            waits.iter().all(|id| living.contains(id)),
            "nobody waits whose claim is over"
        );
        if self.cluster.engine.is_waiting() {
            return;
        }
        let claims = self.cluster.engine.claims();
        let holding = claims.filter(|claim| has_claim(claim.pod()) && !claim.is_moved());
        let expected: BTreeMap<_, _> = holding
            .map(|claim| {
                let volumes = reservation(&claim.pod().name.name, claim.node());
                (claim.pod().uid.to_string(), volumes)
            })
            .collect();
        assert_eq!(reserved(&self.cluster.engine), expected);
        let view = fixture::view(self.cluster.engine.columns());
        self.cluster.engine.rebuild(self.cluster.now, &mut self.cluster.out);
        assert_eq!(reserved(&self.cluster.engine), expected, "after a rebuild");
        assert_eq!(fixture::view(self.cluster.engine.columns()), view);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn after_any_history_the_columns_hold_the_volumes_of_living_claims_and_of_nobody_else(
        history in proptest::collection::vec(events(), 1..80)
    ) {
        let mut run = Run::new();
        for event in history {
            run.play(event);
            run.check();
        }
        run.play(Event::EndTerm);
        run.check();
    }
}
