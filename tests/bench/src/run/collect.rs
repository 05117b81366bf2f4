//! What is measured between two moments.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde::Serialize;
use tokio::time::Instant;

use super::requests::{self, Requests};
use super::{Mode, Run};
use crate::contestant::Running;
use crate::latency::Latency;
use crate::observer::Which;
use crate::statistics::real;
use crate::throughput::Throughput;
use crate::workload::Collected;

/// A measurement that has begun.
#[derive(Debug)]
pub(super) struct Collecting {
    what: Collected,
    began: Instant,
    /// How many were bound before.
    bound: usize,
    /// Whether the scheduler was started when it began.
    from_start: bool,
    scheduler: Duration,
    api_server: Duration,
    /// Processor time of the scheduler, and how many pods were bound, when the first of them was seen.
    first: Option<(Duration, usize)>,
    asked: Requests,
    served: Requests,
    own: BTreeMap<String, u64>,
}

/// What was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// What it is called beside the workload; most often nothing.
    pub name: String,
    /// How fast.
    pub throughput: Throughput,
    /// How long pods waited.
    pub latency: Option<Latency>,
    /// Processor time of the scheduler for each pod in milliseconds. Of a drain, of what came after the first pods:
    /// reading the cluster is not in it.
    pub cpu_ms_per_pod: Option<f64>,
    /// The same with its start.
    pub cpu_ms_per_pod_with_start: f64,
    /// Of the API server, the loader's part included.
    pub api_server_cpu_ms_per_pod: f64,
    /// The most memory that the scheduler ever had, in bytes.
    pub peak_memory: u64,
    /// What it had at the end, in bytes.
    pub last_memory: u64,
    /// What the scheduler asked of the API server for each pod, as it counts itself, by method.
    pub asked_per_pod: BTreeMap<String, f64>,
    /// What the API server was asked to write for each pod by others than the loader, by resource, as it counts;
    /// nothing of the embedded one.
    pub served_per_pod: BTreeMap<String, f64>,
    /// What had become of the spans of traces at the end: `exported`, or why they were dropped.
    pub spans: BTreeMap<String, f64>,
}

