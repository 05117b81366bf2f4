//! Judges a run while it goes on: each write as it is made, and each binding as it is sent.
//!
//! A binding that was sent and has no answer may still be applied, so it counts on its node until the server's time-out
//! for it is over. What others do (another scheduler, whoever shrinks a node or resizes a pod) counts from when the
//! replica's columns show it; a binding that was decided before and goes past the line with it is excluded, by this name,
//! and counted.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plimsoll_apiserver::{ApiServer, Mutation};
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
    /// What they showed when each binding was decided, by replica and path.
    decided: BTreeMap<(String, String), Decided>,
    under_way: BTreeMap<u64, UnderWay>,
    next: u64,
    counts: Counts,
    found: Vec<String>,
}

#[derive(Debug, Clone, Copy)]
struct Decided {
    known: Knowledge,
    /// It has been answered: the next one is decided anew.
    over: bool,
}

#[derive(Debug)]
struct UnderWay {
    replica: String,
    path: String,
    uid: String,
    node: String,
    until: Instant,
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
        if let Some(binding) = state.under_way.remove(&self.id)
            && let Some(decided) = state.decided.get_mut(&(binding.replica, binding.path))
        {
            decided.over = true;
        }
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

    /// A message has reached an actor of a replica: the cycle's columns may show more.
    pub fn arrived(&self, replica: &str, to: &str, summary: &str) {
        if to != "SchedulingCycle" || !summary.starts_with("Changes ") {
            return;
        }
        let version = |mark: &str| {
            let (_, rest) = summary.split_once(mark)?;
            rest.split(' ').next()?.parse::<u64>().ok()
        };
        let mut state = self.lock();
        let known = state
            .known
            .entry(replica.to_owned())
            .or_insert(Knowledge { pods: 0, nodes: 0 });
        known.pods = known.pods.max(version("pods@").unwrap_or(0));
        known.nodes = known.nodes.max(version("nodes@").unwrap_or(0));
    }

    /// A replica wants to send the binding at this path: that is when it was decided, unless it repeats one.
    pub fn asked(&self, replica: &str, path: &str) {
        let mut state = self.lock();
        let known = state
            .known
            .get(replica)
            .copied()
            .unwrap_or(Knowledge { pods: 0, nodes: 0 });
        let decided = state.decided.entry((replica.to_owned(), path.to_owned()));
        let decided = decided.or_insert(Decided { known, over: true });
        if decided.over {
            *decided = Decided { known, over: false };
        }
    }

    /// A binding has left a replica. From now on it counts on its node.
    pub fn sent(&self, replica: &str, path: &str, uid: &str, node: &str, until: Instant) -> Sent {
        let mut state = self.lock();
        state.catch_up();
        state.counts.sent += 1;
        state.check_sent(replica, path, uid, node);
        state.next += 1;
        let id = state.next;
        let binding = UnderWay {
            replica: replica.to_owned(),
            path: path.to_owned(),
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
        self.lock().counts
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
        let path = binding_path(&text(object, "/metadata/namespace"), &text(object, "/metadata/name"));
        let known = self.known_for(replica, &path);
        let node = text(object, "/spec/nodeName");
        let when = format!("with {} at version {}", text(object, "/metadata/name"), mutation.rv);
        self.judge(&node, &[], known, &when);
    }

    fn check_sent(&mut self, replica: &str, path: &str, uid: &str, node: &str) {
        let now = Instant::now();
        let known = self.known_for(replica, path);
        let cluster = &self.cluster;
        let pending = |uid: &str| cluster.pod(uid).is_some_and(|pod| pod.placed.is_none());
        if !pending(uid) {
            return;
        }
        let open = self.under_way.values();
        let open = open.filter(|binding| binding.node == node && binding.until > now && pending(&binding.uid));
        let mut coming: Vec<String> = open.map(|binding| binding.uid.clone()).collect();
        coming.push(uid.to_owned());
        coming.sort_unstable();
        coming.dedup();
        let name = cluster.pod(uid).map_or_else(String::new, |pod| pod.name.clone());
        let coming: Vec<&str> = coming.iter().map(String::as_str).collect();
        let when = format!("with {name} sent by {replica} and {} in all under way", coming.len());
        self.judge(node, &coming, known, &when);
    }

    fn known_for(&self, replica: &str, path: &str) -> Knowledge {
        let key = (replica.to_owned(), path.to_owned());
        self.decided.get(&key).map_or(Knowledge::ALL, |decided| decided.known)
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
}

/// Where a binding is posted to.
fn binding_path(namespace: &str, pod: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/pods/{pod}/binding")
}
