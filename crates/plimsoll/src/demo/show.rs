//! The show from curtain to curtain.

use std::pin::pin;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use futures::future::{Either, select};
use jiff::Timestamp;
use plimsoll_apiserver::review::User;
use plimsoll_apiserver::{ApiServer, Config, Serving, Tls, Tokens};
use plimsoll_client::{Clock, SystemClock};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::time::{Interval, interval};

use super::api::{Kinds, LEASE, NAMESPACE, text};
use super::check::{Findings, check};
use super::folder::Folder;
use super::kubelet::{self, Census};
use super::leadership::{reigns, replica_of};
use super::replica::Replica;
use super::report::{self, Killing};
use super::stage::Stage;
use super::{nodes, workload};

const REPLICAS: [&str; 3] = ["plimsoll-a", "plimsoll-b", "plimsoll-c"];
/// How often the kubelets have their round and the bar moves.
const ROUND: Duration = Duration::from_millis(100);
/// Nobody waits longer than this for a leader, or for the pods.
const PATIENCE: Duration = Duration::from_secs(50);

/// Everything that is on stage.
pub(super) struct Show {
    server: ApiServer,
    serving: Option<Serving>,
    kinds: Kinds,
    replicas: Vec<Replica>,
    stage: Stage,
    rounds: Interval,
    start: Timestamp,
    seed: u64,
    kubeconfig: String,
    // Behind the replicas, which write into it.
    folder: Folder,
}

impl Show {
    /// Sets up the API server and the cluster.
    pub(super) async fn open(seed: u64) -> anyhow::Result<Self> {
        let tokens = REPLICAS
            .iter()
            .fold(Tokens::default(), |tokens, name| tokens.with(*name, scheduler()));
        let server = ApiServer::new(Config {
            seed,
            tokens,
            ..Config::default()
        });
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let serving = server.serve(listener, Tls::SelfSigned)?;
        let folder = Folder::create()?;
        let kubeconfig = folder.write("kubeconfig", &serving.kubeconfig(None))?;
        let show = Self {
            kinds: Kinds::find()?,
            replicas: Vec::new(),
            stage: Stage::new(),
            rounds: interval(ROUND),
            start: SystemClock.wall(),
            seed,
            kubeconfig: kubeconfig.display().to_string(),
            folder,
            serving: Some(serving),
            server,
        };
        Ok(show)
    }

    /// Plays it and says what the check found.
    pub(super) async fn play(&mut self) -> anyhow::Result<Vec<String>> {
        self.furnish()?;
        self.cast()?;
        let leader = self.wait_for_leader().await?;
        self.say(&format!(
            "{} leads, the others stand by. Here come the pods.",
            replica_of(&leader)
        ))?;
        self.load()?;
        let total = self.server.snapshot(self.kinds.pods).len();
        self.stage.open(total)?;
        let half = workload::fitting() / 2;
        self.rounds_until(|census| census.placed >= half).await?;
        let killing = self.kill_the_leader().await?;
        self.lift_gates()?;
        let all = workload::fitting();
        let end = self
            .rounds_until(|census| census.placed >= all && census.is_settled())
            .await?;
        self.stage.close();
        let findings = self.report(killing.as_ref())?;
        Ok(judge(findings, end, killing.is_some()))
    }

    fn say(&self, line: &str) -> anyhow::Result<()> {
        let now = report::since(self.start, SystemClock.wall());
        Ok(self.stage.say(&format!("+{now:<6} {line}"))?)
    }

    fn create(&self, resource: &'static plimsoll_apiserver::Resource, object: Value) -> anyhow::Result<()> {
        let namespace = if resource.namespaced { NAMESPACE } else { "" };
        let name = text(&object, "/metadata/name").to_owned();
        self.server
            .create(resource, namespace, object)
            .map(drop)
            .map_err(|error| anyhow::anyhow!("cannot create {} {name}: {error}", resource.singular))
    }

    fn furnish(&self) -> anyhow::Result<()> {
        self.create(self.kinds.namespaces, json!({ "metadata": { "name": NAMESPACE } }))?;
        for class in workload::priority_classes() {
            self.create(self.kinds.priority_classes, class)?;
        }
        let nodes = nodes::nodes();
        let (count, zones) = (nodes.len(), nodes::ZONES.len());
        for node in nodes {
            self.create(self.kinds.nodes, node)?;
        }
        self.say(&format!("An API server in memory, {count} nodes in {zones} zones."))
    }

