//! `values.yaml` as a page: sections, and for each value its comment and default.

use anyhow::{Context, ensure};
use serde_json::Value;

/// How a section is headed.
const SECTION: &str = "### ";

/// A value with a comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The section that it stands in.
    pub section: String,
    /// The keys that lead to it.
    pub path: Vec<String>,
    /// Its comment, as one line.
    pub comment: String,
    /// What it is unless it is set.
    pub default: Value,
}

impl Entry {
    /// Its name on a command line.
    pub fn name(&self) -> String {
        self.path.join(".")
    }
}

/// All values of the chart, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValuesPage {
    /// Those with a comment.
    pub entries: Vec<Entry>,
}

impl ValuesPage {
    /// Reads the page. Each value must have a comment or be a map of such.
    pub fn read(text: &str) -> anyhow::Result<Self> {
        let values: Value = serde_saphyr::from_str(text)?;
        let mut reader = Reader::default();
        for line in text.lines() {
            reader.line(line);
        }
        let entry = |(section, path, comment): (String, Vec<String>, String)| {
            let default = values.pointer(&format!("/{}", path.join("/")));
            let default = default.with_context(|| format!("no value at {path:?}"))?.clone();
            Ok(Entry {
                section,
                path,
                comment,
                default,
            })
        };
        let entries: Vec<Entry> = reader.found.into_iter().map(entry).collect::<anyhow::Result<_>>()?;
        let page = Self { entries };
        page.ensure_complete(&values, &mut Vec::new())?;
        Ok(page)
    }

    fn has(&self, path: &[String]) -> bool {
        self.entries.iter().any(|entry| entry.path == path)
    }

    fn ensure_complete(&self, value: &Value, path: &mut Vec<String>) -> anyhow::Result<()> {
        if self.has(path) {
            return Ok(());
        }
        let children = value.as_object().filter(|children| !children.is_empty());
        let children = children.with_context(|| format!("{} has no comment", path.join(".")))?;
        for (key, child) in children {
            path.push(key.clone());
            self.ensure_complete(child, path)?;
            path.pop();
        }
        ensure!(!children.is_empty(), "{} is empty", path.join("."));
        Ok(())
    }
}

/// Line by line: two spaces a level; what is deeper than a value with a comment is its default.
#[derive(Default)]
struct Reader {
    section: String,
    comment: Vec<String>,
    path: Vec<String>,
    /// How deep the last value with a comment stands.
    leaf: Option<usize>,
    found: Vec<(String, Vec<String>, String)>,
}

impl Reader {
    fn line(&mut self, line: &str) {
        let text = line.trim_start();
        let depth = (line.len() - text.len()) / 2;
        if let Some(section) = text.strip_prefix(SECTION) {
            section.clone_into(&mut self.section);
        } else if let Some(comment) = text.strip_prefix('#') {
            self.comment.push(comment.trim().to_owned());
        } else if text.is_empty() {
            self.comment.clear();
        } else if self.leaf.is_none_or(|leaf| depth <= leaf) {
            self.key(text, depth);
        }
    }

    fn key(&mut self, text: &str, depth: usize) {
        self.leaf = None;
        let Some((key, _)) = text.split_once(':') else { return };
        self.path.truncate(depth);
        self.path.push(key.to_owned());
        let comment = std::mem::take(&mut self.comment).join(" ");
        if !comment.is_empty() {
            self.leaf = Some(depth);
            self.found.push((self.section.clone(), self.path.clone(), comment));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
# About the page.

### First

# One
# and more.
one: 1

outer:
  # Inner.
  inner:
    - a: b
  # Next.
  next: null
### Second

# Map.
map:
  key: value
";

    #[test]
    fn comments_become_one_line_and_defaults_may_be_maps() {
        let page = ValuesPage::read(PAGE).unwrap();
        let told: Vec<_> = page
            .entries
            .iter()
            .map(|entry| {
                format!(
                    "{}: {} = {} ({})",
                    entry.section,
                    entry.name(),
                    entry.default,
                    entry.comment
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                "First: one = 1 (One and more.)",
                r#"First: outer.inner = [{"a":"b"}] (Inner.)"#,
                "First: outer.next = null (Next.)",
                r#"Second: map = {"key":"value"} (Map.)"#,
            ]
        );
    }

    #[test]
    fn a_value_without_a_comment_is_an_error() {
        let error = ValuesPage::read("# One.\none: 1\n\ntwo:\n  # Three.\n  three: 3\n  four: 4\n").unwrap_err();
        assert_eq!(error.to_string(), "two.four has no comment");
    }
}
