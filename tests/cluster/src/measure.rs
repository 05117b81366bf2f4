//! Pods placed per second, and what each costs.

pub mod hand_over;
pub mod preemption;
pub mod server;
pub mod volumes;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use anyhow::{Context, ensure};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, ListParams, WatchEvent, WatchParams};
use plimsoll_controlplane::{BindRequest, ControlPlane, User};
use tokio::time::Instant;

use crate::cluster::{create_all, reset};
use crate::explain::PodFacts;
use crate::fixtures::{node, pod};
use crate::history::Record;
use crate::invariants::{self, Evidence};
use crate::metrics::Metrics;
use crate::replica::{Election, Replica, Scheduler};

/// What one scheduler did.
#[derive(Clone, Debug)]
pub struct Measured {
    scheduler: Scheduler,
    pods: usize,
    /// From the first Binding's arrival at the API server to the last one's answer.
    wall: Duration,
    /// Of the scheduler, from its start to the last answer.
    cpu: Duration,
    peak_memory: u64,
    /// Bindings that the API server did not apply: refused, or turned away because there were too many.
    refused: usize,
    /// Broken promises.
    pub violations: Vec<String>,
}

impl Measured {
    /// The first line of a table.
    pub fn heading() -> String {
        format!(
            "    {:<16}{:>8}{:>12}{:>10}{:>10}{:>10}",
            "", "pods/s", "CPU ms/pod", "CPU s", "peak MiB", "refused"
        )
    }

    /// From the first Binding's arrival at the API server to the last one's answer.
    pub fn took(&self) -> Duration {
        self.wall
    }
}

impl fmt::Display for Measured {
    #[expect(clippy::cast_precision_loss, reason = "a few thousand pods, a few hundred mebibytes")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (pods, cpu) = (self.pods as f64, self.cpu.as_secs_f64());
        let per_second = pods / self.wall.as_secs_f64().max(f64::EPSILON);
        let memory = self.peak_memory as f64 / f64::from(1 << 20);
        let name = self.scheduler.name();
        let each = cpu * 1000.0 / pods;
        write!(
            f,
            "    {name:<16}{per_second:>8.0}{each:>12.3}{cpu:>10.2}{memory:>10.1}{:>10}",
            self.refused
        )
    }
}

