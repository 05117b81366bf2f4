//! What pages speak of between backticks, and in commands that are not run: targets of `make`, their variables, packages and
//! flags.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command as Process;

use anyhow::{Context, ensure};
use plimsoll_cluster::Scheduler;
use plimsoll_controlplane::Availability;
use plimsoll_documents::{Page, commands, pages, top};

/// Everything that looks like a command, with its place: spans and commands.
fn said() -> anyhow::Result<Vec<(String, String)>> {
    let mut said = Vec::new();
    for page in pages()? {
        let place = |line: usize| format!("{}:{line}", page.path.display());
        said.extend(page.spans().map(|(line, span)| (place(line), span.to_owned())));
        for block in page.blocks.iter().filter(|block| block.language == "sh") {
            for command in commands(block)? {
                let text = command.words().collect::<Vec<_>>().join(" ");
                said.push((place(command.line), text));
            }
        }
    }
    Ok(said)
}

/// Targets that `make help` lists.
fn targets(makefile: &str) -> BTreeSet<&str> {
    let described = makefile
        .lines()
        .filter(|line| line.contains(':') && line.contains("## "));
    described
        .filter_map(|line| line.split_once(':'))
        .map(|(target, _)| target)
        .collect()
}

/// A text without what stands in it between double quotes.
fn without_quoted(text: &str) -> String {
    text.split('"').step_by(2).collect()
}

#[test]
fn targets_of_make_and_their_variables_are_there() -> anyhow::Result<()> {
    let makefile = fs::read_to_string(top().join("Makefile"))?;
    let targets = targets(&makefile);
    let mut checked = 0;
    for (place, text) in said()? {
        let Some(rest) = text.strip_prefix("make ") else {
            continue;
        };
        let bare = without_quoted(rest);
        for word in bare.split_whitespace().take_while(|word| *word != "#") {
            if let Some((variable, _)) = word.split_once('=') {
                let set = format!("{variable} ?=");
                ensure!(
                    makefile.contains(&set),
                    "{place}: the Makefile does not read {variable}"
                );
            } else {
                ensure!(targets.contains(word), "{place}: there is no target {word}");
                checked += 1;
            }
        }
    }
    ensure!(checked >= 40, "only {checked} targets were found");
    Ok(())
}

#[test]
fn what_cargo_is_told_to_run_is_there() -> anyhow::Result<()> {
    let output = Process::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(top())
        .output()?;
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().context("no packages")?;
    let mut checked = 0;
    for (place, text) in said()? {
        let Some(rest) = text.strip_prefix("cargo ") else {
            continue;
        };
        let words: Vec<&str> = rest.split_whitespace().take_while(|word| *word != "--").collect();
        let value = |names: &[&str]| {
            let at = words.iter().position(|word| names.contains(word))?;
            words.get(at + 1).copied()
        };
        let Some(name) = value(&["-p", "--package"]) else {
            continue;
        };
        let package = packages.iter().find(|package| package["name"] == name);
        let package = package.with_context(|| format!("{place}: no package {name}"))?;
        for kind in ["bin", "example", "test", "bench"] {
            let Some(target) = value(&[&format!("--{kind}")]) else {
                continue;
            };
            let found = package["targets"].as_array().into_iter().flatten().any(|found| {
                found["name"] == target
                    && found["kind"]
                        .as_array()
                        .is_some_and(|kinds| kinds.contains(&kind.into()))
            });
            ensure!(found, "{place}: {name} has no {kind} {target}");
            checked += 1;
        }
    }
    ensure!(checked >= 3, "only {checked} were found");
    Ok(())
}

/// The flags that a subcommand's help lists.
fn flags(program: &Path, subcommand: &[&str]) -> anyhow::Result<BTreeSet<String>> {
    let output = Process::new(program).args(subcommand).arg("--help").output()?;
    ensure!(output.status.success(), "plimsoll {subcommand:?} --help failed");
    let help = String::from_utf8(output.stdout)?;
    let words = help.split(|c: char| c.is_whitespace() || matches!(c, ',' | '[' | '=' | '<'));
    Ok(words
        .filter(|word| word.starts_with('-'))
        .map(|word| word.trim_end_matches(['.', ';', ':']).to_owned())
        .collect())
}

/// The subcommand that a text calls, if it calls Plimsoll, and the rest of its words.
fn called(text: &str) -> Option<(Vec<&str>, Vec<&str>)> {
    let mut words = text.split_whitespace().peekable();
    if words.next_if(|word| *word == "kubectl").is_some() && words.peek() != Some(&"plimsoll") {
        return None;
    }
    if words.next()? != "plimsoll" {
        return None;
    }
    let mut subcommand = Vec::new();
    while let Some(word) = words.next_if(|word| {
        [
            "explain",
            "pod",
            "config",
            "check",
            "convert",
            "diff",
            "default",
            "demo",
            "apiserver",
        ]
        .contains(word)
    }) {
        subcommand.push(word);
    }
    Some((subcommand, words.collect()))
}

#[test]
fn flags_of_plimsoll_are_those_that_its_help_lists() -> anyhow::Result<()> {
    let Availability::Ready(programs) = Availability::find()? else {
        return Ok(());
    };
    let program = Scheduler::Plimsoll.among(&programs)?;
    let mut checked = 0;
    for (place, text) in said()? {
        let Some((subcommand, rest)) = called(&text) else {
            continue;
        };
        let used: Vec<&str> = rest
            .into_iter()
            .take_while(|word| !matches!(*word, "|" | ">" | "&&" | "||" | "2>" | "&"))
            .filter(|word| word.starts_with("--"))
            .map(|word| word.split('=').next().unwrap_or(word))
            .collect();
        if used.is_empty() {
            continue;
        }
        let known = flags(&program, &subcommand)?;
        for flag in used {
            ensure!(known.contains(flag), "{place}: {subcommand:?} has no {flag}: {text}");
            checked += 1;
        }
    }
    ensure!(checked >= 10, "only {checked} flags were found");
    Ok(())
}

#[test]
fn every_target_of_make_is_described_in_one_line() -> anyhow::Result<()> {
    let makefile = fs::read_to_string(top().join("Makefile"))?;
    let described = targets(&makefile);
    let phony = makefile.lines().filter_map(|line| line.strip_prefix(".PHONY: "));
    for target in phony.filter(|target| !target.ends_with("-binary")) {
        ensure!(described.contains(target), "`make help` does not list {target}");
    }
    Ok(())
}

/// A page is a page.
#[test]
fn every_page_begins_with_its_title_and_is_listed_where_readers_begin() -> anyhow::Result<()> {
    let index = Page::read(Path::new("docs/README.md"))?;
    for page in pages()? {
        let first = page.prose.first().map(|(_, line)| line.as_str()).unwrap_or_default();
        ensure!(first.starts_with("# "), "{} begins with {first:?}", page.path.display());
        if page.path.parent() == Some(Path::new("docs")) && page.path != index.path {
            let name = page.path.file_name().context("no name")?.to_string_lossy().into_owned();
            ensure!(
                index.links().any(|(_, target)| target == name),
                "docs/README.md does not list {name}"
            );
        }
    }
    Ok(())
}
