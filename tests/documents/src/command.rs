//! The commands of a block of shell.

use anyhow::{Context, ensure};

use crate::markdown::Block;

/// A command as a shell takes it: all lines of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The number of its first line on the page.
    pub line: usize,
    /// Its text.
    pub text: String,
}

impl Command {
    /// Its words, as far as spaces part them.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.text.split_whitespace().filter(|word| *word != "\\")
    }
}

/// Takes a block apart: comments are left out, lines that end with `\` go on, and a here-document belongs to its command.
///
/// # Errors
/// When a here-document has no end.
pub fn commands(block: &Block) -> anyhow::Result<Vec<Command>> {
    let mut commands = Vec::new();
    let mut lines = (block.line..).zip(&block.lines);
    while let Some((number, line)) = lines.next() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let mut text = line.clone();
        while text.ends_with('\\') {
            let (_, next) = lines.next().with_context(|| format!("line {number} goes on nowhere"))?;
            text.push('\n');
            text.push_str(next);
        }
        if let Some(end) = here_document(&text) {
            loop {
                let (_, next) = lines.next().with_context(|| format!("line {number}: no {end}"))?;
                text.push('\n');
                text.push_str(next);
                if *next == end {
                    break;
                }
            }
        }
        ensure!(
            !line.starts_with("$ "),
            "line {number} begins with a prompt, which nobody can paste"
        );
        commands.push(Command { line: number, text });
    }
    Ok(commands)
}

/// The word that ends the here-document which a command begins.
fn here_document(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("<<")?;
    let word = rest.trim_start_matches('-').split_whitespace().next()?;
    Some(word.trim_matches(['\'', '"']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lines: &[&str]) -> anyhow::Result<Vec<(usize, String)>> {
        let block = Block {
            language: "sh".to_owned(),
            line: 10,
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
        };
        let commands = commands(&block)?;
        Ok(commands
            .into_iter()
            .map(|command| (command.line, command.text))
            .collect())
    }

    #[test]
    fn each_line_is_a_command_but_for_comments_and_empty_ones() {
        let found = of(&["# First.", "a", "", "b --c"]).unwrap();
        assert_eq!(found, [(11, "a".to_owned()), (13, "b --c".to_owned())]);
    }

    #[test]
    fn a_command_goes_on_behind_a_backslash_and_until_the_end_of_its_here_document() {
        let found = of(&["a \\", "  --b", "cat <<'EOF' | d", "# not a comment", "EOF", "e"]).unwrap();
        let texts: Vec<_> = found.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["a \\\n  --b", "cat <<'EOF' | d\n# not a comment\nEOF", "e"]);
    }

    #[test]
    fn what_has_no_end_or_a_prompt_is_an_error() {
        of(&["a \\"]).unwrap_err();
        of(&["cat <<EOF", "x"]).unwrap_err();
        of(&["$ a"]).unwrap_err();
    }
}
