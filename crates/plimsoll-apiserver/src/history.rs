//! Every mutation ever made: what an independent check reads to prove that no promise was broken.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use crate::resource::Resource;

/// One committed write.
#[derive(Clone, Debug)]
pub struct Mutation {
    /// The version it made.
    pub rv: u64,
    /// What was asked for: `create`, `update`, `status`, `patch`, `delete`, `bind` or `evict`.
    pub verb: &'static str,
    /// Whether the object was removed; `object` is then its last state.
    pub deleted: bool,
    /// The kind, as it is stored (events of both groups: core events).
    pub resource: &'static Resource,
    /// `User-Agent` of the request; empty for writes made in process.
    pub user_agent: Arc<str>,
    /// The server's wall-clock time.
    pub at: Timestamp,
    /// The state after the write.
    pub object: Arc<Value>,
}
