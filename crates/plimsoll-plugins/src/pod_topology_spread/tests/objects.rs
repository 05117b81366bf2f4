//! On random clusters the plugin says what a look at every pod on every node says.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_model::{LabelSelector, Labels, Node, NodeInclusionPolicy, first_untolerated};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::fixture::node;

const NAMES: [&str; 5] = ["n0", "n1", "n2", "n3", "n4"];
const HOSTNAME: &str = "kubernetes.io/hostname";

fn selector() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => Just(json!({"matchLabels": {"app": "web"}})),
        2 => Just(json!({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["db"]}]})),
        1 => Just(json!({"matchExpressions": [{"key": "version", "operator": "Exists"}]})),
        1 => Just(json!({})),
        1 => Just(json!(null)),
    ]
}

fn policy() -> impl Strategy<Value = Option<&'static str>> {
    of(select(vec!["Honor", "Ignore"]))
}

prop_compose! {
    fn constraint()(
        key in select(vec!["zone", "zone", "rack", HOSTNAME]),
        when in select(vec!["DoNotSchedule", "ScheduleAnyway"]),
        max_skew in 1..4,
        min_domains in of(1..4),
        selector in selector(),
        affinity in policy(),
        taints in policy(),
        keys in select(vec![json!([]), json!(["version"]), json!(["version", "absent"])]),
    ) -> Value {
        json!({
            "topologyKey": key, "whenUnsatisfiable": when, "maxSkew": max_skew, "minDomains": min_domains,
            "labelSelector": selector, "nodeAffinityPolicy": affinity, "nodeTaintsPolicy": taints,
            "matchLabelKeys": keys,
        })
    }
}

fn pod_labels() -> impl Strategy<Value = Value> {
    let app = select(vec!["web", "web", "db"]);
    let version = of(select(vec!["1", "2"]));
    (app, version).prop_map(|(app, version)| match version {
        Some(version) => json!({"app": app, "version": version}),
        None => json!({"app": app}),
    })
}

prop_compose! {
    fn newcomer()(
        labels in pod_labels(),
        constraints in vec(constraint(), 0..4),
        selects_ssd in proptest::bool::weighted(0.3),
        tolerates in any::<bool>(),
    ) -> Pod {
        let node_selector = if selects_ssd { json!({"disk": "ssd"}) } else { json!(null) };
        let tolerations = if tolerates { json!([{"key": "k", "operator": "Exists"}]) } else { json!([]) };
        let spec = json!({
            "topologySpreadConstraints": constraints, "nodeSelector": node_selector, "tolerations": tolerations,
        });
        pod_in("default", &labels, &spec)
    }
}

prop_compose! {
    fn existing()(
        namespace in select(vec!["default", "default", "default", "other"]),
        labels in pod_labels(),
        going in proptest::bool::weighted(0.2),
    ) -> Pod {
        let pod = pod_in(namespace, &labels, &json!({}));
        if going { terminating(&pod) } else { pod }
    }
}

prop_compose! {
    fn any_node()(
        zone in of(select(vec!["a", "b", ""])),
        rack in of(select(vec!["1", "2"])),
        hostname in proptest::bool::weighted(0.8),
        ssd in any::<bool>(),
        tainted in proptest::bool::weighted(0.3),
        pods in vec(existing(), 0..4),
    ) -> (Value, Vec<Pod>) {
        let mut labels = BTreeMap::new();
        labels.extend(zone.map(|zone| ("zone", zone)));
        labels.extend(rack.map(|rack| ("rack", rack)));
        labels.extend(ssd.then_some(("disk", "ssd")));
        labels.extend(hostname.then_some((HOSTNAME, "own")));
        let taints = if tainted { json!([{"key": "k", "effect": "NoSchedule"}]) } else { json!([]) };
        (json!({"labels": labels, "spec": {"taints": taints}}), pods)
    }
}

/// The same cluster twice: as columns and as objects.
#[derive(Debug)]
struct Both {
    cluster: Cluster,
    nodes: Vec<(Node, Vec<Pod>)>,
}

prop_compose! {
    fn any_cluster()(nodes in vec(any_node(), 1..=NAMES.len()), service in any::<bool>()) -> Both {
        let mut both = Both { cluster: Cluster::default(), nodes: Vec::new() };
        if service {
            let service = workload(WorkloadKind::Service, "s", &json!({"app": "web"}));
            both.cluster.columns.set_workload_selector(&service);
        }
        for (name, (mut parts, pods)) in NAMES.into_iter().zip(nodes) {
            if let Some(hostname) = parts["labels"].get_mut(HOSTNAME) {
                *hostname = json!(name);
            }
            let node = node(name, &parts.to_string());
            both.cluster.columns.set_node(&node);
            for pod in &pods {
                both.cluster.add_pod(name, pod);
            }
            both.nodes.push((node, pods));
        }
        // Pods of a node that is not known count nowhere.
        both.cluster.add_pod("ghost", &app("web"));
        both
    }
}

