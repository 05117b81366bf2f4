//! One change of the world.

use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use plimsoll_cluster::Cluster;
use plimsoll_cluster::fixtures::{NodeFixture, PodFixture};
use serde_json::Value;

/// Something done to a node, a pod or the test's namespace; names come first.
#[derive(Debug)]
pub(super) enum Change {
    AddNode(NodeFixture),
    RemoveNode(&'static str),
    Node(&'static str, Value),
    NodeStatus(&'static str, Value),
    AddPod(Box<PodFixture>),
    RemovePod(&'static str),
    /// With time to end in, and no kubelet to end it.
    TellPodToGo(&'static str),
    Pod(&'static str, Value),
    Tolerate(&'static str, (&'static str, &'static str)),
    Resize(&'static str, &'static str),
    Namespace(Value),
}

impl Change {
    pub(super) fn add_pod(pod: PodFixture) -> Self {
        Self::AddPod(Box::new(pod))
    }

    /// Whether nodes tell of it.
    pub(super) fn is_of_nodes(&self) -> bool {
        matches!(
            self,
            Self::AddNode(_) | Self::RemoveNode(_) | Self::Node(..) | Self::NodeStatus(..)
        )
    }

    pub(super) async fn make(self, cluster: &Cluster<'_>) -> anyhow::Result<()> {
        match self {
            Self::AddNode(node) => cluster.create_nodes([node]).await,
            Self::RemoveNode(name) => cluster.delete_node(name).await,
            Self::Node(name, patch) => cluster.patch_node(name, patch).await,
            Self::NodeStatus(name, patch) => {
                let patch = Patch::Merge(serde_json::json!({ "status": patch }));
                cluster
                    .nodes()
                    .patch_status(name, &PatchParams::default(), &patch)
                    .await?;
                Ok(())
            }
            Self::AddPod(pod) => cluster.create_pods([*pod]).await,
            Self::RemovePod(name) => cluster.delete_pod(name).await,
            Self::TellPodToGo(name) => {
                cluster.pods().delete(name, &DeleteParams::default()).await?;
                Ok(())
            }
            Self::Pod(name, patch) => cluster.patch_pod(name, patch).await,
            Self::Tolerate(name, (key, value)) => cluster.tolerate(name, key, value).await,
            Self::Resize(name, cpu) => cluster.resize(name, cpu).await,
            Self::Namespace(patch) => {
                let namespaces: Api<Namespace> = Api::all(cluster.client().clone());
                let patch = Patch::Merge(patch);
                namespaces
                    .patch(cluster.namespace(), &PatchParams::default(), &patch)
                    .await?;
                Ok(())
            }
        }
    }
}
