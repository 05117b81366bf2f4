//! Random cases against kube-scheduler's own plugins.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use plimsoll_oracle::{Availability, Case, HintCase, PreemptionCase, Question, SearchCase, campaign, find};

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

/// Compares so many cases; debug code does a tenth of them in the same time.
fn compare<Q: Question>(ask: &str, cases: u64) -> anyhow::Result<()> {
    let Some(program) = upstream()? else { return Ok(()) };
    // `make test` brings an optimised program, since building one from within a test would compile half of it anew.
    if let Some(optimised) = std::env::var_os("PLIMSOLL_ORACLE") {
        let arguments = ["--ask", ask, "--cases", &cases.to_string(), "--seed", &SEED.to_string()];
        let status = Command::new(&optimised).args(arguments).status();
        let status = status.with_context(|| format!("PLIMSOLL_ORACLE={}", optimised.display()))?;
        ensure!(status.success(), "there are differences, see above");
        return Ok(());
    }
    let numbers = campaign::Numbers {
        start: 0,
        cases: cases / 10,
        step: 1,
    };
    let report = campaign::run::<Q>(&program, SEED, numbers, 1, &mut std::io::stderr())?;
    say(&report.to_string());
    ensure!(report.mismatches.is_empty(), "there are differences, see above");
    Ok(())
}

#[test]
fn random_cases_come_out_as_upstreams_own_plugins_have_them() -> anyhow::Result<()> {
    compare::<Case>("verdicts", 20_000)
}

#[test]
fn random_changes_mean_to_waiting_pods_what_upstreams_own_plugins_take_them_for() -> anyhow::Result<()> {
    compare::<HintCase>("hints", 5000)
}

#[test]
fn random_searches_for_a_share_of_the_nodes_find_what_kube_scheduler_finds() -> anyhow::Result<()> {
    compare::<SearchCase>("searches", 300)
}

#[test]
fn random_crowded_clusters_lose_the_pods_that_kube_scheduler_evicts() -> anyhow::Result<()> {
    compare::<PreemptionCase>("preemptions", 5000)
}

#[test]
fn every_object_of_a_case_is_one_that_the_api_server_takes() -> anyhow::Result<()> {
    let Some(program) = upstream()? else { return Ok(()) };
    valid::<Case>(&program, 1000)?;
    valid::<HintCase>(&program, 2000)?;
    valid::<SearchCase>(&program, 20)?;
    valid::<PreemptionCase>(&program, 1000)
}

fn valid<Q: Question>(program: &Path, cases: u64) -> anyhow::Result<()> {
    let invalid = campaign::invalid::<Q>(program, SEED, 0..cases)?;
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
    fn check<Q: Question>() {
        let text = |seed, number| serde_json::to_string(&Q::generate(seed, number)).unwrap();
        assert_eq!(text(7, 3), text(7, 3));
        assert_ne!(text(7, 3), text(7, 4));
        assert_ne!(text(7, 3), text(8, 3));
    }
    check::<Case>();
    check::<HintCase>();
    check::<SearchCase>();
    check::<PreemptionCase>();
}
