//! Running one workload with one scheduler on an API server of its own.
//!
//! ```text
//!  Loader ── makes nodes, pods, … ──► API server ◄── binds ── contestant
//!                                         │
//!  Observer ◄── its own watch ────────────┘      Measured: what was seen between two moments
//!  Judged   ◄── lists, at the end
//! ```

mod changes;
mod collect;
mod nodes;
mod pods;
mod requests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use plimsoll_cluster::measure::server::Server;
use serde::Serialize;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::check::{self, Judged};
use crate::contestant::{Contestant, Running};
pub(crate) use crate::load::Arrivals;
use crate::load::Loader;
use crate::observer::{Observer, Seen, Which};
use crate::workload::{Operation, Workload};
use collect::Collecting;
pub use collect::Measured;

/// What the scheduler works against, and how its pods come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The real API server; pods come while the scheduler runs, as fast as the server takes them, as in upstream's
    /// benchmark.
    Open,
    /// The real API server; pods come at a constant rate.
    Rate,
    /// The real API server; pods are there when the scheduler starts.
    Drain,
    /// The embedded API server, so quick that the scheduler is what is measured; pods are there when it starts.
    Null,
}

/// How one run is to be made.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Against what.
    pub mode: Mode,
    /// Who.
    pub contestant: Contestant,
    /// Pods a second in the mode [`Mode::Rate`].
    pub rate: f64,
    /// Whether all nodes are looked at, also by whom looks at a share of them otherwise.
    pub all_nodes: bool,
    /// How long pods may take.
    pub limit: Duration,
    /// The program of which `bind` is the dumb binder; the one that runs unless given.
    pub binder: Option<&'static str>,
    /// Variables of the environment that a scheduler is started with.
    pub env: Vec<(String, String)>,
}

/// What came of one run.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Of each measurement that the workload has.
    pub measured: Vec<Measured>,
    /// The final state; none of who does not think.
    pub judged: Option<Judged>,
}

impl Mode {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "real, open",
            Self::Rate => "real, at a rate",
            Self::Drain => "real, drain",
            Self::Null => "null, drain",
        }
    }

    /// Whether the pods of the workload that are measured are there when the scheduler is started.
    pub(crate) fn drains(self, workload: &Workload) -> bool {
        matches!(self, Self::Drain | Self::Null) && workload.measured_alone().is_some()
    }

    /// Why a workload cannot be run so.
    pub fn lacking(self, workload: &Workload) -> Option<&'static str> {
        let alone = workload.measured_alone().is_some();
        match self {
            Self::Open | Self::Null => None,
            Self::Rate | Self::Drain => (!alone).then_some("what is measured is not one batch of pods by itself"),
        }
    }
}

/// The state of a run.
struct Run<'a> {
    workload: &'a Workload,
    setting: Setting,
    server: &'a Server,
    loader: Arc<Loader>,
    observer: Observer,
    running: Option<Running>,
    /// How often the contestant was started.
    starts: usize,
    /// What goes on beside the operations.
    beside: JoinSet<anyhow::Result<()>>,
    nodes: usize,
    /// Pods that nobody has waited for yet, by namespace.
    unawaited: BTreeMap<String, usize>,
    collecting: Option<Collecting>,
    measured: Vec<Measured>,
}

/// Runs it; `None` when this machine has no control plane.
pub async fn run(workload: &Workload, setting: Setting) -> anyhow::Result<Option<Outcome>> {
    let Some(server) = Server::new(setting.mode == Mode::Null).await? else {
        return Ok(None);
    };
    let client = server.client().await?;
    let mut run = Run {
        workload,
        setting,
        server: &server,
        loader: Arc::new(Loader::new(client.clone())),
        observer: Observer::start(client.clone()).await?,
        running: None,
        starts: 0,
        beside: JoinSet::new(),
        nodes: 0,
        unawaited: BTreeMap::new(),
        collecting: None,
        measured: Vec::new(),
    };
    run.start_contestant()?;
    for (number, operation) in workload.operations.iter().enumerate() {
        let done = Box::pin(run.operation(number, operation)).await;
        done.with_context(|| format!("operation {number}"))?;
    }
    run.beside.shutdown().await;
    ensure!(!run.measured.is_empty(), "nothing was measured");
    let judged = if run.setting.contestant.thinks() {
        let order = run.observer.ask(|seen| (seen.bound().to_vec(), seen.refused_after()))?;
        Some(Box::pin(check::judge(&client, workload.only_grows(), &order.0, order.1)).await?)
    } else {
        None
    };
    run.stop_contestant()?;
    Ok(Some(Outcome {
        measured: run.measured,
        judged,
    }))
}

