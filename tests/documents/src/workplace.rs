//! Where the commands of a page run: a folder that looks like the repository, with a home and programs of its own.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use anyhow::Context;
use plimsoll_controlplane::WorkDir;

/// Not the user's work.
const NOT_OF_THE_TREE: [&str; 2] = [".git", "target"];

/// The folder.
#[derive(Debug)]
pub struct Workplace {
    dir: WorkDir,
}

impl Workplace {
    /// Makes one. What a command writes into the top of its tree stays here; folders of the repository are links.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub fn new() -> anyhow::Result<Self> {
        let place = Self {
            dir: WorkDir::new("documents")?,
        };
        for folder in ["bin", "home", "tree", "kubernetes/manifests"] {
            fs::create_dir_all(place.path(folder))?;
        }
        let top = crate::top().canonicalize()?;
        for entry in fs::read_dir(&top)? {
            let name = entry?.file_name();
            if !NOT_OF_THE_TREE.iter().any(|other| name == *other) {
                symlink(top.join(&name), place.tree().join(&name))?;
            }
        }
        // Whoever may write files of root here is root, or writes none.
        place.script("sudo", "exec \"$@\"")?;
        Ok(place)
    }

    /// A path in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// What looks like the repository.
    pub fn tree(&self) -> PathBuf {
        self.path("tree")
    }

    /// What stands for `/etc/kubernetes` of a control-plane node.
    pub fn etc(&self) -> PathBuf {
        self.path("kubernetes")
    }

    /// Leaves it in place, for who looks into a failure.
    pub fn keep(&self) {
        self.dir.keep();
    }

    /// Makes a program known under a name.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub fn program(&self, name: &str, program: &Path) -> anyhow::Result<()> {
        let program = program.canonicalize().with_context(|| program.display().to_string())?;
        Ok(symlink(program, self.path("bin").join(name))?)
    }

    /// The programs first, then those of the machine.
    pub fn search_path(&self) -> String {
        let of_machine = std::env::var("PATH").unwrap_or_default();
        format!("{}:{of_machine}", self.path("bin").display())
    }

    fn script(&self, name: &str, text: &str) -> anyhow::Result<()> {
        let path = self.path("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n"))?;
        Ok(fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?)
    }
}
