//! Listing: versions, pages, selectors.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use crate::{
    cause::Cause,
    object::Object,
    request::{Request, Target},
    resource::Resource,
    selector::{FieldSelector, Selector},
    status::ApiError,
    store::{Expired, Store},
};

const EXPIRED: &str = "The resourceVersion for the provided list is too old.";
const CONTINUE_EXPIRED: &str = "The provided continue parameter is too old to display a consistent list result. You can \
start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder \
of the results. Continuing with the provided token results in an inconsistent list - objects that were created, \
modified, or deleted between the time the first chunk was returned and now may show up in the list.";

/// Which version a list shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// The newest there is.
    Latest,
    /// Any; injected stale reads may go back.
    Any,
    /// Anything not older than this.
    NotOlderThan(u64),
    /// Exactly this one.
    Exact(u64),
}

/// A checked list request.
#[derive(Clone, Debug)]
pub(crate) struct ListRequest {
    pub(crate) resource: &'static Resource,
    pub(crate) namespace: String,
    pub(crate) selector: Selector,
    pub(crate) version: Version,
    limit: usize,
    /// First key of this page; the token says it without the namespace of the request.
    from: Option<String>,
}

/// One page.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) items: Vec<Object>,
    pub(crate) rv: u64,
    pub(crate) continue_token: Option<String>,
    pub(crate) remaining: Option<usize>,
}

/// The selectors of a list, watch or collection request.
pub(crate) fn selector_of(target: &Target, request: &Request) -> Result<Selector, ApiError> {
    let labels = request.query.get("labelSelector");
    let mut selector = Selector::parse(target.resource, labels, request.query.get("fieldSelector"))?;
    if !target.name.is_empty() {
        if selector.fields.is_empty() {
            selector.fields = FieldSelector::name(&target.name);
        } else if selector.fields.required("metadata.name") != Some(target.name.as_str()) {
            return Err(ApiError::bad_request(
                "fieldSelector metadata.name doesn't match requested name",
            ));
        }
    }
    Ok(selector)
}

/// Reads a `resourceVersion` parameter; empty and `0` are 0.
pub(crate) fn parse_version(text: &str) -> Result<u64, Cause> {
    match text {
        "" | "0" => Ok(0),
        _ => text.parse().map_err(|_| {
            let detail = format!("strconv.ParseUint: parsing \"{text}\": invalid syntax");
            Cause::invalid("resourceVersion", &text.into(), &detail)
        }),
    }
}

pub(crate) fn invalid_options(causes: &[Cause]) -> ApiError {
    ApiError::invalid("meta.k8s.io", "ListOptions", "", causes)
}

fn check_options(request: &Request) -> Result<(), ApiError> {
    let query = &request.query;
    let (version, matching) = (query.get("resourceVersion"), query.get("resourceVersionMatch"));
    let mut causes = Vec::new();
    if !matching.is_empty() {
        let field = "resourceVersionMatch";
        if version.is_empty() {
            let detail = "resourceVersionMatch is forbidden unless resourceVersion is provided";
            causes.push(Cause::forbidden(field, detail));
        }
        if !query.get("continue").is_empty() {
            causes.push(Cause::forbidden(
                field,
                "resourceVersionMatch is forbidden when continue is provided",
            ));
        }
        if !matches!(matching, "Exact" | "NotOlderThan") {
            causes.push(Cause::not_supported(
                field,
                &matching.into(),
                &["Exact", "NotOlderThan", ""],
            ));
        }
        if matching == "Exact" && version == "0" {
            let detail = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            causes.push(Cause::forbidden(field, detail));
        }
    }
    if query.optional_flag("sendInitialEvents").is_some() {
        causes.push(Cause::forbidden(
            "sendInitialEvents",
            "sendInitialEvents is forbidden for list",
        ));
    }
    if causes.is_empty() {
        Ok(())
    } else {
        Err(invalid_options(&causes))
    }
}

impl ListRequest {
    pub(crate) fn parse(target: &Target, request: &Request) -> Result<Self, ApiError> {
        check_options(request)?;
        let query = &request.query;
        let text = query.get("resourceVersion");
        let asked =
            parse_version(text).map_err(|cause| ApiError::bad_request(format!("invalid resource version: {cause}")))?;
        let mut limit = usize::try_from(query.number("limit")?.unwrap_or(0)).unwrap_or(0);
        let token = query.get("continue");
        let (version, from) = if token.is_empty() {
            let version = match (query.get("resourceVersionMatch"), asked) {
                ("Exact", rv) => Version::Exact(rv),
                (_, 0) if text.is_empty() => Version::Latest,
                (_, 0) => {
                    // The watch cache of a real server knows no limit when any version will do.
                    limit = 0;
                    Version::Any
                }
                ("", rv) if limit > 0 => Version::Exact(rv),
                (_, rv) => Version::NotOlderThan(rv),
            };
            (version, None)
        } else {
            if asked > 0 {
                return Err(ApiError::bad_request(
                    "specifying resource version is not allowed when using continue",
                ));
            }
            let (version, from) = decode_token(token)?;
            (version, Some(from))
        };
        Ok(Self {
            resource: target.resource,
            namespace: target.namespace.clone(),
            selector: selector_of(target, request)?,
            version,
            limit,
            from,
        })
    }

