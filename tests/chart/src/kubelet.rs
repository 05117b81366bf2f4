//! Kubelets, played: pods of the image under test run as processes, all others only say that they run.
//!
//! ```text
//!  pods, as the API server has them ──► Kubelet, some times a second
//!     bound, of our image ──► Image (root file system) + volumes (ConfigMap, Secret, token) ──► Running (a process)
//!     their probes        ──► Ready or not
//!     to be deleted       ──► SIGTERM, the end, gone
//!  manifests of nodes ──► the same, without an API server that could take them away
//! ```

mod container;
mod host;
mod image;
mod mount;
mod probes;
mod status;
mod volumes;
mod worker;

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::{Client, ResourceExt};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::task::JoinSet;
use tokio::time::Instant;

pub use container::possible;
pub use host::Host;
pub use image::Image;

use worker::Worker;

/// Between two looks at everything.
const PACE: Duration = Duration::from_millis(250);

/// A process of a pod.
#[derive(Clone, Debug)]
pub struct Replica {
    /// The pod's name, which is the host's name for the process.
    pub pod: String,
    /// The pod's UID.
    pub uid: String,
    /// The process.
    pub process: u32,
    /// The pod's address.
    pub address: Ipv4Addr,
    /// Whether its probes say that it is ready.
    pub ready: bool,
    /// How often it was started anew.
    pub restarts: i32,
    log: PathBuf,
}

impl Replica {
    /// What it has said so far.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap_or_default()).into_owned()
    }
}

/// A process that has ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Its pod's name.
    pub pod: String,
    /// Its exit code; `None` for a signal.
    pub code: Option<i32>,
    /// Whether it was asked to.
    pub asked: bool,
    /// What it has said.
    pub log: String,
}

/// Plays every kubelet of the cluster while it lives.
#[derive(Debug)]
pub struct Kubelet {
    book: Arc<Mutex<Book>>,
    _task: JoinSet<()>,
}

/// What tests see, and what they want.
#[derive(Debug, Default)]
struct Book {
    replicas: Vec<Replica>,
    ended: Vec<Ended>,
    troubles: BTreeSet<String>,
    /// Static pods, by name.
    manifests: BTreeMap<String, Pod>,
}

fn locked(book: &Mutex<Book>) -> MutexGuard<'_, Book> {
    book.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Kubelet {
    /// Starts with an administrator's rights. Pods whose container has an image of this name, of whatever registry and
    /// version, run as processes of `program`.
    pub fn start(client: Client, host: Host, image: &str, program: &Path) -> anyhow::Result<Self> {
        let book = Arc::new(Mutex::new(Book::default()));
        let mut worker = Worker::new(client, host, image, Image::of(program)?, Arc::clone(&book));
        let mut task = JoinSet::new();
        task.spawn(async move {
            loop {
                Box::pin(worker.look()).await;
                tokio::time::sleep(PACE).await;
            }
        });
        Ok(Self { book, _task: task })
    }

    /// Every process that runs, by its pod's name.
    pub fn replicas(&self) -> Vec<Replica> {
        locked(&self.book).replicas.clone()
    }

    /// Every process that has ended so far, in their order.
    pub fn ended(&self) -> Vec<Ended> {
        locked(&self.book).ended.clone()
    }

    /// Puts a manifest into a node's folder of static pods.
    pub fn put_manifest(&self, pod: Pod) {
        locked(&self.book).manifests.insert(pod.name_any(), pod);
    }

    /// Takes a manifest out of a node's folder of static pods.
    pub fn take_manifest(&self, name: &str) {
        locked(&self.book).manifests.remove(name);
    }

    /// SIGKILL to every process.
    pub fn kill_all(&self) {
        for replica in self.replicas() {
            let number = i32::try_from(replica.process).ok().and_then(Pid::from_raw);
            // One that has just ended by itself is none that can be killed.
            let _ = number.map(|number| kill_process_group(number, Signal::KILL));
        }
    }

    /// Waits until what runs is as it should be.
    pub async fn until<T>(
        &self,
        what: &str,
        limit: Duration,
        found: impl Fn(&[Replica]) -> Option<T>,
    ) -> anyhow::Result<T> {
        let deadline = Instant::now() + limit;
        loop {
            let replicas = self.replicas();
            if let Some(found) = found(&replicas) {
                return Ok(found);
            }
            ensure!(
                Instant::now() < deadline,
                "in vain waited until {what}; there are {replicas:#?}, and ended are {:#?}; {:#?}",
                self.ended(),
                locked(&self.book).troubles
            );
            tokio::time::sleep(PACE).await;
        }
    }
}

/// A field of the pod, as in the downward API.
fn field(pod: &Pod, path: &str) -> anyhow::Result<String> {
    let value = match path {
        "metadata.name" => pod.metadata.name.clone(),
        "metadata.namespace" => pod.metadata.namespace.clone(),
        "metadata.uid" => pod.metadata.uid.clone(),
        "spec.nodeName" => pod.spec.as_ref().and_then(|spec| spec.node_name.clone()),
        _ => None,
    };
    value.with_context(|| format!("no kubelet here knows the field {path}"))
}