    fn cast(&mut self) -> anyhow::Result<()> {
        for name in REPLICAS {
            let serving = self.serving.as_ref().context("the API server is gone")?;
            let kubeconfig = self
                .folder
                .write(&format!("{name}.kubeconfig"), &serving.kubeconfig(Some(name)))?;
            self.replicas.push(Replica::start(name, &kubeconfig, &self.folder)?);
        }
        let pids: Vec<_> = self
            .replicas
            .iter()
            .filter_map(Replica::pid)
            .map(|pid| pid.to_string())
            .collect();
        self.say(&format!(
            "{} replicas of the scheduler: processes {}.",
            pids.len(),
            pids.join(", ")
        ))
    }

    /// Identity of who holds the lease now.
    fn leader(&self) -> Option<String> {
        let (namespace, name) = LEASE;
        let lease = self.server.get(self.kinds.leases, namespace, name)?;
        Some(text(&lease, "/spec/holderIdentity").to_owned()).filter(|holder| !holder.is_empty())
    }

    async fn wait_for_leader(&mut self) -> anyhow::Result<String> {
        let waiting = async {
            loop {
                self.rounds.tick().await;
                self.replicas.iter_mut().try_for_each(Replica::ensure_running)?;
                if let Some(leader) = self.leader() {
                    return Ok(leader);
                }
            }
        };
        tokio::time::timeout(PATIENCE, waiting)
            .await
            .context("no replica has come to lead")?
    }

    fn load(&self) -> anyhow::Result<()> {
        workload::pods(self.seed)
            .into_iter()
            .try_for_each(|pod| self.create(self.kinds.pods, pod))
    }

    /// Lets time pass until `enough`, or until patience is at its end: the check has the last word either way.
    async fn rounds_until(&mut self, enough: impl Fn(Census) -> bool) -> anyhow::Result<Census> {
        let deadline = tokio::time::sleep(PATIENCE);
        let mut deadline = pin!(deadline);
        loop {
            let round = pin!(self.rounds.tick());
            let late = matches!(select(deadline.as_mut(), round).await, Either::Left(_));
            self.replicas.iter_mut().try_for_each(Replica::ensure_running)?;
            let census = kubelet::round(&self.server, self.kinds)?;
            self.stage.progress(census)?;
            if late || enough(census) {
                return Ok(census);
            }
        }
    }

    async fn kill_the_leader(&mut self) -> anyhow::Result<Option<Killing>> {
        let Some(identity) = self.leader() else { return Ok(None) };
        let name = replica_of(&identity).to_owned();
        let at = SystemClock.wall();
        let victim = self.replicas.iter_mut().find(|replica| replica.name == name);
        let victim = victim.with_context(|| format!("a stranger leads: {identity}"))?;
        let pid = victim.pid().unwrap_or_default();
        victim.kill().await?;
        self.say(&format!(
            "{name} leads and is killed: SIGKILL to process {pid}. Its lease has to run out."
        ))?;
        Ok(Some(Killing { identity, at }))
    }

    fn lift_gates(&self) -> anyhow::Result<()> {
        for pod in self.server.snapshot(self.kinds.pods) {
            let name = text(&pod, "/metadata/name");
            if !name.starts_with(workload::LIFTED) {
                continue;
            }
            let lifted = self.server.modify(self.kinds.pods, NAMESPACE, name, |pod| {
                pod["spec"]["schedulingGates"] = json!([]);
            });
            lifted.map_err(|error| anyhow::anyhow!("cannot lift the gate of {name}: {error}"))?;
        }
        Ok(())
    }

    fn report(&self, killing: Option<&Killing>) -> anyhow::Result<Findings> {
        let history = self.server.history();
        let (nodes, pods) = (
            self.server.snapshot(self.kinds.nodes),
            self.server.snapshot(self.kinds.pods),
        );
        let reigns = reigns(&history);
        let mut lines = report::leaders(self.start, &reigns, killing).lines();
        lines.extend(killing.and_then(|killing| report::hand_over(&reigns, killing)));
        lines.extend(report::kinds(&pods).lines());
        lines.extend(report::reasons(&pods).lines());
        lines.extend(report::zones(&nodes, &pods).lines());
        lines.extend([
            String::new(),
            format!("Checked from the API server's own record of {} writes", history.len()),
        ]);
        for line in lines {
            self.stage.say(&line)?;
        }
        let findings = check(&history);
        for line in report::promises(&findings) {
            self.stage.say(&line)?;
        }
        Ok(findings)
    }

