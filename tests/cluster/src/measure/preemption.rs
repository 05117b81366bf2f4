//! Preemptions per second, and what each costs: the workload that upstream's benchmark calls `PreemptionBasic`.
//!
//! Every node of four CPUs runs four pods of 900m and priority 0 without a grace period. Then, while the scheduler runs,
//! pods of three CPUs and priority 10 are created: each needs three victims on a node of its own.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use anyhow::ensure;
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use kube::api::{Api, ListParams, PostParams};
use serde_json::json;
use tokio::time::Instant;

use super::server::Server;
use super::{count, judge_outcome, known, until_bound};
use crate::cluster::create_all;
use crate::fixtures::{node, pod};
use crate::metrics::Metrics;
use crate::replica::Scheduler;

/// Pods on each node before.
const RESIDENTS: usize = 4;

/// What one scheduler did.
#[derive(Clone, Debug)]
pub struct Preempted {
    /// Which one.
    pub scheduler: Scheduler,
    nodes: usize,
    preemptors: usize,
    victims: usize,
    /// Attempts to preempt, as it counts them, and those of them that chose victims.
    attempts: i64,
    plans: i64,
    /// From when the first preemptor was created until a watch had shown all of them bound.
    wall: Duration,
    /// Of the scheduler, in that time.
    cpu: Duration,
    peak_memory: u64,
    /// In attempts that ended without a node: searching, and deciding who goes. Work on the API is not in it.
    deciding: Duration,
    /// Broken promises.
    pub violations: Vec<String>,
}

impl Preempted {
    /// The first two lines of a table.
    pub fn heading() -> String {
        "| | nodes | preemptions decided/s | pods placed/s | CPU ms/pod | attempts | victims | peak MiB |\n\
         |---|---|---|---|---|---|---|---|"
            .to_owned()
    }

    /// How many preemptions it could decide in a second if the API took no time; attempts that decided nothing count
    /// with the time that they took.
    fn decided_per_second(&self) -> f64 {
        count(self.plans) / self.deciding.as_secs_f64()
    }

    fn placed_per_second(&self) -> f64 {
        count(self.preemptors) / self.wall.as_secs_f64()
    }

    fn cpu_per_pod(&self) -> f64 {
        self.cpu.as_secs_f64() * 1000.0 / count(self.preemptors)
    }

    /// How many times as good as the other this one is, in a line of the table.
    pub fn ratio(&self, other: &Self) -> String {
        format!(
            "| **ratio** | {} | **{:.1}** | **{:.1}** | **{:.1}** | {:.2} | {:.2} | {:.1} |",
            self.nodes,
            self.decided_per_second() / other.decided_per_second(),
            self.placed_per_second() / other.placed_per_second(),
            other.cpu_per_pod() / self.cpu_per_pod(),
            count(other.attempts) / count(self.attempts),
            count(other.victims) / count(self.victims),
            count(other.peak_memory) / count(self.peak_memory),
        )
    }
}

/// A line of the table.
impl fmt::Display for Preempted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "| {} | {} | {:.1} | {:.1} | {:.2} | {} | {} | {:.0} |",
            self.scheduler.name(),
            self.nodes,
            self.decided_per_second(),
            self.placed_per_second(),
            self.cpu_per_pod(),
            self.attempts,
            self.victims,
            count(self.peak_memory) / f64::from(1 << 20),
        )
    }
}

/// Lets `scheduler` find places for `preemptors` pods on a server of its own, where nothing is yet, and judges the outcome.
/// An error when they are not all bound within `limit`.
pub async fn measure(
    server: &Server,
    scheduler: Scheduler,
    nodes: usize,
    preemptors: usize,
    limit: Duration,
) -> anyhow::Result<Preempted> {
    ensure!(preemptors <= nodes, "each preemptor needs a node of its own");
    let client = server.client().await?;
    stage(&client, nodes).await?;
    let mut replica = server.start(scheduler)?;
    known(&mut replica, "pods", nodes * RESIDENTS).await?;

    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    let high = |i| pod(&format!("high-{i}")).priority_class("high").label("app", "high");
    let high = (0..preemptors).map(|i| high(i).cpu("3").memory("500Mi").build());
    let before = pods.list_metadata(&ListParams::default().limit(1)).await?.metadata;
    let version = before.resource_version.unwrap_or_default();
    let (cpu, start) = (replica.process.cpu_time(), Instant::now());
    let bound = until_bound(&pods, &version, "app=high", preemptors);
    let work = futures::future::try_join(create_all(&pods, high.collect()), bound);
    let Ok(done) = tokio::time::timeout(limit, work).await else {
        anyhow::bail!("not all are bound within {limit:?}:\n{}", replica.process.log_tail(20));
    };
    done?;
    let (wall, cpu) = (start.elapsed(), replica.process.cpu_time().saturating_sub(cpu));
    let (metrics, peak_memory) = (replica.metrics().await?, replica.process.peak_memory());
    replica.process.kill()?;

    let left = pods.list_metadata(&ListParams::default()).await?.items.len();
    let programs = BTreeMap::from([(replica.user.group.clone(), scheduler)]);
    Ok(Preempted {
        scheduler,
        nodes,
        preemptors,
        victims: nodes * RESIDENTS + preemptors - left,
        attempts: metrics.sum("scheduler_preemption_attempts_total", &[]),
        plans: metrics.sum("scheduler_preemption_victims_count", &[]),
        wall,
        cpu,
        peak_memory,
        deciding: deciding(&metrics),
        violations: judge_outcome(&client, &server.bind_requests()?, &programs, left).await?,
    })
}

async fn stage(client: &kube::Client, nodes: usize) -> anyhow::Result<()> {
    let class = json!({ "metadata": { "name": "high" }, "value": 10 });
    let classes: Api<PriorityClass> = Api::all(client.clone());
    classes
        .create(&PostParams::default(), &serde_json::from_value(class)?)
        .await?;
    let name = |i: usize| format!("n{i}");
    let all_nodes = (0..nodes).map(|i| node(&name(i)).build());
    create_all(&Api::<Node>::all(client.clone()), all_nodes.collect()).await?;
    let resident = |i: usize| {
        let low = pod(&format!("low-{i}")).cpu("900m").memory("500Mi");
        low.without_grace().on(&name(i / RESIDENTS)).build()
    };
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    create_all(&pods, (0..nodes * RESIDENTS).map(resident).collect()).await
}

fn deciding(metrics: &Metrics) -> Duration {
    let sum = "scheduler_scheduling_attempt_duration_seconds_sum";
    Duration::from_secs_f64(metrics.total(sum, &[("result", "unschedulable")]))
}
