//! Whether the term that a lease is renewed for gets on, as a state machine without a clock.
//!
//! ```text
//!  each renewal ─▶ look ─┬─ everybody has shown life ──────────▶ probe those who have answered, renew
//!                        └─ somebody has not for its patience ─▶ resign, and say who
//! ```
//!
//! An actor shows life by answering a probe, and by each message that it takes up and each step of a long one ([`Pulse`]): one
//! that is busy is not wedged, however much waits in its mailbox. Time without life counts only while somebody owes an answer,
//! and only as long as the elector itself was awake: whatever passes between two looks counts for half of the patience at
//! most. So a machine that was suspended, or a process that got no time, finds its actors in arrears and not at fault.
//!
//! A watch shows life by what it delivers, by a list that comes on, and by what excuses it ([`plimsoll_client::WatchPulse`]).
//!
//! Waiting for an extender, for a plugin's effect, for Permit or for the API server is no silence: actors take up messages
//! meanwhile, and workers beat as long as their request is under way.
//!
//! [`Pulse`]: plimsoll_client::Pulse

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use plimsoll_model::Moment;

use crate::informer_cache::{Kind, WatchCounts};

/// Below this an actor is not called silent, however short the lease is: a machine with little time to give makes everyone
/// slow, and changing leaders then makes it worse.
const LEAST_PATIENCE: Duration = Duration::from_secs(10);

/// A watch gets a bookmark about once a minute, and its stream is opened anew after two and a half without anything. So this is
/// one stream that was silent until given up and one more that missed its bookmark.
pub const WATCH_PATIENCE: Duration = Duration::from_mins(4);

/// Until a new leader's caches have caught up, this long without any part of a list and any event.
pub const CATCH_UP_PATIENCE: Duration = Duration::from_mins(1);

/// Why a replica gives its leadership up although nobody asked it to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resignation {
    /// The scheduling cycle is wedged or has died.
    Cycle,
    /// The scheduling queue is wedged or has died.
    Queue,
    /// No binding worker takes a job, or the pool has died.
    BindingWorkers,
    /// The Evictor is wedged or has died.
    Evictor,
    /// The informer cache is wedged or has died, or its history began anew.
    Cache,
    /// A kind's watch brings nothing and is not excused, or has died.
    Watch,
    /// The caches of a new leader do not catch up with the API server.
    CatchUp,
    /// The API server does not tell a new leader what its caches must have. Nothing is known against them.
    Marks,
    /// Too many scheduling cycles have panicked.
    Panics,
    /// The term itself has died.
    Term,
}

impl Resignation {
    /// Every one.
    pub const ALL: [Self; 10] = [
        Self::Cycle,
        Self::Queue,
        Self::BindingWorkers,
        Self::Evictor,
        Self::Cache,
        Self::Watch,
        Self::CatchUp,
        Self::Marks,
        Self::Panics,
        Self::Term,
    ];

    /// The label of the metric.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cycle => "cycle",
            Self::Queue => "queue",
            Self::BindingWorkers => "binding_workers",
            Self::Evictor => "evictor",
            Self::Cache => "cache",
            Self::Watch => "watch",
            Self::CatchUp => "catch_up",
            Self::Marks => "marks",
            Self::Panics => "panics",
            Self::Term => "term",
        }
    }

    /// What an operator can do about it.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Cycle | Self::Queue | Self::Panics => {
                "look for a plugin that does not return or panics, in the lines before this one; if there is none of your own, \
                 report it"
            }
            Self::BindingWorkers | Self::Evictor | Self::Cache | Self::Term => {
                "the lines before this one say what it was about; report it if it comes again"
            }
            Self::Watch => {
                "the API server opens watches of this kind and sends no bookmarks on them: look at it and at proxies before it"
            }
            Self::Marks => {
                "consistent lists of the kinds that the lines before this one name fail: look at the API server"
            }
            Self::CatchUp => "lists of the kinds named come no further: look at the API server and its priority levels",
        }
    }

    /// Whether what the cache holds may be as stale as what led to this; the next term must not begin with it.
    pub fn distrusts_cache(self) -> bool {
        matches!(self, Self::Watch | Self::CatchUp | Self::Cache)
    }
}

/// Who must answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Respondent {
    /// What every term reads from.
    InformerCache,
    /// Of the term.
    SchedulingQueue,
    /// Of the term.
    SchedulingCycle,
    /// Of the term; any worker answers.
    BindingWorkers,
    /// Of the term.
    Evictor,
}

impl Respondent {
    /// Who has died or answers no more, as a reason to resign.
    pub fn resignation(self) -> Resignation {
        match self {
            Self::InformerCache => Resignation::Cache,
            Self::SchedulingQueue => Resignation::Queue,
            Self::SchedulingCycle => Resignation::Cycle,
            Self::BindingWorkers => Resignation::BindingWorkers,
            Self::Evictor => Resignation::Evictor,
        }
    }
}

impl fmt::Display for Respondent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InformerCache => "the informer cache",
            Self::SchedulingQueue => "the scheduling queue",
            Self::SchedulingCycle => "the scheduling cycle",
            Self::BindingWorkers => "the pool of binding workers",
            Self::Evictor => "the Evictor",
        })
    }
}

/// Time as the elector has lived it, since the term began.
type Awake = Duration;

