//! Runs `kubectl` against a server.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, ensure};
use plimsoll_controlplane::WorkDir;

use crate::target::Target;

/// `kubectl` with a kubeconfig and a home of its own.
#[derive(Debug)]
pub struct Kubectl {
    dir: WorkDir,
    kubeconfig: PathBuf,
}

impl Kubectl {
    /// `None`, with a banner, on a machine without `kubectl`.
    pub fn find(target: &Target) -> anyhow::Result<Option<Self>> {
        let version = Command::new("kubectl")
            .args(["version", "--client"])
            .stdin(Stdio::null())
            .output();
        if !version.is_ok_and(|output| output.status.success()) {
            eprintln!("\n==== SKIPPED: there is no kubectl to try on the embedded API server ====\n");
            return Ok(None);
        }
        let dir = WorkDir::new("kubectl")?;
        let kubeconfig = target.kubeconfig(dir.path())?;
        Ok(Some(Self { dir, kubeconfig }))
    }

    /// Runs a command line, split at spaces; returns its standard output.
    ///
    /// # Errors
    /// When it fails, with what it said.
    pub async fn run(&self, line: &str) -> anyhow::Result<String> {
        self.feed(line, "").await
    }

    /// Runs a command line with standard input.
    ///
    /// # Errors
    /// When it fails, with what it said.
    pub async fn feed(&self, line: &str, input: &str) -> anyhow::Result<String> {
        let output = self.output(line, input).await?;
        let told = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "kubectl {line}: {told}");
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Runs a command line that must fail; returns its standard error.
    ///
    /// # Errors
    /// When it does not fail.
    pub async fn refused(&self, line: &str, input: &str) -> anyhow::Result<String> {
        let output = self.output(line, input).await?;
        ensure!(!output.status.success(), "kubectl {line} succeeded");
        Ok(String::from_utf8_lossy(&output.stderr).into_owned())
    }

    async fn output(&self, line: &str, input: &str) -> anyhow::Result<Output> {
        let mut command = Command::new("kubectl");
        command
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .args(line.split(' ').filter(|word| !word.is_empty()))
            .env("HOME", self.dir.path())
            .env("KUBECACHEDIR", self.dir.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let input = input.to_owned();
        // The server under test lives in this process: waiting must not hold up its runtime.
        let output = tokio::task::spawn_blocking(move || -> std::io::Result<Output> {
            let mut child = command.spawn()?;
            if let Some(mut stdin) = child.stdin.take() {
                stdin.write_all(input.as_bytes())?;
            }
            child.wait_with_output()
        });
        output.await?.context("kubectl")
    }
}
