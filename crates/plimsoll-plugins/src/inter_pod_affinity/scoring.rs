use compact_str::CompactString;
use plimsoll_framework::{CycleContext, CycleState, MAX_NODE_SCORE, PreScore, PreScoreOutcome, Score};
use plimsoll_model::TermKind;
use plimsoll_model::columns::{Columns, DomainCounts, NodeIndex};

use super::rules::Rules;
use super::{InterPodAffinity, NAME, domains};

/// What each domain is worth to the pod, by label.
#[derive(Debug, Default)]
struct Worth(Vec<KeyWorth>);

#[derive(Debug)]
struct KeyWorth {
    key: CompactString,
    by_domain: Vec<i64>,
}

impl Worth {
    /// Adds the weight once for each pod in each domain. A label that no node has is worth nothing.
    fn add(&mut self, columns: &Columns, key: &str, counts: DomainCounts<'_>, weight: i64) {
        let Some(column) = columns.label_key(key).filter(|_| !counts.is_empty()) else {
            return;
        };
        let at = self.0.iter().position(|own| own.key == key).unwrap_or_else(|| {
            self.0.push(KeyWorth {
                key: key.into(),
                by_domain: vec![0; column.slots()],
            });
            self.0.len() - 1
        });
        for (value, pods) in counts.iter() {
            let pods = i64::try_from(pods).unwrap_or(i64::MAX);
            if let Some(worth) = self.0[at].by_domain.get_mut(column.slot(value)) {
                *worth += pods * weight;
            }
        }
    }
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
            let counts = domains(cycle.columns, &wish.rule)?;
            worth.add(cycle.columns, &wish.rule.topology_key, counts, wish.weight);
        }
        for term in cycle.columns.terms_towards(cycle.pod) {
            if let Some(weight) = self.weight(term.kind) {
                worth.add(cycle.columns, term.topology_key, term.owners, weight);
            }
        }
        Ok(worth)
    }
}

impl PreScore for InterPodAffinity {
    fn pre_score(&self, cycle: CycleContext<'_>, state: &mut CycleState, _: &[NodeIndex]) -> PreScoreOutcome {
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
        for KeyWorth { key, by_domain } in worth {
            let Some(column) = cycle.columns.label_key(key) else {
                continue;
            };
            for (node, score) in feasible.iter().zip(scores.iter_mut()) {
                let domain = column.value(*node).map(|value| column.slot(value));
                *score += domain.and_then(|domain| by_domain.get(domain)).copied().unwrap_or(0);
            }
        }
        Ok(())
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
