//! The folder of one demo: kubeconfigs and logs.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// A folder of its own; it goes when this value does, unless it is kept.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    keep: bool,
}

impl Folder {
    /// A new folder that only this user may look into.
    pub(super) fn create() -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("plimsoll-demo-{}", std::process::id()));
        DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Self { path, keep: false })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file into it and says where it is.
    pub(super) fn write(&self, name: &str, content: &str) -> anyhow::Result<PathBuf> {
        let path = self.path.join(name);
        std::fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }

    /// Leaves it behind, for whoever wants to know what happened.
    pub(super) fn keep(&mut self) {
        self.keep = true;
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.keep {
            // What is left over in the folder for temporary files goes some day.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}
