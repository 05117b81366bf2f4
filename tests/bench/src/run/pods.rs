//! Making pods, with the volumes that they have.

use std::collections::BTreeMap;

use anyhow::Context;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Arrivals, Mode, Run};
use crate::load::Loader;
use crate::object::{self, Objects};
use crate::observer::{Seen, Which};
use crate::workload::{Collected, CreatePods};

/// What pods are made from.
struct Making {
    namespace: String,
    pods: Objects,
    volumes: Option<(Objects, Objects)>,
    /// Whether they are on nodes from the start, so that nobody has to place them.
    placed: bool,
}

impl Run<'_> {
    pub(super) async fn create_pods(&mut self, number: usize, pods: &CreatePods) -> anyhow::Result<()> {
        let making = self.prepare(number, pods).await?;
        if making.placed {
            return self.create_placed_pods(&making).await;
        }
        if pods.collect {
            self.start_collecting(collected(&making)).await?;
        }
        let before = self.bound_in(&making.namespace)?;
        if let Some(time) = pods.steady {
            self.replace_placed_pods(&making, before, time).await?;
        } else {
            let at_a_rate = self.setting.mode == Mode::Rate && self.workload.measured_alone() == Some(number);
            let arrivals = if at_a_rate {
                Arrivals::Rate(self.setting.rate)
            } else {
                Arrivals::Rapid
            };
            make(&self.loader, &making, arrivals).await?;
            if pods.wait {
                self.all_placed(&making.namespace, before + pods.count).await?;
            } else {
                *self.unawaited.entry(making.namespace.clone()).or_default() += pods.count;
            }
        }
        if pods.collect {
            self.stop_collecting().await?;
        }
        Ok(())
    }

    /// Pods that are on nodes already. Hearing of each of them while it is written is not the scheduler's work, nor that of
    /// the machine, so it is started anew when all are there.
    async fn create_placed_pods(&mut self, making: &Making) -> anyhow::Result<()> {
        self.stop_contestant()?;
        make(&self.loader, making, Arrivals::Rapid).await?;
        let none = BTreeMap::new();
        let within = std::slice::from_ref(&making.namespace);
        let which = Which {
            namespaces: within,
            labels: &none,
        };
        self.seen_without_scheduler(|seen| seen.counts(which).bound >= making.pods.count())
            .await?;
        self.start_contestant()
    }

    /// The same with pods that are there before the scheduler is.
    pub(super) async fn drain_pods(&mut self, number: usize, pods: &CreatePods) -> anyhow::Result<()> {
        let making = self.prepare(number, pods).await?;
        self.stop_contestant()?;
        make(&self.loader, &making, Arrivals::Rapid).await?;
        let before = self.bound_in(&making.namespace)?;
        let there = |seen: &Seen| {
            let none = BTreeMap::new();
            let within = std::slice::from_ref(&making.namespace);
            seen.keys(Which {
                namespaces: within,
                labels: &none,
            })
            .len()
                >= pods.count
        };
        self.seen_without_scheduler(there).await?;
        self.collect_from_start(collected(&making)).await?;
        self.all_placed(&making.namespace, before + pods.count).await?;
        self.stop_collecting().await
    }

    /// The witness must know of the pods before they are placed, or it would not count them.
    async fn seen_without_scheduler(&self, there: impl Fn(&Seen) -> bool) -> anyhow::Result<()> {
        let deadline = Instant::now() + self.setting.limit;
        while !self.observer.ask(&there)? {
            anyhow::ensure!(Instant::now() < deadline, "the pods that were made are not seen");
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        Ok(())
    }

    async fn prepare(&mut self, number: usize, pods: &CreatePods) -> anyhow::Result<Making> {
        let namespace = pods.namespace.clone().unwrap_or_else(|| format!("namespace-{number}"));
        self.loader.namespace(&namespace).await?;
        self.unawaited.entry(namespace.clone()).or_default();
        let volumes = match &pods.volume {
            Some(volume) => Some((
                Objects::volumes(&volume.volume, pods.count)?,
                Objects::claims(&volume.claim, pods.count)?,
            )),
            None => None,
        };
        let objects = Objects::pods(pods.template.as_ref(), pods.count)?;
        let first = objects.object(0)?;
        self.loader.priority_class_of(&first).await?;
        Ok(Making {
            namespace,
            pods: objects,
            volumes,
            placed: first["spec"]["nodeName"].is_string(),
        })
    }

    fn bound_in(&self, namespace: &str) -> anyhow::Result<usize> {
        self.observer.ask(|seen| bound_in(seen, namespace))
    }

    async fn all_placed(&mut self, namespace: &str, wanted: usize) -> anyhow::Result<()> {
        let what = format!("{wanted} pods placed in {namespace}");
        self.until(&what, |seen| bound_in(seen, namespace) >= wanted).await
    }

    /// Makes a batch, waits until it is placed, deletes it and makes the next, until the time is over.
    async fn replace_placed_pods(
        &mut self,
        making: &Making,
        mut before: usize,
        time: std::time::Duration,
    ) -> anyhow::Result<()> {
        let end = Instant::now() + time;
        let everything = BTreeMap::new();
        while Instant::now() < end {
            make(&self.loader, making, Arrivals::Rapid).await?;
            before += making.pods.count();
            self.all_placed(&making.namespace, before).await?;
            self.loader.delete_pods(&making.namespace, &everything, true).await?;
        }
        Ok(())
    }
}

