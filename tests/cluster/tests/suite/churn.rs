//! Several clients at once create, change, delete and create pods again while nodes go out of use and come back. No pod is
//! left behind.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, ensure};
use futures::future::try_join_all;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use plimsoll_cluster::fixtures::NodeFixture;
use plimsoll_cluster::{Cluster, PodFacts, State, suite};
use serde_json::json;
use tokio::time::Instant;

mod client;
mod dice;
mod operator;

use client::Client;
use operator::Operator;

/// For how long they are at it.
const CHURN: Duration = Duration::from_mins(2);

/// How many clients, each with names and chance of its own.
const CLIENTS: u64 = 4;

/// For all that waits at the end to be decided.
const LIMIT: Duration = Duration::from_mins(2);

fn pending(state: &State) -> BTreeSet<String> {
    let pending = |pod: &&k8s_openapi::api::core::v1::Pod| pod.node().is_none();
    state.pods.values().filter(pending).map(PodFacts::key).collect()
}

/// Waits until no pod is on its way out any more.
async fn all_gone_that_go(cluster: &Cluster<'_>) -> anyhow::Result<()> {
    let gone = |state: &State| {
        let going = state.pods.values().any(|pod| pod.metadata.deletion_timestamp.is_some());
        (!going).then_some(())
    };
    cluster.history().until("no pod is going any more", LIMIT, gone).await
}

/// Waits until the scheduler has decided everything, and returns the pods that wait.
async fn left_over(cluster: &Cluster<'_>) -> anyhow::Result<BTreeSet<String>> {
    cluster.all_at_rest(LIMIT).await?;
    Ok(cluster.history().read(pending))
}

#[test]
fn no_pod_is_left_behind_by_two_minutes_of_pods_and_nodes_that_come_and_go() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        for (name, value) in [("high", 1000), ("low", -10)] {
            cluster
                .create::<PriorityClass>(json!({ "metadata": { "name": name }, "value": value }))
                .await?;
        }
        let mut operator = Operator::new(cluster);
        operator.create_nodes().await?;
        cluster.start_kubelets();
        cluster.start_scheduler()?;
        cluster.nodes_known_to_scheduler().await?;

        let until = Instant::now() + CHURN;
        let mut clients: Vec<Client> = (0..CLIENTS).map(|number| Client::new(cluster.pods(), number)).collect();
        let at_work = try_join_all(clients.iter_mut().map(|client| client.work(until)));
        futures::try_join!(at_work, operator.work(until))?;
        operator.restore().await?;
        all_gone_that_go(cluster).await?;
        cluster.changes_heard_by_scheduler().await?;

        let waiting = left_over(cluster).await?;
        let (all, bound) = cluster.history().read(|state| (state.pods.len(), state.bound()));
        let done: u64 = clients.iter().map(Client::done).sum();
        suite::say(&format!(
            "    {done} changes of pods, {} of nodes; {all} pods at the end, {bound} placed, {} binds",
            operator.done(),
            cluster.binds()?.len()
        ));
        ensure!(all > 20 && bound > 10 && !waiting.is_empty(), "hardly anything is left");

        // Another scheduler, to which every pod is new, finds no place for any of them either.
        let first = cluster.replicas().last_mut().context("a replica")?;
        first.process.kill()?;
        cluster.start_scheduler()?;
        cluster.nodes_known_to_scheduler().await?;
        let still = left_over(cluster).await?;
        let overlooked: Vec<&String> = waiting.difference(&still).collect();
        ensure!(overlooked.is_empty(), "these could have been placed: {overlooked:?}");
        Ok(())
    })
}
