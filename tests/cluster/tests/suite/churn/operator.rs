//! Takes nodes out of use and back, and gives them other labels and taints.

use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use plimsoll_cluster::Cluster;
use plimsoll_cluster::fixtures::node;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::NodeFixture;
use super::dice::Dice;

const NODES: u64 = 8;

/// The nodes as they are at first and in the end.
fn fixture(number: u64) -> NodeFixture {
    let plain = node(&format!("n{number}")).cpu("16");
    match number {
        0..3 => plain.label("disk", "ssd"),
        3..5 => plain.label("pool", "batch").taint("dedicated", "batch", "NoSchedule"),
        _ => plain,
    }
}

pub(super) struct Operator {
    nodes: Api<Node>,
    dice: Dice,
    done: u64,
}

impl Operator {
    pub(super) fn new(cluster: &Cluster<'_>) -> Self {
        Self {
            nodes: cluster.nodes(),
            dice: Dice::new(1_000),
            done: 0,
        }
    }

    /// How many changes it has made.
    pub(super) fn done(&self) -> u64 {
        self.done
    }

    pub(super) async fn create_nodes(&self) -> anyhow::Result<()> {
        for number in 0..NODES {
            self.create(number).await?;
        }
        Ok(())
    }

    pub(super) async fn work(&mut self, until: Instant) -> anyhow::Result<()> {
        while Instant::now() < until {
            let number = self.dice.below(NODES);
            let disk = if self.dice.below(2) == 0 { "ssd" } else { "hdd" };
            match self.dice.below(12) {
                // Most are out of use at most times, so that many pods wait.
                0..4 => self.patch(number, json!({ "spec": { "unschedulable": true } })).await?,
                4..6 => self.patch(number, json!({ "spec": { "unschedulable": null } })).await?,
                6..8 => {
                    let label = json!({ "metadata": { "labels": { "disk": disk } } });
                    self.patch(number, label).await?;
                }
                8 => {
                    let taint = json!([{ "key": "dedicated", "value": "batch", "effect": "NoSchedule" }]);
                    self.patch(number, json!({ "spec": { "taints": taint } })).await?;
                }
                9 => self.patch(number, json!({ "spec": { "taints": null } })).await?,
                10 => {
                    let pool = json!({ "metadata": { "labels": { "pool": "batch" } } });
                    self.patch(number, pool).await?;
                }
                _ => {
                    self.nodes
                        .delete(&format!("n{number}"), &DeleteParams::default())
                        .await?;
                    self.create(number).await?;
                }
            }
            self.done += 1;
            let pause = 100 + self.dice.below(400);
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
        Ok(())
    }

    /// Makes the nodes again what they were at first, where they differ, and leaves what has been added.
    pub(super) async fn restore(&mut self) -> anyhow::Result<()> {
        for number in 0..NODES {
            let first = serde_json::to_value(fixture(number).build())?;
            let labels = &first["metadata"]["labels"];
            let taints = &first["spec"]["taints"];
            let back = json!({
                "metadata": { "labels": labels },
                "spec": { "unschedulable": null, "taints": taints },
            });
            self.patch(number, back).await?;
        }
        Ok(())
    }

    async fn create(&self, number: u64) -> anyhow::Result<()> {
        let object = fixture(number).build();
        self.nodes.create(&PostParams::default(), &object).await?;
        Ok(())
    }

    async fn patch(&self, number: u64, patch: Value) -> anyhow::Result<()> {
        self.nodes
            .patch(&format!("n{number}"), &PatchParams::default(), &Patch::Merge(patch))
            .await?;
        Ok(())
    }
}
