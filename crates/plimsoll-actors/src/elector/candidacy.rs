//! The `LeaseCandidate` that stands for this replica with a coordinator, as a state machine: what to ask the API server next.
//!
//! | state | input | what follows |
//! |---|---|---|
//! | Unknown | may ask | read it |
//! | | read: there is one | **Stale**: it is renewed |
//! | | read: there is none | create it, renewed now; then **Current** |
//! | Current | until it changes | watch it |
//! | | the coordinator asks (its `pingTime` is younger than our `renewTime`) | **Stale** |
//! | | five minutes have passed since it was renewed | **Stale** |
//! | | it is gone | **Unknown** |
//! | | the watch ends with nothing to tell | wait one retry period, then **Unknown** |
//! | Stale | may ask | renew it; then **Current** |
//! | any | a request fails | wait one retry period, then **Unknown** |
//! | any | withdrawn | the answer under way is awaited, then it is deleted, once; then nothing |
//! | withdrawn | stands again | **Unknown**, once the old object is gone |
//!
//! It is withdrawn with the end of every term, by loss or by choice. The coordinator prefers the oldest of equal candidates: one
//! that came back under its old object would be given the lease back at once, for nothing. Nor would a leader that resigned
//! because it does not get on be able to stand aside.

use std::time::Duration;

use plimsoll_client::{CandidateReply, StoredCandidate};
use plimsoll_model::Moment;

/// As client-go refreshes it.
const REFRESH: Duration = Duration::from_mins(5);

/// What to ask the API server.
#[derive(Debug, Clone, PartialEq)]
pub enum CandidateRequest {
    /// Read the candidate.
    Get,
    /// Create it.
    Create,
    /// Say that it is there.
    Renew(Box<StoredCandidate>),
    /// Wait until it is another than this.
    Watch(Box<StoredCandidate>),
    /// Take it away.
    Delete,
}

#[derive(Debug, Clone, PartialEq)]
enum State {
    /// Withdrawn, and nothing of ours is left at the server.
    Gone,
    Unknown,
    Missing,
    Stale(Box<StoredCandidate>),
    Current(Box<StoredCandidate>),
}

/// The object of an earlier candidacy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Old {
    Gone,
    /// It is deleted before anything else is asked.
    ToDelete,
    /// That has failed; it is not tried again before we stand again.
    GivenUp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnderWay {
    Nothing,
    Request,
    Watch,
}

/// What we know of our candidate.
#[derive(Debug)]
pub struct Candidacy {
    retry_period: Duration,
    standing: bool,
    state: State,
    old: Old,
    under_way: UnderWay,
    /// Nothing is asked before this.
    not_before: Moment,
    renew_at: Moment,
    known: bool,
}

impl Candidacy {
    /// Not standing yet. After a failure the next try comes one `retry_period` later.
    pub fn new(retry_period: Duration) -> Self {
        Self {
            retry_period,
            standing: false,
            state: State::Gone,
            old: Old::Gone,
            under_way: UnderWay::Nothing,
            not_before: Moment::ZERO,
            renew_at: Moment::ZERO,
            known: false,
        }
    }

    /// Stand from now on.
    pub fn stand(&mut self) {
        if !std::mem::replace(&mut self.standing, true) {
            self.not_before = Moment::ZERO;
            if self.old == Old::GivenUp {
                self.old = Old::ToDelete;
            }
            if self.state == State::Gone {
                self.state = State::Unknown;
            }
        }
    }

    /// Stand no more.
    pub fn withdraw(&mut self) {
        if std::mem::replace(&mut self.standing, false) {
            self.old = Old::ToDelete;
            if self.under_way == UnderWay::Watch {
                self.under_way = UnderWay::Nothing;
            }
            self.not_before = Moment::ZERO;
        }
    }

    /// Whether the API server has ever told us of our candidate: what the check `informer-sync` asks.
    pub fn is_known(&self) -> bool {
        self.known
    }

    /// Whether nothing of a withdrawn candidate is under way any more.
    pub fn is_gone(&self) -> bool {
        !self.standing && self.under_way != UnderWay::Request && self.old != Old::ToDelete
    }

    /// What to ask now, if anything. A watch that is under way is given up whenever something else is asked.
    pub fn next(&mut self, now: Moment) -> Option<CandidateRequest> {
        if self.under_way == UnderWay::Request || now < self.not_before {
            return None;
        }
        if now >= self.renew_at
            && self.standing
            && let State::Current(stored) = &self.state
        {
            self.state = State::Stale(stored.clone());
        }
        let request = match &self.state {
            // It gives no more answers, and the coordinator passes it over for that.
            _ if self.is_gone() => return None,
            _ if self.old == Old::ToDelete => CandidateRequest::Delete,
            State::Gone => return None,
            State::Unknown => CandidateRequest::Get,
            State::Missing => CandidateRequest::Create,
            State::Stale(stored) => CandidateRequest::Renew(stored.clone()),
            State::Current(_) if self.under_way == UnderWay::Watch => return None,
            State::Current(stored) => CandidateRequest::Watch(stored.clone()),
        };
        self.under_way = match request {
            CandidateRequest::Watch(_) => UnderWay::Watch,
            _ => UnderWay::Request,
        };
        Some(request)
    }

    /// When [`Candidacy::next`] has something to say without an answer.
    pub fn due(&self) -> Option<Moment> {
        match &self.state {
            _ if self.under_way == UnderWay::Request || self.is_gone() => None,
            State::Gone if self.old == Old::Gone => None,
            State::Current(_) if self.standing && self.under_way == UnderWay::Watch => Some(self.renew_at),
            _ => Some(self.not_before),
        }
    }

    /// Takes the answer to the last request.
    pub fn answer(&mut self, request: &CandidateRequest, reply: CandidateReply, now: Moment) {
        self.under_way = UnderWay::Nothing;
        self.known |= matches!(reply, CandidateReply::Candidate(_));
        if matches!(request, CandidateRequest::Delete) {
            self.old = match reply {
                CandidateReply::NotFound => Old::Gone,
                _ if self.standing => Old::ToDelete,
                _ => Old::GivenUp,
            };
            if self.old != Old::Gone {
                self.not_before = now + self.retry_period;
            }
            self.state = if self.standing { State::Unknown } else { State::Gone };
            return;
        }
        self.state = match (reply, request) {
            (CandidateReply::Candidate(stored), CandidateRequest::Create | CandidateRequest::Renew(_)) => {
                self.renew_at = now + REFRESH;
                State::Current(stored)
            }
            (CandidateReply::Candidate(stored), CandidateRequest::Watch(_)) if !stored.is_asked() => {
                State::Current(stored)
            }
            (CandidateReply::Candidate(stored), _) => State::Stale(stored),
            (CandidateReply::NotFound, CandidateRequest::Get) => State::Missing,
            (CandidateReply::NotFound, _) => State::Unknown,
            (CandidateReply::Quiet, _) => {
                self.not_before = now + self.retry_period;
                State::Unknown
            }
            (CandidateReply::Failed { error }, _) => {
                tracing::info!(error, "The lease candidate could not be kept up, trying again");
                self.not_before = now + self.retry_period;
                State::Unknown
            }
        };
    }
}

#[cfg(test)]
mod tests;
