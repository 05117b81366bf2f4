//! Whatever fails and wherever: what plugins reserved is taken back exactly once, in reverse, and never after success.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use plimsoll_framework::{
    Bind, BindAction, Code, CycleContext, CycleState, Permit, PermitOutcome, Plugin, PreBind, PreBindOutcome, Reserve,
    Status, WaitingPods,
};
use proptest::prelude::*;

use super::*;

const PLUGINS: [&str; 3] = ["First", "Second", "Third"];

/// What a plugin does when its turn comes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Act {
    Good,
    Reject,
    Fail,
    Panic,
}

/// What is done to a pod.
#[derive(Debug, Clone)]
struct Script {
    reserve: [Act; 3],
    unreserve: [Act; 3],
    /// None waits.
    permit: [Option<Act>; 2],
    pre_bind: [Act; 2],
    bind: Act,
    /// What happens once the cycle is over, one after the other.
    then: Vec<Then>,
}

#[derive(Debug, Clone)]
enum Then {
    Allow,
    Reject,
    Wait(u64),
    PreBound,
    PreBindFailed,
    Answer(ClaimInput),
    ShowWhereItIs,
    ShowElsewhere,
    Delete,
    EndTerm,
    Close,
}

#[derive(Default)]
struct Told {
    scripts: BTreeMap<String, Script>,
    calls: BTreeMap<String, Vec<(&'static str, &'static str)>>,
}

/// A plugin that does for each pod what its script says.
struct Scripted {
    name: &'static str,
    at: usize,
    told: Arc<Mutex<Told>>,
}

impl Scripted {
    fn act<T>(&self, pod: &Pod, of: impl FnOnce(&Script) -> T) -> T {
        of(&self.told.lock().unwrap().scripts[pod.name.name.as_str()])
    }

    fn note(&self, pod: &Pod, what: &'static str) {
        let name = pod.name.name.to_string();
        let mut told = self.told.lock().unwrap();
        told.calls.entry(name).or_default().push((what, self.name));
    }
}

fn done(act: Act) -> Result<(), Status> {
    match act {
        Act::Good => Ok(()),
        Act::Reject => Err(Status::new(Code::Unschedulable, "", "no")),
        Act::Fail => Err(Status::new(Code::Error, "", "broken")),
        Act::Panic => panic!("as scripted"),
    }
}

impl Plugin for Scripted {
    fn name(&self) -> &'static str {
        self.name
    }
}

impl Reserve for Scripted {
    fn reserve(&self, cycle: CycleContext<'_>, _: &mut CycleState, _: &str) -> Result<(), Status> {
        self.note(cycle.pod, "reserve");
        done(self.act(cycle.pod, |script| script.reserve[self.at]))
    }

    fn unreserve(&self, pod: &Pod, _: &mut CycleState, _: &str) {
        self.note(pod, "unreserve");
        let _ = done(self.act(pod, |script| script.unreserve[self.at]));
    }
}

impl Permit for Scripted {
    fn permit(&self, cycle: CycleContext<'_>, _: &mut CycleState, _: &str, _: &WaitingPods) -> PermitOutcome {
        match self.act(cycle.pod, |script| script.permit[self.at]) {
            None => PermitOutcome::Wait(Duration::from_secs(10)),
            Some(act) => done(act).map_or_else(PermitOutcome::Stop, |()| PermitOutcome::Allow),
        }
    }
}

impl PreBind for Scripted {
    fn pre_bind(&self, pod: &Pod, _: &CycleState, _: &str) -> PreBindOutcome {
        match self.act(pod, |script| script.pre_bind[self.at]) {
            Act::Good => PreBindOutcome::Skip,
            Act::Panic => panic!("as scripted"),
            Act::Reject | Act::Fail => PreBindOutcome::Needs(Box::new(())),
        }
    }
}

