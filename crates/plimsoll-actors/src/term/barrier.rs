//! What a term begins with: the caches have what the API server held after the lease was won.

use std::time::Duration;

use futures::FutureExt;
use plimsoll_client::{BarrierError, consistent_list, force_progress};
use plimsoll_model::ResourceVersion;
use plimsoll_model::guard::{Guard, holds};
use plimsoll_telemetry::HandOverStage;
use tokio::sync::mpsc;

use super::TermParts;
use super::marks::read_marks;
use crate::hand_over::HandOver;
use crate::informer_cache::{
    CacheMessage, CachedKind, Credit, HistoryBeganAnew, Holding, Holdings, Mark, Marks, for_each_kind,
};
use crate::watch_feed;

/// Several API servers may stand behind one address, and a short watch may hit one that lags behind for as long as it
/// likes. A kind that gets no further for this long is listed, which is always up to date.
const PATIENCE: Duration = Duration::from_secs(5);

/// A cache that has just begun lists each kind; one whose list comes no further for this long is helped as well.
const FIRST_LIST: Duration = Duration::from_secs(20);

const NOTHING: Holding = Holding {
    applied: ResourceVersion::new(0),
    count: 0,
    complete: true,
};

/// No list has an older version.
const ANY_LIST: ResourceVersion = ResourceVersion::new(1);

/// Between two tries to bring a kind forward.
const BARRIER_RETRY: Duration = Duration::from_millis(500);

/// Waits until the cache has everything that the API server held when this was called, for each kind by that kind's own
/// versions. A quiet kind's watch would say so only once a minute: small kinds are accounted for, and the watch of a
/// large one is made to speak by a short second one. A cache that is younger than the term has it with its first lists, which are
/// consistent reads.
pub(super) async fn barrier(parts: TermParts, cache_is_younger: bool, hand_over: HandOver) {
    if !holds(Guard::Barrier) {
        return;
    }
    let (seen, marks) = if cache_is_younger {
        // Whatever it has by now was not there when the term began.
        (
            Holdings::of_each(|_| NOTHING),
            Marks::of_each(|_| Mark::Version(ANY_LIST)),
        )
    } else {
        let Some(seen) = cached(&parts).await else {
            return std::future::pending().await;
        };
        (seen, read_marks(&parts, &seen).await)
    };
    hand_over.reached(HandOverStage::VersionRead);
    let boxed = Box::new(marks);
    let reached = parts.cache.ask("Term", |reply| CacheMessage::AwaitMarks(boxed, reply));
    let forcing = futures::future::join_all(for_each_kind!(force(&parts, &seen, &marks)));
    let reached = async {
        if reached.await.is_err() {
            // The cache has died and has not caught up with anything; its supervisor ends the term.
            std::future::pending::<()>().await;
        }
    };
    // Whether a stream moved by itself or had to be forced is all the same; the cache says when it has all.
    futures::future::select(
        Box::pin(reached),
        Box::pin(async {
            forcing.await;
            std::future::pending::<()>().await;
        }),
    )
    .await;
}

/// What the cache has; nothing when it has died.
async fn cached(parts: &TermParts) -> Option<Holdings> {
    parts.cache.ask("Term", CacheMessage::Holdings).await.ok()
}

/// Brings one kind forward until the cache has passed its mark. `seen` was there before that was read.
async fn force<K: CachedKind>(parts: &TermParts, seen: &Holdings, marks: &Marks) {
    let (seen, mark) = (seen.of(K::KIND).applied, marks.of(K::KIND));
    let wanted = mark.version();
    if wanted < seen {
        parts.cache.tell(CacheMessage::HistoryBeganAnew(HistoryBeganAnew {
            kind: K::NAME,
            seen,
            version: wanted,
        }));
        return;
    }
    first_list::<K>(parts).await;
    let mut reached = seen;
    let mut moved = parts.clock.now();
    loop {
        let Some(holdings) = cached(parts).await else {
            return;
        };
        let holding = holdings.of(K::KIND);
        let from = holding.applied;
        let now = parts.clock.now();
        if mark.is_passed_by(holding) {
            return;
        }
        if from > reached {
            (reached, moved) = (from, now);
        }
        let brought = if now.since(moved) >= PATIENCE {
            moved = now;
            list::<K>(parts, from).await
        } else {
            watch_shortly::<K>(parts, from).await
        };
        if let Err(error) = brought {
            tracing::warn!(%error, kind = K::NAME, "Catching up with the API server failed; trying again");
            tokio::time::sleep(BARRIER_RETRY).await;
        }
    }
}

/// Waits for the first list of a kind, as long as it gets on. Before it, what a short watch brings would be passed over, and a
/// second list costs as much as the first.
async fn first_list<K: CachedKind>(parts: &TermParts) {
    let listing = &parts.watches.of(K::KIND).listing;
    let (mut listed, mut moved) = (listing.count(), parts.clock.now());
    while let Some(holdings) = cached(parts).await
        && holdings.of(K::KIND).applied == ResourceVersion::new(0)
    {
        let now = parts.clock.now();
        if listing.count() != listed {
            (listed, moved) = (listing.count(), now);
        }
        if now.since(moved) >= FIRST_LIST {
            return;
        }
        tokio::time::sleep(BARRIER_RETRY).await;
    }
}

async fn watch_shortly<K: CachedKind>(parts: &TermParts, from: ResourceVersion) -> Result<(), BarrierError> {
    let (sink, batches) = mpsc::channel(watch_feed::CHANNEL);
    let watching = async move { force_progress::<K>(&parts.client, from, &parts.raw, &sink).await };
    let feeding = watch_feed::feed(batches, parts.cache.clone(), K::message);
    let (watched, ()) = futures::future::join(watching, feeding).await;
    watched.map(drop)
}

async fn list<K: CachedKind>(parts: &TermParts, seen: ResourceVersion) -> Result<(), BarrierError> {
    tracing::info!(kind = K::NAME, %seen, "The watch gets no further; listing");
    let batch = consistent_list::<K>(&parts.client, seen, &parts.raw).await?;
    parts.cache.tell(K::message(batch, Credit::none()));
    Ok(())
}
