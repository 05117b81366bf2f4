//! Configurations: the default profile, other plugins and weights, arguments of every kind.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use plimsoll_config::{FeatureGates, ProfileConfig};
use plimsoll_framework::Profile;
use serde_json::{Map, Value, json};

use super::{affinity, quantity, spread};
use crate::case::Case;
use crate::dice::Dice;

/// What the default profile filters and scores by, in its order.
#[derive(Default)]
struct Defaults {
    filters: Vec<&'static str>,
    scores: Vec<&'static str>,
}

static DEFAULTS: LazyLock<Defaults> = LazyLock::new(|| {
    let registry = plimsoll_plugins::registry();
    let profile = Profile::assemble(&ProfileConfig::default(), &registry, &FeatureGates::default());
    let names = |profile: Profile| Defaults {
        filters: profile.filter.iter().map(|filter| filter.name()).collect(),
        scores: profile.score.iter().map(|score| score.plugin.name()).collect(),
    };
    profile.map(names).unwrap_or_default()
});

/// Gates that change what the plugins do, each with those that cannot be on without it.
const GATES: [&[(&str, bool)]; 4] = [
    &[("TaintTolerationComparisonOperators", true)],
    &[("DRAExtendedResource", false)],
    &[
        ("MatchLabelKeysInPodTopologySpread", false),
        ("MatchLabelKeysInPodTopologySpreadSelectorMerge", false),
    ],
    &[
        ("NodeDeclaredFeatures", false),
        ("ExtendWebSocketsToKubelet", false),
        ("InPlacePodLevelResourcesVerticalScaling", false),
        ("InPlacePodVerticalScalingInitContainers", false),
        ("RestartAllContainersOnContainerExits", false),
    ],
];

/// Now and then a gate is not at its default.
pub(super) fn feature_gates(dice: &mut Dice) -> BTreeMap<String, bool> {
    if !dice.percent(10) {
        return BTreeMap::new();
    }
    let gates = dice.one_of(&GATES);
    gates.iter().map(|(name, on)| ((*name).to_owned(), *on)).collect()
}

/// A configuration with one profile.
pub(super) fn config(dice: &mut Dice, nodes: usize) -> Value {
    json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile(dice, "default-scheduler", nodes)],
    })
}

/// Adds one or two profiles before or behind the one that there is, and gives the pod to any of them.
pub(super) fn add_profiles(dice: &mut Dice, case: &mut Case, nodes: usize) {
    let Some(profiles) = case.config["profiles"].as_array_mut() else {
        return;
    };
    for number in 0..dice.between(1, 2) {
        let at = dice.below(profiles.len() + 1);
        profiles.insert(at, profile(dice, &format!("scheduler-{number}"), nodes));
    }
    let chosen = dice.below(profiles.len());
    case.pod["spec"]["schedulerName"] = profiles[chosen]["schedulerName"].clone();
}

/// Configures what happens to a pod that finds no node, mostly as it is by default.
pub(super) fn preempting(dice: &mut Dice, case: &mut Case) {
    if dice.percent(30) {
        case.feature_gates.insert("SchedulerAsyncPreemption".to_owned(), false);
    }
    if dice.percent(50) {
        let name = case.pod["spec"]["schedulerName"].clone();
        case.config["profiles"] = json!([{ "schedulerName": name }]);
    }
    for profile in case.config["profiles"].as_array_mut().into_iter().flatten() {
        let bare = profile["plugins"]["multiPoint"]["disabled"][0]["name"] == "*";
        if let Some(set) = post_filters(dice, bare) {
            profile["plugins"]["postFilter"] = set;
        }
        if dice.percent(10) {
            let args = json!({
                "minCandidateNodesPercentage": dice.one_of(&[0, 1, 10, 50, 100]),
                "minCandidateNodesAbsolute": dice.one_of(&[20, 100, 1000]),
            });
            let entry = json!({ "name": "DefaultPreemption", "args": args });
            match &mut profile["pluginConfig"] {
                Value::Array(entries) => entries.push(entry),
                absent => *absent = json!([entry]),
            }
        }
    }
}

