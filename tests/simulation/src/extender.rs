//! An extender that all replicas of a run call, and what may go wrong with it. It lets each pod on three nodes of four or so,
//! always the same ones, and binds pods where it is asked to.
//!
//! What it binds within the time of the call is its caller's deed: the caller keeps the room and the lease until then. What
//! it binds later, or binds and denies, is like a binding by another scheduler, and is signed as nobody's.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, join_all, pending};
use plimsoll_actors::effects::{Gate, PerformEffect};
use plimsoll_apiserver::ApiServer;
use plimsoll_client::{Clock, VirtualClock};
use plimsoll_framework::{
    EXTENDER, EffectReply, EffectRequest, ExtenderAnswer, ExtenderCall, ExtenderChoice, ExtenderNodes, ExtenderRequest,
    ExtenderVictims,
};
use plimsoll_model::{Moment, Pod};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use tokio_util::task::TaskTracker;

use crate::invariants::judge::{Judge, Sent};
use crate::link::Link;
use crate::world::{Machine, Setup, World};

/// How the extender signs what it binds for nobody.
const NOBODY: &str = "extender";

/// What a caller reads whose time is up.
const TIME_IS_UP: &str = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";

/// What goes wrong with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// It answers with a failure and does nothing.
    Fails,
    /// It takes so long.
    Slow(Duration),
    /// The call is lost on its way: nothing is done, and nothing answered.
    CallLost,
    /// The answer is lost on its way.
    AnswerLost,
    /// It does what it was asked so long after the time of the call is up.
    TooLate(Duration),
    /// It says that it did not bind the pod, which is so.
    Refuses,
    /// It says so of a pod that it has bound.
    Denies,
}

/// What goes wrong, of which verb, and of how many calls in a hundred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mood {
    /// `filter`, `prioritize`, `preempt` or `bind`.
    pub verb: &'static str,
    /// What.
    pub trouble: Trouble,
    /// How often.
    pub percent: u64,
}

/// What the extender has done.
#[derive(Debug, Clone, Copy, Default)]
pub struct Deeds {
    /// Calls that reached it.
    pub calls: u64,
    /// Pods bound within the time of the call.
    pub bound: u64,
    /// Pods bound after it, or bound and denied.
    pub strayed: u64,
}

/// The extender. Clones share one state.
#[derive(Clone)]
pub struct SimulatedExtender(Arc<Shared>);

struct Shared {
    server: ApiServer,
    judge: Judge,
    latency: Duration,
    state: Mutex<State>,
    /// What it does goes on when nobody listens any more.
    acting: TaskTracker,
}

struct State {
    moods: Vec<Mood>,
    random: ChaCha8Rng,
    deeds: Deeds,
}

impl SimulatedExtender {
    /// One that is well and takes so long for each call.
    pub fn new(world: &World, seed: u64, latency: Duration) -> Self {
        let state = State {
            moods: Vec::new(),
            random: ChaCha8Rng::seed_from_u64(seed ^ 0xe47e),
            deeds: Deeds::default(),
        };
        Self(Arc::new(Shared {
            server: world.server().clone(),
            judge: world.judge().clone(),
            latency,
            state: Mutex::new(state),
            acting: TaskTracker::new(),
        }))
    }

    /// Has a replica on this machine call it.
    pub fn serve(&self, setup: &mut Setup, machine: &Machine) {
        let caller = Caller {
            name: Arc::from(machine.name()),
            link: machine.link().clone(),
            clock: machine.shared_clock(),
            extender: self.clone(),
        };
        setup.effects.add(EXTENDER, Arc::new(caller));
    }

    /// From now on this goes wrong, and nothing else with this verb.
    pub fn upset(&self, mood: Mood) {
        let mut state = self.lock();
        state.moods.retain(|other| other.verb != mood.verb);
        state.moods.push(mood);
    }

    /// From now on nothing goes wrong.
    pub fn recover(&self) {
        self.lock().moods.clear();
    }

