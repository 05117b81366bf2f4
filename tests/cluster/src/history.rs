//! Everything that happened to pods, nodes, their storage and the lease, as etcd took it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::CSINode;
use plimsoll_controlplane::{Change, Etcd, EtcdClient};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::explain::PodFacts;

/// An etcd that does not answer for so long will not be started again.
const GONE_FOR_GOOD: Duration = Duration::from_mins(2);

/// One change of an object the tests care about.
#[derive(Clone, Debug)]
pub enum Record {
    /// A pod was written; the key is `namespace/name`.
    Pod(String, Box<Pod>),
    /// A pod is gone for good.
    PodGone(String),
    /// A node was written.
    Node(String, Box<Node>),
    /// A node is gone.
    NodeGone(String),
    /// The schedulers' lease was written.
    Lease(Box<Lease>),
    /// A persistent volume was written.
    Volume(String, Box<PersistentVolume>),
    /// A persistent volume is gone.
    VolumeGone(String),
    /// A persistent volume claim was written; the key is `namespace/name`.
    Claim(String, Box<PersistentVolumeClaim>),
    /// A persistent volume claim is gone.
    ClaimGone(String),
    /// What drivers say of a node was written.
    CsiNode(String, Box<CSINode>),
    /// What drivers said of a node is gone.
    CsiNodeGone(String),
}

/// What there is after a number of records.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// By `namespace/name`.
    pub pods: BTreeMap<String, Pod>,
    /// By name.
    pub nodes: BTreeMap<String, Node>,
    /// Persistent volumes by name.
    pub volumes: BTreeMap<String, PersistentVolume>,
    /// Persistent volume claims by `namespace/name`.
    pub claims: BTreeMap<String, PersistentVolumeClaim>,
    /// What drivers say of nodes, by node.
    pub csi_nodes: BTreeMap<String, CSINode>,
    /// Who held the lease, in order, without repetitions; an empty name means that it was released.
    pub holders: Vec<String>,
}

/// A recorder that follows etcd from its start until it is dropped.
#[derive(Debug)]
pub struct History {
    shared: Arc<Shared>,
    news: watch::Receiver<()>,
    _task: JoinSet<()>,
}

#[derive(Debug, Default)]
struct Shared {
    book: Mutex<Book>,
}

#[derive(Debug, Default)]
struct Book {
    records: Vec<(i64, Record)>,
    state: State,
    /// The revision of the last write, whatever it was to.
    seen: i64,
    failure: Option<String>,
}

impl State {
    /// Applies the next record.
    pub fn apply(&mut self, record: &Record) {
        match record {
            Record::Pod(key, pod) => drop(self.pods.insert(key.clone(), pod.as_ref().clone())),
            Record::PodGone(key) => drop(self.pods.remove(key)),
            Record::Node(name, node) => drop(self.nodes.insert(name.clone(), node.as_ref().clone())),
            Record::NodeGone(name) => drop(self.nodes.remove(name)),
            Record::Volume(name, volume) => drop(self.volumes.insert(name.clone(), volume.as_ref().clone())),
            Record::VolumeGone(name) => drop(self.volumes.remove(name)),
            Record::Claim(key, claim) => drop(self.claims.insert(key.clone(), claim.as_ref().clone())),
            Record::ClaimGone(key) => drop(self.claims.remove(key)),
            Record::CsiNode(name, csi) => drop(self.csi_nodes.insert(name.clone(), csi.as_ref().clone())),
            Record::CsiNodeGone(name) => drop(self.csi_nodes.remove(name)),
            Record::Lease(lease) => {
                let holder = lease
                    .spec
                    .as_ref()
                    .and_then(|spec| spec.holder_identity.clone())
                    .unwrap_or_default();
                if self.holders.last() != Some(&holder) {
                    self.holders.push(holder);
                }
            }
        }
    }

    /// The pod called `name` in any namespace of this test run.
    pub fn pod(&self, name: &str) -> Option<&Pod> {
        self.pods
            .values()
            .find(|pod| pod.metadata.name.as_deref() == Some(name))
    }

