//! What a pod's volumes hold.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, bail};
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::{
    ConfigMap, DownwardAPIVolumeFile, KeyToPath, Pod, Secret, ServiceAccount, ServiceAccountTokenProjection, Volume,
    VolumeProjection,
};
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::json;

use super::field;

/// Files by name.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

/// A volume of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Files that others may change meanwhile.
    Files(Files),
    /// An empty folder that can be written.
    Empty,
    /// A file or folder of the host.
    Host(PathBuf),
}

/// Reads what a volume of the pod holds now. `token` keeps the pod's token between two readings.
pub(super) async fn read(
    client: &Client,
    pod: &Pod,
    volume: &Volume,
    token: &mut Option<String>,
) -> anyhow::Result<Content> {
    if volume.empty_dir.is_some() {
        return Ok(Content::Empty);
    }
    if let Some(host) = &volume.host_path {
        return Ok(Content::Host(PathBuf::from(&host.path)));
    }
    let namespace = pod.metadata.namespace.as_deref().context("a pod without a namespace")?;
    if let Some(source) = &volume.config_map {
        let files = config_map(client, namespace, &source.name).await?;
        return Ok(Content::Files(chosen(files, source.items.as_deref())?));
    }
    if let Some(source) = &volume.secret {
        let name = source.secret_name.as_deref().context("a Secret without a name")?;
        let files = secret(client, namespace, name).await?;
        return Ok(Content::Files(chosen(files, source.items.as_deref())?));
    }
    let projected = volume
        .projected
        .as_ref()
        .and_then(|projected| projected.sources.as_ref());
    let Some(sources) = projected else {
        bail!("no kubelet here knows the volume {}", volume.name);
    };
    let mut files = Files::new();
    for source in sources {
        files.extend(projection(client, pod, source, token).await?);
    }
    Ok(Content::Files(files))
}

async fn projection(
    client: &Client,
    pod: &Pod,
    source: &VolumeProjection,
    token: &mut Option<String>,
) -> anyhow::Result<Files> {
    let namespace = pod.metadata.namespace.as_deref().context("a pod without a namespace")?;
    if let Some(map) = &source.config_map {
        return chosen(config_map(client, namespace, &map.name).await?, map.items.as_deref());
    }
    if let Some(wanted) = &source.service_account_token {
        if token.is_none() {
            *token = Some(request_token(client, pod, wanted).await?);
        }
        let text = token.clone().unwrap_or_default();
        return Ok(Files::from([(wanted.path.clone(), text.into_bytes())]));
    }
    if let Some(downward) = &source.downward_api {
        let file = |file: &DownwardAPIVolumeFile| {
            let path = &file.field_ref.as_ref().context("no field")?.field_path;
            Ok((file.path.clone(), field(pod, path)?.into_bytes()))
        };
        return downward.items.iter().flatten().map(file).collect();
    }
    bail!("no kubelet here knows this projection: {source:?}")
}

/// A token that the API server takes for as long as the pod is there.
async fn request_token(client: &Client, pod: &Pod, wanted: &ServiceAccountTokenProjection) -> anyhow::Result<String> {
    let namespace = pod.metadata.namespace.as_deref().context("a pod without a namespace")?;
    let account = pod
        .spec
        .as_ref()
        .and_then(|spec| spec.service_account_name.as_deref())
        .context("a pod without a service account")?;
    let audiences: Vec<&str> = wanted.audience.iter().map(String::as_str).collect();
    let request: TokenRequest = serde_json::from_value(json!({ "spec": {
        "audiences": audiences,
        "expirationSeconds": wanted.expiration_seconds,
        "boundObjectRef": {
            "apiVersion": "v1", "kind": "Pod", "name": pod.metadata.name, "uid": pod.metadata.uid,
        },
    } }))?;
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
    let answer = accounts
        .create_token_request(account, &PostParams::default(), &request)
        .await?;
    answer.status.and_then(|status| status.token).context("no token")
}

async fn config_map(client: &Client, namespace: &str, name: &str) -> anyhow::Result<Files> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let map = maps.get(name).await.with_context(|| format!("ConfigMap {name}"))?;
    let texts = map.data.into_iter().flatten();
    Ok(texts.map(|(name, text)| (name, text.into_bytes())).collect())
}

async fn secret(client: &Client, namespace: &str, name: &str) -> anyhow::Result<Files> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let secret = secrets.get(name).await.with_context(|| format!("Secret {name}"))?;
    let data = secret.data.into_iter().flatten();
    Ok(data.map(|(name, bytes)| (name, bytes.0)).collect())
}

/// The files that are asked for, by the names that they are to have.
fn chosen(mut files: Files, items: Option<&[KeyToPath]>) -> anyhow::Result<Files> {
    let Some(items) = items else { return Ok(files) };
    let item = |item: &KeyToPath| {
        let content = files
            .remove(&item.key)
            .with_context(|| format!("no key {}", item.key))?;
        Ok((item.path.clone(), content))
    };
    items.iter().map(item).collect()
}
