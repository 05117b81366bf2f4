//! What a request asks for, read from its method, path, query and headers.

use std::{sync::Arc, time::Duration};

use http::{HeaderMap, Method, header, request::Parts};

use crate::{
    cause::Cause,
    duration,
    resource::{self, Resource},
    status::ApiError,
};

/// Longest time a request that is no watch may take.
const MAX_TIMEOUT: Duration = Duration::from_mins(1);
/// Longest time a write may take.
const MAX_WRITE_TIMEOUT: Duration = Duration::from_secs(34);

/// The query of a request, decoded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(query: &str) -> Self {
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        Self(
            pairs
                .map(|pair| {
                    let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                    (percent_decode(key, true), percent_decode(value, true))
                })
                .collect(),
        )
    }

    /// The first value of a parameter; empty when absent.
    pub(crate) fn get(&self, key: &str) -> &str {
        self.0.iter().find(|(k, _)| k == key).map_or("", |(_, v)| v)
    }

    /// Whether a boolean parameter is set; absent, `0` and `false` are not.
    pub(crate) fn flag(&self, key: &str) -> bool {
        self.optional_flag(key).unwrap_or(false)
    }

    /// A boolean parameter; absent is `None`.
    pub(crate) fn optional_flag(&self, key: &str) -> Option<bool> {
        let (_, value) = self.0.iter().find(|(k, _)| k == key)?;
        Some(!matches!(value.as_str(), "0" | "false"))
    }

    pub(crate) fn number(&self, key: &str) -> Result<Option<i64>, ApiError> {
        match self.get(key) {
            "" => Ok(None),
            text => text
                .parse()
                .map(Some)
                .map_err(|_| ApiError::bad_request(format!("strconv.ParseInt: parsing \"{text}\": invalid syntax"))),
        }
    }

    /// Whether `dryRun=All` is asked for; `options` is the kind that an error names.
    pub(crate) fn dry_run(&self, options: &str) -> Result<bool, ApiError> {
        match self.get("dryRun") {
            "" => Ok(false),
            "All" => Ok(true),
            other => {
                let cause = Cause::not_supported("dryRun", &serde_json::json!([other]), &["All"]);
                Err(ApiError::invalid("meta.k8s.io", options, "", &[cause]))
            }
        }
    }
}

fn percent_decode(text: &str, plus_is_space: bool) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let hex = |i: usize| bytes.get(i).and_then(|b| char::from(*b).to_digit(16));
        match (byte, hex(at + 1), hex(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.extend(u8::try_from(high * 16 + low));
                at += 2;
            }
            (b'+', _, _) if plus_is_space => out.push(b' '),
            _ => out.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The kind, object and subresource that a path names.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) resource: &'static Resource,
    /// Empty for cluster-wide requests.
    pub(crate) namespace: String,
    /// Empty for collections.
    pub(crate) name: String,
    /// Empty for the object itself.
    pub(crate) subresource: String,
}

impl Target {
    /// Reads `/api/v1/…` and `/apis/group/version/…`; `None` when the path names no kind in the table.
    pub(crate) fn parse(path: &str) -> Option<Self> {
        let decoded = percent_decode(path, false);
        let mut segments = decoded.trim_matches('/').split('/');
        let (group, version) = match segments.next()? {
            "api" => ("", segments.next()?),
            "apis" => (segments.next()?, segments.next()?),
            _ => return None,
        };
        let rest: Vec<&str> = segments.collect();
        let (namespace, rest) = match rest.as_slice() {
            ["namespaces", namespace, inner @ ..] if names_inner_kind(group, version, inner) => (*namespace, inner),
            all => ("", all),
        };
        let (plural, rest) = rest.split_first()?;
        let (name, subresource) = match rest {
            [] => ("", ""),
            [name] => (*name, ""),
            [name, subresource] => (*name, *subresource),
            _ => return None,
        };
        let resource = resource::find(group, version, plural)?;
        if !resource.namespaced && !namespace.is_empty() {
            return None;
        }
        if resource.namespaced && namespace.is_empty() && !name.is_empty() {
            return None;
        }
        Some(Self {
            resource,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            subresource: subresource.to_owned(),
        })
    }
}

/// Whether what follows `namespaces/x` is a kind inside it, rather than a subresource of the namespace.
fn names_inner_kind(group: &str, version: &str, inner: &[&str]) -> bool {
    match inner {
        [] => false,
        ["status" | "finalize"] => !group.is_empty(),
        [plural, ..] => resource::find(group, version, plural).is_some(),
    }
}

/// Everything about a request but its body.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) target: Option<Target>,
    pub(crate) query: Query,
    pub(crate) headers: HeaderMap,
    pub(crate) user_agent: Arc<str>,
}

