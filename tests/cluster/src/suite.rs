//! Runs each test on a clean cluster and judges it.

use std::io::Write;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, bail, ensure};
use futures::FutureExt;
use plimsoll_controlplane::{Availability, ControlPlane, Storage};

use crate::cluster::Cluster;

/// Serialises the tests of a binary: there is one cluster, and one scheduler's work at a time can be judged.
static SHARED: Mutex<Shared> = Mutex::new(Shared {
    control_plane: None,
    accounts: false,
    replicas: 0,
    tests: 0,
});

struct Shared {
    control_plane: Option<ControlPlane>,
    /// Whether it gives pods service accounts.
    accounts: bool,
    /// Scheduler identities used up.
    replicas: usize,
    tests: usize,
}

/// Says something on standard error, also when the test harness captures output.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Runs one test on the shared control plane, started by the first: the cluster is emptied before it, and after it no
/// pod may have been bound twice, no node taken past its allocatable, no pod left pending without a reason, and no audit of
/// a scheduler of ours find anything wrong.
///
/// Without a real control plane on the machine the test is skipped, loudly.
pub fn run<F>(test: F) -> anyhow::Result<()>
where
    F: AsyncFnOnce(&mut Cluster<'_>) -> anyhow::Result<()>,
{
    run_where(false, test)
}

/// The same with an API server that gives each pod its service account, as clusters do: a pod can be created only where
/// controllers have made one.
pub fn run_with_service_accounts<F>(test: F) -> anyhow::Result<()>
where
    F: AsyncFnOnce(&mut Cluster<'_>) -> anyhow::Result<()>,
{
    run_where(true, test)
}

fn run_where<F>(accounts: bool, test: F) -> anyhow::Result<()>
where
    F: AsyncFnOnce(&mut Cluster<'_>) -> anyhow::Result<()>,
{
    let mut shared = lock();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(Box::pin(async {
        if shared.control_plane.is_none() || shared.accounts != accounts {
            shared.control_plane = None;
            shared.replicas = 0;
            let Some(started) = Box::pin(start(Storage::Json, accounts)).await? else {
                return Ok(());
            };
            shared.control_plane = Some(started);
            shared.accounts = accounts;
        }
        let Shared {
            control_plane,
            replicas,
            tests,
            accounts: _,
        } = &mut *shared;
        let control_plane = control_plane.as_mut().context("the control plane was just started")?;
        if control_plane.server().process().is_none() {
            Box::pin(control_plane.start_server()).await?;
        }
        *tests += 1;
        let name = std::thread::current()
            .name()
            .map_or_else(|| "test".to_owned(), str::to_owned);
        let namespace = format!("test-{tests}");
        let mut cluster = Box::pin(Cluster::new(control_plane, &namespace, *replicas)).await?;
        let outcome = Box::pin(conduct(&mut cluster, test)).await;
        *replicas = cluster.next_replica();
        if outcome.is_err() {
            say(&format!("\n*** {name} failed; logs:\n{}", cluster.logs()));
            drop(cluster);
            control_plane.dir().keep();
            say(&format!(
                "*** everything is kept in {}\n",
                control_plane.dir().path().display()
            ));
        }
        outcome
    }))
}

/// Runs a test that brings its own control plane, as a measurement does; nothing else runs at the same time.
pub fn run_alone<F>(storage: Storage, test: F) -> anyhow::Result<()>
where
    F: AsyncFnOnce(ControlPlane) -> anyhow::Result<()>,
{
    let mut shared = lock();
    // The processes of an idle control plane would disturb the measurement.
    shared.control_plane = None;
    shared.replicas = 0;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(Box::pin(async {
        match Box::pin(start(storage, false)).await? {
            Some(control_plane) => Box::pin(test(control_plane)).await,
            None => Ok(()),
        }
    }))
}

async fn conduct<F>(cluster: &mut Cluster<'_>, test: F) -> anyhow::Result<()>
where
    F: AsyncFnOnce(&mut Cluster<'_>) -> anyhow::Result<()>,
{
    // A failed assertion must not lose the logs.
    match AssertUnwindSafe(Box::pin(test(cluster))).catch_unwind().await {
        Ok(outcome) => outcome?,
        Err(_) => bail!("an assertion failed, see above"),
    }
    let verdict = cluster.judge().await?;
    say(&format!("    {verdict}"));
    ensure!(
        verdict.violations.is_empty(),
        "promises broken:\n{}",
        verdict.violations.join("\n")
    );
    Ok(())
}

async fn start(storage: Storage, accounts: bool) -> anyhow::Result<Option<ControlPlane>> {
    static SKIPPED: AtomicUsize = AtomicUsize::new(0);
    match Availability::find()? {
        Availability::Ready(programs) => {
            let builder = ControlPlane::builder(programs).storage(storage).name("cluster");
            let builder = if accounts {
                builder.with_service_accounts()
            } else {
                builder
            };
            Ok(Some(builder.start().await?))
        }
        Availability::Skip(reason) => {
            if SKIPPED.fetch_add(1, Ordering::Relaxed) == 0 {
                let line = "*".repeat(100);
                say(&format!(
                    "\n{line}\n*  THE REAL CONTROL PLANE SUITE IS SKIPPED: {reason}\n{line}\n"
                ));
            }
            Ok(None)
        }
    }
}

fn lock() -> MutexGuard<'static, Shared> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}
