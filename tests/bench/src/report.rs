//! What came of all runs: each by itself, and held against each other.

mod quality;
mod table;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::contestant::Contestant;
use crate::machine::Machine;
use crate::run::{Measured, Mode, Outcome};
use crate::statistics::{Estimate, geometric_mean, median, ratio};
pub use table::{runs_heading, table};

/// One run.
#[derive(Clone, Debug, Serialize)]
pub struct Record {
    /// `topic/case/name`.
    pub workload: String,
    /// Against what.
    pub mode: Mode,
    /// Who.
    pub contestant: Contestant,
    /// Whether the pods were there when the scheduler was started.
    pub drained: bool,
    /// Which of the rounds.
    pub round: usize,
    /// Pods a second, where they came at a rate.
    pub rate: Option<f64>,
    /// What upstream expects at least of its own machines.
    pub threshold: Option<f64>,
    /// Nothing when it failed.
    pub outcome: Option<Outcome>,
    /// Why it failed.
    pub failure: Option<String>,
}

/// What was not run, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// `topic/case/name`.
    pub workload: String,
    /// In that mode alone, unless in none.
    pub mode: Option<Mode>,
    /// Why.
    pub reason: String,
}

/// All of it.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Where it was measured.
    pub machine: Machine,
    /// How it was called.
    pub command: String,
    /// Every run, in order.
    pub runs: Vec<Record>,
    /// What was left out.
    pub skipped: Vec<Skipped>,
    /// By workload and mode.
    pub comparisons: Vec<Comparison>,
    /// Geometric means over workloads, by mode.
    pub means: Vec<Means>,
}

/// Numbers of one contestant, each the median over rounds.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Medians {
    /// Pods placed a second.
    pub pods_per_second: Option<f64>,
    /// Windows of one second: the slowest half, and the slowest tenth of all.
    pub window_p50: Option<f64>,
    /// Nine tenths of the windows are slower.
    pub window_p90: Option<f64>,
    /// Processor time for each pod, in milliseconds.
    pub cpu_ms_per_pod: Option<f64>,
    /// The same with the scheduler's start.
    pub cpu_ms_per_pod_with_start: Option<f64>,
    /// In bytes.
    pub peak_memory: Option<f64>,
    /// At the end, in bytes.
    pub last_memory: Option<f64>,
    /// From due to bound, in milliseconds.
    pub latency_p50: Option<f64>,
    /// The longest but one in a hundred.
    pub latency_p99: Option<f64>,
    /// From the scheduler's start to the first pod, in seconds; of drains.
    pub first_after: Option<f64>,
    /// Requests that the scheduler made, for each pod.
    pub requests_per_pod: Option<f64>,
    /// Broken promises, of all rounds together; none of whose work is not judged.
    pub violations: Option<usize>,
    /// Of so many runs.
    pub runs: usize,
    /// So many failed.
    pub failures: usize,
}

/// How many times as good Plimsoll is as kube-scheduler: more than 1 is better, everywhere.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Ratios {
    /// Pods a second.
    pub pods_per_second: Option<Estimate>,
    /// Processor time for each pod.
    pub cpu: Option<Estimate>,
    /// The most memory.
    pub memory: Option<Estimate>,
    /// The ninety-ninth percentile of waits.
    pub latency_p99: Option<Estimate>,
    /// The same of what is beyond the dumb binder's.
    pub latency_p99_beyond_floor: Option<Estimate>,
    /// From start to first pod.
    pub first_after: Option<Estimate>,
    /// What JSON costs kube-scheduler: its processor time for each pod with JSON, of that with Protobuf.
    pub json_cost: Option<Estimate>,
}

/// One workload in one mode.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// `topic/case/name`.
    pub workload: String,
    /// Against what.
    pub mode: Mode,
    /// What upstream expects at least of its own machines, in pods a second.
    pub threshold: Option<f64>,
    /// By contestant.
    pub medians: BTreeMap<Contestant, Medians>,
    /// Plimsoll against kube-scheduler.
    pub ratios: Ratios,
}

