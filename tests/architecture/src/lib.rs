//! The walls of the house, checked by tests rather than by goodwill.
//!
//! Crates form a list, and may depend only on crates below them. The lower six are the core: they decide, and do nothing
//! else. They can reach no runtime, no network, no clock and no randomness, neither through what they depend on nor
//! through the standard library.

mod crates;
mod source;

pub use crates::{CORE, Member, ROOMS, features, members, reachable, workspace_root};
pub use source::{files, forbidden_in_core};
