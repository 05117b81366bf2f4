//! Whatever makes a node fit for a waiting pod, as far as one plugin knows, that plugin's hint brings the pod back.
//!
//! Random small clusters change in one way, and each plugin that turned the pod away judges the nodes before and after,
//! alone. Nodes that it lets the pod on only now must not be missed.

#![expect(clippy::unwrap_used, reason = "a test may fail in its helpers too")]

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use plimsoll_config::{FeatureGates, Gate, ProfileConfig, SchedulerConfig, decode_policy, load};
use plimsoll_framework::{
    CycleContext, CycleState, PluginEvents, PreFilterOutcome, Profile, QueueingHint, Registry, Verdicts,
};
use plimsoll_model::columns::{Columns, NodeSet};
use plimsoll_model::{Moment, Pod};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

#[path = "hints_wake/change.rs"]
mod change;
#[path = "hints_wake/cluster.rs"]
mod cluster;

use change::{Change, changes, changes_of_domains};
use cluster::{Cluster, clusters, clusters_of_domains};

/// One plugin that may turn pods away, as its profile has it.
struct Judge<'a> {
    profile: &'a Profile,
    events: &'a PluginEvents,
    filter: usize,
}

/// The plugins of a profile that judge.
struct Panel {
    profile: Profile,
    /// Their positions among the filters.
    filters: Vec<usize>,
}

impl Panel {
    fn of(profile: Profile, plugins: &[&str]) -> Self {
        let filters = profile.filter.iter().enumerate();
        let judges = filters.filter(|(_, filter)| plugins.contains(&filter.name()));
        let filters: Vec<usize> = judges.map(|(position, _)| position).collect();
        assert!(filters.len() >= plugins.len(), "{plugins:?}");
        Self { profile, filters }
    }

    fn judges(&self) -> impl Iterator<Item = Judge<'_>> {
        self.filters.iter().map(|filter| {
            let name = self.profile.filter[*filter].name();
            let mut events = self.profile.events.iter();
            Judge {
                profile: &self.profile,
                events: events.find(|events| events.plugin() == name).unwrap(),
                filter: *filter,
            }
        })
    }
}

impl Judge<'_> {
    /// The names of the nodes that the plugin lets the pod on.
    fn passing(&self, columns: &Columns, pod: &Pod) -> BTreeSet<String> {
        let passing = self.passing_nodes(columns, pod);
        passing.iter().map(|node| columns.name(node).to_owned()).collect()
    }

    fn passing_nodes(&self, columns: &Columns, pod: &Pod) -> NodeSet {
        let filter = &self.profile.filter[self.filter];
        let cycle = CycleContext {
            pod,
            columns,
            now: Moment::ZERO,
        };
        let mut state = CycleState::new();
        let mut candidates = columns.nodes().clone();
        let mut pre_filters = self.profile.pre_filter.iter();
        if let Some(pre_filter) = pre_filters.find(|plugin| plugin.name() == filter.name()) {
            match pre_filter.pre_filter(cycle, &mut state) {
                PreFilterOutcome::Continue => {}
                PreFilterOutcome::Skip => return candidates,
                PreFilterOutcome::Restrict(restriction) => candidates.intersect_with(&restriction.nodes),
                PreFilterOutcome::Stop(_) => return NodeSet::new(),
            }
        }
        let mut verdicts = Verdicts::default();
        verdicts.begin(&candidates, columns.capacity());
        filter.filter(cycle, &state, &mut verdicts.pass(0)).unwrap();
        verdicts.feasible().clone()
    }
}

/// With the counts that any of the profiles asks for.
fn columns_of(cluster: &Cluster, panels: &[Panel]) -> Columns {
    let mut columns = cluster.columns();
    for plugin in panels.iter().flat_map(|panel| &panel.profile.prepare) {
        plugin.prepare(&cluster.waiting, &mut columns);
    }
    columns
}

/// The default profile, and plugins with arguments.
fn panels() -> Vec<Panel> {
    let gates = FeatureGates::default().with(Gate::TaintTolerationComparisonOperators, true);
    let config = load(include_str!("hints_wake/arguments.yaml"), &gates).unwrap();
    let registry = plimsoll_plugins::registry();
    let plain = Profile::assemble(&ProfileConfig::default(), &registry, &FeatureGates::default()).unwrap();
    let with_arguments = Profile::assemble(&config.profiles[0], &registry, &gates).unwrap();
    let with = [
        "NodeAffinity",
        "NodeResourcesFit",
        "PodTopologySpread",
        "TaintToleration",
    ];
    vec![
        Panel::of(with_arguments, &with),
        Panel::of(of_policy(&registry), &["NodeLabel", "ServiceAffinity"]),
        Panel {
            filters: (0..plain.filter.len()).collect(),
            profile: plain,
        },
    ]
}

/// The plugins that only legacy Policies have.
fn of_policy(registry: &Registry) -> Profile {
    let (policy, _) = decode_policy(include_str!("hints_wake/policy.json")).unwrap();
    let known = |name: &str| registry.names().any(|known| known == name);
    let config = policy.convert(&SchedulerConfig::default(), &known).unwrap().config;
    Profile::assemble(&config.profiles[0], registry, &FeatureGates::default()).unwrap()
}

