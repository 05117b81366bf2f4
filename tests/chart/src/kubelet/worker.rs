//! The one who looks at pods and processes, again and again.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Context;
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use tokio::time::Instant;

use super::container::Running;
use super::host::{Host, next_address};
use super::image::{Image, name_of};
use super::probes::Probes;
use super::{Book, Ended, Replica, locked, status};

/// What UIDs of static pods start with.
const STATIC: &str = "static-";

pub(super) struct Worker {
    client: Client,
    host: Host,
    image: String,
    content: Image,
    running: BTreeMap<String, Watched>,
    book: Arc<Mutex<Book>>,
}

/// A process under watch.
struct Watched {
    container: Running,
    probes: Probes,
    pod: Pod,
    address: Ipv4Addr,
    ready: bool,
    told: Option<(bool, i32)>,
    restarts: i32,
    /// When it was asked to end.
    leaving: Option<Instant>,
}

impl Worker {
    pub(super) fn new(client: Client, host: Host, image: &str, content: Image, book: Arc<Mutex<Book>>) -> Self {
        Self {
            client,
            host,
            image: image.to_owned(),
            content,
            running: BTreeMap::new(),
            book,
        }
    }

    /// Does what there is to do. What fails is tried again with the next look.
    pub(super) async fn look(&mut self) {
        let manifests = locked(&self.book).manifests.clone();
        if let Err(error) = self.look_at_manifests(&manifests).await {
            self.trouble(format!("{error:#}"));
        }
        // Without an API server, what runs goes on.
        if let Ok(list) = Api::<Pod>::all(self.client.clone()).list(&ListParams::default()).await {
            self.end_those_that_are_gone(&list.items);
            for pod in list.items {
                if let Err(error) = Box::pin(self.attend(&pod)).await {
                    self.trouble(format!("{}: {error:#}", pod.name_any()));
                }
            }
        }
        self.publish();
    }

    fn trouble(&self, text: String) {
        locked(&self.book).troubles.insert(text);
    }

    fn publish(&self) {
        let mut replicas: Vec<Replica> = self.running.values().map(Watched::replica).collect();
        replicas.sort_by(|one, other| one.pod.cmp(&other.pod));
        locked(&self.book).replicas = replicas;
    }

    fn ended(&self, watched: Watched) {
        locked(&self.book).ended.push(watched.end());
    }

    async fn look_at_manifests(&mut self, manifests: &BTreeMap<String, Pod>) -> anyhow::Result<()> {
        for (name, pod) in manifests {
            let uid = format!("{STATIC}{name}");
            let (mut restarts, mut address) = (0, next_address());
            if let Some(watched) = self.running.get_mut(&uid) {
                if watched.container.process.exited()?.is_none() {
                    watched.ready = watched.probes.ready().await;
                    continue;
                }
                (restarts, address) = (watched.restarts + 1, watched.address);
            }
            if let Some(watched) = self.running.remove(&uid) {
                self.ended(watched);
            }
            let watched = self.run(pod, &uid, restarts, address).await?;
            self.running.insert(uid, watched);
        }
        let kept: BTreeSet<String> = manifests.keys().map(|name| format!("{STATIC}{name}")).collect();
        let gone = |uid: &&String| uid.starts_with(STATIC) && !kept.contains(*uid);
        let gone: Vec<String> = self.running.keys().filter(gone).cloned().collect();
        for uid in gone {
            if let Some(mut watched) = self.running.remove(&uid) {
                if watched.container.process.exited()?.is_some() {
                    self.ended(watched);
                    continue;
                }
                watched.leave()?;
                self.running.insert(uid, watched);
            }
        }
        Ok(())
    }

    /// Pods that were deleted without waiting for the kubelet.
    fn end_those_that_are_gone(&mut self, pods: &[Pod]) {
        let there: BTreeSet<String> = pods.iter().filter_map(ResourceExt::uid).collect();
        for (uid, mut watched) in std::mem::take(&mut self.running) {
            if uid.starts_with(STATIC) || there.contains(&uid) {
                self.running.insert(uid, watched);
                continue;
            }
            if let Err(error) = watched.container.process.kill() {
                self.trouble(error.to_string());
            }
            self.ended(watched);
        }
    }

