//! What was found out about nodes for pods of one kind, kept so that the next such pod costs a look at the nodes that have
//! changed since, not at all of them. Nothing here has a say in a decision: the same comes out as from a look at all.

use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::fast::FixedState;
use plimsoll_framework::Verdicts;
use plimsoll_model::Pod;
use plimsoll_model::columns::{Columns, NodeSet};

use crate::plan::Plan;
use crate::preemption::Trials;
use crate::row_scores::RowScores;
use crate::score_groups::{ScoreGroups, ToldApart};

/// As many kinds of pods are kept at most.
const MOST_KINDS: usize = 64;

/// Fewer are where there are many nodes: of all kinds together so many rows, of which each costs some 17 bytes.
const MOST_ROWS: usize = 1 << 20;

/// Of so many kinds of pods, those that came last, it is kept whom they could preempt: some 130 bytes a row.
const MOST_TRIALS: usize = 8;

/// So many sets of groups are kept for pods of one kind.
const MOST_GROUPINGS: usize = 3;

/// Of how many pods the kinds are remembered, to tell those that come again: a kind is kept from its second pod on.
const SEEN: usize = 4 * MOST_KINDS;

/// What is known of the kinds of pods that came last.
#[derive(Default)]
pub(crate) struct Recall {
    /// The one that was used last comes last.
    kinds: Vec<Known>,
    seen: Vec<u64>,
    next_seen: usize,
    off: bool,
}

/// What is known of the nodes for pods of one kind.
pub(crate) struct Known {
    hash: u64,
    pod: Arc<Pod>,
    plan: Arc<Plan>,
    /// Which of the profile's filters have nothing to do.
    skip: Vec<bool>,
    /// As many filters, the first ones of the profile, follow rows or have nothing to do.
    pub(crate) filters: usize,
    /// What these say.
    pub(crate) verdicts: Verdicts,
    /// The version of the columns by which they said it; none before they did.
    judged_at: Option<u64>,
    /// How many rows there were then.
    rows: usize,
    /// How many nodes each of them has rejected.
    pub(crate) rejected_by: Vec<usize>,
    pub(crate) scores: RowScores,
    /// Where less important pods could make room for such a pod.
    pub(crate) trials: Trials,
    /// The nodes by what else tells them apart, for pods that differ in that. The ones that were used last come last.
    groups: Vec<ScoreGroups>,
    /// What told them apart when there were no groups for it: these are made when it comes again.
    seen_apart: Option<ToldApart>,
}

impl Recall {
    /// Keeps nothing from here on.
    pub(crate) fn turn_off(&mut self) {
        self.off = true;
        self.clear();
    }

    /// Rows mean something else, or profiles do.
    pub(crate) fn clear(&mut self) {
        self.kinds.clear();
        self.seen.clear();
        self.next_seen = 0;
    }

    /// What is known for a pod with these filters switched off, if pods of its kind come again and again.
    /// [`Recall::put`] gives it back.
    pub(crate) fn take(&mut self, pod: &Arc<Pod>, plan: &Arc<Plan>, skip: &[bool]) -> Option<Known> {
        if self.off {
            return None;
        }
        let filters = filters_that_follow_rows(plan, skip);
        if filters == 0 {
            return None;
        }
        let hash = hash_of(pod);
        let is_it = |known: &Known| known.hash == hash && known.is_for(pod, plan, skip);
        if let Some(at) = self.kinds.iter().position(is_it) {
            return Some(self.kinds.remove(at));
        }
        self.comes_again(hash).then(|| Known {
            hash,
            pod: Arc::clone(pod),
            plan: Arc::clone(plan),
            skip: skip.to_vec(),
            filters,
            verdicts: Verdicts::default(),
            judged_at: None,
            rows: 0,
            rejected_by: vec![0; filters],
            scores: RowScores::default(),
            trials: Trials::default(),
            groups: Vec::new(),
            seen_apart: None,
        })
    }

    fn comes_again(&mut self, hash: u64) -> bool {
        if self.seen.contains(&hash) {
            return true;
        }
        if self.seen.len() < SEEN {
            self.seen.push(hash);
        } else {
            self.seen[self.next_seen] = hash;
            self.next_seen = (self.next_seen + 1) % SEEN;
        }
        false
    }

    /// Keeps what is known for the next pod of that kind.
    pub(crate) fn put(&mut self, known: Known) {
        self.kinds.push(known);
        let mut rows: usize = self.kinds.iter().map(|known| known.rows).sum();
        while self.kinds.len() > MOST_KINDS || (rows > MOST_ROWS && self.kinds.len() > 1) {
            rows -= self.kinds.remove(0).rows;
        }
        let older = self.kinds.len().saturating_sub(MOST_TRIALS);
        for known in &mut self.kinds[..older] {
            known.trials.clear();
        }
    }
}

