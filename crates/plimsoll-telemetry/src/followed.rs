//! Files that are read again when they have changed.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// Between two looks there is at least so much time.
const PAUSE: Duration = Duration::from_secs(1);

/// By this a change of a file shows: when it was written, how long and which it is.
type Stamp = Option<(SystemTime, u64, u64)>;

/// Makes a value of files.
pub(crate) type Load<T> = dyn Fn() -> Result<T, String> + Send + Sync;

/// What was made of some files, and is made again when one of them is another. While they cannot be used, what there was
/// stays.
pub(crate) struct Followed<T> {
    current: ArcSwap<T>,
    paths: Vec<PathBuf>,
    load: Arc<Load<T>>,
    looked: Mutex<Looked>,
}

struct Looked {
    at: Instant,
    stamps: Vec<Stamp>,
}

impl<T: Send + Sync + 'static> Followed<T> {
    /// Reads the files for the first time.
    pub(crate) fn new(
        paths: Vec<PathBuf>,
        load: impl Fn() -> Result<T, String> + Send + Sync + 'static,
    ) -> Result<Self, String> {
        // Stamped first: what changes in between is read once more.
        let stamps = stamps(&paths);
        let current = ArcSwap::from_pointee(load()?);
        Ok(Self {
            current,
            paths,
            load: Arc::new(load),
            looked: Mutex::new(Looked {
                at: Instant::now(),
                stamps,
            }),
        })
    }

    /// What there is.
    pub(crate) fn current(&self) -> Arc<T> {
        self.current.load_full()
    }

    /// Looks whether a file is another, if nobody has just done so.
    pub(crate) async fn refresh(&self) {
        let Ok(mut looked) = self.looked.try_lock() else {
            return;
        };
        if self.paths.is_empty() || looked.at.elapsed() < PAUSE {
            return;
        }
        let (paths, before, load) = (self.paths.clone(), looked.stamps.clone(), Arc::clone(&self.load));
        let read = move || {
            let stamps = stamps(&paths);
            (stamps != before).then(|| (stamps, load()))
        };
        let read = tokio::task::spawn_blocking(read).await;
        looked.at = Instant::now();
        let Ok(Some((stamps, loaded))) = read else {
            return;
        };
        looked.stamps = stamps;
        let files: Vec<_> = self.paths.iter().map(|path| path.display().to_string()).collect();
        let files = files.join(", ");
        match loaded {
            Ok(value) => {
                self.current.store(Arc::new(value));
                tracing::info!(files, "Files were read again");
            }
            Err(why) => tracing::error!(
                files,
                why,
                "Files have changed and cannot be used; what they were before stays"
            ),
        }
    }
}

impl<T> fmt::Debug for Followed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Followed")
            .field("paths", &self.paths)
            .finish_non_exhaustive()
    }
}

fn stamps(paths: &[PathBuf]) -> Vec<Stamp> {
    paths.iter().map(|path| stamp(path)).collect()
}

/// A secret that is mounted changes by a link to another folder, which is followed.
fn stamp(path: &Path) -> Stamp {
    let metadata = std::fs::metadata(path).ok()?;
    #[cfg(unix)]
    let file = std::os::unix::fs::MetadataExt::ino(&metadata);
    #[cfg(not(unix))]
    let file = 0;
    Some((metadata.modified().ok()?, metadata.len(), file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_file_is_read_again_when_it_is_another_and_what_was_there_stays_while_it_cannot_be_used() {
        let path = std::env::temp_dir().join(format!("plimsoll-followed-{}", std::process::id()));
        std::fs::write(&path, "1").unwrap();
        let file = path.clone();
        let followed = Followed::new(vec![path.clone()], move || {
            let text = std::fs::read_to_string(&file).map_err(|error| error.to_string())?;
            text.parse::<u64>().map_err(|error| error.to_string())
        });
        let followed = followed.unwrap();
        for (text, expected) in [("22", 22), ("x", 22), ("333", 333)] {
            std::fs::write(&path, text).unwrap();
            followed.refresh().await;
            tokio::time::advance(PAUSE).await;
            followed.refresh().await;
            assert_eq!(*followed.current(), expected, "{text}");
        }
        std::fs::remove_file(&path).unwrap();
        tokio::time::advance(PAUSE).await;
        followed.refresh().await;
        assert_eq!(*followed.current(), 333);
    }
}
