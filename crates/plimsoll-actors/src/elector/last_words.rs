//! The end of the process.

use std::time::Duration;

use super::{ElectorState, Phase};
use crate::event_recorder::RecorderMessage;
use crate::supervisor::SupervisorMessage;

/// How long the process may live on to tell users that it has stopped leading.
const LAST_WORDS: Duration = Duration::from_secs(1);

impl ElectorState {
    /// Lets the process end, once users have been told what there is to tell, or a moment has passed.
    pub(super) fn say_released(&mut self) {
        if self.phase != Phase::Done || self.released || !self.candidate_is_gone() {
            return;
        }
        self.released = true;
        let told = self.recorder.ask("Elector", RecorderMessage::Flush);
        let supervisor = self.supervisor.clone();
        let cancelled = self.cancelled.clone();
        self.tasks.spawn(async move {
            let waiting = tokio::time::timeout(LAST_WORDS, told);
            if cancelled.run_until_cancelled(waiting).await.is_some() {
                supervisor.tell(SupervisorMessage::Released);
            }
        });
    }
}