    /// The claim called `name` in any namespace of this test run.
    pub fn claim(&self, name: &str) -> Option<&PersistentVolumeClaim> {
        self.claims
            .values()
            .find(|claim| claim.metadata.name.as_deref() == Some(name))
    }

    /// How many pods are bound.
    pub fn bound(&self) -> usize {
        self.pods.values().filter(|pod| pod.node().is_some()).count()
    }

    /// Who holds the lease now; `None` when nobody does.
    pub fn holder(&self) -> Option<&str> {
        self.holders
            .last()
            .map(String::as_str)
            .filter(|holder| !holder.is_empty())
    }

    /// A line per pod, for messages.
    pub fn summary(&self) -> String {
        let line = |pod: &Pod| match (pod.node(), pod.scheduled()) {
            (Some(node), _) => format!("{} on {node}", pod.key()),
            (None, Some(condition)) => {
                format!(
                    "{} pending: {}",
                    pod.key(),
                    condition.message.as_deref().unwrap_or("(no message)")
                )
            }
            (None, None) => format!("{} pending, unexplained", pod.key()),
        };
        let lines: Vec<String> = self.pods.values().take(40).map(line).collect();
        format!(
            "{} pods, {} bound, {} nodes\n  {}",
            self.pods.len(),
            self.bound(),
            self.nodes.len(),
            lines.join("\n  ")
        )
    }
}

impl History {
    /// Starts recording with everything after `revision`. It must be called inside a Tokio runtime.
    pub async fn start(etcd: &Etcd, revision: i64) -> anyhow::Result<Self> {
        let changes = etcd.history(revision + 1).await?.boxed();
        Ok(Self::recording(revision, async move |shared, tell| {
            let broken = follow(changes, &shared, &tell).await;
            shared.fail(&broken, &tell);
        }))
    }

