//! What `deploy/observability` ships, and a real Prometheus to hold it against.

mod dashboard;
mod prometheus;

use std::path::{Path, PathBuf};

use anyhow::Context;

pub use dashboard::queries;
pub use prometheus::{Programs, Prometheus, Rule, Target};

/// The repository's own folder.
pub fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A file of `deploy/observability`.
pub fn shipped(name: &str) -> PathBuf {
    top().join("deploy/observability").join(name)
}

/// The text of a file of the repository.
pub fn text(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))
}
