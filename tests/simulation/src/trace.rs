//! The record of a run: every message between actors, at the virtual time it was sent.

use std::sync::{Arc, Mutex, PoisonError};

use plimsoll_actors::mailbox::Tap;
use tokio::time::Instant;

/// Lines of all replicas of a run, in order.
#[derive(Debug, Clone)]
pub struct Trace {
    started: Instant,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Trace {
    /// An empty trace that counts time from now.
    pub fn start() -> Self {
        // Paused: this is tokio's time, not the machine's.
        Self {
            started: Instant::now(),
            lines: Arc::default(),
        }
    }

    /// The tap of one replica.
    pub fn tap(&self, replica: &str) -> Arc<dyn Tap> {
        Arc::new(ReplicaTap {
            replica: replica.to_owned(),
            trace: self.clone(),
        })
    }

    /// Adds a line of the test's own.
    pub fn note(&self, text: &str) {
        let line = format!("{:10.3} {text}", self.started.elapsed().as_secs_f64());
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    /// Everything so far.
    pub fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

struct ReplicaTap {
    replica: String,
    trace: Trace,
}

impl Tap for ReplicaTap {
    fn sent(&self, to: &'static str, summary: &str) {
        self.trace.note(&format!("{} {to}: {summary}", self.replica));
    }
}
