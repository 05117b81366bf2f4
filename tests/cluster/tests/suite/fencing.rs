//! A leader writes nothing that could be applied when another leads: what the API server does about time-outs, and what a leader
//! does that was stopped in the middle of its work.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use k8s_openapi::jiff::Timestamp;
use plimsoll_client::{
    Access, ApiClient, BindReply, Clock, ConditionPatch, PatchReply, PodStatusPatch, RemovalReply, SystemClock,
    TermToken, connect,
};
use plimsoll_cluster::fixtures::{node, pod};
use plimsoll_cluster::{Cluster, Election, PodFacts, Record, Scheduler, State, Write, suite};
use plimsoll_config::{ClientConnection, ElectionConfig};
use plimsoll_controlplane::User;
use plimsoll_model::{Pod, decode_pod};
use tokio_util::sync::CancellationToken;

use crate::failover::{TAKE_OVER, binder, until_led};

const WRITES: [Write; 4] = [Write::Bind, Write::Status, Write::Delete, Write::Evict];

/// The pod of this turn that the write is about.
fn about(write: Write, turn: &str) -> String {
    format!("{turn}-{write:?}").to_lowercase()
}

/// The client that a scheduler writes with.
pub(crate) async fn scheduler_client(cluster: &mut Cluster<'_>) -> anyhow::Result<ApiClient> {
    let user = User::scheduler(User::REPLICAS);
    let access = Access {
        kubeconfig: Some(cluster.control_plane().server().kubeconfig(&user)?),
        master: None,
    };
    let limits = ClientConnection::default();
    let connections = connect(&access, &limits, &ElectionConfig::default(), Arc::new(SystemClock)).await?;
    Ok(connections.main)
}

/// A token whose writes carry `timeout=800ms`, as with the shortest lease that the suite uses.
pub(crate) fn token() -> Arc<TermToken> {
    TermToken::new(1, SystemClock.now(), Duration::from_mins(10), Duration::from_secs(1))
}

async fn known(cluster: &Cluster<'_>, name: &str) -> anyhow::Result<Pod> {
    let object = cluster.pods().get(name).await?;
    Ok(decode_pod(&serde_json::to_vec(&object)?)?)
}

/// Makes the write; says whether it was done, or else whether that is not known.
async fn make(client: &ApiClient, write: Write, pod: &Pod) -> Result<(), String> {
    let (token, wanted) = (token(), CancellationToken::new());
    match write {
        Write::Bind => match client.bind(&token, pod, "n1").await {
            BindReply::Created => Ok(()),
            other => Err(format!("{other:?}")),
        },
        Write::Status => {
            let mark = PodStatusPatch {
                uid: Some(pod.uid.clone()),
                condition: Some(ConditionPatch {
                    kind: "DisruptionTarget".to_owned(),
                    status: "True".to_owned(),
                    reason: "PreemptionByScheduler".to_owned(),
                    message: String::new(),
                    last_transition_time: plimsoll_model::Timestamp::new("2026-11-28T12:00:00Z"),
                    observed_generation: 1,
                }),
                ..PodStatusPatch::default()
            };
            match client.patch_pod_status(&token, &pod.name, &mark).await {
                PatchReply::Patched => Ok(()),
                other => Err(format!("{other:?}")),
            }
        }
        Write::Delete => removed(client.delete_pod(&token, &wanted, pod).await),
        Write::Evict => removed(client.evict_pod(&token, &wanted, pod).await),
        Write::Volume | Write::Claim => Err("no write to a pod".to_owned()),
    }
}

fn removed(reply: RemovalReply) -> Result<(), String> {
    match reply {
        RemovalReply::Accepted => Ok(()),
        other => Err(format!("{other:?}")),
    }
}

