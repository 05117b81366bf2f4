//! The chart says the same as the rest of the tree.

use std::fs;

use anyhow::{Context, ensure};
use plimsoll_chart::{chart, top};
use serde_json::Value;

use crate::helm;

#[test]
fn chart_and_program_have_the_version_of_the_workspace() -> anyhow::Result<()> {
    let text = fs::read_to_string(chart().join("Chart.yaml"))?;
    let about: Value = serde_saphyr::from_str(&text)?;
    for field in ["version", "appVersion"] {
        assert_eq!(about[field], env!("CARGO_PKG_VERSION"), "{field}");
    }
    Ok(())
}

/// The pod template of the Deployment.
fn template(object: &Value) -> anyhow::Result<Value> {
    object.pointer("/spec/template/spec").cloned().context("no pods")
}

#[test]
fn a_replacement_runs_as_the_manifest_in_deploy_does() -> anyhow::Result<()> {
    let Some(helm) = helm()? else { return Ok(()) };
    let rendered = helm.render(&["--set", "mode=replacement"])?.object("Deployment")?;
    let text = fs::read_to_string(top().join("deploy/plimsoll.yaml"))?;
    let objects: Vec<Value> = serde_saphyr::from_multiple(&text)?;
    let manifest = objects.into_iter().find(|object| object["kind"] == "Deployment");
    let manifest = manifest.context("no Deployment")?;
    for path in ["/spec/replicas", "/spec/strategy"] {
        assert_eq!(rendered.pointer(path), manifest.pointer(path), "{path}");
    }
    let (rendered, manifest) = (template(&rendered)?, template(&manifest)?);
    for path in [
        "/automountServiceAccountToken",
        "/priorityClassName",
        "/terminationGracePeriodSeconds",
        "/tolerations",
        "/affinity",
        "/securityContext",
        "/containers/0/image",
        "/containers/0/imagePullPolicy",
        "/containers/0/ports",
        "/containers/0/startupProbe",
        "/containers/0/livenessProbe",
        "/containers/0/readinessProbe",
        "/containers/0/resources",
        "/containers/0/securityContext",
    ] {
        assert_eq!(rendered.pointer(path), manifest.pointer(path), "{path}");
    }
    let keys = |spec: &Value| -> Vec<Value> {
        let constraints = spec["topologySpreadConstraints"].as_array();
        constraints
            .into_iter()
            .flatten()
            .map(|one| one["topologyKey"].clone())
            .collect()
    };
    assert_eq!(keys(&rendered), keys(&manifest));
    let arguments = |spec: &Value| -> anyhow::Result<Vec<String>> {
        Ok(serde_json::from_value(spec["containers"][0]["args"].clone())?)
    };
    let ours = arguments(&rendered)?;
    for argument in arguments(&manifest)? {
        ensure!(ours.contains(&argument), "the chart lacks {argument}");
    }
    Ok(())
}
