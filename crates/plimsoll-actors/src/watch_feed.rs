//! Carries what a watch delivers into the cache, no faster than it is taken up.

use std::sync::Arc;

use plimsoll_client::WatchBatch;
use tokio::sync::{Semaphore, mpsc};

use crate::informer_cache::{CacheMessage, Credit};
use crate::mailbox::Mailbox;

/// Batches of one kind between the watch and the columns. With up to 512 events a batch this is one large list.
const BATCHES: usize = 16;

/// The bounded channel that a watch writes into.
pub(crate) const CHANNEL: usize = 4;

/// Forwards batches until the watch ends. A batch waits until one of those before it has been taken up by everyone it
/// concerned.
pub(crate) async fn feed<T>(
    mut batches: mpsc::Receiver<WatchBatch<T>>,
    cache: Mailbox<CacheMessage>,
    message: fn(WatchBatch<T>, Credit) -> CacheMessage,
) {
    let room = Arc::new(Semaphore::new(BATCHES));
    while let Some(batch) = batches.recv().await {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else {
            return;
        };
        cache.tell(message(batch, Credit::new(permit)));
    }
}
