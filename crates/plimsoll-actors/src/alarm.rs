//! One wake-up call per actor: the earliest moment at which its state machine has something to do.

use plimsoll_model::Moment;
use ractor::{Message, concurrency::JoinHandle};

use crate::mailbox::{Mailbox, Summary};

/// Keeps at most one timer armed. A later call for an earlier moment replaces it; a later moment leaves the earlier call
/// in place, which then finds nothing to do and arms the next.
#[derive(Debug, Default)]
pub(crate) struct Alarm {
    armed: Option<(Moment, JoinHandle<()>)>,
    /// A call for a moment that was over already is in the mailbox.
    sent: bool,
}

impl Alarm {
    /// Sends `message()` at `at`, unless an earlier call is armed.
    pub(crate) fn arm<M: Message + Summary>(
        &mut self,
        mailbox: &Mailbox<M>,
        at: Option<Moment>,
        now: Moment,
        message: impl FnOnce() -> M + Send + 'static,
    ) {
        let Some(at) = at else { return };
        // A call that is overdue and has not come was set before the machine slept; its timer did not count that time.
        if self
            .armed
            .as_ref()
            .is_some_and(|(armed, call)| *armed <= at && (*armed > now || call.is_finished()))
        {
            return;
        }
        self.disarm();
        let mailbox = mailbox.clone();
        let call = ractor::concurrency::spawn(async move {
            ractor::concurrency::sleep(at.since(now)).await;
            mailbox.tell(message());
        });
        self.armed = Some((at, call));
    }

    /// As [`Self::arm`], for an actor that may have work left over: when `at` is over already the message goes into the mailbox
    /// at once, so that the actor comes to the rest in its turn however many messages there are. Its handling must get the
    /// actor further.
    pub(crate) fn arm_or_send<M: Message + Summary>(
        &mut self,
        mailbox: &Mailbox<M>,
        at: Option<Moment>,
        now: Moment,
        message: impl FnOnce() -> M + Send + 'static,
    ) {
        if at.is_none_or(|at| at > now) {
            self.arm(mailbox, at, now, message);
        } else if !std::mem::replace(&mut self.sent, true) {
            mailbox.tell(message());
        }
    }

    /// The call has come: the next one may be armed.
    pub(crate) fn rang(&mut self) {
        self.armed = None;
        self.sent = false;
    }

    /// No call will come.
    pub(crate) fn disarm(&mut self) {
        if let Some((_, call)) = self.armed.take() {
            call.abort();
        }
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        self.disarm();
    }
}
