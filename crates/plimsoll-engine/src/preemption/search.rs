use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use plimsoll_framework::{PreemptionTerms, Verdict, Verdicts};
use plimsoll_model::Moment;
use plimsoll_model::columns::{NodeIndex, NodeSet};

use super::sparing::Sparing;
use super::{Candidate, Memory};
use crate::cycle::{Cycle, LiveFilters};
use crate::fit_error::Histogram;
use crate::ledger::Ledger;
use crate::nominations::{Contender, Nominations};

pub(crate) use super::sparing::Hindrance;

mod dry_run;

/// What users read of a node that has only pods of the same or a higher priority.
const NO_VICTIMS: &str = "No preemption victims found for incoming pod";
/// What users read of nodes that will not do whoever is evicted.
const NOT_HELPFUL: &str = "Preemption is not helpful for scheduling";

/// Looks for nodes on which evicting less important pods makes room.
pub(crate) struct Search<'a> {
    cycle: &'a mut Cycle,
    ledger: &'a mut Ledger,
    sparing: Sparing<'a>,
    /// Nominated pods that count against the pod, by node.
    contenders: HashMap<NodeIndex, Vec<Contender>, FixedState>,
    live: LiveFilters,
    /// Whether what came of a node is the same for the next pod of the kind, as long as nothing changes there.
    recalls: bool,
    /// Nodes that cannot become candidates, found out by sums. Nothing is said of those that are known to be some, nor of a
    /// contested node that may be turned away by a filter that sees more.
    hopeless: Option<Verdicts>,
    /// Numbers of the filters that turned nodes down.
    turned_down_by: Vec<u8>,
    now: Moment,
}

/// What a search came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// There are candidates, those that violate no budget first.
    Candidates(Vec<Candidate>),
    /// There are none, for these reasons.
    Nothing(String),
    /// There are none, and something failed.
    Failure(String),
}

