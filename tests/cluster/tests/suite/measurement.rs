//! How fast and how cheap: 1,000 nodes, 5,000 pods, ours and the original on the same machine in the same run. The
//! numbers are printed, not asserted; that every pod is placed is.

use std::time::Duration;

use anyhow::ensure;
use plimsoll_cluster::measure::{Measured, measure};
use plimsoll_cluster::{Scheduler, suite};
use plimsoll_controlplane::Storage;

const NODES: usize = 1_000;
const PODS: usize = 5_000;

#[test]
fn five_thousand_pods_are_placed_on_a_thousand_nodes() -> anyhow::Result<()> {
    suite::run_alone(Storage::Protobuf, async |control_plane| {
        let mut table = vec![Measured::heading()];
        for (number, scheduler) in [Scheduler::Plimsoll, Scheduler::KubeScheduler].into_iter().enumerate() {
            if scheduler == Scheduler::Plimsoll && Scheduler::under_test() != scheduler {
                continue;
            }
            if scheduler == Scheduler::KubeScheduler && control_plane.programs().path(scheduler.name()).is_none() {
                suite::say("*** no kube-scheduler on this machine: nothing to compare with ***");
                continue;
            }
            let limit = Duration::from_mins(3);
            let measured = Box::pin(measure(&control_plane, scheduler, number, NODES, PODS, limit)).await?;
            ensure!(
                measured.violations.is_empty(),
                "promises broken: {:#?}",
                measured.violations
            );
            table.push(measured.to_string());
        }
        suite::say(&format!(
            "\n    {NODES} nodes, {PODS} pods, this machine, one run\n{}\n",
            table.join("\n")
        ));
        ensure!(table.len() > 1, "nothing was measured");
        Ok(())
    })
}
