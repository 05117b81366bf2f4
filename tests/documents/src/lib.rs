//! The documentation as its readers meet it: the parts from which the tests in `tests/documents` are made.
//!
//! ```text
//!  README.md, docs/*.md … ── Page ──► Block ── commands ──► Command ──┬─► Performance: run in the order of the page
//!                              │                                      └─► or listed, with the reason why not
//!                              └────► links, make targets, flags that it speaks of
//!
//!  Performance ── a shell that only has what the page says ──► a real control plane
//!                                                               └── Kubelets, the chart's: pods of Plimsoll run as
//!                                                                   they themselves say, all others are said to
//! ```

mod command;
mod kubelets;
mod markdown;
mod performance;
mod reference;
mod static_pods;
mod workplace;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

pub use command::{Command, commands};
pub use kubelets::Kubelets;
pub use markdown::{Block, Page};
pub use performance::{Performance, Played};
pub use reference::configuration_reference;
pub use static_pods::StaticPods;
pub use workplace::Workplace;

/// The top of the repository.
pub fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Builds a Go program by its script, once per machine; none where there is no Go toolchain.
///
/// # Errors
/// When it does not build, or when it would be skipped with `CI=true`.
pub fn built(script: &Path) -> anyhow::Result<Option<PathBuf>> {
    let built = plimsoll_go_programs::build(script)?;
    if built.is_none() {
        plimsoll_go_programs::skip("the documentation's programs", "no Go toolchain".to_owned())?;
    }
    Ok(built)
}

/// Every page for readers: those at the top, those in `docs`, and the README files of folders that have one.
///
/// # Errors
/// When one cannot be read.
pub fn pages() -> anyhow::Result<Vec<Page>> {
    let mut paths: Vec<PathBuf> = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"]
        .map(PathBuf::from)
        .to_vec();
    for folder in ["docs", "deploy", "charts/plimsoll", "tests/oracle"] {
        collect(Path::new(folder), &mut paths)?;
    }
    paths.sort();
    paths.iter().map(|path| Page::read(path)).collect()
}

/// The pages of a folder and of those below it.
fn collect(folder: &Path, paths: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let full = top().join(folder);
    for entry in fs::read_dir(&full).with_context(|| full.display().to_string())? {
        let path = folder.join(entry?.file_name());
        if top().join(&path).is_dir() {
            collect(&path, paths)?;
        } else if path.extension().is_some_and(|extension| extension == "md") {
            paths.push(path);
        }
    }
    Ok(())
}
