//! `bench-preemption --preemptors N --rounds R [nodes …]`: how fast room is made for pods that fit nowhere, Plimsoll and
//! kube-scheduler on the same machine in the same run, each on a control plane of its own. Prints a table in Markdown.

use std::time::Duration;

use anyhow::ensure;
use plimsoll_cluster::measure::preemption::{Preempted, measure};
use plimsoll_cluster::{Scheduler, suite};
use plimsoll_controlplane::Storage;

const LIMIT: Duration = Duration::from_mins(20);

fn main() -> anyhow::Result<()> {
    let (mut preemptors, mut rounds, mut sizes) = (500, 1, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let number = match argument.as_str() {
            "--preemptors" | "--rounds" => arguments.next().unwrap_or_default().parse()?,
            size => size.parse()?,
        };
        match argument.as_str() {
            "--preemptors" => preemptors = number,
            "--rounds" => rounds = number,
            _ => sizes.push(number),
        }
    }
    suite::say(&Preempted::heading());
    for nodes in sizes {
        for _ in 0..rounds {
            let ours = one(Scheduler::Plimsoll, nodes, preemptors)?;
            let theirs = one(Scheduler::KubeScheduler, nodes, preemptors)?;
            if let (Some(ours), Some(theirs)) = (ours, theirs) {
                suite::say(&ours.ratio(&theirs));
            }
        }
    }
    Ok(())
}

/// `None` when this machine has no control plane, or `PLIMSOLL_CLUSTER_SCHEDULER` says that only the other one is wanted.
fn one(scheduler: Scheduler, nodes: usize, preemptors: usize) -> anyhow::Result<Option<Preempted>> {
    if Scheduler::under_test() == Scheduler::KubeScheduler && scheduler != Scheduler::KubeScheduler {
        return Ok(None);
    }
    let mut measured = None;
    suite::run_alone(Storage::Protobuf, async |control_plane| {
        let one = Box::pin(measure(&control_plane, scheduler, nodes, preemptors, LIMIT)).await?;
        ensure!(one.violations.is_empty(), "promises broken: {:#?}", one.violations);
        suite::say(&one.to_string());
        measured = Some(one);
        Ok(())
    })?;
    Ok(measured)
}
