//! Alerts and panels ask only for metrics that there are.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use anyhow::ensure;
use plimsoll_chart::{chart, top};
use plimsoll_telemetry::{AttemptResult, HandOverStage, Metrics};

use crate::helm;

/// The series of a process that has done everything once.
fn series() -> anyhow::Result<BTreeSet<String>> {
    let metrics = Metrics::new();
    let took = Duration::from_millis(1);
    metrics
        .attempts()
        .ended(AttemptResult::Error, "default-scheduler", took, None);
    metrics.attempts().node_sought(took, None);
    metrics.attempts().pod_scheduled(1, Some(took), true, None);
    metrics.queue().incoming("active", "PodAdd", 1);
    metrics.queue().unschedulable("NodeName", "default-scheduler", 1);
    metrics.queue().in_flight_events(&[("NodeAdd".to_owned(), 1)].into());
    metrics.queue().hints("NodeName", "NodeAdd", "Queue", 1, took);
    metrics.queue().event_handled("NodeAdd", took);
    metrics.audit().discrepancies("missing", 1);
    metrics.cache_size(1, 1, 1);
    metrics.election().leading(true);
    metrics.election().slow_paths(1);
    metrics.undecodable_object("pods");
    metrics.cycle_panicked();
    metrics.foreign_bind();
    metrics.bind_answered("unknown");
    metrics.event_dropped();
    metrics.hand_over().reached(HandOverStage::CaughtUp, took);
    metrics.watch_mailbox("SchedulingCycle", || 1);
    metrics.config().loaded("hash", 1.0);
    metrics.hand_over().vacant_for(took);
    metrics
        .framework()
        .point("default-scheduler", "Filter", "Success")
        .took(took, None);
    metrics.framework().plugin("NodeName", "Filter", "Success").took(took);
    metrics
        .framework()
        .evaluations("NodeName", "Filter", "default-scheduler")
        .add(1);
    metrics.preemption().chosen(1);
    metrics.preemption().ended("done");
    metrics.resignations().resigned("cycle");
    let text = metrics.text()?;
    let name = |line: &str| line.split(['{', ' ']).next().unwrap_or_default().to_owned();
    Ok(text.lines().filter(|line| !line.starts_with('#')).map(name).collect())
}

/// The metrics that a text asks for: ours all have one of these prefixes.
fn asked(text: &str) -> BTreeSet<String> {
    let word = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    let is_metric = |word: &&str| {
        ["scheduler_", "plimsoll_", "leader_election_"]
            .iter()
            .any(|prefix| word.starts_with(prefix))
    };
    text.split(word).filter(is_metric).map(str::to_owned).collect()
}

#[test]
fn the_dashboard_asks_only_for_metrics_that_there_are() -> anyhow::Result<()> {
    let asked = asked(&fs::read_to_string(chart().join("dashboards/plimsoll.json"))?);
    let missing: Vec<_> = asked.difference(&series()?).cloned().collect();
    ensure!(missing.is_empty(), "there is no {missing:?}");
    ensure!(asked.len() > 15, "the dashboard asks for {asked:?} only");
    Ok(())
}

#[test]
fn alerts_ask_only_for_metrics_that_there_are() -> anyhow::Result<()> {
    let Some(helm) = helm()? else { return Ok(()) };
    let values = top().join("charts/plimsoll/examples/monitoring.yaml");
    let rule = helm
        .render(&["--values".as_ref(), values.as_os_str()])?
        .object("PrometheusRule")?;
    let asked = asked(&rule["spec"].to_string());
    let missing: Vec<_> = asked.difference(&series()?).cloned().collect();
    ensure!(missing.is_empty(), "there is no {missing:?}");
    ensure!(asked.len() >= 9, "alerts ask for {asked:?} only");
    Ok(())
}