/// A constraint as the plain rules have it.
struct Rule {
    key: String,
    max_skew: i64,
    min_domains: usize,
    honours_affinity: bool,
    honours_taints: bool,
    selector: Option<LabelSelector>,
    narrowed: Vec<(String, String)>,
}

impl Rule {
    fn selects(&self, labels: &Labels) -> bool {
        let narrowed = || self.narrowed.iter().all(|(key, value)| labels.get(key) == Some(value));
        self.selector.as_ref().is_some_and(|selector| selector.matches(labels)) && narrowed()
    }

    fn counts(&self, newcomer: &Pod, pods: &[Pod]) -> i64 {
        let is_empty = self.selector.as_ref().is_some_and(LabelSelector::is_empty) && self.narrowed.is_empty();
        let counted = pods.iter().filter(|pod| {
            !is_empty
                && pod.deletion_timestamp.is_none()
                && pod.name.namespace == newcomer.name.namespace
                && self.selects(&pod.labels)
        });
        i64::try_from(counted.count()).unwrap()
    }

    fn lets_count(&self, newcomer: &Pod, node: &Node) -> bool {
        let selected = newcomer
            .spec
            .node_selector
            .as_ref()
            .is_none_or(|wanted| wanted.iter().all(|(key, value)| node.labels.get(key) == Some(value)));
        let untolerated = first_untolerated(&node.spec.taints, &newcomer.spec.tolerations, |taint| {
            taint.effect.rules_out()
        });
        (!self.honours_affinity || selected) && (!self.honours_taints || untolerated.is_none())
    }
}

fn rules(pod: &Pod, when: WhenUnsatisfiable, has_service: bool) -> Vec<Rule> {
    let own = &pod.spec.topology_spread_constraints;
    if own.is_empty() {
        let selector = LabelSelector::of_labels([("app", "web")].into_iter().collect());
        let belongs = has_service && selector.matches(&pod.labels) && when == WhenUnsatisfiable::ScheduleAnyway;
        let system = [(HOSTNAME, 3), ("topology.kubernetes.io/zone", 5)];
        return system
            .into_iter()
            .filter(|_| belongs)
            .map(|(key, max_skew)| Rule {
                key: key.to_owned(),
                max_skew,
                min_domains: 1,
                honours_affinity: true,
                honours_taints: false,
                selector: Some(selector.clone()),
                narrowed: Vec::new(),
            })
            .collect();
    }
    own.iter()
        .filter(|spread| spread.when_unsatisfiable == when)
        .map(|spread| Rule {
            key: spread.topology_key.to_string(),
            max_skew: spread.max_skew.into(),
            min_domains: usize::try_from(spread.min_domains.unwrap_or(1)).unwrap(),
            honours_affinity: spread.node_affinity_policy != Some(NodeInclusionPolicy::Ignore),
            honours_taints: spread.node_taints_policy == Some(NodeInclusionPolicy::Honor),
            selector: spread.label_selector.clone(),
            narrowed: spread
                .match_label_keys
                .iter()
                .filter_map(|key| Some((key.to_string(), pod.labels.get(key)?.to_owned())))
                .collect(),
        })
        .collect()
}

impl Both {
    fn has_service(&self) -> bool {
        self.cluster.columns.service_selectors("default").next().is_some()
    }

