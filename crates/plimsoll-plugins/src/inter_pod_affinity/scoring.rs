use compact_str::CompactString;
use plimsoll_framework::{
    CycleContext, CycleState, Feasible, MAX_NODE_SCORE, MarkBasis, PreScore, PreScoreOutcome, Score, joint_mark,
};
use plimsoll_model::TermKind;
use plimsoll_model::columns::{Columns, DomainCounts, LabelColumn, NodeIndex, QueryId, TermId, ValueId};
use smallvec::SmallVec;

use super::rules::Rules;
use super::{InterPodAffinity, NAME, domains};

/// So many nodes are asked for one by one.
const ONE_BY_ONE: usize = 64;

/// What each domain is worth to the pod, by label.
#[derive(Debug, Default)]
struct Worth(Vec<KeyWorth>);

#[derive(Debug)]
struct KeyWorth {
    key: CompactString,
    by_domain: ByDomain,
}

#[derive(Debug)]
enum ByDomain {
    /// By slot.
    All(Vec<i64>),
    /// There are many domains: what is counted there, to be looked up for those that matter.
    Looked(SmallVec<[(Counted, i64); 2]>),
}

/// What counts, each with a weight.
#[derive(Debug, Clone, Copy)]
enum Counted {
    /// Pods that match a wish.
    Pods(QueryId),
    /// Pods that have a term.
    Owners(TermId),
}

impl Counted {
    fn by_domain<'a>(self, columns: &'a Columns, key: &str) -> Option<DomainCounts<'a>> {
        match self {
            Self::Pods(query) => columns.count(query)?.by_domain(key),
            Self::Owners(term) => columns.owners_of(term),
        }
    }

    fn numbers(self) -> [u64; 3] {
        let (kind, [number, born]) = match self {
            Self::Pods(query) => (0, query.numbers()),
            Self::Owners(term) => (1, term.numbers()),
        };
        [kind, number, born]
    }
}

impl Worth {
    /// Adds the weight once for each pod in each domain. A label that no node has is worth nothing.
    fn add(&mut self, columns: &Columns, key: &str, counted: Counted, weight: i64) {
        let counts = counted.by_domain(columns, key).filter(|counts| !counts.is_empty());
        let (Some(column), Some(counts)) = (columns.label_key(key), counts) else {
            return;
        };
        let at = self.0.iter().position(|own| own.key == key).unwrap_or_else(|| {
            let by_domain = if column.has_few_values() {
                ByDomain::All(vec![0; column.slots()])
            } else {
                ByDomain::Looked(SmallVec::new())
            };
            self.0.push(KeyWorth {
                key: key.into(),
                by_domain,
            });
            self.0.len() - 1
        });
        match &mut self.0[at].by_domain {
            ByDomain::All(worth) => add_pods(worth, column, counts, weight),
            ByDomain::Looked(counted_here) => counted_here.push((counted, weight)),
        }
    }

    /// Where nodes are domains of their own, what one is worth follows from those pods on it that are counted. Other domains are
    /// marked by their values.
    fn mark_basis(&self, columns: &Columns) -> Option<MarkBasis> {
        let mut basis = MarkBasis::default();
        basis.numbers.push(columns.namespaces_changed());
        for KeyWorth { key, by_domain } in &self.0 {
            basis.keys.push(key.clone());
            if let ByDomain::Looked(counted) = by_domain {
                columns.label_key(key).filter(|column| column.tells_all_apart())?;
                let numbers = counted.iter().flat_map(|(counted, _)| counted.numbers());
                basis.numbers.extend(numbers);
            }
        }
        Some(basis)
    }

    fn mark(&self, columns: &Columns, nodes: &[NodeIndex], marks: &mut [u64]) -> bool {
        let keys: SmallVec<[Looking<'_>; 2]> = self.0.iter().map(|worth| worth.looking(columns)).collect();
        for (node, mark) in nodes.iter().zip(marks) {
            let part = |looking: &Looking<'_>| match (looking.value(*node), looking.by_domain) {
                (None, _) => 0,
                (Some((column, value)), ByDomain::All(_)) => column.slot(value) as u64 + 1,
                (Some(_), ByDomain::Looked(_)) => folded(looking.worth(*node)),
            };
            let parts: SmallVec<[u64; 4]> = keys.iter().map(part).collect();
            let Some(joint) = joint_mark(&parts) else {
                return false;
            };
            *mark = joint;
        }
        true
    }
}

impl KeyWorth {
    fn looking<'a>(&'a self, columns: &'a Columns) -> Looking<'a> {
        let counted = match &self.by_domain {
            ByDomain::All(_) => &[][..],
            ByDomain::Looked(counted) => counted.as_slice(),
        };
        let counts = counted.iter();
        Looking {
            column: columns.label_key(&self.key),
            by_domain: &self.by_domain,
            counts: counts
                .filter_map(|(counted, weight)| Some((counted.by_domain(columns, &self.key)?, *weight)))
                .collect(),
        }
    }

    fn add_to(&self, columns: &Columns, nodes: &[NodeIndex], scores: &mut [i64]) {
        let looking = self.looking(columns);
        let Some(column) = looking.column else { return };
        let mut all = Vec::new();
        let by_slot = match &self.by_domain {
            ByDomain::All(worth) => worth,
            ByDomain::Looked(_) if nodes.len() <= ONE_BY_ONE => {
                for (node, score) in nodes.iter().zip(scores) {
                    *score += looking.worth(*node);
                }
                return;
            }
            ByDomain::Looked(_) => {
                all.resize(column.slots(), 0);
                for (counts, weight) in &looking.counts {
                    add_pods(&mut all, column, *counts, *weight);
                }
                &all
            }
        };
        for (node, score) in nodes.iter().zip(scores) {
            let domain = column.value(*node).map(|value| column.slot(value));
            *score += domain.and_then(|domain| by_slot.get(domain)).copied().unwrap_or(0);
        }
    }
}

