//! A scheduler of one's own: `random-scheduler` leaves out nodes by a throw of dice, and likes each of the others as much as
//! the dice say. `cargo run -p plimsoll --example random_scheduler` runs it against an API server in memory.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Write, stdout};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use plimsoll::framework::{CycleContext, CycleState, Extensions, Plugin, Score};
use plimsoll::framework::{PerNodeFilter, PerNodeRejection, Resolvability};
use plimsoll::model::columns::NodeIndex;
use plimsoll::{Options, Scheduler};
use plimsoll_apiserver::{ApiServer, Config, Tls, resource};
use serde_json::{Value, json};

/// Dice that fall the same way for the same name, seed, pod and node: a scheduler should be able to explain itself.
struct Dice(&'static str, u64);

impl Dice {
    /// From 0 to 99.
    fn throw(&self, cycle: CycleContext<'_>, node: NodeIndex) -> i64 {
        let mut hasher = DefaultHasher::new();
        (self.0, self.1, &*cycle.pod.name.name, cycle.columns.name(node)).hash(&mut hasher);
        i64::try_from(hasher.finish() % 100).unwrap_or_default()
    }
}

impl Plugin for Dice {
    fn name(&self) -> &'static str {
        self.0
    }
}

const UNLUCKY: &str = "node(s) were unlucky";

// The simple way: asked about one node at a time.
impl PerNodeFilter for Dice {
    fn possible_reasons(&self) -> &'static [&'static str] {
        &[UNLUCKY]
    }

    fn filter_node(&self, cycle: CycleContext<'_>, _: &CycleState, node: NodeIndex) -> Option<PerNodeRejection> {
        let (reason, resolvability) = (UNLUCKY, Resolvability::Unresolvable);
        (self.throw(cycle, node) < 60).then_some(PerNodeRejection { reason, resolvability })
    }
}

// The fast way: asked once about all nodes that are left.
impl Score for Dice {
    fn score(&self, cycle: CycleContext<'_>, _: &CycleState, on: &[NodeIndex], to: &mut [i64]) -> Result<(), String> {
        for (node, score) in on.iter().zip(to) {
            *score = self.throw(cycle, *node);
        }
        Ok(())
    }
}

/// Places ten pods on four nodes, and gives what the users of each pod are told by event.
pub(crate) async fn play(seed: u64) -> anyhow::Result<BTreeMap<String, String>> {
    let server = ApiServer::new(Config::default());
    let find = |group, kind| resource::find(group, "v1", kind).context(kind);
    let (nodes, pods, events) = (find("", "nodes")?, find("", "pods")?, find("events.k8s.io", "events")?);
    for name in ["amsterdam", "bergen", "cork", "dover"] {
        let room = json!({"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}});
        server.create(nodes, "", json!({"metadata": {"name": name}, "status": room}))?;
    }
    for name in (0..10).map(|number| format!("pod-{number}")) {
        let spec = json!({"schedulerName": "random-scheduler", "containers": [{"name": "c", "image": "i"}]});
        server.create(pods, "default", json!({"metadata": {"name": name}, "spec": spec}))?;
    }
    let serving = server.serve(tokio::net::TcpListener::bind("127.0.0.1:0").await?, Tls::Off)?;
    let mut options = Options::of_server(serving.url());
    options.config.profiles[0].scheduler_name = String::from("random-scheduler");
    let filter = Extensions::new().filter(Arc::new(Dice("RandomFilter", seed)));
    let score = Extensions::new().score(Arc::new(Dice("RandomScore", seed)));
    let scheduler = Scheduler::builder()
        .plugin("RandomFilter", 0, move |_| Ok(filter.clone()))
        .plugin("RandomScore", 10, move |_| Ok(score.clone()))
        .build();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let note = |event: &Arc<Value>| (text(&event["regarding"]["name"]), text(&event["note"]));
    let told = || -> BTreeMap<_, _> { server.snapshot(events).iter().map(note).collect() };
    let all_told = async {
        while told().len() < 10 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    Box::pin(scheduler.run_until(options, all_told)).await?;
    serving.shutdown().await;
    Ok(told())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut told = play(7).await?.into_iter();
    Ok(told.try_for_each(|(pod, note)| writeln!(stdout(), "{pod}: {note}"))?)
}
