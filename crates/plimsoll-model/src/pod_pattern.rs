use compact_str::CompactString;

use crate::{LabelSelector, Labels, PodAffinityTerm, PodClass};

/// Some pods, by namespace and labels.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct PodPattern {
    /// Namespaces by name; sorted, each once.
    pub namespaces: Vec<CompactString>,
    /// Further namespaces by their labels: an empty selector means all, none means no further one. A namespace that is not
    /// known has no labels.
    pub namespace_selector: Option<LabelSelector>,
    /// Labels of the pods; none matches no pod.
    pub label_selector: Option<LabelSelector>,
}

impl PodPattern {
    /// The pods of one namespace that a selector selects.
    pub fn in_namespace(namespace: impl Into<CompactString>, label_selector: Option<LabelSelector>) -> Self {
        Self {
            namespaces: vec![namespace.into()],
            namespace_selector: None,
            label_selector,
        }
    }

    /// The pods that an affinity term of a pod in `owner_namespace` means: without any word on namespaces, those beside it.
    pub fn of_term(term: &PodAffinityTerm, owner_namespace: &str) -> Self {
        let mut namespaces = term.namespaces.clone();
        if namespaces.is_empty() && term.namespace_selector.is_none() {
            namespaces.push(owner_namespace.into());
        }
        namespaces.sort_unstable();
        namespaces.dedup();
        Self {
            namespaces,
            namespace_selector: term.namespace_selector.clone(),
            label_selector: term.label_selector.clone(),
        }
    }

    /// Whether both selectors can be parsed; a pattern with one that can't be matches nothing.
    pub fn is_valid(&self) -> bool {
        [&self.namespace_selector, &self.label_selector]
            .into_iter()
            .flatten()
            .all(LabelSelector::is_valid)
    }

    /// Whether a pod in this namespace (with these labels, none if the namespace is not known) and with these labels is
    /// meant.
    pub fn matches(&self, namespace: &str, namespace_labels: Option<&Labels>, labels: &Labels) -> bool {
        self.is_valid() && self.holds_for(namespace, namespace_labels, labels)
    }

    /// As [`PodPattern::matches`] for a pattern that is known to be valid.
    pub(crate) fn holds_for(&self, namespace: &str, namespace_labels: Option<&Labels>, labels: &Labels) -> bool {
        let Some(wanted) = &self.label_selector else {
            return false;
        };
        self.holds_for_namespace(namespace, namespace_labels) && wanted.holds_for(labels)
    }

    fn holds_for_namespace(&self, namespace: &str, labels: Option<&Labels>) -> bool {
        let listed = self
            .namespaces
            .binary_search_by(|own| own.as_str().cmp(namespace))
            .is_ok();
        listed
            || self.namespace_selector.as_ref().is_some_and(|selector| match labels {
                Some(labels) => selector.holds_for(labels),
                None => selector.holds_for(&Labels::default()),
            })
    }
}

/// Pods to be counted: those that match every pattern.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct PodQuery {
    /// What a pod must match, all of it; an empty list matches no pod.
    pub all_of: Vec<PodPattern>,
    /// Whether pods that have been told to go count too.
    pub terminating: bool,
}

impl PodQuery {
    /// The pods that match one pattern.
    pub fn of(pattern: PodPattern, terminating: bool) -> Self {
        Self {
            all_of: vec![pattern],
            terminating,
        }
    }

    /// Whether all patterns can be parsed; a query with one that can't be matches nothing.
    pub fn is_valid(&self) -> bool {
        self.all_of.iter().all(PodPattern::is_valid)
    }

    /// Whether pods of a class, in a namespace with these labels, are counted.
    pub fn matches(&self, class: &PodClass, namespace_labels: Option<&Labels>) -> bool {
        self.is_valid() && self.holds_for(class, namespace_labels)
    }

