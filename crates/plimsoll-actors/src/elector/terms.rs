//! How a term begins, is watched, ends, and what comes after it.

use std::sync::Arc;

use plimsoll_client::{EventType, LeaseReply, Pulse, TermToken};
use plimsoll_model::Moment;

use super::election::Request;
use super::progress::{Look, Progress, Resignation, Respondent};
use super::{ElectorState, Phase, StepDown, TermActors};
use crate::evictor::EvictorMessage;
use crate::informer_cache::CacheMessage;
use crate::scheduling_cycle::CycleMessage;
use crate::scheduling_queue::QueueMessage;
use crate::supervisor::SupervisorMessage;

impl ElectorState {
    /// Whether the term gets on, as far as is known; asks again. One that does not costs leadership: somebody else may do
    /// better.
    pub(super) fn term_makes_progress(&mut self, now: Moment) -> bool {
        let Some(mut progress) = self.progress.take() else {
            return true;
        };
        let look = progress.look(now, |who| self.pulse_of(who));
        self.progress = Some(progress);
        match look {
            Look::GoesOn(ask) => {
                for who in ask {
                    self.probe(who);
                }
                true
            }
            Look::Resign(resignation, words) => {
                self.step_down(StepDown::Resign(resignation, words), now);
                false
            }
        }
    }

    fn pulse_of(&self, who: Respondent) -> u64 {
        let of_term =
            |pulse: fn(&TermActors) -> &Pulse| self.running.as_ref().map_or(0, |actors| pulse(actors).count());
        match who {
            Respondent::InformerCache => self.cache.pulse().count(),
            Respondent::SchedulingQueue => of_term(|actors| actors.queue.pulse()),
            Respondent::SchedulingCycle => of_term(|actors| actors.cycle.pulse()),
            Respondent::BindingWorkers => of_term(|actors| actors.workers.pulse()),
            Respondent::Evictor => of_term(|actors| actors.evictor.pulse()),
        }
    }

    fn probe(&self, who: Respondent) {
        let elector = self.mailbox.clone();
        if who == Respondent::InformerCache {
            self.cache.tell(CacheMessage::Probe(elector));
            return;
        }
        let Some(actors) = &self.running else { return };
        match who {
            Respondent::InformerCache => {}
            Respondent::SchedulingQueue => {
                actors.queue.tell(QueueMessage::Probe(elector));
            }
            Respondent::SchedulingCycle => {
                actors.cycle.tell(CycleMessage::Probe(elector));
            }
            Respondent::BindingWorkers => actors.workers.probe(elector),
            Respondent::Evictor => {
                actors.evictor.tell(EvictorMessage::Probe(elector));
            }
        }
    }

    /// The caches have caught up; the term decides from now on.
    pub(super) fn term_runs(&mut self, actors: Box<TermActors>) {
        if self.is_of_present_term(actors.term)
            && let Some(progress) = &mut self.progress
        {
            progress.running();
            self.running = Some(actors);
        }
    }

    /// What a term says may have been so long on its way that the next one has begun.
    fn is_of_present_term(&self, term: u64) -> bool {
        self.token.as_ref().is_some_and(|token| token.number() == term)
    }

    pub(super) fn is_ending(&self, term: u64) -> bool {
        self.phase == Phase::Ending && self.is_of_present_term(term)
    }

    pub(super) fn begin_term(&mut self, sent_at: Moment) {
        self.terms += 1;
        let config = &self.config;
        let token = if config.leader_elect {
            TermToken::new(self.terms, sent_at, config.renew_deadline, config.write_timeout())
        } else {
            TermToken::without_election(self.terms, config.write_timeout())
        };
        if config.leader_elect {
            tracing::info!(
                term = self.terms,
                lease = self.lease.name(),
                "Successfully acquired lease"
            );
            self.metrics.election().leading(true);
        }
        let now = self.clock.now();
        let lease = self.config.leader_elect.then(|| self.lease.name().to_string());
        self.telling.won(self.terms, lease, (self.vacant_since, sent_at), now);
        self.tell_users("became leader");
        self.progress = Some(Progress::new(config.renew_deadline, self.clock.now()));
        self.token = Some(Arc::clone(&token));
        self.supervisor.tell(SupervisorMessage::TermBegan(token));
    }

    /// Leadership is over, by loss or by choice.
    pub(super) fn end_term(&mut self, reason: &str, now: Moment) {
        if self.token.is_none() && self.asking && self.election.is_writing() && self.stepping_down.is_some() {
            // The lease may be ours in a moment; the answer says what there is to release.
            self.phase = Phase::Releasing;
            return;
        }
        self.election.resign();
        if let Some(coordination) = &mut self.coordination {
            coordination.withdraw();
        }
        self.running = None;
        self.progress = None;
        // An answer still under way must neither win a term now nor cut standing aside short.
        self.attempt += 1;
        self.asking = false;
        let Some(token) = &self.token else {
            self.term_ended(now);
            return;
        };
        token.cancel();
        self.telling.over(token.number(), reason, now);
        tracing::warn!(term = token.number(), reason, "Leadership is over");
        if self.config.leader_elect {
            self.metrics.election().leading(false);
        }
        self.tell_users("stopped leading");
        self.phase = Phase::Ending;
        let resignation = match &self.stepping_down {
            Some(StepDown::Resign(resignation, _)) => Some(*resignation),
            _ => None,
        };
        self.supervisor.tell(SupervisorMessage::TermOver {
            term: token.number(),
            reason: reason.to_owned(),
            resignation,
        });
    }

    pub(super) fn step_down(&mut self, why: StepDown, now: Moment) {
        if self.phase == Phase::Done || self.stepping_down == Some(StepDown::Shutdown) {
            return;
        }
        let reason = why.reason();
        if let StepDown::Resign(resignation, words) = &why
            && self.token.is_some()
            && self.phase == Phase::Standing
        {
            self.tell_of_resignation(*resignation, words);
        }
        self.stepping_down = Some(why);
        match self.phase {
            // Nothing to give up yet; the caches come first.
            Phase::NotStarted if self.stepping_down != Some(StepDown::Shutdown) => self.stepping_down = None,
            Phase::Standing | Phase::NotStarted => self.end_term(&reason, now),
            // The term is being stopped already; what comes after it is decided then.
            Phase::Ending | Phase::Releasing | Phase::Done => {}
        }
    }

    fn tell_of_resignation(&self, resignation: Resignation, words: &str) {
        tracing::error!(
            reason = resignation.as_str(),
            "Giving leadership up, because {words}; {}",
            resignation.advice()
        );
        self.metrics.resignations().resigned(resignation.as_str());
        self.announce(
            EventType::Warning,
            "LeadershipResigned",
            &format!("gave leadership up: {words}"),
        );
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
        self.not_before = self.next_try;
    }
}
