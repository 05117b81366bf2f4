use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;

use crate::cluster::{Cluster, Template};
use crate::memory::{load_average, resident};
use crate::mix::{App, Kind, Mix};
use crate::ours::{Ours, Placed, Times};
use crate::report::{Compared, Report, Stage, Work};
use crate::speed::Speed;
use crate::stopwatch::now;
use crate::tally::tally;
use crate::theirs::Theirs;

/// What is to be run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// How many nodes.
    pub nodes: u32,
    /// How many pods.
    pub pods: u32,
    /// Which cluster of all of that size.
    pub seed: u64,
    /// So many apps grow at a time, a pod each in turn, as controllers make them.
    pub at_once: usize,
    /// Looks at all nodes for each pod.
    pub looking_at_all: bool,
    /// The program that has kube-scheduler's own code, if it is to be compared.
    pub upstream: Option<PathBuf>,
    /// So many pods are on nodes before both place the same ones.
    pub compare_at: u32,
    /// So many of each kind.
    pub compared: u32,
}

/// What was placed and how long it took.
struct Log {
    placed: Vec<Placed>,
    /// In nanoseconds; what a pod takes fits.
    decided: BTreeMap<Kind, Vec<u32>>,
    told: Vec<u32>,
    /// Processor time of all decisions.
    spent: u64,
    unplaced: usize,
}

impl Log {
    /// Has room for everything beforehand, lest it counts as memory of what is measured.
    fn new(pods: u32) -> Self {
        let pods = pods as usize;
        let filled = |length: usize| {
            let mut room = vec![1; length];
            room.clear();
            room
        };
        let nobody = Placed {
            app: 0,
            pod: 0,
            node: 1,
        };
        let mut placed = vec![nobody; pods];
        placed.clear();
        Self {
            placed,
            decided: Kind::ALL.map(|kind| (kind, filled(pods / 2))).into(),
            told: filled(pods),
            spent: 0,
            unplaced: 0,
        }
    }

    fn note(&mut self, kind: Kind, times: Times) {
        let narrow = |time: u64| u32::try_from(time).unwrap_or(u32::MAX);
        self.decided.entry(kind).or_default().push(narrow(times.decided));
        self.told.push(narrow(times.told));
        self.spent += times.spent;
    }
}

/// An app that is being rolled out.
struct Rollout<'a> {
    app: &'a App,
    template: Template,
    waiting: String,
    next: u32,
}

impl<'a> Rollout<'a> {
    fn new(app: &'a App) -> Self {
        let template = Cluster::template(app);
        Self {
            app,
            waiting: template.text(None),
            template,
            next: 0,
        }
    }

    fn step(&mut self, ours: &mut Ours) -> anyhow::Result<(Option<Placed>, Times)> {
        let pod = self.next;
        self.next += 1;
        let name = Cluster::pod_name(self.app, pod);
        let (node, times) = ours.place(&self.template, &self.waiting, &name)?;
        let app = self.app.number;
        Ok((node.map(|node| Placed { app, pod, node }), times))
    }
}

/// Places all pods, tells how far it is in lines, and judges what came of it.
pub fn run(plan: &Plan, say: &mut dyn FnMut(&str)) -> anyhow::Result<Report> {
    let load = load_average();
    let cluster = Cluster::new(plan.nodes);
    let mix = Mix::new(plan.seed, plan.nodes, plan.pods);
    let first = u32::try_from(mix.apps.len()).unwrap_or(u32::MAX);
    let both = if plan.upstream.is_some() { plan.compared } else { 0 };
    let extra = Mix::one_of_each(plan.seed, first, both);
    let all: Vec<&App> = mix.apps.iter().chain(&extra).collect();
    let apps: BTreeMap<u32, App> = all.iter().map(|app| (app.number, (*app).clone())).collect();
    let compared = u32::try_from(Kind::ALL.len()).map_or(0, |kinds| kinds * both);
    let mut log = Log::new(plan.pods + compared);
    let mut report = Report {
        nodes: plan.nodes,
        pods: plan.pods,
        seed: plan.seed,
        processors: std::thread::available_parallelism().map_or(0, usize::from),
        ..Report::default()
    };
    let mut stages = Stages::begin();
    let mut ours = Ours::new(plan.seed)?;
    if plan.looking_at_all {
        ours = ours.looking_at_all();
    }
    stages.end("the engine", 1);
    ours.add_nodes(&cluster)?;
    stages.end("nodes", plan.nodes.into());
    ours.add_replica_sets(all.iter().copied())?;
    let sets = all.iter().filter(|app| app.kind.has_replica_set()).count();
    stages.end("replica sets", sets as u64);
    say(&format!("{} nodes and {} apps are there", plan.nodes, mix.apps.len()));
    let mut waiting: VecDeque<&App> = mix.apps.iter().collect();
    let mut rolling: VecDeque<Rollout<'_>> = VecDeque::new();
    let begun = now();
    let mut since = (begun, 0);
    let every = (plan.pods / 20).max(1) as usize;
    loop {
        while rolling.len() < plan.at_once.max(1) {
            let Some(app) = waiting.pop_front() else { break };
            rolling.push_back(Rollout::new(app));
        }
        let Some(mut rollout) = rolling.pop_front() else { break };
        let (placed, times) = rollout.step(&mut ours)?;
        log.note(rollout.app.kind, times);
        log.unplaced += usize::from(placed.is_none());
        log.placed.extend(placed);
        if rollout.next < rollout.app.replicas {
            rolling.push_back(rollout);
        }
        let done = log.told.len();
        if done.is_multiple_of(every) {
            let (then, before) = since;
            let rate = rate(done - before, now() - then);
            say(&format!(
                "{done} pods, {rate:.0} a second with reading them, {} MiB",
                resident() >> 20
            ));
            since = (now(), done);
        }
        if done == plan.compare_at as usize && report.compared.is_none() && plan.upstream.is_some() {
            stages.end(&format!("pods, the first {done}"), done as u64);
            report.compared = compare(plan, &cluster, (&apps, &extra), &mut ours, &mut log, say)?;
            stages.forget();
            since = (now(), log.told.len());
        }
    }
    let rest = log.told.len() as u64 - report.compared.as_ref().map_or(0, |compared| compared.before as u64);
    stages.end(
        if report.compared.is_some() {
            "pods, the rest"
        } else {
            "pods"
        },
        rest,
    );
    let faults = tally(&cluster, &apps, &log.placed);
    report.faults = faults.iter().map(ToString::to_string).collect();
    report.memory = stages.stages;
    report.load = (load, load_average());
    conclude(&mut report, &log);
    Ok(report)
}

