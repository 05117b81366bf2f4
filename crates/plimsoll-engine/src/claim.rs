mod input;
mod reaction;
mod state;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use compact_str::CompactString;
use plimsoll_model::guard::{Guard, holds};
use plimsoll_model::{Moment, Pod};

pub(crate) use input::{Carrier, Input, Sight};
pub use input::{ClaimInput, ReadResult};
pub(crate) use reaction::{Ask, Reaction};
pub use state::{ClaimState, Ending};

/// Number of a claim; never used twice by one engine, so that a late answer cannot meet the wrong claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClaimId(u64);

impl ClaimId {
    /// The claim with this number; only an engine gives out new ones.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Its number.
    pub const fn as_u64(self) -> u64 {
        self.0
    }
}

impl fmt::Display for ClaimId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "claim-{}", self.0)
    }
}

/// What is known of the bindings that a claim has asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    NotSent,
    /// None has an answer that allows for having bound the pod.
    Sent,
    /// Some answer left open whether the pod is bound.
    Doubtful,
    /// One took effect.
    Effective,
}

/// The right of a pod to its place on a node, from the choice of the node until the watch shows the pod there.
///
/// A claim counts in the columns; the ledger lets a pod count either where the watch shows it or, while it shows no
/// node, where its claim says, so never twice, and never not at all between the binding and its confirmation.
///
/// | state | input | next |
/// |---|---|---|
/// | Waiting | permit and pre-bind done | Sent, send |
/// | Waiting | turned away | ended: refused |
/// | Waiting | watch: to be deleted | ended: gone |
/// | Waiting | watch: assigned to any node | ended: elsewhere (we sent nothing) |
/// | Sent | 409, 404 | Checking, read |
/// | Sent | other refusal | ended: refused if no earlier send is open, else Checking, read |
/// | Sent | 429 | Unknown, send again after `Retry-After` |
/// | Sent | unknown | Unknown, send again after a backoff; the send stays open until `settled_by` |
/// | Sent | not sent | ended: refused if no earlier send is open, else Unknown |
/// | Sent to an extender | it failed, or its answer is lost | Doubtful until its call is settled, then Checking, read |
/// | Unknown | time reached | Sent, send |
/// | Checking | read: our node | Bound |
/// | Checking | read: other node | Moved: counts there |
/// | Checking | read: no node | ended: refused if the read was asked for after every open send was settled, else Doubtful |
/// | Checking, after an extender that may fail | read: no node, asked for after its call was settled | Sent, send ourselves |
/// | Checking | read: going or gone | ended: gone |
/// | Checking | read failed | Doubtful, after a backoff |
/// | Doubtful | time reached | Checking, read |
/// | any that has sent | 201, however late | Bound |
/// | any, after 201, 409, 404, unknown, an extender that failed | watch: our node | ended: confirmed |
/// | Sent, after none of these | watch: our node | Seen |
/// | Seen | 201, 409, 404, unknown, an extender failed | ended: confirmed |
/// | Seen | other refusal, 429, not sent | ended: elsewhere (somebody else chose the same node) |
/// | Moved | watch: the node read | ended: confirmed |
/// | any other | watch: any node | ended: elsewhere |
/// | any | watch: deleted | ended: gone |
/// | any | watch: no node | unchanged: the watch may lag |
/// | any | end of term | Waiting ends as refused; what would send or read becomes Stopped; the rest awaits its answer |
///
/// A send is open when its outcome was unknown and its `settled_by` lies ahead of the read in question. That is stricter
/// than "has passed when the answer came": a read begun earlier may have been overtaken by the request.
/// An extender binds in its own way and is asked once. Whatever went wrong with its call, the pod may be bound for as long as
/// the call may be under way: until it was sent plus its limit of time, or until the extender itself said that it failed.
/// Only a read asked for after that tells. An extender that goes on after its time is up is not covered; what it binds then
/// the watch tells, like a binding by somebody else.
/// That the binding took effect is reported once, by the answer, the read or the watch, whichever comes first; by the watch
/// only when our answer, too, allows for it. A replica that was cut off while a pod's volumes were provided may see first that
/// the next leader has bound the pod, and must not claim that for itself.
#[derive(Debug, Clone)]
pub struct Claim {
    id: ClaimId,
    pod: Arc<Pod>,
    /// The node that the cycle chose.
    chosen: CompactString,
    /// The node on which it counts.
    node: CompactString,
    state: ClaimState,
    carrier: Carrier,
    /// Until then a send of unknown outcome may be applied.
    open_until: Option<Moment>,
    refusal: Option<String>,
    binding: Binding,
    over: bool,
    failures: u32,
}

