//! Where and of what it was measured, without which numbers say nothing.

use std::fmt;
use std::process::{Command, Stdio};

use serde::Serialize;

/// The machine, and what it had to do besides.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Machine {
    /// The model of its processors, and how many of them there are.
    pub processors: String,
    /// The load average of the last minute before it began, and of the last minute of it.
    pub load: (String, String),
    /// Of the repository.
    pub commit: String,
    /// When it began, in seconds since 1970.
    pub began: u64,
}

impl Machine {
    /// As it is now.
    pub fn look() -> Self {
        let about = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = about.lines().find_map(|line| line.strip_prefix("model name"));
        let model = model
            .and_then(|line| line.split_once(':'))
            .map_or("unknown", |(_, model)| model.trim());
        let count = std::thread::available_parallelism().map_or(0, usize::from);
        #[expect(
            clippy::disallowed_methods,
            reason = "the date of a report; nothing is decided by it"
        )]
        let now = std::time::SystemTime::now();
        let began = now
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |since| since.as_secs());
        Self {
            processors: format!("{count} of {model}"),
            load: (load(), String::new()),
            commit: commit(),
            began,
        }
    }

    /// Notes how busy it was meanwhile.
    pub fn look_again(&mut self) {
        self.load.1 = load();
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            processors,
            load: (before, after),
            commit,
            began,
        } = self;
        write!(
            f,
            "Commit {commit}, {processors}, load average {before} before and {after} at the end, begun at {began} (seconds since 1970)."
        )
    }
}

fn load() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split_whitespace().next().unwrap_or("unknown").to_owned()
}

fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .args(arguments)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .ok()?;
        output
            .status
            .success()
            .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "--short", "HEAD"]) else {
        return "unknown".to_owned();
    };
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]).is_none_or(|changes| !changes.is_empty());
    if changed {
        format!("{commit} and changes")
    } else {
        commit
    }
}
