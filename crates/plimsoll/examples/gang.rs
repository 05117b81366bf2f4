//! A scheduler that places pods in gangs: none of a gang is bound before so many of it have a place, and then all are.
//! `cargo run -p plimsoll --example gang` runs it against an API server in memory.
//!
//! Pods say with the label `gang` whose members they are, and with `gang-size` how many must be there.

use std::collections::BTreeMap;
use std::io::{Write, stdout};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use plimsoll::framework::{
    CycleContext, CycleState, Extensions, Permit, PermitOutcome, Plugin, WaitingPod, WaitingPods,
};
use plimsoll::model::Pod;
use plimsoll::{Options, Scheduler};
use plimsoll_apiserver::{ApiServer, Config, Tls, resource};
use serde_json::{Value, json};

/// Holds the members of a gang at Permit. Each waits so long at most; one that has waited in vain gives its place up.
struct Gang {
    patience: Duration,
}

impl Plugin for Gang {
    fn name(&self) -> &'static str {
        "Gang"
    }
}

fn gang_of(pod: &Pod) -> Option<(&str, &str)> {
    Some((&*pod.name.namespace, pod.labels.get("gang")?))
}

fn gang_size(pod: &Pod) -> usize {
    let size = pod.labels.get("gang-size").and_then(|size| size.parse().ok());
    size.unwrap_or(1)
}

impl Permit for Gang {
    fn permit(&self, cycle: CycleContext<'_>, state: &mut CycleState, _: &str, all: &WaitingPods) -> PermitOutcome {
        let Some(gang) = gang_of(cycle.pod) else {
            return PermitOutcome::Allow;
        };
        let is_member = |other: &&WaitingPod| other.waits_for(self.name()) && gang_of(&other.pod) == Some(gang);
        let waiting: Vec<&WaitingPod> = all.iter().filter(is_member).collect();
        if waiting.len() + 1 < gang_size(cycle.pod) {
            return PermitOutcome::Wait(self.patience);
        }
        for member in waiting {
            state.allow_waiting(member.pod.uid.clone(), self.name());
        }
        PermitOutcome::Allow
    }
}

/// Creates a pod alone, three pods of a gang of three and two of another, and gives what the users of each pod are told by
/// event.
pub(crate) async fn play(patience: Duration) -> anyhow::Result<BTreeMap<String, String>> {
    let server = ApiServer::new(Config::default());
    let find = |group, kind| resource::find(group, "v1", kind).context(kind);
    let (nodes, pods, events) = (find("", "nodes")?, find("", "pods")?, find("events.k8s.io", "events")?);
    let room = json!({"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}});
    server.create(nodes, "", json!({"metadata": {"name": "amsterdam"}, "status": room}))?;
    for name in ["alone", "crew-0", "crew-1", "crew-2", "watch-0", "watch-1"] {
        let labels = match name.split_once('-') {
            Some((gang, _)) => json!({"gang": gang, "gang-size": "3"}),
            None => json!({}),
        };
        let spec = json!({"containers": [{"name": "c", "image": "i"}]});
        server.create(
            pods,
            "default",
            json!({"metadata": {"name": name, "labels": labels}, "spec": spec}),
        )?;
    }
    let serving = server.serve(tokio::net::TcpListener::bind("127.0.0.1:0").await?, Tls::Off)?;
    let scheduler = Scheduler::builder()
        .plugin("Gang", 0, move |_| {
            Ok(Extensions::new().permit(Arc::new(Gang { patience })))
        })
        .build();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let note = |event: &Arc<Value>| (text(&event["regarding"]["name"]), text(&event["note"]));
    let told = || -> BTreeMap<_, _> { server.snapshot(events).iter().map(note).collect() };
    let all_told = async {
        while told().len() < 6 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    Box::pin(scheduler.run_until(Options::of_server(serving.url()), all_told)).await?;
    serving.shutdown().await;
    Ok(told())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut told = play(Duration::from_secs(2)).await?.into_iter();
    Ok(told.try_for_each(|(pod, note)| writeln!(stdout(), "{pod}: {note}"))?)
}
