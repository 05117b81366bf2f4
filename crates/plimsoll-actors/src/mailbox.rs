//! How actors reach each other: a handle that counts what waits, survives a restart of its actor, and can be tapped.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use arc_swap::ArcSwapOption;
use plimsoll_client::{Pulse, TermToken};
use ractor::{ActorRef, Message};
use tokio::sync::oneshot;

/// Puts one message into its actor's mailbox; returns whether there still was an actor.
pub type Delivery = Box<dyn FnOnce() -> bool + Send>;

/// Sees each message at the moment it is sent; simulations compare what two runs with one seed have sent.
pub trait Tap: Send + Sync + 'static {
    /// `summary` was sent to the actor called `to`.
    fn sent(&self, to: &'static str, summary: &str);

    /// Whether the message gets lost, which none does outside of simulations: there it stands for a bug that an audit or
    /// the elector has to notice.
    fn loses(&self, _to: &'static str, _summary: &str) -> bool {
        false
    }

    /// Delivers `summary` to the actor called `to`: at once, outside of simulations. There it may be later, and two messages
    /// of one sender to one actor stay in their order. Returns what [`Mailbox::tell`] does.
    fn delivers(&self, _to: &'static str, _summary: String, deliver: Delivery) -> bool {
        deliver()
    }

    /// A term begins that may write while this token allows it.
    fn term_began(&self, _token: &Arc<TermToken>) {}
}

/// One line about a message: its kind and whom it concerns, the same in each run with the same seed.
pub trait Summary {
    /// The line.
    fn summary(&self) -> String;
}

/// How many messages wait in a mailbox.
///
/// ractor's mailboxes are unbounded; what flows into them is bounded at the edge, by the credits that watch batches
/// carry and by the one pod at a time that the cycle asks for. The depth shows whether that holds.
#[derive(Debug, Clone, Default)]
pub struct Depth {
    waiting: Arc<AtomicI64>,
    /// Beats with each message that is taken up.
    taken: Pulse,
}

impl Depth {
    /// Messages sent and not yet taken up.
    pub fn get(&self) -> i64 {
        self.waiting.load(Ordering::Relaxed)
    }

    pub(crate) fn sent(&self) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
    }

    /// Hands over a message that counts as sent, and counts it no more when there is nobody.
    fn hand_over<M: Message>(&self, actor: &ActorRef<M>, message: M) -> bool {
        let taken = actor.cast(message).is_ok();
        if !taken {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
        taken
    }

    /// The actor took a message up.
    pub(crate) fn taken(&self) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        self.taken.beat();
    }
}

/// Answers one question, once: see [`Mailbox::ask`].
pub struct Reply<T> {
    sender: oneshot::Sender<T>,
    from: &'static str,
    to: &'static str,
    tap: Option<Arc<dyn Tap>>,
}

impl<T> Reply<T> {
    /// Whether nobody waits for the answer any more.
    pub fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }
}

impl<T: Send + 'static> Reply<T> {
    /// Sends the answer. Where nobody waits for it any more it is dropped.
    pub fn send(self, answer: T) {
        let Self { sender, from, to, tap } = self;
        let deliver = move || sender.send(answer).is_ok();
        match tap {
            None => {
                deliver();
            }
            Some(tap) => {
                let summary = format!("Reply of {from}");
                tap.sent(to, &summary);
                if !tap.loses(to, &summary) {
                    tap.delivers(to, summary, Box::new(deliver));
                }
            }
        }
    }
}

impl<T> fmt::Debug for Reply<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply").field("to", &self.to).finish_non_exhaustive()
    }
}

/// A handle on an actor's mailbox. Sending never waits; a message to an actor that is gone is dropped, as its sender is
/// told through supervision.
pub struct Mailbox<M> {
    name: &'static str,
    target: Arc<ArcSwapOption<ActorRef<M>>>,
    depth: Depth,
    tap: Option<Arc<dyn Tap>>,
}

impl<M> Clone for Mailbox<M> {
    fn clone(&self) -> Self {
        Self {
            name: self.name,
            target: Arc::clone(&self.target),
            depth: self.depth.clone(),
            tap: self.tap.clone(),
        }
    }
}

impl<M> fmt::Debug for Mailbox<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mailbox")
            .field("name", &self.name)
            .field("depth", &self.depth.get())
            .finish_non_exhaustive()
    }
}

impl<M: Message + Summary> Mailbox<M> {
    /// A mailbox whose actor is not there yet.
    pub fn new(name: &'static str, tap: Option<Arc<dyn Tap>>) -> Self {
        Self {
            name,
            target: Arc::new(ArcSwapOption::empty()),
            depth: Depth::default(),
            tap,
        }
    }

    /// From now on messages go to this actor; what waited in its predecessor's mailbox is gone with it.
    pub fn bind(&self, actor: ActorRef<M>) {
        self.depth.waiting.store(0, Ordering::Relaxed);
        self.target.store(Some(Arc::new(actor)));
    }

    /// A handle on the actor that is there now and on no successor of it: for what is of no use to one that was started
    /// anew.
    #[must_use]
    pub fn pinned(&self) -> Self {
        Self {
            target: Arc::new(ArcSwapOption::new(self.target.load_full())),
            ..self.clone()
        }
    }

    /// Sends; returns whether there was an actor to send to.
    pub fn tell(&self, message: M) -> bool {
        let target = self.target.load();
        let Some(tap) = &self.tap else {
            return target.as_deref().is_some_and(|actor| {
                self.depth.sent();
                self.depth.hand_over(actor, message)
            });
        };
        let summary = message.summary();
        tap.sent(self.name, &summary);
        if tap.loses(self.name, &summary) {
            return true;
        }
        // Whoever has taken the actor's place when the message arrives is not the one it was sent to.
        let Some(actor) = target.as_ref().map(Arc::clone) else {
            return false;
        };
        let depth = self.depth.clone();
        depth.sent();
        tap.delivers(self.name, summary, Box::new(move || depth.hand_over(&actor, message)))
    }

    /// The actor's name in gauges and logs.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Shows that the actor is not stuck: it beats with each message that is taken up, and in between with each step of one
    /// that takes long.
    pub(crate) fn pulse(&self) -> &Pulse {
        &self.depth.taken
    }

    /// Asks: sends the question that is made with the reply. The answer comes as any message does, to the `asker`; who cannot
    /// answer any more drops the reply, and the receiver says so.
    pub fn ask<T>(&self, asker: &'static str, question: impl FnOnce(Reply<T>) -> M) -> oneshot::Receiver<T> {
        let (sender, answer) = oneshot::channel();
        self.tell(question(Reply {
            sender,
            from: self.name,
            to: asker,
            tap: self.tap.clone(),
        }));
        answer
    }

    /// Delivers a job to somebody who has no mailbox of this kind, as messages are delivered.
    pub(crate) fn pass_on<J: Send + 'static>(
        &self,
        to: &'static str,
        job: J,
        summary: impl FnOnce(&J) -> String,
        deliver: impl FnOnce(J) -> bool + Send + 'static,
    ) -> bool {
        let Some(tap) = &self.tap else { return deliver(job) };
        let summary = summary(&job);
        tap.sent(to, &summary);
        tap.loses(to, &summary) || tap.delivers(to, summary, Box::new(move || deliver(job)))
    }

    /// How many messages wait.
    pub fn depth(&self) -> &Depth {
        &self.depth
    }
}
