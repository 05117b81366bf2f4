use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use smallvec::SmallVec;

use super::Map;
use crate::{Labels, Operator, PodPattern};

/// A selector with more values than this for a label is looked for in every pod instead.
const MOST_VALUES: usize = 8;

/// Finds the patterns that a pod may match, by its namespace and one label that each pattern demands: among thousands of
/// patterns those are few. Whether they do match is still to be asked.
#[derive(Debug, Clone, Default)]
pub(super) struct MatchIndex {
    by_anchor: Map<u64, SmallVec<[u32; 2]>>,
}

/// Under what a pattern is filed: what its pods must have, hashed.
pub(super) type Anchors = SmallVec<[u64; 1]>;

fn anchor(namespace: Option<&str>, label: Option<(&str, &str)>) -> u64 {
    FixedState::default().hash_one((namespace, label))
}

impl MatchIndex {
    /// Files a pattern under the rarest label that it demands; keep the answer to take it out again. A pattern without a
    /// label selector matches nothing and is filed nowhere.
    pub(super) fn insert(&mut self, number: u32, pattern: &PodPattern) -> Anchors {
        let anchors = self.choose(pattern);
        for anchor in &anchors {
            self.by_anchor.entry(*anchor).or_default().push(number);
        }
        anchors
    }

    pub(super) fn remove(&mut self, number: u32, anchors: &Anchors) {
        for anchor in anchors {
            let Some(filed) = self.by_anchor.get_mut(anchor) else {
                continue;
            };
            filed.retain(|other| *other != number);
            if filed.is_empty() {
                self.by_anchor.remove(anchor);
            }
        }
    }

    /// Numbers of patterns that a pod may match, ascending.
    pub(super) fn candidates(&self, namespace: &str, labels: &Labels) -> SmallVec<[u32; 8]> {
        let mut found = SmallVec::new();
        if self.by_anchor.is_empty() {
            return found;
        }
        let labels = || labels.iter().map(Some).chain([None]);
        for namespace in [Some(namespace), None] {
            for label in labels() {
                let filed = self.by_anchor.get(&anchor(namespace, label));
                found.extend(filed.into_iter().flatten().copied());
            }
        }
        found.sort_unstable();
        // Should two anchors have the same hash.
        found.dedup();
        found
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.by_anchor.is_empty()
    }

    fn choose(&self, pattern: &PodPattern) -> Anchors {
        let Some(selector) = &pattern.label_selector else {
            return Anchors::new();
        };
        let exact = selector.match_labels.iter().map(|pair| {
            let pair = std::iter::once(Some(pair));
            anchors_of(pattern, pair).collect()
        });
        let one_of = selector
            .match_expressions
            .iter()
            .filter(|wanted| wanted.operator == Operator::In && wanted.values.len() <= MOST_VALUES)
            .map(|wanted| {
                let pairs = wanted
                    .values
                    .iter()
                    .map(|value| Some((wanted.key.as_str(), value.as_str())));
                anchors_of(pattern, pairs).collect()
            });
        let demanded = exact.chain(one_of).min_by_key(|anchors: &Anchors| self.crowd(anchors));
        demanded.unwrap_or_else(|| anchors_of(pattern, std::iter::once(None)).collect())
    }

    /// How many are filed there already.
    fn crowd(&self, anchors: &Anchors) -> usize {
        anchors
            .iter()
            .filter_map(|anchor| self.by_anchor.get(anchor))
            .map(SmallVec::len)
            .sum()
    }
}

/// A namespace selector may let in any namespace.
fn anchors_of<'a>(
    pattern: &'a PodPattern,
    labels: impl Iterator<Item = Option<(&'a str, &'a str)>>,
) -> impl Iterator<Item = u64> {
    labels.flat_map(|label| {
        let any = pattern.namespace_selector.is_some();
        let named = pattern.namespaces.iter().filter(move |_| !any);
        let namespaces = named.map(|name| Some(name.as_str())).chain(any.then_some(None));
        namespaces.map(move |namespace| anchor(namespace, label))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LabelSelector, Requirement};

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs.iter().copied().collect()
    }

    fn pattern(namespaces: &[&str], selector: LabelSelector) -> PodPattern {
        PodPattern {
            namespaces: namespaces.iter().map(|name| (*name).into()).collect(),
            namespace_selector: None,
            label_selector: Some(selector),
        }
    }

    #[test]
    fn a_pattern_is_found_by_namespace_and_by_what_it_demands() {
        let one_of = LabelSelector {
            match_expressions: vec![Requirement::new("app", Operator::In, ["web", "db"])],
            ..LabelSelector::default()
        };
        let patterns = [
            pattern(&["a", "b"], LabelSelector::of_labels(labels(&[("app", "web")]))),
            pattern(&["a"], LabelSelector::default()),
            pattern(&["a"], one_of),
            PodPattern {
                namespace_selector: Some(LabelSelector::default()),
                ..pattern(&["a"], LabelSelector::of_labels(labels(&[("app", "db")])))
            },
            PodPattern::default(),
        ];
        let mut index = MatchIndex::default();
        let anchors: Vec<Anchors> = (0..)
            .zip(&patterns)
            .map(|(number, pattern)| index.insert(number, pattern))
            .collect();
        let found = |index: &MatchIndex, namespace, app| index.candidates(namespace, &labels(&[("app", app)])).to_vec();
        assert_eq!(found(&index, "a", "web"), [0, 1, 2]);
        assert_eq!(found(&index, "b", "web"), [0]);
        assert_eq!(found(&index, "a", "db"), [1, 2, 3]);
        assert_eq!(found(&index, "c", "db"), [3]);
        assert_eq!(found(&index, "a", "other"), [1]);
        for (number, anchors) in (0..).zip(&anchors) {
            index.remove(number, anchors);
        }
        assert!(index.is_empty());
    }

    #[test]
    fn a_label_that_all_patterns_share_is_not_what_they_are_filed_under() {
        let mut index = MatchIndex::default();
        for number in 0..100 {
            let own = format!("app-{number}");
            let wanted = labels(&[("managed-by", "helm"), ("app", &own)]);
            index.insert(number, &pattern(&["a"], LabelSelector::of_labels(wanted)));
        }
        let pod = labels(&[("app", "app-7"), ("managed-by", "helm")]);
        assert!(index.candidates("a", &pod).len() <= 2);
    }
}