/// Geometric means of ratios over all workloads of a mode.
#[derive(Clone, Debug, Serialize)]
pub struct Means {
    /// Against what.
    pub mode: Mode,
    /// Of so many workloads.
    pub workloads: usize,
    /// Of pods a second.
    pub pods_per_second: Option<f64>,
    /// Of processor time for each pod.
    pub cpu: Option<f64>,
    /// Of the most memory.
    pub memory: Option<f64>,
}

/// From when the pods of a drain are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// The first pod that is placed: what a start takes is told by itself.
    FirstPod,
    /// The scheduler's start. Pods that wait for others to be evicted are decided about long before the first one is placed.
    Start,
}

impl Clock {
    /// From the start where in every run the first pod took longer than all others together.
    fn of(records: &[&Record]) -> Self {
        let measured = records
            .iter()
            .filter_map(|record| Some((record.drained, record.measured()?)));
        let late = |(drained, measured): (bool, &Measured)| {
            drained && measured.throughput.first_after > measured.throughput.lasted
        };
        let mut of_each = measured.map(late).peekable();
        if of_each.peek().is_some() && of_each.all(|late| late) {
            Self::Start
        } else {
            Self::FirstPod
        }
    }
}

/// The number by which a mode's throughput is compared.
pub(crate) fn pods_per_second(mode: Mode, clock: Clock, measured: &Measured) -> Option<f64> {
    let throughput = &measured.throughput;
    match mode {
        Mode::Drain | Mode::Null if clock == Clock::Start => throughput.overall,
        Mode::Drain | Mode::Null => throughput.drained.or(throughput.overall),
        Mode::Open => throughput.windows.map(|windows| windows.average).or(throughput.overall),
        Mode::Rate => throughput.overall,
    }
}

impl Record {
    /// The first measurement; workloads have one, but for some that are measured in stages.
    fn measured(&self) -> Option<&Measured> {
        self.outcome.as_ref()?.measured.first()
    }

    fn cpu(&self, clock: Clock) -> Option<f64> {
        let measured = self.measured()?;
        let after_first = measured.cpu_ms_per_pod.filter(|_| clock == Clock::FirstPod);
        Some(after_first.unwrap_or(measured.cpu_ms_per_pod_with_start))
    }

    fn latency_p99(&self) -> Option<f64> {
        let latency = self.measured()?.latency?;
        Some(latency.p99).filter(|_| latency.open_loop)
    }

    fn first_after(&self) -> Option<f64> {
        Some(self.measured()?.throughput.first_after).filter(|_| self.drained)
    }
}

impl Medians {
    fn of(records: &[&Record], clock: Clock) -> Self {
        let of = |number: &dyn Fn(&Record) -> Option<f64>| {
            let numbers: Vec<f64> = records.iter().filter_map(|record| number(record)).collect();
            median(&numbers)
        };
        let window = |number: fn(&crate::throughput::Windows) -> f64| {
            of(&|record| record.measured()?.throughput.windows.as_ref().map(number))
        };
        #[expect(clippy::cast_precision_loss, reason = "bytes of memory, told in mebibytes")]
        let [peak_memory, last_memory] = [
            of(&|record| Some(record.measured()?.peak_memory as f64)),
            of(&|record| Some(record.measured()?.last_memory as f64)),
        ];
        let judged = |record: &&Record| record.outcome.as_ref()?.judged.as_ref().map(|judged| judged.violations);
        Self {
            pods_per_second: of(&|record| pods_per_second(record.mode, clock, record.measured()?)),
            window_p50: window(|windows| windows.p50),
            window_p90: window(|windows| windows.p90),
            cpu_ms_per_pod: of(&|record| record.cpu(clock)),
            cpu_ms_per_pod_with_start: of(&|record| Some(record.measured()?.cpu_ms_per_pod_with_start)),
            peak_memory,
            last_memory,
            latency_p50: of(&|record| Some(record.measured()?.latency?.p50)),
            latency_p99: of(&|record| Some(record.measured()?.latency?.p99)),
            first_after: of(&Record::first_after),
            requests_per_pod: of(&|record| {
                let asked = &record.measured()?.asked_per_pod;
                (!asked.is_empty()).then(|| asked.values().sum())
            }),
            violations: records.iter().filter_map(judged).reduce(|one, other| one + other),
            runs: records.len(),
            failures: records.iter().filter(|record| record.failure.is_some()).count(),
        }
    }
}

