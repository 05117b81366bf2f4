//! What the API server holds of each kind when a term begins: the marks that the cache must pass.

use std::time::Duration;

use futures::FutureExt;
use plimsoll_client::{ApiClient, BarrierError, consistent_account, consistent_version};
use plimsoll_model::ResourceVersion;

use super::TermParts;
use crate::informer_cache::{CachedKind, Holding, Holdings, Kind, Mark, Marks, for_each_kind};

/// A kind of which the cache holds more than this is not accounted for: the API server would write down the metadata of
/// all of it, and it would be held here. So many take it about 40 ms, and some 25 MB here.
const ACCOUNTED: usize = 5_000;

/// Accounts that did not come, after which only the version is asked for: that may be all that the API server has time for.
const ACCOUNTS: u32 = 2;

/// An answer may be lost in an API server that hangs, while another one would give it. What takes longer than this is asked
/// again, and given twice the time.
const FIRST_TIMEOUT: Duration = Duration::from_secs(8);
const LONGEST_TIMEOUT: Duration = Duration::from_mins(1);

/// Between two tries to read one mark; twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// What the API server holds of each kind, each read after this was called. Each kind is asked for by itself, until it
/// answers: what has come is kept while others fail.
pub(super) async fn read_marks(parts: &TermParts, seen: &Holdings) -> Marks {
    let read = futures::future::join_all(for_each_kind!(read(parts, seen))).await;
    let of = |kind| read.iter().find(|(known, _)| *known == kind);
    Marks::of_each(|kind| of(kind).map_or(Mark::Version(ResourceVersion::new(0)), |(_, mark)| *mark))
}

/// The elector sees each mark that comes, and that one may not be read, as coming on.
async fn read<K: CachedKind>(parts: &TermParts, seen: &Holdings) -> (Kind, Mark) {
    let pulse = parts.watches.mark(K::KIND);
    let (mut pause, mut within) = (FIRST_PAUSE, FIRST_TIMEOUT);
    let mut failed = 0;
    loop {
        let client = parts.client.clone().with_request_timeout(within);
        let error = match read_once::<K>(&client, seen.of(K::KIND), failed < ACCOUNTS).await {
            Ok(mark) => {
                pulse.beat();
                return (K::KIND, mark);
            }
            Err(error) => error,
        };
        tracing::warn!(%error, kind = K::NAME, "Reading the version to catch up with failed; trying again");
        let asked = match &error {
            BarrierError::Forbidden(_) => {
                pulse.beat();
                None
            }
            BarrierError::Refused { retry_after, .. } => *retry_after,
            _ => None,
        };
        tokio::time::sleep(asked.map_or(pause, |asked| asked.max(pause))).await;
        failed += 1;
        pause = (pause * 2).min(LONGEST_PAUSE);
        within = (within * 2).min(LONGEST_TIMEOUT);
    }
}

async fn read_once<K: CachedKind>(client: &ApiClient, holding: Holding, accounted: bool) -> Result<Mark, BarrierError> {
    // What is not listed yet waits for its list anyway, and without some objects the number of the others tells nothing.
    let listed = holding.applied > ResourceVersion::new(0);
    Ok(
        if accounted && listed && holding.complete && holding.count <= ACCOUNTED {
            Mark::Account(consistent_account::<K>(client).await?)
        } else {
            Mark::Version(consistent_version::<K>(client).await?)
        },
    )
}
