//! One line of the log, before it has a shape.

use jiff::Timestamp;
use tracing::{Level, Metadata};

use super::fields::Fields;
use super::verbosity::level_of;

/// How much a line matters, as klog tells them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Severity {
    Info,
    Warning,
    Error,
}

/// A place in the code, and how much what it says matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) severity: Severity,
    /// On klog's scale.
    pub(super) level: u32,
    pub(super) file: &'static str,
    pub(super) line: u32,
}

impl Place {
    pub(super) fn of(metadata: &'static Metadata<'static>) -> Self {
        Self {
            severity: match *metadata.level() {
                Level::ERROR => Severity::Error,
                Level::WARN => Severity::Warning,
                _ => Severity::Info,
            },
            level: level_of(metadata).unwrap_or(0),
            file: metadata.file().unwrap_or("unknown.rs"),
            line: metadata.line().unwrap_or(0),
        }
    }

    /// The file's name, without folders.
    pub(super) fn name(&self) -> &'static str {
        self.file.rsplit('/').next().unwrap_or(self.file)
    }

    /// The file's name with its folder.
    pub(super) fn with_folder(&self) -> &'static str {
        let slashes = self.file.rmatch_indices('/').nth(1);
        slashes.map_or(self.file, |(at, _)| &self.file[at + 1..])
    }
}

/// One line.
#[derive(Debug)]
pub(super) struct Line<'a> {
    pub(super) place: Place,
    pub(super) time: Timestamp,
    pub(super) said: &'a Fields,
}
