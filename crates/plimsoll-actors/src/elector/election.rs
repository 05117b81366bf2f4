//! client-go's leader election as a state machine: what to ask the API server next, and what an answer means.
//!
//! ```text
//!                        read ──▶ held by another in force, or the read failed
//!               ┌──────── wait the retry period × (1 + up to 1.2) ◀────────┐
//!               ▼                                                          │
//!        ┌─────────────┐  read ──▶ no lease, nobody's, ours, or run out ──▶ write ── refused ──┘
//!   ────▶│  Candidate  │                                                    │
//!        └─────────────┘                                              accepted: won
//!               ▲                                                          ▼
//!               │                                                    ┌──────────┐
//!               │  the term has stopped, its writes are decided      │  Leader  │──┐ write ── accepted: the
//!               │                                                    └──────────┘◀─┘ deadline moves on
//!               │                                                          │
//!        ┌─────────────┐    the deadline passes, or the lease names another│
//!        │    Lost     │◀──────────────────────────────────────────────────┘
//!        └─────────────┘
//! ```
//!
//! | state | input | what follows |
//! |---|---|---|
//! | Candidate | a try is due | read |
//! | | read: there is none | create: transitions 0, acquired now |
//! | | read: there is none any more, and another held it when we last looked | wait until its last record would have run out, counted from when we missed it |
//! | | read: nobody holds it | take: transitions + 1, acquired now |
//! | | read: another holds it in force | wait, jittered |
//! | | read: another's has run out by our observation | take: transitions + 1, acquired now |
//! | | read: it names us (an answer was lost, or a term was) | take: transitions and time of acquisition stay |
//! | | read fails, or the write is refused, or its answer is lost | wait, jittered |
//! | | the write is accepted | **Leader**: the deadline is the renew deadline after the moment before the write was sent |
//! | Leader | a try is due, and the last record is in force | fast path: write over the version known; transitions and time of acquisition stay |
//! | | a try is due, and the last record has run out | read |
//! | | the fast path is refused, or its answer is lost | read, within the same try |
//! | | read: it names us | slow path: write over the version read; transitions and time of acquisition stay |
//! | | read: nobody holds it | take: transitions + 1, acquired now |
//! | | read: there is none | create as it was: transitions and time of acquisition stay |
//! | | read: another holds it | **Lost** |
//! | | read fails, or the slow path is refused, before the deadline | the next try one retry period later |
//! | | the write is accepted | the deadline moves on; the next try one retry period later |
//! | | the deadline passes, whatever is under way | **Lost** |
//! | Lost | the term has stopped | Candidate |
//!
//! A record held by somebody else is in force for its own duration from the moment *we* first saw it in that form; remote
//! clocks are never compared with ours, so that clocks may be apart by any amount. Nothing is ever assumed of a write without
//! an answer: reading tells. A write names the version it replaces, so that of two only one is accepted.
//!
//! Coordinated leader election has rows of its own, see [`coordinated`].

pub mod coordinated;
mod sighting;

use std::time::Duration;

use plimsoll_client::{LeaseRecord, StoredLease};
use plimsoll_config::ElectionConfig;
use plimsoll_model::Moment;
use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;

/// What to ask the API server.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// Read the lease.
    Get,
    /// Create the lease with this record.
    Create(LeaseRecord),
    /// Replace the lease that was read as `stored`.
    Update {
        /// What to write.
        record: LeaseRecord,
        /// What it replaces; its version is the precondition.
        stored: Box<StoredLease>,
    },
}

/// What came back.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The lease as read or written.
    Lease(Box<StoredLease>),
    /// There is none.
    NotFound,
    /// Anything else: conflict, refusal, no connection. The text is for the log.
    Failed(String),
}

/// What follows from an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// The try goes on with another request.
    Ask(Request),
    /// We hold the lease.
    Held {
        /// Whether this began a new leadership rather than renewing one.
        won: bool,
        /// The moment before the request was sent: writes are allowed until the renew deadline after it.
        sent_at: Moment,
        /// When to try again.
        retry_at: Moment,
    },
    /// Not the leader; try again then.
    NotHeld {
        /// When.
        retry_at: Moment,
    },
    /// We were the leader and are no longer.
    Lost {
        /// For the log.
        reason: String,
    },
    /// We are the leader, and the coordinator asks us to make way for another.
    EndOfTerm {
        /// The one it would rather see.
        preferred: String,
    },
}

#[derive(Debug, Clone)]
struct Observed {
    stored: Box<StoredLease>,
    at: Moment,
    /// It was not there any more when last looked for.
    missed: bool,
}

impl Observed {
    /// Whether it still keeps others away: a record counts for as long as it says itself, as in client-go.
    fn is_valid(&self, now: Moment) -> bool {
        let seconds = u64::try_from(self.stored.record.duration_seconds).unwrap_or(0);
        self.at + Duration::from_secs(seconds) > now
    }
}