    /// Says how to look around.
    pub(super) fn invite(&self) -> anyhow::Result<()> {
        let kubeconfig = &self.kubeconfig;
        self.stage
            .say("\nIt all goes on running until Ctrl-C. Look around, delete a pod, uncordon a node:")?;
        for command in [
            format!("get pods -n {NAMESPACE} -o wide"),
            format!("describe pod giant-0001 -n {NAMESPACE}"),
            "get lease kube-scheduler -n kube-system -o yaml".to_owned(),
            format!("uncordon {}", nodes::name(1)),
        ] {
            self.stage
                .say(&format!("  kubectl --kubeconfig {kubeconfig} {command}"))?;
        }
        Ok(self.stage.say(&format!("Logs: {}", self.folder.path().display()))?)
    }

    /// Lets deleted pods go and bound ones run, for as long as it is kept.
    pub(super) async fn go_on(&mut self) -> anyhow::Result<()> {
        loop {
            self.rounds.tick().await;
            kubelet::round(&self.server, self.kinds)?;
        }
    }

    /// Ends the replicas that are left, in order, and the server. Says what did not end as it should.
    pub(super) async fn close(&mut self) -> anyhow::Result<Vec<String>> {
        let mut wrong = Vec::new();
        for replica in self.replicas.iter_mut().filter(|replica| replica.is_on_stage()) {
            match replica.terminate().await? {
                Some(status) if status.success() => {}
                Some(status) => wrong.push(format!("{} ended with {status} on SIGTERM", replica.name)),
                None => wrong.push(format!("{} did not end on SIGTERM", replica.name)),
            }
        }
        if self.leader().is_some() {
            wrong.push("the last leader did not release the lease".to_owned());
        }
        let line = report::claim(
            wrong.is_empty(),
            "the replicas that were left ended in order on SIGTERM, the lease released",
        );
        self.stage.say(&line)?;
        if let Some(serving) = self.serving.take() {
            serving.shutdown().await;
        }
        Ok(wrong)
    }

    /// The last line, and the exit code it stands for.
    pub(super) fn verdict(&mut self, violations: &[String]) -> anyhow::Result<ExitCode> {
        if violations.is_empty() {
            self.stage
                .say("\nAll is well: every pod is placed or knows why not, and nothing is past the line.")?;
            return Ok(ExitCode::SUCCESS);
        }
        self.folder.keep();
        self.stage
            .say(&format!("\nNOT WELL; logs are in {}:", self.folder.path().display()))?;
        for violation in violations {
            self.stage.say(&format!("  {violation}"))?;
        }
        Ok(ExitCode::FAILURE)
    }

    /// Keeps the logs of a show that broke off.
    pub(super) fn fail(&mut self, error: anyhow::Error) -> anyhow::Error {
        self.stage.close();
        self.folder.keep();
        error.context(format!(
            "the show broke off; logs are in {}",
            self.folder.path().display()
        ))
    }
}

/// Who the replicas are to the API server.
fn scheduler() -> User {
    User {
        name: "system:kube-scheduler".to_owned(),
        uid: "kube-scheduler".to_owned(),
        groups: vec!["system:authenticated".to_owned()],
    }
}

/// What the record shows, and what had to happen in the show besides.
fn judge(findings: Findings, end: Census, killed: bool) -> Vec<String> {
    let mut violations: Vec<String> = findings.violations.into_iter().map(|(_, what)| what).collect();
    let fitting = workload::fitting();
    if end.placed != fitting {
        violations.push(format!("{} pods were placed in time, {fitting} fit", end.placed));
    }
    if findings.bindings != end.placed {
        violations.push(format!("{} bindings for {} placed pods", findings.bindings, end.placed));
    }
    if !killed {
        violations.push("there was no leader to kill".to_owned());
    }
    violations
}