/// What domains are worth, ready to be asked for single nodes.
struct Looking<'a> {
    column: Option<LabelColumn<'a>>,
    by_domain: &'a ByDomain,
    counts: SmallVec<[(DomainCounts<'a>, i64); 2]>,
}

impl<'a> Looking<'a> {
    fn value(&self, node: NodeIndex) -> Option<(LabelColumn<'a>, ValueId)> {
        let column = self.column?;
        Some((column, column.value(node)?))
    }

    fn worth(&self, node: NodeIndex) -> i64 {
        let Some((_, value)) = self.value(node) else { return 0 };
        let each = self
            .counts
            .iter()
            .map(|(counts, weight)| pods_of(*counts, value) * weight);
        each.sum()
    }
}

fn pods_of(counts: DomainCounts<'_>, value: ValueId) -> i64 {
    i64::try_from(counts.of(value)).unwrap_or(i64::MAX)
}

fn add_pods(worth: &mut [i64], column: LabelColumn<'_>, counts: DomainCounts<'_>, weight: i64) {
    for (value, pods) in counts.iter() {
        if let Some(worth) = worth.get_mut(column.slot(value)) {
            *worth += i64::try_from(pods).unwrap_or(i64::MAX) * weight;
        }
    }
}

/// Small numbers of either sign as small ones without.
fn folded(worth: i64) -> u64 {
    (worth << 1 ^ worth >> 63).cast_unsigned()
}

impl InterPodAffinity {
    /// What a term of a pod on a node is worth to a pod that it means, for each pod that has it; none when it does not
    /// count.
    fn weight(&self, kind: TermKind) -> Option<i64> {
        match kind {
            TermKind::RequiredAffinity => {
                let weight = self.args.hard_pod_affinity_weight;
                (weight > 0).then_some(weight.into())
            }
            TermKind::RequiredAntiAffinity => None,
            TermKind::PreferredAffinity(weight) => Some(weight.into()),
            TermKind::PreferredAntiAffinity(weight) => Some(-i64::from(weight)),
        }
    }

    fn worth(&self, cycle: CycleContext<'_>, rules: &Rules) -> Result<Worth, String> {
        let mut worth = Worth::default();
        for wish in &rules.wishes {
            // It is kept, or there is an error.
            domains(cycle.columns, &wish.rule)?;
            if let Some(query) = cycle.columns.id_of(&wish.rule.query) {
                worth.add(
                    cycle.columns,
                    &wish.rule.topology_key,
                    Counted::Pods(query),
                    wish.weight,
                );
            }
        }
        for term in cycle.columns.terms_towards(cycle.pod) {
            if let Some(weight) = self.weight(term.kind) {
                worth.add(cycle.columns, term.topology_key, Counted::Owners(term.id), weight);
            }
        }
        Ok(worth)
    }
}

impl PreScore for InterPodAffinity {
    fn pre_score(&self, cycle: CycleContext<'_>, state: &mut CycleState, _: &Feasible<'_>) -> PreScoreOutcome {
        let rules = match Rules::of(cycle.pod) {
            Ok(rules) => rules,
            Err(error) => return PreScoreOutcome::Error(format!("failed to parse pod: {error}")),
        };
        // As in kube-scheduler: once the pod has wishes of its own, those of others count after all.
        if self.args.ignore_preferred_terms_of_existing_pods && rules.wishes.is_empty() {
            return PreScoreOutcome::Skip;
        }
        match self.worth(cycle, &rules) {
            Err(error) => PreScoreOutcome::Error(error),
            Ok(worth) if worth.0.is_empty() => PreScoreOutcome::Skip,
            Ok(worth) => {
                state.insert(worth);
                PreScoreOutcome::Continue
            }
        }
    }
}

impl Score for InterPodAffinity {
    fn score(
        &self,
        cycle: CycleContext<'_>,
        state: &CycleState,
        feasible: &[NodeIndex],
        scores: &mut [i64],
    ) -> Result<(), String> {
        let Some(Worth(worth)) = state.get() else {
            return Err(format!("failed to read \"PreScore{NAME}\" from cycleState: not found"));
        };
        for worth in worth {
            worth.add_to(cycle.columns, feasible, scores);
        }
        Ok(())
    }

    fn mark_basis(&self, cycle: CycleContext<'_>, state: &CycleState) -> Option<MarkBasis> {
        state.get::<Worth>()?.mark_basis(cycle.columns)
    }

    fn mark(&self, cycle: CycleContext<'_>, state: &CycleState, nodes: &[NodeIndex], marks: &mut [u64]) -> bool {
        state
            .get::<Worth>()
            .is_some_and(|worth| worth.mark(cycle.columns, nodes, marks))
    }

    /// The lowest becomes 0 and the highest 100; all 0 when they are equal.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "kube-scheduler scales in floating point and cuts off, and so do we"
    )]
    fn normalize_scores(
        &self,
        _: CycleContext<'_>,
        _: &CycleState,
        _: &[NodeIndex],
        scores: &mut [i64],
    ) -> Result<(), String> {
        let (Some(min), Some(max)) = (scores.iter().copied().min(), scores.iter().copied().max()) else {
            return Ok(());
        };
        let range = max - min;
        for score in scores {
            *score = if range > 0 {
                (MAX_NODE_SCORE as f64 * ((*score - min) as f64 / range as f64)) as i64
            } else {
                0
            };
        }
        Ok(())
    }
}
