//! Judges a run while it goes on: each write as it is made, and each binding as it is sent.
//!
//! A binding that was sent and has no answer may still be applied, so it counts on its node until the server's time-out
//! for it is over; one that an extender is to make, until the time of the call is up. What others do (another scheduler, whoever shrinks a node or resizes a pod) counts from when the
//! replica's columns show it; a binding that was decided before and goes past the line with it is excluded, by this name,
//! and counted. It is decided where a pod goes when the cycle asks for the next one; what follows may take its time. An extender
//! that binds after the time of the call is up is one of those others.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plimsoll_apiserver::{ApiServer, Mutation};
use plimsoll_client::{Clock, VirtualClock};
use plimsoll_model::{Moment, Pod};
use tokio::time::Instant;

use super::cluster::{Cluster, Knowledge, replica, text};

/// The judge of one run. Clones share one state.
#[derive(Clone)]
pub struct Judge(Arc<Mutex<State>>);

struct State {
    server: ApiServer,
    taken: usize,
    cluster: Cluster,
    /// What each replica's columns show.
    known: BTreeMap<String, Knowledge>,
    /// The pod that each replica's cycle tries, and what the columns show as far as it is judged by them.
    tried: BTreeMap<String, (String, Knowledge)>,
    /// What they showed when it was decided where a pod goes, by replica and pod.
    decided: BTreeMap<(String, String), Knowledge>,
    under_way: BTreeMap<u64, UnderWay>,
    next: u64,
    counts: Counts,
    found: Vec<String>,
}

#[derive(Debug)]
struct UnderWay {
    uid: String,
    node: String,
    until: Until,
}

/// How long a binding without an answer may still be applied.
#[derive(Debug)]
pub enum Until {
    /// To the server's time-out.
    TimeOut(Instant),
    /// To this time on the clock of whoever sent it.
    By(Arc<VirtualClock>, Moment),
}

impl Until {
    fn is_to_come(&self) -> bool {
        match self {
            Self::TimeOut(until) => *until > Instant::now(),
            Self::By(clock, until) => *until > clock.now(),
        }
    }
}

/// What the judge saw.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    /// Bindings sent.
    pub sent: u64,
    /// Bindings that got no definite answer from the server.
    pub unknown: u64,
    /// Bindings past the line of a node that somebody else changed inside the delivery window.
    pub excluded: u64,
    /// Bindings against what claims and volumes say, by others, or after others had taken a claim away or used it.
    pub excluded_by_claims: u64,
}

/// A binding on its way. Dropped unanswered, it may be applied until its time-out.
pub struct Sent {
    judge: Judge,
    id: u64,
    definite: bool,
}

impl Sent {
    /// The server has decided.
    pub fn answered(mut self) {
        self.definite = true;
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        let mut state = self.judge.lock();
        if !self.definite {
            state.counts.unknown += 1;
            return;
        }
        state.under_way.remove(&self.id);
    }
}

