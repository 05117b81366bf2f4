use std::collections::{BTreeMap, BTreeSet};

/// What the operator wants of metrics, beyond what there is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MetricsPolicy {
    /// The only values that a label of a family shows, by name of the family and of the label; any other shows as
    /// `unexpected`.
    pub allowed_labels: BTreeMap<(String, String), BTreeSet<String>>,
    /// Families that are not shown, by name.
    pub disabled: BTreeSet<String>,
}

impl MetricsPolicy {
    /// The values allowed for each of these labels of a family; none where nothing bounds any of them.
    pub(crate) fn allowed(&self, family: &str, labels: &[&str]) -> Option<Vec<Option<BTreeSet<String>>>> {
        let of = |label: &&str| {
            let key = (family.to_owned(), (*label).to_owned());
            self.allowed_labels.get(&key).cloned()
        };
        let allowed: Vec<_> = labels.iter().map(of).collect();
        allowed.iter().any(Option::is_some).then_some(allowed)
    }
}
