use futures::future::BoxFuture;
use http::StatusCode;
use serde_json::Value;

use crate::{Check, Query};

/// Who knows how the process is and what it is doing.
pub trait StateSource: Send + Sync + 'static {
    /// The checks of `/healthz`.
    fn healthz(&self) -> BoxFuture<'_, Vec<Check>>;
    /// The checks of `/readyz`.
    fn readyz(&self) -> BoxFuture<'_, Vec<Check>>;
    /// Brings those gauges up to date that cost too much to be kept so all the time.
    fn before_scrape(&self) -> BoxFuture<'_, ()>;
    /// What `/configz` shows of the configuration in use, or why that is not known.
    fn configz(&self) -> BoxFuture<'_, Result<Value, String>>;
    /// What `/debug/audit` shows of an audit made now, or why there is none.
    fn audit(&self) -> BoxFuture<'_, Result<String, String>>;
    /// What `/metrics/resources` shows, or why that is not known; a standby shows nothing.
    fn resources(&self) -> BoxFuture<'_, Result<String, String>>;
    /// What `/debug/explain` answers of the pod that `?pod=` names, as `namespace/name`.
    fn explain<'a>(&'a self, pod: Option<&'a str>) -> BoxFuture<'a, Document>;
    /// A page of what an owner of state has, or why that is not known.
    fn debug_view(&self, view: DebugView, page: PageOf) -> BoxFuture<'_, Result<Value, String>>;
}

/// An answer for programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Its status.
    pub status: StatusCode,
    /// Its body, which is JSON.
    pub json: String,
}

/// Of which state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DebugView {
    /// The pods in the queue.
    Queue,
    /// The pods that wait at Permit.
    WaitingPods,
    /// The pods that the API server told of.
    Pods,
    /// The nodes that the API server told of.
    Nodes,
    /// What the scheduler reckons with on each node.
    Columns,
    /// The times of leadership of this replica.
    Terms,
}

/// Which part of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageOf {
    /// How many items at most.
    pub limit: usize,
    /// Behind which item it begins: what the page before named as `continue`.
    pub after: Option<String>,
}

impl PageOf {
    /// How many items there are unless more or fewer are asked for.
    pub const LIMIT: usize = 100;
    /// How many items there are at most, so that no answer costs its owner more than a few milliseconds.
    pub const MOST: usize = 1_000;

    /// Reads `?limit=` and `?continue=`.
    ///
    /// # Errors
    /// When the limit is no number above 0.
    pub fn asked(query: &Query) -> Result<Self, String> {
        let limit = match query.first("limit") {
            None | Some("") => Self::LIMIT,
            Some(text) => match text.parse::<usize>() {
                Ok(limit) if limit > 0 => limit.min(Self::MOST),
                _ => return Err(format!("limit {text:?} must be a number above 0")),
            },
        };
        let after = query.first("continue").filter(|name| !name.is_empty());
        Ok(Self {
            limit,
            after: after.map(str::to_owned),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_a_hundred_items_unless_another_number_up_to_a_thousand_is_asked_for() {
        let asked = |text: &str| PageOf::asked(&Query::parse(text));
        let page = |limit, after: Option<&str>| {
            let after = after.map(str::to_owned);
            Ok(PageOf { limit, after })
        };
        assert_eq!(asked(""), page(100, None));
        assert_eq!(asked("limit=7&continue=a%2Fb"), page(7, Some("a/b")));
        assert_eq!(asked("limit=5000&continue="), page(1_000, None));
        for bad in ["0", "-1", "x"] {
            let text = format!("limit {bad:?} must be a number above 0");
            let query = Query::parse(&format!("limit={bad}"));
            assert_eq!(PageOf::asked(&query), Err(text));
        }
    }
}
