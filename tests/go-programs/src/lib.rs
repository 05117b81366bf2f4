//! Programs that tests run and that are written in Go: built by a script into a cache outside of the tree, once per
//! version.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};

/// Runs a build script, which tells its progress on standard error and what it built on standard output: minutes the
/// first time on a machine, nothing afterwards. `None` when there is no Go toolchain.
pub fn build(script: &Path) -> anyhow::Result<Option<PathBuf>> {
    if !has_go() {
        return Ok(None);
    }
    let output = Command::new("bash")
        .arg(script)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run {}", script.display()))?;
    ensure!(
        output.status.success(),
        "{} failed ({})",
        script.display(),
        output.status
    );
    Ok(Some(PathBuf::from(String::from_utf8(output.stdout)?.trim())))
}

/// The reason for skipping tests that this machine cannot run; with `CI=true` an error, since nobody would notice.
pub fn skip(what: &str, reason: String) -> anyhow::Result<String> {
    if std::env::var("CI").is_ok_and(|ci| ci == "true") {
        bail!("{what} cannot be started: {reason}");
    }
    Ok(reason)
}

/// Whether this machine has a Go toolchain.
pub fn has_go() -> bool {
    let go = Command::new("go")
        .arg("version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    go.is_ok_and(|status| status.success())
}
