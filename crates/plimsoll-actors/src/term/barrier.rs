//! What a term begins with: the caches have what the API server held after the lease was won.

use std::time::Duration;

use futures::FutureExt;
use plimsoll_client::{
    ApiClient, BarrierError, DisruptionBudgets, Namespaces, Nodes, Pods, ReplicaSets, ReplicationControllers, Services,
    StatefulSets, consistent_list, consistent_version, force_progress,
};
use plimsoll_model::ResourceVersion;
use plimsoll_model::guard::{Guard, holds};
use plimsoll_telemetry::HandOverStage;
use tokio::sync::{mpsc, oneshot};

use super::TermParts;
use crate::informer_cache::{CacheMessage, CachedKind, Credit, HistoryBeganAnew, Kind, Versions};
use crate::watch_feed;

/// Several API servers may stand behind one address, and a short watch may hit one that lags behind for as long as it
/// likes. A kind that gets no further for this long is listed, which is always up to date.
const PATIENCE: Duration = Duration::from_secs(5);

/// Between two tries to read what the API server holds.
const BARRIER_RETRY: Duration = Duration::from_millis(500);

/// Waits until the cache has everything that the API server held when this was called, for each kind by that kind's own
/// versions. A quiet kind's watch would say so only once a minute, so a short second watch makes it.
pub(super) async fn barrier(parts: TermParts) {
    if !holds(Guard::Barrier) {
        return;
    }
    let begun = parts.clock.now();
    let Some(seen) = cached_versions(&parts).await else {
        return std::future::pending().await;
    };
    let wanted = loop {
        match read_versions(&parts.client).await {
            Ok(versions) => break versions,
            Err(error) => {
                tracing::warn!(%error, "Reading the version to catch up with failed; trying again");
                tokio::time::sleep(BARRIER_RETRY).await;
            }
        }
    };
    parts
        .metrics
        .hand_over(HandOverStage::VersionRead, parts.clock.now().since(begun));
    let (reply, reached) = oneshot::channel();
    parts.cache.tell(CacheMessage::AwaitVersions(wanted, reply));
    let forcing = futures::future::join_all([
        force::<Namespaces>(&parts, &seen, &wanted).boxed(),
        force::<Services>(&parts, &seen, &wanted).boxed(),
        force::<ReplicationControllers>(&parts, &seen, &wanted).boxed(),
        force::<ReplicaSets>(&parts, &seen, &wanted).boxed(),
        force::<StatefulSets>(&parts, &seen, &wanted).boxed(),
        force::<DisruptionBudgets>(&parts, &seen, &wanted).boxed(),
        force::<Nodes>(&parts, &seen, &wanted).boxed(),
        force::<Pods>(&parts, &seen, &wanted).boxed(),
    ]);
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
    parts
        .metrics
        .hand_over(HandOverStage::CaughtUp, parts.clock.now().since(begun));
}

/// What the API server holds of each kind now.
async fn read_versions(client: &ApiClient) -> Result<Versions, BarrierError> {
    async fn read<K: CachedKind>(client: &ApiClient) -> Result<(Kind, ResourceVersion), BarrierError> {
        Ok((K::KIND, consistent_version::<K>(client).await?))
    }
    let read = futures::future::try_join_all([
        read::<Namespaces>(client).boxed(),
        read::<Services>(client).boxed(),
        read::<ReplicationControllers>(client).boxed(),
        read::<ReplicaSets>(client).boxed(),
        read::<StatefulSets>(client).boxed(),
        read::<DisruptionBudgets>(client).boxed(),
        read::<Nodes>(client).boxed(),
        read::<Pods>(client).boxed(),
    ])
    .await?;
    let of = |kind| read.iter().find(|(known, _)| *known == kind);
    Ok(Versions::of_each(|kind| {
        of(kind).map_or(ResourceVersion::new(0), |(_, version)| *version)
    }))
}

/// What the cache has; nothing when it has died.
async fn cached_versions(parts: &TermParts) -> Option<Versions> {
    let (reply, answer) = oneshot::channel();
    parts.cache.tell(CacheMessage::Versions(reply));
    answer.await.ok()
}

/// Brings one kind forward until the cache has passed what is wanted. `seen` was there before that was read.
async fn force<K: CachedKind>(parts: &TermParts, seen: &Versions, wanted: &Versions) {
    let (seen, wanted) = (seen.of(K::KIND), wanted.of(K::KIND));
    if wanted < seen {
        parts.cache.tell(CacheMessage::HistoryBeganAnew(HistoryBeganAnew {
            kind: K::NAME,
            seen,
            version: wanted,
        }));
        return;
    }
    let mut reached = seen;
    let mut moved = parts.clock.now();
    loop {
        let Some(versions) = cached_versions(parts).await else {
            return;
        };
        let from = versions.of(K::KIND);
        let now = parts.clock.now();
        if from >= wanted {
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
