use std::sync::Arc;
use std::time::Duration;

use compact_str::CompactString;
use plimsoll_client::{ConditionPatch, NominationPatch, NotSent, PatchReply, PodRead, PodStatusPatch, RemovalReply};
use plimsoll_engine::{PreemptionPlan, Removal};
use plimsoll_model::{Moment, Pod, Timestamp, Uid};
use tokio_util::sync::CancellationToken;

use super::request::{Answer, Request, What};

const DISRUPTION_TARGET: &str = "DisruptionTarget";
const PREEMPTION_BY_SCHEDULER: &str = "PreemptionByScheduler";

/// A request that failed without telling anything is repeated after a while, which doubles; so often in all, and less often
/// when a scheduling cycle waits for it.
const TRIES: u32 = 6;
const TRIES_IN_A_CYCLE: u32 = 3;
const FIRST_WAIT: Duration = Duration::from_millis(200);

/// What is to be done next about a victim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Write into its status why it goes.
    Mark,
    /// Delete or evict it.
    Remove,
    /// Look whether it is still there under its UID.
    Read,
}

/// How far the removal of a victim has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Others of its preemption go first.
    Waiting,
    /// The step may be taken, and waits for room among the requests under way.
    Queued(Step),
    /// The request is under way.
    Asked(Step),
    /// The step is taken again then.
    Later(Moment, Step),
    /// It has been told to go. The watch tells when it is gone.
    Removed,
}

/// What follows from an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Finding {
    /// It goes on; look at the stage.
    GoesOn,
    /// It has been told to go.
    ToldToGo,
    /// There is no such pod any more. Whether that is our doing.
    Gone {
        /// A removal of ours was applied or may have been.
        ours: bool,
    },
    /// It stays, for this reason.
    Stays(String),
    /// The request was not sent, since the term is over.
    NotSent,
}

/// A victim on its way out. One of these for each pod, however many preemptions want it gone: it is asked once.
///
/// With [`Removal::Delete`] the condition `DisruptionTarget` comes before the deletion, as in kube-scheduler. With
/// [`Removal::Evict`] it comes after the eviction, since the API server writes a condition of its own with that.
///
/// | stage | answer | next |
/// |---|---|---|
/// | asked to mark | applied | asked to remove, or done |
/// | asked to remove | accepted | done, or asked to mark |
/// | either | 404 | gone |
/// | either | 409, or 422 to the patch | read |
/// | either | 429, 5xx, lost, no connection | the same again later, up to six times in all, then it stays |
/// | asked to evict | the budget says no | it stays |
/// | either | another refusal | it stays |
/// | read | gone, or another UID | gone |
/// | read | on its way out | done |
/// | read | there | the step again later |
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "what is known of a victim, each thing by itself"
)]
pub(super) struct Eviction {
    /// The newest object seen.
    pub(super) victim: Arc<Pod>,
    pub(super) removal: Removal,
    /// The first who wanted it gone; it is named in condition and event.
    pub(super) preemptor: Arc<Pod>,
    pub(super) node: CompactString,
    /// Who wants it gone.
    pub(super) wanted_by: Vec<Uid>,
    pub(super) stage: Stage,
    tries: u32,
    most_tries: u32,
    /// The watch shows that the pod is gone.
    pub(super) gone: bool,
    /// The API server said that the pod is gone, and from then on that counts although the watch shows it.
    pub(super) believed_gone: Option<Moment>,
    /// It waits in line for its turn.
    pub(super) in_line: bool,
    /// Users have been told.
    told: bool,
    /// A removal was sent whose answer did not tell whether it was applied.
    maybe_removed: bool,
    /// A removal was applied.
    accepted: bool,
    /// Its status says why it goes.
    marked: bool,
    /// Its status will never say so.
    unmarkable: bool,
    /// What a look is to be followed by.
    after_read: Step,
    withdrawn: CancellationToken,
}

impl Eviction {
    pub(super) fn new(victim: &Arc<Pod>, plan: &PreemptionPlan) -> Self {
        Self {
            victim: Arc::clone(victim),
            removal: plan.removal,
            preemptor: Arc::clone(&plan.preemptor),
            node: plan.node.clone(),
            wanted_by: Vec::new(),
            stage: Stage::Waiting,
            tries: 0,
            most_tries: if plan.asynchronous { TRIES } else { TRIES_IN_A_CYCLE },
            gone: false,
            believed_gone: None,
            in_line: false,
            told: false,
            maybe_removed: false,
            marked: plan.removal == Removal::Delete && says_so(victim, &plan.preemptor),
            accepted: false,
            unmarkable: false,
            after_read: Step::Remove,
            withdrawn: CancellationToken::new(),
        }
    }

    /// Its turn has come.
    pub(super) fn start(&mut self) {
        if self.stage == Stage::Waiting {
            let mark_first = self.removal == Removal::Delete && !self.marked;
            self.stage = Stage::Queued(if mark_first { Step::Mark } else { Step::Remove });
        }
    }

    /// Whether everything that had to be asked for has been answered.
    pub(super) fn is_told(&self) -> bool {
        self.stage == Stage::Removed
    }

