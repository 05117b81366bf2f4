use plimsoll_framework::joint_mark;
use plimsoll_model::columns::{Columns, DomainCounts, LabelColumn, NodeIndex};
use smallvec::SmallVec;

use super::domains;
use super::rules::Rules;

/// What decides about many nodes alike: the large domains that the pod must be in, and whether a node that is a domain of its own
/// has pods that it must not be near.
pub(super) struct Sorting<'a> {
    large: SmallVec<[LabelColumn<'a>; 2]>,
    single: SmallVec<[(LabelColumn<'a>, DomainCounts<'a>); 2]>,
}

impl<'a> Sorting<'a> {
    pub(super) fn by(rules: &Rules, columns: &'a Columns) -> Self {
        let large = rules.affinity_keys.iter().filter_map(|key| columns.label_key(key));
        let single = rules.anti_affinity.iter().filter_map(|rule| {
            let column = columns.label_key(&rule.topology_key)?;
            Some((column, domains(columns, rule).ok()?))
        });
        Self {
            large: large.filter(|column| column.has_few_values()).collect(),
            single: single.filter(|(column, _)| column.tells_all_apart()).collect(),
        }
    }

    pub(super) fn is_of_no_use(&self) -> bool {
        self.large.is_empty() && self.single.is_empty()
    }

    pub(super) fn mark(&self, node: NodeIndex) -> u64 {
        let large = self.large.iter();
        let large = large.map(|column| column.value(node).map_or(0, |value| column.slot(value) as u64 + 1));
        let single = self.single.iter();
        let single = single.map(|(column, pods)| {
            let value = column.value(node);
            u64::from(value.is_some_and(|value| pods.of(value) > 0))
        });
        let parts: SmallVec<[u64; 4]> = large.chain(single).collect();
        joint_mark(&parts).unwrap_or(0)
    }
}