    /// As [`PodQuery::matches`] for a query that is known to be valid.
    pub(crate) fn holds_for(&self, class: &PodClass, namespace_labels: Option<&Labels>) -> bool {
        let patterns = || {
            self.all_of
                .iter()
                .all(|pattern| pattern.holds_for(&class.namespace, namespace_labels, &class.labels))
        };
        !self.all_of.is_empty() && (self.terminating || !class.terminating) && patterns()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Operator, Requirement};

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs.iter().copied().collect()
    }

    fn selector(pairs: &[(&str, &str)]) -> LabelSelector {
        LabelSelector::of_labels(labels(pairs))
    }

    fn without(key: &str) -> LabelSelector {
        LabelSelector {
            match_expressions: vec![Requirement::new(key, Operator::DoesNotExist, [] as [&str; 0])],
            ..LabelSelector::default()
        }
    }

    #[test]
    fn a_pod_matches_by_namespace_name_or_labels_and_by_its_own_labels() {
        let team = labels(&[("team", "x")]);
        let web = labels(&[("app", "web")]);
        let named = |names: &[&str]| names.iter().map(|name| CompactString::from(*name)).collect::<Vec<_>>();
        let cases = [
            (named(&["a"]), None, Some(selector(&[("app", "web")])), true),
            (named(&["b"]), None, Some(selector(&[("app", "web")])), false),
            (named(&["a"]), None, Some(selector(&[("app", "db")])), false),
            (named(&["a"]), None, None, false),
            (named(&["a"]), None, Some(selector(&[])), true),
            (
                named(&["b"]),
                Some(selector(&[("team", "x")])),
                Some(selector(&[])),
                true,
            ),
            (
                named(&["b"]),
                Some(selector(&[("team", "y")])),
                Some(selector(&[])),
                false,
            ),
            (
                named(&["a"]),
                Some(selector(&[("team", "y")])),
                Some(selector(&[])),
                true,
            ),
            (named(&[]), Some(selector(&[])), Some(selector(&[])), true),
            (named(&[]), Some(without("team")), Some(selector(&[])), false),
            (named(&[]), None, Some(selector(&[])), false),
            (named(&["a"]), None, Some(selector(&[("not a key", "x")])), false),
            (
                named(&["a"]),
                Some(selector(&[("not a key", "x")])),
                Some(selector(&[])),
                false,
            ),
        ];
        for (namespaces, namespace_selector, label_selector, expected) in cases {
            let pattern = PodPattern {
                namespaces,
                namespace_selector,
                label_selector,
            };
            assert_eq!(pattern.matches("a", Some(&team), &web), expected, "{pattern:?}");
        }
    }

    #[test]
    fn a_namespace_that_is_not_known_has_no_labels() {
        let pattern = |namespace_selector| PodPattern {
            namespace_selector,
            label_selector: Some(selector(&[])),
            ..PodPattern::default()
        };
        let none = Labels::default();
        assert!(pattern(Some(without("team"))).matches("gone", None, &none));
        assert!(!pattern(Some(selector(&[("team", "x")]))).matches("gone", None, &none));
    }

    #[test]
    fn a_term_without_a_word_on_namespaces_means_the_namespace_of_its_pod() {
        let term = |namespaces: &[&str], namespace_selector| PodAffinityTerm {
            namespaces: namespaces.iter().map(|name| (*name).into()).collect(),
            namespace_selector,
            ..PodAffinityTerm::default()
        };
        let namespaces = |term: PodAffinityTerm| PodPattern::of_term(&term, "own").namespaces;
        assert_eq!(namespaces(term(&[], None)), ["own"]);
        assert_eq!(namespaces(term(&["b", "a", "b"], None)), ["a", "b"]);
        assert!(namespaces(term(&[], Some(selector(&[])))).is_empty());
    }

    #[test]
    fn a_query_wants_every_pattern_and_no_pattern_at_all_matches_nothing() {
        let class = PodClass {
            namespace: "a".into(),
            labels: labels(&[("app", "web"), ("tier", "front")]),
            ..PodClass::default()
        };
        let web = PodPattern::in_namespace("a", Some(selector(&[("app", "web")])));
        let front = PodPattern::in_namespace("a", Some(selector(&[("tier", "front")])));
        let back = PodPattern::in_namespace("a", Some(selector(&[("tier", "back")])));
        let all = |all_of: &[&PodPattern]| PodQuery {
            all_of: all_of.iter().copied().cloned().collect(),
            terminating: true,
        };
        assert!(all(&[&web, &front]).matches(&class, None));
        assert!(!all(&[&web, &back]).matches(&class, None));
        assert!(!all(&[]).matches(&class, None));
        let going = PodClass {
            terminating: true,
            ..class
        };
        assert!(PodQuery::of(web.clone(), true).matches(&going, None));
        assert!(!PodQuery::of(web, false).matches(&going, None));
    }
}