impl Request {
    pub(crate) fn new(parts: Parts) -> Self {
        let user_agent = header_str(&parts.headers, &header::USER_AGENT).into();
        Self {
            target: Target::parse(parts.uri.path()),
            path: parts.uri.path().to_owned(),
            query: Query::parse(parts.uri.query().unwrap_or_default()),
            method: parts.method,
            headers: parts.headers,
            user_agent,
        }
    }

    pub(crate) fn header(&self, name: &header::HeaderName) -> &str {
        header_str(&self.headers, name)
    }

    /// The verb as audit, authorisation and fault rules name it.
    pub(crate) fn verb(&self) -> &'static str {
        let collection = self.target.as_ref().is_none_or(|t| t.name.is_empty());
        match self.method {
            // One object cannot be watched by its path: the parameter means nothing there.
            Method::GET | Method::HEAD if collection && self.target.is_some() => {
                if self.query.flag("watch") {
                    "watch"
                } else {
                    "list"
                }
            }
            Method::GET | Method::HEAD => "get",
            Method::POST => "create",
            Method::PUT => "update",
            Method::PATCH => "patch",
            Method::DELETE if collection => "deletecollection",
            Method::DELETE => "delete",
            _ => "",
        }
    }

    pub(crate) fn is_write(&self) -> bool {
        !matches!(self.verb(), "get" | "list" | "watch")
    }

    /// How long the server works on the request: the `timeout` parameter, bounded as kube-apiserver bounds it.
    pub(crate) fn timeout(&self) -> Result<Duration, ApiError> {
        let bound = if self.is_write() {
            MAX_WRITE_TIMEOUT
        } else {
            MAX_TIMEOUT
        };
        match self.query.get("timeout") {
            "" => Ok(bound),
            text => match duration::parse(text) {
                Some(Duration::ZERO) => Ok(bound),
                Some(asked) => Ok(asked.min(bound)),
                None => Err(ApiError::bad_request(format!(
                    "invalid timeout specified in the request URL - time: invalid duration \"{text}\""
                ))),
            },
        }
    }

    /// What a request that ran out of time is answered.
    pub(crate) fn timeout_error(&self) -> ApiError {
        ApiError::timeout(if self.is_write() {
            "request did not complete within requested timeout - context deadline exceeded"
        } else {
            "request did not complete within the allotted timeout"
        })
    }
}

fn header_str<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> &'a str {
    headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(path: &str) -> Option<(String, String, String, String)> {
        let t = Target::parse(path)?;
        Some((t.resource.group_resource(), t.namespace, t.name, t.subresource))
    }

    #[test]
    fn paths_name_kinds_objects_and_subresources() {
        for (path, expected) in [
            ("/api/v1/pods", Some(("pods", "", "", ""))),
            ("/api/v1/namespaces/n/pods/p", Some(("pods", "n", "p", ""))),
            (
                "/api/v1/namespaces/n/pods/p/binding",
                Some(("pods", "n", "p", "binding")),
            ),
            ("/api/v1/namespaces", Some(("namespaces", "", "", ""))),
            ("/api/v1/namespaces/n", Some(("namespaces", "", "n", ""))),
            ("/api/v1/namespaces/n/status", Some(("namespaces", "", "n", "status"))),
            ("/api/v1/namespaces/n/bindings", Some(("bindings", "n", "", ""))),
            (
                "/apis/apps/v1/namespaces/n/replicasets/r",
                Some(("replicasets.apps", "n", "r", "")),
            ),
            (
                "/apis/storage.k8s.io/v1/csinodes/a",
                Some(("csinodes.storage.k8s.io", "", "a", "")),
            ),
            ("/api/v1/pods/p", None),
            ("/api/v1/namespaces/n/nodes", None),
            ("/apis/apps/v1", None),
            ("/healthz", None),
        ] {
            let expected = expected.map(|(a, b, c, d)| (a.to_owned(), b.to_owned(), c.to_owned(), d.to_owned()));
            assert_eq!(target(path), expected, "{path}");
        }
    }

    #[test]
    fn queries_are_decoded() {
        let query = Query::parse("labelSelector=a%3Db%2Cc&watch=1&limit=5&pretty=&dryRun=All&x=a+b");
        assert_eq!(query.get("labelSelector"), "a=b,c");
        assert!(query.flag("watch"));
        assert_eq!(query.number("limit"), Ok(Some(5)));
        assert_eq!(query.dry_run("CreateOptions"), Ok(true));
        assert_eq!(query.get("x"), "a b");
        assert_eq!(query.optional_flag("sendInitialEvents"), None);
    }
}
