//! Small workloads from end to end: every mode, every contestant, and the judge finds nothing.

use std::time::Duration;

use plimsoll_bench::contestant::Contestant;
use plimsoll_bench::run::{Mode, Outcome, Setting, run};
use plimsoll_bench::workload::{Workload, own_folder, read_folder};

fn workload(id: &str) -> anyhow::Result<Workload> {
    let found = read_folder(&own_folder())?
        .into_iter()
        .find(|workload| workload.id() == id);
    found.ok_or_else(|| anyhow::anyhow!("no workload {id}"))
}

/// `None` where there is no control plane.
fn outcome(id: &str, mode: Mode, contestant: Contestant) -> anyhow::Result<Option<Outcome>> {
    let setting = Setting {
        mode,
        contestant,
        rate: 20.0,
        all_nodes: false,
        limit: Duration::from_mins(2),
        binder: Some(env!("CARGO_BIN_EXE_bench")),
        env: Vec::new(),
    };
    let workload = workload(id)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(Box::pin(run(&workload, setting)))?;
    if outcome.is_none() {
        plimsoll_go_programs::skip("the benchmark", "no control plane".to_owned())?;
    }
    Ok(outcome)
}

fn assert_measured(outcome: &Outcome, pods: usize) {
    assert_eq!(outcome.measured.len(), 1, "{:?}", outcome.measured);
    let measured = &outcome.measured[0];
    assert_eq!(measured.throughput.pods, pods);
    assert!(measured.throughput.overall.is_some_and(|rate| rate > 0.0));
    assert!(measured.peak_memory > 0);
    if let Some(judged) = &outcome.judged {
        assert_eq!(judged.violations, 0, "{:?}", judged.told);
    }
}

#[test]
fn a_backlog_on_the_embedded_api_server_is_drained_by_both_and_by_the_dumb_binder() -> anyhow::Result<()> {
    for contestant in [Contestant::Plimsoll, Contestant::KubeScheduler, Contestant::DumbBinder] {
        let Some(outcome) = outcome("plain/Plain/5Nodes", Mode::Null, contestant)? else {
            return Ok(());
        };
        assert_measured(&outcome, 10);
        assert_eq!(outcome.judged.is_some(), contestant.thinks());
        // Whoever binds asks for it, and counts.
        assert_eq!(
            outcome.measured[0]
                .asked_per_pod
                .get("POST")
                .is_some_and(|asked| *asked >= 1.0),
            contestant.thinks()
        );
    }
    Ok(())
}

#[test]
fn pods_that_come_at_a_rate_to_the_real_api_server_have_waits_of_their_own() -> anyhow::Result<()> {
    let Some(outcome) = outcome("plain/Plain/5Nodes", Mode::Rate, Contestant::Plimsoll)? else {
        return Ok(());
    };
    assert_measured(&outcome, 10);
    let measured = &outcome.measured[0];
    assert!(
        measured
            .latency
            .is_some_and(|latency| latency.open_loop && latency.p50 > 0.0)
    );
    // Ten pods at twenty a second: the last is due 450 ms after the first.
    assert!(measured.throughput.lasted > 0.3, "{:?}", measured.throughput);
    assert!(
        measured
            .served_per_pod
            .get("POST pods/binding")
            .is_some_and(|each| (*each - 1.0).abs() < 1e-9)
    );
    Ok(())
}

#[test]
fn what_is_measured_in_stages_is_measured_while_the_scheduler_runs() -> anyhow::Result<()> {
    for (id, pods) in [
        ("events/NodesCome/2Nodes", 20),
        ("events/GatesGo/1Node", 10),
        ("events/PodsGo/5Nodes", 20),
    ] {
        let Some(outcome) = outcome(id, Mode::Null, Contestant::Plimsoll)? else {
            return Ok(());
        };
        assert_measured(&outcome, pods);
    }
    Ok(())
}

#[test]
fn the_cluster_is_nearly_full_when_the_first_pod_is_refused() -> anyhow::Result<()> {
    let Some(outcome) = outcome("quality/MixedSizes/10Nodes", Mode::Null, Contestant::Plimsoll)? else {
        return Ok(());
    };
    let quality = &outcome.judged.as_ref().expect("judged").quality;
    let cpu = quality.utilisation_at_first_refusal["cpu"];
    assert!(cpu > 0.5 && cpu <= 1.0, "{quality:?}");
    assert!(
        quality.placed_at_first_refusal.is_some_and(|placed| placed > 20),
        "{quality:?}"
    );
    Ok(())
}