    async fn attend(&mut self, pod: &Pod) -> anyhow::Result<()> {
        let spec = pod.spec.as_ref().context("no spec")?;
        if spec.node_name.is_none() {
            return Ok(());
        }
        let is_ours = spec
            .containers
            .iter()
            .filter_map(|one| one.image.as_deref())
            .any(|image| name_of(image) == self.image);
        if !is_ours {
            return status::play(&self.client, pod).await;
        }
        let uid = pod.uid().context("no UID")?;
        let watched = match self.running.remove(&uid) {
            Some(watched) if watched.pod.uid() == Some(uid.clone()) => Box::pin(self.watch(pod, watched)).await?,
            _ => self.begin(pod, &uid).await?,
        };
        if let Some(watched) = watched {
            self.running.insert(uid, watched);
        }
        Ok(())
    }

    async fn begin(&self, pod: &Pod, uid: &str) -> anyhow::Result<Option<Watched>> {
        if pod.metadata.deletion_timestamp.is_some() {
            status::gone(&self.client, pod).await?;
            return Ok(None);
        }
        if status::is_over(pod) {
            return Ok(None);
        }
        self.run(pod, uid, 0, next_address()).await.map(Some)
    }

    /// Starts the pod's container. The pod keeps its address when that is started anew.
    async fn run(&self, pod: &Pod, uid: &str, restarts: i32, address: Ipv4Addr) -> anyhow::Result<Watched> {
        static STARTS: AtomicUsize = AtomicUsize::new(0);
        // A start that failed half-way left something behind, too.
        let start = STARTS.fetch_add(1, Ordering::Relaxed);
        let folder = self.host.folder.join(uid).join(format!("start-{start}"));
        let container = Running::start(&self.client, &self.host, &self.content, pod, address, &folder).await?;
        Ok(Watched {
            container,
            probes: Probes::of(pod, address)?,
            pod: pod.clone(),
            address,
            ready: false,
            told: None,
            restarts,
            leaving: None,
        })
    }

    /// One look at a process. An error loses it, which kills it: a test should see that.
    async fn watch(&self, pod: &Pod, mut watched: Watched) -> anyhow::Result<Option<Watched>> {
        if let Some(status) = watched.container.process.exited()? {
            return self.after_the_end(pod, watched, status.code()).await;
        }
        watched.pod = pod.clone();
        if pod.metadata.deletion_timestamp.is_some() {
            watched.leave()?;
            return Ok(Some(watched));
        }
        if let Err(error) = watched.container.refresh(&self.client, pod).await {
            self.trouble(format!("{}: {error:#}", pod.name_any()));
        }
        watched.ready = watched.probes.ready().await;
        let told = (watched.ready, watched.restarts);
        if watched.told != Some(told) {
            match status::tell(&self.client, pod, &watched.replica()).await {
                Ok(()) => watched.told = Some(told),
                Err(error) => self.trouble(format!("{}: {error:#}", pod.name_any())),
            }
        }
        Ok(Some(watched))
    }

    async fn after_the_end(&self, pod: &Pod, watched: Watched, code: Option<i32>) -> anyhow::Result<Option<Watched>> {
        let (restarts, address) = (watched.restarts, watched.address);
        self.ended(watched);
        if pod.metadata.deletion_timestamp.is_some() {
            status::gone(&self.client, pod).await?;
            return Ok(None);
        }
        let restarted = pod.spec.as_ref().and_then(|spec| spec.restart_policy.as_deref());
        if restarted == Some("Never") {
            status::over(&self.client, pod, code == Some(0)).await?;
            return Ok(None);
        }
        let uid = pod.uid().context("no UID")?;
        self.run(pod, &uid, restarts + 1, address).await.map(Some)
    }
}

impl Watched {
    fn replica(&self) -> Replica {
        Replica {
            pod: self.pod.name_any(),
            uid: self.pod.uid().unwrap_or_default(),
            process: self.container.process.id(),
            address: self.address,
            ready: self.ready,
            restarts: self.restarts,
            log: self.container.process.log().to_owned(),
        }
    }

    fn end(mut self) -> Ended {
        let process = &mut self.container.process;
        Ended {
            pod: self.pod.name_any(),
            code: process.exited().ok().flatten().and_then(|status| status.code()),
            asked: self.leaving.is_some(),
            log: process.log_text(),
        }
    }

    /// Asks it to end, and when its time is up does not ask any more.
    fn leave(&mut self) -> anyhow::Result<()> {
        let spec = self.pod.spec.as_ref();
        let grace = self.pod.metadata.deletion_grace_period_seconds;
        let grace = grace.or_else(|| spec?.termination_grace_period_seconds).unwrap_or(30);
        let grace = Duration::from_secs(grace.try_into().unwrap_or_default());
        match self.leaving {
            None => {
                self.container.process.ask_to_end()?;
                self.leaving = Some(Instant::now());
            }
            Some(since) if since.elapsed() > grace => self.container.process.kill()?,
            Some(_) => {}
        }
        Ok(())
    }
}
