use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use plimsoll_framework::{
    EffectReply, Extender, NoStopwatch, PermitVerdict, PreBindInput, Profile, Sampler, Stopwatch, WaitingPods,
};
use plimsoll_model::columns::Columns;
use plimsoll_model::storage::VolumeWritten;
use plimsoll_model::{Change, Delta, Moment, Node, Pod, Seq, Uid};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

use self::adopting::Adoptions;
use self::claiming::unreserve;
use crate::claim::{Input, Sight};
use crate::cycle::Cycle;
use crate::ledger::Ledger;
use crate::nominations::Nominations;
use crate::plan::Plans;
use crate::preemption::Memory;
use crate::recall::Recall;
use crate::record::Records;
use crate::waits::Waits;
use crate::{Claim, ClaimId, ClaimInput, DropReason, Evaluations, Notice, Outcome, Step, Timeline};

mod adopting;
mod attempt;
mod claiming;
mod confirming;
mod dump;
mod extending;
mod membership;
mod permitting;
mod post_filtering;
mod pre_binding;
mod preempting;
mod prospect;
mod reconfigure;
mod reservations;
mod sampling;
mod settling;
mod standing;
mod timing;
mod trial;

pub use self::dump::{NodeDump, Resources};

/// One scheduling cycle at a time, and every claim; see the crate's docs.
///
/// The columns do not change under a cycle that waits for an effect: changes, and room given up by claims, are held back
/// until the cycle goes on.
pub struct Engine {
    plans: Plans,
    ledger: Ledger,
    nominations: Nominations,
    records: Records,
    /// Which of them wait for which objects before they can be bound.
    waits: Waits,
    memory: Memory,
    recall: Recall,
    adoptions: Adoptions,
    ties: ChaCha8Rng,
    applied: Seq,
    /// Where the next search for feasible nodes begins in the order of nodes, for profiles that do not look at all.
    next_start: usize,
    /// Pods that no profile takes, and whose users have not been told so.
    untold: Vec<Arc<Pod>>,
    /// The cycle that waits for an effect.
    cycle: Option<Box<Cycle>>,
    /// Buffers of the last cycle.
    spare: Option<Box<Cycle>>,
    held: VecDeque<Held>,
    /// The claim that the running cycle has made but not handed out.
    tentative: Option<ClaimId>,
    /// Who waits at Permit, for plugins to look at.
    waiting: WaitingPods,
    /// What plugins have said of these from inside, and nobody has acted on yet.
    verdicts: VecDeque<PermitVerdict>,
    over: bool,
    watch: Arc<dyn Stopwatch>,
    sampler: Sampler,
    /// The next attempt times its plugins, whether it is sampled or not.
    detail_next: bool,
    /// Of the attempt that ended last.
    timeline: Timeline,
    evaluations: Evaluations,
}

/// What a waiting cycle must not see yet.
enum Held {
    Change(Change),
    Recount(Uid),
    Notice(Box<Notice>),
    Step(ClaimId, PreBindInput),
    Plans(Plans, Seq),
}

/// What the cache-size gauges show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheSize {
    /// Nodes.
    pub nodes: usize,
    /// Pods that count on a node, claims included.
    pub pods: usize,
    /// Claims that the watch has not confirmed.
    pub assumed_pods: usize,
}

impl Engine {
    /// An engine that knows of no object yet. Equal seeds and equal calls give equal decisions.
    pub fn new(profiles: Vec<Arc<Profile>>, seed: u64) -> Self {
        Self {
            plans: Plans::new(profiles),
            ledger: Ledger::default(),
            nominations: Nominations::default(),
            records: Records::default(),
            waits: Waits::default(),
            memory: Memory::default(),
            recall: Recall::default(),
            adoptions: Adoptions::default(),
            ties: ChaCha8Rng::seed_from_u64(seed),
            applied: Seq::ZERO,
            next_start: 0,
            untold: Vec::new(),
            cycle: None,
            spare: None,
            held: VecDeque::new(),
            tentative: None,
            waiting: WaitingPods::new(),
            verdicts: VecDeque::new(),
            over: false,
            watch: Arc::new(NoStopwatch),
            sampler: Sampler::default(),
            detail_next: false,
            timeline: Timeline::default(),
            evaluations: Evaluations::default(),
        }
    }

    /// An engine that looks at all nodes for each pod, however many like it came before. What it decides is the same.
    #[must_use]
    pub fn looking_at_all(mut self) -> Self {
        self.recall.turn_off();
        self
    }

    /// Takes in the next change of the stream. While a cycle waits for an effect it is held back.
    pub fn apply(&mut self, change: &Change, now: Moment, out: &mut Vec<Notice>) {
        if self.cycle.is_some() {
            self.held.push_back(Held::Change(change.clone()));
        } else {
            self.absorb(change, now, out);
        }
        self.heed_verdicts(now, out);
    }

