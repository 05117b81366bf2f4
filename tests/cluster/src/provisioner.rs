//! The provisioner of a CSI driver that has nothing but its books: asked for a volume by a claim, it makes the object, as
//! reachable from the nodes of one segment of its topology as a real volume would be.
//!
//! ```text
//!  claim (annotated by the controller, naming a node where its class says so)
//!     └─► Conduct ── Provides ──► PersistentVolume reachable from the node's segment, less room there
//!                ├── Refuses  ──► the claim names no node any more: the scheduler is to look for another
//!                └── IsSilent ──► nothing
//!  volume (Released, to be deleted) ──► gone, its room given back
//! ```

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, ensure};
use futures::TryStreamExt;
use futures::future::{Either, select};
use k8s_openapi::api::core::v1::{Node, PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::{CSIStorageCapacity, StorageClass};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use plimsoll_controlplane::written;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::cluster::storage::selected;
use crate::fixtures::DRIVER;
use crate::quantity::thousandths;

/// How many claims or volumes are dealt with at once.
const AT_ONCE: usize = 32;

const GIBIBYTE: i128 = 1 << 30;

/// What it does with claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conduct {
    /// It makes their volumes.
    Provides,
    /// It makes their volumes, each after that time.
    ProvidesAfter(Duration),
    /// It takes back the node that they name.
    Refuses,
    /// It does nothing.
    IsSilent,
}

/// A driver being described.
#[derive(Clone, Debug)]
pub struct Driver {
    topology_key: String,
    conduct: Conduct,
    /// In bytes by segment; a segment that is not named has room without end.
    room: BTreeMap<String, i128>,
    /// The classes of which it says how much room there is.
    told: Vec<String>,
}

/// A running provisioner. Dropping it ends it.
#[derive(Debug)]
pub struct Provisioner {
    conduct: watch::Sender<Conduct>,
    _task: JoinSet<()>,
}

/// [`DRIVER`], whose volumes are reachable from the nodes with the same value of this label.
pub fn driver(topology_key: &str) -> Driver {
    Driver {
        topology_key: topology_key.to_owned(),
        conduct: Conduct::Provides,
        room: BTreeMap::new(),
        told: Vec::new(),
    }
}

impl Driver {
    /// What it does at first; it provides unless told.
    #[must_use]
    pub fn conduct(mut self, conduct: Conduct) -> Self {
        self.conduct = conduct;
        self
    }

    /// How much room there is in a segment, in GiB.
    #[must_use]
    pub fn room(mut self, segment: &str, gibibytes: u32) -> Self {
        self.room.insert(segment.to_owned(), i128::from(gibibytes) * GIBIBYTE);
        self
    }

    /// It says how much room there is for volumes of the class, in every segment whose room is known.
    #[must_use]
    pub fn tells_room_of(mut self, class: &str) -> Self {
        self.told.push(class.to_owned());
        self
    }
}

impl Provisioner {
    pub(crate) async fn start(client: kube::Client, namespace: &str, driver: Driver) -> anyhow::Result<Self> {
        let conduct = watch::Sender::new(driver.conduct);
        let work = Arc::new(Work {
            client,
            namespace: namespace.to_owned(),
            driver,
            taken: Mutex::new(BTreeMap::new()),
            telling: tokio::sync::Mutex::new(()),
        });
        work.tell_all_room().await?;
        let mut task = JoinSet::new();
        let changes = conduct.subscribe();
        task.spawn(async move {
            loop {
                // Whatever failed is tried again, and claims passed over are looked at again when the conduct changes.
                let _ = Box::pin(go_on(Arc::clone(&work), changes.clone())).await;
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        });
        Ok(Self { conduct, _task: task })
    }

    /// Does otherwise from now on, with claims that it has seen already too.
    pub fn behave(&self, conduct: Conduct) {
        self.conduct.send_replace(conduct);
    }
}

struct Work {
    client: kube::Client,
    namespace: String,
    driver: Driver,
    /// Its volumes, those being made too: the segment and the size of each.
    taken: Mutex<BTreeMap<String, (String, i128)>>,
    /// Held while it says how much room there is, so that the last word is the latest.
    telling: tokio::sync::Mutex<()>,
}

/// Works until something fails or the conduct changes.
async fn go_on(work: Arc<Work>, mut changes: watch::Receiver<Conduct>) -> anyhow::Result<()> {
    let conduct = *changes.borrow_and_update();
    let (answers, looks) = (Arc::clone(&work), Arc::clone(&work));
    let claims = written(Api::<PersistentVolumeClaim>::all(work.client.clone()));
    let claims = claims.try_for_each_concurrent(AT_ONCE, move |claim| {
        let work = Arc::clone(&answers);
        async move { work.answer(conduct, claim).await }
    });
    let volumes = written(Api::<PersistentVolume>::all(work.client.clone()));
    let volumes = volumes.try_for_each_concurrent(AT_ONCE, move |volume| {
        let work = Arc::clone(&looks);
        async move { Box::pin(work.look_at(volume)).await }
    });
    let work = Box::pin(futures::future::try_join(claims, volumes));
    match select(work, Box::pin(changes.changed())).await {
        Either::Left((outcome, _)) => outcome.map(drop),
        Either::Right(_) => Ok(()),
    }
}

impl Work {
    /// Does what the claim asks for, if it asks this provisioner for anything.
    async fn answer(&self, conduct: Conduct, claim: PersistentVolumeClaim) -> anyhow::Result<()> {
        if !asks(&claim) {
            return Ok(());
        }
        match conduct {
            Conduct::IsSilent => return Ok(()),
            Conduct::Refuses => return self.refuse(&claim).await,
            Conduct::ProvidesAfter(time) => tokio::time::sleep(time).await,
            Conduct::Provides => {}
        }
        let class = claim.spec.as_ref().and_then(|spec| spec.storage_class_name.as_deref());
        let class = Api::<StorageClass>::all(self.client.clone())
            .get(class.unwrap_or_default())
            .await?;
        let waits = class.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer");
        let segment = match selected(&claim) {
            Some(node) => self.segment_of(node).await?,
            // It comes back when a pod has a node.
            None if waits => return Ok(()),
            None => self.roomiest()?,
        };
        let size = size(&claim)?;
        let name = format!("pvc-{}", claim.metadata.uid.as_deref().unwrap_or_default());
        if !self.take(&name, &segment, size) {
            return self.refuse(&claim).await;
        }
        self.make(&name, &segment, &claim, &class).await?;
        self.tell_room(&segment).await
    }