/// First wait before a request of unknown outcome is repeated; doubled each time.
const FIRST_BACKOFF: Duration = Duration::from_millis(500);
/// Longest such wait.
const MAX_BACKOFF: Duration = Duration::from_secs(10);

impl Claim {
    pub(crate) fn new(id: ClaimId, pod: Arc<Pod>, node: CompactString) -> Self {
        Self {
            id,
            pod,
            chosen: node.clone(),
            node,
            state: ClaimState::Waiting,
            carrier: Carrier::Api,
            open_until: None,
            refusal: None,
            binding: Binding::NotSent,
            over: false,
            failures: 0,
        }
    }

    /// Its number.
    pub fn id(&self) -> ClaimId {
        self.id
    }

    /// The pod as it was when the node was chosen.
    pub fn pod(&self) -> &Arc<Pod> {
        &self.pod
    }

    /// The node on which it counts.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// The node that the cycle chose: the same, unless a read showed the pod elsewhere.
    pub(crate) fn chosen(&self) -> &CompactString {
        &self.chosen
    }

    /// Where it stands.
    pub fn state(&self) -> ClaimState {
        self.state
    }

    /// Whether the binding is known to have taken effect.
    pub fn is_bound(&self) -> bool {
        self.binding == Binding::Effective
    }

    /// Whether a read showed the pod on another node than was chosen.
    pub(crate) fn is_moved(&self) -> bool {
        self.chosen != self.node
    }

    /// Until when a request whose outcome is unknown may still be applied; the lease must not be released before.
    pub fn open_until(&self) -> Option<Moment> {
        self.open_until
    }

    /// Whether an extender is to bind, or was the last to try.
    pub(crate) fn is_delegated(&self) -> bool {
        matches!(self.carrier, Carrier::Extender { .. })
    }

    /// What the API server or the extender said when it refused.
    pub(crate) fn refusal(&self) -> &str {
        self.refusal.as_deref().unwrap_or_default()
    }

    pub(crate) fn on(&mut self, input: Input<'_>, now: Moment) -> Reaction {
        if self.state == ClaimState::Ended {
            return Reaction::nothing();
        }
        match input {
            Input::Sight(sight) => self.on_sight(sight),
            Input::Answer(answer) => self.on_answer(answer, now),
            Input::Cleared(carrier) if self.state == ClaimState::Waiting => {
                self.carrier = carrier;
                self.send()
            }
            Input::Withdrawn if self.state == ClaimState::Waiting => self.end(Ending::Refused),
            Input::Due => self.on_due(now),
            Input::TermOver => self.on_term_over(),
            Input::Cleared(_) | Input::Withdrawn => Reaction::nothing(),
        }
    }

    fn on_sight(&mut self, sight: Sight<'_>) -> Reaction {
        match sight {
            Sight::Deleted => self.end(Ending::Gone),
            Sight::Assigned(node) if node == self.node && self.state == ClaimState::Moved => {
                self.end(Ending::Confirmed)
            }
            Sight::Assigned(node) if node == self.node && self.may_be_bound() => self.confirm(),
            Sight::Assigned(node) if node == self.node && self.awaits_answer() => {
                self.state = ClaimState::Seen;
                Reaction::nothing()
            }
            Sight::Assigned(_) => self.end(Ending::Elsewhere),
            Sight::Unassigned { terminating: true } if self.state == ClaimState::Waiting => self.end(Ending::Gone),
            Sight::Unassigned { .. } => Reaction::nothing(),
        }
    }

