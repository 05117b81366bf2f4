//! The Go process that asks kube-scheduler's own plugins.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, ensure};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Whether this machine can build the program.
#[derive(Debug)]
pub enum Availability {
    /// The path of the program.
    Ready(std::path::PathBuf),
    /// It cannot, and the reason why.
    Skip(String),
}

/// Builds the program (minutes the first time on a machine, nothing afterwards). Without Go the comparison is skipped;
/// with `CI=true` that is an error, and so is a build that fails.
pub fn find() -> anyhow::Result<Availability> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("upstream/build.sh");
    match plimsoll_go_programs::build(&script)? {
        Some(program) => Ok(Availability::Ready(program)),
        None => plimsoll_go_programs::skip("kube-scheduler's own plugins", "no Go toolchain".to_owned())
            .map(Availability::Skip),
    }
}

/// One process; it answers in the order in which it is asked.
#[derive(Debug)]
pub struct Upstream {
    child: Child,
}

/// Where cases go.
#[derive(Debug)]
pub struct Questions(ChildStdin);

/// Where answers come from.
#[derive(Debug)]
pub struct Answers(BufReader<ChildStdout>);

impl Upstream {
    /// Starts the program that [`find`] names.
    pub fn start(program: &Path, arguments: &[&str]) -> anyhow::Result<(Self, Questions, Answers)> {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let questions = child.stdin.take().context("no standard input")?;
        let answers = child.stdout.take().context("no standard output")?;
        Ok((Self { child }, Questions(questions), Answers(BufReader::new(answers))))
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Questions {
    /// Sends one.
    pub fn ask(&mut self, case: &impl Serialize) -> anyhow::Result<()> {
        let mut line = serde_json::to_vec(case)?;
        line.push(b'\n');
        self.0.write_all(&line).context("kube-scheduler's plugins are gone")
    }
}

impl Answers {
    /// Waits for one.
    pub fn wait<A: DeserializeOwned>(&mut self) -> anyhow::Result<A> {
        let mut line = String::new();
        ensure!(self.0.read_line(&mut line)? > 0, "kube-scheduler's plugins are gone");
        serde_json::from_str(&line).with_context(|| format!("reading {line}"))
    }
}
