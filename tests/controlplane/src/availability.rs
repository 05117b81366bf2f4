//! Where the control plane's programs come from, and what happens when there are none.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};

/// Whether this machine can run a real control plane.
#[derive(Debug)]
pub enum Availability {
    /// The programs are there.
    Ready(Programs),
    /// They are not, and the reason why.
    Skip(String),
}

/// The folder with `etcd`, `kube-apiserver` and, when Go could build them, the other programs.
#[derive(Clone, Debug)]
pub struct Programs {
    dir: PathBuf,
}

impl Availability {
    /// Finds the programs, building them when a Go toolchain is there: minutes the first time on a machine, nothing
    /// afterwards. Without Go, a folder named by `KUBEBUILDER_ASSETS` does.
    ///
    /// A machine that has neither skips the real suite, with a banner nobody can miss; with `CI=true` that is an
    /// error, and so is a build that fails.
    pub fn find() -> anyhow::Result<Self> {
        if has_go() {
            return Ok(Self::Ready(Programs { dir: build()? }));
        }
        if let Some(dir) = std::env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from) {
            for program in ["etcd", "kube-apiserver"] {
                ensure!(
                    dir.join(program).is_file(),
                    "KUBEBUILDER_ASSETS={} has no {program}",
                    dir.display()
                );
            }
            return Ok(Self::Ready(Programs { dir }));
        }
        let reason = "no Go toolchain to build etcd and kube-apiserver with, and KUBEBUILDER_ASSETS is not set";
        if std::env::var("CI").is_ok_and(|ci| ci == "true") {
            bail!("the real control plane cannot be started: {reason}");
        }
        Ok(Self::Skip(reason.to_owned()))
    }
}

impl Programs {
    /// The path of one program, such as `kube-scheduler`; `None` when this machine has none (`KUBEBUILDER_ASSETS`
    /// brings only the API server and etcd).
    pub fn path(&self, program: &str) -> Option<PathBuf> {
        Some(self.dir.join(program)).filter(|path| path.is_file())
    }

    pub(crate) fn require(&self, program: &str) -> anyhow::Result<PathBuf> {
        self.path(program)
            .with_context(|| format!("{} has no {program}", self.dir.display()))
    }
}

fn has_go() -> bool {
    let go = Command::new("go")
        .arg("version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    go.is_ok_and(|status| status.success())
}

/// Runs the build script; it tells its progress on standard error and the folder on standard output.
fn build() -> anyhow::Result<PathBuf> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cluster/controlplane/build.sh");
    let output = Command::new("bash")
        .arg(&script)
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
    Ok(PathBuf::from(String::from_utf8(output.stdout)?.trim()))
}
