//! A `ConfigMap` as a pod sees it.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// A folder as kubelets mount a `ConfigMap`: files are links through `..data`, which is exchanged as a whole.
#[derive(Debug)]
pub struct Mount {
    folder: PathBuf,
    versions: usize,
}

impl Mount {
    /// Mounts the data.
    pub fn new(folder: &Path, data: &BTreeMap<String, String>) -> anyhow::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let mut mount = Self {
            folder: folder.to_owned(),
            versions: 0,
        };
        mount.update(data)?;
        for name in data.keys() {
            symlink(Path::new("..data").join(name), folder.join(name))?;
        }
        Ok(mount)
    }

    /// Brings other data, at once.
    pub fn update(&mut self, data: &BTreeMap<String, String>) -> anyhow::Result<()> {
        self.versions += 1;
        let version = format!("..{}", self.versions);
        std::fs::create_dir(self.folder.join(&version))?;
        for (name, content) in data {
            std::fs::write(self.folder.join(&version).join(name), content)?;
        }
        symlink(&version, self.folder.join("..next"))?;
        std::fs::rename(self.folder.join("..next"), self.folder.join("..data"))?;
        Ok(())
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}
