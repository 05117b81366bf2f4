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
        self.supervisor.ask("Lifeline", SupervisorMessage::Ping).await.is_ok()
    }
}
