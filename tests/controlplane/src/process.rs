//! A child process with its log file, signals and CPU time.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::guardian;

/// A running program. Dropping it kills its process group and waits for it; so does the end of the test process.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
    exit: Option<ExitStatus>,
}

impl Process {
    /// Starts `program` with `args` in a process group of its own; both outputs go to `log`, which is appended to.
    pub fn spawn(
        name: &str,
        program: &Path,
        args: &[String],
        env: &[(&str, &str)],
        log: &Path,
    ) -> anyhow::Result<Self> {
        let out = File::options().create(true).append(true).open(log)?;
        let child = Command::new(program)
            .args(args)
            .envs(env.iter().copied())
            .stdin(Stdio::null())
            .stdout(out.try_clone()?)
            .stderr(out)
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        guardian::watch(child.id());
        Ok(Self {
            name: name.to_owned(),
            child,
            log: log.to_owned(),
            exit: None,
        })
    }

    /// What the process is called in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its process number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The file with both its outputs.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Everything it has written so far.
    pub fn log_text(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// The last `lines` lines of its log.
    pub fn log_tail(&self, lines: usize) -> String {
        let text = self.log_text();
        let all: Vec<&str> = text.lines().collect();
        all[all.len().saturating_sub(lines)..].join("\n")
    }

    /// The exit status, when the process has ended.
    pub fn exited(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        if self.exit.is_none() {
            self.exit = self.child.try_wait()?;
            if self.exit.is_some() {
                guardian::forget(self.child.id());
            }
        }
        Ok(self.exit)
    }

    /// An error with the end of the log when the process has ended.
    pub fn ensure_running(&mut self) -> anyhow::Result<()> {
        if let Some(status) = self.exited()? {
            bail!("{} ended ({status}); its last lines:\n{}", self.name, self.log_tail(30));
        }
        Ok(())
    }

    /// SIGKILL, and waits for the end.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        self.signal(Signal::KILL)?;
        if self.exit.is_none() {
            self.exit = Some(self.child.wait()?);
            guardian::forget(self.child.id());
        }
        Ok(())
    }

    /// SIGTERM, and waits at most `limit` for the exit status; `None` when it is still running then.
    pub async fn terminate(&mut self, limit: Duration) -> anyhow::Result<Option<ExitStatus>> {
        self.signal(Signal::TERM)?;
        self.wait(limit).await
    }

    /// SIGTERM, without waiting for what comes of it.
    pub fn ask_to_end(&self) -> anyhow::Result<()> {
        self.signal(Signal::TERM)
    }

    /// Waits at most `limit` for the process to end by itself.
    pub async fn wait(&mut self, limit: Duration) -> anyhow::Result<Option<ExitStatus>> {
        let deadline = tokio::time::Instant::now() + limit;
        loop {
            let exit = self.exited()?;
            if exit.is_some() || tokio::time::Instant::now() >= deadline {
                return Ok(exit);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// SIGUSR2: a scheduler writes what it knows to its log.
    pub fn ask_for_dump(&self) -> anyhow::Result<()> {
        self.signal(Signal::USR2)
    }

    /// SIGSTOP: the process stands still, its connections stay open.
    pub fn suspend(&self) -> anyhow::Result<()> {
        self.signal(Signal::STOP)
    }

    /// SIGCONT after [`suspend`](Self::suspend).
    pub fn resume(&self) -> anyhow::Result<()> {
        self.signal(Signal::CONT)
    }

    /// Processor time used so far, user and system, from `/proc`; zero once it has ended.
    pub fn cpu_time(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.id())).unwrap_or_default();
        // The command name, in parentheses, may hold spaces; utime and stime are the 12th and 13th fields after it.
        let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let ticks: u64 = fields
            .split_whitespace()
            .skip(11)
            .take(2)
            .filter_map(|f| f.parse::<u64>().ok())
            .sum();
        Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second())
    }

    /// Largest resident size so far in bytes, from `/proc`; zero once it has ended.
    pub fn peak_memory(&self) -> u64 {
        self.memory_called("VmHWM:")
    }

    /// Resident size in bytes, from `/proc`; zero once it has ended.
    pub fn memory(&self) -> u64 {
        self.memory_called("VmRSS:")
    }

    fn memory_called(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap_or_default();
        let kib = status
            .lines()
            .find_map(|l| l.strip_prefix(name))
            .and_then(|l| l.split_whitespace().next());
        kib.and_then(|k| k.parse::<u64>().ok()).unwrap_or(0) * 1024
    }

    fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        if self.exit.is_some() {
            return Ok(());
        }
        let pid = i32::try_from(self.id())
            .ok()
            .and_then(Pid::from_raw)
            .context("no process number")?;
        kill_process_group(pid, signal).with_context(|| format!("cannot signal {}", self.name))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}
