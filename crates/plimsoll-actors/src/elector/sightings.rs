//! A candidate hears of each write to the lease, so that one that is released is taken at once.

use std::time::Duration;

use plimsoll_client::{StoredLease, WatchEvent, watch_lease};
use plimsoll_model::Moment;
use rand_chacha::ChaCha8Rng;
use tokio::sync::mpsc;

use super::{ElectorMessage, ElectorState, Phase};

/// Batches between the watch and the elector.
const CHANNEL: usize = 4;

/// Two clocks that are not read at one moment differ by less than this.
const NAP: Duration = Duration::from_millis(100);

impl ElectorState {
    pub(super) fn watch_lease(&self, random: ChaCha8Rng) {
        let (sink, mut batches) = mpsc::channel(CHANNEL);
        let watching = watch_lease(self.lease.clone(), random, sink);
        let mailbox = self.mailbox.clone();
        let telling = async move {
            while let Some(batch) = batches.recv().await {
                for event in batch.events {
                    if let WatchEvent::Upsert(lease) = event {
                        mailbox.tell(ElectorMessage::Seen(Box::new(StoredLease::clone(&lease))));
                    }
                }
            }
        };
        let cancelled = self.cancelled.clone();
        self.tasks.spawn(async move {
            cancelled
                .run_until_cancelled(futures::future::join(watching, telling))
                .await;
        });
    }

    /// Takes note of the time that the machine has slept since the last look.
    pub(super) fn wake(&mut self) {
        let suspended = self.clock.suspended();
        let slept = suspended.saturating_sub(self.suspended);
        if slept >= NAP {
            self.suspended = suspended;
            self.election.slept(slept);
        }
    }

    pub(super) fn take_sight(&mut self, lease: Box<StoredLease>, now: Moment) {
        if let Some(at) = self.election.seen(lease, now)
            && self.phase == Phase::Standing
        {
            // A read under way may have been answered before the write that was seen.
            self.sighted = self.asking.then_some(at);
            self.next_try = at.min(self.next_try).max(self.not_before);
        }
    }

    /// A try has not won the lease; the next is due then, or when what was seen meanwhile says.
    pub(super) fn try_again(&mut self, at: Moment) {
        let sooner = self.sighted.take().map_or(at, |sighted| sighted.min(at));
        self.next_try = sooner.max(self.not_before);
    }
}