    fn prefix(&self) -> String {
        if self.namespace.is_empty() {
            String::new()
        } else {
            format!("{}/", self.namespace)
        }
    }

    /// Reads the page. `stale_by` versions are taken off when any version will do.
    pub(crate) fn read(&self, store: &Store, stale_by: u64) -> Result<Page, ApiError> {
        let current = store.rv();
        match self.version {
            Version::Latest => Ok(self.page(store.table(self.resource), current)),
            Version::Any if stale_by == 0 => Ok(self.page(store.table(self.resource), current)),
            Version::Any => {
                let oldest = store.log().oldest(self.resource);
                let rv = current.saturating_sub(stale_by).max(oldest).max(1);
                self.read_at(store, rv)
            }
            Version::NotOlderThan(rv) if rv <= current => Ok(self.page(store.table(self.resource), current)),
            Version::NotOlderThan(rv) => Err(ApiError::too_large_resource_version(rv, current)),
            Version::Exact(rv) if rv > current => Err(ApiError::too_large_resource_version(rv, current)),
            Version::Exact(rv) => self.read_at(store, rv),
        }
    }

    fn read_at(&self, store: &Store, rv: u64) -> Result<Page, ApiError> {
        if rv == store.rv() {
            return Ok(self.page(store.table(self.resource), rv));
        }
        let table = store
            .table_at(self.resource, rv)
            .map_err(|expired| self.expired(expired))?;
        Ok(self.page(&table, rv))
    }

    fn expired(&self, _: Expired) -> ApiError {
        let Some(from) = &self.from else {
            return ApiError::expired(EXPIRED);
        };
        let mut error = ApiError::expired(CONTINUE_EXPIRED);
        error.continue_token = Some(encode_token(-1, from));
        error
    }

    fn page(&self, table: &std::collections::BTreeMap<String, Object>, rv: u64) -> Page {
        let prefix = self.prefix();
        let start = format!("{prefix}{}", self.from.as_deref().unwrap_or_default());
        let limit = if self.limit == 0 { usize::MAX } else { self.limit };
        let mut rest = table.range(start..).take_while(|(key, _)| key.starts_with(&prefix));
        let mut items = Vec::new();
        let mut last = "";
        while items.len() < limit
            && let Some((key, object)) = rest.next()
        {
            if self.selector.matches(object.selectable()) {
                items.push(object.clone());
                last = key;
            }
        }
        let left = rest.count();
        let more = left > 0;
        Page {
            items,
            rv,
            // Goes on right behind the last key, as upstream's tokens do.
            continue_token: more.then(|| {
                let next = format!("{}\0", last.strip_prefix(&prefix).unwrap_or(last));
                encode_token(i64::try_from(rv).unwrap_or(-1), &next)
            }),
            remaining: (more && self.selector.is_empty()).then_some(left),
        }
    }
}

fn encode_token(rv: i64, start: &str) -> String {
    URL_SAFE_NO_PAD.encode(json!({ "v": "meta.k8s.io/v1", "rv": rv, "start": start }).to_string())
}

fn decode_token(token: &str) -> Result<(Version, String), ApiError> {
    let bad = |why: &str| ApiError::bad_request(format!("invalid continue token: continue key is not valid: {why}"));
    let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|e| bad(&e.to_string()))?;
    let value: Value = serde_json::from_slice(&bytes).map_err(|e| bad(&e.to_string()))?;
    if value["v"] != "meta.k8s.io/v1" {
        return Err(bad("server does not recognize this encoded version"));
    }
    let start = value["start"].as_str().filter(|s| !s.is_empty());
    let start = start.ok_or_else(|| bad("encoded start key empty (version meta.k8s.io/v1)"))?;
    let version = match value["rv"].as_i64() {
        None | Some(0) => return Err(bad("incorrect encoded start resourceVersion (version meta.k8s.io/v1)")),
        Some(rv) => u64::try_from(rv).map_or(Version::Latest, Version::Exact),
    };
    Ok((version, start.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_carry_the_version_and_the_next_key() {
        let token = encode_token(7, "n/a\0");
        assert_eq!(decode_token(&token), Ok((Version::Exact(7), "n/a\0".to_owned())));
        assert_eq!(
            decode_token(&encode_token(-1, "a")),
            Ok((Version::Latest, "a".to_owned()))
        );
        assert!(decode_token("?").is_err());
        assert!(decode_token(&encode_token(0, "a")).is_err());
    }
}
