//! Pods and nodes that come and go, whatever state the control plane is in.

use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use plimsoll_cluster::fixtures::{NodeFixture, PodFixture, node, pod};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::dice::Dice;

pub(crate) const NODES: usize = 20;

/// The namespace of the pods.
pub(crate) const NAMESPACE: &str = "chaos";

/// The priority of those that may preempt others.
pub(crate) const HIGH: i32 = 100;

/// More pods than this are taken away.
const PODS: usize = 70;

/// A change that is not answered within this is left to itself: whether it was made shows in etcd's history.
const PATIENCE: Duration = Duration::from_secs(2);

/// What pods ask for. All of them together want about as much as there is.
const KINDS: [fn(PodFixture) -> PodFixture; 8] = [
    |pod| pod.cpu("50m"),
    |pod| pod.cpu("50m").memory("64Mi"),
    |pod| pod.cpu("100m"),
    |pod| pod.cpu("1"),
    |pod| pod.cpu("2"),
    |pod| pod.cpu("1500m").memory("1Gi"),
    |pod| pod.cpu("2").priority(HIGH),
    |pod| {
        pod.cpu("1")
            .node_selector("pool", "batch")
            .toleration("dedicated", "batch")
    },
];

/// The nodes as they are at first and after every round.
pub(crate) fn fixture(number: usize) -> NodeFixture {
    let plain = node(&name(number)).cpu("4").pods(8);
    if number < NODES / 5 {
        plain.label("pool", "batch").taint("dedicated", "batch", "NoSchedule")
    } else {
        plain
    }
}

fn name(number: usize) -> String {
    format!("n{number}")
}

/// Changes pods and nodes while it is told to. It must be made inside a Tokio runtime.
#[derive(Debug)]
pub(crate) struct Churn {
    wanted: watch::Sender<bool>,
    idle: watch::Receiver<bool>,
    _task: JoinSet<()>,
}

impl Churn {
    /// It rests until [`resume`](Self::resume).
    pub(crate) fn new(client: &kube::Client, seed: u64, number: u64) -> Self {
        let (wanted, mut wish) = watch::channel(false);
        let (at_rest, idle) = watch::channel(true);
        let mut clients = Clients {
            pods: Api::namespaced(client.clone(), NAMESPACE),
            nodes: Api::all(client.clone()),
            // Streams of their own, far from those of rounds.
            dice: Dice::new(seed, u64::MAX / 2 + number),
            present: Vec::new(),
            made: 0,
        };
        let mut task = JoinSet::new();
        task.spawn(async move {
            while wish.wait_for(|wanted| *wanted).await.is_ok() {
                at_rest.send_replace(false);
                while *wish.borrow() {
                    // A change may fail in an outage; the next one is another.
                    let _ = tokio::time::timeout(PATIENCE, clients.change()).await;
                    let pause = clients.dice.between(40, 140);
                    tokio::time::sleep(Duration::from_millis(pause)).await;
                }
                at_rest.send_replace(true);
            }
        });
        Self {
            wanted,
            idle,
            _task: task,
        }
    }

    pub(crate) fn resume(&self) {
        self.wanted.send_replace(true);
    }

    /// Returns when the last change has been answered, or given up.
    pub(crate) async fn pause(&self) {
        self.wanted.send_replace(false);
        let mut idle = self.idle.clone();
        let _ = idle.wait_for(|idle| *idle).await;
    }
}

struct Clients {
    pods: Api<Pod>,
    nodes: Api<Node>,
    dice: Dice,
    /// Pods that are there as far as we know.
    present: Vec<String>,
    made: u64,
}

impl Clients {
    async fn change(&mut self) -> anyhow::Result<()> {
        let at_once = DeleteParams::default().grace_period(0);
        match self.dice.below(100) {
            0..52 if self.present.len() < PODS => self.create().await,
            0..75 => self.delete(&DeleteParams::default(), false).await,
            75..83 => self.delete(&at_once, false).await,
            // Another pod of the same name.
            83..88 => self.delete(&at_once, true).await,
            88..94 => self.cordon(true).await,
            94..98 => self.cordon(false).await,
            _ => self.replace_node().await,
        }
    }

