//! An independent judge of what is there at the end: it reads pods and nodes from the API server, and knows neither
//! scheduler.

mod affinity;
mod cluster;
mod places;
mod quality;
mod regret;
mod selector;
mod spread;
mod volumes;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams};
use serde::Serialize;

use crate::observer::Bound;
use cluster::Cluster;
pub use quality::{Filled, Quality};
pub use regret::Regret;

/// How many broken promises are told one by one.
const TOLD: usize = 20;

/// Pods that are read at a time.
const PAGE: u32 = 500;

/// The judgement.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Judged {
    /// Broken promises: must be 0.
    pub violations: usize,
    /// The first of them.
    pub told: Vec<String>,
    /// Rules that the end cannot show to have held, and why.
    pub unjudged: Vec<String>,
    /// Pods with a node.
    pub bound: usize,
    /// Pods without.
    pub pending: usize,
    /// How well pods lie.
    pub quality: Quality,
}

/// Reads the final state and judges it. `only_grows` says that pods stayed where they were placed and nodes as they
/// were; in another workload what holds when a pod is placed need not hold at the end. `order` is in what order pods
/// were bound, of which the first `refused_after` were when a pod was first told that it fits nowhere.
pub(crate) async fn judge(
    client: &kube::Client,
    only_grows: bool,
    order: &[Bound],
    refused_after: Option<usize>,
) -> anyhow::Result<Judged> {
    let all = ListParams::default();
    let cluster = Cluster {
        nodes: Api::all(client.clone()).list(&all).await?.items,
        pods: pods(client).await?,
        namespaces: Api::all(client.clone()).list(&all).await?.items,
        services: Api::all(client.clone()).list(&all).await?.items,
        volumes: Api::all(client.clone()).list(&all).await?.items,
        claims: Api::all(client.clone()).list(&all).await?.items,
        csi_nodes: Api::all(client.clone()).list(&all).await?.items,
    };
    let order: Vec<(&str, &str)> = order
        .iter()
        .map(|bound| (bound.key.as_str(), bound.node.as_str()))
        .collect();
    judge_cluster(&cluster, only_grows, &order, refused_after)
}

/// All pods, without what no rule looks at: that is most of a running pod, and there may be hundreds of thousands.
async fn pods(client: &kube::Client) -> anyhow::Result<Vec<Pod>> {
    let api: Api<Pod> = Api::all(client.clone());
    let mut pods = Vec::new();
    let mut page = ListParams::default().limit(PAGE);
    loop {
        let list = api.list(&page).await?;
        pods.extend(list.items.into_iter().map(trimmed));
        match list.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => page = page.continue_token(&token),
            None => return Ok(pods),
        }
    }
}

fn trimmed(mut pod: Pod) -> Pod {
    pod.metadata.managed_fields = None;
    pod.metadata.annotations = None;
    pod.metadata.owner_references = None;
    if let Some(status) = &mut pod.status {
        status.container_statuses = None;
        status.init_container_statuses = None;
        status.conditions = None;
    }
    if let Some(spec) = &mut pod.spec {
        for container in spec
            .containers
            .iter_mut()
            .chain(spec.init_containers.iter_mut().flatten())
        {
            container.env = None;
            container.volume_mounts = None;
            container.liveness_probe = None;
            container.readiness_probe = None;
        }
        spec.containers.shrink_to_fit();
    }
    pod
}

fn judge_cluster(
    cluster: &Cluster,
    only_grows: bool,
    order: &[(&str, &str)],
    refused_after: Option<usize>,
) -> anyhow::Result<Judged> {
    let view = cluster.view()?;
    let mut broken = Vec::new();
    let mut unjudged = Vec::new();
    places::overcommitted(&view, &mut broken);
    places::ports(&view, &mut broken);
    volumes::limits(&view, &mut broken);
    volumes::claims_for_one_pod(&view, &mut broken);
    if only_grows {
        places::allowed(&view, &mut broken);
        affinity::anti_affinity(&view, &mut broken);
        affinity::affinity(&view, &mut broken);
        spread::hard(&view, &mut broken, &mut unjudged);
    } else {
        unjudged.push(
            "pods or nodes change after pods are placed: affinity, taints and spreading are not judged".to_owned(),
        );
    }
    let regret = if only_grows { regret::replay(&view, order) } else { None };
    Ok(Judged {
        violations: broken.len(),
        bound: view.placed.len(),
        pending: view.pending,
        quality: quality::of(&view, order, refused_after, regret),
        told: broken.into_iter().take(TOLD).collect(),
        unjudged,
    })
}

#[cfg(test)]
mod tests;
