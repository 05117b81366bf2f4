use std::sync::Arc;

use http::StatusCode;
use plimsoll_model::{RawPolicy, ResourceVersion};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::stream::{End, refused};
use super::wire::undecodable_object;
use super::{UndecodableObject, WatchEvent, WatchedKind};
use crate::api_client::{Reply, get};
use crate::{ApiClient, WatchPulse};

/// Objects in one page, as client-go asks.
const PAGE: u32 = 500;

#[derive(Deserialize)]
struct WireList<'a> {
    metadata: WireListMeta,
    #[serde(borrow, default)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireListMeta {
    resource_version: String,
    #[serde(rename = "continue", default)]
    next: Option<String>,
}

/// Lists the whole collection as it is now, by pages. Should a page expire meanwhile, everything is asked at once.
pub(super) async fn pages<K: WatchedKind>(
    client: &ApiClient,
    raw: RawPolicy,
    sharing: &mut K::Sharing,
    pulse: &WatchPulse,
) -> Result<(WatchEvent<K::Object>, ResourceVersion), End> {
    let mut listed = Listed::<K>::of(raw);
    let mut next = Some(String::new());
    let mut limit = Some(PAGE);
    while let Some(token) = next.take() {
        let reply = client
            .send(get(&page_path::<K>(limit, &token)))
            .await
            .map_err(|error| End::cut(error.to_string()))?;
        if reply.status == StatusCode::GONE && limit.is_some() {
            listed = Listed::of(raw);
            limit = None;
            next = Some(String::new());
            continue;
        }
        next = listed.take_page(&reply, sharing)?;
        pulse.listing.beat();
    }
    let version = listed
        .version
        .ok_or_else(|| End::cut("a list without a version".to_owned()))?;
    Ok((
        WatchEvent::Replace {
            objects: listed.objects,
            undecodable: listed.undecodable,
            version,
            history_began_anew: false,
            raw,
        },
        version,
    ))
}

/// The version that the server has come to: that of a consistent list of one item.
pub(super) async fn version<K: WatchedKind>(client: &ApiClient) -> Result<ResourceVersion, End> {
    let reply = client
        .send(get(&page_path::<K>(Some(1), "")))
        .await
        .map_err(|error| End::cut(error.to_string()))?;
    let mut listed = Listed::<K>::of(RawPolicy::NOTHING);
    listed.take_page(&reply, &mut K::Sharing::default())?;
    listed
        .version
        .ok_or_else(|| End::cut("a list without a version".to_owned()))
}

struct Listed<K: WatchedKind> {
    objects: Vec<Arc<K::Object>>,
    undecodable: Vec<UndecodableObject>,
    version: Option<ResourceVersion>,
    raw: RawPolicy,
}

impl<K: WatchedKind> Listed<K> {
    fn of(raw: RawPolicy) -> Self {
        Self {
            objects: Vec::new(),
            undecodable: Vec::new(),
            version: None,
            raw,
        }
    }

    /// Takes one page and returns the token of the next.
    fn take_page(&mut self, reply: &Reply, sharing: &mut K::Sharing) -> Result<Option<String>, End> {
        if !reply.status.is_success() {
            return Err(refused(reply));
        }
        let broken = |error: &dyn std::fmt::Display| End::cut(format!("cannot read a list: {error}"));
        let page: WireList<'_> = serde_json::from_slice(&reply.body).map_err(|error| broken(&error))?;
        let version = page.metadata.resource_version.parse().map_err(|error| broken(&error))?;
        self.version = Some(version);
        for item in page.items.unwrap_or_default() {
            let json = item.get().as_bytes();
            match K::decode(json, self.raw) {
                Ok(mut object) => {
                    K::share(&mut object, sharing);
                    self.objects.push(Arc::new(object));
                }
                Err(error) => self
                    .undecodable
                    .push(undecodable_object(json, version, &error.to_string())),
            }
        }
        Ok(page.metadata.next.filter(|token| !token.is_empty()))
    }
}

fn page_path<K: WatchedKind>(limit: Option<u32>, token: &str) -> String {
    let mut query: Vec<String> = Vec::new();
    if let Some(selector) = K::FIELD_SELECTOR {
        query.push(format!("fieldSelector={selector}"));
    }
    if let Some(limit) = limit {
        query.push(format!("limit={limit}"));
    }
    if !token.is_empty() {
        query.push(format!("continue={}", percent_encoded(token)));
    }
    if query.is_empty() {
        K::PATH.to_owned()
    } else {
        format!("{}?{}", K::PATH, query.join("&"))
    }
}

fn percent_encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
            other => format!("%{other:02X}"),
        })
        .collect()
}
