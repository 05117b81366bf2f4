use tokio::sync::oneshot;

use super::SupervisorMessage;
use crate::mailbox::Mailbox;

/// Tells whether a replica still lives inside, from outside of its runtime if need be.
#[derive(Clone)]
pub struct Lifeline {
    supervisor: Mailbox<SupervisorMessage>,
}

impl Lifeline {
    pub(super) fn of(supervisor: Mailbox<SupervisorMessage>) -> Self {
        Self { supervisor }
    }

    /// Resolves when supervisor and elector have answered: with whether they are there at all.
    pub async fn answers(&self) -> bool {
        let (reply, answer) = oneshot::channel();
        self.supervisor.tell(SupervisorMessage::Ping(reply));
        answer.await.is_ok()
    }
}
