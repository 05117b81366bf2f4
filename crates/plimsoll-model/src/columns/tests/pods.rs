//! Counts of pods by query and domain, and the terms of pods, against plain lists of pods.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::columns::{Columns, PodCounts};
use crate::testing::{node, pod};
use crate::{
    Footprint, LabelSelector, Labels, Namespace, Operator, Pod, PodClass, PodPattern, PodQuery, PodTerm, Requirement,
    ResourceVersion, TermKind, Uid,
};

const NODES: [&str; 5] = ["n0", "n1", "n2", "n3", "n4"];
const NAMESPACES: [&str; 3] = ["a", "b", "c"];
const KEYS: [&str; 3] = ["zone", "host", "unseen"];

#[derive(Debug, Clone)]
enum Step {
    SetNode(&'static str, Labels),
    RemoveNode(&'static str),
    AddPod(&'static str, PodClass),
    RemovePod(Index),
    SetNamespace(&'static str, Labels),
    RemoveNamespace(&'static str),
    Keep(Index, Option<&'static str>),
}

fn labels(pairs: &'static [(&'static str, &'static [&'static str])]) -> impl Strategy<Value = Labels> {
    let pairs: Vec<_> = pairs
        .iter()
        .map(|(key, values)| proptest::option::of(select(*values)).prop_map(|value| Some((*key, value?))))
        .collect();
    pairs.prop_map(|pairs| pairs.into_iter().flatten().collect())
}

fn node_labels() -> impl Strategy<Value = Labels> {
    labels(&[("zone", &["x", "y", ""]), ("host", &["n0", "n1", "n2"])])
}

fn pod_labels() -> impl Strategy<Value = Labels> {
    labels(&[("app", &["web", "db"]), ("tier", &["1", "2"])])
}

fn namespace_labels() -> impl Strategy<Value = Labels> {
    labels(&[("team", &["red", "blue"])])
}

fn requirement(key: &'static str, values: &'static [&'static str]) -> impl Strategy<Value = Requirement> {
    let operator = select(vec![
        Operator::In,
        Operator::NotIn,
        Operator::Exists,
        Operator::DoesNotExist,
    ]);
    let values = proptest::sample::subsequence(values.to_vec(), 1..=values.len());
    (operator, values).prop_map(move |(operator, values)| match operator {
        Operator::In | Operator::NotIn => Requirement::new(key, operator, values),
        _ => Requirement::new(key, operator, [] as [&str; 0]),
    })
}

fn selector(
    match_labels: impl Strategy<Value = Labels>,
    requirement: impl Strategy<Value = Requirement>,
) -> impl Strategy<Value = Option<LabelSelector>> {
    let expressions = proptest::collection::vec(requirement, 0..2);
    let selector = (match_labels, expressions).prop_map(|(match_labels, match_expressions)| LabelSelector {
        match_labels,
        match_expressions,
    });
    let broken = LabelSelector::of_labels([("not a key", "")].into_iter().collect());
    prop_oneof![
        8 => selector.prop_map(Some),
        1 => Just(None),
        1 => Just(Some(broken)),
    ]
}

fn pattern() -> impl Strategy<Value = PodPattern> {
    let namespaces = proptest::sample::subsequence(NAMESPACES.to_vec(), 0..=3);
    let namespace_selector = selector(namespace_labels(), requirement("team", &["red", "blue"]));
    let label_selector = selector(pod_labels(), requirement("app", &["web", "db"]));
    (namespaces, namespace_selector, label_selector).prop_map(|(namespaces, namespace_selector, label_selector)| {
        PodPattern {
            namespaces: namespaces.into_iter().map(Into::into).collect(),
            namespace_selector,
            label_selector,
        }
    })
}

fn term() -> impl Strategy<Value = PodTerm> {
    let kind = prop_oneof![
        Just(TermKind::RequiredAffinity),
        Just(TermKind::RequiredAntiAffinity),
        (1..3).prop_map(TermKind::PreferredAffinity),
        (1..3).prop_map(TermKind::PreferredAntiAffinity),
    ];
    let pattern = pattern().prop_filter("a pod has only terms that can be parsed", PodPattern::is_valid);
    (kind, pattern, select(&KEYS[..])).prop_map(|(kind, pattern, key)| PodTerm {
        kind,
        pattern,
        topology_key: key.into(),
    })
}

prop_compose! {
    fn class()(
        namespace in select(&NAMESPACES[..]),
        labels in pod_labels(),
        terminating in proptest::bool::weighted(0.2),
        terms in prop_oneof![3 => Just(Vec::new()), 1 => proptest::collection::vec(term(), 1..3)],
    ) -> PodClass {
        PodClass { namespace: namespace.into(), labels, terminating, terms: terms.into() }
    }
}

fn queries() -> impl Strategy<Value = Vec<PodQuery>> {
    let all_of = proptest::collection::vec(pattern(), 0..3);
    let query = (all_of, any::<bool>()).prop_map(|(all_of, terminating)| PodQuery { all_of, terminating });
    proptest::collection::vec(query, 1..8)
}

fn step() -> impl Strategy<Value = Step> {
    let name = || select(&NODES[..]);
    let namespace = || select(&NAMESPACES[..]);
    prop_oneof![
        4 => (name(), node_labels()).prop_map(|(name, labels)| Step::SetNode(name, labels)),
        1 => name().prop_map(Step::RemoveNode),
        8 => (name(), class()).prop_map(|(name, class)| Step::AddPod(name, class)),
        4 => any::<Index>().prop_map(Step::RemovePod),
        1 => (namespace(), namespace_labels()).prop_map(|(name, labels)| Step::SetNamespace(name, labels)),
        1 => namespace().prop_map(Step::RemoveNamespace),
        4 => (any::<Index>(), proptest::option::of(select(&KEYS[..]))).prop_map(|(which, key)| Step::Keep(which, key)),
    ]
}

fn footprint(class: &PodClass) -> Footprint {
    Footprint {
        class: class.clone().into(),
        ..Footprint::default()
    }
}

/// Nodes, pods and namespaces as they are told, and what has been asked for.
#[derive(Default)]
struct World {
    columns: Columns,
    nodes: BTreeMap<&'static str, Labels>,
    pods: Vec<(&'static str, PodClass)>,
    namespaces: BTreeMap<String, Labels>,
    kept: BTreeMap<usize, BTreeSet<&'static str>>,
}

impl World {
    fn apply(&mut self, step: Step, queries: &[PodQuery]) {
        match step {
            Step::SetNode(name, labels) => {
                let node = node(name).with(|node| node.labels = labels.clone()).build();
                self.columns.set_node(&node);
                self.nodes.insert(name, labels);
            }
            Step::RemoveNode(name) => {
                self.columns.remove_node(name);
                self.nodes.remove(name);
            }
            Step::AddPod(name, class) => {
                self.columns.add_pod(name, &footprint(&class));
                self.pods.push((name, class));
            }
            Step::RemovePod(which) => {
                if !self.pods.is_empty() {
                    let (name, class) = self.pods.swap_remove(which.index(self.pods.len()));
                    self.columns.remove_pod(name, &footprint(&class));
                }
            }
            Step::SetNamespace(name, labels) => {
                self.columns.set_namespace(&Namespace {
                    name: name.into(),
                    uid: Uid::from(name),
                    resource_version: ResourceVersion::new(1),
                    labels: labels.clone(),
                });
                self.namespaces.insert(name.to_owned(), labels);
            }
            Step::RemoveNamespace(name) => {
                self.columns.remove_namespace(name);
                self.namespaces.remove(name);
            }
            Step::Keep(which, key) => {
                let which = which.index(queries.len());
                let id = match key {
                    Some(key) => self.columns.keep_count_by(&queries[which], key),
                    None => self.columns.keep_count(&queries[which]),
                };
                assert!(self.columns.count(id).is_some());
                self.kept.entry(which).or_default().extend(key);
            }
        }
    }

    fn check(&self, queries: &[PodQuery]) {
        for (which, query) in queries.iter().enumerate() {
            let kept = self.kept.get(&which);
            let same = queries
                .iter()
                .enumerate()
                .filter(|(other, same)| *same == query && self.kept.contains_key(other));
            assert_eq!(self.columns.count_of(query).is_some(), same.count() > 0);
            if let Some(keys) = kept {
                self.check_query(query, keys);
            }
        }
    }

    fn check_query(&self, query: &PodQuery, keys: &BTreeSet<&str>) {
        let counts = self.columns.count_of(query).unwrap();
        let matching = |class: &PodClass| query.matches(class, self.namespaces.get(class.namespace.as_str()));
        let on = |node: &str| {
            let there = self
                .pods
                .iter()
                .filter(|(name, class)| *name == node && matching(class));
            u32::try_from(there.count()).unwrap()
        };
        let expected: BTreeMap<&str, u32> = self.nodes.keys().map(|name| (*name, on(name))).collect();
        for name in NODES {
            let row = self.columns.index_of(name);
            let found = row.map_or(0, |row| counts.on(row));
            assert_eq!(found, expected.get(name).copied().unwrap_or(0), "{query:?} {name}");
        }
        let listed: BTreeMap<&str, u32> = counts
            .iter()
            .map(|(row, pods)| (self.columns.name(row), pods))
            .collect();
        let not_zero = |counts: &BTreeMap<&'static str, u32>| -> BTreeMap<&str, u32> {
            counts
                .iter()
                .filter(|(_, pods)| **pods > 0)
                .map(|(name, pods)| (*name, *pods))
                .collect()
        };
        assert_eq!(listed, not_zero(&expected), "{query:?}");
        assert_eq!(counts.total(), expected.values().copied().map(u64::from).sum::<u64>());
        for key in keys {
            let domains = self.domains(key, |class| usize::from(matching(class)));
            assert_eq!(
                self.found_domains(key, counts.by_domain(key).unwrap()),
                domains,
                "{query:?} {key}"
            );
        }
    }

    /// Pods by the value of a label on their nodes, each as often as it counts.
    fn domains(&self, key: &str, times: impl Fn(&PodClass) -> usize) -> BTreeMap<String, u64> {
        let mut domains = BTreeMap::new();
        for (name, class) in &self.pods {
            let value = self.nodes.get(name).and_then(|labels| labels.get(key));
            let times = times(class) as u64;
            if let Some(value) = value.filter(|_| times > 0) {
                *domains.entry(value.to_owned()).or_default() += times;
            }
        }
        domains
    }

    fn found_domains(&self, key: &str, found: crate::columns::DomainCounts<'_>) -> BTreeMap<String, u64> {
        let Some(column) = self.columns.label_key(key) else {
            assert!(found.is_empty());
            return BTreeMap::new();
        };
        for (value, _) in column.values() {
            let listed = found.iter().find(|(other, _)| *other == value);
            assert_eq!(found.of(value), listed.map_or(0, |(_, pods)| pods));
        }
        assert_eq!(found.is_empty(), found.iter().count() == 0);
        found
            .iter()
            .map(|(value, pods)| (column.text(value).to_owned(), pods))
            .collect()
    }

    /// The terms that mean a pod, with their owners by domain; the same as what the columns find.
    fn check_terms(&self, pod: &Pod) {
        let namespace = self.namespaces.get(pod.name.namespace.as_str());
        let means = |term: &PodTerm| term.pattern.matches(&pod.name.namespace, namespace, &pod.labels);
        let terms = self.pods.iter().flat_map(|(_, class)| class.terms.iter());
        let mut expected: Vec<_> = terms
            .filter(|term| means(term))
            .collect::<std::collections::HashSet<_>>()
            .into_iter()
            .map(|term| {
                let times = |class: &PodClass| class.terms.iter().filter(|own| *own == term).count();
                let domains = self.domains(&term.topology_key, times);
                format!("{:?} {} {domains:?}", term.kind, term.topology_key)
            })
            .collect();
        let mut found: Vec<_> = self
            .columns
            .terms_towards(pod)
            .map(|term| {
                let domains = self.found_domains(term.topology_key, term.owners);
                format!("{:?} {} {domains:?}", term.kind, term.topology_key)
            })
            .collect();
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected);
    }
}

fn incoming() -> impl Strategy<Value = Vec<Pod>> {
    let one = (select(&NAMESPACES[..]), pod_labels()).prop_map(|(namespace, labels)| Pod {
        labels,
        ..pod("p").namespace(namespace).build()
    });
    proptest::collection::vec(one, 1..4)
}

proptest! {
    #[test]
    fn counts_equal_those_over_all_pods_after_any_sequence_of_changes(
        queries in queries(),
        incoming in incoming(),
        steps in proptest::collection::vec(step(), 1..80),
    ) {
        let mut world = World::default();
        for step in steps {
            world.apply(step, &queries);
            world.check(&queries);
            for pod in &incoming {
                world.check_terms(pod);
            }
        }
    }

    #[test]
    fn when_the_pods_are_gone_no_class_and_no_term_is_left(
        queries in queries(),
        steps in proptest::collection::vec(step(), 1..80),
    ) {
        let mut world = World::default();
        for step in steps {
            world.apply(step, &queries);
        }
        while let Some((name, class)) = world.pods.pop() {
            world.columns.remove_pod(name, &footprint(&class));
        }
        world.check(&queries);
        prop_assert!(world.columns.pods.is_without_pods());
    }
}

fn of_app(app: &str) -> PodQuery {
    let selector = LabelSelector::of_labels([("app", app)].into_iter().collect());
    PodQuery::of(PodPattern::in_namespace("a", Some(selector)), true)
}

#[test]
fn counts_that_nobody_asks_for_any_more_are_dropped() {
    let mut columns = Columns::new();
    columns.set_node(&node("n0").label("zone", "x").build());
    let web = PodClass {
        namespace: "a".into(),
        labels: [("app", "web")].into_iter().collect(),
        ..PodClass::default()
    };
    columns.add_pod("n0", &footprint(&web));
    let mine = columns.keep_count_by(&of_app("web"), "zone");
    let other = columns.keep_count(&of_app("0"));
    let total = |columns: &Columns, query: &PodQuery| columns.count_of(query).map(PodCounts::total);
    for round in 0..3 {
        for number in 0..3000 {
            columns.keep_count(&of_app(&format!("{round}-{number}")));
            columns.keep_count(&of_app("web"));
        }
    }
    assert_eq!(total(&columns, &of_app("web")), Some(1));
    assert_eq!(columns.count(mine).map(PodCounts::total), Some(1));
    assert_eq!(total(&columns, &of_app("0")), None);
    assert!(columns.count(other).is_none());
    assert_eq!(total(&columns, &of_app("2-2999")), Some(0));
    columns.remove_pod("n0", &footprint(&web));
    assert_eq!(total(&columns, &of_app("web")), Some(0));
    assert_eq!(columns.keep_count(&of_app("web")), mine);
}

#[test]
fn a_few_hundred_counts_are_kept_however_long_nobody_asks() {
    let mut columns = Columns::new();
    for number in 0..500 {
        columns.keep_count(&of_app(&number.to_string()));
    }
    for _ in 0..10_000 {
        columns.keep_count(&of_app("0"));
    }
    assert!((0..500).all(|number| columns.count_of(&of_app(&number.to_string())).is_some()));
}

#[test]
fn a_pod_that_is_not_there_cannot_be_taken_off() {
    let mut columns = Columns::new();
    columns.set_node(&node("n0").build());
    columns.set_node(&node("n1").build());
    let there = PodClass {
        namespace: "a".into(),
        ..PodClass::default()
    };
    let elsewhere = PodClass {
        namespace: "b".into(),
        ..PodClass::default()
    };
    let all = PodQuery::of(
        PodPattern {
            namespace_selector: Some(LabelSelector::default()),
            label_selector: Some(LabelSelector::default()),
            ..PodPattern::default()
        },
        true,
    );
    columns.keep_count(&all);
    columns.add_pod("n0", &footprint(&there));
    columns.add_pod("n1", &footprint(&elsewhere));
    columns.remove_pod("n0", &footprint(&elsewhere));
    assert_eq!(columns.count_of(&all).unwrap().total(), 2);
}
