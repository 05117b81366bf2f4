use std::time::Duration;

use http::StatusCode;
use plimsoll_model::ResourceVersion;
use serde::Deserialize;
use tokio::sync::mpsc::Sender;

use crate::api_client::{ApiClient, Reply, get, get_metadata};
use crate::watch::stream::{End, WatchStream};
use crate::{RawPolicies, WatchBatch, WatchedKind};

/// The shortest watch that still gets a bookmark: kube-apiserver sends one two seconds before the end.
const PROGRESS_SECONDS: u64 = 3;

/// Why a barrier got no further.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BarrierError {
    /// The history at the version asked for is gone; the main watch will list anew and get there by itself.
    #[error("history is gone: {0}")]
    Expired(String),
    /// The API server does not let us read the kind; somebody has to change a role.
    #[error("{0}")]
    Forbidden(String),
    /// Another refusal; worth another try.
    #[error("{reason}")]
    Refused {
        /// Status and words.
        reason: String,
        /// How long the API server asks to wait.
        retry_after: Option<Duration>,
    },
    /// No answer, or none that makes sense; worth another try.
    #[error("{0}")]
    Failed(String),
    /// Nobody receives the events any more.
    #[error("nobody receives")]
    ReceiverGone,
}

fn failed(error: &dyn std::fmt::Display) -> BarrierError {
    BarrierError::Failed(error.to_string())
}

fn refused(reply: &Reply) -> BarrierError {
    let reason = crate::write::status_text(reply);
    if reply.status == StatusCode::FORBIDDEN {
        BarrierError::Forbidden(reason)
    } else {
        BarrierError::Refused {
            reason,
            retry_after: reply.retry_after(),
        }
    }
}

#[derive(Deserialize)]
struct WireHead {
    metadata: WireMeta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireMeta {
    resource_version: String,
}

/// What there was of one kind at one moment, told without the objects.
///
/// A cache of the kind that takes every change in order has all of it once it has come to `newest` and holds `count`
/// objects: no object that was there then has changed since `newest`, so only deletions can be missing, and none is. A
/// stream that says nothing because nothing happens is not waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    /// The version of the whole.
    pub version: ResourceVersion,
    /// The newest version of an object that was there; that of nothing is 0.
    pub newest: ResourceVersion,
    /// How many objects were there.
    pub count: usize,
}

#[derive(Deserialize)]
struct WireMetadataList {
    metadata: WireMeta,
    #[serde(default)]
    items: Option<Vec<WireHead>>,
}

/// The account of everything of one kind that was written before this call, from a consistent list of metadata alone.
/// For 5,000 nodes kube-apiserver needs about 40 ms.
///
/// # Errors
/// When there is no answer, a refusal, or one that is no list.
pub async fn consistent_account<K: WatchedKind>(client: &ApiClient) -> Result<Account, BarrierError> {
    let path = match K::FIELD_SELECTOR {
        Some(selector) => format!("{}?fieldSelector={selector}", K::PATH),
        None => K::PATH.to_owned(),
    };
    let reply = client.send(get_metadata(&path)).await.map_err(|error| failed(&error))?;
    if !reply.status.is_success() {
        return Err(refused(&reply));
    }
    let list: WireMetadataList = serde_json::from_slice(&reply.body).map_err(|error| failed(&error))?;
    let items = list.items.unwrap_or_default();
    let mut newest = ResourceVersion::new(0);
    for item in &items {
        let version = item.metadata.resource_version.parse().map_err(|error| failed(&error))?;
        newest = newest.max(version);
    }
    Ok(Account {
        version: list.metadata.resource_version.parse().map_err(|error| failed(&error))?,
        newest,
        count: items.len(),
    })
}

/// A version that holds everything of one kind that was written before this call: that of a consistent list of one
/// item. Comparable with versions of the same kind only.
pub async fn consistent_version<K: WatchedKind>(client: &ApiClient) -> Result<ResourceVersion, BarrierError> {
    let reply = client
        .send(get(&format!("{}?limit=1", K::PATH)))
        .await
        .map_err(|error| failed(&error))?;
    if !reply.status.is_success() {
        return Err(refused(&reply));
    }
    let head: WireHead = serde_json::from_slice(&reply.body).map_err(|error| failed(&error))?;
    head.metadata.resource_version.parse().map_err(|error| failed(&error))
}

/// Makes a quiet watch say how far it is: a second, short watch from the cached version `from`, into the same `sink`.
///
/// It delivers what happened since and ends with a bookmark, after about a second instead of up to a minute. Both
/// watches may deliver the same events; whoever receives them ignores versions that are already applied. Returns the
/// last version delivered, which may still be short of the one wanted: ask again from there.
pub async fn force_progress<K: WatchedKind>(
    client: &ApiClient,
    from: ResourceVersion,
    raw: &RawPolicies,
    sink: &Sender<WatchBatch<K::Object>>,
) -> Result<ResourceVersion, BarrierError> {
    let end = match WatchStream::<K>::open(client, from, PROGRESS_SECONDS, raw.clone()).await {
        Ok(mut stream) => match stream.deliver(sink).await {
            End::Closed | End::Listed => return Ok(stream.position()),
            end => end,
        },
        Err(end) => end,
    };
    Err(match end {
        End::Expired { reason } => BarrierError::Expired(reason),
        End::ReceiverGone => BarrierError::ReceiverGone,
        End::Cut { reason, .. } | End::StreamingRefused { reason } | End::Forbidden { reason } => {
            BarrierError::Failed(reason)
        }
        End::Silent => BarrierError::Failed("the watch stayed silent".to_owned()),
        End::Closed | End::Listed | End::MoreWanted => BarrierError::Failed("the watch did not begin".to_owned()),
    })
}
