//! On random clusters the plugin says what a look at every pod on every node says.

use std::collections::BTreeMap;

use plimsoll_model::{Affinity, LabelSelector, Labels, Node, PodAffinity, PodAffinityTerm};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::*;
use crate::fixture::node;

const NAMES: [&str; 4] = ["n0", "n1", "n2", "n3"];
const NAMESPACES: [&str; 3] = ["a", "b", "c"];

fn labels(pairs: &'static [(&'static str, &'static [&'static str])]) -> impl Strategy<Value = Value> {
    let pairs: Vec<_> = pairs
        .iter()
        .map(|(key, values)| of(select(*values)).prop_map(|value| Some(((*key).to_owned(), Value::from(value?)))))
        .collect();
    pairs.prop_map(|pairs| Value::Object(pairs.into_iter().flatten().collect()))
}

fn selector(key: &'static str, values: &'static [&'static str]) -> impl Strategy<Value = Value> {
    let equals = select(values).prop_map(move |value| json!({"matchLabels": {key: value}}));
    let operator = select(vec!["In", "NotIn", "Exists", "DoesNotExist"]);
    let compares = (operator, subsequence(values.to_vec(), 1..=values.len())).prop_map(move |(operator, values)| {
        let values = if operator.ends_with("In") { values } else { Vec::new() };
        json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]})
    });
    let junk = json!({"matchExpressions": [{"key": key, "operator": "Gt", "values": ["1"]}]});
    prop_oneof![
        4 => equals,
        4 => compares,
        2 => Just(json!({})),
        1 => Just(json!(null)),
        1 => proptest::bool::weighted(0.2).prop_map(move |is_junk| if is_junk { junk.clone() } else { json!({}) }),
    ]
}

fn term() -> impl Strategy<Value = Value> {
    let pods = selector("app", &["x", "y"]);
    let namespaces = of(selector("team", &["red", "blue"]));
    let named = subsequence(NAMESPACES.to_vec(), 0..=2);
    let key = select(vec!["zone", "host", "rack"]);
    (pods, namespaces, named, key).prop_map(|(pods, namespaces, named, key)| {
        json!({"labelSelector": pods, "namespaceSelector": namespaces, "namespaces": named, "topologyKey": key})
    })
}

fn rules() -> impl Strategy<Value = Value> {
    let wish = (1..4, term()).prop_map(|(weight, term)| json!({"weight": weight, "podAffinityTerm": term}));
    (vec(term(), 0..3), vec(wish, 0..3)).prop_map(|(required, preferred)| {
        json!({
            "requiredDuringSchedulingIgnoredDuringExecution": required,
            "preferredDuringSchedulingIgnoredDuringExecution": preferred,
        })
    })
}

prop_compose! {
    fn any_pod()(
        namespace in select(&NAMESPACES[..]),
        labels in labels(&[("app", &["x", "y"])]),
        affinity in prop_oneof![of(rules()), Just(None)],
        anti_affinity in prop_oneof![of(rules()), Just(None)],
    ) -> Pod {
        pod(namespace, &labels, &json!({"podAffinity": affinity, "podAntiAffinity": anti_affinity}))
    }
}

/// The same cluster twice: as columns and as objects.
#[derive(Debug)]
struct Both {
    cluster: Cluster,
    nodes: Vec<(Node, Vec<Pod>)>,
    namespaces: BTreeMap<String, Labels>,
}

prop_compose! {
    fn any_cluster()(
        nodes in vec((labels(&[("zone", &["1", "2"]), ("host", &["1", "2", "3"])]), vec(any_pod(), 0..3)), 1..=4),
        namespaces in vec(of(labels(&[("team", &["red", "blue"])])), 3),
    ) -> Both {
        let mut both = Both { cluster: Cluster::default(), nodes: Vec::new(), namespaces: BTreeMap::new() };
        for (name, labels) in NAMESPACES.into_iter().zip(namespaces) {
            let Some(labels) = labels else { continue };
            let labels: Labels = serde_json::from_value(labels).unwrap();
            let pairs: Vec<_> = labels.iter().collect();
            set_namespace(&mut both.cluster, name, &pairs);
            both.namespaces.insert(name.to_owned(), labels.clone());
        }
        for (name, (labels, pods)) in NAMES.into_iter().zip(nodes) {
            let node = node(name, &json!({"labels": labels}).to_string());
            both.cluster.columns.set_node(&node);
            for pod in &pods {
                both.cluster.add_pod(name, pod);
            }
            both.nodes.push((node, pods));
        }
        // Pods of a node that is not known count nowhere.
        both.cluster.add_pod("ghost", &app("x"));
        both
    }
}