impl Judge {
    /// The judge of runs against this server.
    pub fn new(server: ApiServer) -> Self {
        Self(Arc::new(Mutex::new(State {
            server,
            taken: 0,
            cluster: Cluster::default(),
            known: BTreeMap::new(),
            tried: BTreeMap::new(),
            decided: BTreeMap::new(),
            under_way: BTreeMap::new(),
            next: 0,
            counts: Counts::default(),
            found: Vec::new(),
        })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A message has reached an actor of a replica. The cycle takes them up in this order: its columns show more with
    /// changes, and a pod is judged by what came before it, or before the answer that its judgement waited for.
    pub fn arrived(&self, replica: &str, to: &str, summary: &str) {
        if to != "SchedulingCycle" {
            return;
        }
        match summary.split_once(' ') {
            Some(("Changes", _)) => self.learned(replica, summary),
            Some(("Attempt", pod)) => {
                let pod = pod.split(' ').next().unwrap_or_default();
                let mut state = self.lock();
                let known = state.known.get(replica).copied().unwrap_or(Knowledge::NOTHING);
                state.tried.insert(replica.to_owned(), (pod.to_owned(), known));
            }
            Some(("EffectAnswered", _)) => {
                let mut state = self.lock();
                let State { known, tried, .. } = &mut *state;
                if let (Some(now), Some((_, judged_by))) = (known.get(replica), tried.get_mut(replica)) {
                    *judged_by = *now;
                }
            }
            _ => {}
        }
    }

    fn learned(&self, replica: &str, summary: &str) {
        let version = |mark: &str| {
            let (_, rest) = summary.split_once(mark)?;
            rest.split(' ').next()?.parse::<u64>().ok()
        };
        let mut state = self.lock();
        let known = state.known.entry(replica.to_owned()).or_insert(Knowledge::NOTHING);
        known.pods = known.pods.max(version("pods@").unwrap_or(0));
        known.nodes = known.nodes.max(version("nodes@").unwrap_or(0));
    }

    /// A replica's cycle asks for the next pod: it is decided where the last one goes.
    pub fn decided(&self, replica: &str) {
        let mut state = self.lock();
        if let Some((pod, known)) = state.tried.remove(replica) {
            state.decided.insert((replica.to_owned(), pod), known);
        }
    }

    /// An extender is to bind a pod for a replica, and may do so until then by the replica's clock.
    pub fn sent_through_extender(
        &self,
        replica: &str,
        pod: &Pod,
        node: &str,
        (clock, until): (&Arc<VirtualClock>, Moment),
    ) -> Sent {
        let until = Until::By(Arc::clone(clock), until);
        self.sent(replica, (&pod.name.to_string(), pod.uid.as_str()), node, until)
    }

    /// The binding of a pod, by namespace and name and by UID, has left a replica. From now on it counts on its node.
    pub fn sent(&self, replica: &str, (pod, uid): (&str, &str), node: &str, until: Until) -> Sent {
        let mut state = self.lock();
        state.catch_up();
        state.counts.sent += 1;
        state.check_sent(replica, pod, uid, node);
        state.next += 1;
        let id = state.next;
        let binding = UnderWay {
            uid: uid.to_owned(),
            node: node.to_owned(),
            until,
        };
        state.under_way.insert(id, binding);
        drop(state);
        Sent {
            judge: self.clone(),
            id,
            definite: false,
        }
    }

    /// Takes what was written since the last time.
    pub fn look(&self) {
        self.lock().catch_up();
    }

    /// Everything that must not be, so far.
    pub fn found(&self) -> Vec<String> {
        self.look();
        self.lock().found.clone()
    }

    /// What there was to judge.
    pub fn counts(&self) -> Counts {
        let state = self.lock();
        let mut counts = state.counts;
        counts.excluded_by_claims += state.cluster.excluded();
        counts
    }
}

impl State {
    fn catch_up(&mut self) {
        for mutation in self.server.history_after(self.taken) {
            self.taken += 1;
            self.cluster.take(&mutation, &mut self.found);
            if mutation.verb == "bind" && mutation.resource.plural == "pods" {
                self.check_applied(&mutation);
            }
        }
    }

    /// What a replica did must fit by what it knew; what others did does not have to.
    fn check_applied(&mut self, mutation: &Mutation) {
        let Some(replica) = replica(mutation) else { return };
        let object = &mutation.object;
        let (namespace, name) = (text(object, "/metadata/namespace"), text(object, "/metadata/name"));
        let known = self.known_for(replica, &format!("{namespace}/{name}"));
        let node = text(object, "/spec/nodeName");
        let when = format!("with {name} at version {}", mutation.rv);
        self.judge(&node, &[], known, &when);
        self.judge_claims(&text(object, "/metadata/uid"), &[], known, &when);
    }

    fn check_sent(&mut self, replica: &str, pod: &str, uid: &str, node: &str) {
        let known = self.known_for(replica, pod);
        let cluster = &self.cluster;
        let pending = |uid: &str| cluster.pod(uid).is_some_and(|pod| pod.placed.is_none());
        if !pending(uid) {
            return;
        }
        let open = self.under_way.values();
        let open = open.filter(|binding| binding.until.is_to_come() && pending(&binding.uid));
        let (mut coming, mut anywhere) = (vec![uid.to_owned()], Vec::new());
        for binding in open {
            anywhere.push(binding.uid.clone());
            if binding.node == node {
                coming.push(binding.uid.clone());
            }
        }
        coming.sort_unstable();
        coming.dedup();
        let name = cluster.pod(uid).map_or_else(String::new, |pod| pod.name.clone());
        let coming: Vec<&str> = coming.iter().map(String::as_str).collect();
        let anywhere: Vec<&str> = anywhere.iter().map(String::as_str).collect();
        let when = format!("with {name} sent by {replica} and {} in all under way", coming.len());
        self.judge(node, &coming, known, &when);
        self.judge_claims(uid, &anywhere, known, &when);
    }

    fn known_for(&self, replica: &str, pod: &str) -> Knowledge {
        let key = (replica.to_owned(), pod.to_owned());
        self.decided.get(&key).copied().unwrap_or(Knowledge::ALL)
    }

    fn judge(&mut self, node: &str, coming: &[&str], known: Knowledge, when: &str) {
        let Some(past) = self.cluster.past_the_line(node, coming, Knowledge::ALL) else {
            return;
        };
        if self.cluster.past_the_line(node, coming, known).is_none() {
            self.counts.excluded += 1;
            return;
        }
        self.found.push(format!("{past} {when}"));
    }

    /// A claim that is for one pod alone has no other that is bound, or may still be.
    fn judge_claims(&mut self, uid: &str, coming: &[&str], known: Knowledge, when: &str) {
        let Some(shares) = self.cluster.shares_in_vain(uid, coming, Knowledge::ALL) else {
            return;
        };
        if self.cluster.shares_in_vain(uid, coming, known).is_none() {
            self.counts.excluded_by_claims += 1;
            return;
        }
        self.found.push(format!("{shares} {when}"));
    }
}