/// The candidate's or leader's view of one lease.
#[derive(Debug)]
pub struct Election {
    identity: String,
    config: ElectionConfig,
    /// Whether a coordinator says who leads.
    coordinated: bool,
    random: ChaCha8Rng,
    observed: Option<Observed>,
    /// The time before the last accepted write was sent, while leading.
    held_since: Option<Moment>,
    /// The try under way.
    sent_at: Moment,
    fast_path: bool,
    writing: bool,
    slow_paths: u64,
}

impl Election {
    /// A candidate that has seen nothing yet.
    pub fn new(identity: String, config: ElectionConfig, random: ChaCha8Rng) -> Self {
        Self {
            identity,
            config,
            coordinated: false,
            random,
            observed: None,
            held_since: None,
            sent_at: Moment::ZERO,
            fast_path: false,
            writing: false,
            slow_paths: 0,
        }
    }

    /// The same, but the lease is never taken: a coordinator gives it.
    #[must_use]
    pub fn coordinated(self) -> Self {
        Self {
            coordinated: true,
            ..self
        }
    }

    /// Our identity in the lease.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Whether we lead, by the last answer.
    pub fn is_leader(&self) -> bool {
        self.held_since.is_some()
    }

    /// Who held the lease when it was last read; empty when nobody did.
    pub fn holder(&self) -> &str {
        self.observed
            .as_ref()
            .map_or("", |observed| observed.stored.record.holder.as_str())
    }

    /// The lease as it was last read or written.
    pub fn observed(&self) -> Option<&StoredLease> {
        self.observed.as_ref().map(|observed| observed.stored.as_ref())
    }

    /// Renewals that had to read the lease first; a metric.
    pub fn slow_paths(&self) -> u64 {
        self.slow_paths
    }

    /// Whether the request under way is a write.
    pub fn is_writing(&self) -> bool {
        self.writing
    }

    /// Until when writes are allowed, while leading.
    pub fn deadline(&self) -> Option<Moment> {
        self.held_since.map(|since| since + self.config.renew_deadline)
    }

    /// Begins a try. `now` is read before the request is sent; `wall` is what the record shows to people.
    pub fn begin(&mut self, now: Moment, wall: jiff::Timestamp) -> Request {
        self.sent_at = now;
        self.writing = false;
        // With a coordinator the lease may tell us to go; it has to be read each time.
        let may_be_known = self.held_since.is_some() && !self.coordinated;
        let still_ours = may_be_known && self.observed.as_ref().is_some_and(|o| o.is_valid(now));
        if let Some(observed) = self.observed.as_ref().filter(|_| still_ours) {
            self.fast_path = true;
            self.writing = true;
            return Request::Update {
                record: self.renewal(&observed.stored.record, wall),
                stored: observed.stored.clone(),
            };
        }
        self.fast_path = false;
        Request::Get
    }

    /// Takes the answer to the request under way. `now` is the time of the answer.
    pub fn answer(&mut self, answer: Answer, now: Moment, wall: jiff::Timestamp) -> Next {
        let late = self.deadline().is_some_and(|deadline| now >= deadline);
        if late && !matches!(answer, Answer::Failed(_)) {
            return self.answered_late(answer, now);
        }
        if self.writing {
            return self.answer_to_write(answer, now);
        }
        if self.coordinated {
            return self.answer_to_coordinated_read(answer, now, wall);
        }
        match answer {
            Answer::NotFound => self.missing(now, wall),
            Answer::Lease(stored) => {
                self.observe(stored.clone(), now);
                self.read(stored, now, wall)
            }
            Answer::Failed(reason) => self.failed(&reason, now),
        }
    }

    /// Writers of the term have been refused since the deadline and gave up what they had: the term cannot go on, whatever
    /// the answer says.
    fn answered_late(&mut self, answer: Answer, now: Moment) -> Next {
        self.writing = false;
        if let Answer::Lease(stored) = answer {
            self.observe(stored, now);
        }
        self.failed("the answer came too late", now)
    }

    fn missing(&mut self, now: Moment, wall: jiff::Timestamp) -> Next {
        if self.is_kept_by_another(now) {
            let retry_at = self.candidate_retry(now);
            return Next::NotHeld { retry_at };
        }
        let record = match &self.observed {
            // Whoever deleted it has not ended our term.
            Some(observed) if self.held_since.is_some() => self.renewal(&observed.stored.record, wall),
            _ => self.takeover(None, wall),
        };
        self.write(Request::Create(record), now)
    }

    fn read(&mut self, stored: Box<StoredLease>, now: Moment, wall: jiff::Timestamp) -> Next {
        let ours = stored.record.holder == self.identity;
        let free = stored.record.holder.is_empty();
        if !ours && !free {
            if self.held_since.take().is_some() {
                return Next::Lost {
                    reason: format!("the lease is held by {}", stored.record.holder),
                };
            }
            if self.in_force(now) {
                let retry_at = self.candidate_retry(now);
                return Next::NotHeld { retry_at };
            }
        }
        let record = if ours && self.held_since.is_some() {
            self.slow_paths += 1;
            self.renewal(&stored.record, wall)
        } else {
            self.takeover(Some(&stored.record), wall)
        };
        self.write(Request::Update { record, stored }, now)
    }