    fn verdict(&self, pod: &Pod, rules: &[Rule], node: &Node) -> &'static str {
        let has_all = |node: &Node| rules.iter().all(|rule| node.labels.contains_key(&rule.key));
        for rule in rules {
            let Some(value) = node.labels.get(&rule.key) else {
                return NO_LABEL;
            };
            let mut domains: BTreeMap<&str, i64> = BTreeMap::new();
            for (other, pods) in &self.nodes {
                if has_all(other) && rule.lets_count(pod, other) {
                    *domains.entry(other.labels.get(&rule.key).unwrap()).or_default() += rule.counts(pod, pods);
                }
            }
            let least = if domains.len() < rule.min_domains {
                0
            } else {
                domains.values().copied().min().unwrap()
            };
            let itself = i64::from(rule.selects(&pod.labels));
            if domains.get(value).copied().unwrap_or(0) + itself - least > rule.max_skew {
                return FULL;
            }
        }
        FITS
    }

    /// Raw scores, and which nodes are left out.
    fn raw(&self, pod: &Pod, rules: &[Rule]) -> Vec<Option<i64>> {
        let requires_all = !pod.spec.topology_spread_constraints.is_empty();
        let scored = |node: &Node| !requires_all || rules.iter().all(|rule| node.labels.contains_key(&rule.key));
        let value = |node: &Node, rule: &Rule| node.labels.get(&rule.key).unwrap_or_default().to_owned();
        let sizes: Vec<usize> = rules
            .iter()
            .map(|rule| {
                let nodes = self.nodes.iter().filter(|(node, _)| scored(node));
                if rule.key == HOSTNAME {
                    nodes.count()
                } else {
                    nodes.map(|(node, _)| value(node, rule)).collect::<BTreeSet<_>>().len()
                }
            })
            .collect();
        let score = |node: &Node, pods: &[Pod]| {
            let mut sum = 0.0;
            for (rule, size) in rules.iter().zip(&sizes) {
                if !node.labels.contains_key(&rule.key) {
                    continue;
                }
                let count: i64 = if rule.key == HOSTNAME {
                    rule.counts(pod, pods)
                } else {
                    self.nodes
                        .iter()
                        .filter(|(other, _)| scored(other) && rule.lets_count(pod, other))
                        .filter(|(other, _)| value(other, rule) == value(node, rule))
                        .map(|(_, pods)| rule.counts(pod, pods))
                        .sum()
                };
                sum += f64::from(i32::try_from(count).unwrap()) * f64::from(u32::try_from(size + 2).unwrap()).ln();
                sum += f64::from(i32::try_from(rule.max_skew - 1).unwrap());
            }
            #[expect(clippy::cast_possible_truncation, reason = "scores are small")]
            let rounded = sum.round() as i64;
            rounded
        };
        self.nodes
            .iter()
            .map(|(node, pods)| scored(node).then(|| score(node, pods)))
            .collect()
    }
}

fn normalised(raw: &[Option<i64>]) -> Vec<i64> {
    let min = raw.iter().flatten().copied().min().unwrap_or(0);
    let max = raw.iter().flatten().copied().max().unwrap_or(0);
    raw.iter()
        .map(|score| match score {
            None => 0,
            Some(_) if max == 0 => 100,
            Some(score) => 100 * (max + min - score) / max,
        })
        .collect()
}

proptest! {
    #[test]
    fn verdicts_and_scores_are_those_of_the_plain_rules(both in any_cluster(), pod in newcomer()) {
        let plugin = made(construct);
        let hard = rules(&pod, WhenUnsatisfiable::DoNotSchedule, both.has_service());
        let filtered = both.cluster.filter(&plugin, &pod);
        prop_assert_eq!(filtered.skipped(), hard.is_empty());
        for (node, _) in &both.nodes {
            let expected = both.verdict(&pod, &hard, node);
            prop_assert_eq!(of_rejection(filtered.of(&node.name).as_ref()), expected, "{}", node.name);
        }
        let soft = rules(&pod, WhenUnsatisfiable::ScheduleAnyway, both.has_service());
        let scored = both.cluster.score(&plugin, &pod);
        prop_assert_eq!(scored.is_none(), soft.is_empty());
        let Some(scored) = scored else { return Ok(()) };
        let raw = both.raw(&pod, &soft);
        for ((node, _), (raw, normalised)) in both.nodes.iter().zip(raw.iter().zip(normalised(&raw))) {
            prop_assert_eq!(scored.raw(&node.name), raw.unwrap_or(0), "raw of {}", node.name);
            prop_assert_eq!(scored.normalised(&node.name), normalised, "normalised of {}", node.name);
        }
    }

    #[test]
    fn a_nominated_pod_counts_as_if_it_were_on_the_node(
        both in any_cluster(),
        pod in newcomer(),
        nominated in vec(pod_labels(), 1..3),
        at in any::<prop::sample::Index>(),
    ) {
        let hard = rules(&pod, WhenUnsatisfiable::DoNotSchedule, both.has_service());
        // Of an empty selector only nominated pods count.
        let counts_others = |rule: &Rule| !(rule.selector == Some(LabelSelector::default()) && rule.narrowed.is_empty());
        prop_assume!(!hard.is_empty() && hard.iter().all(counts_others));
        let nominated: Vec<Pod> = nominated.iter().map(|labels| pod_in("default", labels, &json!({}))).collect();
        let at = at.index(both.nodes.len());
        let name = both.nodes[at].0.name.clone();
        let verdict = contested(&both.cluster, &pod, &name, &nominated.iter().collect::<Vec<_>>());
        let mut with_them = both;
        with_them.nodes[at].1.extend(nominated);
        let (node, _) = &with_them.nodes[at];
        prop_assert_eq!(verdict, with_them.verdict(&pod, &hard, node));
    }
}
