//! The chart says the same as the rest of the tree.

use std::fs;

use anyhow::{Context, ensure};
use plimsoll_chart::{Rendered, chart, top};
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

/// The modes, each with the manifest for it.
const MODES: [(&str, &str); 2] = [("replacement", "plimsoll.yaml"), ("second", "second.yaml")];

fn manifest(name: &str) -> anyhow::Result<Vec<Value>> {
    let text = fs::read_to_string(top().join("deploy").join(name))?;
    Ok(serde_saphyr::from_multiple(&text)?)
}

fn of_kind<'a>(objects: &'a [Value], kind: &str) -> anyhow::Result<&'a Value> {
    let found = objects.iter().find(|object| object["kind"] == kind);
    found.with_context(|| format!("no {kind}"))
}

/// The pods of the Deployment.
fn pods(object: &Value) -> anyhow::Result<Value> {
    object.pointer("/spec/template/spec").cloned().context("no pods")
}

#[test]
fn chart_and_manifests_run_the_same_pods() -> anyhow::Result<()> {
    let Some(helm) = helm()? else { return Ok(()) };
    for (mode, file) in MODES {
        let rendered = helm.render(&["--set", &format!("mode={mode}")])?.object("Deployment")?;
        let objects = manifest(file)?;
        let manifest = of_kind(&objects, "Deployment")?;
        for path in ["/spec/replicas", "/spec/strategy"] {
            assert_eq!(rendered.pointer(path), manifest.pointer(path), "{file}{path}");
        }
        let (rendered, manifest) = (pods(&rendered)?, pods(manifest)?);
        for path in [
            "/automountServiceAccountToken",
            "/priorityClassName",
            "/terminationGracePeriodSeconds",
            "/tolerations",
            "/affinity",
            "/securityContext",
            "/containers/0/image",
            "/containers/0/imagePullPolicy",
            "/containers/0/env",
            "/containers/0/ports",
            "/containers/0/startupProbe",
            "/containers/0/livenessProbe",
            "/containers/0/readinessProbe",
            "/containers/0/resources",
            "/containers/0/securityContext",
        ] {
            assert_eq!(rendered.pointer(path), manifest.pointer(path), "{file}{path}");
        }
        assert_eq!(keys(&rendered), keys(&manifest), "{file}");
        let ours = arguments(&rendered)?;
        for argument in arguments(&manifest)? {
            ensure!(ours.contains(&argument), "the chart lacks {argument} of {file}");
        }
    }
    Ok(())
}

fn keys(spec: &Value) -> Vec<Value> {
    let constraints = spec["topologySpreadConstraints"].as_array();
    constraints
        .into_iter()
        .flatten()
        .map(|one| one["topologyKey"].clone())
        .collect()
}

fn arguments(spec: &Value) -> anyhow::Result<Vec<String>> {
    Ok(serde_json::from_value(spec["containers"][0]["args"].clone())?)
}

/// What each role allows, without its name.
fn rights(objects: &[Value]) -> Vec<(Value, Value)> {
    let roles = objects
        .iter()
        .filter(|object| object["kind"] == "ClusterRole" || object["kind"] == "Role");
    let mut rights: Vec<(Value, Value)> = roles
        .map(|role| (sorted(&role["rules"]), role["metadata"]["namespace"].clone()))
        .collect();
    rights.sort_by_key(|(rules, _)| rules.to_string());
    rights
}

/// With the verbs of each rule in order.
fn sorted(rules: &Value) -> Value {
    let mut rules = rules.clone();
    for rule in rules.as_array_mut().into_iter().flatten() {
        if let Some(verbs) = rule["verbs"].as_array_mut() {
            verbs.sort_by_key(ToString::to_string);
        }
    }
    rules
}

#[test]
fn chart_and_manifests_give_the_same_rights() -> anyhow::Result<()> {
    let Some(helm) = helm()? else { return Ok(()) };
    for (mode, file) in MODES {
        let rendered: Rendered = helm.render(&["--set", &format!("mode={mode}")])?;
        let ours = rights(&rendered.all()?);
        assert_eq!(ours, rights(&manifest(file)?), "{file}");
        ensure!(ours.len() == 3, "{} roles", ours.len());
    }
    Ok(())
}

#[test]
fn static_pods_are_probed_and_sized_as_the_others() -> anyhow::Result<()> {
    let Some(helm) = helm()? else { return Ok(()) };
    let rendered = pods(&helm.render::<&str>(&[])?.object("Deployment")?)?;
    let text = fs::read_to_string(top().join("deploy/static-pod/plimsoll.yaml"))?;
    let pod: Value = serde_saphyr::from_str(&text)?;
    let (ours, theirs) = (&rendered["containers"][0], &pod["spec"]["containers"][0]);
    for field in ["image", "imagePullPolicy", "resources", "securityContext"] {
        assert_eq!(ours[field], theirs[field], "{field}");
    }
    for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
        let mut theirs = theirs[probe].clone();
        theirs["httpGet"]
            .as_object_mut()
            .context("no path")?
            .remove("host")
            .context("a static pod is on its node's address")?;
        assert_eq!(ours[probe], theirs, "{probe}");
    }
    assert_eq!(
        rendered["terminationGracePeriodSeconds"],
        pod["spec"]["terminationGracePeriodSeconds"]
    );
    Ok(())
}
