//! Which crates there are and what they depend on, as Cargo tells it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use serde::Deserialize;

/// Every crate below `crates/`, highest first: a crate may depend only on those after it.
pub const ROOMS: [&str; 12] = [
    "plimsoll",
    "plimsoll-apiserver",
    "plimsoll-actors",
    "plimsoll-client",
    "plimsoll-extender",
    "plimsoll-telemetry",
    "plimsoll-engine",
    "plimsoll-queue",
    "plimsoll-plugins",
    "plimsoll-framework",
    "plimsoll-config",
    "plimsoll-model",
];

/// The crates that decide and do nothing else.
pub const CORE: [&str; 6] = [
    "plimsoll-engine",
    "plimsoll-queue",
    "plimsoll-plugins",
    "plimsoll-framework",
    "plimsoll-config",
    "plimsoll-model",
];

/// A crate of this workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// The folder of its `Cargo.toml`.
    pub dir: PathBuf,
    /// What it depends on to be built, crates of tests left out.
    pub dependencies: Vec<String>,
}

/// The top of the repository.
pub fn workspace_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All crates of the workspace.
pub fn members() -> anyhow::Result<Vec<Member>> {
    let metadata: Metadata = serde_json::from_str(&cargo(&["metadata", "--no-deps", "--format-version=1"])?)?;
    metadata.packages.into_iter().map(Package::into_member).collect()
}

/// The names of all packages that end up in a build of `package` alone, itself included.
pub fn reachable(package: &str) -> anyhow::Result<Vec<String>> {
    let tree = cargo(&[
        "tree",
        "--package",
        package,
        "--edges=normal",
        "--prefix=none",
        "--format={p}",
    ])?;
    let mut names: Vec<String> = tree
        .lines()
        .filter_map(|line| line.split(' ').next())
        .map(str::to_owned)
        .collect();
    names.sort();
    names.dedup();
    Ok(names)
}

/// The features with which `of` is compiled in a build of `package` alone.
pub fn features(package: &str, of: &str) -> anyhow::Result<Vec<String>> {
    let tree = cargo(&[
        "tree",
        "--package",
        package,
        "--edges=normal,build",
        "--prefix=none",
        "--format={p}|{f}",
    ])?;
    let is_of = |line: &&str| line.split(' ').next() == Some(of);
    let line = tree.lines().find(is_of).with_context(|| format!("{of} is not built"))?;
    let (_, features) = line.split_once('|').context("a line without features")?;
    let features = features.trim_end_matches("(*)").trim().split(',');
    Ok(features.filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

fn cargo(args: &[&str]) -> anyhow::Result<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(args)
        .current_dir(workspace_root())
        .output()
        .context("cannot run cargo")?;
    ensure!(
        output.status.success(),
        "cargo {args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?)
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// Absent for an ordinary dependency, else `dev` or `build`.
    kind: Option<String>,
}

impl Package {
    fn into_member(self) -> anyhow::Result<Member> {
        let dir = self
            .manifest_path
            .parent()
            .context("a manifest without a folder")?
            .to_owned();
        let needed = self
            .dependencies
            .into_iter()
            .filter(|dependency| dependency.kind.as_deref() != Some("dev"));
        Ok(Member {
            name: self.name,
            dir,
            dependencies: needed.map(|dependency| dependency.name).collect(),
        })
    }
}