/// Who is asked when no node will do; `bare` when nobody is without being named.
fn post_filters(dice: &mut Dice, bare: bool) -> Option<Value> {
    let preemption = &["DefaultPreemption"][..];
    match dice.below(100) {
        _ if bare && dice.percent(85) => Some(json!({ "enabled": named(preemption) })),
        0..3 => Some(json!({ "disabled": named(&["*"]) })),
        3..5 => Some(json!({ "disabled": named(preemption) })),
        5..20 => Some(json!({ "disabled": named(&["DynamicResources"]) })),
        20..25 => Some(json!({ "disabled": named(&["*"]), "enabled": named(preemption) })),
        _ => None,
    }
}

fn profile(dice: &mut Dice, name: &str, nodes: usize) -> Value {
    let mut profile = json!({ "schedulerName": name });
    if dice.percent(30) {
        profile["plugins"] = Value::Object(plugins(dice));
    }
    let args = if dice.percent(50) {
        plugin_config(dice, nodes)
    } else {
        Vec::new()
    };
    if !args.is_empty() {
        profile["pluginConfig"] = json!(args);
    }
    profile
}

fn plugins(dice: &mut Dice) -> Map<String, Value> {
    match dice.below(5) {
        0 => weights_overridden(dice),
        1 => scores_replaced(dice),
        2 => some_disabled(dice),
        3 => filters_replaced(dice),
        _ => all_replaced(dice),
    }
}

fn named(names: &[&str]) -> Value {
    names.iter().map(|name| json!({ "name": name })).collect()
}

fn weighted(dice: &mut Dice, names: &[&str]) -> Value {
    names
        .iter()
        .map(|name| match dice.below(4) {
            0 => json!({ "name": name }),
            1 => json!({ "name": name, "weight": 0 }),
            _ => json!({ "name": name, "weight": affinity::weight(dice) }),
        })
        .collect()
}

fn sets(sets: &[(&str, Value)]) -> Map<String, Value> {
    sets.iter()
        .map(|(name, set)| ((*name).to_owned(), set.clone()))
        .collect()
}

/// Default plugins named again keep their place and take the new weight.
fn weights_overridden(dice: &mut Dice) -> Map<String, Value> {
    let names = dice.some(4, &DEFAULTS.scores);
    sets(&[("multiPoint", json!({ "enabled": weighted(dice, &names) }))])
}

fn scores_replaced(dice: &mut Dice) -> Map<String, Value> {
    let mut names = dice.some(5, &DEFAULTS.scores);
    if dice.percent(50) {
        names.reverse();
    }
    let disabled = if dice.percent(60) { named(&["*"]) } else { named(&names) };
    sets(&[(
        "score",
        json!({ "enabled": weighted(dice, &names), "disabled": disabled }),
    )])
}

fn some_disabled(dice: &mut Dice) -> Map<String, Value> {
    let everywhere = dice.some(2, &DEFAULTS.filters);
    let scores = dice.some(3, &DEFAULTS.scores);
    let filters = dice.some(2, &DEFAULTS.filters);
    sets(&[
        ("multiPoint", json!({ "disabled": named(&everywhere) })),
        ("score", json!({ "disabled": named(&scores) })),
        ("filter", json!({ "disabled": named(&filters) })),
    ])
}

/// Another order, and so another first reason.
fn filters_replaced(dice: &mut Dice) -> Map<String, Value> {
    let mut names = DEFAULTS.filters.clone();
    let turn = dice.below(names.len());
    names.rotate_left(turn);
    if dice.percent(50) {
        names.reverse();
    }
    sets(&[("filter", json!({ "enabled": named(&names), "disabled": named(&["*"]) }))])
}

fn all_replaced(dice: &mut Dice) -> Map<String, Value> {
    let mut enabled = vec![json!({ "name": "PrioritySort" }), json!({ "name": "DefaultBinder" })];
    let mut names = DEFAULTS.filters.clone();
    names.extend(["NodeResourcesBalancedAllocation", "ImageLocality"]);
    let left_out = dice.below(names.len());
    names.remove(left_out);
    if dice.percent(50) {
        names.reverse();
    }
    if let Value::Array(rest) = weighted(dice, &names) {
        enabled.extend(rest);
    }
    sets(&[("multiPoint", json!({ "enabled": enabled, "disabled": named(&["*"]) }))])
}

