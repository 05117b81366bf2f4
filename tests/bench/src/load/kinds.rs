//! Where objects of a kind are found on the API server.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use kube::core::{ApiResource, GroupVersionKind};
use kube::discovery::{Scope, pinned_kind};
use serde_json::Value;
use tokio::sync::Mutex;

/// Asks for each kind once.
pub(super) struct Kinds {
    client: kube::Client,
    known: Mutex<BTreeMap<(String, String), Kind>>,
}

/// A kind as the API server has it.
#[derive(Clone, Debug)]
pub(super) struct Kind {
    resource: ApiResource,
    namespaced: bool,
}

impl Kinds {
    pub(super) fn new(client: kube::Client) -> Self {
        Self {
            client,
            known: Mutex::default(),
        }
    }

    /// That of the object.
    pub(super) async fn of(&self, object: &Value) -> anyhow::Result<Kind> {
        let part = |name: &str| {
            object[name]
                .as_str()
                .with_context(|| format!("an object without {name}"))
        };
        let (version, kind) = (part("apiVersion")?, part("kind")?);
        let key = (version.to_owned(), kind.to_owned());
        let mut known = self.known.lock().await;
        if let Some(known) = known.get(&key) {
            return Ok(known.clone());
        }
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        let wanted = GroupVersionKind::gvk(group, version, kind);
        let (resource, capabilities) = Box::pin(pinned_kind(&self.client, &wanted)).await?;
        let found = Kind {
            resource,
            namespaced: capabilities.scope == Scope::Namespaced,
        };
        known.insert(key, found.clone());
        Ok(found)
    }
}

impl Kind {
    /// The path of the objects of a namespace, or of all where the kind has none.
    pub(super) fn path(&self, namespace: Option<&str>) -> anyhow::Result<String> {
        let ApiResource {
            group,
            version,
            plural,
            kind,
            ..
        } = &self.resource;
        ensure!(
            self.namespaced == namespace.is_some(),
            "{kind} and the namespace {namespace:?} do not go together"
        );
        let root = if group.is_empty() {
            format!("/api/{version}")
        } else {
            format!("/apis/{group}/{version}")
        };
        let within = namespace.map_or_else(String::new, |namespace| format!("/namespaces/{namespace}"));
        Ok(format!("{root}{within}/{plural}"))
    }

    pub(super) fn namespaced(&self) -> bool {
        self.namespaced
    }

    pub(super) fn plural(&self) -> String {
        self.resource.plural.clone()
    }
}
