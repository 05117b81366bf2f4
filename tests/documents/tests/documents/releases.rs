//! What pages say of versions.

use std::fs;

use anyhow::{Context, ensure};
use plimsoll_documents::top;

fn read(path: &str) -> anyhow::Result<String> {
    fs::read_to_string(top().join(path)).with_context(|| path.to_owned())
}

/// What stands behind the first of these beginnings of a line.
fn value<'a>(text: &'a str, begins: &str) -> anyhow::Result<&'a str> {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(begins));
    Ok(line.with_context(|| format!("no {begins:?}"))?.trim_matches(['"', ' ']))
}

#[test]
fn the_program_the_chart_and_the_changes_are_of_one_version() -> anyhow::Result<()> {
    let (workspace, chart) = (read("Cargo.toml")?, read("charts/plimsoll/Chart.yaml")?);
    let version = value(&workspace, "version = ")?;
    assert_eq!(value(&chart, "version: ")?, version);
    assert_eq!(value(&chart, "appVersion: ")?.trim_matches('"'), version);
    ensure!(
        read("CHANGELOG.md")?.contains(&format!("({version})"))
            || read("CHANGELOG.md")?.contains(&format!("## {version}")),
        "CHANGELOG.md says nothing of {version}"
    );
    Ok(())
}

#[test]
fn the_kubernetes_that_is_said_to_be_tested_is_the_one_that_is() -> anyhow::Result<()> {
    let modules = read("tests/cluster/controlplane/go.mod")?;
    let version = value(&modules, "k8s.io/kubernetes v")?;
    let version = version.split_whitespace().next().context("no version")?;
    let page = read("docs/releases.md")?;
    ensure!(
        page.contains(&format!("kube-apiserver {version}")),
        "docs/releases.md does not say that {version} is tested"
    );
    Ok(())
}

#[test]
fn the_helm_versions_that_are_said_to_be_tried_are_those_that_are() -> anyhow::Result<()> {
    let minor = |path: &str, module: &str| -> anyhow::Result<String> {
        let modules = read(path)?;
        let version: Vec<&str> = value(&modules, module)?.split(['.', ' ']).take(2).collect();
        Ok(version.join("."))
    };
    let three = minor("tests/chart/helm/go.mod", "helm.sh/helm/v3 v")?;
    let four = minor("tests/chart/helm4/go.mod", "helm.sh/helm/v4 v")?;
    let releases = format!("| {three}; {four} by `make chart-helm4` |");
    ensure!(
        read("docs/releases.md")?.contains(&releases),
        "docs/releases.md: no {releases}"
    );
    let chart = read("charts/plimsoll/README.md")?;
    for helm in [three, four] {
        ensure!(
            chart.contains(&format!("Helm {helm}")),
            "charts/plimsoll/README.md: no {helm}"
        );
    }
    Ok(())
}

#[test]
fn kubectl_of_the_tests_is_of_the_cluster_s_version() -> anyhow::Result<()> {
    let of = |path: &str| -> anyhow::Result<String> {
        let modules = read(path)?;
        Ok(value(&modules, "k8s.io/kubernetes v")?
            .split_whitespace()
            .next()
            .unwrap_or_default()
            .to_owned())
    };
    assert_eq!(
        of("tests/documents/kubectl/go.mod")?,
        of("tests/cluster/controlplane/go.mod")?
    );
    Ok(())
}
