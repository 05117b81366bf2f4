//! What the cycle tells of one pod: its attempts, its claim, and what would help it.

use std::sync::Arc;

use compact_str::CompactString;
use jiff::Timestamp;
use plimsoll_engine::{Awaits, Prospect, Standing};
use plimsoll_framework::Membership;
use plimsoll_model::{Moment, Pod};

use super::SchedulingCycleState;
use crate::attempt_record::AttemptRecord;
use crate::mailbox::Reply;

/// The cycle's part of the answer to why a pod is pending.
#[derive(Debug, Clone)]
pub struct CycleAccount {
    /// The time of the account, by the clock of its moments.
    pub at: Moment,
    /// The same, by the wall clock.
    pub wall: Timestamp,
    /// Which profile takes the pod.
    pub membership: Membership,
    /// Its cycle goes on now, since when.
    pub being_tried: Option<Moment>,
    /// What its cycle waits for.
    pub awaits: Option<Awaits>,
    /// Its cycle waits for its victims.
    pub awaits_victims: bool,
    /// How far its claim has come.
    pub standing: Option<Standing>,
    /// The node that it is nominated to.
    pub nominated: Option<CompactString>,
    /// Its last attempts, the last one first.
    pub attempts: Vec<Arc<AttemptRecord>>,
    /// What would help it; found out only for a pod without a node.
    pub prospect: Option<Prospect>,
}

/// Somebody who asks while a cycle waits for an effect: the columns are that cycle's until it goes on.
#[derive(Debug)]
pub(super) struct Inquiry {
    pod: Arc<Pod>,
    reply: Reply<Box<CycleAccount>>,
}

impl SchedulingCycleState {
    /// Answers now, or as soon as no cycle waits.
    pub(super) fn explain_pod(&mut self, pod: Arc<Pod>, reply: Reply<Box<CycleAccount>>, now: Moment) {
        let waits_itself = self.engine.awaited_for(&pod.uid).is_some();
        if self.engine.is_waiting() && !waits_itself {
            self.inquiries.retain(|inquiry| !inquiry.reply.is_closed());
            self.inquiries.push(Inquiry { pod, reply });
        } else {
            reply.send(Box::new(self.account_of(&pod, now)));
        }
    }

    /// Answers those who have waited.
    pub(super) fn answer_inquiries(&mut self, now: Moment) {
        if self.inquiries.is_empty() || self.engine.is_waiting() {
            return;
        }
        for Inquiry { pod, reply } in std::mem::take(&mut self.inquiries) {
            if !reply.is_closed() {
                reply.send(Box::new(self.account_of(&pod, now)));
            }
        }
    }

    fn account_of(&mut self, pod: &Arc<Pod>, now: Moment) -> CycleAccount {
        let uid = &pod.uid;
        // The cache may be ahead of the columns, or behind them.
        let pod = self.engine.pod(uid).unwrap_or(pod).clone();
        let membership = self.engine.membership(&pod);
        let standing = self.engine.standing_of(uid);
        let is_open = standing.is_none() && pod.node_name().is_none() && !pod.is_terminating();
        let current = self.current.as_ref().is_some_and(|popped| popped.pod.uid == *uid);
        let awaits_victims = self.awaited_pod().is_some_and(|popped| popped.pod.uid == *uid);
        let prospect = (is_open && !self.engine.is_waiting()).then(|| self.engine.prospect(&pod, now));
        CycleAccount {
            at: now,
            wall: self.clock.wall(),
            membership,
            being_tried: self
                .attempted
                .get(uid)
                .filter(|_| current || awaits_victims)
                .map(|attempted| attempted.begun),
            awaits: self.engine.awaited_for(uid),
            awaits_victims,
            standing,
            nominated: self.engine.nominated_node(uid).map(CompactString::from),
            attempts: self.past.of(uid),
            prospect: prospect.flatten(),
        }
    }

    /// Keeps the record of a failed attempt for as long as the pod is pending.
    pub(super) fn keep_attempt(&mut self, record: &Arc<AttemptRecord>) {
        let known = self.engine.pod(&record.pod.uid);
        // A pod that went meanwhile is pending no more.
        if known.is_some_and(|pod| pod.node_name().is_none()) {
            self.past.note(Arc::clone(record));
        }
    }
}