impl Bind for Scripted {
    fn bind(&self, pod: &Pod, _: &str) -> BindAction {
        match self.act(pod, |script| script.bind) {
            Act::Panic => panic!("as scripted"),
            Act::Fail => BindAction::Skip,
            Act::Good | Act::Reject => BindAction::PostBinding,
        }
    }
}

fn profile(told: &Arc<Mutex<Told>>) -> Profile {
    let scripted = |at: usize| {
        let (name, told) = (PLUGINS[at], Arc::clone(told));
        Arc::new(Scripted { name, at, told })
    };
    let change = |profile: &mut Profile| {
        profile.reserve = vec![scripted(0), scripted(1), scripted(2)];
        profile.permit = vec![scripted(0), scripted(1)];
        profile.pre_bind = vec![scripted(0), scripted(1)];
        profile.bind = vec![scripted(0)];
    };
    ProfileBuilder::new().with(change).build()
}

fn acts() -> impl Strategy<Value = Act> {
    prop_oneof![20 => Just(Act::Good), 1 => Just(Act::Reject), 1 => Just(Act::Fail), 1 => Just(Act::Panic)]
}

fn answers() -> impl Strategy<Value = ClaimInput> {
    let message = String::new;
    prop_oneof![
        3 => Just(ClaimInput::Bound),
        1 => Just(ClaimInput::Conflict { message: message() }),
        1 => Just(ClaimInput::Refused { message: message() }),
        1 => Just(ClaimInput::NotSent { message: message() }),
        1 => Just(ClaimInput::Unknown { settled_by: Moment::ZERO + Duration::from_secs(30) }),
        1 => Just(ClaimInput::Read(ReadResult::Assigned { node: "n2".into() })),
        1 => Just(ClaimInput::Read(ReadResult::Unassigned)),
        1 => Just(ClaimInput::Read(ReadResult::Gone)),
    ]
}

fn then() -> impl Strategy<Value = Then> {
    prop_oneof![
        4 => Just(Then::Allow),
        1 => Just(Then::Reject),
        2 => (1..12_u64).prop_map(Then::Wait),
        4 => Just(Then::PreBound),
        1 => Just(Then::PreBindFailed),
        8 => answers().prop_map(Then::Answer),
        2 => Just(Then::ShowWhereItIs),
        1 => Just(Then::ShowElsewhere),
        1 => Just(Then::Delete),
        1 => Just(Then::EndTerm),
        1 => Just(Then::Close),
    ]
}

/// Mostly at random; also on the straight way to a binding, and to one that somebody else was faster with.
fn what_then() -> impl Strategy<Value = Vec<Then>> {
    let sent = || vec![Then::Allow, Then::PreBound, Then::PreBound];
    let conflict = Then::Answer(ClaimInput::Conflict { message: String::new() });
    let elsewhere = Then::Answer(ClaimInput::Read(ReadResult::Assigned { node: "n2".into() }));
    let begins = prop_oneof![
        2 => Just(Vec::new()),
        1 => Just(sent()),
        1 => Just([sent(), vec![conflict, elsewhere]].concat()),
    ];
    let goes_on = proptest::collection::vec(then(), 0..12);
    (begins, goes_on).prop_map(|(begins, goes_on)| [begins, goes_on].concat())
}

fn scripts() -> impl Strategy<Value = Script> {
    let permits = [
        proptest::option::weighted(0.7, acts()),
        proptest::option::weighted(0.7, acts()),
    ];
    let acts_of = (
        [acts(), acts(), acts()],
        [acts(), acts(), acts()],
        permits,
        [acts(), acts()],
        acts(),
        what_then(),
    );
    acts_of.prop_map(|(reserve, unreserve, permit, pre_bind, bind, then)| Script {
        reserve,
        unreserve,
        permit,
        pre_bind,
        bind,
        then,
    })
}

struct Run {
    cluster: Cluster,
    /// The pod was bound by us: the engine said so.
    bound: bool,
    closed: bool,
    deleted: bool,
}

