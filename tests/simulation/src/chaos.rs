//! A random run from one seed: pods and nodes come and go, requests fail in every way that the server knows, machines
//! are cut off, suspended and killed. In the end all that stops, and everything that can be placed must be placed.

mod churn;
mod dice;
mod steps;
mod verdict;
mod weather;

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_actors::supervisor::RunningReplica;
use plimsoll_apiserver::fault::RuleId;
use plimsoll_config::PodDisruptionBudgetPolicy;

use self::dice::Dice;
pub use self::steps::Steps;
use crate::world::{Machine, Setup, World};
use crate::{invariants, run};

/// Numbers of the generators of pauses between steps, beyond those of the steps.
const PAUSES: u64 = 1_000_000;
/// The part after the last step.
const LAST: u64 = 2_000_000;
/// Replicas at most.
const REPLICAS: usize = 3;
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
    replicas: Vec<(Machine, RunningReplica)>,
    /// Asked to end; they may still be at it.
    leaving: Vec<(Machine, RunningReplica)>,
    rules: Vec<RuleId>,
    /// Which part of the run goes on: names are made of it, so that one that is left out renames nothing.
    part: u64,
    made: u32,
    /// What the parts did, in words.
    done: Vec<String>,
    /// What audits found wrong.
    audited: Vec<String>,
}

impl Chaos {
    fn new(seed: u64) -> Self {
        Self {
            world: World::new(seed),
            seed,
            dice: Dice::new(seed, 0),
            replicas: Vec::new(),
            leaving: Vec::new(),
            rules: Vec::new(),
            part: 0,
            made: 0,
            done: Vec::new(),
            audited: Vec::new(),
        }
    }

    async fn run(mut self, steps: &Steps) -> Outcome {
        for (class, value) in churn::CLASSES {
            self.world.add_priority_class(class, value);
        }
        for _ in 0..=self.dice.below(4) {
            self.add_node();
        }
        for _ in 0..=self.dice.below(REPLICAS as u64) {
            self.start_replica().await;
        }
        for step in 0..Steps::COUNT {
            self.begin_part(step as u64 + 1);
            if steps.takes(step) {
                self.step().await;
            }
            self.dice = Dice::new(self.seed, PAUSES + self.part);
            let pause = self.dice.below(2_500);
            self.world.pass_with_kubelets(Duration::from_millis(pause)).await;
            self.audit().await;
        }
        self.begin_part(LAST);
        self.calm_down().await;
        self.world.pass_with_kubelets(SETTLE).await;
        self.audit().await;
        let mut problems = std::mem::take(&mut self.audited);
        problems.extend(verdict::left_out(&self.world));
        problems.extend(verdict::behind_lower(&self.world));
        self.note("new nodes");
        self.add_last_nodes();
        self.world.pass_with_kubelets(WAKE).await;
        problems.extend(verdict::left_out(&self.world));
        let untold = invariants::forgotten(self.world.server());
        problems.extend(
            untold
                .into_iter()
                .map(|pod| format!("nobody was told why pod {pod} waits")),
        );
        problems.extend(invariants::violations(self.world.server()));
        problems.extend(invariants::unplanned_removals(
            self.world.server(),
            &self.world.trace().lines(),
        ));
        Outcome {
            seed: self.seed,
            problems,
            trace: self.world.trace().lines(),
            steps: self.done.into_iter().take(Steps::COUNT).collect(),
            placements: invariants::placements(self.world.server()),
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
        match self.dice.below(100) {
            0..30 => self.add_pods(),
            30..38 => self.delete_pod(),
            38..43 => self.finish_pod(),
            43..48 => self.ungate_pod(),
            48..52 => self.label_pod(),
            52..58 => self.add_node(),
            58..61 => self.delete_node(),
            61..66 => self.change_node(),
            66..78 => self.add_rule(),
            78..84 => self.remove_rule(),
            84..87 => self.compact(),
            87..90 => self.kill_replica(),
            90..92 => self.shut_down_replica(),
            92..95 => self.start_replica().await,
            95..98 => self.cut_or_mend(),
            _ => self.suspend(),
        }
    }

    /// Whatever goes on, each leader knows who has which pod. A term that is being stopped may leave the question open.
    async fn audit(&mut self) {
        for (machine, replica) in self.replicas.iter().chain(&self.leaving) {
            let asked = tokio::time::timeout(Duration::from_secs(1), replica.audit()).await;
            if let Ok(Some(report)) = asked
                && !report.found.is_empty()
            {
                self.audited.push(format!("{}: {report}", machine.name()));
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

    async fn start_replica(&mut self) {
        if self.replicas.len() >= REPLICAS {
            return;
        }
        let name = self.new_name("replica-");
        self.note(&format!("start {name}"));
        let machine = self.world.machine(&name);
        let mut setup = Setup::default();
        // Half of the runs ask the API server before they evict anybody.
        if self.seed.is_multiple_of(2) {
            setup.profile.extras.pod_disruption_budget_policy = PodDisruptionBudgetPolicy::Hard;
        }
        let replica = self.world.start_on(&machine, setup).await;
        self.replicas.push((machine, replica));
    }

    fn kill_replica(&mut self) {
        if let Some(at) = self.dice.index(self.replicas.len()) {
            let (machine, replica) = self.replicas.remove(at);
            self.note(&format!("kill {}", machine.name()));
            replica.kill();
        }
    }

    fn shut_down_replica(&mut self) {
        if let Some(at) = self.dice.index(self.replicas.len()) {
            let (machine, replica) = self.replicas.remove(at);
            self.note(&format!("shut down {}", machine.name()));
            replica.shutdown();
            self.leaving.push((machine, replica));
        }
    }

    fn cut_or_mend(&mut self) {
        let Some(at) = self.dice.index(self.replicas.len()) else {
            return;
        };
        let machine = &self.replicas[at].0;
        let (name, link) = (machine.name().to_owned(), machine.link().clone());
        if link.is_open() {
            self.note(&format!("cut off {name}"));
            link.cut();
        } else {
            self.note(&format!("reconnect {name}"));
            link.mend();
        }
    }

    fn suspend(&mut self) {
        let Some(at) = self.dice.index(self.replicas.len()) else {
            return;
        };
        let asleep = Duration::from_millis(self.dice.below(30_000));
        let name = self.replicas[at].0.name().to_owned();
        self.note(&format!("suspend {name} for {asleep:?}"));
        self.replicas[at].0.clock().suspend(asleep);
    }

    /// No more faults, every machine connected, and at least one replica.
    async fn calm_down(&mut self) {
        self.note("calm");
        self.world.server().faults().clear();
        for (machine, _) in self.replicas.iter().chain(&self.leaving) {
            machine.link().mend();
        }
        if self.replicas.is_empty() {
            self.start_replica().await;
        }
    }
}
