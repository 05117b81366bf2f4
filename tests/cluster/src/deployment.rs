//! `deploy/plimsoll.yaml` as a cluster takes it.

use std::path::{Path, PathBuf};

use anyhow::Context;
use kube::api::{DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams};
use kube::discovery::{ApiCapabilities, ApiResource, Scope};
use kube::{Api, Client};
use serde_json::Value;

/// The objects of the manifest.
#[derive(Debug)]
pub struct Deployment {
    objects: Vec<Value>,
}

impl Deployment {
    /// Reads it from the tree.
    pub fn read() -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(deploy_folder().join("plimsoll.yaml"))?;
        let objects = serde_saphyr::from_multiple(&text)?;
        Ok(Self { objects })
    }

    /// Applies every object with strict validation.
    pub async fn apply(&self, client: &Client) -> anyhow::Result<()> {
        let params = PatchParams::apply("plimsoll-test").force().validation_strict();
        for object in &self.objects {
            let (api, name) = find(client, object).await?;
            api.patch(&name, &params, &Patch::Apply(object))
                .await
                .with_context(|| format!("{name} is not accepted"))?;
        }
        Ok(())
    }

    /// Takes every object away again.
    pub async fn delete(&self, client: &Client) -> anyhow::Result<()> {
        for object in &self.objects {
            let (api, name) = find(client, object).await?;
            api.delete(&name, &DeleteParams::default()).await?;
        }
        Ok(())
    }

    /// The pod that the Deployment makes.
    pub fn pod_template(&self) -> anyhow::Result<Value> {
        let deployment = self.objects.iter().find(|object| object["kind"] == "Deployment");
        let template = deployment.context("no Deployment")?.pointer("/spec/template");
        template.cloned().context("no pod template")
    }

    /// Its container.
    pub fn container(&self) -> anyhow::Result<Value> {
        let template = self.pod_template()?;
        template.pointer("/spec/containers/0").cloned().context("no container")
    }

    /// What the program is started with.
    pub fn arguments(&self) -> anyhow::Result<Vec<String>> {
        let container = self.container()?;
        serde_json::from_value(container["args"].clone()).context("no arguments")
    }

    /// The paths that the kubelet asks whether the program is well.
    pub fn probed_paths(&self) -> anyhow::Result<Vec<String>> {
        let container = self.container()?;
        let path = |probe: &str| {
            let path = container[probe]["httpGet"]["path"].as_str();
            path.map(str::to_owned).with_context(|| format!("no {probe}"))
        };
        ["startupProbe", "livenessProbe", "readinessProbe"]
            .into_iter()
            .map(path)
            .collect()
    }
}

/// The Dockerfile.
pub fn dockerfile() -> anyhow::Result<String> {
    Ok(std::fs::read_to_string(deploy_folder().join("Dockerfile"))?)
}

fn deploy_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy")
}

/// The place of any object, and its name.
pub async fn find(client: &Client, object: &Value) -> anyhow::Result<(Api<DynamicObject>, String)> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let api_version = text("/apiVersion").context("an object without a version")?;
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let kind = GroupVersionKind::gvk(group, version, text("/kind").context("an object without a kind")?);
    let (resource, capabilities): (ApiResource, ApiCapabilities) = kube::discovery::pinned_kind(client, &kind).await?;
    let name = text("/metadata/name").context("an object without a name")?.to_owned();
    let api = match capabilities.scope {
        Scope::Cluster => Api::all_with(client.clone(), &resource),
        Scope::Namespaced => {
            let namespace = text("/metadata/namespace").with_context(|| format!("{name} has no namespace"))?;
            Api::namespaced_with(client.clone(), namespace, &resource)
        }
    };
    Ok((api, name))
}
