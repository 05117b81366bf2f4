//! Every command is run or listed, can be pasted, and calls what there is.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command as Process;

use anyhow::{Context, ensure};
use plimsoll_documents::{Command, Page, commands, pages, top};

use crate::not_run::{self, NOT_RUN};
use crate::played::PLAYED;

/// What a block may be. Commands stand in `sh`, and nowhere else.
const LANGUAGES: [&str; 5] = ["sh", "text", "yaml", "json", "rust"];

/// All commands of all pages.
fn all() -> anyhow::Result<Vec<(Page, Command)>> {
    let mut all = Vec::new();
    for page in pages()? {
        for block in page.blocks.iter().filter(|block| block.language == "sh") {
            let found = commands(block).with_context(|| page.path.display().to_string())?;
            all.extend(found.into_iter().map(|command| (page.clone(), command)));
        }
    }
    Ok(all)
}

fn place(page: &Page, command: &Command) -> String {
    format!("{}:{}: {}", page.path.display(), command.line, command.text)
}

#[test]
fn every_block_says_what_it_is_so_that_no_command_hides_in_one() -> anyhow::Result<()> {
    for page in pages()? {
        for block in &page.blocks {
            let place = format!("{}:{}", page.path.display(), block.line);
            ensure!(
                LANGUAGES.contains(&block.language.as_str()),
                "{place} is {:?}, and may be one of {LANGUAGES:?}",
                block.language
            );
            // What a program prints may begin with the call, for orientation; it has to stand in a block of commands too.
            let hidden = block
                .lines
                .iter()
                .find(|line| block.language != "sh" && line.trim_start().starts_with("# $ "));
            ensure!(hidden.is_none(), "{place} hides a command");
        }
    }
    Ok(())
}

#[test]
fn every_command_is_run_or_listed_with_the_reason_why_not() -> anyhow::Result<()> {
    let all = all()?;
    ensure!(all.len() >= 60, "only {} commands were found", all.len());
    for (page, command) in &all {
        let played = PLAYED.iter().any(|path| page.path == Path::new(path));
        ensure!(
            played || not_run::reason(page, command).is_some(),
            "neither run nor listed: {}",
            place(page, command)
        );
    }
    Ok(())
}

#[test]
fn nothing_is_listed_that_is_on_no_page() -> anyhow::Result<()> {
    let all = all()?;
    for listed in NOT_RUN {
        ensure!(!listed.because.is_empty(), "no reason for {:?}", listed.begins);
        let found = all
            .iter()
            .any(|(page, command)| page.path == Path::new(listed.page) && command.text.starts_with(listed.begins));
        ensure!(found, "{} has no {:?}", listed.page, listed.begins);
    }
    Ok(())
}

#[test]
fn every_command_is_whole_as_it_is_pasted() -> anyhow::Result<()> {
    for (page, command) in all()? {
        let output = Process::new("bash").args(["-n", "-c", &command.text]).output()?;
        ensure!(
            output.status.success(),
            "{}\n{}",
            place(&page, &command),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(())
}

#[test]
fn files_and_folders_of_the_tree_that_commands_name_are_there() -> anyhow::Result<()> {
    let mut found = BTreeSet::new();
    for (page, command) in all()? {
        let words = command.words().map(|word| word.trim_matches(['"', '\'', ';', '<']));
        let of_tree = ["charts/", "crates/", "deploy/", "docs/", "examples/", "tests/"];
        for word in words.filter(|word| of_tree.iter().any(|folder| word.starts_with(folder))) {
            ensure!(
                top().join(word).exists(),
                "{word} is not there: {}",
                place(&page, &command)
            );
            found.insert(word.to_owned());
        }
    }
    ensure!(found.len() >= 5, "only {found:?} were found");
    Ok(())
}
