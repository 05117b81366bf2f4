use plimsoll_framework::ClusterEvent;
use plimsoll_model::Moment;

use crate::Place;

/// What the queue tells of one pod to whoever asks why it is pending.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own that is shown as such"
)]
pub struct Account {
    /// Where it is.
    pub place: Place,
    /// Since when it is there, as far as its moves are remembered; else since it came or was last tried.
    pub since: Moment,
    /// What brought it there, as far as that is remembered.
    pub cause: Option<ClusterEvent>,
    /// When it is looked at next if nothing happens; for an active pod and one in flight, since when it is its turn.
    pub next_look: Moment,
    /// When it is tried again though nothing happens, since what spoke against it may be over then, of which no event tells.
    pub retry_at: Option<Moment>,
    /// How many pods are in the same place, itself among them.
    pub company: usize,
    /// How many of them come before it; known of active pods, and of those only while they are not too many to be compared.
    pub ahead: Option<usize>,
    /// When it came.
    pub added: Moment,
    /// Attempts so far, with the one under way.
    pub attempts: u32,
    /// Plugins that turned it away in its last attempt.
    pub rejected_by: Vec<&'static str>,
    /// Those of them that wait for something outside.
    pub pending_on: Vec<&'static str>,
    /// The pre-enqueue plugin that holds it back.
    pub gate: Option<String>,
    /// It is held back until its own victims are on their way.
    pub held_for_victims: bool,
    /// Its victims are on their way: its backoff lasts to the end.
    pub victims_going: bool,
    /// Deciding it panicked: only its own change or its deadline moves it.
    pub set_aside: bool,
    /// An event has woken it, and it is about to move.
    pub woken: bool,
}