    /// What it has done so far.
    pub fn deeds(&self) -> Deeds {
        self.lock().deeds
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What goes wrong with this call.
    fn trouble(&self, verb: &str) -> Option<Trouble> {
        let mut state = self.lock();
        state.deeds.calls += 1;
        let State { moods, random, .. } = &mut *state;
        let mood = moods.iter().find(|mood| mood.verb == verb)?;
        (random.next_u64() % 100 < mood.percent).then_some(mood.trouble)
    }

    async fn answer(self, call: ExtenderCall, binding: Option<Binding>, limit: Duration) -> Answer {
        tokio::time::sleep(self.0.latency).await;
        let trouble = self.trouble(call.verb());
        match trouble {
            Some(Trouble::Fails) => return Err(format!("failed {} with extender, code 500", call.verb())),
            Some(Trouble::CallLost) => return pending().await,
            Some(Trouble::Slow(time)) => tokio::time::sleep(time).await,
            Some(Trouble::TooLate(time)) => tokio::time::sleep(limit + time).await,
            Some(Trouble::AnswerLost | Trouble::Refuses | Trouble::Denies) | None => {}
        }
        let answer = match (call, binding) {
            (ExtenderCall::Bind { .. }, Some(binding)) => Ok(self.bind(binding, trouble)),
            (call, _) => answer_to(&call),
        };
        match trouble {
            Some(Trouble::AnswerLost | Trouble::TooLate(_)) => pending().await,
            _ => answer,
        }
    }

    fn bind(&self, binding: Binding, trouble: Option<Trouble>) -> ExtenderAnswer {
        let Binding {
            pod,
            node,
            caller,
            clock,
            settled_by,
            sent,
        } = binding;
        if trouble == Some(Trouble::Refuses) {
            sent.answered();
            return ExtenderAnswer::NotBound("no device".to_owned());
        }
        let denies = trouble == Some(Trouble::Denies);
        let strays = denies || clock.now() >= settled_by;
        let signed = if strays {
            NOBODY.to_owned()
        } else {
            format!("{NOBODY} for {caller}")
        };
        let name = &pod.name;
        let bound = self
            .0
            .server
            .bind_as(&signed, &name.namespace, &name.name, pod.uid.as_str(), &node);
        sent.answered();
        match bound {
            Err(error) => return ExtenderAnswer::NotBound(error.to_string()),
            Ok(()) if strays => self.lock().deeds.strayed += 1,
            Ok(()) => self.lock().deeds.bound += 1,
        }
        if denies {
            ExtenderAnswer::NotBound("no device".to_owned())
        } else {
            ExtenderAnswer::Bound
        }
    }
}

/// One pod to bind.
struct Binding {
    pod: Arc<Pod>,
    node: String,
    caller: Arc<str>,
    clock: Arc<VirtualClock>,
    /// When the caller takes it for settled, by its own clock.
    settled_by: Moment,
    sent: Sent,
}

type Answer = Result<ExtenderAnswer, String>;

/// Calls the extender from one machine.
struct Caller {
    name: Arc<str>,
    link: Link,
    clock: Arc<VirtualClock>,
    extender: SimulatedExtender,
}

impl Caller {
    /// As whoever performs calls does, it gives up when the time of the call is up.
    fn call(&self, request: ExtenderRequest, gate: Gate) -> BoxFuture<'static, Answer> {
        let ExtenderRequest { extender, call } = request;
        let limit = extender.time_limit();
        let settled_by = self.clock.now() + limit;
        let (name, link, clock) = (Arc::clone(&self.name), self.link.clone(), Arc::clone(&self.clock));
        let extender = self.extender.clone();
        let calling = async move {
            link.leave().await;
            if !gate() {
                return never_sent(&call);
            }
            let binding = match &call {
                ExtenderCall::Bind { pod, node } => Some(Binding {
                    sent: extender
                        .0
                        .judge
                        .sent_through_extender(&name, pod, node, (&clock, settled_by)),
                    pod: Arc::clone(pod),
                    node: node.to_string(),
                    caller: name,
                    clock,
                    settled_by,
                }),
                _ => None,
            };
            let acting = extender.0.acting.clone();
            let answer = acting.spawn(extender.answer(call, binding, limit)).await;
            link.come_in().await;
            answer.unwrap_or_else(|error| Err(error.to_string()))
        };
        async move {
            let answered = tokio::time::timeout(limit, calling).await;
            answered.unwrap_or_else(|_| Err(TIME_IS_UP.to_owned()))
        }
        .boxed()
    }
}