/// Puts the runs together by workload and mode, in the order in which they came.
pub fn compare(runs: &[Record]) -> Vec<Comparison> {
    let mut groups: Vec<(&str, Mode, Vec<&Record>)> = Vec::new();
    for record in runs {
        let same = |(workload, mode, _): &&mut (&str, Mode, Vec<&Record>)| {
            *workload == record.workload && *mode == record.mode
        };
        match groups.iter_mut().find(same) {
            Some((_, _, records)) => records.push(record),
            None => groups.push((&record.workload, record.mode, vec![record])),
        }
    }
    let comparison = |(workload, mode, records): (&str, Mode, Vec<&Record>)| {
        let clock = Clock::of(&records);
        let mut by_contestant: BTreeMap<Contestant, Vec<&Record>> = BTreeMap::new();
        for record in &records {
            by_contestant.entry(record.contestant).or_default().push(record);
        }
        Comparison {
            workload: workload.to_owned(),
            mode,
            threshold: records.iter().find_map(|record| record.threshold),
            ratios: ratios(&by_contestant, clock),
            medians: by_contestant
                .iter()
                .map(|(contestant, records)| (*contestant, Medians::of(records, clock)))
                .collect(),
        }
    };
    groups.into_iter().map(comparison).collect()
}

fn ratios(by_contestant: &BTreeMap<Contestant, Vec<&Record>>, clock: Clock) -> Ratios {
    // Of one round both, or neither: rounds are what makes them alike.
    let pairs = |one: Contestant, other: Contestant, number: &dyn Fn(&Record) -> Option<f64>| -> Vec<(f64, f64)> {
        let ones = by_contestant.get(&one).into_iter().flatten();
        ones.filter_map(|one| {
            let others = by_contestant.get(&other)?;
            let other = others.iter().find(|other| other.round == one.round)?;
            Some((number(one)?, number(other)?))
        })
        .collect()
    };
    let (ours, theirs) = (Contestant::Plimsoll, Contestant::KubeScheduler);
    let floor = by_contestant.get(&Contestant::DumbBinder).and_then(|records| {
        let floors: Vec<f64> = records.iter().filter_map(|record| record.latency_p99()).collect();
        median(&floors)
    });
    let beyond = |record: &Record| Some(record.latency_p99()? - floor?);
    #[expect(clippy::cast_precision_loss, reason = "bytes of memory")]
    let memory = |record: &Record| Some(record.measured()?.peak_memory as f64);
    Ratios {
        pods_per_second: ratio(&pairs(ours, theirs, &|record| {
            pods_per_second(record.mode, clock, record.measured()?)
        })),
        cpu: ratio(&pairs(theirs, ours, &|record| record.cpu(clock))),
        memory: ratio(&pairs(theirs, ours, &memory)),
        latency_p99: ratio(&pairs(theirs, ours, &Record::latency_p99)),
        latency_p99_beyond_floor: ratio(&pairs(theirs, ours, &beyond)),
        first_after: ratio(&pairs(theirs, ours, &Record::first_after)),
        json_cost: ratio(&pairs(Contestant::KubeSchedulerJson, theirs, &|record| {
            record.cpu(clock)
        })),
    }
}

/// Geometric means of the ratios, by mode.
pub fn means(comparisons: &[Comparison]) -> Vec<Means> {
    let modes = [Mode::Open, Mode::Rate, Mode::Drain, Mode::Null];
    let means = modes.map(|mode| {
        let of_mode: Vec<&Ratios> = comparisons
            .iter()
            .filter(|it| it.mode == mode)
            .map(|it| &it.ratios)
            .collect();
        let mean = |number: fn(&Ratios) -> Option<Estimate>| {
            let values: Vec<f64> = of_mode
                .iter()
                .filter_map(|ratios| number(ratios))
                .map(|it| it.value)
                .collect();
            geometric_mean(&values)
        };
        Means {
            mode,
            workloads: of_mode.iter().filter(|ratios| ratios.pods_per_second.is_some()).count(),
            pods_per_second: mean(|ratios| ratios.pods_per_second),
            cpu: mean(|ratios| ratios.cpu),
            memory: mean(|ratios| ratios.memory),
        }
    });
    means.into_iter().filter(|means| means.workloads > 0).collect()
}

#[cfg(test)]
mod tests;