impl Known {
    fn is_for(&self, pod: &Pod, plan: &Arc<Plan>, skip: &[bool]) -> bool {
        Arc::ptr_eq(&self.plan, plan) && self.skip == skip && is_of_one_kind(&self.pod, pod)
    }

    /// The rows that have changed since it was last asked.
    pub(crate) fn changed_rows(&mut self, columns: &Columns) -> NodeSet {
        let changed = match self.judged_at {
            Some(version) => columns.changed_since(version),
            None => columns.nodes().clone(),
        };
        self.judged_at = Some(columns.version());
        self.rows = columns.capacity();
        changed
    }

    /// The nodes told apart like this; none when that is new. [`Known::put_groups`] gives them back.
    pub(crate) fn take_groups(&mut self, told_apart: &ToldApart) -> Option<ScoreGroups> {
        if let Some(at) = self.groups.iter().position(|groups| groups.told_apart == *told_apart) {
            return Some(self.groups.remove(at));
        }
        if self.seen_apart.as_ref() == Some(told_apart) {
            return self.seen_apart.take().map(ScoreGroups::new);
        }
        self.seen_apart = Some(told_apart.clone());
        None
    }

    pub(crate) fn put_groups(&mut self, groups: ScoreGroups) {
        if self.groups.len() >= MOST_GROUPINGS {
            self.groups.remove(0);
        }
        self.groups.push(groups);
    }
}

/// How many filters from the first one on have nothing to do, or follow rows.
fn filters_that_follow_rows(plan: &Plan, skip: &[bool]) -> usize {
    let filters = plan.profile.filter.iter().zip(skip);
    filters
        .take_while(|(filter, skip)| **skip || filter.follows_rows())
        .count()
}

/// Whether plugins that follow rows say the same of both: these do not look at volumes and claims, which are often the pod's own.
fn is_of_one_kind(one: &Pod, two: &Pod) -> bool {
    one.spec.equals_but_for_claims(&two.spec)
        && one.node_name == two.node_name
        && one.status.container_statuses == two.status.container_statuses
        && one.status.pod_level == two.status.pod_level
        && one.status.resize_pending_reason == two.status.resize_pending_reason
}

fn hash_of(pod: &Pod) -> u64 {
    let spec = &pod.spec;
    FixedState::default().hash_one((
        &spec.containers,
        &spec.node_selector,
        &spec.affinity,
        &spec.tolerations,
        &spec.topology_spread_constraints,
        spec.priority,
    ))
}

#[cfg(test)]
mod tests {
    use plimsoll_config::{FeatureGates, ProfileConfig};
    use plimsoll_framework::Profile;
    use plimsoll_model::testing::{node, pod};

    use super::*;

    const KINDS: usize = 100;

    /// How many of a hundred kinds are known after pods of each have come twice: those that came last.
    fn kept(nodes: usize) -> usize {
        let registry = plimsoll_plugins::registry();
        let profile = Profile::assemble(&ProfileConfig::default(), &registry, &FeatureGates::default()).unwrap();
        let skip = vec![false; profile.filter.len()];
        let plan = Arc::new(Plan::new(Arc::new(profile)));
        let mut columns = Columns::new();
        for at in 0..nodes {
            columns.set_node(&node(&format!("n{at}")).build());
        }
        let kind = |at: usize| Arc::new(pod("p").cpu(&format!("{}m", at + 1)).build());
        let kinds: Vec<_> = (0..KINDS).map(kind).collect();
        let mut recall = Recall::default();
        for pod in &kinds {
            assert!(recall.take(pod, &plan, &skip).is_none(), "it has not come before");
            let mut known = recall.take(pod, &plan, &skip).unwrap();
            assert_eq!(known.changed_rows(&columns).len(), nodes, "nothing is known yet");
            recall.put(known);
        }
        let is_known = |pod: &Arc<Pod>| recall.kinds.iter().any(|known| known.is_for(pod, &plan, &skip));
        let known: Vec<bool> = kinds.iter().map(is_known).collect();
        let count = known.iter().filter(|known| **known).count();
        assert!(known[KINDS - count..].iter().all(|known| *known), "the last ones");
        count
    }

    #[test]
    fn as_many_kinds_are_kept_as_rows_allow() {
        assert_eq!(kept(10), MOST_KINDS);
        assert_eq!(kept(20_000), MOST_ROWS / 20_000);
    }
}
