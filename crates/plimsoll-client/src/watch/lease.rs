//! The watch of one Lease, by which a candidate hears at once that it is free.

use std::time::Duration;

use plimsoll_model::{DecodeError, ObjectName, RawPolicy, ResourceVersion};
use rand_chacha::ChaCha8Rng;
use tokio::sync::mpsc::Sender;
use tokio::time::Instant;

use super::backoff::Backoff;
use super::stream::{End, WatchStream};
use super::{SHORT_WATCH, WatchBatch, WatchedKind};
use crate::{LeaseClient, StoredLease};

/// How long one request watches. A leader writes every few seconds, so that a watch that is dead shows soon anyway.
const SECONDS: u64 = 300;

/// Between two tries at a server that does not let us watch; somebody may change a role.
const FORBIDDEN: Duration = Duration::from_mins(5);

/// Leases as objects of a watch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leases;

impl WatchedKind for Leases {
    type Object = StoredLease;
    type Sharing = ();
    const NAME: &'static str = "leases";
    const PATH: &'static str = "/apis/coordination.k8s.io/v1/leases";

    fn decode(json: &[u8], _: RawPolicy) -> Result<StoredLease, DecodeError> {
        StoredLease::decode(json).map_err(|error| DecodeError::of("Lease", error))
    }

    fn name(lease: &StoredLease) -> ObjectName {
        lease.object_name()
    }

    fn version(lease: &StoredLease) -> ResourceVersion {
        lease.resource_version.parse().unwrap_or(ResourceVersion::new(0))
    }
}

/// Tells every version of the lease from the present one on, for as long as somebody receives. `random` spreads reconnects.
///
/// It is no more than a hint for a candidate, which goes on to ask from time to time: a watch that is refused or does not
/// work costs time and nothing else. Each request begins anew with the lease as it is then.
pub async fn watch_lease(lease: LeaseClient, mut random: ChaCha8Rng, sink: Sender<WatchBatch<StoredLease>>) {
    let mut backoff = Backoff::default();
    let mut refused = false;
    loop {
        let started = Instant::now();
        let end = match WatchStream::<Leases>::open_at(lease.client(), &path(&lease)).await {
            Ok(mut stream) => stream.deliver(&sink).await,
            Err(end) => end,
        };
        let lived = started.elapsed() >= SHORT_WATCH;
        if lived {
            backoff.reset();
        }
        match end {
            End::ReceiverGone => return,
            End::Forbidden { reason } => {
                if !std::mem::replace(&mut refused, true) {
                    tracing::info!(
                        reason,
                        "The lease may not be watched; whether it is free is asked from time to time"
                    );
                }
                tokio::time::sleep(FORBIDDEN).await;
                continue;
            }
            end => tracing::debug!(?end, "The watch of the lease has ended, going on"),
        }
        let delay = backoff.next(&mut random);
        if !lived {
            tokio::time::sleep(delay).await;
        }
    }
}

fn path(lease: &LeaseClient) -> String {
    format!(
        "/apis/coordination.k8s.io/v1/namespaces/{}/leases?watch=true&allowWatchBookmarks=true&timeoutSeconds={SECONDS}\
         &fieldSelector=metadata.name%3D{}",
        lease.namespace(),
        lease.name()
    )
}