fn plugin_config(dice: &mut Dice, nodes: usize) -> Vec<Value> {
    let mut args = Vec::new();
    let mut add = |name: &str, value: Value| args.push(json!({ "name": name, "args": value }));
    if dice.percent(55) {
        add("NodeResourcesFit", fit(dice));
    }
    if dice.percent(30) {
        add(
            "NodeResourcesBalancedAllocation",
            json!({ "resources": resources(dice, false) }),
        );
    }
    if dice.percent(25) {
        add("NodeAffinity", json!({ "addedAffinity": affinity::added(dice, nodes) }));
    }
    if dice.percent(30) {
        add("InterPodAffinity", inter_pod_affinity(dice));
    }
    if dice.percent(35) {
        add("PodTopologySpread", pod_topology_spread(dice));
    }
    args
}

fn fit(dice: &mut Dice) -> Value {
    let mut args = Map::new();
    if dice.percent(25) {
        args.insert(
            "ignoredResources".to_owned(),
            json!(dice.some(2, &quantity::SCALARS[..3])),
        );
    }
    if dice.percent(20) {
        args.insert(
            "ignoredResourceGroups".to_owned(),
            json!(dice.some(2, &["example.com", "vendor.org", "none.example"])),
        );
    }
    if dice.percent(80) {
        let kind = dice.pick(&["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"]);
        let mut strategy = json!({ "type": kind });
        if dice.percent(75) {
            strategy["resources"] = resources(dice, true);
        }
        if kind == "RequestedToCapacityRatio" {
            strategy["requestedToCapacityRatio"] = json!({ "shape": shape(dice) });
        }
        args.insert("scoringStrategy".to_owned(), strategy);
    }
    Value::Object(args)
}

fn resources(dice: &mut Dice, with_weights: bool) -> Value {
    let all = [
        "cpu",
        "memory",
        "ephemeral-storage",
        "example.com/gpu",
        "vendor.org/nic",
        "hugepages-2Mi",
    ];
    let mut names = dice.some(4, &all);
    if names.is_empty() {
        names.push("cpu");
    }
    let weight = |dice: &mut Dice| if with_weights { affinity::weight(dice) } else { 1 };
    names
        .iter()
        .map(|name| json!({ "name": name, "weight": weight(dice) }))
        .collect()
}

/// Utilisation rises from point to point.
pub(super) fn shape(dice: &mut Dice) -> Vec<Value> {
    let mut points = Vec::new();
    let mut utilization = dice.one_of(&[0, 0, 0, 10, 50]);
    loop {
        points.push(json!({ "utilization": utilization, "score": dice.between(0, 10) }));
        utilization += dice.one_of(&[1, 7, 30, 50, 100]);
        if utilization > 100 || points.len() == 5 {
            return points;
        }
    }
}

fn inter_pod_affinity(dice: &mut Dice) -> Value {
    json!({
        "hardPodAffinityWeight": dice.one_of(&[0, 1, 5, 100]),
        "ignorePreferredTermsOfExistingPods": dice.percent(50),
    })
}

fn pod_topology_spread(dice: &mut Dice) -> Value {
    if dice.percent(15) {
        return json!({ "defaultingType": "System" });
    }
    let mut constraints: Vec<Value> = Vec::new();
    for _ in 0..dice.below(3) {
        let key = dice.pick(&affinity::TOPOLOGY_KEYS);
        let when = dice.pick(&["DoNotSchedule", "ScheduleAnyway"]);
        if constraints
            .iter()
            .all(|other| other["topologyKey"] != key || other["whenUnsatisfiable"] != when)
        {
            constraints.push(spread::constraint(dice, key, when));
        }
    }
    json!({ "defaultingType": "List", "defaultConstraints": constraints })
}
