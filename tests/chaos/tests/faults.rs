//! Thirty faults, as CI plays them.

use plimsoll_chaos::{LeaseTimes, Options, Plan, run};
use plimsoll_controlplane::WorkDir;

const SEED: u64 = 7;
const FAULTS: usize = 30;

/// So many rounds have that many faults.
fn rounds() -> u64 {
    let mut faults = 0;
    let enough = |round: &u64| {
        faults += Plan::draw(SEED, *round, LeaseTimes::Quick).faults.len();
        faults >= FAULTS
    };
    (0..FAULTS as u64).find(enough).map_or(0, |last| last + 1)
}

#[test]
fn thirty_real_faults_break_no_promise() -> anyhow::Result<()> {
    let dir = WorkDir::new("faults")?;
    let options = Options {
        dir: dir.path().to_owned(),
        rounds: rounds(),
        seed: SEED,
        lease: None,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let Some(campaign) = runtime.block_on(Box::pin(run(&options)))? else {
        return Ok(());
    };
    assert!(campaign.faults() >= FAULTS, "only {} faults", campaign.faults());
    let broken: Vec<_> = campaign.rounds.iter().flat_map(|round| &round.violations).collect();
    assert!(broken.is_empty(), "{broken:#?}");
    Ok(())
}
