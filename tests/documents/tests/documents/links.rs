//! Links lead somewhere.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use plimsoll_documents::{Page, pages, top};

#[test]
fn every_link_leads_to_a_file_of_the_tree_and_to_a_heading_of_it() -> anyhow::Result<()> {
    let mut checked = 0;
    for page in pages()? {
        for (line, target) in page.links() {
            let place = format!("{}:{line}", page.path.display());
            if target.contains("://") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let folder = page.path.parent().unwrap_or_else(|| Path::new(""));
            let path = if file.is_empty() {
                page.path.clone()
            } else {
                folder.join(file)
            };
            ensure!(top().join(&path).exists(), "{place}: {target} leads nowhere");
            if !anchor.is_empty() && path.extension().is_some_and(|extension| extension == "md") {
                let other = Page::read(&plain(&path)).with_context(|| place.clone())?;
                ensure!(
                    other.anchors().iter().any(|other| other == anchor),
                    "{place}: {} has no heading #{anchor}",
                    path.display()
                );
            }
            checked += 1;
        }
    }
    ensure!(checked >= 150, "only {checked} links were found");
    Ok(())
}

/// A path without its `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}
