//! `bench-volumes [--embedded] --pods N --rounds R [nodes …]`: how fast pods with volumes are placed, Plimsoll and
//! kube-scheduler in turn on the same machine in the same run, each on an API server of its own: the real one, or with
//! `--embedded` Plimsoll's in memory, where no controllers bind claims. Prints a table in Markdown.

use std::time::Duration;

use anyhow::ensure;
use plimsoll_cluster::measure::server::Server;
use plimsoll_cluster::measure::volumes::{Placed, Workload, measure};
use plimsoll_cluster::{Scheduler, suite};

const LIMIT: Duration = Duration::from_mins(20);

struct Wanted {
    embedded: bool,
    pods: usize,
    rounds: usize,
    sizes: Vec<usize>,
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
            pods: 1000,
            rounds: 1,
            sizes: Vec::new(),
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--embedded" => wanted.embedded = true,
                "--pods" => wanted.pods = arguments.next().unwrap_or_default().parse()?,
                "--rounds" => wanted.rounds = arguments.next().unwrap_or_default().parse()?,
                size => wanted.sizes.push(size.parse()?),
            }
        }
        Ok(wanted)
    }
}

async fn run(wanted: &Wanted) -> anyhow::Result<()> {
    suite::say(&Placed::heading());
    let workloads = Workload::ALL.into_iter();
    for workload in workloads.filter(|workload| !(wanted.embedded && workload.needs_controllers())) {
        for nodes in &wanted.sizes {
            for _ in 0..wanted.rounds {
                let ours = Box::pin(one(Scheduler::Plimsoll, workload, *nodes, wanted)).await?;
                let theirs = Box::pin(one(Scheduler::KubeScheduler, workload, *nodes, wanted)).await?;
                if let (Some(ours), Some(theirs)) = (ours, theirs) {
                    suite::say(&ours.ratio(&theirs));
                }
            }
        }
    }
    Ok(())
}

/// `None` when this machine has no control plane, or `PLIMSOLL_CLUSTER_SCHEDULER` says that only the other one is wanted.
async fn one(
    scheduler: Scheduler,
    workload: Workload,
    nodes: usize,
    wanted: &Wanted,
) -> anyhow::Result<Option<Placed>> {
    if Scheduler::under_test() == Scheduler::KubeScheduler && scheduler != Scheduler::KubeScheduler {
        return Ok(None);
    }
    let Some(server) = Server::new(wanted.embedded).await? else {
        suite::say("*** no control plane on this machine: nothing is measured ***");
        return Ok(None);
    };
    let measured = Box::pin(measure(&server, scheduler, workload, (nodes, wanted.pods), LIMIT)).await?;
    ensure!(
        measured.violations.is_empty(),
        "promises broken: {:#?}",
        measured.violations
    );
    suite::say(&measured.to_string());
    Ok(Some(measured))
}