/// Who was seen bound there, the deleted among them.
fn bound_in(seen: &Seen, namespace: &str) -> usize {
    seen.bound().iter().filter(|bound| bound.namespace == namespace).count()
}

fn collected(making: &Making) -> Collected {
    Collected {
        name: String::new(),
        namespaces: vec![making.namespace.clone()],
        labels: BTreeMap::new(),
    }
}

async fn make(loader: &Loader, making: &Making, arrivals: Arrivals) -> anyhow::Result<()> {
    let start = Instant::now();
    let one = |index: usize| async move {
        let due = match arrivals.due(index)? {
            Some(after) => start + after,
            None => Instant::now(),
        };
        tokio::time::sleep_until(due).await;
        let mut pod = making.pods.object(index)?;
        if let Some((volumes, claims)) = &making.volumes {
            let (volume, claim) = (volumes.object(index)?, claims.object(index)?);
            let claim = bound_volume(loader, &making.namespace, index, volume, claim).await?;
            pod["spec"]["volumes"] = json!([{ "name": "vol", "persistentVolumeClaim": { "claimName": claim } }]);
        }
        loader.create_pod(&making.namespace, pod, due).await
    };
    match arrivals {
        Arrivals::Rapid => loader.all(making.pods.count(), one).await,
        // However many are under way: whom the server keeps waiting must not hold back the next.
        Arrivals::Rate(_) => futures::future::try_join_all((0..making.pods.count()).map(one))
            .await
            .map(drop),
    }
}

/// Makes a volume and its claim that are bound to each other, and returns the claim's name.
async fn bound_volume(
    loader: &Loader,
    namespace: &str,
    index: usize,
    mut volume: Value,
    mut claim: Value,
) -> anyhow::Result<String> {
    let claim_name = format!("pvc-{index}");
    let handle = format!("vol-{index}");
    let volume_name = format!("{namespace}-{handle}");
    volume["metadata"]["name"] = json!(volume_name);
    let spec = volume["spec"].as_object_mut().context("a volume without a spec")?;
    if let Some(csi) = spec.get_mut("csi") {
        csi["volumeHandle"] = json!(volume_name);
    } else if let Some(disk) = spec.get_mut("awsElasticBlockStore") {
        disk["volumeID"] = json!(handle);
    }
    spec.insert(
        "claimRef".to_owned(),
        json!({ "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": namespace, "name": claim_name }),
    );
    volume["status"] = json!({ "phase": "Bound" });
    claim["metadata"]["name"] = json!(claim_name);
    claim["spec"]["volumeName"] = json!(volume_name);
    claim["status"] = json!({ "phase": "Bound" });
    // What is made has no status yet, so that is written by itself.
    loader.create(Some(namespace), claim.clone()).await?;
    loader.replace(Some(namespace), &claim, "status").await?;
    loader.create(None, volume.clone()).await?;
    loader.replace(None, &volume, "status").await?;
    Ok(claim_name)
}

impl Loader {
    /// Makes the class that stands for the pod's priority.
    pub(super) async fn priority_class_of(&self, pod: &Value) -> anyhow::Result<()> {
        let Some(priority) = object::priority(pod) else {
            return Ok(());
        };
        self.create_unless_there(json!({
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": { "name": object::priority_class(priority) },
            "value": priority,
        }))
        .await
    }
}
