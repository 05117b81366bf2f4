//! Pods with storage per second, and what each costs: the workloads that upstream's benchmark has for volumes.
//!
//! Everything is there before the scheduler starts but the pods, each of which has a volume of its own. In all workloads but the
//! last one their claims are bound already.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use anyhow::ensure;
use k8s_openapi::api::core::v1::{Node, PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::{CSINode, StorageClass};
use kube::api::{Api, ListParams};
use plimsoll_controlplane::ControllerManager;
use tokio::time::Instant;

use super::server::Server;
use super::{count, judge_outcome, known, until_bound};
use crate::cluster::create_all;
use crate::fixtures::{
    ClaimFixture, DRIVER, PodFixture, VolumeFixture, claim, csi_node, node, pod, storage_class, volume,
};
use crate::provisioner::{Provisioner, driver};
use crate::replica::Scheduler;

/// The driver of the cloud provider's disks.
const AWS: &str = "ebs.csi.aws.com";

/// How many volumes a node takes, where its driver says so.
const MOST: i32 = 39;

/// What pods have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// A secret, which is nothing to the scheduler: what the others are compared with.
    Secrets,
    /// A disk described as before there was CSI.
    InTree,
    /// The same on nodes where it is a CSI driver's and counts against a limit.
    Migrated,
    /// A CSI volume that counts against a limit.
    Csi,
    /// A claim whose volume is made when the pod has a node, by a provisioner that answers at once.
    Unbound,
}

/// What one scheduler did.
#[derive(Clone, Debug)]
pub struct Placed {
    /// Which one.
    pub scheduler: Scheduler,
    workload: Workload,
    nodes: usize,
    pods: usize,
    /// Decisions, and the time that they took, without the API.
    decisions: i64,
    deciding: Duration,
    /// From when the first pod was created until a watch had shown all of them bound.
    wall: Duration,
    /// Of the scheduler, in that time.
    cpu: Duration,
    peak_memory: u64,
    /// Broken promises.
    pub violations: Vec<String>,
}

impl Workload {
    /// In the order in which they are measured.
    pub const ALL: [Self; 5] = [Self::Secrets, Self::InTree, Self::Migrated, Self::Csi, Self::Unbound];

    /// As the table has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Secrets => "secret",
            Self::InTree => "in-tree disk, bound",
            Self::Migrated => "migrated disk, bound",
            Self::Csi => "CSI volume, bound",
            Self::Unbound => "claim that waits",
        }
    }

    /// Whether controllers are at work, which the embedded API server is not made for.
    pub fn needs_controllers(self) -> bool {
        self == Self::Unbound
    }

    fn csi_node(self, name: &str) -> Option<CSINode> {
        let node = csi_node(name);
        match self {
            Self::Secrets | Self::InTree => None,
            Self::Migrated => Some(node.attaches(AWS, MOST).migrated("kubernetes.io/aws-ebs").build()),
            Self::Csi => Some(node.attaches(AWS, MOST).build()),
            Self::Unbound => Some(node.attaches(DRIVER, MOST).build()),
        }
    }

    /// The volume that a claim is bound to already.
    fn volume(self, name: &str) -> Option<VolumeFixture> {
        let volume = volume(name).mode("ReadOnlyMany").meant_for("default", name);
        match self {
            Self::Secrets | Self::Unbound => None,
            Self::InTree | Self::Migrated => Some(volume.aws_disk()),
            Self::Csi => Some(volume.driver(AWS)),
        }
    }

    fn claim(self, name: &str) -> Option<ClaimFixture> {
        match self {
            Self::Secrets => None,
            Self::InTree | Self::Migrated | Self::Csi => Some(claim(name).mode("ReadOnlyMany").volume(name).bound()),
            Self::Unbound => Some(claim(name).class("made")),
        }
    }

    fn pod(self, name: &str) -> PodFixture {
        let pod = pod(name).cpu("100m").memory("500Mi").label("app", "measured");
        match self {
            Self::Secrets => pod.secret("secret"),
            _ => pod.volume_claim(name),
        }
    }
}

impl Placed {
    /// The first two lines of a table.
    pub fn heading() -> String {
        "| pods with a | | nodes | pods | decisions/s | pods placed/s | CPU ms/pod | peak MiB |\n\
         |---|---|---|---|---|---|---|---|"
            .to_owned()
    }

    /// How many it could decide in a second if the API took no time.
    fn decided_per_second(&self) -> f64 {
        count(self.decisions) / self.deciding.as_secs_f64()
    }

    fn placed_per_second(&self) -> f64 {
        count(self.pods) / self.wall.as_secs_f64()
    }

    fn cpu_per_pod(&self) -> f64 {
        self.cpu.as_secs_f64() * 1000.0 / count(self.pods)
    }

