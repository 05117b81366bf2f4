//! Everything that the chart can render, as the API server sees it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use plimsoll_chart::top;
use plimsoll_cluster::deployment::find;
use plimsoll_cluster::suite;
use serde_json::{Value, json};

use crate::helm;
use crate::stage::Stage;

/// How long the API server may take to serve a kind.
const LIMIT: Duration = Duration::from_secs(30);

/// The definitions of kinds of Prometheus Operator and cert-manager.
pub(crate) fn definitions() -> anyhow::Result<Vec<CustomResourceDefinition>> {
    let script = top().join("tests/chart/crds/find.sh");
    let folder = plimsoll_go_programs::build(&script)?.context("no Go toolchain")?;
    let mut definitions = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            definitions.push(serde_saphyr::from_str(&fs::read_to_string(path)?)?);
        }
    }
    ensure!(definitions.len() == 4, "{} definitions", definitions.len());
    Ok(definitions)
}

/// Where an object goes, as soon as its kind is served.
async fn place(client: &Client, object: &Value) -> anyhow::Result<(Api<DynamicObject>, String)> {
    let deadline = tokio::time::Instant::now() + LIMIT;
    loop {
        match find(client, object).await {
            Err(_) if tokio::time::Instant::now() < deadline => tokio::time::sleep(Duration::from_millis(100)).await,
            found => return found,
        }
    }
}

/// Applies a case without keeping it, with strict validation. Returns how many objects there are.
async fn try_all(client: &Client, name: &Path, objects: &[Value]) -> anyhow::Result<usize> {
    let params = PatchParams::apply("plimsoll-test").dry_run().validation_strict();
    for object in objects {
        let (api, object_name) = place(client, object).await?;
        api.patch(&object_name, &params, &Patch::Apply(object))
            .await
            .with_context(|| format!("{}: {} {object_name} is not accepted", name.display(), object["kind"]))?;
    }
    Ok(objects.len())
}

#[test]
fn the_api_server_takes_every_object_of_every_case_to_the_letter() -> anyhow::Result<()> {
    let Some(helm) = helm()? else { return Ok(()) };
    suite::run_with_service_accounts(async |cluster| {
        // The pod of `helm test` has an account.
        let Some(_stage) = Stage::set(cluster).await? else {
            return Ok(());
        };
        let client = cluster.client().clone();
        // Where a case wants its Lease.
        let scheduling = serde_json::from_value(json!({ "metadata": { "name": "scheduling" } }))?;
        let namespaces: Api<Namespace> = Api::all(client.clone());
        namespaces.create(&PostParams::default(), &scheduling).await?;
        let kinds: Api<CustomResourceDefinition> = Api::all(client.clone());
        let definitions = definitions()?;
        for definition in &definitions {
            kinds.create(&PostParams::default(), definition).await?;
        }
        let mut taken = 0;
        for folder in ["charts/plimsoll/examples", "tests/chart/cases"] {
            for entry in fs::read_dir(top().join(folder))? {
                let values = entry?.path();
                let rendered = helm.render(&["--values".as_ref(), values.as_os_str()])?;
                taken += try_all(&client, &values, &rendered.all()?).await?;
            }
        }
        ensure!(taken > 100, "only {taken} objects were tried");
        for definition in definitions {
            let name = definition.metadata.name.context("no name")?;
            kinds.delete(&name, &DeleteParams::default()).await?;
        }
        Ok(())
    })
}
