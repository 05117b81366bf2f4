use std::sync::Arc;

use plimsoll_model::{Moment, Pod, Seq, Uid};
use plimsoll_queue::{Outcome, Place};

use super::SchedulingQueueState;
use crate::auditor::{Account, AuditMarker, Finding, QueueAccount, Restatement, Restatements, ReturnAccount};
use crate::scheduling_cycle::CycleMessage;

/// Of so many pods at most the history is told: each costs a look through all moves.
const HISTORIES: usize = 20;

impl SchedulingQueueState {
    /// The marker comes from the cache. It goes on behind every pod that was handed out; from here on is written down what
    /// comes back, until the marker does.
    pub(super) fn give_account(&mut self, marker: &AuditMarker, now: Moment) {
        marker.tell(Account::Queue(QueueAccount {
            at: now,
            pods: self.queue.audit(),
            handed_out: self.handed_out,
        }));
        self.settled = Some(Vec::new());
        self.cycle.tell(CycleMessage::Audit(marker.clone()));
    }

    /// The marker comes back from the cycle, behind every pod that was settled.
    pub(super) fn end_account(&mut self, marker: &AuditMarker) {
        marker.tell(Account::Return(ReturnAccount {
            settled: self.settled.take().unwrap_or_default(),
            handed_out: self.handed_out,
            asked: self.cycle_is_ready,
            popping: self.popping,
        }));
    }

    pub(super) fn take_truth(&mut self, restatements: &Restatements, now: Moment) {
        for Restatement { discrepancy, .. } in restatements.pods.iter().take(HISTORIES) {
            self.tell_history(&discrepancy.uid);
        }
        for Restatement {
            discrepancy,
            pod,
            pending,
        } in restatements.pods.iter()
        {
            let uid = &discrepancy.uid;
            match discrepancy.finding {
                Finding::Missing | Finding::Stale => {
                    let pod = pod.as_ref().filter(|_| *pending);
                    self.take_pod_anew(uid, pod, now);
                }
                // The cycle took it for gone.
                Finding::Unheard if *pending && self.queue.place_of(uid) == Some(Place::Placed) => {
                    let judged_at = Seq::ZERO;
                    self.settle(uid.clone(), Outcome::Failed { judged_at }, now);
                }
                Finding::Abandoned { popped_at } => self.take_back_abandoned(uid, popped_at, now),
                Finding::Overdue { .. } => self.queue.tick(now),
                Finding::Unasked { handed_out } if handed_out == self.handed_out => self.cycle_is_ready = true,
                // When the other owner lets go, the pod is settled or the watch shows it.
                Finding::TwoOwners
                | Finding::Unheard
                | Finding::Unasked { .. }
                | Finding::OrphanedClaim { .. }
                | Finding::Unanswered { .. }
                | Finding::OrphanedReservation
                | Finding::MissingReservation => {}
            }
        }
    }

    /// What became of the pod lately, for whoever looks for the bug.
    fn tell_history(&self, uid: &Uid) {
        let moves = self.queue.history_of(uid).into_iter();
        let moves: Vec<_> = moves.map(|step| step.to_string()).collect();
        tracing::error!(%uid, place = ?self.queue.place_of(uid), moves = moves.join(", "), "History of a pod that an audit repairs");
    }

    /// A pending pod comes in if it is not here, and any other is forgotten.
    fn take_pod_anew(&mut self, uid: &Uid, pod: Option<&Arc<Pod>>, now: Moment) {
        match pod {
            Some(pod) => self.queue.repair(pod, now),
            None => self.queue.forget_stale(uid, now),
        };
    }

    /// A pod in flight whose attempt nobody makes is tried again after a backoff, unless another attempt has begun since.
    fn take_back_abandoned(&mut self, uid: &Uid, popped_at: Moment, now: Moment) {
        let same = |(other, place, since): (&Uid, Place, Moment)| {
            other == uid && place == Place::InFlight && since == popped_at
        };
        if self.queue.pods().any(same) {
            let judged_at = Seq::ZERO;
            self.settle(uid.clone(), Outcome::Failed { judged_at }, now);
        }
    }
}
