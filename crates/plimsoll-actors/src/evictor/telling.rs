//! What is kept of preemptions under way, for those who tell of them.

use std::collections::BTreeMap;

use plimsoll_engine::PreemptionPlan;
use plimsoll_model::{Moment, Uid};

use super::preemptions::{Ending, Over};
use super::request::{Answer, What};
use crate::attempt_record::{Call, CallKind, Calls, PodIdentity};
use crate::call_outcome;
use crate::trace_context::TraceContext;
use crate::tracer::{PreemptionRecord, TracerMessage, Tracing, VictimRecord};

/// What of a preemption is not told yet.
#[derive(Debug)]
pub(super) struct Telling {
    tracing: Option<Tracing>,
    term: u64,
    open: BTreeMap<Uid, PreemptionRecord>,
    /// Whose end is told after the next one for the same pod has begun.
    replaced: BTreeMap<Uid, PreemptionRecord>,
    /// Requests under way, by victim.
    asked: BTreeMap<Uid, (CallKind, Moment)>,
}

impl Telling {
    pub(super) fn to(tracing: Option<Tracing>, term: u64) -> Self {
        Self {
            tracing,
            term,
            open: BTreeMap::new(),
            replaced: BTreeMap::new(),
            asked: BTreeMap::new(),
        }
    }

    /// A preemption begins that this attempt has planned, or an earlier leader.
    pub(super) fn begin(&mut self, plan: &PreemptionPlan, rejected: &[Uid], attempt: Option<u64>, now: Moment) {
        if self.tracing.is_none() {
            return;
        }
        let victims = plan.victims.iter().map(|victim| VictimRecord {
            trace: TraceContext::of(&victim.pod),
            pod: PodIdentity::of(&victim.pod),
            in_memory: rejected.contains(&victim.pod.uid),
            gone: None,
            calls: Calls::default(),
        });
        let record = PreemptionRecord {
            trace: TraceContext::of(&plan.preemptor),
            term: self.term,
            attempt,
            preemptor: PodIdentity::of(&plan.preemptor),
            node: plan.node.clone(),
            begun: now,
            ended: now,
            ending: "",
            failed: false,
            victims: victims.collect(),
        };
        let uid = plan.preemptor.uid.clone();
        if let Some(before) = self.open.insert(uid.clone(), record) {
            self.replaced.insert(uid, before);
        }
    }

    /// A request about a victim goes out.
    pub(super) fn sent(&mut self, victim: &Uid, what: &What, now: Moment) {
        if self.tracing.is_some() {
            let kind = match what {
                What::Mark(_) => CallKind::MarkVictim,
                What::Delete | What::Evict => CallKind::RemoveVictim,
                What::Read => CallKind::Read,
            };
            self.asked.insert(victim.clone(), (kind, now));
        }
    }

    /// It has its answer.
    pub(super) fn answered(&mut self, victim: &Uid, answer: &Answer, now: Moment) {
        let Some((what, begun)) = self.asked.remove(victim) else {
            return;
        };
        let (outcome, error) = match answer {
            Answer::Marked(reply) => call_outcome::of_patch(reply),
            Answer::Removed(reply) => call_outcome::of_removal(reply),
            Answer::Read(read) => call_outcome::of_read(read),
        };
        for record in self.records_of(victim) {
            let tries = record.calls.calls.iter().filter(|call| call.what == what).count();
            record.calls.push(Call {
                what: what.clone(),
                begun,
                ended: now,
                attempt: u32::try_from(tries).unwrap_or(u32::MAX).saturating_add(1),
                outcome,
                error: error.clone(),
            });
        }
    }

    /// A pod is seen to be gone, which may be a victim.
    pub(super) fn gone(&mut self, victim: &Uid, now: Moment) {
        for record in self.records_of(victim) {
            record.gone = Some(now);
        }
    }

    fn records_of(&mut self, victim: &Uid) -> impl Iterator<Item = &mut VictimRecord> {
        let records = self.open.values_mut().chain(self.replaced.values_mut());
        let victims = records.flat_map(|record| &mut record.victims);
        victims.filter(move |record| record.pod.uid == *victim)
    }

    /// A preemption is over.
    pub(super) fn end(&mut self, over: &Over, now: Moment) {
        let open = match over.ending {
            Ending::Replaced => &mut self.replaced,
            _ => &mut self.open,
        };
        if let (Some(tracing), Some(mut record)) = (&self.tracing, open.remove(&over.preemptor)) {
            record.ended = now;
            record.ending = over.ending.as_str();
            record.failed = over.ending == Ending::Failed;
            tracing.tell(TracerMessage::Preemption(Box::new(record)));
        }
    }
}
