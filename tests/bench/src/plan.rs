//! Which workloads are run in which modes by whom, and in which order.

use std::time::Duration;

use crate::contestant::Contestant;
use crate::report::{Clock, Record, Skipped, pods_per_second};
use crate::run::{Mode, Setting, run};
use crate::workload::Workload;

/// What is to be measured.
#[derive(Clone, Debug)]
pub struct Plan {
    /// In this order.
    pub workloads: Vec<Workload>,
    /// Each workload in all of them.
    pub modes: Vec<Mode>,
    /// Who; those that each workload has unless given.
    pub contestants: Vec<Contestant>,
    /// How often.
    pub rounds: usize,
    /// Pods a second in the mode [`Mode::Rate`]; half of what kube-scheduler reached in [`Mode::Open`] unless given.
    pub rate: Option<f64>,
    /// See [`Setting::all_nodes`].
    pub all_nodes: bool,
    /// See [`Setting::limit`].
    pub limit: Duration,
}

/// A workload with this label is also run by the dumb binder, and by kube-scheduler speaking JSON.
const CEILING: &str = "ceiling";

/// Upstream's own case of plain pods stands for the same.
const PLAIN: &str = "SchedulingBasic";

impl Plan {
    /// Who runs the workload in that mode.
    fn contestants(&self, workload: &Workload, mode: Mode) -> Vec<Contestant> {
        if !self.contestants.is_empty() {
            return self.contestants.clone();
        }
        let mut all = vec![Contestant::Plimsoll, Contestant::KubeScheduler];
        if workload.measured_alone().is_some() && (workload.labels.contains(CEILING) || workload.case == PLAIN) {
            all.push(Contestant::DumbBinder);
            // On the embedded server it speaks nothing else.
            if matches!(mode, Mode::Open | Mode::Drain) {
                all.push(Contestant::KubeSchedulerJson);
            }
        }
        all
    }

    /// Runs everything, telling of each run as it ends. Who begins changes from round to round: who comes second finds
    /// warm caches, and a machine that has had its work. `None` when this machine has no control plane.
    pub async fn carry_out(&self, tell: impl Fn(&Record)) -> anyhow::Result<Option<(Vec<Record>, Vec<Skipped>)>> {
        let (mut records, mut skipped) = (Vec::new(), Vec::new());
        for workload in &self.workloads {
            let skip = |mode, reason: &str| Skipped {
                workload: workload.id(),
                mode,
                reason: reason.to_owned(),
            };
            if let Some(reason) = &workload.lacking {
                skipped.push(skip(None, reason));
                continue;
            }
            for mode in &self.modes {
                if let Some(reason) = mode.lacking(workload) {
                    skipped.push(skip(Some(*mode), reason));
                    continue;
                }
                let Some(rate) = self.rate_of(*mode, workload, &records) else {
                    let reason =
                        "the rate is half of what kube-scheduler reached in the mode `open`, which was not run";
                    skipped.push(skip(Some(*mode), reason));
                    continue;
                };
                for round in 0..self.rounds {
                    let mut contestants = self.contestants(workload, *mode);
                    let first = round % contestants.len();
                    contestants.rotate_left(first);
                    for contestant in contestants {
                        let setting = Setting {
                            mode: *mode,
                            contestant,
                            rate,
                            all_nodes: self.all_nodes,
                            limit: self.limit,
                            binder: None,
                            env: Vec::new(),
                        };
                        let outcome = Box::pin(run(workload, setting)).await;
                        let (outcome, failure) = match outcome {
                            Ok(None) => return Ok(None),
                            Ok(outcome) => (outcome, None),
                            Err(error) => (None, Some(format!("{error:#}"))),
                        };
                        let record = Record {
                            workload: workload.id(),
                            mode: *mode,
                            contestant,
                            drained: mode.drains(workload),
                            round,
                            rate: (*mode == Mode::Rate).then_some(rate),
                            threshold: workload.threshold,
                            outcome,
                            failure,
                        };
                        tell(&record);
                        records.push(record);
                    }
                }
            }
        }
        Ok(Some((records, skipped)))
    }

    /// The rate at which pods come, where it matters.
    fn rate_of(&self, mode: Mode, workload: &Workload, records: &[Record]) -> Option<f64> {
        if mode != Mode::Rate || self.rate.is_some() {
            return Some(self.rate.unwrap_or(0.0));
        }
        let of_kube = |record: &&Record| {
            record.workload == workload.id()
                && record.mode == Mode::Open
                && record.contestant == Contestant::KubeScheduler
        };
        let reached: Vec<f64> = records
            .iter()
            .filter(of_kube)
            .filter_map(|record| {
                pods_per_second(Mode::Open, Clock::FirstPod, record.outcome.as_ref()?.measured.first()?)
            })
            .collect();
        Some(crate::statistics::median(&reached)? / 2.0)
    }
}
