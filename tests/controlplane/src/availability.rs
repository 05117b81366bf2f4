//! Where the control plane's programs come from, and what happens when there are none.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

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
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cluster/controlplane/build.sh");
        if let Some(dir) = plimsoll_go_programs::build(&script)? {
            return Ok(Self::Ready(Programs { dir }));
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
        plimsoll_go_programs::skip("the real control plane", reason.to_owned()).map(Self::Skip)
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