/// What became of one node.
#[derive(Debug, PartialEq, Eq)]
enum Tried {
    Candidate(Candidate),
    /// It has nobody to evict.
    NoVictims,
    /// It will not do, whoever is evicted, since a filter says so.
    Rejected(Verdict),
    /// It is left alone for another reason.
    Spared(&'static str),
    Failed(String),
}

impl Tried {
    fn candidate(&self) -> Option<&Candidate> {
        match self {
            Self::Candidate(candidate) => Some(candidate),
            _ => None,
        }
    }
}

impl<'a> Search<'a> {
    pub(crate) fn new(
        cycle: &'a mut Cycle,
        ledger: &'a mut Ledger,
        nominations: &Nominations,
        (terms, memory): (&PreemptionTerms, &'a Memory),
        potential: &[NodeIndex],
        now: Moment,
    ) -> Self {
        let pod = Arc::clone(&cycle.pod);
        let mut nodes: NodeSet = potential.iter().copied().collect();
        let nominated = nominations.contenders(&pod, &nodes, ledger.columns());
        let contested: NodeSet = nominated.iter().map(|contender| contender.index).collect();
        let live = cycle.begin_dry_runs(ledger.columns());
        let sparing = Sparing::for_attempt(terms, &pod, ledger, memory, now);
        let recalls = live.see_requests_only && live.follow_rows && sparing.is_idle();
        if let Some(known) = cycle.known.as_ref().filter(|_| recalls) {
            known.trials.strike_out(&mut nodes, &contested, ledger);
        }
        // Who is spared on a contested node comes before what its filters say of it.
        let tries_contested = !sparing.is_idle();
        if tries_contested {
            nodes.subtract(&contested);
        }
        let by_sums = if tries_contested { &[][..] } else { &nominated };
        let hopeless = cycle.judge_by_sums(&nodes, by_sums, &live, ledger.columns_mut(), now);
        let mut contenders: HashMap<_, Vec<_>, _> = HashMap::with_hasher(FixedState::default());
        for contender in nominated {
            contenders.entry(contender.index).or_default().push(contender);
        }
        Self {
            recalls,
            sparing,
            cycle,
            ledger,
            contenders,
            live,
            hopeless,
            turned_down_by: Vec::new(),
            now,
        }
    }

    /// Tries the nodes in turn, beginning at `start`, until there are `wanted` candidates and one of them violates no budget.
    pub(crate) fn run(&mut self, potential: &[NodeIndex], start: usize, wanted: usize) -> Found {
        let mut tally = Tally::new(wanted);
        let start = start.min(potential.len());
        for node in potential[start..].iter().chain(&potential[..start]) {
            tally.add(self.attempt(*node));
            if tally.is_enough() {
                break;
            }
        }
        self.turned_down_by = tally.filters();
        self.conclude(tally)
    }

    /// What kept the search from nodes that it might have taken otherwise.
    pub(crate) fn hindrance(&self) -> Hindrance {
        Hindrance {
            filters: self.turned_down_by.clone(),
            ..self.sparing.hindrance()
        }
    }

    fn conclude(&self, tally: Tally) -> Found {
        let mut candidates = tally.harmless;
        candidates.extend(tally.violating);
        if !candidates.is_empty() {
            return Found::Candidates(candidates);
        }
        if !tally.failures.is_empty() {
            return Found::Failure(aggregated(tally.failures));
        }
        let columns = self.ledger.columns();
        let mut histogram = Histogram::default();
        let mut explained = 0;
        for (verdict, nodes) in tally.verdicts {
            explained += nodes;
            self.cycle
                .add_reasons(verdict, nodes, columns, self.now, &mut histogram);
        }
        for text in tally.texts {
            explained += 1;
            histogram.add(text.into(), 1);
        }
        explained += tally.without_victims;
        for (text, nodes) in [
            (NO_VICTIMS, tally.without_victims),
            (NOT_HELPFUL, columns.node_count().saturating_sub(explained)),
        ] {
            if nodes > 0 {
                histogram.add(text.into(), nodes);
            }
        }
        Found::Nothing(histogram.message(columns.node_count()))
    }
}

/// What has become of the nodes so far.
struct Tally {
    wanted: usize,
    harmless: Vec<Candidate>,
    violating: Vec<Candidate>,
    without_victims: usize,
    verdicts: HashMap<Verdict, usize, FixedState>,
    texts: Vec<&'static str>,
    failures: Vec<String>,
}

impl Tally {
    fn new(wanted: usize) -> Self {
        Self {
            wanted,
            harmless: Vec::new(),
            violating: Vec::new(),
            without_victims: 0,
            verdicts: HashMap::with_hasher(FixedState::default()),
            texts: Vec::new(),
            failures: Vec::new(),
        }
    }

    fn add(&mut self, tried: Tried) {
        match tried {
            Tried::Candidate(candidate) => {
                let list = match candidate.violations {
                    0 => &mut self.harmless,
                    _ => &mut self.violating,
                };
                if list.len() < self.wanted {
                    list.push(candidate);
                }
            }
            Tried::NoVictims => self.without_victims += 1,
            Tried::Rejected(verdict) => *self.verdicts.entry(verdict).or_default() += 1,
            Tried::Spared(text) => self.texts.push(text),
            Tried::Failed(text) => self.failures.push(text),
        }
    }

    /// Numbers of the filters that turned nodes down, in order.
    fn filters(&self) -> Vec<u8> {
        let mut filters: Vec<u8> = self.verdicts.keys().filter_map(|verdict| verdict.filter()).collect();
        filters.sort_unstable();
        filters.dedup();
        filters
    }

    fn is_enough(&self) -> bool {
        !self.harmless.is_empty() && self.harmless.len() + self.violating.len() >= self.wanted
    }
}

/// Several failures as kube-scheduler tells them: each text once.
fn aggregated(failures: Vec<String>) -> String {
    let mut texts: Vec<String> = Vec::new();
    for failure in failures {
        if !texts.contains(&failure) {
            texts.push(failure);
        }
    }
    match texts.as_slice() {
        [only] => only.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}
