use plimsoll_model::columns::{Columns, PodCounts};
use plimsoll_model::{
    LabelSelector, Labels, NodeInclusionPolicy, Operator, ParseSelectorError, Pod, PodPattern, PodQuery, Requirement,
    TopologySpreadConstraint,
};

use super::NAME;

/// A constraint with its selector made whole and its defaults filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Constraint {
    pub(super) max_skew: i32,
    pub(super) topology_key: String,
    pub(super) min_domains: i32,
    pub(super) honours_affinity: bool,
    pub(super) honours_taints: bool,
    /// The pods that are spread; none of them without a selector.
    pub(super) selector: Option<LabelSelector>,
}

impl Constraint {
    /// A pod's own constraint. Those of its labels that the constraint names narrow the selector, if labels are given.
    pub(super) fn of_pod(
        spread: &TopologySpreadConstraint,
        labels: Option<&Labels>,
    ) -> Result<Self, ParseSelectorError> {
        let mut selector = spread.label_selector.clone();
        if let Some(selector) = &mut selector {
            selector.check()?;
            for key in &spread.match_label_keys {
                if let Some(value) = labels.and_then(|labels| labels.get(key)) {
                    require(selector, key, value);
                }
            }
        }
        Ok(Self::with_selector(spread, selector))
    }

    /// The constraint with another selector.
    pub(super) fn with_selector(spread: &TopologySpreadConstraint, selector: Option<LabelSelector>) -> Self {
        Self {
            max_skew: spread.max_skew,
            topology_key: spread.topology_key.to_string(),
            min_domains: spread.min_domains.unwrap_or(1),
            honours_affinity: matches!(spread.node_affinity_policy, None | Some(NodeInclusionPolicy::Honor)),
            honours_taints: spread.node_taints_policy == Some(NodeInclusionPolicy::Honor),
            selector,
        }
    }

    pub(super) fn selects(&self, labels: &Labels) -> bool {
        self.selector.as_ref().is_some_and(|selector| selector.matches(labels))
    }

    /// The pods that count: those of the pod's namespace that the constraint selects and that are not told to go.
    pub(super) fn query(&self, pod: &Pod) -> Option<PodQuery> {
        let selector = self.selector.clone()?;
        let pattern = PodPattern::in_namespace(pod.name.namespace.clone(), Some(selector));
        Some(PodQuery::of(pattern, false))
    }

    /// The pods of that query. An empty selector counts no pod, though it selects the pod itself.
    pub(super) fn counts<'a>(&self, pod: &Pod, columns: &'a Columns) -> Result<Option<PodCounts<'a>>, String> {
        match self.query(pod) {
            Some(query) if self.selector.as_ref().is_some_and(|selector| !selector.is_empty()) => {
                kept(&query, columns).map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// A count that was asked for before the cycle.
pub(super) fn kept<'a>(query: &PodQuery, columns: &'a Columns) -> Result<PodCounts<'a>, String> {
    columns
        .count_of(query)
        .ok_or_else(|| format!("{NAME} counts pods without having asked for it"))
}

/// Narrows a selector to objects with this label.
pub(super) fn require(selector: &mut LabelSelector, key: &str, value: &str) {
    if selector.match_labels.get(key) != Some(value) {
        let requirement = Requirement::new(key, Operator::In, [value]);
        selector.match_expressions.push(requirement);
    }
}
