//! A random run from one seed: pods and nodes come and go, requests fail in every way that the server knows, machines
//! are cut off, suspended and killed. In the end all that stops, and everything that can be placed must be placed.

mod churn;
mod climate;
mod counters;
mod dice;
mod extenders;
mod machines;
mod others;
mod reach;
mod steps;
mod telling;
mod verdict;
mod volumes;
mod weather;
mod worst_moments;

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_actors::supervisor::RunningReplica;
use plimsoll_apiserver::fault::RuleId;

use self::climate::Climate;
pub use self::counters::Counters;
use self::dice::Dice;
pub use self::steps::Steps;
use self::telling::Telling;
use self::verdict::Verdict;
use crate::extender::SimulatedExtender;
use crate::storage::Storage;
use crate::world::{Machine, World};
use crate::{invariants, run};

/// Numbers of the generators of pauses between steps, beyond those of the steps.
const PAUSES: u64 = 1_000_000;
/// The part after the last step.
const LAST: u64 = 2_000_000;
/// How long nothing happens in the middle of some runs. Whoever waits for a change then has to have noticed it before.
const LULL: Duration = Duration::from_secs(25);
/// After the faults have stopped: a lease runs out, a replica that stood aside returns, watches end their backoff.
const SETTLE: Duration = Duration::from_secs(150);
/// After new nodes have come: backoffs end.
const WAKE: Duration = Duration::from_secs(40);

/// What came of one run.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Its seed.
    pub seed: u64,
    /// Everything that must not be, in words; empty when all is well.
    pub problems: Vec<String>,
    /// Every message, and every random event.
    pub trace: Vec<String>,
    /// Where pods ended.
    pub placements: BTreeMap<String, String>,
    /// What each step did, in words; empty for a step that found nothing to do or was left out.
    pub steps: Vec<String>,
    /// What there was of what is hard.
    pub counters: Counters,
    /// What held for the whole of it.
    pub climate: String,
}

/// What holds for the whole run of a seed, in words.
pub fn climate_of(seed: u64) -> String {
    format!("{:?}", Climate::of(seed))
}

/// Runs one seed.
pub fn simulate(seed: u64) -> Outcome {
    simulate_steps(seed, &Steps::all())
}

/// Runs one seed, with some of its steps left out. Time passes for those too, and the others draw the same.
pub fn simulate_steps(seed: u64, steps: &Steps) -> Outcome {
    run(async move { Box::pin(Chaos::new(seed).run(steps)).await })
}

struct Chaos {
    world: World,
    seed: u64,
    dice: Dice,
    climate: Climate,
    counters: Counters,
    replicas: Vec<(Machine, RunningReplica)>,
    /// Asked to end; they may still be at it.
    leaving: Vec<(Machine, RunningReplica)>,
    rules: Vec<RuleId>,
    extender: Option<SimulatedExtender>,
    storage: Option<Storage>,
    telling: Option<Telling>,
    /// Which part of the run goes on: names are made of it, so that one that is left out renames nothing.
    part: u64,
    made: u32,
    /// What the parts did, in words.
    done: Vec<String>,
    /// What was found wrong.
    found: Vec<String>,
}

impl Chaos {
    fn new(seed: u64) -> Self {
        let climate = Climate::of(seed);
        Self {
            world: World::new(seed),
            seed,
            dice: Dice::new(seed, 0),
            telling: climate.traced.clone().map(Telling::of),
            climate,
            counters: Counters::default(),
            replicas: Vec::new(),
            leaving: Vec::new(),
            rules: Vec::new(),
            extender: None,
            storage: None,
            part: 0,
            made: 0,
            done: Vec::new(),
            found: Vec::new(),
        }
    }

    async fn run(mut self, steps: &Steps) -> Outcome {
        for (class, value) in churn::CLASSES {
            self.world.add_priority_class(class, value);
        }
        for budget in others::BUDGETS {
            self.world.add_budget(budget, 1);
        }
        self.set_in();
        self.set_up_storage();
        for _ in 0..=self.dice.below(4) {
            self.add_node();
        }
        for _ in 0..self.climate.replicas {
            self.start_replica().await;
        }
        for step in 0..Steps::COUNT {
            self.begin_part(step as u64 + 1);
            self.upset_collector(step);
            if steps.takes(step) {
                self.step().await;
            }
            self.dice = Dice::new(self.seed, PAUSES + self.part);
            let pause = self.dice.below(2_500);
            self.world.pass_with_kubelets(Duration::from_millis(pause)).await;
            self.look().await;
        }
        self.begin_part(LAST);
        self.end().await;
        let mut outcome = self.outcome();
        outcome.problems.extend(self.check_traces().await);
        outcome.counters = self.counters;
        outcome
    }

    /// All faults stop, and what can be placed has to be placed.
    async fn end(&mut self) {
        self.make_room_late().await;
        self.calm_down().await;
        for budget in others::BUDGETS {
            self.world.allow_disruptions(budget, 1_000);
        }
        let settling = SETTLE + self.climate.time_for(100) + self.climate.quiet_end();
        self.world.pass_with_kubelets(settling).await;
        self.let_leaders_resign().await;
        self.look().await;
        let verdict = self.verdict();
        self.found.extend(verdict.left_out());
        self.found.extend(verdict.behind_lower());
        self.expect_whole_traces();
        self.note("new nodes");
        self.add_last_nodes();
        self.world.pass_with_kubelets(WAKE + self.climate.time_for(100)).await;
        self.let_leaders_resign().await;
        self.let_preemptions_end().await;
        self.look().await;
        self.found.extend(self.verdict().left_out());
        self.found.extend(verdict::misled(&self.world));
        self.found.extend(verdict::untold(&self.world));
        if self.storage.is_some() {
            self.found
                .extend(invariants::volumes_kept_for_nobody(self.world.server()));
        }
    }

