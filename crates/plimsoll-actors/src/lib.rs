//! The actors and their messages.
//!
//! | actor | lives | owns |
//! |---|---|---|
//! | [`supervisor`] | process | the tree below |
//! | [`informer_cache`] | process, warm on standbys | what the API server has told us |
//! | [`elector`] | process | the Lease, the term number |
//! | [`event_recorder`] | process | a bounded buffer of events |
//! | [`http_server`] | process | the listener |
//! | [`tracer`] | process | the way to whoever exports spans |
//! | [`term`] | while leading | the term token |
//! | [`scheduling_queue`] | term | pods that wait |
//! | [`scheduling_cycle`] | term | columns, claims, nominations |
//! | [`binding_workers`] | term | API writes in flight |
//! | [`evictor`] | term | preemptions under way |
//! | [`auditor`] | term | what earlier audits have found |
//!
//! Each message says who sends it and what it promises. State has one owner; nothing is shared behind a lock.

mod alarm;
pub mod assembled_config;
pub mod attempt_record;
pub mod auditor;
mod bind_pace;
pub mod binding_workers;
mod call_outcome;
mod claim_input;
mod clock_stopwatch;
pub mod debugging;
pub mod effects;
pub mod elector;
pub mod event_recorder;
pub mod evictor;
pub mod explanation;
pub mod hand_over;
pub mod http_server;
pub mod informer_cache;
mod log_subject;
pub mod mailbox;
pub mod permits;
mod resource_page;
pub mod scheduling_cycle;
pub mod scheduling_queue;
pub mod supervisor;
pub mod term;
pub mod trace_context;
pub mod tracer;
pub mod wall_times;
mod watch_feed;

/// Why a replica did not start: an actor refused to.
pub use ractor::SpawnErr as StartError;
