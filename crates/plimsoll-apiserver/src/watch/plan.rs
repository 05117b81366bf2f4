//! What a watch asks for, and which events it gets to see.

use std::time::Duration;

use serde_json::Value;

use super::in_namespace;
use crate::{
    cause::Cause,
    list::{invalid_options, parse_version, selector_of},
    negotiate::{self, Form},
    request::{Request, Target},
    resource::Resource,
    selector::Selector,
    status::ApiError,
    store::{Change, ChangeKind},
    table::IncludeObject,
};

/// A checked watch request.
#[derive(Clone, Debug)]
pub(crate) struct WatchRequest {
    pub(crate) resource: &'static Resource,
    pub(crate) namespace: String,
    pub(crate) selector: Selector,
    /// `None` when the version is not given.
    pub(crate) version: Option<u64>,
    pub(crate) initial_events: Option<bool>,
    pub(crate) bookmarks: bool,
    pub(crate) timeout: Option<Duration>,
    pub(crate) form: Form,
    pub(crate) include: IncludeObject,
}

impl WatchRequest {
    pub(crate) fn parse(target: &Target, request: &Request) -> Result<Self, ApiError> {
        check_options(request)?;
        let query = &request.query;
        let text = query.get("resourceVersion");
        let version = parse_version(text).map_err(|cause| ApiError::unexplained(cause.to_string()))?;
        let seconds = query
            .number("timeoutSeconds")?
            .and_then(|s| u64::try_from(s).ok())
            .filter(|s| *s > 0);
        Ok(Self {
            resource: target.resource,
            namespace: target.namespace.clone(),
            selector: selector_of(target, request)?,
            version: (!text.is_empty()).then_some(version),
            initial_events: query.optional_flag("sendInitialEvents"),
            bookmarks: query.flag("allowWatchBookmarks"),
            timeout: seconds.map(Duration::from_secs),
            form: negotiate::form(request.header(&http::header::ACCEPT))?,
            include: IncludeObject::parse(query.get("includeObject")).unwrap_or_default(),
        })
    }

    /// Whether the watch sees an object.
    pub(crate) fn selects(&self, key: &str, value: &Value) -> bool {
        in_namespace(self.resource, &self.namespace, key) && self.selector.matches(value)
    }

    /// The event that a change is to this watch: an object that enters its selector is added, one that leaves deleted.
    pub(crate) fn event_kind(&self, change: &Change) -> Option<ChangeKind> {
        if !in_namespace(self.resource, &self.namespace, &change.key) {
            return None;
        }
        if self.selector.is_empty() {
            return Some(change.kind);
        }
        let before = change
            .previous
            .as_ref()
            .is_some_and(|p| self.selector.matches(p.selectable()));
        let after = change.kind != ChangeKind::Deleted && self.selector.matches(change.object.selectable());
        match (before, after) {
            (false, false) => None,
            (false, true) => Some(ChangeKind::Added),
            (true, true) => Some(ChangeKind::Modified),
            (true, false) => Some(ChangeKind::Deleted),
        }
    }
}

fn check_options(request: &Request) -> Result<(), ApiError> {
    let query = &request.query;
    let matching = query.get("resourceVersionMatch");
    let field = "resourceVersionMatch";
    let initial_events = query.optional_flag("sendInitialEvents").is_some();
    let mut causes = Vec::new();
    if initial_events && matching != "NotOlderThan" {
        let detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        causes.push(Cause::forbidden(field, detail));
    }
    if !matching.is_empty() {
        if !initial_events {
            let detail = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            causes.push(Cause::forbidden(field, detail));
        }
        if matching != "NotOlderThan" {
            causes.push(Cause::not_supported(field, &matching.into(), &["NotOlderThan"]));
        }
        if !query.get("continue").is_empty() {
            causes.push(Cause::forbidden(
                field,
                "resourceVersionMatch is forbidden when continue is provided",
            ));
        }
    }
    if causes.is_empty() {
        Ok(())
    } else {
        Err(invalid_options(&causes))
    }
}
