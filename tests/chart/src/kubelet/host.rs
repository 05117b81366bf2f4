//! The machine on which all nodes are.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU16, Ordering};

use anyhow::Context;

/// What containers take from the machine.
#[derive(Clone, Debug)]
pub struct Host {
    /// Where the containers' folders are made.
    pub folder: PathBuf,
    /// Where on 127.0.0.1 the API server is.
    pub api_server_port: u16,
    /// Files of control-plane nodes, by the path that they have there.
    pub files: BTreeMap<PathBuf, PathBuf>,
}

impl Host {
    pub(super) fn file(&self, path: &Path) -> anyhow::Result<PathBuf> {
        let file = self.files.get(path).cloned();
        file.with_context(|| format!("no node has {}", path.display()))
    }
}

/// An address of this machine for itself: all of 127.0.0.0/8 is, and the numbers of processes keep those of several test
/// processes apart.
pub(super) fn next_address() -> Ipv4Addr {
    static COUNT: AtomicU16 = AtomicU16::new(0);
    let [_, _, high, low] = std::process::id().to_be_bytes();
    let [more, least] = (COUNT.fetch_add(1, Ordering::Relaxed) + 1).to_be_bytes();
    // 127.0.x.x is everybody's.
    Ipv4Addr::new(127, (high ^ more) | 128, low, least)
}
