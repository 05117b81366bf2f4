//! Traces of a run: who is told of what happens, and what goes wrong with that.

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_telemetry::traces::ExportLimits;

use super::Chaos;
use super::dice::Dice;
use super::verdict::{is_ours, text};
use crate::collector::{Collector, Mood};
use crate::invariants::placements;
use crate::invariants::traces::{Account, Pods, Told};
use crate::world::{Traces, World};

/// In how many of a hundred runs somebody is told. Directed runs with a collector are in `tests/traced.rs`.
const TOLD: u64 = 60;

/// Which part of a run draws it: apart from everything else, so that the steps are the same with and without traces.
const TELLING: u64 = 4_000_000;

/// Whether a run is traced, and how.
#[derive(Debug, Clone)]
pub(super) struct Traced {
    ratio: f64,
    limits: ExportLimits,
    /// How often in a hundred steps the collector's mood changes.
    moody: u64,
}

impl Traced {
    pub(super) fn of(seed: u64) -> Option<Self> {
        let mut dice = Dice::new(seed, TELLING);
        if !dice.percent(TOLD) {
            return None;
        }
        let ratio = *dice.pick(&[1.0, 1.0, 0.3, 0.0]).unwrap_or(&1.0);
        let queue_size = *dice.pick(&[16, 200, 2_048, 100_000]).unwrap_or(&2_048);
        let batch_size = *dice.pick(&[1, 8, 512]).unwrap_or(&512);
        let delay = Duration::from_millis(*dice.pick(&[10, 100, 5_000]).unwrap_or(&5_000));
        let timeout = Duration::from_millis(*dice.pick(&[100, 1_000, 30_000]).unwrap_or(&30_000));
        Some(Self {
            ratio,
            limits: ExportLimits {
                queue_size,
                batch_size: batch_size.min(queue_size),
                delay,
                timeout,
            },
            moody: *dice.pick(&[0, 5, 20]).unwrap_or(&5),
        })
    }
}

/// Who takes the spans of a run.
pub(super) struct Telling {
    traced: Traced,
    collector: Collector,
    /// What was counted as dropped, and how many terms had begun, when the collector had caught up.
    caught_up: Option<(BTreeMap<String, u64>, u64)>,
    /// Pods that had a node then.
    placed: Vec<String>,
}

impl Telling {
    pub(super) fn of(traced: Traced) -> Self {
        Self {
            traced,
            collector: Collector::default(),
            caught_up: None,
            placed: Vec::new(),
        }
    }

    /// For a replica that starts.
    pub(super) fn traces(&self) -> Traces {
        Traces {
            collector: self.collector.clone(),
            limits: self.traced.limits,
            ratio: self.traced.ratio,
        }
    }

    pub(super) fn died(&self, replica: &str) {
        self.collector.died(replica);
    }
}

fn dropped(world: &World, replica: &str) -> u64 {
    world.metrics(replica).traces().counted().dropped()
}

impl Chaos {
    /// The collector may be in another mood from this step on.
    pub(super) fn upset_collector(&self, step: usize) {
        let Some(telling) = &self.telling else { return };
        let mut dice = Dice::new(self.seed, TELLING + 1 + step as u64);
        if !dice.percent(telling.traced.moody) {
            return;
        }
        let slow = Duration::from_millis(dice.below(20_000));
        let moods = [Mood::Takes, Mood::Slow(slow), Mood::Refuses, Mood::Hangs, Mood::Flaps];
        let mood = dice.pick(&moods).copied().unwrap_or_default();
        self.world.trace().note(&format!("* the collector: {mood:?}"));
        telling.collector.set_mood(mood);
    }

    /// The collector takes everything from now on.
    pub(super) fn calm_collector(&self) {
        if let Some(telling) = &self.telling {
            telling.collector.set_mood(Mood::Takes);
        }
    }

    /// From now on everything that is told has to come, as long as nothing is counted as dropped. To be called a while after
    /// all is calm.
    pub(super) fn expect_whole_traces(&mut self) {
        let Some(telling) = &mut self.telling else { return };
        let replicas = self.replicas.iter().map(|(machine, _)| machine.name());
        let dropped = replicas.map(|name| (name.to_owned(), dropped(&self.world, name)));
        telling.caught_up = Some((dropped.collect(), self.world.terms().begun()));
        telling.placed = placements(self.world.server()).into_keys().collect();
    }

    /// What is wrong with what was told. Nothing happens any more.
    pub(super) async fn check_traces(&mut self) -> Vec<String> {
        let Some(telling) = &self.telling else {
            return Vec::new();
        };
        telling.collector.finish().await;
        let accounts = self.accounts(telling);
        let told = Told::of(&accounts);
        let pods = Pods::of(self.world.server());
        let mut found = told.problems(&pods, telling.traced.ratio);
        let (lacks, whole) = self.untold_lives(telling, &told, &pods);
        found.extend(lacks);
        self.counters.spans = accounts.values().map(|account| account.exported).sum();
        self.counters.dropped_spans = accounts.values().map(|account| account.dropped).sum();
        self.counters.whole_traces = whole;
        found
    }

    fn accounts(&self, telling: &Telling) -> BTreeMap<String, Account> {
        let mut taken = telling.collector.taken();
        let lines = self.world.trace().lines();
        let account = |name: String| {
            let metrics = self.world.metrics(&name);
            let counted = metrics.traces().counted();
            let message = format!(" {name} Tracer: Attempt ");
            let runs = self.replicas.iter().any(|(machine, _)| machine.name() == name);
            let account = Account {
                spans: taken.remove(&name).unwrap_or_default(),
                attempts: lines.iter().filter(|line| line.contains(&message)).count(),
                exported: counted.exported,
                dropped: counted.dropped(),
                ended: !runs,
            };
            (name, account)
        };
        self.world.replicas().into_iter().map(account).collect()
    }

    /// Pods that were placed since the collector had caught up, and whose traces have not come as a whole; and how many have.
    fn untold_lives(&self, telling: &Telling, told: &Told<'_>, pods: &Pods) -> (Vec<String>, u64) {
        let mut whole = 0;
        let Some((dropped_before, terms_before)) = &telling.caught_up else {
            return (Vec::new(), whole);
        };
        // A leader that gives up does not hear what becomes of its last bindings, and what it dropped cannot be expected.
        let undisturbed = self.world.terms().begun() == *terms_before
            && dropped_before
                .iter()
                .all(|(name, before)| dropped(&self.world, name) == *before);
        if !undisturbed {
            return (Vec::new(), whole);
        }
        let mut found = Vec::new();
        for name in placements(self.world.server()).into_keys() {
            let pod = self.world.pod(&name).filter(|_| !telling.placed.contains(&name));
            let uid = pod.filter(|pod| is_ours(pod)).map(|pod| text(&pod["metadata"]["uid"]));
            let Some(uid) = uid.filter(|uid| pods.is_told_of(uid, telling.traced.ratio)) else {
                continue;
            };
            let missing = told.missing_of(&uid);
            whole += u64::from(missing.is_empty());
            found.extend(
                missing
                    .into_iter()
                    .map(|what| format!("the trace of pod {name} lacks {what}")),
            );
        }
        (found, whole)
    }
}