    /// Room that is promised to a pod whose victims are going is not for others; in time the pod has it.
    async fn let_preemptions_end(&mut self) {
        for _ in 0..2 {
            if !verdict::any_promised(&self.world) {
                return;
            }
            let patience = WAKE + self.climate.time_for(100);
            self.world.pass_with_kubelets(patience).await;
        }
    }

    fn verdict(&self) -> Verdict {
        let asked = self.climate.extender.as_ref();
        Verdict::of(&self.world, asked.is_some_and(|asked| asked.filters))
    }

    /// Where no bookmarks come a leader gives up every few minutes, on purpose. What it left waiting is placed by the next
    /// one, within the time that takes; whoever resigns once more before that is at fault.
    async fn let_leaders_resign(&mut self) {
        let patience = self.climate.time_to_resign();
        let before = self.resignations();
        self.world.pass_with_kubelets(patience).await;
        if self.resignations() > before {
            self.world.pass_with_kubelets(patience).await;
        }
    }

    fn outcome(&mut self) -> Outcome {
        let trace = self.world.trace().lines();
        let server = self.world.server();
        self.found.extend(self.world.judge().found());
        self.found.extend(self.world.terms().problems());
        self.found.extend(invariants::unplanned_removals(server, &trace));
        self.found.extend(invariants::volumes_of_two(server));
        self.count_the_rest();
        Outcome {
            seed: self.seed,
            problems: std::mem::take(&mut self.found),
            trace,
            placements: invariants::placements(self.world.server()),
            steps: self.done.drain(..).take(Steps::COUNT).collect(),
            counters: self.counters,
            climate: format!("{:?}", self.climate),
        }
    }

    /// What comes is drawn and named for itself.
    fn begin_part(&mut self, part: u64) {
        self.part = part;
        self.made = 0;
        self.dice = Dice::new(self.seed, part);
        self.done.push(String::new());
    }

    /// A name that nothing else of the run has.
    fn new_name(&mut self, kind: &str) -> String {
        self.made += 1;
        format!("{kind}{}-{}", self.part, self.made)
    }

    async fn step(&mut self) {
        if self.storage.is_some() && self.dice.percent(20) {
            return self.step_with_volumes().await;
        }
        match self.dice.below(100) {
            0..20 => self.add_pods(),
            20..21 => self.stall_the_elector(),
            21..24 => self.hand_over_unseen().await,
            24..30 => self.delete_pod(),
            30..33 => self.finish_pod(),
            33..37 => self.ungate_pod(),
            37..40 => self.label_pod(),
            40..45 => self.add_node(),
            45..47 => self.delete_node(),
            47..53 => self.change_node(),
            53..55 => self.resize_pod(),
            55..65 => self.add_rule(),
            65..70 => self.remove_rule(),
            70..72 => self.compact(),
            72..75 => self.kill_replica(),
            75..77 => self.shut_down_replica(),
            77..81 => self.start_replica().await,
            81..85 => self.cut_or_mend(),
            85..87 => self.suspend().await,
            87..91 => self.stop_or_resume(),
            91..95 => self.let_others_bind(),
            95..96 => self.reload(),
            96..97 => self.change_budgets(),
            97..99 => self.slow_down_or_expose(),
            _ => self.lull().await,
        }
    }

    /// Faults end and nothing happens for a while: what fits is placed, without the next change to wake it.
    async fn lull(&mut self) {
        self.make_room_late().await;
        self.calm_down().await;
        let patience = 3 * LULL + self.climate.time_for(100);
        self.world.pass_with_kubelets(patience).await;
        self.look().await;
        self.world.pass_with_kubelets(LULL).await;
        self.let_leaders_resign().await;
        let left_out = self.verdict().left_out();
        self.found
            .extend(left_out.into_iter().map(|what| format!("in a lull, {what}")));
        for at in 0..self.replicas.len() {
            self.expose(at);
        }
        if let Some(storage) = &self.storage {
            storage.dawdle(true);
        }
    }

    /// Whatever goes on, nothing that was written or sent is wrong, and each leader knows who has which pod. A term that is
    /// being stopped may leave that question open.
    async fn look(&mut self) {
        self.world.judge().look();
        self.world.terms().check();
        let all = self.replicas.iter().chain(&self.leaving);
        for (machine, replica) in all.filter(|(machine, _)| !machine.is_stopped()) {
            let asked = tokio::time::timeout(Duration::from_secs(1), replica.audit()).await;
            if let Ok(Some(report)) = asked
                && !report.found.is_empty()
            {
                self.found.push(format!("{}: {report}", machine.name()));
            }
        }
    }

    fn note(&mut self, text: &str) {
        self.world.trace().note(&format!("* {text}"));
        if let Some(done) = self.done.last_mut() {
            if !done.is_empty() {
                done.push_str("; ");
            }
            done.push_str(text);
        }
    }

    fn compact(&mut self) {
        let back = self.world.server().resource_version();
        self.note(&format!("compact {back}"));
        self.world.server().compact(back);
    }
}
