//! An embedded Kubernetes API server in memory, for demos, tests, fault injection and benchmarks.
//!
//! It answers as kube-apiserver 1.36 does for the kinds in [`resource::RESOURCES`]. It keeps nothing on disk, checks
//! no permissions and admits anyone: it is a test and demo server, never a control plane.

mod admission;
mod answer;
mod auth;
mod binding;
mod body;
pub mod cause;
mod clock;
mod create;
pub mod defaulting;
mod delete;
pub mod discovery;
mod duration;
mod event;
mod eviction;
pub mod fault;
mod fixed;
mod history;
mod list;
mod negotiate;
mod object;
pub mod openapi;
pub mod patch;
mod pod;
mod protobuf;
mod request;
pub mod resource;
pub mod review;
mod selector;
mod serve;
mod server;
mod service;
mod status;
mod store;
mod strategy;
pub mod table;
mod update;
pub mod validation;
mod watch;

#[cfg(test)]
mod tests;

pub use auth::Tokens;
pub use body::{ApiBody, BodyCut};
pub use clock::{Clock, SystemClock, VirtualClock};
pub use history::Mutation;
pub use resource::Resource;
pub use serve::{Serving, Tls};
pub use server::{ApiServer, Config};
pub use service::{ApiService, ConnectionLost, ResponseFuture};
pub use status::ApiError;
