//! What a replica runs on.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use plimsoll_actors::mailbox::Tap;
use plimsoll_client::{Clock, VirtualClock};

use crate::invariants::judge::Judge;
use crate::link::{Delays, Link};
use crate::post::{Pace, Post};
use crate::terms::Terms;
use crate::trace::{ReplicaTap, Trace};

/// A clock of its own, the post between the actors on it, and a way to the API server that can be cut.
pub struct Machine {
    name: String,
    pub(super) clock: Arc<VirtualClock>,
    pub(super) link: Link,
    post: Post,
    stopped: bool,
}

/// How a machine's clock differs from the others.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClockFault {
    /// By how much its wall clock is off.
    pub skew: SignedDuration,
    /// Parts per million by which it runs fast, or slow.
    pub drift: i64,
}

impl Machine {
    pub(super) fn new(name: &str, seed: u64, wall: Timestamp, fault: ClockFault, judge: &Judge) -> Self {
        let clock = VirtualClock::new(wall).with_skew(fault.skew).with_drift(fault.drift);
        let (judge, replica) = (judge.clone(), name.to_owned());
        Self {
            name: name.to_owned(),
            clock: Arc::new(clock),
            link: Link::new(seed),
            post: Post::new(seed ^ 0x9057, move |to, summary| judge.arrived(&replica, to, summary)),
            stopped: false,
        }
    }

    /// The identity of the replica on it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its clock, which can be made to jump as after a suspension.
    pub fn clock(&self) -> &VirtualClock {
        &self.clock
    }

    /// Its way to the API server.
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// The post between its actors.
    pub fn post(&self) -> &Post {
        &self.post
    }

    /// Lets messages, requests and answers take their time.
    pub fn slow_down(&self, pace: Pace, delays: Delays) {
        self.post.set_pace(pace);
        self.link.set_delays(delays);
    }

    /// Stops its process, as SIGSTOP does: nothing goes in or out, and time passes.
    pub fn stop(&mut self) {
        self.stopped = true;
        self.link.stop();
        self.post.stop();
    }

    /// Lets it go on, as SIGCONT does: what has waited comes at once.
    pub fn resume(&mut self) {
        self.stopped = false;
        self.post.resume();
        self.link.resume();
    }

    /// Whether its process is stopped.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    pub(super) fn tap(&self, trace: &Trace, terms: &Terms, judge: &Judge) -> Arc<dyn Tap> {
        Arc::new(ReplicaTap {
            replica: self.name.clone(),
            trace: trace.clone(),
            post: self.post.clone(),
            clock: Arc::clone(&self.clock),
            terms: terms.clone(),
            judge: judge.clone(),
        })
    }

    /// Its clock, to be kept.
    pub(crate) fn shared_clock(&self) -> Arc<VirtualClock> {
        Arc::clone(&self.clock)
    }

    /// The clock as what runs on the machine knows it.
    pub(super) fn time(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock) as _
    }
}
