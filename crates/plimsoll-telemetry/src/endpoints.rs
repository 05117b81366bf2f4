//! What is served, by path. Who may ask for it is decided before ([`crate::serve`]).

mod flags_page;
mod health_pages;
mod negotiated;
mod pprof_pages;
mod routes;
mod scrape;
mod statusz;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method};
use jiff::Timestamp;
use tokio::time::Instant;

use crate::page::Page;
use crate::{Metrics, Query, StateSource};

/// A request whose sender may ask.
#[derive(Debug)]
pub struct Asked {
    /// GET, almost always.
    pub method: Method,
    /// As it was sent.
    pub path: String,
    /// Behind the `?`.
    pub query: Query,
    /// What else was said.
    pub headers: HeaderMap,
    /// Empty, almost always.
    pub body: Bytes,
}

/// What the process says of itself.
#[derive(Clone, Debug)]
pub struct About {
    /// Its name, as kube-scheduler's pages have theirs.
    pub component: &'static str,
    /// The version of this build.
    pub version: String,
    /// What it was built with.
    pub built_with: String,
    /// The version of Kubernetes that it behaves as, `1.36`.
    pub emulation_version: String,
    /// When it started.
    pub started: Timestamp,
    /// The same by the clock that does not jump.
    pub began: Instant,
    /// Every flag and its value, without dashes; nothing where `/flagz` is switched off (`ComponentFlagz`).
    pub flags: Option<BTreeMap<String, String>>,
    /// Whether `/statusz` is there (`ComponentStatusz`).
    pub statusz: bool,
}

/// What is served.
#[derive(Clone)]
pub struct Endpoints {
    /// Who is asked.
    pub state: Arc<dyn StateSource>,
    /// What `/metrics` shows.
    pub metrics: Arc<Metrics>,
    /// Whether `/debug/…` is there: kube-scheduler has it only where profiling is enabled.
    pub debug: bool,
    /// What `/flagz` and `/statusz` show.
    pub about: Arc<About>,
}

impl fmt::Debug for Endpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoints")
            .field("debug", &self.debug)
            .finish_non_exhaustive()
    }
}

impl Endpoints {
    /// Answers one request.
    pub async fn answer(&self, asked: &Asked) -> Page {
        self.route(asked).await
    }
}
