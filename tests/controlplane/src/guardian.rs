//! Whatever happens to the test process, nothing it started outlives it.
//!
//! Destructors do not run when a process is killed, nor for values in statics. So one small shell per test process
//! holds the reading end of a pipe: when the pipe closes, the test process is gone, and the shell kills every process
//! group it was told of and removes every work directory that nobody asked to keep.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
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
for group in $groups; do kill -KILL -- "-$group"; done
for dir in $dirs; do rm -rf -- "$dir"; done
"#;

/// Tells the guardian one line; it is started on first use. Errors are not reported: the guardian is the last resort.
fn tell(line: &str) {
    static GUARDIAN: OnceLock<Option<Mutex<ChildStdin>>> = OnceLock::new();
    let guardian = GUARDIAN.get_or_init(|| {
        let child = Command::new("sh")
            .args(["-c", SCRIPT, "plimsoll-guardian"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn();
        child.ok().and_then(|child| child.stdin).map(Mutex::new)
    });
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