impl Run<'_> {
    fn start_contestant(&mut self) -> anyhow::Result<()> {
        let number = self.starts;
        self.starts += 1;
        let running = self
            .setting
            .contestant
            .start(self.server, number, self.workload, &self.setting)?;
        self.running = Some(running);
        Ok(())
    }

    fn stop_contestant(&mut self) -> anyhow::Result<()> {
        self.running
            .take()
            .map_or(Ok(()), |mut running| running.process_mut().kill())
    }

    fn running(&mut self) -> anyhow::Result<&mut Running> {
        self.running.as_mut().context("the scheduler is not running")
    }

    async fn operation(&mut self, number: usize, operation: &Operation) -> anyhow::Result<()> {
        match operation {
            Operation::CreateNodes(nodes) => self.create_nodes(number, nodes).await,
            Operation::CreateNamespaces(namespaces) => self.create_namespaces(namespaces).await,
            Operation::CreatePods(pods) => {
                let drains = self.setting.mode.drains(self.workload);
                if drains && self.workload.measured_alone() == Some(number) {
                    self.drain_pods(number, pods).await
                } else {
                    self.create_pods(number, pods).await
                }
            }
            Operation::CreateAny(change) => self.create_any(change).await,
            Operation::UpdateAny(update) => self.update_any(update).await,
            Operation::DeletePods(delete) => self.delete_pods(delete).await,
            Operation::Churn(churn) => self.churn(number, churn).await,
            Operation::Barrier(barrier) => {
                self.barrier(&barrier.namespaces, &barrier.labels, barrier.attempted)
                    .await
            }
            Operation::Sleep(time) => {
                tokio::time::sleep(*time).await;
                Ok(())
            }
            Operation::StartCollecting(collected) => self.start_collecting(collected.clone()).await,
            Operation::StopCollecting => self.stop_collecting().await,
            Operation::CreateResourceDriver | Operation::CreateResourceClaims | Operation::AllocResourceClaims => {
                bail!("devices are not there yet")
            }
        }
    }

    /// Waits until enough was seen, and as long as the scheduler runs and nothing beside has failed.
    async fn until(&mut self, what: &str, enough: impl Fn(&Seen) -> bool) -> anyhow::Result<()> {
        let deadline = Instant::now() + self.setting.limit;
        loop {
            let asked = Instant::now();
            if self.observer.ask(&enough)? {
                return Ok(());
            }
            self.note_first();
            if let Some(ended) = self.beside.try_join_next() {
                ended??;
            }
            let limit = self.setting.limit;
            let running = self.running()?;
            running.process_mut().ensure_running()?;
            let tail = || {
                format!(
                    "{what}: not within {limit:?}; its last lines:\n{}",
                    running.process().log_tail(20)
                )
            };
            ensure!(Instant::now() < deadline, tail());
            // Looking costs time that whom is measured could have: at most a twentieth of it.
            tokio::time::sleep(Duration::from_millis(10).max(asked.elapsed() * 20)).await;
        }
    }

    async fn barrier(
        &mut self,
        namespaces: &[String],
        labels: &BTreeMap<String, String>,
        attempted: bool,
    ) -> anyhow::Result<()> {
        let meant = if namespaces.is_empty() {
            self.unawaited.keys().cloned().collect()
        } else {
            namespaces.to_vec()
        };
        for namespace in meant {
            let wanted = self.unawaited.get(&namespace).copied();
            let wanted = wanted.with_context(|| format!("no pods were made in the namespace {namespace}"))?;
            let within = std::slice::from_ref(&namespace);
            let what = format!("{wanted} pods in {namespace}");
            let enough = |seen: &Seen| {
                let counts = seen.counts(Which {
                    namespaces: within,
                    labels,
                });
                let tried = if attempted { counts.attempted } else { 0 };
                counts.bound + tried >= wanted
            };
            self.until(&what, enough).await?;
            if !attempted {
                self.unawaited.remove(&namespace);
            }
        }
        Ok(())
    }
}
