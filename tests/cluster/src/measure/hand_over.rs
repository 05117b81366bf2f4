//! How long pods wait when the lead passes from one replica to another.
//!
//! The replica that goes serves another scheduler's pods, so that those measured are pending all the while and a quiet
//! cluster stays quiet. Times are those at which a watch of ours tells of a write.

use std::fmt;
use std::time::Duration;

use anyhow::{Context, ensure};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, DeleteParams, ListParams, PostParams, WatchEvent, WatchParams};
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::server::Server;
use crate::cluster::create_all;
use crate::explain::PodFacts;
use crate::fixtures::{node, pod};
use crate::metrics::Metrics;
use crate::replica::Replica;

/// How long anything may take that is not measured.
const LIMIT: Duration = Duration::from_mins(2);

/// Without an event for this long the cluster is quiet.
const QUIET: Duration = Duration::from_secs(6);

/// Between two events when they flow: a pod comes and goes.
const FLOW: Duration = Duration::from_millis(10);

/// How the leader goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Going {
    /// SIGTERM: it releases the lease.
    Released,
    /// SIGKILL: the lease runs out.
    Killed,
}

/// What is measured.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Round {
    /// How the leader goes.
    pub going: Going,
    /// Whether pods come and go meanwhile.
    pub events_flow: bool,
    /// Pods that wait for the new leader.
    pub pending: usize,
    /// Of the lease; renew deadline and retry period are kube-scheduler's shares of it.
    pub lease_seconds: u64,
}

/// One hand-over. All times are in seconds.
#[derive(Clone, Debug, Serialize)]
pub struct HandedOver {
    #[serde(flatten)]
    round: Round,
    /// From the write that released the lease, or the kill, to the write that took it.
    won: f64,
    /// By the new leader's own account, from winning.
    version_read: f64,
    caught_up: f64,
    queue_built: f64,
    first_bind: f64,
    /// From the write that released the lease, or the kill, to the first binding.
    to_first_bind: f64,
    /// To the last.
    to_last_bind: f64,
}

impl HandedOver {
    /// The first two lines of a table.
    pub fn heading() -> String {
        "| leader | events | lease won | version read | caught up | queue built | first bind | **to the first bind** | to the \
         last |\n|---|---|---|---|---|---|---|---|---|"
            .to_owned()
    }
}

/// A line of the table, in milliseconds.
impl fmt::Display for HandedOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let going = match self.round.going {
            Going::Released => "released".to_owned(),
            Going::Killed => format!("killed, lease {} s", self.round.lease_seconds),
        };
        let events = if self.round.events_flow { "flow" } else { "quiet" };
        write!(f, "| {going} | {events} |")?;
        for seconds in [
            self.won,
            self.version_read,
            self.caught_up,
            self.queue_built,
            self.first_bind,
        ] {
            write!(f, " {:.0} |", seconds * 1000.0)?;
        }
        write!(
            f,
            " **{:.0}** | {:.0} |",
            self.to_first_bind * 1000.0,
            self.to_last_bind * 1000.0
        )
    }
}

/// What a watch of ours has told.
#[derive(Debug)]
enum Seen {
    /// The lease has this holder; empty when it was released.
    Holder(String, Instant),
    /// One of the pods that waited is bound.
    Bound(Instant),
}

/// Fills the cluster: nodes, and pods on them in equal parts.
pub async fn stage(server: &Server, nodes: usize, pods: usize) -> anyhow::Result<()> {
    let client = server.client().await?;
    let name = |i: usize| format!("n{i}");
    let zone = |i: usize| format!("zone-{}", i % 3);
    let all_nodes = (0..nodes).map(|i| {
        node(&name(i))
            .label("topology.kubernetes.io/zone", &zone(i))
            .cpu("32")
            .memory("128Gi")
            .build()
    });
    create_all(&Api::<Node>::all(client.clone()), all_nodes.collect()).await?;
    let placed = |i: usize| {
        let placed = pod(&format!("placed-{i}")).cpu("100m").memory("128Mi");
        placed
            .label("app", &format!("app-{}", i % 500))
            .on(&name(i % nodes.max(1)))
            .build()
    };
    let api: Api<Pod> = Api::default_namespaced(client);
    create_all(&api, (0..pods).map(placed).collect()).await
}

