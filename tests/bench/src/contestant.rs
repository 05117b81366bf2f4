//! Who is measured.

use anyhow::Context;
use plimsoll_cluster::measure::server::Server;
use plimsoll_cluster::{Replica, Scheduler};
use plimsoll_controlplane::Process;
use serde::Serialize;
use serde_json::{Value, json};

use crate::run::Setting;
use crate::workload::Workload;

/// A program that places pods, and how it speaks with the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Contestant {
    /// The binary of this repository.
    Plimsoll,
    /// As released; on a real API server it speaks Protobuf.
    KubeScheduler,
    /// The same, speaking JSON as it does with the embedded API server: what is between the two is what JSON costs it.
    KubeSchedulerJson,
    /// Binds every pod to the next node and thinks of nothing: what no scheduler can do better on this API server.
    DumbBinder,
}

/// One that runs.
#[derive(Debug)]
pub(crate) enum Running {
    Scheduler(Box<Replica>),
    Binder(Process),
}

impl Contestant {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plimsoll => "plimsoll",
            Self::KubeScheduler => "kube-scheduler",
            Self::KubeSchedulerJson => "kube-scheduler, JSON",
            Self::DumbBinder => "dumb binder",
        }
    }

    /// Whether it looks at what it does, so that its work can be judged.
    pub fn thinks(self) -> bool {
        self != Self::DumbBinder
    }

    fn scheduler(self) -> Option<Scheduler> {
        match self {
            Self::Plimsoll => Some(Scheduler::Plimsoll),
            Self::KubeScheduler | Self::KubeSchedulerJson => Some(Scheduler::KubeScheduler),
            Self::DumbBinder => None,
        }
    }

    /// Starts it; `number` tells the times apart at which it is started on one server.
    pub(crate) fn start(
        self,
        server: &Server,
        number: usize,
        workload: &Workload,
        setting: &Setting,
    ) -> anyhow::Result<Running> {
        let Some(scheduler) = self.scheduler() else {
            let kubeconfig = server.kubeconfig(number)?.display().to_string();
            let program = match setting.binder {
                Some(program) => program.into(),
                None => std::env::current_exe().context("where is this program?")?,
            };
            let log = server.dir().join(format!("dumb-binder-{number}.log"));
            let arguments = ["bind".to_owned(), format!("--kubeconfig={kubeconfig}")];
            return Process::spawn(self.name(), &program, &arguments, &[], &log).map(Running::Binder);
        };
        let json = self == Self::KubeSchedulerJson || matches!(server, Server::Embedded(_));
        let config = config(workload.config.as_deref(), json, setting.all_nodes)?;
        let env = setting.env.iter();
        let env: Vec<_> = env.map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let replica = server.start_with(scheduler, number, &config, &[gates(workload)], &env)?;
        Ok(Running::Scheduler(Box::new(replica)))
    }
}

impl Running {
    pub(crate) fn process(&self) -> &Process {
        match self {
            Self::Scheduler(replica) => &replica.process,
            Self::Binder(process) => process,
        }
    }

    pub(crate) fn process_mut(&mut self) -> &mut Process {
        match self {
            Self::Scheduler(replica) => &mut replica.process,
            Self::Binder(process) => process,
        }
    }
}

/// The workload's configuration, and what is the same for all: no election, and no limit of requests.
fn config(given: Option<&str>, json: bool, all_nodes: bool) -> anyhow::Result<String> {
    let mut config: Value = match given {
        Some(text) => serde_saphyr::from_str(text).context("the scheduler's configuration")?,
        None => json!({
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
        }),
    };
    config["leaderElection"] = json!({ "leaderElect": false });
    let mut connection = json!({ "kubeconfig": "KUBECONFIG", "qps": -1 });
    if json {
        connection["contentType"] = json!("application/json");
        connection["acceptContentTypes"] = json!("application/json");
    }
    config["clientConnection"] = connection;
    if all_nodes {
        config["percentageOfNodesToScore"] = json!(100);
    }
    Ok(serde_json::to_string_pretty(&config)?)
}

/// Those of the workload. Upstream's benchmark leaves batching off unless a workload says something of it, since it
/// costs more than it gives where pods are not alike.
fn gates(workload: &Workload) -> String {
    let mut gates = workload.gates.clone();
    gates.entry("OpportunisticBatching".to_owned()).or_insert(false);
    let gates: Vec<String> = gates.iter().map(|(gate, on)| format!("{gate}={on}")).collect();
    format!("--feature-gates={}", gates.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_schedulers_get_the_workloads_own_configuration_without_a_limit_of_requests() {
        let given =
            "kind: KubeSchedulerConfiguration\nprofiles: [{ schedulerName: a }]\nclientConnection: { qps: 50 }\n";
        let config: Value = serde_json::from_str(&config(Some(given), true, true).unwrap()).unwrap();
        assert_eq!(config["profiles"][0]["schedulerName"], "a");
        assert_eq!(config["clientConnection"]["qps"], -1);
        assert_eq!(config["clientConnection"]["contentType"], "application/json");
        assert_eq!(config["percentageOfNodesToScore"], 100);
        assert_eq!(config["leaderElection"]["leaderElect"], false);
        let plain: Value = serde_json::from_str(&super::config(None, false, false).unwrap()).unwrap();
        assert_eq!(plain["clientConnection"].get("contentType"), None);
        assert_eq!(plain.get("percentageOfNodesToScore"), None);
    }
}