fn never_sent(call: &ExtenderCall) -> Answer {
    let words = "the term is over".to_owned();
    match call {
        ExtenderCall::Bind { .. } => Ok(ExtenderAnswer::NotBound(words)),
        _ => Err(words),
    }
}

impl PerformEffect for Caller {
    fn perform(&self, request: EffectRequest) -> BoxFuture<'static, EffectReply> {
        self.perform_while(request, Arc::new(|| true))
    }

    fn perform_while(&self, request: EffectRequest, gate: Gate) -> BoxFuture<'static, EffectReply> {
        let Ok(requests) = request.downcast::<Vec<ExtenderRequest>>() else {
            return futures::future::ready(Err("not a request to extenders".to_owned())).boxed();
        };
        let calls: Vec<_> = requests
            .into_iter()
            .map(|request| self.call(request, Arc::clone(&gate)))
            .collect();
        async move {
            let reply: EffectReply = Ok(Box::new(join_all(calls).await));
            reply
        }
        .boxed()
    }
}

fn answer_to(call: &ExtenderCall) -> Answer {
    match call {
        ExtenderCall::Filter { pod, nodes } => {
            let (passing, refused): (Vec<_>, Vec<_>) =
                names(nodes).into_iter().partition(|node| lets(&pod.name.name, node));
            Ok(ExtenderAnswer::Filtered {
                nodes: passing.into_iter().map(Into::into).collect(),
                failed: Vec::new(),
                unresolvable: refused
                    .into_iter()
                    .map(|node| (node.into(), "no device".to_owned()))
                    .collect(),
            })
        }
        ExtenderCall::Prioritize { pod, nodes } => {
            let score = |node: String| {
                let score = i64::try_from(mix(&pod.name.name, &node) % 11).unwrap_or(0);
                (node.into(), score)
            };
            Ok(ExtenderAnswer::Prioritized(
                names(nodes).into_iter().map(score).collect(),
            ))
        }
        ExtenderCall::Preempt { pod, candidates } => {
            let let_on = candidates.iter().filter(|victims| lets(&pod.name.name, &victims.node));
            let choice = |victims: &ExtenderVictims| ExtenderChoice {
                node: victims.node.clone(),
                pods: victims.pods.iter().map(|pod| pod.uid.clone()).collect(),
                violations: victims.violations,
            };
            Ok(ExtenderAnswer::Preempted(let_on.map(choice).collect()))
        }
        ExtenderCall::Bind { .. } => Err("nobody said for whom".to_owned()),
    }
}

fn names(nodes: &ExtenderNodes) -> Vec<String> {
    match nodes {
        ExtenderNodes::Names(names) => names.iter().map(ToString::to_string).collect(),
        ExtenderNodes::Objects(nodes) => nodes.iter().map(|node| node.name.to_string()).collect(),
    }
}

/// Whether the extender lets a pod on a node. The nodes that come last, or for one pod, take everything.
pub fn lets(pod: &str, node: &str) -> bool {
    !node.starts_with('n') || !mix(pod, node).is_multiple_of(4)
}

/// The same for the same two names.
fn mix(pod: &str, node: &str) -> u64 {
    let bytes = pod.bytes().chain(node.bytes());
    let mixed = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |mixed, byte| {
        (mixed ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    mixed >> 32
}
