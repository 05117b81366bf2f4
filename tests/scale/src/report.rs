use std::fmt;

use serde::Serialize;

use crate::mix::Kind;
use crate::speed::Speed;

/// All that was measured.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// How many nodes.
    pub nodes: u32,
    /// How many pods were to be placed.
    pub pods: u32,
    /// The seed.
    pub seed: u64,
    /// So many processors, and the load average before and after.
    pub processors: usize,
    /// The load average of the machine before and after.
    pub load: (String, String),
    /// Decisions about pods of each kind.
    pub decisions: Vec<(Kind, Speed)>,
    /// Decisions about all of them.
    pub all: Speed,
    /// Processor time of each of them on average, in microseconds.
    pub cpu: f64,
    /// Of all of them what else they cost: that they wait, are bound and are on their nodes is told to the columns.
    pub told: Speed,
    /// Pods that no node would take.
    pub unplaced: usize,
    /// Memory, one stage after the other.
    pub memory: Vec<Stage>,
    /// The same pods placed by both.
    pub compared: Option<Compared>,
    /// What the tally found, in words; nothing is as it should be.
    pub faults: Vec<String>,
}

/// What the process had more after some stage.
#[derive(Debug, Clone, Serialize)]
pub struct Stage {
    /// What came.
    pub what: String,
    /// How many of them.
    pub count: u64,
    /// By how many bytes the process has grown.
    pub bytes: u64,
}

/// The same pods in the same cluster, placed by both.
#[derive(Debug, Clone, Serialize)]
pub struct Compared {
    /// How many pods were on nodes before.
    pub before: usize,
    /// By kind: Plimsoll, kube-scheduler.
    pub kinds: Vec<(Kind, Speed, Speed)>,
    /// What each kind took, in the same order.
    pub work: Vec<Work>,
    /// The geometric mean of how many times as many decisions per second Plimsoll makes.
    pub ratio: f64,
    /// The same of processor time.
    pub cpu_ratio: f64,
    /// Memory of kube-scheduler's process at the end, in bytes.
    pub their_bytes: u64,
    /// Memory of this process before that.
    pub our_bytes: u64,
}

/// Processor time for each pod, in microseconds.
#[derive(Debug, Clone, Serialize)]
pub struct Work {
    /// That of Plimsoll's engine.
    pub ours: f64,
    /// That of kube-scheduler's process, its garbage collector included.
    pub theirs: f64,
    /// Nodes that kube-scheduler looked at.
    pub evaluated: f64,
}

impl Work {
    pub(crate) fn ratio(&self) -> f64 {
        self.theirs / self.ours.max(1e-9)
    }
}

impl Compared {
    pub(crate) fn ratio_of(ours: &Speed, theirs: &Speed) -> f64 {
        theirs.mean / ours.mean.max(1e-9)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (before, after) = &self.load;
        writeln!(
            f,
            "{} nodes, {} pods, seed {}; {} processors, load average {before} before and {after} at the end\n",
            self.nodes, self.pods, self.seed, self.processors
        )?;
        writeln!(
            f,
            "| pods | how many | decisions/s | mean µs | p50 µs | p99 µs |\n|---|---|---|---|---|---|"
        )?;
        let kinds = self.decisions.iter().map(|(kind, speed)| (kind.to_string(), speed));
        let totals = [
            ("**all**".to_owned(), &self.all),
            ("telling the columns of them".to_owned(), &self.told),
        ];
        for (what, speed) in kinds.chain(totals) {
            writeln!(f, "| {what} {speed}")?;
        }
        writeln!(f, "\nProcessor time of a decision: {:.1} µs on average.", self.cpu)?;
        writeln!(f, "\n| memory for | how many | MiB | bytes each |\n|---|---|---|---|")?;
        for Stage { what, count, bytes } in &self.memory {
            writeln!(
                f,
                "| {what} | {count} | {} | {} |",
                bytes >> 20,
                bytes / (*count).max(1)
            )?;
        }
        if let Some(compared) = &self.compared {
            writeln!(f, "\n{compared}")?;
        }
        writeln!(
            f,
            "\nNo node would take {} pods. Promises broken: {}.",
            self.unplaced,
            self.faults.len()
        )?;
        self.faults.iter().try_for_each(|fault| writeln!(f, "- {fault}"))
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            pods,
            per_second,
            mean,
            p50,
            p99,
        } = self;
        write!(f, "| {pods} | {per_second:.0} | {mean:.1} | {p50:.1} | {p99:.1} |")
    }
}

impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "With {} pods on nodes, the same pods by both, decisions/s:\n\n| pods | how many | Plimsoll | kube-scheduler \
             | ratio | CPU µs/pod | its | ratio | nodes it looked at |\n|---|---|---|---|---|---|---|---|---|",
            self.before
        )?;
        for ((kind, ours, theirs), work) in self.kinds.iter().zip(&self.work) {
            let ratio = Self::ratio_of(ours, theirs);
            writeln!(
                f,
                "| {kind} | {} | {:.0} | {:.1} | **{ratio:.0}** | {:.1} | {:.0} | **{:.0}** | {:.0} |",
                ours.pods,
                ours.per_second,
                theirs.per_second,
                work.ours,
                work.theirs,
                work.ratio(),
                work.evaluated
            )?;
        }
        let (ratio, cpu_ratio) = (self.ratio, self.cpu_ratio);
        writeln!(
            f,
            "| geometric mean | | | | **{ratio:.0}** | | | **{cpu_ratio:.0}** | |\n"
        )?;
        let (theirs, ours) = (self.their_bytes >> 20, self.our_bytes >> 20);
        write!(
            f,
            "Memory of the processes: Plimsoll's {ours} MiB, kube-scheduler's {theirs} MiB."
        )
    }
}