    /// How many times as good as the other this one is, in a line of the table.
    pub fn ratio(&self, other: &Self) -> String {
        format!(
            "| {} | **ratio** | {} | {} | **{:.1}** | **{:.1}** | **{:.1}** | {:.1} |",
            self.workload.name(),
            self.nodes,
            self.pods,
            self.decided_per_second() / other.decided_per_second(),
            self.placed_per_second() / other.placed_per_second(),
            other.cpu_per_pod() / self.cpu_per_pod(),
            count(other.peak_memory) / count(self.peak_memory),
        )
    }
}

/// A line of the table.
impl fmt::Display for Placed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "| {} | {} | {} | {} | {:.0} | {:.1} | {:.2} | {:.0} |",
            self.workload.name(),
            self.scheduler.name(),
            self.nodes,
            self.pods,
            self.decided_per_second(),
            self.placed_per_second(),
            self.cpu_per_pod(),
            count(self.peak_memory) / f64::from(1 << 20),
        )
    }
}

/// Lets `scheduler` place `pods` pods on a server of its own, where nothing is yet, and judges the outcome. An error when they
/// are not all bound within `limit`.
pub async fn measure(
    server: &Server,
    scheduler: Scheduler,
    workload: Workload,
    (nodes, pods): (usize, usize),
    limit: Duration,
) -> anyhow::Result<Placed> {
    let client = server.client().await?;
    let name = |i: usize| format!("p{i}");
    stage(&client, workload, nodes, pods).await?;
    let _controllers = controllers(server, &client, workload).await?;
    let mut replica = server.start(scheduler)?;
    known(&mut replica, "nodes", nodes).await?;

    let api: Api<Pod> = Api::default_namespaced(client.clone());
    let all = (0..pods).map(|i| workload.pod(&name(i)).build()).collect();
    let before = api.list_metadata(&ListParams::default().limit(1)).await?.metadata;
    let version = before.resource_version.unwrap_or_default();
    let (cpu, start) = (replica.process.cpu_time(), Instant::now());
    let bound = until_bound(&api, &version, "app=measured", pods);
    let work = futures::future::try_join(create_all(&api, all), bound);
    let Ok(done) = tokio::time::timeout(limit, work).await else {
        anyhow::bail!("not all are bound within {limit:?}:\n{}", replica.process.log_tail(20));
    };
    done?;
    let (wall, cpu) = (start.elapsed(), replica.process.cpu_time().saturating_sub(cpu));
    let (metrics, peak_memory) = (replica.metrics().await?, replica.process.peak_memory());
    replica.process.kill()?;

    let programs = BTreeMap::from([(replica.user.group.clone(), scheduler)]);
    let decided = |part: &str| metrics.total(&format!("scheduler_scheduling_algorithm_duration_seconds_{part}"), &[]);
    let decisions = metrics.sum("scheduler_scheduling_algorithm_duration_seconds_count", &[]);
    ensure!(decisions > 0, "it decided nothing");
    Ok(Placed {
        scheduler,
        workload,
        nodes,
        pods,
        decisions,
        deciding: Duration::from_secs_f64(decided("sum")),
        wall,
        cpu,
        peak_memory,
        violations: judge_outcome(&client, &server.bind_requests()?, &programs, pods).await?,
    })
}

async fn stage(client: &kube::Client, workload: Workload, nodes: usize, pods: usize) -> anyhow::Result<()> {
    let node_name = |i: usize| format!("n{i}");
    let all_nodes = (0..nodes).map(|i| node(&node_name(i)).memory("32Gi").build());
    create_all(&Api::<Node>::all(client.clone()), all_nodes.collect()).await?;
    let csi_nodes = (0..nodes).filter_map(|i| workload.csi_node(&node_name(i)));
    create_all(&Api::<CSINode>::all(client.clone()), csi_nodes.collect()).await?;
    let made = storage_class("made").provisioned().build();
    create_all(&Api::<StorageClass>::all(client.clone()), vec![made]).await?;
    let name = |i: usize| format!("p{i}");
    let volumes = (0..pods)
        .filter_map(|i| workload.volume(&name(i)))
        .map(VolumeFixture::build);
    create_all(&Api::<PersistentVolume>::all(client.clone()), volumes.collect()).await?;
    let claims = (0..pods)
        .filter_map(|i| workload.claim(&name(i)))
        .map(ClaimFixture::build);
    let api: Api<PersistentVolumeClaim> = Api::default_namespaced(client.clone());
    create_all(&api, claims.collect()).await
}

/// The controllers and the provisioner that bind claims, where there are claims to bind.
async fn controllers(
    server: &Server,
    client: &kube::Client,
    workload: Workload,
) -> anyhow::Result<Option<(ControllerManager, Provisioner)>> {
    let Server::Real(control_plane) = server else {
        return Ok(None);
    };
    if !workload.needs_controllers() {
        return Ok(None);
    }
    let binder = control_plane
        .start_controllers(&["persistentvolume-binder-controller"])
        .await?;
    let by_node = driver("kubernetes.io/hostname");
    let provisioner = Provisioner::start(client.clone(), "default", by_node).await?;
    Ok(Some((binder, provisioner)))
}