/// Lets `scheduler` place `pods` pods that all wait when it starts on `nodes` empty nodes, and judges the outcome. An
/// error when they are not all bound within `limit`.
pub async fn measure(
    control_plane: &ControlPlane,
    scheduler: Scheduler,
    number: usize,
    nodes: usize,
    pods: usize,
    limit: Duration,
) -> anyhow::Result<Measured> {
    let client = control_plane.client(&User::admin()).await?;
    Box::pin(reset(&client)).await?;
    let zone = |i: usize| format!("zone-{}", i % 3);
    let all_nodes = (0..nodes).map(|i| {
        node(&format!("n{i}"))
            .label("topology.kubernetes.io/zone", &zone(i))
            .build()
    });
    create_all(&Api::<Node>::all(client.clone()), all_nodes.collect()).await?;
    let all_pods = (0..pods).map(|i| pod(&format!("p{i}")).cpu("100m").memory("128Mi").build());
    create_all(&Api::<Pod>::default_namespaced(client.clone()), all_pods.collect()).await?;

    let (before, bound_before) = (control_plane.bind_requests()?.len(), control_plane.bound_so_far()?);
    let mut replica = Replica::start(scheduler, number, Election::Off, &[], control_plane)?;
    let deadline = tokio::time::Instant::now() + limit;
    // The audit log is read, not the API server: asking it would take its time from the scheduler.
    loop {
        let bound = control_plane.bound_so_far()? - bound_before;
        if bound >= pods {
            break;
        }
        replica.process.ensure_running()?;
        let tail = || format!("only {bound} binds within {limit:?}:\n{}", replica.process.log_tail(20));
        ensure!(tokio::time::Instant::now() < deadline, tail());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let (cpu, peak_memory) = (replica.process.cpu_time(), replica.process.peak_memory());
    replica.process.kill()?;

    let binds = control_plane.bind_requests()?.split_off(before);
    let programs = BTreeMap::from([(replica.user.group.clone(), scheduler)]);
    let violations = judge_outcome(&client, &binds, &programs, pods).await?;
    let refused = binds.iter().filter(|bind| !bind.bound()).count();
    Ok(Measured {
        scheduler,
        pods,
        wall: wall(&binds)?,
        cpu,
        peak_memory,
        refused,
        violations,
    })
}

fn wall(binds: &[BindRequest]) -> anyhow::Result<Duration> {
    let first = binds.iter().map(|bind| bind.received).min().context("no binds")?;
    let last = binds.iter().map(|bind| bind.answered).max().context("no binds")?;
    Ok(Duration::from_micros(u64::try_from(last - first)?))
}

/// The end shows the worst moment of each node, so a list is enough of a history. Each node is judged with its own pods:
/// the judge looks at all pods for each.
async fn judge_outcome(
    client: &kube::Client,
    binds: &[BindRequest],
    programs: &BTreeMap<String, Scheduler>,
    expected: usize,
) -> anyhow::Result<Vec<String>> {
    let all = ListParams::default();
    let mut by_node: BTreeMap<String, Vec<(i64, Record)>> = BTreeMap::new();
    for node in Api::<Node>::all(client.clone()).list(&all).await? {
        let name = node.metadata.name.clone().unwrap_or_default();
        by_node
            .entry(name.clone())
            .or_default()
            .push((0, Record::Node(name, Box::new(node))));
    }
    for pod in Api::<Pod>::all(client.clone()).list(&all).await? {
        let node = pod.node().unwrap_or_default().to_owned();
        by_node
            .entry(node)
            .or_default()
            .push((0, Record::Pod(pod.key(), Box::new(pod))));
    }
    let judge = |records: &[(i64, Record)], binds: &[BindRequest]| {
        invariants::judge(&Evidence {
            records,
            binds,
            programs,
            served: &["default-scheduler"],
        })
    };
    let mut verdict = judge(&[], binds)?;
    for records in by_node.values() {
        let of_node = judge(records, &[])?;
        verdict.bound += of_node.bound;
        verdict.violations.extend(of_node.violations);
    }
    ensure!(
        verdict.bound == expected,
        "{} of {expected} pods are bound",
        verdict.bound
    );
    Ok(verdict.violations)
}

/// Follows the pods with the label until so many are bound.
async fn until_bound(pods: &Api<Pod>, version: &str, label: &str, count: usize) -> anyhow::Result<()> {
    let params = WatchParams::default().labels(label);
    let (mut version, mut bound) = (version.to_owned(), BTreeSet::new());
    while bound.len() < count {
        let mut changes = pods.watch(&params, &version).await?.boxed();
        while let Some(change) = changes.try_next().await? {
            match change {
                WatchEvent::Added(pod) | WatchEvent::Modified(pod) => {
                    version = pod.metadata.resource_version.clone().unwrap_or_default();
                    if pod.node().is_some() {
                        bound.insert(pod.uid().to_owned());
                    }
                }
                WatchEvent::Error(status) => return Err(kube::Error::Api(status).into()),
                _ => {}
            }
            if bound.len() == count {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Waits until the scheduler knows of so many `pods` or `nodes`.
async fn known(replica: &mut Replica, what: &str, count: usize) -> anyhow::Result<()> {
    let deadline = Instant::now() + Duration::from_mins(2);
    loop {
        let known = |metrics: &Metrics| metrics.sum("scheduler_cache_size", &[("type", what)]);
        match replica.metrics().await {
            Ok(metrics) if usize::try_from(known(&metrics)) == Ok(count) => return Ok(()),
            answer => ensure!(
                Instant::now() < deadline,
                "{} does not know of {count} {what}: {:?}\n{}",
                replica.process.name(),
                answer.map(|metrics| known(&metrics)),
                replica.process.log_tail(20)
            ),
        }
        replica.process.ensure_running()?;
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[expect(clippy::cast_precision_loss, reason = "a few thousand pods, a few hundred mebibytes")]
fn count(number: impl TryInto<i64>) -> f64 {
    number.try_into().unwrap_or(i64::MAX) as f64
}
