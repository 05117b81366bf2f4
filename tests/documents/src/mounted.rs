//! A `ConfigMap` where a pod sees it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// A folder whose files are exchanged all at once, as kubelets do it: each is a link through `..data`, another link.
#[derive(Debug)]
pub(crate) struct MountedFolder {
    path: PathBuf,
    exchanged: usize,
}

impl MountedFolder {
    /// Makes the folder with these files.
    pub(crate) fn new(path: &Path, files: &BTreeMap<String, String>) -> anyhow::Result<Self> {
        fs::create_dir_all(path)?;
        let mut folder = Self {
            path: path.to_owned(),
            exchanged: 0,
        };
        folder.exchange(files)?;
        for name in files.keys() {
            symlink(Path::new("..data").join(name), path.join(name))?;
        }
        Ok(folder)
    }

    /// Puts other contents in their place.
    pub(crate) fn exchange(&mut self, files: &BTreeMap<String, String>) -> anyhow::Result<()> {
        self.exchanged += 1;
        let version = format!("..version-{}", self.exchanged);
        let next = self.path.join("..next");
        fs::create_dir(self.path.join(&version))?;
        for (name, content) in files {
            fs::write(self.path.join(&version).join(name), content)?;
        }
        symlink(version, &next)?;
        Ok(fs::rename(next, self.path.join("..data"))?)
    }
}
