//! Whatever happens to the test process, nothing it started outlives it.
//!
//! Destructors do not run when a process is killed, nor for values in statics. So one small shell per test process
//! holds the reading end of a pipe: when the pipe closes, the test process is gone, and the shell kills every process
//! group it was told of and removes every work directory that nobody asked to keep.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use anyhow::Context;

const SCRIPT: &str = r#"
trap '' INT TERM HUP
groups=' '; dirs=' '
without() { case "$1" in *" $2 "*) printf '%s' "${1%% $2 *} ${1#* $2 }";; *) printf '%s' "$1";; esac; }
while read -r verb arg; do
    case $verb in
        watch) groups="$groups$arg ";;
        forget) groups="$(without "$groups" "$arg") ";;
        remove) dirs="$dirs$arg ";;
        keep) dirs="$(without "$dirs" "$arg") ";;
    esac
done
for group in $groups; do kill -s KILL -- "-$group"; done
for dir in $dirs; do rm -rf -- "$dir"; done
"#;

/// Starts a guardian; it acts when the pipe to its standard input closes.
fn start() -> std::io::Result<Child> {
    Command::new("sh")
        .args(["-c", SCRIPT, "plimsoll-guardian"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
}

/// Tells the guardian one line; it is started on first use. Errors are not reported: the guardian is the last resort.
fn tell(line: &str) {
    static GUARDIAN: OnceLock<Option<Mutex<ChildStdin>>> = OnceLock::new();
    let guardian = GUARDIAN.get_or_init(|| start().ok().and_then(|child| child.stdin).map(Mutex::new));
    if let Some(pipe) = guardian {
        let mut pipe = pipe.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = writeln!(pipe, "{line}").and_then(|()| pipe.flush());
    }
}

/// From now on the process group `group` is killed when this process ends.
pub(crate) fn watch(group: u32) {
    tell(&format!("watch {group}"));
}

/// The process group `group` has ended; its number may be somebody else's soon.
pub(crate) fn forget(group: u32) {
    tell(&format!("forget {group}"));
}

/// A directory for logs, keys and data of one control plane. It goes when this process ends, unless [kept](Self::keep).
#[derive(Debug)]
pub struct WorkDir {
    path: PathBuf,
}

impl WorkDir {
    /// Makes an empty directory below the system's temporary one, its name starting with `name`.
    pub fn new(name: &str) -> anyhow::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("plimsoll-{name}-{}-{count}", std::process::id()));
        std::fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        tell(&format!("remove {}", path.display()));
        Ok(Self { path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves the directory in place when the process ends: something failed and the logs are wanted.
    pub fn keep(&self) {
        tell(&format!("keep {}", self.path.display()));
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    fn sleeper() -> Child {
        Command::new("sleep").arg("1000").process_group(0).spawn().unwrap()
    }

    #[test]
    fn when_the_pipe_closes_what_was_watched_dies_and_what_was_not_kept_goes() {
        let top = WorkDir::new("guardian-test").unwrap();
        let dirs = ["gone", "kept"].map(|name| top.path().join(name));
        for dir in &dirs {
            std::fs::create_dir(dir).unwrap();
        }
        let (mut first, mut forgotten, mut last) = (sleeper(), sleeper(), sleeper());
        let mut guardian = start().unwrap();
        let mut pipe = guardian.stdin.take().unwrap();
        for child in [&first, &forgotten, &last] {
            writeln!(pipe, "watch {}", child.id()).unwrap();
        }
        writeln!(pipe, "forget {}", forgotten.id()).unwrap();
        for dir in &dirs {
            writeln!(pipe, "remove {}", dir.display()).unwrap();
        }
        writeln!(pipe, "keep {}", dirs[1].display()).unwrap();
        drop(pipe);
        guardian.wait().unwrap();

        assert_eq!(first.wait().unwrap().signal(), Some(9));
        assert_eq!(last.wait().unwrap().signal(), Some(9));
        assert_eq!(forgotten.try_wait().unwrap(), None);
        forgotten.kill().unwrap();
        forgotten.wait().unwrap();
        assert_eq!(dirs.map(|dir| dir.exists()), [false, true]);
    }
}
