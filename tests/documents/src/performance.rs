//! A page played: its commands, one after the other, in one shell, as somebody would who pastes them.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use plimsoll_controlplane::Process;

use crate::command::{Command, commands};
use crate::markdown::Page;
use crate::workplace::Workplace;

/// What a line begins with that says which command comes next.
const NEXT: &str = "@@@ ";

/// How often the world around the shell is looked after.
const ROUND: Duration = Duration::from_millis(50);

/// How a page is played.
#[derive(Debug)]
pub struct Performance<'a> {
    /// The page.
    pub page: &'a Page,
    /// Whether a command is to be run; the others are passed over.
    pub runs: fn(&Page, &Command) -> bool,
    /// What stands on the page for something of the reader's own, and what it is here.
    pub replace: &'a [(&'a str, &'a str)],
    /// Commands before the first of the page: what the reader is said to have.
    pub before: &'a str,
    /// Commands behind the last of the page: what it leaves is taken away.
    pub after: &'a str,
    /// How long it may take.
    pub limit: Duration,
}

/// What came of it.
#[derive(Debug)]
pub struct Played {
    /// Everything that was written, with a line before each command.
    pub output: String,
    /// How many commands of the page were run.
    pub commands: usize,
}

impl Performance<'_> {
    /// The shell script, and how many commands of the page are in it.
    fn script(&self) -> anyhow::Result<(String, usize)> {
        let mut script = format!("set -euo pipefail\n{}\n", self.before);
        let mut count = 0;
        for block in self.page.blocks.iter().filter(|block| block.language == "sh") {
            for command in commands(block)? {
                if !(self.runs)(self.page, &command) {
                    continue;
                }
                let mut text = command.text.clone();
                for (from, to) in self.replace {
                    text = text.replace(from, to);
                }
                let first = text.lines().next().unwrap_or_default().replace('\'', "'\\''");
                writeln!(script, "echo '{NEXT}line {}: {first}'", command.line)?;
                writeln!(script, "{text}")?;
                count += 1;
            }
        }
        writeln!(script, "echo '{NEXT}line 0: afterwards'\n{}", self.after)?;
        Ok((script, count))
    }

    /// Plays it, and looks after the world around it meanwhile.
    ///
    /// # Errors
    /// When a command fails, with its place on the page and the end of what was written; when the world does.
    pub async fn play(
        &self,
        place: &Workplace,
        kubeconfig: Option<&Path>,
        mut world: impl AsyncFnMut() -> anyhow::Result<()>,
    ) -> anyhow::Result<Played> {
        let (script, commands) = self.script()?;
        let path = place.path("page.sh");
        fs::write(&path, &script)?;
        let (home, search) = (place.path("home").display().to_string(), place.search_path());
        let mut env = vec![("HOME", home.as_str()), ("PATH", search.as_str())];
        let kubeconfig = kubeconfig.map_or_else(String::new, |path| path.display().to_string());
        env.push(("KUBECONFIG", &kubeconfig));
        let log = place.path("page.log");
        let start = ["-c", "cd \"$0\" && exec bash \"$1\""].map(str::to_owned);
        let folders = [place.tree(), path].map(|path| path.display().to_string());
        let arguments: Vec<String> = start.into_iter().chain(folders).collect();
        let mut shell = Process::spawn("page", Path::new("/bin/bash"), &arguments, &env, &log)?;
        let deadline = tokio::time::Instant::now() + self.limit;
        let ended = loop {
            world().await.with_context(|| self.so_far(&shell))?;
            if let Some(status) = shell.exited()? {
                break status;
            }
            ensure!(
                tokio::time::Instant::now() < deadline,
                "not done in {:?}\n{}",
                self.limit,
                self.so_far(&shell)
            );
            tokio::time::sleep(ROUND).await;
        };
        if !ended.success() {
            bail!("the last command failed ({ended})\n{}", self.so_far(&shell));
        }
        Ok(Played {
            output: shell.log_text(),
            commands,
        })
    }

    fn so_far(&self, shell: &Process) -> String {
        let output = shell.log_text();
        let last = output.lines().rev().find_map(|line| line.strip_prefix(NEXT));
        format!(
            "{}, {}:\n{}",
            self.page.path.display(),
            last.unwrap_or("before its first command"),
            shell.log_tail(40)
        )
    }
}
