//! Thirty faults, as CI plays them.

use plimsoll_chaos::{Options, run};
use plimsoll_controlplane::WorkDir;

#[test]
fn thirty_real_faults_break_no_promise() -> anyhow::Result<()> {
    let dir = WorkDir::new("faults")?;
    let options = Options {
        dir: dir.path().to_owned(),
        rounds: 26,
        seed: 7,
        lease: None,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let Some(campaign) = runtime.block_on(Box::pin(run(&options)))? else {
        return Ok(());
    };
    assert!(campaign.faults() >= 30, "only {} faults", campaign.faults());
    let broken: Vec<_> = campaign.rounds.iter().flat_map(|round| &round.violations).collect();
    assert!(broken.is_empty(), "{broken:#?}");
    Ok(())
}