fn conclude(report: &mut Report, log: &Log) {
    let wide = |times: &[u32]| times.iter().map(|time| u64::from(*time)).collect::<Vec<u64>>();
    report.unplaced = log.unplaced;
    let pods = u32::try_from(log.told.len()).unwrap_or(u32::MAX);
    report.cpu = each(log.spent, pods) / 1e3;
    report.all = Speed::of(log.decided.values().flat_map(|times| wide(times)).collect());
    report.told = Speed::of(wide(&log.told));
    let kinds = log.decided.iter().map(|(kind, times)| (*kind, Speed::of(wide(times))));
    report.decisions = kinds.filter(|(_, speed)| speed.pods > 0).collect();
}

/// Both place the same pods, which stay.
fn compare(
    plan: &Plan,
    cluster: &Cluster,
    (apps, extra): (&BTreeMap<u32, App>, &[App]),
    ours: &mut Ours,
    log: &mut Log,
    say: &mut dyn FnMut(&str),
) -> anyhow::Result<Option<Compared>> {
    let Some(program) = &plan.upstream else { return Ok(None) };
    // Before the cluster is written down for the other side, which takes memory for a while.
    let our_bytes = resident();
    say("kube-scheduler is told of the same cluster");
    let mut theirs = Theirs::new(program, cluster, apps.values())?;
    theirs.put(apps, &log.placed)?;
    let mut compared = Compared {
        before: log.placed.len(),
        kinds: Vec::new(),
        work: Vec::new(),
        ratio: 0.0,
        cpu_ratio: 0.0,
        their_bytes: 0,
        our_bytes,
    };
    let before = log.placed.len();
    for app in extra {
        let mut rollout = Rollout::new(app);
        let (mut times, mut spent) = (Vec::new(), 0);
        while rollout.next < app.replicas {
            let (placed, took) = rollout.step(ours)?;
            log.unplaced += usize::from(placed.is_none());
            log.placed.extend(placed);
            times.push(took.decided);
            spent += took.spent;
        }
        let answer = theirs.place(app)?;
        let unplaced = answer.nodes.iter().flatten().filter(|node| node.is_empty()).count();
        let (mine, other) = (Speed::of(times), Speed::of(answer.nanoseconds.unwrap_or_default()));
        say(&format!(
            "{}: {:.0} a second, kube-scheduler {:.1} (without a place: {unplaced})",
            app.kind, mine.per_second, other.per_second
        ));
        compared.work.push(Work {
            ours: each(spent, app.replicas) / 1e3,
            theirs: each(answer.cpu_nanoseconds, app.replicas) / 1e3,
            evaluated: each(answer.evaluated, app.replicas),
        });
        compared.their_bytes = answer.resident_bytes;
        compared.kinds.push((app.kind, mine, other));
    }
    compared.before = before;
    compared.ratio = geometric_mean(
        compared
            .kinds
            .iter()
            .map(|(_, ours, theirs)| Compared::ratio_of(ours, theirs)),
    );
    compared.cpu_ratio = geometric_mean(compared.work.iter().map(Work::ratio));
    Ok(Some(compared))
}

#[expect(clippy::cast_precision_loss, reason = "numbers to be read by people")]
fn each(sum: u64, of: u32) -> f64 {
    sum as f64 / f64::from(of.max(1))
}

#[expect(clippy::cast_precision_loss, reason = "numbers to be read by people")]
fn rate(count: usize, time: std::time::Duration) -> f64 {
    count as f64 / time.as_secs_f64().max(1e-9)
}

fn geometric_mean(ratios: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = ratios.fold((0.0, 0.0), |(sum, count), ratio| (sum + ratio.ln(), count + 1.0));
    if count > 0.0 { f64::exp(sum / count) } else { 0.0 }
}

/// By how much the process has grown, stage by stage.
struct Stages {
    stages: Vec<Stage>,
    before: u64,
}

impl Stages {
    fn begin() -> Self {
        Self {
            stages: Vec::new(),
            before: resident(),
        }
    }

    fn end(&mut self, what: &str, count: u64) {
        let now = resident();
        self.stages.push(Stage {
            what: what.to_owned(),
            count,
            bytes: now.saturating_sub(self.before),
        });
        self.before = now;
    }

    /// What has come since belongs to no stage.
    fn forget(&mut self) {
        self.before = resident();
    }
}