    fn on_answer(&mut self, answer: ClaimInput, now: Moment) -> Reaction {
        if let ClaimInput::Unknown { settled_by } | ClaimInput::ExtenderFailed { settled_by, .. } = answer {
            self.open_until = self.open_until.max(Some(settled_by));
        }
        if self.binding == Binding::Sent && leaves_open(&answer) {
            self.binding = Binding::Doubtful;
        }
        match (self.state, answer) {
            (ClaimState::Seen, ClaimInput::Read(_)) => Reaction::nothing(),
            (ClaimState::Seen, ClaimInput::Bound) => self.confirm(),
            (ClaimState::Seen, _) if self.may_be_bound() => self.confirm(),
            (ClaimState::Seen, _) => self.end(Ending::Elsewhere),
            (state, ClaimInput::Bound) if self.has_sent() && state != ClaimState::Moved => self.bound_now(),
            (ClaimState::Sent, ClaimInput::Conflict { message } | ClaimInput::NotFound { message }) => {
                self.refusal = Some(message);
                self.read(now)
            }
            (ClaimState::Sent, ClaimInput::Refused { message }) => {
                self.refusal = Some(message);
                if self.open_until.is_none() {
                    self.end(Ending::Refused)
                } else {
                    self.read(now)
                }
            }
            (ClaimState::Sent, ClaimInput::NotSent { message }) => {
                self.refusal = Some(message);
                if self.open_until.is_none() {
                    self.end(Ending::Refused)
                } else {
                    self.send_again_later(now)
                }
            }
            (ClaimState::Sent, ClaimInput::Throttled { retry_after }) => self.send_again(now + retry_after),
            (ClaimState::Sent, ClaimInput::ExtenderFailed { message, .. }) => {
                self.refusal = Some(message);
                self.read_when_settled(now)
            }
            (ClaimState::Sent, ClaimInput::Unknown { .. }) if !holds(Guard::ClaimKeptOnUnknown) => {
                self.end(Ending::Refused)
            }
            (ClaimState::Sent, ClaimInput::Unknown { .. }) if self.is_delegated() => {
                self.refusal = Some("the extender's answer was lost".to_owned());
                self.read_when_settled(now)
            }
            (ClaimState::Sent, ClaimInput::Unknown { .. }) => self.send_again_later(now),
            (ClaimState::Checking { since }, ClaimInput::Read(read)) => self.on_read(read, since, now),
            _ => Reaction::nothing(),
        }
    }

    fn on_read(&mut self, read: ReadResult, since: Moment, now: Moment) -> Reaction {
        match read {
            ReadResult::Assigned { node } if node == self.node => self.bound_now(),
            ReadResult::Assigned { node } => {
                self.state = ClaimState::Moved;
                self.node.clone_from(&node);
                Reaction {
                    moved_to: Some(node),
                    ..Reaction::default()
                }
            }
            ReadResult::Unassigned => match self.open_until {
                Some(open_until) if since < open_until => self.read_again(open_until.max(now)),
                _ => self.not_bound(),
            },
            ReadResult::Deleting | ReadResult::Gone => self.end(Ending::Gone),
            ReadResult::Failed => {
                let at = now + self.backoff();
                self.read_again(at)
            }
        }
    }

    /// The pod is certainly not bound by what was sent so far.
    fn not_bound(&mut self) -> Reaction {
        if self.over || self.carrier != (Carrier::Extender { fallback: true }) {
            return self.end(Ending::Refused);
        }
        let fell_back = self.refusal.take();
        self.carrier = Carrier::Api;
        self.open_until = None;
        self.binding = Binding::Sent;
        self.failures = 0;
        Reaction {
            fell_back,
            ..self.send()
        }
    }

