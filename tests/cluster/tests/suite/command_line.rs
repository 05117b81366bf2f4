//! The list of kube-scheduler's flags against which ours are held is that of the real program.

use std::process::Command;

use anyhow::ensure;
use plimsoll_cluster::{Scheduler, suite};

/// What the tests of our flags compare with: names and defaults.
const LIST: &str = include_str!("../../../../crates/plimsoll/src/flags/kube-scheduler.txt");

/// Flags that are not told with a value of a kind that has defaults: it lists all gates.
const GATES: &str = "feature-gates";

/// Names and defaults as `--help` shows them: `--name kind  text (default value)`, with the text on several lines at times.
fn flags(help: &str) -> Vec<String> {
    let mut told: Vec<(String, String)> = Vec::new();
    for line in help.lines() {
        let begun = line.trim_start();
        let indent = line.len() - begun.len();
        let begun = begun
            .strip_prefix("-h, ")
            .or_else(|| begun.strip_prefix("-v, "))
            .unwrap_or(begun);
        match begun.strip_prefix("--") {
            Some(flag) if (2..=6).contains(&indent) => {
                let name = flag.split(' ').next().unwrap_or_default();
                told.push((name.to_owned(), line.to_owned()));
            }
            _ if indent >= 8 => {
                if let Some((_, text)) = told.last_mut() {
                    text.push_str(begun);
                }
            }
            _ => {}
        }
    }
    let mut flags: Vec<_> = told.iter().map(|(name, text)| with_default(name, text)).collect();
    flags.sort_unstable();
    flags
}

fn with_default(name: &str, text: &str) -> String {
    let default = text
        .rsplit_once("(default ")
        .and_then(|(_, rest)| rest.strip_suffix(')'));
    match default.filter(|_| name != GATES && text.ends_with(')')) {
        Some(default) if !default.contains(')') => format!("{name} {default}"),
        _ => name.to_owned(),
    }
}

#[test]
fn our_list_of_kube_schedulers_flags_is_what_its_help_says() -> anyhow::Result<()> {
    if Scheduler::under_test() != Scheduler::Plimsoll {
        return Ok(());
    }
    suite::run(async |cluster| {
        let program = Scheduler::KubeScheduler.program(cluster.control_plane())?;
        let output = Command::new(program).arg("--help").output()?;
        let told = flags(&String::from_utf8(output.stdout)?);
        let listed: Vec<_> = LIST.lines().map(str::to_owned).collect();
        ensure!(told == listed, "kube-scheduler's help says\n{}", told.join("\n"));
        Ok(())
    })
}
