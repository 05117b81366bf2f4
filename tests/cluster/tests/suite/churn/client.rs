//! A client of the API server that makes pods and changes its mind.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use plimsoll_cluster::fixtures::{PodFixture, pod};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::dice::Dice;

/// How many pods a client has at most.
const NAMES: u64 = 24;

/// Pods of mixed kinds. All that want CPU together have room once every node is in use.
const KINDS: [fn(PodFixture) -> PodFixture; 12] = [
    |pod| pod.cpu("1"),
    |pod| pod.cpu("1").memory("1Gi").priority_class("high"),
    |pod| pod.cpu("500m").priority_class("low"),
    |pod| pod.cpu("100m").node_selector("disk", "ssd"),
    |pod| {
        pod.cpu("100m")
            .node_selector("pool", "batch")
            .toleration("dedicated", "batch")
    },
    // Tolerates it later, or never.
    |pod| pod.cpu("100m").node_selector("pool", "batch"),
    |pod| pod.host_port(8080),
    |pod| pod.label("app", "shy").away_from("app", "shy"),
    |pod| pod.near("app", "web"),
    |pod| pod.label("app", "web").spread("app", "web"),
    |pod| pod.cpu("500m").gate("example.com/later"),
    |pod| pod.cpu("64"),
];

pub(super) struct Client {
    pods: Api<Pod>,
    number: u64,
    dice: Dice,
    done: u64,
}

impl Client {
    pub(super) fn new(pods: Api<Pod>, number: u64) -> Self {
        let dice = Dice::new(number);
        Self {
            pods,
            number,
            dice,
            done: 0,
        }
    }

    /// How many changes it has made.
    pub(super) fn done(&self) -> u64 {
        self.done
    }

    pub(super) async fn work(&mut self, until: Instant) -> anyhow::Result<()> {
        while Instant::now() < until {
            let name = format!("c{}-{}", self.number, self.dice.below(NAMES));
            match self.dice.below(10) {
                0..4 => self.create(&name).await?,
                4 => self.delete(&name, &DeleteParams::default()).await?,
                5 => self.delete(&name, &DeleteParams::default().grace_period(0)).await?,
                6 => {
                    self.delete(&name, &DeleteParams::default().grace_period(0)).await?;
                    self.create(&name).await?;
                }
                7 => self.rename(&name).await?,
                8 => self.ungate(&name).await?,
                _ => self.tolerate(&name).await?,
            }
            let pause = 5 + self.dice.below(20);
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
        Ok(())
    }

    async fn create(&mut self, name: &str) -> anyhow::Result<()> {
        let at = usize::try_from(self.dice.below(KINDS.len() as u64))?;
        let object = KINDS[at](pod(name)).build();
        let outcome = self.pods.create(&PostParams::default(), &object).await;
        self.note(outcome.map(drop))
    }

    async fn delete(&mut self, name: &str, how: &DeleteParams) -> anyhow::Result<()> {
        let outcome = self.pods.delete(name, how).await;
        self.note(outcome.map(drop))
    }

    /// Another label, which some pods want to be near to, or away from.
    async fn rename(&mut self, name: &str) -> anyhow::Result<()> {
        let app = if self.dice.below(2) == 0 { "web" } else { "shy" };
        self.patch(name, json!({ "metadata": { "labels": { "app": app } } }))
            .await
    }

    async fn ungate(&mut self, name: &str) -> anyhow::Result<()> {
        self.patch(name, json!({ "spec": { "schedulingGates": [] } })).await
    }

    async fn tolerate(&mut self, name: &str) -> anyhow::Result<()> {
        let found = self.pods.get_opt(name).await?;
        let Some(tolerations) = found.and_then(|pod| pod.spec?.tolerations) else {
            return Ok(());
        };
        let mut tolerations: Vec<Value> = serde_json::from_value(serde_json::to_value(tolerations)?)?;
        tolerations.push(json!({ "key": "dedicated", "operator": "Exists" }));
        self.patch(name, json!({ "spec": { "tolerations": tolerations } }))
            .await
    }

    async fn patch(&mut self, name: &str, patch: Value) -> anyhow::Result<()> {
        let outcome = self
            .pods
            .patch(name, &PatchParams::default(), &Patch::Merge(&patch))
            .await;
        self.note(outcome.map(drop))
    }

    fn note(&mut self, outcome: Result<(), kube::Error>) -> anyhow::Result<()> {
        match outcome {
            Ok(()) => self.done += 1,
            // There is such a pod, or there is none, or another of the name since we looked.
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409 | 422) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}
