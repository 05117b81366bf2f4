//! Every query of the dashboard and of the rules, asked of a real Prometheus that scrapes the scheduler at work.

use std::time::Duration;

use anyhow::{Context, ensure};
use plimsoll_cluster::fixtures::{node, pod};
use plimsoll_cluster::{Cluster, Scheduler, suite};
use plimsoll_controlplane::User;
use plimsoll_prometheus::{Programs, Prometheus, Target, queries, text, top};

const LIMIT: Duration = Duration::from_mins(1);

/// With a file, so that there is a configuration to tell of, and with an election.
const CONFIG: &str = "apiVersion: kubescheduler.config.k8s.io/v1\n\
    kind: KubeSchedulerConfiguration\n\
    leaderElection:\n  leaderElect: true\n  leaseDuration: 6s\n  renewDeadline: 4s\n  retryPeriod: 1s\n\
    clientConnection:\n  kubeconfig: KUBECONFIG\n  qps: 5000\n  burst: 5000\n";

/// What has no series before the first time, which never comes in a scheduler and a cluster that are well.
const ONLY_WHEN_SOMETHING_IS_WRONG: [&str; 7] = [
    "plimsoll_audit_discrepancies_total",
    "plimsoll_resignations_total",
    "plimsoll_undecodable_objects_total",
    "plimsoll_config_reloads_total",
    "plimsoll:bind_answers:rate5m",
    "plimsoll:schedule_attempts:rate5m",
    "plimsoll:rest_client_requests:rate5m",
];

/// Pods that are placed, one that fits nowhere, one for which others have to go, and changes that wake pods.
async fn work(cluster: &mut Cluster<'_>, round: usize) -> anyhow::Result<()> {
    let pods = (0..10).map(|number| pod(&format!("a{round}-{number}")).cpu("1m"));
    cluster.create_pods(pods).await?;
    cluster.create_pods([pod(&format!("huge{round}")).cpu("1000")]).await?;
    cluster.create_nodes([node(&format!("more{round}")).cpu("1")]).await?;
    cluster
        .create_pods([pod(&format!("low{round}")).cpu("900m").priority(1)])
        .await?;
    cluster.bound(&format!("low{round}")).await?;
    Ok(())
}

#[test]
fn every_query_of_dashboard_and_rules_returns_what_the_scheduler_tells() -> anyhow::Result<()> {
    if Scheduler::under_test() != Scheduler::Plimsoll {
        return Ok(());
    }
    let Some(programs) = Programs::find()? else {
        return Ok(());
    };
    suite::run(async |cluster| {
        cluster.create_priorities([1, 1000]).await?;
        cluster.create_nodes([node("n1").cpu("1")]).await?;
        cluster.start_kubelets();
        cluster.start_configured(CONFIG)?;
        let port = cluster.replicas().first().context("a replica")?.port;
        let folder = cluster.control_plane().dir().path().to_owned();
        let target = Target {
            port,
            token: User::admin().token(),
        };
        let prometheus = Prometheus::start(&programs, &target, &folder).await?;
        for round in 0..3 {
            work(cluster, round).await?;
        }
        cluster.create_pods([pod("low3").cpu("900m").priority(1)]).await?;
        cluster.bound("low3").await?;
        cluster.create_pods([pod("urgent").cpu("900m").priority(1000)]).await?;
        cluster.bound("urgent").await?;

        let mut asked: Vec<(String, String)> = queries()?;
        for rule in prometheus.rules().await? {
            if rule.alerts {
                for selector in prometheus.asked_for(&rule.query).await? {
                    if !may_be_empty(&selector) {
                        asked.push((rule.name.clone(), selector));
                    }
                }
            } else {
                asked.push((rule.name.clone(), rule.name.clone()));
            }
        }
        ensure!(asked.len() > 70, "only {} queries", asked.len());
        until_all_return(&prometheus, asked).await?;
        let unwell = prometheus.rules().await?;
        let unwell: Vec<_> = unwell.iter().filter(|rule| rule.health != "ok").collect();
        ensure!(unwell.is_empty(), "rules that cannot be evaluated: {unwell:?}");
        for number in 0..3 {
            cluster.delete_pod(&format!("huge{number}")).await?;
        }
        Ok(())
    })
}

fn may_be_empty(selector: &str) -> bool {
    ONLY_WHEN_SOMETHING_IS_WRONG
        .iter()
        .any(|name| selector.contains(&format!("\"{name}\"")))
}

/// Asks until each has returned something.
async fn until_all_return(prometheus: &Prometheus, mut asked: Vec<(String, String)>) -> anyhow::Result<()> {
    let deadline = tokio::time::Instant::now() + LIMIT;
    loop {
        let mut silent = Vec::new();
        for (what, query) in asked {
            if prometheus.returned(&query).await.with_context(|| what.clone())? == 0 {
                silent.push((what, query));
            }
        }
        if silent.is_empty() {
            return Ok(());
        }
        ensure!(
            tokio::time::Instant::now() < deadline,
            "nothing is returned for {silent:#?}\n{}",
            prometheus.log()
        );
        asked = silent;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

#[test]
fn what_is_only_told_when_something_is_wrong_is_told_by_those_names() -> anyhow::Result<()> {
    let sources = std::fs::read_dir(top().join("crates/plimsoll-telemetry/src"))?;
    let mut told = text(&top().join("deploy/observability/rules.yaml"))?;
    for source in sources {
        let path = source?.path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            told.push_str(&text(&path)?);
        }
    }
    for name in ONLY_WHEN_SOMETHING_IS_WRONG {
        let own = name
            .strip_prefix("plimsoll_")
            .and_then(|name| name.strip_suffix("_total"));
        let found =
            told.contains(&format!("\"{name}\"")) || own.is_some_and(|own| told.contains(&format!("\"{own}\"")));
        ensure!(
            found || told.contains(&format!("record: {name}\n")),
            "nothing tells {name}"
        );
    }
    Ok(())
}