    fn on_due(&mut self, now: Moment) -> Reaction {
        match self.state {
            ClaimState::Unknown { send_at } if send_at <= now => self.send(),
            ClaimState::Doubtful { read_at } if read_at <= now => self.read(now),
            _ => Reaction::nothing(),
        }
    }

    fn on_term_over(&mut self) -> Reaction {
        self.over = true;
        match self.state {
            ClaimState::Waiting => self.end(Ending::Refused),
            ClaimState::Unknown { .. } | ClaimState::Doubtful { .. } => self.stop(),
            _ => Reaction::nothing(),
        }
    }

    /// Marks the binding as effective; whether that is news.
    fn take_effect(&mut self) -> bool {
        std::mem::replace(&mut self.binding, Binding::Effective) != Binding::Effective
    }

    /// Whether a binding of ours has taken effect or may have.
    fn may_be_bound(&self) -> bool {
        self.binding >= Binding::Doubtful
    }

    fn has_sent(&self) -> bool {
        self.binding >= Binding::Sent
    }

    fn awaits_answer(&self) -> bool {
        matches!(self.state, ClaimState::Sent | ClaimState::Seen)
    }

    /// The watch shows the pod where we bound it.
    fn confirm(&mut self) -> Reaction {
        Reaction {
            bound: self.take_effect(),
            ..self.end(Ending::Confirmed)
        }
    }

    fn bound_now(&mut self) -> Reaction {
        self.state = ClaimState::Bound;
        self.open_until = None;
        Reaction {
            bound: self.take_effect(),
            ..Reaction::default()
        }
    }

    fn send(&mut self) -> Reaction {
        if self.over {
            return self.stop();
        }
        self.state = ClaimState::Sent;
        self.binding = self.binding.max(Binding::Sent);
        Reaction::ask(if self.is_delegated() { Ask::Delegate } else { Ask::Send })
    }

    fn read(&mut self, now: Moment) -> Reaction {
        if self.over {
            return self.stop();
        }
        self.state = ClaimState::Checking { since: now };
        Reaction::ask(Ask::Read)
    }

    fn read_when_settled(&mut self, now: Moment) -> Reaction {
        match self.open_until {
            Some(open_until) if now < open_until => self.read_again(open_until),
            _ => self.read(now),
        }
    }

    fn send_again(&mut self, send_at: Moment) -> Reaction {
        if self.over {
            return self.stop();
        }
        self.state = ClaimState::Unknown { send_at };
        Reaction::nothing()
    }

    fn send_again_later(&mut self, now: Moment) -> Reaction {
        let at = now + self.backoff();
        self.send_again(at)
    }

    fn read_again(&mut self, read_at: Moment) -> Reaction {
        if self.over {
            return self.stop();
        }
        self.state = ClaimState::Doubtful { read_at };
        Reaction::nothing()
    }

    fn stop(&mut self) -> Reaction {
        self.state = ClaimState::Stopped;
        Reaction::nothing()
    }

    fn end(&mut self, ending: Ending) -> Reaction {
        self.state = ClaimState::Ended;
        Reaction {
            ending: Some(ending),
            ..Reaction::default()
        }
    }

    fn backoff(&mut self) -> Duration {
        let doubled = FIRST_BACKOFF.saturating_mul(1 << self.failures.min(8));
        self.failures = self.failures.saturating_add(1);
        doubled.min(MAX_BACKOFF)
    }
}

/// Whether this answer leaves open that we have bound the pod. A proxy may have sent the binding twice, and tell what became of
/// the second one.
fn leaves_open(answer: &ClaimInput) -> bool {
    matches!(
        answer,
        ClaimInput::Unknown { .. }
            | ClaimInput::ExtenderFailed { .. }
            | ClaimInput::Conflict { .. }
            | ClaimInput::NotFound { .. }
    )
}

#[cfg(test)]
mod tests;
