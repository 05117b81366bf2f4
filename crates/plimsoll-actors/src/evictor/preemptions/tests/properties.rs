use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

/// Pods that may be victims, and pods that may preempt.
const VICTIMS: usize = 4;
const PREEMPTORS: usize = 3;
/// Chooses the answers that say yes.
const SUCCESS: u8 = 47;

#[derive(Debug, Clone)]
enum Step {
    Open {
        preemptor: usize,
        victims: BTreeSet<usize>,
        lower: BTreeSet<usize>,
        removal: Removal,
        asynchronous: bool,
    },
    Send,
    /// An answer to the request about a victim, by a number that chooses which.
    Answer(usize, u8),
    Terminate(usize),
    Gone(usize),
    PreemptorGone(usize),
    PreemptorBound(usize),
    Pass(u64),
}

fn some_of(most: usize) -> impl Strategy<Value = BTreeSet<usize>> {
    prop::collection::btree_set(0..most, 0..=most)
}

fn step() -> impl Strategy<Value = Step> {
    let removal = prop_oneof![Just(Removal::Delete), Just(Removal::Evict)];
    let open = (
        0..PREEMPTORS,
        some_of(VICTIMS),
        some_of(PREEMPTORS),
        removal,
        prop::bool::weighted(0.8),
    );
    prop_oneof![
        3 => open.prop_map(|(preemptor, victims, lower, removal, asynchronous)| Step::Open {
            preemptor, victims, lower, removal, asynchronous,
        }),
        6 => Just(Step::Send),
        8 => (0..VICTIMS, any::<u8>()).prop_map(|(victim, kind)| Step::Answer(victim, kind)),
        3 => (0..VICTIMS).prop_map(Step::Terminate),
        3 => (0..VICTIMS).prop_map(Step::Gone),
        1 => (0..PREEMPTORS).prop_map(Step::PreemptorGone),
        1 => (0..PREEMPTORS).prop_map(Step::PreemptorBound),
        4 => (0..2_000u64).prop_map(Step::Pass),
    ]
}

fn answer(what: &What, victim: &Arc<Pod>, kind: u8) -> Answer {
    let message = || "why".to_owned();
    let retry_after = SECOND;
    match what {
        What::Mark(_) => Answer::Marked(match kind % 7 {
            0 => PatchReply::NotFound,
            1 => PatchReply::Conflict { message: message() },
            2 => PatchReply::Refused {
                code: 403,
                message: message(),
            },
            3 => PatchReply::Throttled { retry_after },
            4 => PatchReply::Unknown {
                code: None,
                error: message(),
            },
            _ => PatchReply::Patched,
        }),
        What::Delete | What::Evict => Answer::Removed(match kind % 8 {
            0 => RemovalReply::NotFound,
            1 => RemovalReply::Conflict { message: message() },
            2 => RemovalReply::Refused {
                code: 403,
                message: message(),
            },
            3 => RemovalReply::Throttled { retry_after },
            4 => RemovalReply::Unknown { error: message() },
            5 => RemovalReply::Forbidden { message: message() },
            _ => RemovalReply::Accepted,
        }),
        What::Read => Answer::Read(match kind % 3 {
            0 => PodRead::Gone,
            1 => PodRead::Failed { error: message() },
            _ => PodRead::Found(Arc::clone(victim)),
        }),
    }
}

/// The desk, and what was said of each plan.
struct Office {
    desk: Desk,
    victims: Vec<Arc<Pod>>,
    preemptors: Vec<Arc<Pod>>,
    /// Plans that are not over, and whether they have been executed.
    open: BTreeMap<Uid, (bool, bool)>,
    told: BTreeSet<Uid>,
}

impl Office {
    fn new() -> Self {
        Self {
            desk: Desk::new(),
            victims: (0..VICTIMS).map(|at| victim(&format!("v{at}"))).collect(),
            preemptors: (0..PREEMPTORS).map(|at| preemptor(&format!("p{at}"))).collect(),
            open: BTreeMap::new(),
            told: BTreeSet::new(),
        }
    }

    fn run(&mut self, step: &Step) {
        match step {
            Step::Open {
                preemptor,
                victims,
                lower,
                removal,
                asynchronous,
            } => self.open(*preemptor, victims, lower, *removal, *asynchronous),
            Step::Send => self.send(),
            Step::Answer(at, kind) => self.answer(*at, *kind),
            Step::Terminate(at) => {
                let old = Arc::clone(&self.victims[*at]);
                self.victims[*at] = terminating(&old, OURS);
                let new = Arc::clone(&self.victims[*at]);
                self.desk.see(Some(&old), new);
            }
            Step::Gone(at) => {
                let gone = Arc::clone(&self.victims[*at]);
                self.desk.gone(&gone);
                // Another one comes.
                let uid = format!("{}+", gone.uid.as_str());
                self.victims[*at] = changed(&victim(&gone.name.name), |pod| pod.uid = Uid::from(uid.as_str()));
            }
            Step::PreemptorGone(at) => {
                let gone = Arc::clone(&self.preemptors[*at]);
                self.desk.gone(&gone);
            }
            Step::PreemptorBound(at) => {
                let pod = &self.preemptors[*at];
                let bound = changed(pod, |pod| pod.node_name = Some("m".into()));
                self.desk.see(None, bound);
            }
            Step::Pass(milliseconds) => self.desk.pass(Duration::from_millis(*milliseconds)),
        }
        self.listen();
    }

