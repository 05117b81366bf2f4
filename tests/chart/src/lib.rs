//! The Helm chart in `charts/plimsoll`: the parts from which the tests in `tests/chart` are made.
//!
//! ```text
//!  values.yaml ── ValuesPage ──► the table in the chart's README.md, the descriptions in values.schema.json
//!      │
//!    Helm ──► Rendered ──► golden files; the configuration and the flags as the program reads them
//!      └────► a real API server ──► Installed
//!                    └──► pods ──► Kubelet ──► processes, as the pods say
//! ```

mod accounts;
mod helm;
mod installed;
mod kubelet;
mod reference;
mod rendered;
mod values_page;

use std::path::{Path, PathBuf};

pub use accounts::wait_for_account;
pub use helm::{Availability, Helm};
pub use installed::Installed;
pub use kubelet::{Ended, Host, Image, Kubelet, Replica, possible};
pub use reference::{described_schema, readme_with_table};
pub use rendered::Rendered;
pub use values_page::{Entry, ValuesPage};

/// The manifest of kube-scheduler that kubeadm 1.36 writes, as far as it matters to the program.
pub const KUBEADM_MANIFEST: &str = include_str!("kubeadm.yaml");

/// The chart's folder.
pub fn chart() -> PathBuf {
    top().join("charts/plimsoll")
}

/// The top of the repository.
pub fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Whether files that are made from others are to be written instead of compared: `WRITE_CHART=1`.
pub fn writes() -> bool {
    std::env::var_os("WRITE_CHART").is_some()
}
