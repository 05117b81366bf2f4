//! What `--help` prints, as a page: kept in `tests/help`, so that a change of it is seen.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use plimsoll::help::HELP_WIDTH;

/// Every page, by the words that lead to it.
const PAGES: [&[&str]; 9] = [
    &[],
    &["apiserver"],
    &["config"],
    &["config", "check"],
    &["config", "convert"],
    &["config", "default"],
    &["config", "diff"],
    &["demo"],
    &["explain", "pod"],
];

fn help(words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .args(words)
        .arg("--help")
        // Their values would be shown.
        .env_remove("KEEP")
        .env_remove("PLIMSOLL_TEST_PANIC_LABEL")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{words:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    // The gates are Kubernetes', two hundred and more; a test of the flags is about them.
    let kept = text.lines().filter(|line| !line.trim_start().starts_with("kube:"));
    kept.flat_map(|line| [line.trim_end(), "\n"]).collect()
}

fn name(words: &[&str]) -> String {
    let mut all = vec!["plimsoll"];
    all.extend(words);
    all.join("-")
}

#[test]
fn every_page_of_help_is_the_one_that_is_kept() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/help");
    for words in PAGES {
        let path = folder.join(name(words)).with_extension("txt");
        let text = help(words);
        if std::env::var_os("WRITE_HELP").is_some() {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&path, &text).unwrap();
        }
        let kept = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(text, kept, "run this test with WRITE_HELP=1 to keep the new {path:?}");
    }
    let kept = fs::read_dir(&folder).unwrap().count();
    assert_eq!(kept, PAGES.len(), "a page is kept that there is not");
}

#[test]
fn every_page_says_how_to_call_it_how_it_ends_and_gives_an_example_and_fits() {
    for words in PAGES {
        let text = help(words);
        // Those of a group stand on the group's page.
        let whole = words.len() < 2 || words[0] != "config";
        for part in ["Usage: plimsoll", "Options:", "Exit status:", "Examples:"] {
            let of_group = ["Exit status:", "Examples:"].contains(&part);
            assert!(text.contains(part) || (of_group && !whole), "{words:?} has no {part}");
        }
        for line in text.lines() {
            let width = line.chars().count();
            assert!(width <= HELP_WIDTH, "{words:?}: {width} columns: {line}");
        }
        assert!(!text.contains("[default: \"\"]"), "{words:?}");
    }
}

#[test]
fn subcommands_that_the_first_page_names_have_a_page() {
    let text = help(&[]);
    let (_, rest) = text.split_once("\nSubcommands:\n").unwrap();
    let named = rest.lines().take_while(|line| !line.is_empty());
    let named: BTreeSet<&str> = named.map(|line| line.split_whitespace().nth(1).unwrap()).collect();
    let pages: BTreeSet<&str> = PAGES.iter().filter_map(|words| words.first().copied()).collect();
    assert_eq!(named, pages);
}