impl Run<'_> {
    /// Begins while the scheduler runs, once it knows all nodes; where something goes on beside, it knew them before
    /// that began.
    pub(super) async fn start_collecting(&mut self, what: Collected) -> anyhow::Result<()> {
        ensure!(self.collecting.is_none(), "a measurement has begun already");
        if self.beside.is_empty() {
            self.knows_all_nodes().await?;
        }
        let (asked, _) = self.told().await?;
        let served = self.served().await?;
        self.begin(what, false, asked, served)
    }

    /// Begins with the start of the scheduler.
    pub(super) async fn collect_from_start(&mut self, what: Collected) -> anyhow::Result<()> {
        ensure!(self.collecting.is_none(), "a measurement has begun already");
        let served = self.served().await?;
        self.start_contestant()?;
        self.begin(what, true, Requests::new(), served)
    }

    fn begin(&mut self, what: Collected, from_start: bool, asked: Requests, served: Requests) -> anyhow::Result<()> {
        let api_server = self.api_server_time();
        let scheduler = if from_start {
            Duration::ZERO
        } else {
            self.running()?.process().cpu_time()
        };
        self.collecting = Some(Collecting {
            what,
            began: Instant::now(),
            bound: self.observer.ask(|seen| seen.bound().len())?,
            from_start,
            scheduler,
            api_server,
            first: None,
            asked,
            served,
            own: self.loader.requests(),
        });
        Ok(())
    }

    /// Notes what the start has cost when the first pod is seen.
    pub(super) fn note_first(&mut self) {
        let Some(collecting) = self
            .collecting
            .as_mut()
            .filter(|it| it.from_start && it.first.is_none())
        else {
            return;
        };
        let since = self
            .observer
            .ask(|seen| seen.bound().len() - collecting.bound)
            .unwrap_or(0);
        if since > 0
            && let Some(running) = &self.running
        {
            collecting.first = Some((running.process().cpu_time(), since));
        }
    }

    pub(super) async fn stop_collecting(&mut self) -> anyhow::Result<()> {
        let collecting = self.collecting.take().context("no measurement has begun")?;
        let process = self.running()?.process();
        let (scheduler, peak_memory, last_memory) = (process.cpu_time(), process.peak_memory(), process.memory());
        let api_server = self.api_server_time();
        let ((asked, spans), served) = (self.told().await?, self.served().await?);
        let which = Which {
            namespaces: &collecting.what.namespaces,
            labels: &collecting.what.labels,
        };
        let bound = self.observer.ask(|seen| {
            let since = seen.bound().iter().skip(collecting.bound);
            since.filter(|bound| which.takes(bound)).cloned().collect::<Vec<_>>()
        })?;
        ensure!(!bound.is_empty(), "no pod was placed while it was measured");
        let after: Vec<Duration> = bound
            .iter()
            .map(|bound| bound.at.saturating_duration_since(collecting.began))
            .collect();
        let due = self.loader.due();
        let waited = bound.iter().filter_map(|bound| {
            let due = due.get(&bound.key)?;
            Some(bound.at.saturating_duration_since(*due).as_secs_f64() * 1000.0)
        });
        let waited = waited.collect();
        let pods = real(bound.len());
        let each = |time: Duration, pods: f64| time.as_secs_f64() * 1000.0 / pods;
        let spent = scheduler.saturating_sub(collecting.scheduler);
        let steady = match collecting.first {
            None if collecting.from_start => None,
            None => Some(each(spent, pods)),
            Some((start, first)) => {
                let rest = bound.len().saturating_sub(first);
                (rest > 0).then(|| each(scheduler.saturating_sub(start), real(rest)))
            }
        };
        let own = since(&collecting.own, &self.loader.requests());
        self.measured.push(Measured {
            name: collecting.what.name,
            throughput: Throughput::of(&after),
            latency: Latency::of(waited, self.setting.mode == Mode::Rate),
            cpu_ms_per_pod: steady,
            cpu_ms_per_pod_with_start: each(spent, pods),
            api_server_cpu_ms_per_pod: each(api_server.saturating_sub(collecting.api_server), pods),
            peak_memory,
            last_memory,
            asked_per_pod: requests::per_pod(&collecting.asked, &asked, &BTreeMap::new(), pods),
            served_per_pod: requests::per_pod(&collecting.served, &served, &own, pods),
            spans,
        });
        Ok(())
    }

    fn api_server_time(&self) -> Duration {
        self.server
            .process()
            .map_or(Duration::ZERO, plimsoll_controlplane::Process::cpu_time)
    }

    /// Waits until the scheduler knows of every node, or what it takes to learn of them would be measured.
    pub(super) async fn knows_all_nodes(&mut self) -> anyhow::Result<()> {
        let deadline = Instant::now() + self.setting.limit;
        let nodes = i64::try_from(self.nodes)?;
        let running = self.running.as_mut().context("the scheduler is not running")?;
        let Running::Scheduler(replica) = running else {
            return Ok(());
        };
        loop {
            replica.process.ensure_running()?;
            let known = replica.metrics().await.map(|metrics| metrics.nodes());
            if known.as_ref().is_ok_and(|known| *known >= nodes) {
                return Ok(());
            }
            let tail = || {
                format!(
                    "it knows of {known:?} of {nodes} nodes:\n{}",
                    replica.process.log_tail(20)
                )
            };
            ensure!(Instant::now() < deadline, tail());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// What the scheduler says that it has asked for, and what has become of spans.
    async fn told(&mut self) -> anyhow::Result<(Requests, BTreeMap<String, f64>)> {
        match self.running()? {
            Running::Scheduler(replica) => {
                let metrics = replica.reads("/metrics").await?;
                Ok((requests::of_scheduler(&metrics), requests::spans(&metrics)))
            }
            Running::Binder(_) => Ok((Requests::new(), BTreeMap::new())),
        }
    }

    async fn served(&self) -> anyhow::Result<Requests> {
        if self.setting.mode == Mode::Null {
            return Ok(Requests::new());
        }
        let client = self.server.client().await?;
        let request = http::Request::get("/metrics").body(Vec::new())?;
        Ok(requests::of_api_server(&client.request_text(request).await?))
    }
}

fn since(before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let new = |(what, count): (&String, &u64)| {
        let before = before.get(what).copied().unwrap_or(0);
        (what.clone(), count.saturating_sub(before))
    };
    after.iter().map(new).collect()
}