    async fn make(
        &self,
        name: &str,
        segment: &str,
        claim: &PersistentVolumeClaim,
        class: &StorageClass,
    ) -> anyhow::Result<()> {
        let spec = claim.spec.as_ref().context("a claim without a spec")?;
        let requests = spec
            .resources
            .as_ref()
            .and_then(|resources| resources.requests.as_ref());
        let expression = json!({ "key": self.driver.topology_key, "operator": "In", "values": [segment] });
        let volume = json!({
            "metadata": { "name": name, "annotations": { "pv.kubernetes.io/provisioned-by": DRIVER } },
            "spec": {
                "capacity": requests,
                "accessModes": spec.access_modes,
                "volumeMode": spec.volume_mode,
                "storageClassName": class.metadata.name,
                "persistentVolumeReclaimPolicy": class.reclaim_policy,
                "csi": { "driver": DRIVER, "volumeHandle": name },
                "nodeAffinity": { "required": { "nodeSelectorTerms": [{ "matchExpressions": [expression] }] } },
                "claimRef": {
                    "apiVersion": "v1",
                    "kind": "PersistentVolumeClaim",
                    "namespace": claim.metadata.namespace,
                    "name": claim.metadata.name,
                    "uid": claim.metadata.uid,
                },
            },
        });
        let volumes = Api::<PersistentVolume>::all(self.client.clone());
        let volume = serde_json::from_value(volume)?;
        match volumes.create(&PostParams::default(), &volume).await {
            // The claim was written again before the controller had seen its volume.
            Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
            outcome => outcome.map(drop).map_err(anyhow::Error::from),
        }
    }

    /// Takes back the node that the claim names, whereupon the scheduler looks for another.
    async fn refuse(&self, claim: &PersistentVolumeClaim) -> anyhow::Result<()> {
        let name = claim.metadata.name.as_deref().unwrap_or_default();
        if selected(claim).is_none() {
            return Ok(());
        }
        let nowhere = json!({ "metadata": { "annotations": { "volume.kubernetes.io/selected-node": null } } });
        let namespace = claim.metadata.namespace.as_deref().unwrap_or_default();
        let claims = Api::<PersistentVolumeClaim>::namespaced(self.client.clone(), namespace);
        match claims
            .patch(name, &PatchParams::default(), &Patch::Merge(nowhere))
            .await
        {
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
            outcome => outcome.map(drop).map_err(anyhow::Error::from),
        }
    }

    /// Keeps the books of a volume that was written, and ends it when its claim is gone.
    async fn look_at(&self, volume: PersistentVolume) -> anyhow::Result<()> {
        let Some(kept) = kept(&volume)? else { return Ok(()) };
        if volume.metadata.deletion_timestamp.is_some() {
            return Ok(());
        }
        let name = volume.metadata.name.as_deref().unwrap_or_default();
        let phase = volume.status.as_ref().and_then(|status| status.phase.as_deref());
        let policy = volume.spec.as_ref();
        let policy = policy.and_then(|spec| spec.persistent_volume_reclaim_policy.as_deref());
        if (phase, policy) != (Some("Released"), Some("Delete")) {
            self.books().entry(name.to_owned()).or_insert(kept);
            return Ok(());
        }
        let volumes = Api::<PersistentVolume>::all(self.client.clone());
        match volumes.delete(name, &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.is_not_found() => {}
            outcome => drop(outcome?),
        }
        self.books().remove(name);
        self.tell_room(&kept.0).await
    }