    /// The same of an etcd that is killed and started again meanwhile: nothing is missed, as etcd keeps its history. It
    /// must be called inside a Tokio runtime.
    pub fn start_over_restarts(etcd: EtcdClient, revision: i64) -> Self {
        Self::recording(revision, async move |shared, tell| {
            let mut since = Instant::now();
            loop {
                let before = shared.lock().seen;
                let broken = match etcd.history(before + 1).await {
                    Ok(changes) => follow(changes.boxed(), &shared, &tell).await,
                    Err(error) => error,
                };
                if shared.lock().seen > before {
                    since = Instant::now();
                } else if since.elapsed() > GONE_FOR_GOOD {
                    return shared.fail(&broken, &tell);
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        })
    }

    fn recording<W>(revision: i64, work: impl FnOnce(Arc<Shared>, watch::Sender<()>) -> W) -> Self
    where
        W: Future<Output = ()> + Send + 'static,
    {
        let shared = Arc::new(Shared::default());
        shared.lock().seen = revision;
        let (tell, news) = watch::channel(());
        let mut task = JoinSet::new();
        task.spawn(work(Arc::clone(&shared), tell));
        Self {
            shared,
            news,
            _task: task,
        }
    }

    /// Takes the records so far out, so that a long run does not keep them all. The state stays.
    pub fn take_records(&self) -> Vec<(i64, Record)> {
        std::mem::take(&mut self.shared.lock().records)
    }

    /// Waits until everything up to this revision is recorded.
    pub async fn caught_up(&self, revision: i64, limit: Duration) -> anyhow::Result<()> {
        let deadline = Instant::now() + limit;
        loop {
            let (seen, failure) = {
                let book = self.shared.lock();
                (book.seen, book.failure.clone())
            };
            if seen >= revision {
                return Ok(());
            }
            if let Some(failure) = failure {
                anyhow::bail!("the recorder failed: {failure}");
            }
            anyhow::ensure!(
                Instant::now() < deadline,
                "the recorder is at revision {seen} and does not get to {revision}"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Reads something from the present state.
    pub fn read<T>(&self, question: impl FnOnce(&State) -> T) -> T {
        question(&self.shared.lock().state)
    }

    /// Reads something from all records so far, each with its revision.
    pub fn read_records<T>(&self, question: impl FnOnce(&[(i64, Record)]) -> T) -> T {
        question(&self.shared.lock().records)
    }

    /// Waits until `answer` gives something, looking again after every change; an error that shows the state after
    /// `limit`.
    pub async fn until<T>(
        &self,
        what: &str,
        limit: Duration,
        mut answer: impl FnMut(&State) -> Option<T>,
    ) -> anyhow::Result<T> {
        self.wait(what, limit, |book| answer(&book.state)).await
    }

    /// The same of all records so far: also of what has passed by now.
    pub async fn until_recorded<T>(
        &self,
        what: &str,
        limit: Duration,
        mut answer: impl FnMut(&[(i64, Record)]) -> Option<T>,
    ) -> anyhow::Result<T> {
        self.wait(what, limit, |book| answer(&book.records)).await
    }

    async fn wait<T>(
        &self,
        what: &str,
        limit: Duration,
        mut answer: impl FnMut(&Book) -> Option<T>,
    ) -> anyhow::Result<T> {
        let mut news = self.news.clone();
        let wait = async {
            loop {
                news.borrow_and_update();
                let (found, failure) = {
                    let book = self.shared.lock();
                    (answer(&book), book.failure.clone())
                };
                if let Some(found) = found {
                    return Ok(found);
                }
                if let Some(failure) = failure {
                    anyhow::bail!("the recorder failed: {failure}");
                }
                // Also fails when the recorder has ended, and then the loop above has told why.
                let _ = news.changed().await;
            }
        };
        let timeout = || format!("not within {limit:?}: {what}; there are {}", self.read(State::summary));
        tokio::time::timeout(limit, wait).await.with_context(timeout)?
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, change: &Change) -> anyhow::Result<()> {
        let record = decode(change)?;
        let mut book = self.lock();
        if let Some(record) = record {
            book.state.apply(&record);
            book.records.push((change.revision, record));
        }
        book.seen = change.revision;
        Ok(())
    }

    fn fail(&self, error: &anyhow::Error, tell: &watch::Sender<()>) {
        self.lock().failure = Some(format!("{error:#}"));
        tell.send_replace(());
    }
}

/// Records every change until there are no more, and returns why.
async fn follow(
    mut changes: BoxStream<'static, anyhow::Result<Change>>,
    shared: &Shared,
    tell: &watch::Sender<()>,
) -> anyhow::Error {
    loop {
        let next = changes.try_next().await;
        let written = next
            .and_then(|change| change.context("etcd's history ended"))
            .and_then(|change| shared.write(&change));
        if let Err(error) = written {
            return error;
        }
        tell.send_replace(());
    }
}

/// What a change of etcd says, or `None` for an object nobody asks about.
fn decode(change: &Change) -> anyhow::Result<Option<Record>> {
    let Some(key) = change.key.strip_prefix("/registry/") else {
        return Ok(None);
    };
    let (kind, name) = key.split_once('/').unwrap_or((key, ""));
    let name = name.to_owned();
    Ok(Some(match (kind, &change.value) {
        ("pods", None) => Record::PodGone(name),
        ("pods", Some(value)) => {
            let mut pod: Box<Pod> = read(change, value)?;
            pod.metadata.managed_fields = None;
            Record::Pod(name, pod)
        }
        ("minions", None) => Record::NodeGone(name),
        ("minions", Some(value)) => Record::Node(name, read(change, value)?),
        ("persistentvolumes", None) => Record::VolumeGone(name),
        ("persistentvolumes", Some(value)) => Record::Volume(name, read(change, value)?),
        ("persistentvolumeclaims", None) => Record::ClaimGone(name),
        ("persistentvolumeclaims", Some(value)) => Record::Claim(name, read(change, value)?),
        ("csinodes", None) => Record::CsiNodeGone(name),
        ("csinodes", Some(value)) => Record::CsiNode(name, read(change, value)?),
        ("leases", Some(value)) if name == "kube-system/kube-scheduler" => Record::Lease(read(change, value)?),
        _ => return Ok(None),
    }))
}

fn read<T: serde::de::DeserializeOwned>(change: &Change, value: &[u8]) -> anyhow::Result<Box<T>> {
    serde_json::from_slice(value).with_context(|| format!("{} is no JSON object of its kind", change.key))
}
