//! Which profile takes a pod.

use plimsoll_model::Labels;

use crate::{MatchRule, ProfileConfig};

/// Of the profiles with this scheduler name the first, in file order, that has a rule which the pod and its namespace
/// meet; else the one without rules; else none. The answer may change with the labels of either.
pub fn choose_profile(
    profiles: &[ProfileConfig],
    scheduler_name: &str,
    pod: &Labels,
    namespace: &Labels,
) -> Option<usize> {
    let named = || {
        let all = profiles.iter().enumerate();
        all.filter(|(_, profile)| profile.scheduler_name == scheduler_name)
    };
    let matching = named().find(|(_, profile)| {
        let rules = &profile.extras.match_rules;
        rules.iter().any(|rule| rule.matches(pod, namespace))
    });
    let fallback = || named().find(|(_, profile)| profile.extras.match_rules.is_empty());
    matching.or_else(fallback).map(|(index, _)| index)
}

impl MatchRule {
    /// Whether a pod with these labels in a namespace with those meets the rule.
    pub fn matches(&self, pod: &Labels, namespace: &Labels) -> bool {
        let meets = |selector: &Option<plimsoll_model::LabelSelector>, labels: &Labels| {
            selector.as_ref().is_none_or(|selector| selector.matches(labels))
        };
        meets(&self.namespace_selector, namespace) && meets(&self.pod_selector, pod)
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::LabelSelector;

    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs.iter().copied().collect()
    }

    fn selector(pairs: &[(&str, &str)]) -> LabelSelector {
        LabelSelector::of_labels(labels(pairs))
    }

    fn profile(name: &str, match_rules: Vec<MatchRule>) -> ProfileConfig {
        let mut profile = ProfileConfig {
            scheduler_name: name.to_owned(),
            ..ProfileConfig::default()
        };
        profile.extras.match_rules = match_rules;
        profile
    }

    #[test]
    fn the_first_matching_profile_takes_the_pod_and_the_one_without_rules_the_rest() {
        let gpu = MatchRule {
            pod_selector: Some(selector(&[("gpu", "yes")])),
            ..MatchRule::default()
        };
        let team = MatchRule {
            namespace_selector: Some(selector(&[("team", "x")])),
            ..MatchRule::default()
        };
        let both = MatchRule {
            namespace_selector: Some(selector(&[("team", "y")])),
            pod_selector: Some(selector(&[("size", "big")])),
        };
        let profiles = [
            profile("a", vec![]),
            profile("a", vec![gpu.clone(), both]),
            profile("a", vec![team]),
            profile("b", vec![gpu]),
        ];
        let none: &[(&str, &str)] = &[];
        let cases = [
            ("a", none, none, Some(0)),
            ("a", &[("gpu", "yes")], &[("team", "x")], Some(1)),
            ("a", none, &[("team", "x")], Some(2)),
            ("a", &[("size", "big")], &[("team", "y")], Some(1)),
            ("a", &[("size", "big")], none, Some(0)),
            ("b", &[("gpu", "yes")], none, Some(3)),
            ("b", none, none, None),
            ("c", none, none, None),
        ];
        for (name, pod, namespace, expected) in cases {
            let chosen = choose_profile(&profiles, name, &labels(pod), &labels(namespace));
            assert_eq!(chosen, expected, "{name} {pod:?} {namespace:?}");
        }
    }
}