impl Run {
    fn begin(&mut self, pod: &Arc<Pod>) {
        self.cluster.add(pod);
        if catch_unwind(AssertUnwindSafe(|| self.cluster.begin(pod))).is_err() {
            self.cluster.engine.abandon();
            self.cluster.engine.rebuild(self.cluster.now, &mut self.cluster.out);
        }
    }

    fn play(&mut self, pod: &Arc<Pod>, then: &Then) {
        let Self { cluster, .. } = self;
        let (engine, now, out) = (&mut cluster.engine, cluster.now, &mut cluster.out);
        let claim = engine.claims().next().map(Claim::id);
        match then {
            Then::Allow => {
                for plugin in PLUGINS {
                    engine.allow(&pod.uid, plugin, now, out);
                }
            }
            Then::Reject => engine.reject(&pod.uid, "First", "no", now, out),
            Then::Wait(seconds) => cluster.wait(*seconds),
            Then::PreBound => {
                if let Some(claim) = claim {
                    engine.pre_bind_done(claim, Ok(Box::new(())), now, out);
                }
            }
            Then::PreBindFailed => {
                if let Some(claim) = claim {
                    engine.pre_bind_done(claim, Err("no".to_owned()), now, out);
                }
            }
            Then::Answer(answer) => {
                if let Some(claim) = claim {
                    engine.bind_input(claim, answer.clone(), now, out);
                }
            }
            Then::ShowWhereItIs | Then::ShowElsewhere if self.deleted => {}
            Then::ShowWhereItIs => cluster.show(pod, "n1"),
            Then::ShowElsewhere => cluster.show(pod, "n2"),
            Then::Delete => {
                if !std::mem::replace(&mut self.deleted, true) {
                    cluster.apply(Delta::PodDeleted(Arc::clone(pod)));
                }
            }
            Then::EndTerm => engine.end_term(now, out),
            Then::Close => {
                engine.close();
                self.closed = true;
            }
        }
        let bound = |notice: &Notice| matches!(notice, Notice::Bound { .. });
        self.bound |= self.cluster.out.drain(..).any(|notice| bound(&notice));
    }

    /// Reserves come first and go as far as the first that does not succeed. They are all undone, in reverse, when the claim
    /// is over without success, or the pod is known to be elsewhere; else none is.
    fn check(&self, calls: &[(&'static str, &'static str)], script: &Script) {
        let good = script.reserve.iter().take_while(|act| **act == Act::Good).count();
        let tried = (good + 1).min(PLUGINS.len());
        let reserves: Vec<_> = PLUGINS.iter().take(tried).map(|name| ("reserve", *name)).collect();
        assert_eq!(calls[..tried], reserves);
        let mut claims = self.cluster.engine.claims();
        let holds = self.bound || claims.any(|claim| claim.node() == "n1");
        let undone: Vec<_> = PLUGINS.iter().rev().map(|name| ("unreserve", *name)).collect();
        let expected = if holds { Vec::new() } else { undone };
        assert_eq!(
            calls[tried..],
            expected,
            "bound: {}, closed: {}",
            self.bound,
            self.closed
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_reservation_is_undone_once_in_reverse_on_any_failure_and_never_after_success(script in scripts()) {
        let told = Arc::new(Mutex::new(Told::default()));
        let mut run = Run {
            cluster: Cluster::new(profile(&told)),
            bound: false,
            closed: false,
            deleted: false,
        };
        run.cluster.add_node("n1", 1000);
        let pod = pod("a", 100);
        told.lock().unwrap().scripts.insert("a".to_owned(), script.clone());
        let calls = || told.lock().unwrap().calls["a"].clone();
        run.begin(&pod);
        run.check(&calls(), &script);
        for then in &script.then {
            run.play(&pod, then);
            run.check(&calls(), &script);
        }
        run.play(&pod, &Then::Close);
        run.check(&calls(), &script);
    }
}