#[derive(Debug, Clone, Copy)]
struct Actor {
    pulse: u64,
    /// When life was last shown, by one who owes an answer.
    silent_since: Option<Awake>,
}

#[derive(Debug, Clone, Copy)]
struct Watch {
    counts: WatchCounts,
    shown: Awake,
}

/// What one look comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    /// The lease may be renewed; these are to be probed.
    GoesOn(Vec<Respondent>),
    /// It is not renewed. The words are for people.
    Resign(Resignation, String),
}

/// The signs of life of one term.
#[derive(Debug)]
pub struct Progress {
    patience: Duration,
    looked: Moment,
    awake: Awake,
    actors: BTreeMap<Respondent, Actor>,
    watches: BTreeMap<Kind, Watch>,
    /// Until the term's own actors run: when something last came of what is waited for.
    catching_up: Option<Awake>,
}

impl Progress {
    /// Of a term that begins now, under a lease with this renew deadline.
    pub fn new(renew_deadline: Duration, now: Moment) -> Self {
        let cache = Actor {
            pulse: 0,
            silent_since: None,
        };
        Self {
            patience: renew_deadline.max(LEAST_PATIENCE),
            looked: now,
            awake: Duration::ZERO,
            actors: [(Respondent::InformerCache, cache)].into(),
            watches: BTreeMap::new(),
            catching_up: Some(Duration::ZERO),
        }
    }

    /// The caches have caught up, and the actors of the term run.
    pub fn running(&mut self) {
        use Respondent::{BindingWorkers, Evictor, SchedulingCycle, SchedulingQueue};
        self.catching_up = None;
        for who in [SchedulingQueue, SchedulingCycle, BindingWorkers, Evictor] {
            let actor = Actor {
                pulse: 0,
                silent_since: None,
            };
            self.actors.insert(who, actor);
        }
    }

    /// A probe was answered.
    pub fn answered(&mut self, who: Respondent) {
        if let Some(actor) = self.actors.get_mut(&who) {
            actor.silent_since = None;
        }
    }

    /// The cache has told what its watches have shown so far.
    pub fn take_watches(&mut self, told: &[(Kind, WatchCounts)]) {
        self.answered(Respondent::InformerCache);
        for (kind, counts) in told {
            let shown = self.awake;
            let watch = self.watches.entry(*kind).or_insert(Watch { counts: *counts, shown });
            if watch.counts.came_nearer(counts) && self.catching_up.is_some() {
                self.catching_up = Some(shown);
            }
            if watch.counts != *counts {
                *watch = Watch { counts: *counts, shown };
            }
        }
    }

    /// Before a renewal: may there be one? `pulse` tells how much life each has shown so far.
    pub fn look(&mut self, now: Moment, pulse: impl Fn(Respondent) -> u64) -> Look {
        self.awake += now.since(self.looked).min(self.patience / 2);
        self.looked = now;
        let mut ask = Vec::new();
        for (who, actor) in &mut self.actors {
            let pulse = pulse(*who);
            let moved = actor.pulse != pulse;
            actor.pulse = pulse;
            match actor.silent_since {
                None => {
                    actor.silent_since = Some(self.awake);
                    ask.push(*who);
                }
                Some(_) if moved => actor.silent_since = Some(self.awake),
                Some(since) if self.awake.saturating_sub(since) >= self.patience => {
                    let words = format!("{who} has shown no life for {} s", self.patience.as_secs());
                    return Look::Resign(who.resignation(), words);
                }
                Some(_) => {}
            }
        }
        self.catch_up()
            .or_else(|| self.stuck_watch())
            .unwrap_or(Look::GoesOn(ask))
    }

    fn catch_up(&self) -> Option<Look> {
        let came_on = self.catching_up?;
        // Somebody has to change a role, and another replica has the same one.
        let forbidden = |watch: &Watch| watch.counts.forbidden && watch.counts.behind;
        if self.watches.values().any(forbidden) || self.awake.saturating_sub(came_on) < CATCH_UP_PATIENCE {
            return None;
        }
        // Before all marks are read only kinds that were never listed are behind.
        let (resignation, what) = if self.watches.values().any(|watch| watch.counts.behind) {
            (
                Resignation::CatchUp,
                "the caches have not caught up, and nothing has come",
            )
        } else {
            (
                Resignation::Marks,
                "the API server has not said what the caches must have, and nothing has come",
            )
        };
        let words = format!("{what} for {} s", CATCH_UP_PATIENCE.as_secs());
        Some(Look::Resign(resignation, words))
    }

    fn stuck_watch(&self) -> Option<Look> {
        // Until then a kind may be brought forward by other means than its watch.
        if self.catching_up.is_some() {
            return None;
        }
        let stuck = |watch: &Watch| self.awake.saturating_sub(watch.shown) >= WATCH_PATIENCE;
        let mut stuck = self.watches.iter().filter(|(_, watch)| stuck(watch)).peekable();
        stuck.peek()?;
        let kinds: Vec<_> = stuck.map(|(kind, _)| kind.as_str()).collect();
        let words = format!(
            "the watch of {} has brought nothing for {} s, not even a bookmark",
            kinds.join(", "),
            WATCH_PATIENCE.as_secs()
        );
        Some(Look::Resign(Resignation::Watch, words))
    }
}

#[cfg(test)]
mod tests;