fn wakes(events: &PluginEvents, change: &Change, waiting: &Pod) -> bool {
    let told = change.events();
    told.iter().any(|(event, objects)| {
        let hint = events.hint(*event, waiting, objects);
        hint.is_err() || hint == Ok(QueueingHint::Queue)
    })
}

/// How often a sort of change helped a pod that a plugin had turned away.
#[derive(Debug, Default)]
struct Seen(BTreeMap<(String, &'static str), usize>);

impl Seen {
    /// What must be seen and was not.
    fn misses(&self) -> Vec<(&'static str, &'static str)> {
        let missed = |(plugin, sort): &(&str, &'static str)| !self.0.contains_key(&((*plugin).to_owned(), *sort));
        MUST_BE_SEEN.into_iter().filter(missed).collect()
    }
}

/// What the plugins make of a cluster: one set of nodes each.
fn judged(panels: &[Panel], cluster: &Cluster) -> Vec<BTreeSet<String>> {
    let columns = columns_of(cluster, panels);
    let passing = |judge: Judge<'_>| judge.passing(&columns, &cluster.waiting);
    panels.iter().flat_map(Panel::judges).map(passing).collect()
}

fn check(panels: &[Panel], cluster: &Cluster, changes: &[Change], seen: &mut Seen) -> Result<(), TestCaseError> {
    let count = cluster.nodes.iter().flatten().count();
    let all_before = judged(panels, cluster);
    for change in changes {
        let after = cluster.with(change);
        let all_now = judged(panels, &after);
        let judges = panels.iter().flat_map(Panel::judges);
        for (judge, (before, now)) in judges.zip(all_before.iter().zip(&all_now)) {
            let helped: Vec<&String> = now.difference(before).collect();
            if before.len() == count || helped.is_empty() {
                continue;
            }
            let plugin = judge.events.plugin();
            *seen.0.entry((plugin.to_owned(), change.sort())).or_default() += 1;
            prop_assert!(
                wakes(judge.events, change, &after.waiting),
                "{plugin} lets the pod on {helped:?} now and misses that: {change:#?}"
            );
        }
    }
    Ok(())
}

/// Sorts of changes that must have helped, or the property would say little.
const MUST_BE_SEEN: [(&str, &str); 26] = [
    ("InterPodAffinity", "namespace updated"),
    ("InterPodAffinity", "node added"),
    ("InterPodAffinity", "node deleted"),
    ("InterPodAffinity", "node updated"),
    ("InterPodAffinity", "pod added"),
    ("InterPodAffinity", "pod deleted"),
    ("InterPodAffinity", "pod updated"),
    ("InterPodAffinity", "waiting pod updated"),
    ("NodeAffinity", "node added"),
    ("NodeAffinity", "node updated"),
    ("NodeDeclaredFeatures", "node updated"),
    ("NodeLabel", "node updated"),
    ("NodePorts", "node added"),
    ("NodePorts", "pod deleted"),
    ("NodeResourcesFit", "node added"),
    ("NodeResourcesFit", "node updated"),
    ("NodeResourcesFit", "pod deleted"),
    ("NodeUnschedulable", "node updated"),
    ("PodTopologySpread", "node added"),
    ("PodTopologySpread", "node updated"),
    ("PodTopologySpread", "pod deleted"),
    ("PodTopologySpread", "pod updated"),
    ("PodTopologySpread", "service changed"),
    ("ServiceAffinity", "service changed"),
    ("TaintToleration", "node updated"),
    ("TaintToleration", "waiting pod updated"),
];

const ROUNDS: usize = 2;
const MOST_ROUNDS: usize = 10;

/// Runs a property over so many cases.
fn run(
    cases: u32,
    case: &BoxedStrategy<(Vec<Change>, Cluster)>,
    check: impl Fn(&Cluster, &[Change]) -> Result<(), TestCaseError>,
) {
    let mut runner = TestRunner::new(ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let checked = runner.run(case, |(changes, cluster)| check(&cluster, &changes));
    checked.unwrap();
}

#[test]
fn any_change_that_makes_a_node_fit_is_told_by_the_hint_of_the_plugin_that_turned_the_pod_away() {
    let panels = panels();
    let seen = RefCell::new(Seen::default());
    let anything = clusters().prop_flat_map(|cluster| (vec(changes(&cluster), 4), Just(cluster)));
    let domains = clusters_of_domains().prop_flat_map(|cluster| (vec(changes_of_domains(&cluster), 4), Just(cluster)));
    let cases = [(150, anything.boxed()), (300, domains.boxed())];
    // Some sorts help rarely: rounds go on until each of them has.
    for round in 0..MOST_ROUNDS {
        if round >= ROUNDS && seen.borrow().misses().is_empty() {
            break;
        }
        for (cases, case) in &cases {
            run(*cases, case, |cluster, changes| {
                check(&panels, cluster, changes, &mut seen.borrow_mut())
            });
        }
    }
    let seen = seen.into_inner();
    assert_eq!(seen.misses(), [], "{seen:?}");
}
