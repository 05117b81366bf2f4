//! When the cache ends, and when another takes its place. On a cold standby there is none.

use ractor::{ActorProcessingErr, ActorRef};

use super::{Exit, STOP_GRACE, SupervisorMessage, SupervisorState};
use crate::elector::ElectorMessage;
use crate::elector::progress::Resignation;
use crate::informer_cache::Kind;

impl SupervisorState {
    /// Every actor of the term is gone. The next one begins with a cache that is as good as it can be, which may be none yet.
    pub(super) async fn term_gone(
        &mut self,
        myself: &ActorRef<SupervisorMessage>,
        number: u64,
    ) -> Result<(), ActorProcessingErr> {
        self.term = None;
        if self.replica.config.delay_cache_until_active {
            self.stop_cache();
        } else if self.cache_is_distrusted || self.cells.cache.is_none() {
            self.stop_cache();
            self.start_cache(myself).await?;
        }
        self.warm.elector.tell(ElectorMessage::TermEnded(number));
        Ok(())
    }

    /// A cache has died, or what feeds it: its subscribers would never hear of what happened in between.
    pub(super) async fn cache_lost(
        &mut self,
        myself: &ActorRef<SupervisorMessage>,
        resignation: Resignation,
        words: String,
    ) -> Result<(), ActorProcessingErr> {
        self.resign(resignation, words);
        if self.term.is_none() && !self.replica.config.delay_cache_until_active {
            self.stop_cache();
            return self.start_cache(myself).await;
        }
        Ok(())
    }

    /// A watch has died: what the cache knows of its kind grows old.
    pub(super) async fn watch_ended(
        &mut self,
        myself: &ActorRef<SupervisorMessage>,
        cache: u64,
        kind: Kind,
    ) -> Result<(), ActorProcessingErr> {
        if cache != self.caches || self.cells.cache.is_none() || self.exit.is_none() {
            return Ok(());
        }
        let words = format!("the watch of {} has died", kind.as_str());
        tracing::error!("Starting the informer cache anew: {words}");
        let now = self.now();
        if self.restarts.book(now).is_err() {
            self.end(myself, Exit::Failed(format!("watches keep dying: {words}")));
            return Ok(());
        }
        self.cache_is_distrusted = true;
        self.cache_lost(myself, Resignation::Watch, words).await
    }

    /// Ends the cache and its watches, if there are any: what they hold is given back.
    pub(super) fn stop_cache(&mut self) {
        self.watching.cancel();
        let Some(cache) = self.cells.cache.take() else { return };
        cache.stop(None);
        let number = self.caches;
        self.cells.stopping.push((number, cache));
        let mailbox = self.mailbox.clone();
        self.later(STOP_GRACE, move || {
            mailbox.tell(SupervisorMessage::CacheStuck(number));
        });
    }
}
