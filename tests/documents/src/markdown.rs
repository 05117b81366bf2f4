//! A page of Markdown: as much of it as is needed to find commands, links and what stands between backticks.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

/// A page.
#[derive(Debug, Clone)]
pub struct Page {
    /// Where it is, from the top of the repository.
    pub path: PathBuf,
    /// Its fenced blocks.
    pub blocks: Vec<Block>,
    /// Its lines outside of those, with their numbers.
    pub prose: Vec<(usize, String)>,
}

/// What stands between two fences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// What the first fence says it is, such as `sh`; empty when it says nothing.
    pub language: String,
    /// The number of its first line.
    pub line: usize,
    /// Its lines, without the indentation of the fence.
    pub lines: Vec<String>,
}

impl Page {
    /// Reads the page at this path from the top of the repository.
    ///
    /// # Errors
    /// When there is none, or a block of it has no end.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let full = crate::top().join(path);
        let text = fs::read_to_string(&full).with_context(|| full.display().to_string())?;
        Self::parse(path, &text)
    }

    /// Takes a page apart.
    ///
    /// # Errors
    /// When a block has no end.
    pub fn parse(path: &Path, text: &str) -> anyhow::Result<Self> {
        let mut page = Self {
            path: path.to_owned(),
            blocks: Vec::new(),
            prose: Vec::new(),
        };
        let mut open: Option<(usize, Block)> = None;
        for (number, line) in (1..).zip(text.lines()) {
            let bare = line.trim_start();
            let indent = line.len() - bare.len();
            match (&mut open, bare.strip_prefix("```")) {
                (None, Some(info)) => {
                    let language = info.split([',', ' ']).next().unwrap_or_default().to_owned();
                    open = Some((
                        indent,
                        Block {
                            language,
                            line: number + 1,
                            lines: Vec::new(),
                        },
                    ));
                }
                (None, None) => page.prose.push((number, line.to_owned())),
                (Some(_), Some("")) => page.blocks.extend(open.take().map(|(_, block)| block)),
                (Some((indent, block)), _) => {
                    block.lines.push(line.get(*indent..).unwrap_or_default().to_owned());
                }
            }
        }
        ensure!(open.is_none(), "{}: a block has no end", path.display());
        Ok(page)
    }

    /// What stands between backticks in the prose, with the numbers of the lines.
    pub fn spans(&self) -> impl Iterator<Item = (usize, &str)> {
        self.prose
            .iter()
            .flat_map(|(number, line)| line.split('`').skip(1).step_by(2).map(|span| (*number, span)))
    }

    /// The targets of its links, with the numbers of the lines.
    pub fn links(&self) -> impl Iterator<Item = (usize, &str)> {
        self.prose.iter().flat_map(|(number, line)| {
            line.split("](")
                .skip(1)
                .filter_map(|rest| Some((*number, rest.split_once(')')?.0)))
        })
    }

    /// The names by which links reach its headings: as most renderers make them.
    pub fn anchors(&self) -> Vec<String> {
        let mut anchors: Vec<String> = Vec::new();
        for (_, line) in &self.prose {
            let Some(heading) = line.strip_prefix('#') else {
                continue;
            };
            let heading = heading.trim_start_matches('#').trim().to_lowercase();
            let kept = heading
                .chars()
                .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
            let same = anchors.iter().filter(|other| **other == anchor).count();
            anchors.push(if same == 0 { anchor } else { format!("{anchor}-{same}") });
        }
        anchors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
# Why `it` waits

Run `make demo`, see [there](other.md#a-b).

1. Like this:

   ```sh
   one
     two
   ```

```text
# not a heading
```

## Why it waits
";

    fn page() -> Page {
        Page::parse(Path::new("page.md"), PAGE).unwrap()
    }

    #[test]
    fn blocks_have_their_language_their_place_and_lose_the_indentation_of_their_fence() {
        let blocks = page().blocks;
        assert_eq!(blocks.len(), 2);
        assert_eq!((blocks[0].language.as_str(), blocks[0].line), ("sh", 8));
        assert_eq!(blocks[0].lines, ["one", "  two"]);
        assert_eq!(blocks[1].language, "text");
    }

    #[test]
    fn spans_and_links_are_found_outside_of_blocks() {
        let page = page();
        assert_eq!(page.spans().collect::<Vec<_>>(), [(1, "it"), (3, "make demo")]);
        assert_eq!(page.links().collect::<Vec<_>>(), [(3, "other.md#a-b")]);
    }

    #[test]
    fn headings_that_are_alike_are_told_apart_by_a_number() {
        assert_eq!(page().anchors(), ["why-it-waits", "why-it-waits-1"]);
    }

    #[test]
    fn a_block_without_an_end_is_an_error() {
        Page::parse(Path::new("page.md"), "```sh\nls\n").unwrap_err();
    }
}
