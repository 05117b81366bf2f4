//! The image's file system: one program and the libraries it is linked to, as `deploy/Dockerfile` puts them together.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

/// Where the image has its program: the entry point, to which a container's `args` are given.
pub(super) const ENTRY_POINT: &str = "/plimsoll";

/// As whom the image is run unless its pod says otherwise.
pub(super) const USER: (i64, i64) = (65532, 65532);

/// What an image consists of.
#[derive(Clone, Debug)]
pub struct Image {
    program: PathBuf,
    libraries: Vec<PathBuf>,
}

impl Image {
    /// The image of this program.
    pub fn of(program: &Path) -> anyhow::Result<Self> {
        let output = Command::new("ldd")
            .arg(program)
            .stdin(Stdio::null())
            .output()
            .context("cannot run ldd")?;
        ensure!(output.status.success(), "ldd cannot read {}", program.display());
        let text = String::from_utf8(output.stdout)?;
        let path = |line: &str| {
            line.split_whitespace()
                .find(|word| word.starts_with('/'))
                .map(PathBuf::from)
        };
        let libraries: Vec<PathBuf> = text.lines().filter_map(path).collect();
        ensure!(
            !libraries.is_empty(),
            "{} needs no libraries: {text}",
            program.display()
        );
        Ok(Self {
            program: program.to_owned(),
            libraries,
        })
    }

    /// Makes a root file system of it in this folder, which is made.
    pub(super) fn unpack(&self, root: &Path) -> anyhow::Result<()> {
        fs::create_dir_all(root.join("proc"))?;
        place(&self.program, &below(root, Path::new(ENTRY_POINT)))?;
        // The name by which kubeadm's manifests call it.
        let names = below(root, Path::new("/usr/local/bin"));
        fs::create_dir_all(&names)?;
        symlink(ENTRY_POINT, names.join("kube-scheduler"))?;
        for library in &self.libraries {
            place(library, &below(root, library))?;
        }
        Ok(())
    }
}

/// What an image is called, without registry, tag and digest.
pub(super) fn name_of(image: &str) -> &str {
    let name = image.rsplit_once('/').map_or(image, |(_, name)| name);
    name.split(['@', ':']).next().unwrap_or(name)
}

/// Where an absolute path is below a root.
pub(super) fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// The same file if it may be, else a copy.
fn place(from: &Path, to: &Path) -> anyhow::Result<()> {
    // A link to a link would point into another file system.
    let from = from.canonicalize()?;
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    if fs::hard_link(&from, to).is_err() {
        fs::copy(&from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::name_of;

    #[test]
    fn an_image_has_its_name_whatever_its_registry_and_version() {
        for image in [
            "plimsoll",
            "plimsoll:0.1.0",
            "registry.example:5000/team/plimsoll:0.1.0@sha256:00",
            "registry.example/plimsoll@sha256:00",
        ] {
            assert_eq!(name_of(image), "plimsoll", "{image}");
        }
        assert_eq!(name_of("registry.example/plimsoll/pause:3.10"), "pause");
    }
}