/// Lets one replica take over from another, and measures. `number` tells the rounds on one server apart.
pub async fn measure(server: &Server, number: usize, round: Round) -> anyhow::Result<HandedOver> {
    let client = server.client().await?;
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    let leases: Api<Lease> = Api::namespaced(client, "kube-system");
    let mut leader = server.start_configured(0, &config("previous", round.lease_seconds))?;
    leads(&mut leader).await?;
    let label = format!("round-{number}");
    let waiting = (0..round.pending).map(|i| {
        let waiting = pod(&format!("{label}-{i}")).cpu("100m").memory("128Mi");
        waiting.label("app", &label).without_grace().build()
    });
    create_all(&pods, waiting.collect()).await?;
    let mut next = server.start_configured(1, &config("default-scheduler", round.lease_seconds))?;
    said(&mut next, "Attempting to acquire leader lease").await?;
    sleep(QUIET).await;

    let (tell, mut seen) = mpsc::unbounded_channel();
    let mut tasks = JoinSet::new();
    tasks.spawn(watch_lease(leases, tell.clone()));
    tasks.spawn(watch_pods(pods.clone(), format!("app={label}"), tell));
    let holder = match timeout(LIMIT, seen.recv()).await?.context("no watch")? {
        Seen::Holder(holder, _) => holder,
        Seen::Bound(_) => anyhow::bail!("a pod was bound before the lead passed on"),
    };
    if round.events_flow {
        tasks.spawn(churn(pods, number));
        sleep(QUIET / 3).await;
    }
    let begun = Instant::now();
    let going = async {
        match round.going {
            Going::Killed => leader.process.kill(),
            Going::Released => leader.terminate().await.map(drop),
        }
    };
    let followed = follow(&mut seen, &holder, round);
    let (gone, times) = futures::future::join(going, timeout(LIMIT, followed)).await;
    gone?;
    let Times {
        released,
        won,
        first,
        last,
    } = times.with_context(|| format!("not bound within {LIMIT:?}:\n{}", next.process.log_tail(20)))??;
    tasks.shutdown().await;
    let stages = stages(&next).await?;
    next.terminate().await?;
    let from = released.unwrap_or(begun);
    let since = |at: Instant| at.duration_since(from).as_secs_f64();
    Ok(HandedOver {
        round,
        won: since(won),
        version_read: stages[0],
        caught_up: stages[1],
        queue_built: stages[2],
        first_bind: stages[3],
        to_first_bind: since(first),
        to_last_bind: since(last),
    })
}

struct Times {
    released: Option<Instant>,
    won: Instant,
    first: Instant,
    last: Instant,
}

/// Waits until the lead has passed on from `holder` and every pod that waited is bound.
async fn follow(seen: &mut mpsc::UnboundedReceiver<Seen>, holder: &str, round: Round) -> anyhow::Result<Times> {
    let (mut released, mut won) = (None, None);
    let mut bound = Vec::new();
    while bound.len() < round.pending || won.is_none() {
        match seen.recv().await.context("a watch has ended")? {
            Seen::Holder(now, at) if now.is_empty() => released = released.or(Some(at)),
            Seen::Holder(now, at) if now != holder => won = won.or(Some(at)),
            Seen::Holder(..) => {}
            Seen::Bound(at) => bound.push(at),
        }
    }
    ensure!(
        released.is_some() == (round.going == Going::Released),
        "the lease was released or not against expectation"
    );
    Ok(Times {
        released,
        won: won.context("nobody has won")?,
        first: bound.first().copied().context("no pod to bind")?,
        last: bound.last().copied().context("no pod to bind")?,
    })
}

/// The stages as the new leader tells them.
async fn stages(leader: &Replica) -> anyhow::Result<[f64; 4]> {
    let metrics = leader.metrics().await?;
    let seconds = |stage| metrics.total("plimsoll_hand_over_seconds", &[("stage", stage)]);
    Ok(["version_read", "caught_up", "queue_built", "first_bind"].map(seconds))
}

