//! Random cases against kube-scheduler's own plugins, and every case that ever showed a difference.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use plimsoll_oracle::{Availability, Case, campaign, case, differences, find};

/// As many as `make test` promises; debug code does a tenth of them in the same time.
const CASES: u64 = 20_000;
const CASES_IN_DEBUG: u64 = 2000;
const SEED: u64 = 1;

fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// The program that asks upstream; where none can be built the test is skipped, loudly.
fn upstream() -> anyhow::Result<Option<PathBuf>> {
    match find()? {
        Availability::Ready(program) => Ok(Some(program)),
        Availability::Skip(reason) => {
            let line = "*".repeat(100);
            say(&format!(
                "\n{line}\n*  THE COMPARISON WITH KUBE-SCHEDULER IS SKIPPED: {reason}\n{line}\n"
            ));
            Ok(None)
        }
    }
}

#[test]
fn random_cases_come_out_as_upstreams_own_plugins_have_them() -> anyhow::Result<()> {
    let Some(program) = upstream()? else { return Ok(()) };
    // `make test` brings an optimised program, since building one from within a test would compile half of it anew.
    if let Some(optimised) = std::env::var_os("PLIMSOLL_ORACLE") {
        let arguments = ["--cases", &CASES.to_string(), "--seed", &SEED.to_string()];
        let status = Command::new(&optimised).args(arguments).status();
        let status = status.with_context(|| format!("PLIMSOLL_ORACLE={}", optimised.display()))?;
        ensure!(status.success(), "there are differences, see above");
        return Ok(());
    }
    let report = campaign::run(&program, SEED, 0..CASES_IN_DEBUG, 1, &mut std::io::stderr())?;
    say(&report.to_string());
    ensure!(report.mismatches.is_empty(), "there are differences, see above");
    Ok(())
}

#[test]
fn cases_that_once_differed_do_so_no_more() -> anyhow::Result<()> {
    let Some(program) = upstream()? else { return Ok(()) };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.display();
        let case: Case = serde_json::from_slice(&std::fs::read(&path)?).with_context(|| name.to_string())?;
        let (ours, upstream) = campaign::answers(&program, &case)?;
        let found = differences(&ours, &upstream);
        ensure!(found.is_empty(), "{name}: {found:#?}");
    }
    Ok(())
}

#[test]
fn every_object_of_a_case_is_one_that_the_api_server_takes() -> anyhow::Result<()> {
    let Some(program) = upstream()? else { return Ok(()) };
    let invalid = campaign::invalid(&program, SEED, 0..1000)?;
    ensure!(
        invalid.is_empty(),
        "{} invalid cases, such as {:#?}",
        invalid.len(),
        invalid.first()
    );
    Ok(())
}

#[test]
fn a_seed_and_a_number_always_make_the_same_case() {
    assert_eq!(case(7, 3), case(7, 3));
    assert_ne!(case(7, 3), case(7, 4));
    assert_ne!(case(7, 3), case(8, 3));
}
