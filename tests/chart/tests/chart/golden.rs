//! What each example and each switch renders, held against files in `golden`, and read by those who will read it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use plimsoll::config_source::ConfigSource;
use plimsoll::flags::{self, Request};
use plimsoll_chart::{Helm, Rendered, chart, top, writes};
use plimsoll_config::{FeatureGates, load};

use crate::helm;

/// Files of values: examples for users, and one for each switch.
fn cases() -> anyhow::Result<Vec<(String, PathBuf)>> {
    let mut cases = Vec::new();
    for folder in ["charts/plimsoll/examples", "tests/chart/cases"] {
        for entry in fs::read_dir(top().join(folder))? {
            let path = entry?.path();
            let name = path.file_stem().context("no name")?.to_string_lossy().into_owned();
            cases.push((name, path));
        }
    }
    cases.sort();
    Ok(cases)
}

fn render(helm: &Helm, values: &Path) -> anyhow::Result<Rendered> {
    helm.render(&["--values".as_ref(), values.as_os_str()])
        .with_context(|| values.display().to_string())
}

/// The dashboard is a file already.
fn without_dashboard(text: &str) -> anyhow::Result<String> {
    let file = fs::read_to_string(chart().join("dashboards/plimsoll.json"))?;
    let mut indented = String::new();
    for line in file.trim_end().lines() {
        let _ = writeln!(indented, "    {line}");
    }
    Ok(text.replace(&indented, "    (dashboards/plimsoll.json)\n"))
}

fn compare(name: &str, text: &str) -> anyhow::Result<()> {
    let file = top().join("tests/chart/golden").join(name).with_extension("yaml");
    let text = without_dashboard(text)?;
    if writes() {
        fs::write(&file, &text)?;
    }
    let golden = fs::read_to_string(&file).unwrap_or_default();
    ensure!(
        golden == text,
        "{name} renders differently; WRITE_CHART=1 make chart writes it anew:\n{text}"
    );
    Ok(())
}

#[test]
fn every_case_renders_what_its_golden_file_says() -> anyhow::Result<()> {
    let Some(helm) = helm()? else { return Ok(()) };
    let plain = helm.render::<&str>(&[])?;
    compare("defaults", &plain.text())?;
    let cases = cases()?;
    for (name, values) in &cases {
        // What is as with the defaults is left out.
        compare(name, &render(&helm, values)?.unlike(&plain))?;
    }
    let files = fs::read_dir(top().join("tests/chart/golden"))?.count();
    ensure!(
        files == cases.len() + 1,
        "{files} golden files for {} cases and the defaults",
        cases.len()
    );
    Ok(())
}

#[test]
fn the_linter_finds_nothing_in_any_case() -> anyhow::Result<()> {
    let Some(helm) = helm()? else { return Ok(()) };
    let chart = chart();
    helm.run(&["lint".as_ref(), "--strict".as_ref(), chart.as_os_str()])?;
    for (_, values) in cases()? {
        let arguments = [
            "lint".as_ref(),
            "--strict".as_ref(),
            "--values".as_ref(),
            values.as_os_str(),
            chart.as_os_str(),
        ];
        helm.run(&arguments)?;
    }
    Ok(())
}

#[test]
fn the_program_takes_every_rendered_configuration_and_command_line() -> anyhow::Result<()> {
    let Some(helm) = helm()? else { return Ok(()) };
    let mut files = 0;
    for (name, values) in cases()? {
        let rendered = render(&helm, &values)?;
        if let Some(configuration) = rendered.configuration()? {
            load(&configuration, &FeatureGates::default()).with_context(|| format!("{name}:\n{configuration}"))?;
            files += 1;
        }
        let arguments = rendered.arguments()?;
        let request = flags::parse("plimsoll", arguments.iter().map(Into::into)).context(name.clone())?;
        let Request::Run(options) = request else {
            anyhow::bail!("{name} does not run anything");
        };
        let ConfigSource::File(file) = options.source.source else {
            anyhow::bail!("{name} reads no file");
        };
        ensure!(file.starts_with("/etc/plimsoll"), "{name} reads {}", file.display());
        ensure!(options.source.ignored.is_empty(), "{name}: flags without effect");
    }
    ensure!(files > 5, "only {files} configurations were looked at");
    Ok(())
}

#[test]
fn great_numbers_and_zero_reach_the_program_as_they_are() -> anyhow::Result<()> {
    let Some(helm) = helm()? else { return Ok(()) };
    let rendered = render(&helm, &top().join("tests/chart/cases/odd-numbers.yaml"))?;
    let configuration = rendered.configuration()?.context("no configuration")?;
    let config = load(&configuration, &FeatureGates::default())?;
    assert_eq!(config.client_connection.burst, 20_000_000);
    assert!((config.client_connection.qps - 5_000_000.0).abs() < 1.0);
    assert_eq!(config.pod_max_backoff, Duration::from_mins(50_000));
    assert_eq!(config.percentage_of_nodes_to_score, Some(0));
    assert!(configuration.contains("bindTimeoutSeconds: 4000000"), "{configuration}");
    Ok(())
}
