use compact_str::CompactString;
use plimsoll_model::columns::Columns;
use plimsoll_model::{
    LabelSelector, Labels, ParseSelectorError, Pod, PodAffinity, PodAffinityTerm, PodPattern, PodQuery,
    WeightedPodAffinityTerm,
};

/// The incoming pod's terms, as counts to ask for.
#[derive(Debug, Clone, Default)]
pub(super) struct Rules {
    /// Pods that match every required affinity term.
    pub(super) affinity: PodQuery,
    /// The label of each of those terms, each once.
    pub(super) affinity_keys: Vec<CompactString>,
    /// One for each required anti-affinity term.
    pub(super) anti_affinity: Vec<Rule>,
    /// Preferred terms.
    pub(super) wishes: Vec<Wish>,
}

/// Some pods, and the label that says which nodes are near them.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    pub(super) query: PodQuery,
    pub(super) topology_key: CompactString,
}

/// A rule that counts for the score.
#[derive(Debug, Clone)]
pub(super) struct Wish {
    pub(super) rule: Rule,
    /// Negative when the pod would rather be elsewhere.
    pub(super) weight: i64,
}

impl Rules {
    /// The rules of a pod; or what is wrong with its terms, each list's first fault, in kube-scheduler's words.
    pub(super) fn of(pod: &Pod) -> Result<Self, String> {
        let mut rules = Self::default();
        let Some(all) = pod.spec.affinity.as_deref() else {
            return Ok(rules);
        };
        let (affinity, anti_affinity) = (all.pod_affinity.as_ref(), all.pod_anti_affinity.as_ref());
        check(affinity, anti_affinity)?;
        for term in required(affinity) {
            rules.affinity.all_of.push(pattern(term, pod));
            if !rules.affinity_keys.contains(&term.topology_key) {
                rules.affinity_keys.push(term.topology_key.clone());
            }
        }
        rules.affinity.terminating = true;
        rules.anti_affinity = required(anti_affinity).iter().map(|term| rule(term, pod)).collect();
        let wish = |wish: &WeightedPodAffinityTerm, sign: i64| Wish {
            rule: rule(&wish.pod_affinity_term, pod),
            weight: sign * i64::from(wish.weight),
        };
        let near = preferred(affinity).iter().map(|term| wish(term, 1));
        let far = preferred(anti_affinity).iter().map(|term| wish(term, -1));
        rules.wishes = near.chain(far).collect();
        Ok(rules)
    }

    /// Whether the pod itself matches all its required affinity terms.
    pub(super) fn affinity_means(&self, pod: &Pod, columns: &Columns) -> bool {
        let namespace = pod.name.namespace.as_str();
        let namespace_labels = columns.namespace_labels(namespace);
        let mut patterns = self.affinity.all_of.iter();
        patterns.all(|pattern| pattern.matches(namespace, namespace_labels, &pod.labels))
    }
}

pub(super) fn required(affinity: Option<&PodAffinity>) -> &[PodAffinityTerm] {
    affinity.map_or(&[], |affinity| &affinity.required)
}

fn preferred(affinity: Option<&PodAffinity>) -> &[WeightedPodAffinityTerm] {
    affinity.map_or(&[], |affinity| &affinity.preferred)
}

fn rule(term: &PodAffinityTerm, pod: &Pod) -> Rule {
    Rule {
        query: PodQuery::of(pattern(term, pod), true),
        topology_key: term.topology_key.clone(),
    }
}

/// Kube-scheduler looks for the namespaces that the selector selects, but then still holds the selector against pods, as if
/// their namespaces had no labels: one that is content with no labels means pods of every namespace.
fn pattern(term: &PodAffinityTerm, pod: &Pod) -> PodPattern {
    let mut pattern = PodPattern::of_term(term, &pod.name.namespace);
    let needs_no_label = |selector: &LabelSelector| selector.matches(&Labels::default());
    if pattern.namespace_selector.as_ref().is_some_and(needs_no_label) {
        pattern.namespace_selector = Some(LabelSelector::default());
    }
    pattern
}

/// What is wrong with the terms, if something is.
pub(super) fn check(affinity: Option<&PodAffinity>, anti_affinity: Option<&PodAffinity>) -> Result<(), String> {
    let lists = [
        ("requiredAffinityTerms", check_required(affinity)),
        ("requiredAntiAffinityTerms", check_required(anti_affinity)),
        ("preferredAffinityTerms", check_preferred(affinity)),
        ("preferredAntiAffinityTerms", check_preferred(anti_affinity)),
    ];
    let faults = lists
        .into_iter()
        .filter_map(|(list, result)| Some(format!("{list}: {}", result.err()?)));
    let faults: Vec<String> = faults.collect();
    match faults.as_slice() {
        [] => Ok(()),
        [only] => Err(only.clone()),
        several => Err(format!("[{}]", several.join(", "))),
    }
}

fn check_required(affinity: Option<&PodAffinity>) -> Result<(), ParseSelectorError> {
    required(affinity).iter().try_for_each(PodAffinityTerm::check)
}

fn check_preferred(affinity: Option<&PodAffinity>) -> Result<(), ParseSelectorError> {
    preferred(affinity)
        .iter()
        .try_for_each(|wish| wish.pod_affinity_term.check())
}