fn list(pod: &Pod, of: fn(&Affinity) -> &Option<PodAffinity>) -> Option<&PodAffinity> {
    of(pod.spec.affinity.as_deref()?).as_ref()
}

fn affinity(pod: &Pod) -> Option<&PodAffinity> {
    list(pod, |affinity| &affinity.pod_affinity)
}

fn anti_affinity(pod: &Pod) -> Option<&PodAffinity> {
    list(pod, |affinity| &affinity.pod_anti_affinity)
}

fn parses(term: &PodAffinityTerm) -> bool {
    let selectors = [&term.label_selector, &term.namespace_selector];
    selectors.into_iter().flatten().all(LabelSelector::is_valid)
}

/// Required terms; none if one of them can't be parsed.
fn required_of(rules: Option<&PodAffinity>) -> Vec<&PodAffinityTerm> {
    let terms: Vec<_> = rules.into_iter().flat_map(|rules| &rules.required).collect();
    if terms.iter().all(|term| parses(term)) {
        terms
    } else {
        Vec::new()
    }
}

/// Preferred terms with weights; none if one of them can't be parsed.
fn preferred_of(rules: Option<&PodAffinity>) -> Vec<(i64, &PodAffinityTerm)> {
    let wishes: Vec<_> = rules
        .into_iter()
        .flat_map(|rules| &rules.preferred)
        .map(|wish| (i64::from(wish.weight), &wish.pod_affinity_term))
        .collect();
    if wishes.iter().all(|(_, term)| parses(term)) {
        wishes
    } else {
        Vec::new()
    }
}

fn selects(selector: Option<&LabelSelector>, labels: &Labels) -> bool {
    selector.is_some_and(|selector| selector.matches(labels))
}

impl Both {
    fn lists(owner: &Pod, term: &PodAffinityTerm, namespace: &str) -> bool {
        if term.namespaces.is_empty() && term.namespace_selector.is_none() {
            owner.name.namespace == namespace
        } else {
            term.namespaces.iter().any(|name| name == namespace)
        }
    }

    /// Whether a term of the newcomer means a pod: the selector is asked of namespaces that exist, and then once more as if
    /// there were no labels.
    fn newcomer_means(&self, owner: &Pod, term: &PodAffinityTerm, other: &Pod) -> bool {
        let namespace = other.name.namespace.as_str();
        let selector = term.namespace_selector.as_ref();
        let of_object = self.namespaces.get(namespace);
        let in_namespace = Self::lists(owner, term, namespace)
            || of_object.is_some_and(|labels| selects(selector, labels))
            || selects(selector, &Labels::default());
        in_namespace && selects(term.label_selector.as_ref(), &other.labels)
    }

    /// Whether a term of a pod on a node means the newcomer.
    fn existing_means(&self, owner: &Pod, term: &PodAffinityTerm, newcomer: &Pod) -> bool {
        let namespace = newcomer.name.namespace.as_str();
        let labels = self.namespaces.get(namespace).cloned().unwrap_or_default();
        let in_namespace = Self::lists(owner, term, namespace) || selects(term.namespace_selector.as_ref(), &labels);
        in_namespace && selects(term.label_selector.as_ref(), &newcomer.labels)
    }

    /// Every pod with the node it is on.
    fn pods(&self) -> impl Iterator<Item = (&Node, &Pod)> {
        self.nodes
            .iter()
            .flat_map(|(node, pods)| pods.iter().map(move |pod| (node, pod)))
    }

