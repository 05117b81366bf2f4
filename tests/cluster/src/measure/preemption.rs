//! Preemptions per second, and what each costs: the workload that upstream's benchmark calls `PreemptionBasic`.
//!
//! Every node of four CPUs runs four pods of 900m and priority 0 without a grace period. Then, while the scheduler runs,
//! pods of three CPUs and priority 10 are created: each needs three victims on a node of its own.

use std::fmt;
use std::time::Duration;

use anyhow::{Context, ensure};
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use kube::api::{Api, PostParams};
use plimsoll_controlplane::{ControlPlane, PodRequest, PodWrite, User};
use serde_json::json;
use tokio::time::Instant;

use super::judge_outcome;
use crate::cluster::create_all;
use crate::fixtures::{node, pod};
use crate::metrics::Metrics;
use crate::replica::{Election, Replica, Scheduler};

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
    /// Attempts to preempt, as it counts them.
    attempts: i64,
    /// From the first deletion's arrival at the API server to the last Binding's answer.
    wall: Duration,
    /// Of the scheduler, from when the first preemptor was created to the last Binding.
    cpu: Duration,
    peak_memory: u64,
    /// Of one attempt that ended without a node, mean: the search, and the preemption after it.
    decision: Duration,
    /// Broken promises.
    pub violations: Vec<String>,
}

impl Preempted {
    /// The first two lines of a table.
    pub fn heading() -> String {
        "| | nodes | preemptions/s | pods placed/s | CPU ms/pod | ms/attempt | attempts | victims | peak MiB |\n\
         |---|---|---|---|---|---|---|---|---|"
            .to_owned()
    }

    fn attempts_per_second(&self) -> f64 {
        count(self.attempts) / self.wall.as_secs_f64()
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
            "| **ratio** | {} | **{:.1}** | **{:.1}** | **{:.1}** | **{:.0}** | {:.2} | {:.2} | {:.1} |",
            self.nodes,
            self.attempts_per_second() / other.attempts_per_second(),
            self.placed_per_second() / other.placed_per_second(),
            other.cpu_per_pod() / self.cpu_per_pod(),
            other.decision.as_secs_f64() / self.decision.as_secs_f64(),
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
            "| {} | {} | {:.1} | {:.1} | {:.2} | {:.3} | {} | {} | {:.0} |",
            self.scheduler.name(),
            self.nodes,
            self.attempts_per_second(),
            self.placed_per_second(),
            self.cpu_per_pod(),
            self.decision.as_secs_f64() * 1000.0,
            self.attempts,
            self.victims,
            count(self.peak_memory) / f64::from(1 << 20),
        )
    }
}

/// Lets `scheduler` find places for `preemptors` pods on a control plane of its own, where nothing is yet, and judges the
/// outcome. An error when they are not all bound within `limit`.
pub async fn measure(
    control_plane: &ControlPlane,
    scheduler: Scheduler,
    nodes: usize,
    preemptors: usize,
    limit: Duration,
) -> anyhow::Result<Preempted> {
    ensure!(preemptors <= nodes, "each preemptor needs a node of its own");
    let client = control_plane.client(&User::admin()).await?;
    stage(&client, nodes).await?;
    let mut replica = Replica::start(scheduler, 0, Election::Off, &[], control_plane)?;
    ready(&mut replica, nodes * RESIDENTS).await?;

    let before = replica.process.cpu_time();
    let high = |i| {
        pod(&format!("high-{i}"))
            .priority_class("high")
            .cpu("3")
            .memory("500Mi")
            .build()
    };
    create_all(
        &Api::<Pod>::default_namespaced(client.clone()),
        (0..preemptors).map(high).collect(),
    )
    .await?;
    let deadline = Instant::now() + limit;
    // The audit log is read, not the API server: asking it would take its time from the scheduler.
    loop {
        let bound = control_plane.bound_so_far()?;
        if bound >= preemptors {
            break;
        }
        replica.process.ensure_running()?;
        let tail = || format!("only {bound} binds within {limit:?}:\n{}", replica.process.log_tail(20));
        ensure!(Instant::now() < deadline, tail());
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let cpu = replica.process.cpu_time().saturating_sub(before);
    let (metrics, peak_memory) = (replica.metrics().await?, replica.process.peak_memory());
    replica.process.kill()?;

    let binds = control_plane.bind_requests()?;
    let mut deletions = control_plane.pod_requests()?;
    deletions.retain(|request| request.by_scheduler() && request.write == PodWrite::Delete && request.code == 200);
    let first = deletions
        .iter()
        .map(|deletion| deletion.received)
        .min()
        .context("no deletion")?;
    let last = binds.iter().map(|bind| bind.answered).max().context("no binds")?;
    let programs = [(replica.user.group.clone(), scheduler)].into();
    let bound = nodes * RESIDENTS - victims(&deletions) + preemptors;
    Ok(Preempted {
        scheduler,
        nodes,
        preemptors,
        victims: victims(&deletions),
        attempts: metrics.sum("scheduler_preemption_attempts_total", &[]),
        wall: Duration::from_micros(u64::try_from(last - first)?),
        cpu,
        peak_memory,
        decision: decision(&metrics),
        violations: judge_outcome(&client, &binds, &programs, bound).await?,
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

/// Waits until the scheduler knows of every resident.
async fn ready(replica: &mut Replica, residents: usize) -> anyhow::Result<()> {
    let deadline = Instant::now() + Duration::from_mins(2);
    loop {
        let known = |metrics: &Metrics| metrics.sum("scheduler_cache_size", &[("type", "pods")]);
        match replica.metrics().await {
            Ok(metrics) if usize::try_from(known(&metrics)) == Ok(residents) => return Ok(()),
            answer => ensure!(
                Instant::now() < deadline,
                "{} does not know of {residents} pods: {:?}\n{}",
                replica.process.name(),
                answer.map(|metrics| known(&metrics)),
                replica.process.log_tail(20)
            ),
        }
        replica.process.ensure_running()?;
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

fn victims(deletions: &[PodRequest]) -> usize {
    let pods: std::collections::BTreeSet<&str> = deletions.iter().map(|deletion| deletion.pod.as_str()).collect();
    pods.len()
}

fn decision(metrics: &Metrics) -> Duration {
    let of = |what: &str| {
        let name = format!("scheduler_scheduling_attempt_duration_seconds_{what}");
        metrics.total(&name, &[("result", "unschedulable")])
    };
    Duration::from_secs_f64(of("sum") / of("count").max(1.0))
}

#[expect(clippy::cast_precision_loss, reason = "a few thousand pods, a few hundred mebibytes")]
fn count(number: impl TryInto<i64>) -> f64 {
    number.try_into().unwrap_or(i64::MAX) as f64
}