    /// Whether the watch shows it on its way out, in a form in which its preemptor's next attempt knows it again.
    pub(super) fn is_seen_going(&self) -> bool {
        let known_again = self.believed_gone.is_some()
            || self.removal == Removal::Delete
            || is_marked(&self.victim)
            || self.unmarkable;
        self.victim.is_terminating() && self.is_told() && known_again
    }

    /// A request of its is under way.
    pub(super) fn is_asked(&self) -> bool {
        matches!(self.stage, Stage::Asked(_))
    }

    /// Whether it may go although nobody wants it any more.
    pub(super) fn may_go(&self) -> bool {
        self.maybe_removed || self.accepted || self.is_told() || matches!(self.stage, Stage::Asked(Step::Remove))
    }

    /// Somebody wants it gone.
    pub(super) fn want(&mut self, preemptor: &Uid) {
        if self.withdrawn.is_cancelled() {
            self.withdrawn = CancellationToken::new();
        }
        self.wanted_by.push(preemptor.clone());
    }

    /// Nobody wants it gone any more.
    pub(super) fn withdraw(&self) {
        self.withdrawn.cancel();
    }

    /// Whether users have to be told that it was preempted; once at most.
    pub(super) fn tell_of(&mut self) -> bool {
        !std::mem::replace(&mut self.told, true)
    }

