//! The `plimsoll` program under test.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use anyhow::{Context, anyhow, ensure};

/// The binary named by `PLIMSOLL_BIN`, or the one of the profile `release-lite`, which Cargo brings up to date first.
pub(crate) fn plimsoll() -> anyhow::Result<PathBuf> {
    static BINARY: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let found = BINARY.get_or_init(|| find().map_err(|error| format!("{error:#}")));
    found.clone().map_err(|error| anyhow!(error))
}

fn find() -> anyhow::Result<PathBuf> {
    if let Some(path) = std::env::var_os("PLIMSOLL_BIN").map(PathBuf::from) {
        ensure!(path.is_file(), "PLIMSOLL_BIN={} is no file", path.display());
        return Ok(path);
    }
    let target = target_dir()?;
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args([
            "build",
            "--package",
            "plimsoll",
            "--bin",
            "plimsoll",
            "--profile",
            "release-lite",
            "--target-dir",
        ])
        .arg(&target)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
        .stdin(Stdio::null())
        .status()
        .context("cannot run cargo to build plimsoll")?;
    ensure!(status.success(), "plimsoll does not build ({status})");
    Ok(target.join("release-lite/plimsoll"))
}

/// Tests run as `<target>/<profile>/deps/<test>`.
fn target_dir() -> anyhow::Result<PathBuf> {
    let test = std::env::current_exe()?;
    test.ancestors()
        .nth(3)
        .map(Path::to_owned)
        .context("the test binary lies outside of a target folder")
}