async fn leads(replica: &mut Replica) -> anyhow::Result<()> {
    let deadline = Instant::now() + LIMIT;
    let built = |metrics: &Metrics| metrics.total("plimsoll_hand_over_seconds", &[("stage", "queue_built")]) > 0.0;
    while !replica.metrics().await.is_ok_and(|metrics| built(&metrics)) {
        replica.process.ensure_running()?;
        ensure!(
            Instant::now() < deadline,
            "no leader:\n{}",
            replica.process.log_tail(20)
        );
        sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

async fn said(replica: &mut Replica, words: &str) -> anyhow::Result<()> {
    let deadline = Instant::now() + LIMIT;
    while !replica.process.log_text().contains(words) {
        replica.process.ensure_running()?;
        ensure!(
            Instant::now() < deadline,
            "not said: {words:?}\n{}",
            replica.process.log_tail(20)
        );
        sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

async fn watch_lease(leases: Api<Lease>, tell: mpsc::UnboundedSender<Seen>) -> anyhow::Result<()> {
    let params = WatchParams::default().fields("metadata.name=kube-scheduler");
    let now = leases.get("kube-scheduler").await?;
    let holder = |lease: &Lease| lease.spec.as_ref()?.holder_identity.clone();
    tell.send(Seen::Holder(holder(&now).unwrap_or_default(), Instant::now()))?;
    let version = now.metadata.resource_version.unwrap_or_default();
    let mut changes = leases.watch(&params, &version).await?.boxed();
    while let Some(change) = changes.try_next().await? {
        if let WatchEvent::Added(lease) | WatchEvent::Modified(lease) = change {
            tell.send(Seen::Holder(holder(&lease).unwrap_or_default(), Instant::now()))?;
        }
    }
    Ok(())
}

async fn watch_pods(pods: Api<Pod>, labels: String, tell: mpsc::UnboundedSender<Seen>) -> anyhow::Result<()> {
    let version = pods.list_metadata(&ListParams::default().limit(1)).await?.metadata;
    let version = version.resource_version.unwrap_or_default();
    let params = WatchParams::default().labels(&labels);
    let mut changes = pods.watch(&params, &version).await?.boxed();
    let mut bound = std::collections::BTreeSet::new();
    while let Some(change) = changes.try_next().await? {
        if let WatchEvent::Modified(pod) = change
            && pod.node().is_some()
            && bound.insert(pod.uid().to_owned())
        {
            tell.send(Seen::Bound(Instant::now()))?;
        }
    }
    Ok(())
}

/// A pod of nobody's comes and goes, again and again.
async fn churn(pods: Api<Pod>, number: usize) -> anyhow::Result<()> {
    for i in 0_u64.. {
        let name = format!("churn-{number}-{i}");
        let passing = pod(&name).cpu("10m").scheduler("nobody").without_grace().build();
        pods.create(&PostParams::default(), &passing).await?;
        sleep(FLOW).await;
        pods.delete(&name, &DeleteParams::default().grace_period(0)).await?;
        sleep(FLOW).await;
    }
    Ok(())
}

/// Both replicas compete for kube-scheduler's lease, with kube-scheduler's shares of the lease duration.
fn config(scheduler_name: &str, lease_seconds: u64) -> String {
    let lease = Duration::from_secs(lease_seconds).as_millis();
    format!(
        "apiVersion: kubescheduler.config.k8s.io/v1\n\
         kind: KubeSchedulerConfiguration\n\
         profiles:\n- schedulerName: {scheduler_name}\n\
         leaderElection:\n  leaderElect: true\n  leaseDuration: {lease}ms\n  renewDeadline: {}ms\n  retryPeriod: {}ms\n\
         clientConnection:\n  kubeconfig: KUBECONFIG\n  qps: 5000\n  burst: 5000\n  \
         contentType: application/json\n  acceptContentTypes: application/json\n",
        lease * 10 / 15,
        lease * 2 / 15,
    )
}
