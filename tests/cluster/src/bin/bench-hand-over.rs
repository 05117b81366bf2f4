//! `bench-hand-over [--embedded] [--nodes N] [--pods P] [--rounds R] [--lease SECONDS] [--json FILE]`: how long pods wait
//! when the lead passes from one replica to another, on the real API server or, with `--embedded`, on Plimsoll's in memory.
//! Released with events flowing, released on a quiet cluster, and killed, each so many times. Prints a table in Markdown.

use std::path::PathBuf;

use plimsoll_cluster::measure::hand_over::{Going, HandedOver, Round, measure, stage};
use plimsoll_cluster::measure::server::Server;
use plimsoll_cluster::suite;

struct Wanted {
    embedded: bool,
    nodes: usize,
    pods: usize,
    rounds: usize,
    lease_seconds: u64,
    json: Option<PathBuf>,
}

fn main() -> anyhow::Result<()> {
    let wanted = Wanted::read()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(Box::pin(run(&wanted)))
}

impl Wanted {
    fn read() -> anyhow::Result<Self> {
        let mut wanted = Self {
            embedded: false,
            nodes: 5000,
            pods: 50_000,
            rounds: 1,
            lease_seconds: 15,
            json: None,
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().unwrap_or_default();
            match argument.as_str() {
                "--embedded" => wanted.embedded = true,
                "--nodes" => wanted.nodes = value().parse()?,
                "--pods" => wanted.pods = value().parse()?,
                "--rounds" => wanted.rounds = value().parse()?,
                "--lease" => wanted.lease_seconds = value().parse()?,
                "--json" => wanted.json = Some(value().into()),
                other => anyhow::bail!("unknown argument {other:?}"),
            }
        }
        Ok(wanted)
    }
}

async fn run(wanted: &Wanted) -> anyhow::Result<()> {
    let Some(server) = Server::new(wanted.embedded).await? else {
        suite::say("*** no control plane on this machine: nothing is measured ***");
        return Ok(());
    };
    stage(&server, wanted.nodes, wanted.pods).await?;
    suite::say(&HandedOver::heading());
    let mut all = Vec::new();
    for _ in 0..wanted.rounds {
        for (going, events_flow) in [
            (Going::Released, true),
            (Going::Released, false),
            (Going::Killed, true),
            (Going::Killed, false),
        ] {
            let round = Round {
                going,
                events_flow,
                pending: 100,
                lease_seconds: wanted.lease_seconds,
            };
            let measured = Box::pin(measure(&server, all.len(), round)).await?;
            suite::say(&measured.to_string());
            all.push(measured);
        }
    }
    if let Some(path) = &wanted.json {
        std::fs::write(path, serde_json::to_vec_pretty(&all)?)?;
    }
    Ok(())
}