    /// The last change that the columns have.
    pub fn applied(&self) -> Seq {
        self.applied
    }

    /// The columns, claims included.
    pub fn columns(&self) -> &Columns {
        self.ledger.columns()
    }

    /// Whether a cycle waits for an effect; no other can begin meanwhile.
    pub fn is_waiting(&self) -> bool {
        self.cycle.is_some()
    }

    /// Tries to place a pod. The version of the pod that the stream last told is judged, so the stream must have been
    /// applied up to the point at which the queue let the pod go. No other cycle may be waiting.
    pub fn begin(&mut self, pod: &Arc<Pod>, now: Moment, out: &mut Vec<Notice>) -> Step {
        debug_assert!(!self.is_waiting(), "cycles are serial");
        self.start(pod, now, out)
    }

    /// Goes on with the reply to the effect that the waiting cycle needs.
    pub fn resume(&mut self, reply: EffectReply, now: Moment, out: &mut Vec<Notice>) -> Step {
        match self.cycle.take() {
            Some(cycle) => self.go_on(cycle, reply, now, out),
            None => Step::Done(Outcome::Dropped(DropReason::NotWaiting)),
        }
    }

    /// After a caught panic: forgets the cycle and the claim it may have made. [`Engine::rebuild`] must follow.
    pub fn abandon(&mut self) {
        self.cycle = None;
        self.spare = None;
        self.forget_times();
        if let Some(id) = self.tentative.take() {
            self.withdraw(id);
        }
    }

    /// Makes the columns anew from the objects and claims, then applies what was held back. Rows may change hands, so no
    /// cycle may be waiting.
    pub fn rebuild(&mut self, now: Moment, out: &mut Vec<Notice>) {
        debug_assert!(!self.is_waiting(), "a waiting cycle knows nodes by their rows");
        self.ledger.rebuild();
        self.recall.clear();
        self.release_held(now, out);
        self.heed_verdicts(now, out);
    }

    /// Takes in an answer of the binding workers. One for a claim that is over is ignored.
    pub fn bind_input(&mut self, claim: ClaimId, input: ClaimInput, now: Moment, out: &mut Vec<Notice>) {
        self.advance_claim(claim, Input::Answer(input), now, out);
        self.heed_verdicts(now, out);
    }

    /// Takes in the reply to pre-bind work.
    pub fn pre_bind_done(&mut self, claim: ClaimId, reply: EffectReply, now: Moment, out: &mut Vec<Notice>) {
        self.on_pre_bind_reply(claim, reply, now, out);
        self.heed_verdicts(now, out);
    }

    /// Takes in what became of a write to an object of storage. While a cycle waits for an effect it is held back.
    pub fn volume_written(&mut self, claim: ClaimId, written: VolumeWritten, now: Moment, out: &mut Vec<Notice>) {
        self.on_volume_written(claim, written, now, out);
        self.heed_verdicts(now, out);
    }

    /// Looks after deadlines that have passed: permits time out, requests are repeated.
    pub fn tick(&mut self, now: Moment, out: &mut Vec<Notice>) {
        for id in self.records.take_due(now) {
            self.on_alarm(id, now, out);
        }
        self.heed_verdicts(now, out);
    }

    /// When [`Engine::tick`] is wanted next.
    pub fn next_deadline(&self) -> Option<Moment> {
        self.records.next_alarm()
    }

    /// The term is over: nothing is sent any more. Claims that have sent something are kept and still take answers.
    pub fn end_term(&mut self, now: Moment, out: &mut Vec<Notice>) {
        self.over = true;
        let ids: Vec<ClaimId> = self.claims().map(Claim::id).collect();
        for id in ids {
            self.on_term_over(id, now, out);
        }
        self.heed_verdicts(now, out);
    }

    /// Gives everything up that claims hold, since nobody will tell the engine anything any more: plugins, which outlive
    /// it, take back what they reserved for each pod that is not known to be bound. Twice does no more.
    pub fn close(&mut self) {
        self.cycle = None;
        self.tentative = None;
        for mut record in self.records.take_all() {
            if !record.claim.is_bound() && !record.claim.is_moved() {
                unreserve(&mut record, &mut self.verdicts, self.watch.as_ref());
            }
        }
        self.waits = Waits::default();
        self.adoptions.end_all();
        self.waiting = WaitingPods::new();
        self.verdicts.clear();
    }

    /// Every claim, oldest first.
    pub fn claims(&self) -> impl Iterator<Item = &Claim> {
        self.records.iter().map(|record| &record.claim)
    }

    /// Every pod without a node and without a claim that the stream has told of, in the order of UIDs. A walk over all pods,
    /// for audits.
    pub fn waiting(&self) -> Vec<Arc<Pod>> {
        self.ledger.waiting()
    }