    fn write(&mut self, request: Request, now: Moment) -> Next {
        self.writing = true;
        self.sent_at = now;
        Next::Ask(request)
    }

    fn in_force(&self, now: Moment) -> bool {
        self.observed.as_ref().is_some_and(|observed| observed.is_valid(now))
    }

    fn answer_to_write(&mut self, answer: Answer, now: Moment) -> Next {
        self.writing = false;
        match answer {
            Answer::Lease(stored) => {
                self.observe(stored, now);
                let won = self.held_since.is_none();
                self.held_since = Some(self.sent_at);
                Next::Held {
                    won,
                    sent_at: self.sent_at,
                    retry_at: now + self.config.retry_period,
                }
            }
            // The held version was stale; read and go on within the same try.
            Answer::Failed(_) | Answer::NotFound if self.fast_path => {
                self.fast_path = false;
                Next::Ask(Request::Get)
            }
            Answer::NotFound => self.failed("the lease vanished while it was written", now),
            Answer::Failed(reason) => self.failed(&reason, now),
        }
    }

    fn failed(&mut self, reason: &str, now: Moment) -> Next {
        match self.deadline() {
            Some(deadline) if now >= deadline => {
                self.held_since = None;
                Next::Lost {
                    reason: format!("the lease was not renewed within the renew deadline: {reason}"),
                }
            }
            Some(_) => Next::NotHeld {
                retry_at: now + self.config.retry_period,
            },
            None => Next::NotHeld {
                retry_at: self.candidate_retry(now),
            },
        }
    }

    /// The deadline has passed with a try still unanswered: leadership is over whatever the answer will be.
    pub fn expire(&mut self, now: Moment) -> bool {
        let expired = self.deadline().is_some_and(|deadline| now >= deadline);
        if expired {
            self.held_since = None;
        }
        expired
    }

    /// Gives leadership up on our side; the lease itself is released with [`Election::release`].
    pub fn resign(&mut self) {
        self.held_since = None;
    }

    /// The write that frees a lease just read, if it still names us: others may take it at once.
    pub fn release(&self, stored: &StoredLease, wall: jiff::Timestamp) -> Option<Request> {
        (stored.record.holder == self.identity).then(|| Request::Update {
            record: LeaseRecord {
                holder: String::new(),
                duration_seconds: 1,
                acquire_time: Some(wall),
                renew_time: Some(wall),
                transitions: stored.record.transitions,
            },
            stored: Box::new(stored.clone()),
        })
    }

    fn observe(&mut self, stored: Box<StoredLease>, now: Moment) {
        match &mut self.observed {
            Some(observed) if observed.stored.record == stored.record => {
                observed.stored = stored;
                observed.missed = false;
            }
            _ => {
                self.observed = Some(Observed {
                    stored,
                    at: now,
                    missed: false,
                });
            }
        }
    }

    fn renewal(&self, current: &LeaseRecord, wall: jiff::Timestamp) -> LeaseRecord {
        LeaseRecord {
            holder: self.identity.clone(),
            duration_seconds: self.duration_seconds(),
            acquire_time: current.acquire_time.or(Some(wall)),
            renew_time: Some(wall),
            transitions: current.transitions,
        }
    }

    fn takeover(&self, current: Option<&LeaseRecord>, wall: jiff::Timestamp) -> LeaseRecord {
        let transitions = match current {
            None => 0,
            // Our own lease from before a pause or restart under the same identity is kept, as client-go does.
            Some(record) if record.holder == self.identity => record.transitions,
            Some(record) => record.transitions.saturating_add(1),
        };
        let acquired = current
            .filter(|record| record.holder == self.identity)
            .and_then(|record| record.acquire_time);
        LeaseRecord {
            holder: self.identity.clone(),
            duration_seconds: self.duration_seconds(),
            acquire_time: acquired.or(Some(wall)),
            renew_time: Some(wall),
            transitions,
        }
    }

    /// Rounded up: others must keep away for at least as long as our last write may take.
    fn duration_seconds(&self) -> i32 {
        let duration = self.config.lease_duration;
        let seconds = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
        i32::try_from(seconds).unwrap_or(i32::MAX)
    }

    /// Deleted while somebody holds it: the holder does not know and goes on until it next renews, and it may have renewed
    /// unseen just before. client-go would create it at once, and two would lead.
    fn is_kept_by_another(&mut self, now: Moment) -> bool {
        let Some(observed) = &mut self.observed else {
            return false;
        };
        let holder = &observed.stored.record.holder;
        if holder.is_empty() || *holder == self.identity {
            return false;
        }
        if !std::mem::replace(&mut observed.missed, true) {
            observed.at = now;
        }
        observed.is_valid(now)
    }

    /// Retry period × (1 + up to 1.2), so that candidates do not act in step.
    fn candidate_retry(&mut self, now: Moment) -> Moment {
        let unit = f64::from(self.random.next_u32()) / f64::from(u32::MAX);
        let factor = unit.mul_add(plimsoll_config::JITTER_FACTOR, 1.0);
        let poll = now + self.config.retry_period.mul_f64(factor);
        self.no_later_than_vacant(poll, now)
    }
}

#[cfg(test)]
mod tests;