    /// Enters a volume into the books, unless there is no room for it.
    fn take(&self, name: &str, segment: &str, size: i128) -> bool {
        let mut books = self.books();
        let entered = books.contains_key(name);
        let room = self.driver.room.get(segment).map(|room| room - used(&books, segment));
        if !entered && room.is_some_and(|room| room < size) {
            return false;
        }
        books.insert(name.to_owned(), (segment.to_owned(), size));
        true
    }

    /// Where the most room is.
    fn roomiest(&self) -> anyhow::Result<String> {
        let books = self.books();
        let room = |(segment, room): &(&String, &i128)| *room - used(&books, segment);
        let most = self.driver.room.iter().max_by_key(room);
        Ok(most.context("a volume for no node, and no segment is known")?.0.clone())
    }

    async fn segment_of(&self, node: &str) -> anyhow::Result<String> {
        let node = Api::<Node>::all(self.client.clone()).get(node).await?;
        let label = node
            .metadata
            .labels
            .and_then(|mut labels| labels.remove(&self.driver.topology_key));
        label.with_context(|| format!("the node has no {}", self.driver.topology_key))
    }

    async fn tell_all_room(&self) -> anyhow::Result<()> {
        for segment in self.driver.room.keys() {
            for class in &self.driver.told {
                let told = json!({
                    "metadata": { "name": told_as(class, segment) },
                    "nodeTopology": { "matchLabels": { &self.driver.topology_key: segment } },
                    "storageClassName": class,
                    "capacity": self.left(segment).map(|left| left.to_string()),
                });
                self.capacities()
                    .create(&PostParams::default(), &serde_json::from_value(told)?)
                    .await?;
            }
        }
        Ok(())
    }

    async fn tell_room(&self, segment: &str) -> anyhow::Result<()> {
        let _held = self.telling.lock().await;
        let Some(left) = self.left(segment) else { return Ok(()) };
        for class in &self.driver.told {
            let told = Patch::Merge(json!({ "capacity": left.to_string() }));
            self.capacities()
                .patch(&told_as(class, segment), &PatchParams::default(), &told)
                .await?;
        }
        Ok(())
    }

    /// How much room is left in a segment, where that is known.
    fn left(&self, segment: &str) -> Option<i128> {
        Some(self.driver.room.get(segment)? - used(&self.books(), segment))
    }

    fn capacities(&self) -> Api<CSIStorageCapacity> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    fn books(&self) -> MutexGuard<'_, BTreeMap<String, (String, i128)>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn used(books: &BTreeMap<String, (String, i128)>, segment: &str) -> i128 {
    books
        .values()
        .filter(|(of, _)| of == segment)
        .map(|(_, size)| size)
        .sum()
}

fn told_as(class: &str, segment: &str) -> String {
    format!("{class}-{segment}")
}

/// Whether the controller has told this provisioner to make a volume for the claim.
fn asks(claim: &PersistentVolumeClaim) -> bool {
    let told = claim.metadata.annotations.iter().flatten();
    let ours = told
        .into_iter()
        .any(|(key, value)| key == "volume.kubernetes.io/storage-provisioner" && value == DRIVER);
    let has_volume = claim.spec.as_ref().is_some_and(|spec| spec.volume_name.is_some());
    ours && !has_volume && claim.metadata.deletion_timestamp.is_none()
}

fn size(claim: &PersistentVolumeClaim) -> anyhow::Result<i128> {
    let resources = claim.spec.as_ref().and_then(|spec| spec.resources.as_ref());
    let requests = resources.and_then(|resources| resources.requests.as_ref());
    let size = requests.and_then(|requests| requests.get("storage"));
    let size = thousandths(&size.context("a claim of no size")?.0)? / 1000;
    ensure!(size > 0, "a claim of no size");
    Ok(size)
}

/// The segment and the size of a volume, if it is this provisioner's.
fn kept(volume: &PersistentVolume) -> anyhow::Result<Option<(String, i128)>> {
    let by = volume.metadata.annotations.iter().flatten();
    let ours = by
        .into_iter()
        .any(|(key, value)| key == "pv.kubernetes.io/provisioned-by" && value == DRIVER);
    if !ours {
        return Ok(None);
    }
    let object = serde_json::to_value(volume)?;
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let affinity = "/spec/nodeAffinity/required/nodeSelectorTerms/0/matchExpressions/0/values/0";
    let segment = text(affinity).context("a volume of nowhere")?;
    let size = text("/spec/capacity/storage").context("a volume of no size")?;
    Ok(Some((segment, thousandths(&size)? / 1000)))
}
