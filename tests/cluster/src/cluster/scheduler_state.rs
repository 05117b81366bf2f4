//! What the scheduler under test says of itself, and waiting for it.

use std::time::Duration;

use anyhow::{Context, bail};
use kube::api::{DeleteParams, ListParams};
use tokio::time::Instant;

use super::{Cluster, PROMPT};
use crate::fixtures::{node, pod};
use crate::metrics::Metrics;
use crate::replica::Scheduler;

/// The node and the pod by which [`Cluster::changes_heard_by_scheduler`] learns what it wants to know.
const WITNESS: &str = "witness";

impl Cluster<'_> {
    /// What the replica started last counts.
    pub async fn metrics(&self) -> anyhow::Result<Metrics> {
        self.replicas.last().context("no replica")?.metrics().await
    }

    /// Waits until the replica started last has decided all there is to decide: `waiting` pods have been put to rest,
    /// gated ones among them, and no other is under way. Returns what it counts then.
    pub async fn at_rest(&self, waiting: usize, limit: Duration) -> anyhow::Result<Metrics> {
        self.until_metrics(&format!("{waiting} pods have been put to rest"), limit, |metrics| {
            metrics.show_rest(waiting)
        })
        .await
    }

    /// The same for all pods that are not bound, however many those turn out to be.
    pub async fn all_at_rest(&self, limit: Duration) -> anyhow::Result<Metrics> {
        self.until_metrics("every pending pod has been put to rest", limit, |metrics| {
            metrics.show_rest(self.history.read(|state| state.pods.len() - state.bound()))
        })
        .await
    }

    /// Waits until the scheduler has heard of all that was done to nodes and pods before: there are two streams, so it is
    /// shown a node that no pod can use, and after it a gated pod. Returns what it counts then.
    pub async fn changes_heard_by_scheduler(&self) -> anyhow::Result<Metrics> {
        let witness = node(WITNESS).cpu("0").memory("0").pods(0).unschedulable();
        let mut witness = witness.taint(WITNESS, "", "NoSchedule").build();
        // No part of any topology.
        witness.metadata.labels = None;
        super::create_all(&self.nodes(), vec![witness]).await?;
        self.nodes_known_to_scheduler().await?;
        self.pod_changes_heard_by_scheduler().await
    }

    /// Waits until the scheduler knows of every node there is.
    pub async fn nodes_known_to_scheduler(&self) -> anyhow::Result<()> {
        let nodes = i64::try_from(self.nodes().list_metadata(&ListParams::default()).await?.items.len())?;
        let known = |metrics: &Metrics| metrics.nodes() == nodes;
        self.until_metrics(&format!("the scheduler knows {nodes} nodes"), PROMPT, known)
            .await?;
        Ok(())
    }

    /// Waits until the scheduler has heard of all that was done to pods before, without another node. Returns what it
    /// counts then.
    pub async fn pod_changes_heard_by_scheduler(&self) -> anyhow::Result<Metrics> {
        let gated = self.metrics().await?.pending("gated");
        self.create_pods([pod(WITNESS).gate("example.com/witness")]).await?;
        let more = |metrics: &Metrics| metrics.pending("gated") > gated;
        self.until_metrics("one more pod is gated", PROMPT, more).await
    }

    /// What audits of themselves find wrong with the replicas that still run, and have found since they were started.
    pub(super) async fn found_by_audits(&mut self) -> anyhow::Result<Vec<String>> {
        let mut found = Vec::new();
        for replica in &mut self.replicas {
            if replica.scheduler != Scheduler::Plimsoll || replica.process.exited()?.is_some() {
                continue;
            }
            let before = replica.metrics().await?.sum("plimsoll_audit_discrepancies_total", &[]);
            if before > 0 {
                found.push(format!("audits found {before} discrepancies"));
            }
            let now = replica.audit().await?;
            found.extend(now.filter(|report| !report.contains("nothing wrong")));
        }
        Ok(found)
    }

    /// Deletes the test's pods and all nodes, and waits until nobody knows of them any more.
    pub async fn clear(&self) -> anyhow::Result<()> {
        let everything = ListParams::default();
        self.pods()
            .delete_collection(&DeleteParams::default().grace_period(0), &everything)
            .await?;
        self.nodes()
            .delete_collection(&DeleteParams::default(), &everything)
            .await?;
        let empty = |state: &crate::State| (state.pods.is_empty() && state.nodes.is_empty()).then_some(());
        self.history.until("all is deleted", PROMPT, empty).await?;
        let forgotten = |metrics: &Metrics| metrics.nodes() == 0 && metrics.sum("scheduler_pending_pods", &[]) == 0;
        self.until_metrics("the scheduler has forgotten all pods and nodes", PROMPT, forgotten)
            .await?;
        Ok(())
    }

    /// Looks at what the replica started last counts until it is as wanted.
    pub async fn until_metrics(
        &self,
        what: &str,
        limit: Duration,
        wanted: impl Fn(&Metrics) -> bool,
    ) -> anyhow::Result<Metrics> {
        let deadline = Instant::now() + limit;
        loop {
            // A scheduler that has just been started does not answer yet.
            match self.metrics().await {
                Ok(metrics) if wanted(&metrics) => return Ok(metrics),
                Ok(metrics) if Instant::now() >= deadline => {
                    bail!("not within {limit:?}: {what}; the scheduler counts {metrics}")
                }
                Err(error) if Instant::now() >= deadline => return Err(error),
                _ => {}
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}
