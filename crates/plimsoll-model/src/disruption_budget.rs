use compact_str::CompactString;

use crate::{LabelSelector, ObjectName, Pod, ResourceVersion, Uid};

/// A `PodDisruptionBudget`: how many more pods of an application may be disrupted now; what preemption keeps of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisruptionBudget {
    /// Namespace and name.
    pub name: ObjectName,
    /// Its identity.
    pub uid: Uid,
    /// Version of this content.
    pub resource_version: ResourceVersion,
    /// The pods it is for; an invalid selector is kept and matches nothing.
    pub selector: Option<LabelSelector>,
    /// `status.disruptionsAllowed`: how many more of its pods may be disrupted.
    pub disruptions_allowed: i32,
    /// `status.disruptedPods`: names of pods whose eviction the API server has granted and the status has not counted yet;
    /// sorted.
    pub disrupted_pods: Vec<CompactString>,
}

impl DisruptionBudget {
    /// Whether disrupting the pod would use the budget up, as kube-scheduler's preemption sees it: a budget without a
    /// selector, or with an empty one, is for no pod, no budget is for a pod without labels, and a pod whose eviction is
    /// granted has been counted.
    pub fn counts(&self, pod: &Pod) -> bool {
        self.selects(pod) && self.disrupted_pods.binary_search(&pod.name.name).is_err()
    }

    /// Whether the API server asks this budget before it grants the eviction of the pod: other than
    /// [`DisruptionBudget::counts`] an empty selector selects every pod of the namespace, also those without labels.
    pub fn guards(&self, pod: &Pod) -> bool {
        let selector = self.selector.as_ref();
        self.name.namespace == pod.name.namespace && selector.is_some_and(|selector| selector.matches(&pod.labels))
    }

    /// Whether the API server has granted the eviction of a pod of this name, and the pod was there when the status was
    /// last brought up to date.
    pub fn has_granted(&self, pod: &Pod) -> bool {
        self.name.namespace == pod.name.namespace && self.disrupted_pods.binary_search(&pod.name.name).is_ok()
    }

    fn selects(&self, pod: &Pod) -> bool {
        let selector = self.selector.as_ref().filter(|selector| !selector.is_empty());
        self.name.namespace == pod.name.namespace
            && !pod.labels.is_empty()
            && selector.is_some_and(|selector| selector.matches(&pod.labels))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::pod;
    use crate::{LabelRequirement, Operator};

    fn budget(selector: Option<LabelSelector>) -> DisruptionBudget {
        DisruptionBudget {
            name: ObjectName::new("default", "b"),
            uid: Uid::from("b"),
            resource_version: ResourceVersion::new(1),
            selector,
            disruptions_allowed: 0,
            disrupted_pods: vec!["granted".into(), "other".into()],
        }
    }

    fn with_label(operator: Operator, values: &[&str]) -> LabelSelector {
        LabelSelector {
            match_expressions: vec![LabelRequirement::new("app", operator, values.iter().copied())],
            ..LabelSelector::default()
        }
    }

    #[test]
    fn a_budget_guards_what_its_selector_matches_as_the_api_server_does() {
        let web = || pod("a").label("app", "web");
        let selecting = || Some(with_label(Operator::In, &["web"]));
        let none = || Some(LabelSelector::default());
        let cases = [
            ("selected", selecting(), web().build(), true),
            ("another label", selecting(), pod("a").label("app", "db").build(), false),
            ("another namespace", selecting(), web().namespace("shop").build(), false),
            (
                "granted already",
                selecting(),
                pod("granted").label("app", "web").build(),
                true,
            ),
            ("no selector", None, web().build(), false),
            ("an empty selector", none(), web().build(), true),
            ("an empty selector, no labels", none(), pod("a").build(), true),
            (
                "an invalid selector",
                Some(with_label(Operator::In, &[])),
                web().build(),
                false,
            ),
            (
                "no label wanted, none there",
                Some(with_label(Operator::DoesNotExist, &[])),
                pod("a").build(),
                true,
            ),
        ];
        for (case, selector, pod, expected) in cases {
            assert_eq!(budget(selector).guards(&pod), expected, "{case}");
        }
    }

    #[test]
    fn an_eviction_is_granted_to_a_pod_by_its_name() {
        assert!(budget(None).has_granted(&pod("granted").build()));
        assert!(!budget(None).has_granted(&pod("granted").namespace("shop").build()));
        assert!(!budget(None).has_granted(&pod("a").build()));
    }

    #[test]
    fn a_budget_counts_the_labelled_pods_of_its_namespace_that_it_selects() {
        let web = |name: &str| pod(name).label("app", "web");
        let selecting = || Some(with_label(Operator::In, &["web"]));
        let cases = [
            ("selected", selecting(), web("a").build(), true),
            ("another label", selecting(), pod("a").label("app", "db").build(), false),
            (
                "another namespace",
                selecting(),
                web("a").namespace("shop").build(),
                false,
            ),
            ("granted already", selecting(), web("granted").build(), false),
            ("no selector", None, web("a").build(), false),
            (
                "an empty selector",
                Some(LabelSelector::default()),
                web("a").build(),
                false,
            ),
            (
                "an invalid selector",
                Some(with_label(Operator::In, &[])),
                web("a").build(),
                false,
            ),
            (
                "no label wanted, none there",
                Some(with_label(Operator::DoesNotExist, &[])),
                pod("a").build(),
                false,
            ),
            (
                "no label wanted, another there",
                Some(with_label(Operator::DoesNotExist, &[])),
                pod("a").label("tier", "1").build(),
                true,
            ),
        ];
        for (case, selector, pod, expected) in cases {
            assert_eq!(budget(selector).counts(&pod), expected, "{case}");
        }
    }
}
