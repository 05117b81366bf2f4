use plimsoll_client::{CandidateReply, EventType, LeaseReply, StoredLease};

use super::ElectorView;
use super::progress::{Resignation, Respondent};
use crate::binding_workers::BindingWorkers;
use crate::evictor::EvictorMessage;
use crate::informer_cache::{Kind, WatchCounts};
use crate::mailbox::{Mailbox, Reply, Summary};
use crate::scheduling_cycle::CycleMessage;
use crate::scheduling_queue::QueueMessage;
#[cfg(doc)]
use crate::supervisor::SupervisorMessage;

/// Why leadership is given up by choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepDown {
    /// The process is asked to end, and nothing of the term is left to do.
    Shutdown,
    /// The term cannot go on; another replica should have the next one. The words are for people.
    Resign(Resignation, String),
    /// The coordinator would rather see this one lead.
    EndOfTerm(String),
}

impl StepDown {
    /// For the log.
    pub(super) fn reason(&self) -> String {
        match self {
            Self::Shutdown => "Requested to terminate".to_owned(),
            Self::Resign(_, reason) => reason.clone(),
            Self::EndOfTerm(preferred) => format!("the coordinator prefers {preferred}"),
        }
    }

    /// Whether this replica should not lead again before another could.
    pub(super) fn stands_aside(&self) -> bool {
        matches!(self, Self::Resign(..))
    }
}

/// The actors of a term that must answer probes.
#[derive(Debug)]
pub struct TermActors {
    /// The number of the term.
    pub term: u64,
    /// The queue.
    pub queue: Mailbox<QueueMessage>,
    /// The cycle.
    pub cycle: Mailbox<CycleMessage>,
    /// The pool.
    pub workers: BindingWorkers,
    /// The Evictor.
    pub evictor: Mailbox<EvictorMessage>,
}

/// What the elector hears.
#[derive(Debug)]
pub enum ElectorMessage {
    /// From the supervisor: the caches are filled, stand for election.
    Begin,
    /// From the term: the caches have caught up. Renewal depends on the answers of these from now on.
    Running(Box<TermActors>),
    /// From an actor of the term, in answer to a probe.
    Alive(Respondent),
    /// From the cache, in answer to a probe: what the watch of each kind has shown so far.
    Watching(Box<[(Kind, WatchCounts)]>),
    /// From the supervisor: give leadership up. Answered with [`SupervisorMessage::TermOver`] when there is a term, and
    /// for a shutdown with [`SupervisorMessage::Released`] in the end.
    StepDown(StepDown),
    /// From the supervisor: every actor of the term of this number is gone.
    TermEnded(u64),
    /// From the supervisor: tell users, as an event about the lease.
    Announce {
        /// Whether it is as it should be.
        event_type: EventType,
        /// One word for programs.
        reason: &'static str,
        /// For people; the replica is named before it.
        note: String,
    },
    /// From a task of its own: what the API server answered in this try.
    Answered {
        /// Answers to earlier tries are of no use any more.
        attempt: u64,
        /// What came back.
        reply: LeaseReply,
    },
    /// From a task of its own: what the API server answered about our candidate, or that it has changed.
    CandidateAnswered {
        /// Answers to earlier requests are of no use any more.
        attempt: u64,
        /// What came back.
        reply: CandidateReply,
    },
    /// From the watch of the lease: somebody has written it.
    Seen(Box<StoredLease>),
    /// From the alarm: the next try, or the deadline.
    Tick,
    /// From the HTTP server. Answered at once.
    View(Reply<ElectorView>),
    /// From outside, through the supervisor: are you there? Answered at once.
    Ping(Reply<()>),
}

impl Summary for ElectorMessage {
    fn summary(&self) -> String {
        match self {
            Self::Begin => "Begin".to_owned(),
            Self::Running(_) => "Running".to_owned(),
            Self::Alive(actor) => format!("Alive {actor:?}"),
            Self::Watching(_) => "Alive InformerCache".to_owned(),
            Self::StepDown(why) => format!("StepDown {why:?}"),
            Self::TermEnded(_) => "TermEnded".to_owned(),
            Self::Announce { reason, note, .. } => format!("Announce {reason} {note}"),
            Self::Answered { attempt, reply } => match reply {
                LeaseReply::Lease(lease) => format!("Answered {attempt} holder={:?}", lease.record.holder),
                other => format!("Answered {attempt} {other:?}"),
            },
            Self::CandidateAnswered { attempt, reply } => format!("CandidateAnswered {attempt} {reply}"),
            Self::Seen(lease) => format!("Seen holder={:?}", lease.record.holder),
            Self::Tick => "Tick".to_owned(),
            Self::View(_) => "View".to_owned(),
            Self::Ping(_) => "Ping".to_owned(),
        }
    }
}
