//! Whole objects: who needs them, and that nobody goes on who needs some before they are there.

use std::collections::VecDeque;
use std::sync::Arc;

use plimsoll_client::{RawDemand, WatchBatch, WatchEvent, WatchedKind};
use plimsoll_model::RawPolicy;

use super::{InformerCacheState, Kind, Subscribers};
use crate::assembled_config::AssembledConfig;
use crate::mailbox::Reply;

/// What the cache is told to do as soon as it has the whole of the objects that it takes.
#[derive(Debug)]
pub(super) enum Step {
    /// These begin.
    Subscribe(Subscribers),
    /// The subscribers go on with another configuration.
    Reconfigure(Arc<AssembledConfig>),
    /// The subscribers may act; then whoever asked is told.
    Begin(Reply<()>),
}

impl Step {
    fn needs(&self) -> RawPolicy {
        match self {
            Self::Subscribe(subscribers) => subscribers.assembled.raw_policy(),
            Self::Reconfigure(assembled) => assembled.raw_policy(),
            Self::Begin(_) => RawPolicy::NOTHING,
        }
    }
}

/// The JSON of whole objects in the cache.
///
/// What is kept grows with what configurations need and never shrinks while the cache lives. When it grows, the watches
/// concerned list their kinds anew. Until those lists have come, whatever needs them waits, and the term goes on with what
/// it has: a pod whose extender is to be asked always carries what is to be sent.
#[derive(Debug)]
pub(super) struct RawObjects {
    demand: RawDemand,
    /// Of which objects the whole is there, once each kind has been listed.
    have: RawPolicy,
    steps: VecDeque<Step>,
}

impl RawObjects {
    pub(super) fn new(demand: RawDemand) -> Self {
        // Until a kind is listed there is nothing that could be incomplete.
        let have = demand.policy();
        Self {
            demand,
            have,
            steps: VecDeque::new(),
        }
    }

    pub(super) fn ask(&self, policy: RawPolicy) {
        self.demand.ask(policy);
    }

    /// Takes note of a list: whatever it kept is there from now on, since watches go on as their list began.
    pub(super) fn note<K: WatchedKind>(&mut self, batch: &WatchBatch<K::Object>) {
        for event in &batch.events {
            if let WatchEvent::Replace { raw, .. } = event {
                self.have = self.have.or(K::raw(*raw));
            }
        }
    }

    pub(super) fn push(&mut self, step: Step) {
        self.ask(step.needs());
        // Of configurations that wait in a row only the last matters.
        if matches!(
            (&step, self.steps.back()),
            (Step::Reconfigure(_), Some(Step::Reconfigure(_)))
        ) {
            self.steps.pop_back();
        }
        let at = match &step {
            // One may begin with the configuration that one has, however long the next one takes.
            Step::Begin(_) => self.subscribing(),
            _ => self.steps.len(),
        };
        self.steps.insert(at, step);
    }

    /// How many steps there are up to and with the last subscription.
    fn subscribing(&self) -> usize {
        let subscribes = |step: &Step| matches!(step, Step::Subscribe(_));
        self.steps.iter().rposition(subscribes).map_or(0, |at| at + 1)
    }

    /// Whether subscribers cannot be told anything before a kind has been listed whole.
    pub(super) fn hold_up(&self, kind: Kind) -> bool {
        let part: fn(RawPolicy) -> RawPolicy = match kind {
            Kind::Pods => RawPolicy::of_pods,
            Kind::Nodes => RawPolicy::of_nodes,
            _ => return false,
        };
        let mut subscriptions = self.steps.iter().take(self.subscribing());
        subscriptions.any(|step| !self.have.covers(part(step.needs())))
    }

    /// The next step that can be taken.
    fn ready(&mut self) -> Option<Step> {
        let next = self.steps.front()?;
        if self.have.covers(next.needs()) {
            self.steps.pop_front()
        } else {
            None
        }
    }

    pub(super) fn forget_steps(&mut self) {
        self.steps.clear();
    }
}

impl InformerCacheState {
    pub(super) fn take_steps(&mut self) {
        while let Some(step) = self.raw.ready() {
            match step {
                Step::Subscribe(subscribers) => self.subscribe(subscribers),
                Step::Reconfigure(assembled) => self.reconfigure(&assembled),
                Step::Begin(begun) => {
                    self.begin();
                    // A term that is over does not ask any more.
                    begun.send(());
                }
            }
        }
    }
}