    async fn create(&mut self) -> anyhow::Result<()> {
        self.made += 1;
        let name = format!("p{}", self.made);
        // It may be there although nobody says so.
        self.present.push(name.clone());
        self.create_named(&name).await
    }

    async fn create_named(&mut self, name: &str) -> anyhow::Result<()> {
        let kind = KINDS[self.dice.place(KINDS.len())];
        let object = kind(pod(name)).build();
        self.pods.create(&PostParams::default(), &object).await?;
        Ok(())
    }

    async fn delete(&mut self, how: &DeleteParams, again: bool) -> anyhow::Result<()> {
        if self.present.is_empty() {
            return Ok(());
        }
        let place = self.dice.place(self.present.len());
        let name = self.present[place].clone();
        match self.pods.delete(&name, how).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.is_not_found() => {}
            // It stays on the list, for another try.
            Err(error) => return Err(error.into()),
        }
        if again {
            return self.create_named(&name).await;
        }
        self.present.swap_remove(place);
        Ok(())
    }

    async fn cordon(&mut self, out_of_use: bool) -> anyhow::Result<()> {
        let name = name(self.dice.place(NODES));
        let patch = json!({ "spec": { "unschedulable": if out_of_use { Value::from(true) } else { Value::Null } } });
        self.nodes
            .patch(&name, &PatchParams::default(), &Patch::Merge(&patch))
            .await?;
        Ok(())
    }

    async fn replace_node(&mut self) -> anyhow::Result<()> {
        let number = self.dice.place(NODES);
        self.nodes.delete(&name(number), &DeleteParams::default()).await?;
        self.nodes
            .create(&PostParams::default(), &fixture(number).build())
            .await?;
        Ok(())
    }
}

/// Pods made at once. It must be made inside a Tokio runtime.
#[derive(Debug)]
pub(crate) struct Burst(JoinSet<()>);

/// What tells them from others.
const BURST: &str = "burst";

impl Burst {
    /// Makes so many, and takes those of earlier bursts away.
    pub(crate) fn start(client: &kube::Client, count: u64) -> Self {
        let pods: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
        let mut making = JoinSet::new();
        making.spawn(async move {
            let earlier = ListParams::default().labels(&format!("{BURST}=true"));
            let at_once = DeleteParams::default().grace_period(0);
            let _ = tokio::time::timeout(PATIENCE, pods.delete_collection(&at_once, &earlier)).await;
            let make = |_| {
                let mut object = pod("").cpu("20m").label(BURST, "true").build();
                object.metadata.name = None;
                object.metadata.generate_name = Some(format!("{BURST}-"));
                let pods = &pods;
                async move {
                    // Some may fail, or be made although nobody says so.
                    let _ = tokio::time::timeout(PATIENCE, pods.create(&PostParams::default(), &object)).await;
                }
            };
            futures::stream::iter(0..count)
                .map(make)
                .buffer_unordered(8)
                .collect::<()>()
                .await;
        });
        Self(making)
    }

    /// Waits until all are made, or given up.
    pub(crate) async fn made(mut self) {
        while self.0.join_next().await.is_some() {}
    }
}

/// Makes the nodes again what they were at first, however often that takes.
pub(crate) async fn restore_nodes(client: &kube::Client, limit: Duration) -> anyhow::Result<()> {
    let nodes: Api<Node> = Api::all(client.clone());
    let deadline = tokio::time::Instant::now() + limit;
    for number in 0..NODES {
        loop {
            let restored = tokio::time::timeout(PATIENCE, restore_node(&nodes, number)).await;
            match restored.map_err(anyhow::Error::from).flatten() {
                Ok(()) => break,
                Err(error) if tokio::time::Instant::now() >= deadline => {
                    return Err(error.context("nodes cannot be restored"));
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(200)).await,
            }
        }
    }
    Ok(())
}

async fn restore_node(nodes: &Api<Node>, number: usize) -> anyhow::Result<()> {
    let patch = Patch::Merge(json!({ "spec": { "unschedulable": null } }));
    match nodes.patch(&name(number), &PatchParams::default(), &patch).await {
        Err(kube::Error::Api(status)) if status.is_not_found() => {
            nodes.create(&PostParams::default(), &fixture(number).build()).await?;
        }
        patched => drop(patched?),
    }
    Ok(())
}