    fn verdict(&self, newcomer: &Pod, node: &Node) -> &'static str {
        let together = |other: &Node, term: &PodAffinityTerm| {
            let key = term.topology_key.as_str();
            node.labels.contains_key(key) && node.labels.get(key) == other.labels.get(key)
        };
        let affinity = required_of(affinity(newcomer));
        let means_all = |pod: &Pod| affinity.iter().all(|term| self.newcomer_means(newcomer, term, pod));
        let labelled = affinity.iter().all(|term| node.labels.contains_key(&term.topology_key));
        let near = |term: &PodAffinityTerm| self.pods().any(|(other, pod)| together(other, term) && means_all(pod));
        let any_of_its_kind = self.pods().any(|(other, pod)| {
            means_all(pod)
                && affinity
                    .iter()
                    .any(|term| other.labels.contains_key(&term.topology_key))
        });
        let first = !any_of_its_kind && means_all(newcomer);
        if !affinity.is_empty() && !(labelled && (affinity.iter().all(|term| near(term)) || first)) {
            return NOT_NEAR;
        }
        let anti = required_of(anti_affinity(newcomer));
        let hates = |other: &Node, pod: &Pod| {
            anti.iter()
                .any(|term| together(other, term) && self.newcomer_means(newcomer, term, pod))
        };
        if self.pods().any(|(other, pod)| hates(other, pod)) {
            return TOO_NEAR;
        }
        let unwanted = |other: &Node, pod: &Pod| {
            let terms = required_of(anti_affinity(pod));
            terms
                .iter()
                .any(|term| together(other, term) && self.existing_means(pod, term, newcomer))
        };
        if self.pods().any(|(other, pod)| unwanted(other, pod)) {
            NOT_WANTED
        } else {
            FITS
        }
    }

    /// Raw score of a node, and whether anything has been added at all (be it elsewhere).
    fn score(&self, newcomer: &Pod, node: &Node, hard_weight: i64) -> (i64, bool) {
        let mut score = 0;
        let mut said = false;
        let mut add = |other: &Node, term: &PodAffinityTerm, weight: i64| {
            let key = term.topology_key.as_str();
            said |= other.labels.contains_key(key);
            if node.labels.contains_key(key) && node.labels.get(key) == other.labels.get(key) {
                score += weight;
            }
        };
        let wishes = |rules, sign: i64| {
            preferred_of(rules)
                .into_iter()
                .map(move |(weight, term)| (sign * weight, term))
        };
        for (other, pod) in self.pods() {
            for (weight, term) in wishes(affinity(newcomer), 1).chain(wishes(anti_affinity(newcomer), -1)) {
                if self.newcomer_means(newcomer, term, pod) {
                    add(other, term, weight);
                }
            }
            let hard = required_of(affinity(pod)).into_iter().map(|term| (hard_weight, term));
            let hard = hard.filter(|(weight, _)| *weight > 0);
            for (weight, term) in hard
                .chain(wishes(affinity(pod), 1))
                .chain(wishes(anti_affinity(pod), -1))
            {
                if self.existing_means(pod, term, newcomer) {
                    add(other, term, weight);
                }
            }
        }
        (score, said)
    }
}

/// A newcomer whose own terms can be parsed; others are stopped.
fn newcomer() -> impl Strategy<Value = Pod> {
    any_pod().prop_filter("has to be parsed", |pod| Rules::of(pod).is_ok())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, ..ProptestConfig::default() })]

    #[test]
    fn verdicts_are_those_of_a_look_at_every_pod(both in any_cluster(), newcomer in newcomer()) {
        let filtered = both.cluster.filter(&made(construct), &newcomer);
        for (node, _) in &both.nodes {
            prop_assert_eq!(told(filtered.of(&node.name)), both.verdict(&newcomer, node), "{}", &node.name);
        }
    }

    #[test]
    fn scores_are_those_of_a_look_at_every_pod(
        both in any_cluster(),
        newcomer in newcomer(),
        hard_weight in 0..3,
        ignore in any::<bool>(),
    ) {
        let scored = both.cluster.score(&with_args(hard_weight, ignore), &newcomer);
        let expected: Vec<_> = both.nodes.iter().map(|(node, _)| both.score(&newcomer, node, hard_weight.into())).collect();
        let has_wishes = [affinity(&newcomer), anti_affinity(&newcomer)]
            .into_iter()
            .flatten()
            .any(|rules| !rules.preferred.is_empty());
        let skips = ignore && !has_wishes || expected.iter().all(|(_, said)| !said);
        prop_assert_eq!(scored.is_none(), skips);
        let Some(scored) = scored else { return Ok(()) };
        for ((node, _), (raw, _)) in both.nodes.iter().zip(&expected) {
            prop_assert_eq!(scored.raw(&node.name), *raw, "{}", &node.name);
            prop_assert!((0..=100).contains(&scored.normalised(&node.name)));
        }
    }
}
