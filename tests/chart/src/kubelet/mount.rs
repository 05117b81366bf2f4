//! A volume of files as a pod sees it.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::volumes::Files;

/// A folder as kubelets mount a `ConfigMap`: files are links through `..data`, which is exchanged as a whole.
#[derive(Debug)]
pub(super) struct Mount {
    folder: PathBuf,
    versions: usize,
    files: Files,
}

impl Mount {
    /// Mounts the files.
    pub(super) fn new(folder: &Path, files: &Files) -> anyhow::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let mut mount = Self {
            folder: folder.to_owned(),
            versions: 0,
            files: Files::new(),
        };
        mount.exchange(files)?;
        Ok(mount)
    }

    /// Brings other files, at once; nothing when they are the same.
    pub(super) fn update(&mut self, files: &Files) -> anyhow::Result<()> {
        if self.files == *files {
            return Ok(());
        }
        self.exchange(files)
    }

    fn exchange(&mut self, files: &Files) -> anyhow::Result<()> {
        self.versions += 1;
        let version = format!("..{}", self.versions);
        std::fs::create_dir(self.folder.join(&version))?;
        for (name, content) in files {
            std::fs::write(self.folder.join(&version).join(name), content)?;
        }
        symlink(&version, self.folder.join("..next"))?;
        std::fs::rename(self.folder.join("..next"), self.folder.join("..data"))?;
        for name in files.keys().filter(|name| !self.files.contains_key(*name)) {
            symlink(Path::new("..data").join(name), self.folder.join(name))?;
        }
        for name in self.files.keys().filter(|name| !files.contains_key(*name)) {
            std::fs::remove_file(self.folder.join(name))?;
        }
        self.files.clone_from(files);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_controlplane::WorkDir;

    use super::*;

    fn files(all: &[(&str, &str)]) -> Files {
        let file = |(name, text): &(&str, &str)| ((*name).to_owned(), text.as_bytes().to_vec());
        all.iter().map(file).collect()
    }

    #[test]
    fn files_are_exchanged_as_a_whole_and_come_and_go() {
        let dir = WorkDir::new("mount-test").unwrap();
        let folder = dir.path().join("volume");
        let mut mount = Mount::new(&folder, &files(&[("a", "1"), ("b", "1")])).unwrap();
        let before = std::fs::read_link(folder.join("..data")).unwrap();
        mount.update(&files(&[("a", "1"), ("b", "1")])).unwrap();
        assert_eq!(
            std::fs::read_link(folder.join("..data")).unwrap(),
            before,
            "nothing changed"
        );
        mount.update(&files(&[("a", "2"), ("c", "2")])).unwrap();
        assert_eq!(std::fs::read_to_string(folder.join("a")).unwrap(), "2");
        assert_eq!(std::fs::read_to_string(folder.join("c")).unwrap(), "2");
        assert!(!folder.join("b").exists());
    }
}
