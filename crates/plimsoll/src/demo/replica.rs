//! One replica of the scheduler: a process of its own, started from this very program.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};

use super::folder::Folder;

/// Lease, renewal and retry: short, so that a hand-over is no pause in the show, and long enough for a busy machine.
const ELECTION: [&str; 3] = [
    "--leader-elect-lease-duration=5s",
    "--leader-elect-renew-deadline=3s",
    "--leader-elect-retry-period=500ms",
];
/// An orderly end takes a moment: sent writes are waited for.
const ORDERLY_END: Duration = Duration::from_secs(15);

/// A running replica. Its process dies with this value.
#[derive(Debug)]
pub(super) struct Replica {
    pub(super) name: String,
    log: PathBuf,
    child: Child,
    killed: bool,
}

impl Replica {
    pub(super) fn start(name: &str, kubeconfig: &Path, folder: &Folder) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let log = folder.path().join(format!("{name}.log"));
        let child = Command::new(program)
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .arg(format!("--hostname-override={name}"))
            // Slow enough to be watched.
            .args(["--kube-api-qps=150", "--kube-api-burst=150", "--secure-port=0", "-v=2"])
            .args(ELECTION)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log)?)
            // Ctrl-C is for the stage, which ends its replicas itself.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .context("cannot start a replica")?;
        Ok(Self {
            name: name.to_owned(),
            log,
            child,
            killed: false,
        })
    }

    /// The process, as long as it runs.
    pub(super) fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Whether it is meant to run.
    pub(super) fn is_on_stage(&self) -> bool {
        !self.killed
    }

    /// SIGKILL: it has no say in the matter.
    pub(super) async fn kill(&mut self) -> anyhow::Result<()> {
        self.killed = true;
        self.child
            .kill()
            .await
            .with_context(|| format!("cannot kill {}", self.name))
    }

    /// An error when it has ended by itself, with the end of its log.
    pub(super) fn ensure_running(&mut self) -> anyhow::Result<()> {
        match self.child.try_wait()? {
            Some(status) if !self.killed => {
                let log = std::fs::read_to_string(&self.log).unwrap_or_default();
                let tail: Vec<_> = log.lines().rev().take(10).collect();
                let tail: Vec<_> = tail.into_iter().rev().collect();
                anyhow::bail!("{} has ended ({status}):\n{}", self.name, tail.join("\n"))
            }
            _ => Ok(()),
        }
    }

    /// SIGTERM. The exit status, or none when it did not end in time.
    pub(super) async fn terminate(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        let pid = self
            .child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw);
        if let Some(pid) = pid {
            kill_process(pid, Signal::TERM).with_context(|| format!("cannot end {}", self.name))?;
        }
        Ok(tokio::time::timeout(ORDERLY_END, self.child.wait())
            .await
            .ok()
            .transpose()?)
    }
}
