use std::sync::Arc;

use plimsoll_client::PatchReply;
use plimsoll_engine::{ClaimId, ClaimInput, ClaimState, ReadResult};
use plimsoll_model::storage::VolumeWritten;
use plimsoll_model::{Change, Delta, Moment, Pod, Seq, Uid};
use ractor::ActorProcessingErr;

use super::SchedulingCycleState;
use crate::auditor::{
    Account, AuditMarker, ClaimAccount, CycleAccount, Discrepancy, Finding, Restatement, Restatements,
};
use crate::scheduling_queue::QueueMessage;

impl SchedulingCycleState {
    /// The marker comes from the queue, behind every pod that was handed out. It goes back behind every pod that was settled.
    pub(super) fn give_account(&mut self, marker: AuditMarker, now: Moment) {
        let waiting = self.waiting.as_ref().map(|attempt| &attempt.popped);
        let attempts = waiting.into_iter().chain(&self.current).chain(self.awaited_pod());
        let answers_lost = self.answers_lost() > 0;
        let claims = self.engine.claims().map(|claim| ClaimAccount {
            id: claim.id(),
            uid: claim.pod().uid.clone(),
            state: claim.state(),
            asked: self.asked.get(&claim.id()).copied(),
            writes_volume: self.engine.writes_volume(claim.id()) && !self.volume_writes.is_put_off(claim.id()),
            holds_volumes: self.engine.holds_volumes(claim.id()),
        });
        marker.tell(Account::Cycle(CycleAccount {
            at: now,
            applied: self.engine.applied(),
            attempts: attempts.map(|popped| popped.pod.uid.clone()).collect(),
            claims: claims.collect(),
            reserving: self.engine.reserving_pods(),
            waiting: self.engine.waiting().iter().map(|pod| pod.uid.clone()).collect(),
            idle: self.is_idle(),
            answers_lost,
        }));
        self.queue.tell(QueueMessage::AuditReturn(marker));
    }

    /// Whether it has asked for a pod and got none yet; before the term has begun it asks for none.
    fn is_idle(&self) -> bool {
        let decides = self.waiting.is_some() || self.current.is_some() || self.awaited.is_some();
        self.before_begin.is_none() && !decides && !self.stopping
    }

    /// How many answers of the workers are certainly neither here nor on their way: one that is on its way waits in the
    /// mailbox, among other messages.
    fn answers_lost(&self) -> u64 {
        // In this order: what comes in between makes the mailbox fuller.
        let under_way = self.workers.answers().saturating_sub(self.answers);
        let waiting = u64::try_from(self.mailbox.depth().get()).unwrap_or(0);
        under_way.saturating_sub(waiting)
    }

    pub(super) fn take_truth(&mut self, restatements: &Restatements, now: Moment) -> Result<(), ActorProcessingErr> {
        for Restatement { discrepancy, pod, .. } in restatements.pods.iter() {
            let Discrepancy { uid, finding } = discrepancy;
            match *finding {
                Finding::Unheard => self.hear_again(pod.as_ref(), restatements.seq, now),
                Finding::OrphanedClaim { claim } => self.see_again(claim, pod.as_ref(), restatements.seq, now),
                Finding::Unanswered { claim, asked } => self.take_for_unknown(uid, claim, asked, now),
                Finding::OrphanedReservation | Finding::MissingReservation => self.engine.settle_reservation(uid),
                Finding::Overdue { .. } => self.tick(now),
                Finding::Missing
                | Finding::Stale
                | Finding::Abandoned { .. }
                | Finding::TwoOwners
                | Finding::Unasked { .. } => {}
            }
        }
        self.begin_waiting(now)
    }

    /// A pod comes in that the stream has brought to everybody else.
    fn hear_again(&mut self, pod: Option<&Arc<Pod>>, seq: Seq, now: Moment) {
        let Some(pod) = pod else { return };
        let mut notices = Vec::new();
        let delta = Delta::PodAdded(Arc::clone(pod));
        let change = Change { seq, delta };
        self.engine.apply(&change, now, &mut notices);
        self.pass_on(std::slice::from_ref(&change));
        self.act_on(notices, now);
    }

    /// The watch's word about a claim's pod once more; the claim ends by its own rules, or does not.
    fn see_again(&mut self, claim: ClaimId, pod: Option<&Arc<Pod>>, seq: Seq, now: Moment) {
        let Some(claim) = self.engine.claim(claim) else { return };
        let delta = match pod {
            Some(pod) => Delta::PodAdded(Arc::clone(pod)),
            None => Delta::PodDeleted(Arc::clone(claim.pod())),
        };
        let mut notices = Vec::new();
        let change = Change { seq, delta };
        self.engine.apply(&change, now, &mut notices);
        self.pass_on(std::slice::from_ref(&change));
        self.act_on(notices, now);
    }

    /// An answer that does not come leaves the outcome unknown, and a claim knows what to do then. A status patch that has
    /// no answer either no longer holds the binding back.
    fn take_for_unknown(&mut self, uid: &Uid, claim: ClaimId, asked: Option<Moment>, now: Moment) {
        let Some(state) = self.engine.claim(claim).map(plimsoll_engine::Claim::state) else {
            return;
        };
        if self.asked.get(&claim).copied() != asked {
            return;
        }
        // Some answer is lost, and this one may be on its way: a volume's attempt is not thrown away for that.
        let may_come = asked.is_some_and(|asked| now.since(asked) < self.token.write_timeout());
        if self.engine.writes_volume(claim) && may_come {
            return;
        }
        let message = "its answer was lost".to_owned();
        let lost = PatchReply::Refused {
            code: 0,
            message: message.clone(),
        };
        for job in self.status_writes.answered(uid, &lost, now) {
            self.workers.dispatch(job);
        }
        let through = self.engine.binder_of(claim).map(|extender| extender.time_limit());
        if self.engine.writes_volume(claim) {
            self.answers += self.answers_lost();
            self.volume_writes.forget(claim);
            return self.tell_written(claim, VolumeWritten::Unknown(message), now);
        }
        let input = match state {
            ClaimState::Sent | ClaimState::Seen => ClaimInput::Unknown {
                settled_by: now + through.unwrap_or_else(|| self.token.write_timeout()),
            },
            ClaimState::Checking { .. } => ClaimInput::Read(ReadResult::Failed),
            _ => return,
        };
        // What was lost is not waited for any more: else every later audit would find it again.
        self.answers += self.answers_lost();
        self.asked.remove(&claim);
        let mut notices = Vec::new();
        self.engine.bind_input(claim, input, now, &mut notices);
        self.act_on(notices, now);
    }
}
