//! The shipped files fit together, and Prometheus' own tools have no objection to them.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::ensure;
use plimsoll_prometheus::{Programs, queries, shipped, text, top};

/// Names of alerts, read from the lines that begin them.
fn alerts() -> anyhow::Result<BTreeSet<String>> {
    let rules = text(&shipped("rules.yaml"))?;
    let lines = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: "));
    Ok(lines.map(str::to_owned).collect())
}

#[test]
fn every_alert_says_what_to_do_on_the_page_about_watching() -> anyhow::Result<()> {
    let page = text(&top().join("docs/observability.md"))?;
    let told: BTreeSet<_> = page.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    let alerts = alerts()?;
    let missing: Vec<_> = alerts.iter().filter(|alert| !told.contains(alert.as_str())).collect();
    ensure!(missing.is_empty(), "no runbook for {missing:?}");
    let surplus: Vec<_> = told
        .iter()
        .filter(|told| told.starts_with("Plimsoll") && !alerts.contains(**told))
        .collect();
    ensure!(surplus.is_empty(), "a runbook for {surplus:?}, which no rule raises");
    Ok(())
}

#[test]
fn every_alert_is_tried_by_promtool() -> anyhow::Result<()> {
    let tried = text(&Path::new(env!("CARGO_MANIFEST_DIR")).join("alerts.yaml"))?;
    let missing: Vec<_> = alerts()?
        .into_iter()
        .filter(|alert| !tried.contains(&format!("alertname: {alert}\n")))
        .collect();
    ensure!(missing.is_empty(), "nothing tries {missing:?}");
    Ok(())
}

#[test]
fn the_chart_ships_the_same_dashboard() -> anyhow::Result<()> {
    let ours = text(&shipped("dashboard.json"))?;
    let charts = text(&top().join("charts/plimsoll/dashboards/plimsoll.json"))?;
    ensure!(
        ours == charts,
        "copy deploy/observability/dashboard.json over the chart's"
    );
    ensure!(queries()?.len() > 40, "the dashboard asks too little");
    Ok(())
}

#[test]
fn the_chart_ships_the_same_rules() -> anyhow::Result<()> {
    let ours = text(&shipped("rules.yaml"))?;
    let charts = text(&top().join("charts/plimsoll/rules/plimsoll.yaml"))?;
    ensure!(ours == charts, "copy deploy/observability/rules.yaml over the chart's");
    Ok(())
}

#[test]
fn promtool_accepts_the_rules_and_each_alert_is_raised_when_it_should_be() -> anyhow::Result<()> {
    let Some(programs) = Programs::find()? else {
        return Ok(());
    };
    programs.promtool(
        &["check", "rules", "--lint=all", "--lint-fatal"],
        &shipped("rules.yaml"),
    )?;
    let tried = Path::new(env!("CARGO_MANIFEST_DIR")).join("alerts.yaml");
    programs.promtool(&["test", "rules"], &tried)?;
    Ok(())
}
