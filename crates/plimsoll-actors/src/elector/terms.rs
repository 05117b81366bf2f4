//! How a term begins, is watched, ends, and what comes after it.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_client::{LeaseReply, TermToken};
use plimsoll_model::Moment;

use super::election::Request;
use super::{ElectorState, Phase, StepDown};
use crate::scheduling_cycle::CycleMessage;
use crate::scheduling_queue::QueueMessage;
use crate::supervisor::SupervisorMessage;

/// A leader whose caches do not catch up in this time has a watch that does not work; another replica's may.
const CATCH_UP: Duration = Duration::from_mins(1);

impl ElectorState {
    /// Whether the term's actors have answered lately; asks them again. A wedged one costs leadership: somebody else may
    /// do better. Waiting for an effect or the API server does not count, since actors answer meanwhile.
    pub(super) fn term_makes_progress(&mut self, now: Moment) -> bool {
        let bound = self.config.renew_deadline;
        if let Some((actor, _)) = self.alive.iter().find(|(_, at)| now.since(**at) > bound) {
            let reason = format!("{actor} has not answered for {} s", bound.as_secs());
            self.step_down(StepDown::TermFailed(reason), now);
            return false;
        }
        if self.running.is_none() && now.since(self.term_began) > CATCH_UP {
            let reason = format!("the caches have not caught up within {} s", CATCH_UP.as_secs());
            self.step_down(StepDown::TermFailed(reason), now);
            return false;
        }
        if let Some((queue, cycle)) = &self.running {
            queue.tell(QueueMessage::Probe(self.mailbox.clone()));
            cycle.tell(CycleMessage::Probe(self.mailbox.clone()));
        }
        true
    }

    pub(super) fn begin_term(&mut self, sent_at: Moment) {
        self.terms += 1;
        let config = &self.config;
        let token = if config.leader_elect {
            TermToken::new(self.terms, sent_at, config.renew_deadline, config.write_timeout())
        } else {
            TermToken::without_election(config.write_timeout())
        };
        if config.leader_elect {
            tracing::info!(
                term = self.terms,
                lease = self.lease.name(),
                "Successfully acquired lease"
            );
            self.metrics.election().leading(true);
        }
        self.tell_users("became leader");
        self.alive.clear();
        self.term_began = self.clock.now();
        self.token = Some(Arc::clone(&token));
        self.supervisor.tell(SupervisorMessage::TermBegan(token));
    }

    /// Leadership is over, by loss or by choice.
    pub(super) fn end_term(&mut self, reason: &str, now: Moment) {
        self.election.resign();
        if let Some(coordination) = &mut self.coordination {
            coordination.withdraw();
        }
        self.running = None;
        // An answer still under way must neither win a term now nor cut standing aside short.
        self.attempt += 1;
        self.asking = false;
        let Some(token) = &self.token else {
            self.term_ended(now);
            return;
        };
        token.cancel();
        tracing::warn!(term = token.number(), reason, "Leadership is over");
        if self.config.leader_elect {
            self.metrics.election().leading(false);
        }
        self.tell_users("stopped leading");
        self.phase = Phase::Ending;
        self.supervisor.tell(SupervisorMessage::TermOver {
            reason: reason.to_owned(),
        });
    }

    pub(super) fn step_down(&mut self, why: StepDown, now: Moment) {
        if self.phase == Phase::Done || self.stepping_down == Some(StepDown::Shutdown) {
            return;
        }
        let reason = why.reason();
        self.stepping_down = Some(why);
        match self.phase {
            // Nothing to give up yet; the caches come first.
            Phase::NotStarted if self.stepping_down != Some(StepDown::Shutdown) => self.stepping_down = None,
            Phase::Standing | Phase::NotStarted => self.end_term(&reason, now),
            // The term is being stopped already; what comes after it is decided then.
            Phase::Ending | Phase::Releasing | Phase::Done => {}
        }
    }

    /// Every actor of the term is gone, or there was no term.
    pub(super) fn term_ended(&mut self, now: Moment) {
        match (&self.stepping_down, &self.token) {
            (Some(_), Some(_)) if self.config.leader_elect => {
                self.phase = Phase::Releasing;
                self.release_when_decided(now);
            }
            _ => self.after_term(now),
        }
    }

    /// Releases the lease as soon as every write of the term has a definite answer or its time-out has passed; the next
    /// leader could otherwise meet a write of ours that it has not seen.
    pub(super) fn release_when_decided(&mut self, now: Moment) {
        let until = self.token.as_ref().map_or(now, |token| token.undecided_until());
        if until > now {
            self.next_try = until;
            return;
        }
        if !self.candidate_is_gone() {
            // A coordinator that still knows of it would give the lease back to us.
            self.next_try = now + self.config.retry_period;
            return;
        }
        self.attempt += 1;
        self.ask(Request::Get);
    }

    pub(super) fn continue_release(&mut self, reply: &LeaseReply, now: Moment) {
        if let LeaseReply::Lease(stored) = reply
            && let Some(request) = self.election.release(stored, self.clock.wall())
        {
            self.attempt += 1;
            self.ask(request);
            return;
        }
        // Freed, somebody else's, or out of reach: then it runs out by itself.
        self.after_term(now);
    }

    /// What comes after a term, or instead of one.
    fn after_term(&mut self, now: Moment) {
        if self.stepping_down == Some(StepDown::Shutdown) {
            self.phase = Phase::Done;
            self.token = None;
            return;
        }
        let undecided_until = self.token.as_ref().map_or(now, |token| token.undecided_until());
        let stand_aside = if self.stepping_down.take().is_some_and(|why| why.stands_aside()) {
            now + self.config.lease_duration
        } else {
            now
        };
        self.token = None;
        self.phase = Phase::Standing;
        self.next_try = stand_aside.max(undecided_until);
    }
}
