//! The record of a run: every message between actors, at the virtual time it was sent.

use std::sync::{Arc, Mutex, PoisonError};

use plimsoll_actors::mailbox::{Delivery, Tap};
use plimsoll_client::{TermToken, VirtualClock};
use tokio::time::Instant;

use crate::invariants::judge::Judge;
use crate::post::Post;
use crate::terms::Terms;

/// Lines of all replicas of a run, in order.
#[derive(Debug, Clone)]
pub struct Trace {
    started: Instant,
    lines: Arc<Mutex<Vec<String>>>,
    losses: Arc<Mutex<Vec<Loss>>>,
}

/// Messages that get lost.
#[derive(Debug)]
struct Loss {
    /// All replicas unless one is named.
    of: Option<String>,
    to: &'static str,
    summary: String,
    left: usize,
}

/// What the worker of a factory that ends says of the request that it has under way.
const DROPPED: &str = "the worker stopped during the request";

impl Trace {
    /// An empty trace that counts time from now.
    pub fn start() -> Self {
        // Paused: this is tokio's time, not the machine's.
        Self {
            started: Instant::now(),
            lines: Arc::default(),
            losses: Arc::default(),
        }
    }

    /// Adds a line of the test's own.
    pub fn note(&self, text: &str) {
        let line = format!("{:10.3} {text}", self.started.elapsed().as_secs_f64());
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    /// Loses the next so many messages to the actors of this name whose summaries begin like this: no mailbox ever does, so
    /// it stands for a bug.
    pub fn lose(&self, to: &'static str, summary: &str, times: usize) {
        self.add_loss(None, to, summary, times);
    }

    /// Loses all messages of one replica's actor whose summaries begin like this.
    pub fn lose_all_of(&self, replica: &str, to: &'static str, summary: &str) {
        self.add_loss(Some(replica.to_owned()), to, summary, usize::MAX);
    }

    fn add_loss(&self, of: Option<String>, to: &'static str, summary: &str, times: usize) {
        let mut losses = self.losses.lock().unwrap_or_else(PoisonError::into_inner);
        losses.push(Loss {
            of,
            to,
            summary: summary.to_owned(),
            left: times,
        });
    }

    /// From now on everything arrives.
    pub fn lose_no_more(&self) {
        self.losses.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn loses(&self, replica: &str, to: &str, summary: &str) -> bool {
        let mut losses = self.losses.lock().unwrap_or_else(PoisonError::into_inner);
        let hit = |loss: &&mut Loss| {
            let of = loss.of.as_deref().is_none_or(|of| of == replica);
            of && loss.left > 0 && loss.to == to && summary.starts_with(&loss.summary)
        };
        let Some(loss) = losses.iter_mut().find(hit) else {
            return false;
        };
        loss.left -= 1;
        true
    }

    /// Everything so far. The workers of a factory that ends are dropped in an order that a run does not decide; what each says
    /// of its last request stands in the order of its text.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let dropped: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].contains(DROPPED)).collect();
        // Lines begin with the time, so that these keep to their moments.
        let mut said: Vec<String> = dropped.iter().map(|at| std::mem::take(&mut lines[*at])).collect();
        said.sort_unstable();
        for (at, line) in dropped.into_iter().zip(said) {
            lines[at] = line;
        }
        lines
    }
}

/// What sees the messages of one replica, and has them delivered.
pub(crate) struct ReplicaTap {
    pub(crate) replica: String,
    pub(crate) trace: Trace,
    pub(crate) post: Post,
    pub(crate) clock: Arc<VirtualClock>,
    pub(crate) terms: Terms,
    pub(crate) judge: Judge,
}

impl Tap for ReplicaTap {
    fn sent(&self, to: &'static str, summary: &str) {
        self.trace.note(&format!("{} {to}: {summary}", self.replica));
        if (to, summary) == ("SchedulingQueue", "Ready") {
            self.judge.decided(&self.replica);
        }
        self.terms.check();
    }

    fn delivers(&self, to: &'static str, summary: String, deliver: Delivery) -> bool {
        self.post.takes(to, summary, deliver)
    }

    fn term_began(&self, token: &Arc<TermToken>) {
        self.terms.began(&self.replica, &self.clock, token);
    }

    fn loses(&self, to: &'static str, summary: &str) -> bool {
        let lost = self.trace.loses(&self.replica, to, summary);
        if lost {
            self.trace.note(&format!("{} {to} never gets: {summary}", self.replica));
        }
        lost
    }
}
