//! One wake-up call per actor: the earliest moment at which its state machine has something to do.

use plimsoll_model::Moment;
use ractor::{Message, concurrency::JoinHandle};

use crate::mailbox::{Mailbox, Summary};

/// Keeps at most one timer armed. A later call for an earlier moment replaces it; a later moment leaves the earlier call
/// in place, which then finds nothing to do and arms the next.
#[derive(Debug, Default)]
pub(crate) struct Alarm {
    armed: Option<(Moment, JoinHandle<()>)>,
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

    /// The call has come: the next one may be armed.
    pub(crate) fn rang(&mut self) {
        self.armed = None;
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