/// Whether the state shows that the write was applied.
fn applied(state: &State, write: Write, name: &str) -> bool {
    let Some(pod) = state.pod(name) else {
        return matches!(write, Write::Delete | Write::Evict);
    };
    match write {
        Write::Bind => pod.node().is_some(),
        Write::Status => pod.marked_as_victim(),
        Write::Delete | Write::Evict => pod.metadata.deletion_timestamp.is_some(),
        Write::Volume | Write::Claim => false,
    }
}

#[test]
fn the_api_server_applies_nothing_whose_time_out_has_passed_however_late_it_gets_to_it() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_nodes([node("n1")]).await?;
        for turn in ["late", "prompt"] {
            cluster.create_pods([pod(&about(Write::Bind, turn))]).await?;
            let placed = WRITES[1..].iter().map(|write| pod(&about(*write, turn)).on("n1"));
            cluster.create_running_pods(placed).await?;
        }
        cluster.allow_evictions().await?;
        let client = scheduler_client(cluster).await?;
        let gate = cluster.write_gate().await?;
        for write in WRITES {
            let name = about(write, "late");
            gate.close(write, &name);
            let pod = known(cluster, &name).await?;
            let outcome = make(&client, write, &pod).await;
            let unknown = outcome.err().context("it was answered while it was held")?;
            ensure!(unknown.starts_with("Unknown"), "{write:?}: {unknown}");
            // The gate still holds it: by now the time-out has passed.
            gate.arrival(write, &name).await?;
            gate.open(write, &name);
        }
        // What comes later has been through the same gate, and is applied.
        for write in WRITES {
            let name = about(write, "prompt");
            let pod = known(cluster, &name).await?;
            make(&client, write, &pod)
                .await
                .map_err(|reply| anyhow::anyhow!("{write:?}: {reply}"))?;
            let done = |state: &State| applied(state, write, &name).then_some(());
            cluster
                .history()
                .until(&format!("{name} is written"), TAKE_OVER, done)
                .await?;
        }
        for write in WRITES {
            let name = about(write, "late");
            let was_applied = cluster.history().read(|state| applied(state, write, &name));
            ensure!(!was_applied, "{write:?} was applied after its time-out");
        }
        cluster.delete_pod(&about(Write::Bind, "late")).await
    })
}

/// Two replicas; gives the place of the leader, which is stopped.
async fn stopped_leader(cluster: &mut Cluster<'_>) -> anyhow::Result<usize> {
    for _ in 0..2 {
        cluster.start(Scheduler::under_test(), Election::Quick, &[])?;
    }
    until_led(cluster, 1).await?;
    cluster.create_pods([pod("first")]).await?;
    cluster.bound("first").await?;
    let leader = binder(cluster, "first").await?;
    cluster.replicas()[leader].process.suspend()?;
    Ok(leader)
}

/// Lets the leader begin with a burst of writes, stops it in the middle until another has done the rest, and looks for writes
/// that it made when it woke.
async fn stopped_amid(
    cluster: &mut Cluster<'_>,
    leader: usize,
    done: impl Fn(&State) -> usize + Copy,
    all: usize,
) -> anyhow::Result<()> {
    cluster.replicas()[leader].process.resume()?;
    let some = |state: &State| (done(state) > all / 20).then_some(());
    cluster.history().until("the leader is at it", TAKE_OVER, some).await?;
    cluster.replicas()[leader].process.suspend()?;
    let left = all.saturating_sub(cluster.history().read(done));
    ensure!(left > 0, "everything was written before the leader could be stopped");
    until_led(cluster, 2).await?;
    let rest = |state: &State| (done(state) >= all).then_some(());
    cluster
        .history()
        .until("the next leader has done the rest", TAKE_OVER, rest)
        .await?;
    cluster.replicas()[leader].process.resume()?;
    // It has written what it will when it has ended.
    cluster.replicas()[leader].terminate().await?;
    let stale = cluster.replicas()[leader].user.group.clone();
    let taken = taken_over_at(cluster)?;
    let binds = cluster
        .binds()?
        .into_iter()
        .map(|bind| (bind.group, bind.received, bind.pod));
    let others = cluster.pod_requests()?.into_iter();
    let others = others.map(|request| (request.group, request.received, request.pod));
    let late: Vec<_> = binds
        .chain(others)
        .filter(|(group, received, _)| *group == stale && *received >= taken)
        .collect();
    ensure!(late.is_empty(), "it wrote although another one led: {late:?}");
    suite::say(&format!(
        "    leader stopped with {left} of {all} writes to make; none came when it woke"
    ));
    Ok(())
}