    /// The claim with this number.
    pub fn claim(&self, id: ClaimId) -> Option<&Claim> {
        self.records.get(id).map(|record| &record.claim)
    }

    /// The extender that the claim's binding went through last, if it did.
    pub fn binder_of(&self, id: ClaimId) -> Option<&Arc<Extender>> {
        let record = self.records.get(id).filter(|record| record.claim.is_delegated())?;
        record.binder.as_ref()
    }

    /// Unassigned pods and the nodes they are nominated to, by node.
    pub fn nominations(&self) -> impl Iterator<Item = (&Uid, &str)> {
        self.nominations.iter()
    }

    /// What the cache-size gauges show.
    pub fn cache_size(&self) -> CacheSize {
        CacheSize {
            nodes: self.ledger.node_count(),
            pods: self.ledger.counted_pods(),
            assumed_pods: self.records.len(),
        }
    }

    fn release_held(&mut self, now: Moment, out: &mut Vec<Notice>) {
        // One by one: should one bring a plugin to panic, the others are not lost.
        while let Some(held) = self.held.pop_front() {
            match held {
                Held::Change(change) => self.absorb(&change, now, out),
                Held::Recount(uid) => self.ledger.recount(&uid),
                Held::Notice(notice) => out.push(*notice),
                Held::Step(id, input) => self.step_held(id, input, now, out),
                Held::Plans(plans, seq) => self.switch(plans, seq, out),
            }
        }
    }

    fn absorb(&mut self, change: &Change, now: Moment, out: &mut Vec<Notice>) {
        match &change.delta {
            Delta::NodeAdded(node) | Delta::NodeUpdated { new: node, .. } => self.on_node(node),
            Delta::NodeDeleted(node) => self.ledger.remove_node(&node.name),
            Delta::PodAdded(pod) => self.on_pod(None, pod, now, out),
            Delta::PodUpdated { old, new } => self.on_pod(Some(old), new, now, out),
            Delta::PodDeleted(pod) => self.on_pod_deleted(pod, now, out),
            Delta::NamespaceChanged { old, new } => {
                self.ledger.change_namespace(old.as_ref(), new.as_ref());
                self.on_namespace(old.as_deref(), new.as_deref());
            }
            Delta::WorkloadSelectorChanged { old, new } => self.ledger.change_workload(old.as_ref(), new.as_ref()),
            Delta::DisruptionBudgetChanged { old, new } => {
                self.ledger.change_disruption_budget(old.as_ref(), new.as_ref());
                if let Some(budget) = new {
                    self.memory.budget_changed(budget);
                }
            }
            Delta::StorageChanged { old, new } => self.ledger.change_storage(old.as_ref(), new.as_ref()),
        }
        self.tell_unmatched(out);
        self.tell_of_ended_nominations(out);
        self.applied = change.seq;
        self.wake_pre_bind(&change.delta, now, out);
    }

    fn on_node(&mut self, node: &Arc<Node>) {
        self.ledger.set_node(node);
    }

    fn on_pod(&mut self, old: Option<&Arc<Pod>>, new: &Arc<Pod>, now: Moment, out: &mut Vec<Notice>) {
        let claim = self.ledger.set_pod(new);
        if new.is_terminating() {
            self.memory.goes(&new.uid);
        }
        if let Some(node) = new.node_name() {
            self.nominations.placed(&new.uid, node);
            self.adoptions.end(&new.uid);
        } else if claim.is_none() {
            self.on_waiting(old.map(Arc::as_ref), new);
        }
        if let Some(claim) = claim {
            let sight = match new.node_name() {
                Some(node) => Sight::Assigned(node),
                None => Sight::Unassigned {
                    terminating: new.is_terminating(),
                },
            };
            self.advance_claim(claim, Input::Sight(sight), now, out);
        }
        self.ledger.recount(&new.uid);
    }

    fn on_pod_deleted(&mut self, pod: &Arc<Pod>, now: Moment, out: &mut Vec<Notice>) {
        self.ledger.remove_pod(&pod.uid);
        self.memory.goes(&pod.uid);
        self.nominations.remove(&pod.uid);
        self.adoptions.end(&pod.uid);
        if let Some(claim) = self.ledger.claim_of(&pod.uid) {
            self.advance_claim(claim, Input::Sight(Sight::Deleted), now, out);
        }
        self.ledger.recount(&pod.uid);
    }

    /// Tells of room that was kept for pods, where no change of theirs does: who was turned away for it may fit now.
    fn tell_of_ended_nominations(&mut self, out: &mut Vec<Notice>) {
        let ended = self.nominations.take_ended_unseen().into_iter();
        out.extend(ended.map(|(pod, node)| Notice::Released { pod, node }));
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("applied", &self.applied)
            .field("waiting", &self.is_waiting())
            .field("cache_size", &self.cache_size())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