    /// How far it has come, for people.
    pub(super) fn in_words(&self) -> &'static str {
        match self.stage {
            _ if self.victim.is_terminating() => "is going",
            Stage::Removed => "has been told to go",
            Stage::Queued(_) | Stage::Asked(_) => "is being told to go",
            Stage::Later(..) => "is told to go again soon: the last request failed",
            Stage::Waiting => "is told to go when the others have been",
        }
    }

    /// Whether a request of ours, which may yet be answered, has made the pod go that the watch shows as gone.
    pub(super) fn has_made_it_go(&self) -> bool {
        self.gone && self.maybe_removed
    }

    /// The watch shows the pod anew. Says whether it has thereby been told to go, and whether that is our doing.
    pub(super) fn see(&mut self, pod: &Arc<Pod>) -> Option<bool> {
        self.victim = Arc::clone(pod);
        let undecided = matches!(self.stage, Stage::Waiting | Stage::Queued(_) | Stage::Later(..));
        if !pod.is_terminating() || !undecided {
            return None;
        }
        let ours = self.accepted || self.maybe_removed;
        self.stage = match self.removal {
            Removal::Evict if ours && !self.marked && !self.unmarkable => match self.stage {
                stage @ (Stage::Queued(Step::Mark) | Stage::Later(_, Step::Mark)) => stage,
                _ => Stage::Queued(Step::Mark),
            },
            _ => Stage::Removed,
        };
        Some(ours)
    }

    /// The request to send now.
    pub(super) fn request(&mut self, wall: &Timestamp) -> Option<Request> {
        let Stage::Queued(step) = self.stage else { return None };
        self.stage = Stage::Asked(step);
        self.tries += 1;
        let what = match (step, self.removal) {
            (Step::Mark, _) => What::Mark(Box::new(self.mark(wall))),
            (Step::Remove, Removal::Delete) => What::Delete,
            (Step::Remove, Removal::Evict) => What::Evict,
            (Step::Read, _) => What::Read,
        };
        Some(Request {
            victim: Arc::clone(&self.victim),
            what,
            withdrawn: self.withdrawn.clone(),
        })
    }

    fn mark(&self, wall: &Timestamp) -> PodStatusPatch {
        let was_true = condition(&self.victim).filter(|condition| condition.status == "True");
        let since = was_true.and_then(|condition| condition.last_transition_time.clone());
        PodStatusPatch {
            uid: Some(self.victim.uid.clone()),
            condition: Some(ConditionPatch {
                kind: DISRUPTION_TARGET.to_owned(),
                status: "True".to_owned(),
                reason: PREEMPTION_BY_SCHEDULER.to_owned(),
                message: message(&self.preemptor),
                last_transition_time: since.unwrap_or_else(|| wall.clone()),
                observed_generation: self.victim.generation,
            }),
            nominated_node_name: NominationPatch::Keep,
        }
    }

    /// Takes the answer to the request under way.
    pub(super) fn answered(&mut self, answer: Answer, now: Moment) -> Finding {
        let Stage::Asked(step) = self.stage else {
            return Finding::GoesOn;
        };
        match answer {
            Answer::Marked(reply) => self.on_marked(reply, now),
            Answer::Removed(reply) => self.on_removed(reply, now),
            Answer::Read(read) => self.on_read(read, step, now),
        }
    }

    fn on_marked(&mut self, reply: PatchReply, now: Moment) -> Finding {
        const IMMUTABLE: u16 = 422;
        match reply {
            PatchReply::Patched => self.on_mark_written(),
            PatchReply::NotFound => self.gone(),
            PatchReply::Conflict { .. } | PatchReply::Refused { code: IMMUTABLE, .. } => self.look(Step::Mark),
            PatchReply::Throttled { retry_after } => self.again(Step::Mark, retry_after, "throttled", now),
            PatchReply::Unknown { error, .. } | PatchReply::NotSent(NotSent::NoConnection(error)) => {
                self.again(Step::Mark, Duration::ZERO, &error, now)
            }
            PatchReply::Refused { message, .. } => self.refused(message),
            PatchReply::NotSent(NotSent::Withdrawn) => self.back_in_line(Step::Mark),
            PatchReply::NotSent(NotSent::TermOver) => Finding::NotSent,
        }
    }

    fn on_mark_written(&mut self) -> Finding {
        self.marked = true;
        self.tries = 0;
        match self.removal {
            Removal::Delete => {
                self.stage = Stage::Queued(Step::Remove);
                Finding::GoesOn
            }
            Removal::Evict => {
                self.stage = Stage::Removed;
                Finding::GoesOn
            }
        }
    }

    fn on_removed(&mut self, reply: RemovalReply, now: Moment) -> Finding {
        match reply {
            RemovalReply::Accepted => self.told_to_go(),
            RemovalReply::NotFound => self.gone(),
            RemovalReply::Conflict { .. } => self.look(Step::Remove),
            RemovalReply::Throttled { retry_after } => self.again(Step::Remove, retry_after, "throttled", now),
            RemovalReply::NotSent(NotSent::NoConnection(error)) => {
                self.again(Step::Remove, Duration::ZERO, &error, now)
            }
            RemovalReply::Unknown { error } => {
                self.maybe_removed = true;
                self.again(Step::Remove, Duration::ZERO, &error, now)
            }
            RemovalReply::Forbidden { message } | RemovalReply::Refused { message, .. } => self.refused(message),
            RemovalReply::NotSent(NotSent::Withdrawn) => self.back_in_line(Step::Remove),
            RemovalReply::NotSent(NotSent::TermOver) => Finding::NotSent,
        }
    }

    fn told_to_go(&mut self) -> Finding {
        self.accepted = true;
        self.tries = 0;
        self.stage = if self.removal == Removal::Evict && !self.marked {
            Stage::Queued(Step::Mark)
        } else {
            Stage::Removed
        };
        Finding::ToldToGo
    }

    fn on_read(&mut self, read: PodRead, step: Step, now: Moment) -> Finding {
        match read {
            PodRead::Gone => self.gone(),
            PodRead::Found(pod) if pod.uid != self.victim.uid => self.gone(),
            PodRead::Found(pod) if pod.is_terminating() && self.after_read == Step::Remove => self.told_to_go(),
            PodRead::Found(_) => self.again(self.after_read, Duration::ZERO, "conflict", now),
            PodRead::Failed { error } => self.again(step, Duration::ZERO, &error, now),
        }
    }

    fn gone(&mut self) -> Finding {
        self.stage = Stage::Removed;
        Finding::Gone {
            ours: self.maybe_removed,
        }
    }

    /// If somebody wants it gone again, it is asked then.
    fn back_in_line(&mut self, step: Step) -> Finding {
        self.tries = self.tries.saturating_sub(1);
        self.stage = Stage::Queued(step);
        Finding::GoesOn
    }

    fn look(&mut self, then: Step) -> Finding {
        self.after_read = then;
        self.stage = Stage::Queued(Step::Read);
        Finding::GoesOn
    }

    fn again(&mut self, step: Step, at_least: Duration, error: &str, now: Moment) -> Finding {
        if self.tries >= self.most_tries {
            return self.refused(error.to_owned());
        }
        let wait = FIRST_WAIT * 2_u32.pow(self.tries.saturating_sub(1));
        self.stage = Stage::Later(now + wait.max(at_least), step);
        Finding::GoesOn
    }

    /// It will not go by what we do. One that is on its way and only lacks the words for it goes all the same.
    fn refused(&mut self, message: String) -> Finding {
        if self.removal == Removal::Evict && self.stage == Stage::Asked(Step::Mark) {
            self.unmarkable = true;
            self.stage = Stage::Removed;
            return Finding::GoesOn;
        }
        self.stage = Stage::Waiting;
        Finding::Stays(message)
    }

    /// A time may have come.
    pub(super) fn wake(&mut self, now: Moment) {
        if let Stage::Later(at, step) = self.stage
            && at <= now
        {
            self.stage = Stage::Queued(step);
        }
    }
}

fn condition(pod: &Pod) -> Option<&plimsoll_model::PodCondition> {
    pod.status.disruption_target.as_deref()
}

fn message(preemptor: &Pod) -> String {
    let scheduler = &preemptor.spec.scheduler_name;
    format!("{scheduler}: preempting to accommodate a higher priority pod")
}

/// Whether the pod's status says already what we would write.
fn says_so(pod: &Pod, preemptor: &Pod) -> bool {
    is_marked(pod) && condition(pod).is_some_and(|condition| condition.message == message(preemptor))
}

/// Whether the pod's status says that a preemption takes it.
fn is_marked(pod: &Pod) -> bool {
    condition(pod).is_some_and(|condition| condition.status == "True" && condition.reason == PREEMPTION_BY_SCHEDULER)
}