/// When the second leader asked for the lease, in microseconds since 1970.
fn taken_over_at(cluster: &Cluster<'_>) -> anyhow::Result<i64> {
    let taken = cluster.history().read_records(|records| {
        let mut holders: Vec<(String, Option<Timestamp>)> = Vec::new();
        for (_, record) in records {
            let Record::Lease(lease) = record else { continue };
            let spec = lease.spec.clone().unwrap_or_default();
            let holder = spec.holder_identity.unwrap_or_default();
            if !holder.is_empty() && holders.last().is_none_or(|(last, _)| *last != holder) {
                holders.push((holder, spec.acquire_time.map(|time| time.0)));
            }
        }
        holders.get(1).and_then(|(_, at)| *at)
    });
    Ok(taken.context("nobody took over")?.as_microsecond())
}

/// kube-scheduler breaks these promises: it notices the loss of its lease only after it has sent more.
fn is_promised() -> bool {
    Scheduler::under_test() == Scheduler::Plimsoll
}

#[test]
fn a_leader_stopped_in_the_middle_of_many_bindings_sends_none_of_the_rest() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        if !is_promised() {
            return Ok(());
        }
        cluster
            .create_nodes((0..10).map(|i| node(&format!("n{i}")).cpu("10").pods(110)))
            .await?;
        let leader = stopped_leader(cluster).await?;
        cluster
            .create_pods((0..600).map(|i| pod(&format!("p{i}")).cpu("100m")))
            .await?;
        stopped_amid(cluster, leader, State::bound, 601).await
    })
}

#[test]
fn a_leader_stopped_in_the_middle_of_many_explanations_sends_none_of_the_rest() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        if !is_promised() {
            return Ok(());
        }
        cluster.create_nodes([node("n1").cpu("1")]).await?;
        let leader = stopped_leader(cluster).await?;
        cluster
            .create_pods((0..600).map(|i| pod(&format!("p{i}")).cpu("2")))
            .await?;
        let explained = |state: &State| state.pods.values().filter(|pod| pod.why_pending().is_some()).count();
        stopped_amid(cluster, leader, explained, 600).await
    })
}

#[test]
fn a_leader_stopped_in_the_middle_of_many_evictions_sends_none_of_the_rest() -> anyhow::Result<()> {
    const NODES: usize = 100;
    suite::run(async |cluster| {
        if !is_promised() {
            return Ok(());
        }
        cluster.create_priorities([1, 100]).await?;
        cluster
            .create_nodes((0..NODES).map(|i| node(&format!("n{i}")).cpu("2")))
            .await?;
        cluster.create_nodes([node("spare").cpu("100m")]).await?;
        let low = |i: usize| pod(&format!("low{i}")).priority(1).cpu("2").on(&format!("n{i}"));
        cluster.create_running_pods((0..NODES).map(low)).await?;
        let leader = stopped_leader(cluster).await?;
        cluster
            .create_pods((0..NODES).map(|i| pod(&format!("p{i}")).priority(100).cpu("2")))
            .await?;
        let going = |state: &State| {
            let pods = state.pods.values();
            pods.filter(|pod| pod.metadata.deletion_timestamp.is_some()).count()
        };
        // The victims go when a kubelet has ended them, and there is none: each is told to go once.
        stopped_amid(cluster, leader, going, NODES).await
    })
}