    fn open(
        &mut self,
        at: usize,
        victims: &BTreeSet<usize>,
        lower: &BTreeSet<usize>,
        removal: Removal,
        asynchronous: bool,
    ) {
        let preemptor = Arc::clone(&self.preemptors[at]);
        let victims: Vec<&Arc<Pod>> = victims.iter().map(|at| &self.victims[*at]).collect();
        let lower = lower.iter().filter(|other| **other != at);
        let plan = PreemptionPlan {
            clear_nominations: lower.map(|at| Arc::clone(&self.preemptors[*at])).collect(),
            removal,
            asynchronous,
            ..plan(&preemptor, &victims)
        };
        // One that was told to go for a plan that is over may be told so again for the next.
        for victim in &plan.victims {
            self.told.remove(&victim.pod.uid);
        }
        self.desk.open(&plan);
        // What was said of an earlier plan comes before.
        self.listen_to_the_old(&preemptor.uid);
        self.open.insert(preemptor.uid.clone(), (false, asynchronous));
    }

    fn listen_to_the_old(&mut self, uid: &Uid) {
        if self.open.contains_key(uid) {
            let over = |said: &Said| matches!(said, Said::Over(over) if over.ending == Ending::Replaced && over.preemptor == *uid);
            let at = self.desk.said.iter().position(over).unwrap();
            let later = self.desk.said.split_off(at + 1);
            self.listen();
            self.desk.said = later;
        }
    }

    fn send(&mut self) {
        self.desk.asks();
        for (at, (uid, _)) in self.desk.asked.iter().enumerate() {
            let others = &self.desk.asked[at + 1..];
            assert!(others.iter().all(|(other, _)| other != uid), "two requests about {uid}");
        }
    }

    fn answer(&mut self, at: usize, kind: u8) {
        if self.desk.asked.is_empty() {
            return;
        }
        let (uid, request) = self.desk.asked.remove(at % self.desk.asked.len());
        let answer = if request.withdrawn.is_cancelled() && kind.is_multiple_of(2) {
            match request.what {
                What::Mark(_) => Answer::Marked(PatchReply::NotSent(NotSent::Withdrawn)),
                What::Read => answer(&request.what, &request.victim, kind),
                _ => Answer::Removed(RemovalReply::NotSent(NotSent::Withdrawn)),
            }
        } else {
            answer(&request.what, &request.victim, kind)
        };
        let desk = &mut self.desk;
        desk.preemptions.answered(&uid, answer, desk.now, &mut desk.said);
    }

    fn listen(&mut self) {
        for said in self.desk.said.drain(..) {
            match said {
                Said::Preempted { victim, .. } => assert!(self.told.insert(victim.uid.clone()), "told twice"),
                Said::Executed { preemptor, .. } => {
                    let open = self.open.get_mut(&preemptor).unwrap();
                    assert!(!open.0, "executed twice");
                    open.0 = true;
                }
                Said::Going(preemptor) => assert!(self.open[&preemptor].1),
                Said::Over(Over { preemptor, ending, .. }) => {
                    let (executed, asynchronous) = self.open.remove(&preemptor).unwrap();
                    assert!(executed || (asynchronous && ending != Ending::Done && ending != Ending::Failed));
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn a_victim_is_asked_by_one_request_at_a_time_told_of_once_and_every_plan_comes_to_an_end(
        steps in prop::collection::vec(step(), 1..80),
    ) {
        let mut office = Office::new();
        for step in &steps {
            office.run(step);
            prop_assert_eq!(office.desk.preemptions.len(), office.open.len());
        }
        // When every request is answered with success and whoever was told to go goes, no plan is left.
        for _ in 0..40 {
            office.run(&Step::Send);
            while !office.desk.asked.is_empty() {
                office.run(&Step::Answer(0, SUCCESS));
                office.run(&Step::Send);
            }
            office.run(&Step::Pass(10_000));
        }
        for at in 0..VICTIMS {
            office.run(&Step::Gone(at));
        }
        office.run(&Step::Pass(10_000));
        prop_assert_eq!(office.desk.preemptions.len(), 0, "{:?}", office.desk.preemptions);
        prop_assert!(office.desk.preemptions.evictions.is_empty());
        prop_assert_eq!(office.desk.preemptions.next_deadline(), None);
    }
}
