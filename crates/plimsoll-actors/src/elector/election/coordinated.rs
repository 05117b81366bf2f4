//! The rows of the election when a coordinator, a controller of the API server, says who leads.
//!
//! | state | input | what follows |
//! |---|---|---|
//! | Candidate | a try is due | read |
//! | | read: there is none, nobody holds it, or another does | wait, jittered: the lease is never taken |
//! | | read: it names us and has run out by our observation | wait, jittered: the coordinator will choose anew |
//! | | read: it names us, and a preferred holder | wait, jittered: it is about to go to that one |
//! | | read: it names us, in force | write: transitions and time of acquisition stay |
//! | | the write is accepted | **Leader** |
//! | Leader | a try is due | read, always: only the lease itself says that we are to go |
//! | | read: it names us, in force | write; counted as slow path, as in client-go |
//! | | read: it names us, and a preferred holder | **end of term**: stop, decide all writes, free the lease |
//! | | read: it names another | **Lost** |
//! | | read: there is none, or it has run out; a failure | the next try one retry period later, until the deadline |
//! | | the deadline passes, whatever is under way | **Lost** |
//!
//! The coordinator compares `renewTime`, which the holder's clock wrote, with its own clock. Unlike without it, clocks that are
//! apart by more than lease duration less renew deadline may let two lead here.

use plimsoll_model::Moment;

use super::{Answer, Election, Next, Request};

impl Election {
    /// Takes the answer to a read of a lease that a coordinator gives.
    pub(super) fn answer_to_coordinated_read(&mut self, answer: Answer, now: Moment, wall: jiff::Timestamp) -> Next {
        let stored = match answer {
            Answer::Lease(stored) => stored,
            Answer::NotFound => return self.failed("there is no lease", now),
            Answer::Failed(reason) => return self.failed(&reason, now),
        };
        self.observe(stored.clone(), now);
        if stored.record.holder != self.identity {
            if self.held_since.take().is_none() {
                let retry_at = self.candidate_retry(now);
                return Next::NotHeld { retry_at };
            }
            return Next::Lost {
                reason: format!("the lease is held by {:?}", stored.record.holder),
            };
        }
        if !self.in_force(now) {
            return self.failed("the lease has run out", now);
        }
        match &stored.preferred_holder {
            Some(preferred) if !preferred.is_empty() => {
                if self.held_since.take().is_none() {
                    let retry_at = self.candidate_retry(now);
                    return Next::NotHeld { retry_at };
                }
                Next::EndOfTerm {
                    preferred: preferred.clone(),
                }
            }
            _ => {
                self.slow_paths += 1;
                let record = self.renewal(&stored.record, wall);
                self.write(Request::Update { record, stored }, now)
            }
        }
    }
}

#[cfg(test)]
mod tests;
