//! Calls HTTP extenders: kube-scheduler's extender protocol on the wire.
//!
//! The engine says in data what it asks of an extender, and this crate makes a request of it and data of the reply. It keeps
//! to what kube-scheduler 1.36 sends, what Go's decoder takes, and the texts that come of the rest. Nothing that an extender
//! sends, or fails to, does more harm than that its call fails.

mod address;
mod chunks;
mod client;
mod connector;
mod failure;
mod http_extenders;
mod json;
mod reply;
mod request;
mod tls;

pub use chunks::Gate;
pub use http_extenders::HttpExtenders;
pub use tls::SetupError;
