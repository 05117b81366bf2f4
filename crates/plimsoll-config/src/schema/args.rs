//! The arguments of plugins.

use serde_json::{Value, json};

use super::{at_least, boolean, defaulted, duration, int32, list, object, one_of, put, reference, text, told, within};
use crate::decode::args_version;

/// Plugins whose arguments have a kind.
const PLUGINS: [&str; 10] = [
    "DefaultPreemption",
    "DynamicResources",
    "InterPodAffinity",
    "NodeAffinity",
    "NodeLabel",
    "NodeResourcesBalancedAllocation",
    "NodeResourcesFit",
    "PodTopologySpread",
    "ServiceAffinity",
    "VolumeBinding",
];

/// Arguments must be of the plugin's kind where it has one, and may be anything where it has none.
pub(super) fn plugin_config() -> Value {
    let mut entry = object(&[("name", text()), ("args", json!({}))], &["name"]);
    let of_plugin = |plugin: &&str| {
        json!({
            "if": {"properties": {"name": {"const": plugin}}, "required": ["name"]},
            "then": {"properties": {"args": reference(&format!("{plugin}Args"))}},
        })
    };
    put(&mut entry, "allOf", PLUGINS.iter().map(of_plugin).collect());
    entry
}

pub(super) fn definitions() -> Vec<(&'static str, Value)> {
    let spread = list(&reference("TopologySpreadConstraint"));
    let names = || list(&text());
    vec![
        (
            "DefaultPreemptionArgs",
            args(
                "DefaultPreemption",
                &[
                    ("minCandidateNodesPercentage", defaulted(within(0, 100), 10.into())),
                    (
                        "minCandidateNodesAbsolute",
                        defaulted(within(0, i32::MAX.into()), 100.into()),
                    ),
                ],
            ),
        ),
        (
            "DynamicResourcesArgs",
            args(
                "DynamicResources",
                &[
                    ("filterTimeout", defaulted(duration(), "10s".into())),
                    ("bindingTimeout", defaulted(duration(), "10m0s".into())),
                ],
            ),
        ),
        (
            "InterPodAffinityArgs",
            args(
                "InterPodAffinity",
                &[
                    ("hardPodAffinityWeight", defaulted(within(0, 100), 1.into())),
                    ("ignorePreferredTermsOfExistingPods", boolean(false)),
                ],
            ),
        ),
        (
            "NodeAffinityArgs",
            args("NodeAffinity", &[("addedAffinity", reference("NodeAffinity"))]),
        ),
        (
            "NodeLabelArgs",
            args(
                "NodeLabel",
                &[
                    ("presentLabels", names()),
                    ("absentLabels", names()),
                    ("presentLabelsPreference", list(&weighted_label())),
                    ("absentLabelsPreference", list(&weighted_label())),
                ],
            ),
        ),
        (
            "NodeResourcesBalancedAllocationArgs",
            args(
                "NodeResourcesBalancedAllocation",
                &[("resources", list(&resource(0, 1)))],
            ),
        ),
        ("NodeResourcesFitArgs", node_resources_fit()),
        (
            "PodTopologySpreadArgs",
            args(
                "PodTopologySpread",
                &[
                    ("defaultConstraints", spread),
                    (
                        "defaultingType",
                        defaulted(one_of(&["System", "List"]), "System".into()),
                    ),
                ],
            ),
        ),
        (
            "ServiceAffinityArgs",
            args(
                "ServiceAffinity",
                &[
                    ("affinityLabels", names()),
                    ("antiAffinityLabelsPreference", list(&weighted_label())),
                ],
            ),
        ),
        (
            "VolumeBindingArgs",
            args(
                "VolumeBinding",
                &[
                    ("bindTimeoutSeconds", defaulted(at_least(0), 600.into())),
                    (
                        "shape",
                        told(list(&point()), "Behind the feature gate StorageCapacityScoring."),
                    ),
                ],
            ),
        ),
    ]
}

/// Arguments, whose kind may be left out.
fn args(plugin: &str, fields: &[(&str, Value)]) -> Value {
    let version = json!({"const": args_version(plugin)});
    let kind = json!({"const": format!("{plugin}Args")});
    let own = [("apiVersion", version), ("kind", kind)];
    let fields: Vec<_> = own.into_iter().chain(fields.iter().cloned()).collect();
    object(&fields, &[])
}

fn node_resources_fit() -> Value {
    let ratio = object(&[("shape", list(&point()))], &["shape"]);
    let types = ["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"];
    let strategy = [
        ("type", one_of(&types)),
        ("resources", list(&resource(0, 100))),
        (
            "requestedToCapacityRatio",
            told(ratio, "With type RequestedToCapacityRatio, and with no other."),
        ),
    ];
    let fields = [
        ("ignoredResources", list(&text())),
        ("ignoredResourceGroups", list(&text())),
        ("scoringStrategy", object(&strategy, &["type"])),
    ];
    args("NodeResourcesFit", &fields)
}

/// A weight of 0 counts as 1.
fn resource(minimum: i64, maximum: i64) -> Value {
    let weight = defaulted(within(minimum, maximum), 1.into());
    object(&[("name", text()), ("weight", weight)], &["name"])
}

fn point() -> Value {
    let fields = [("utilization", within(0, 100)), ("score", within(0, 10))];
    object(&fields, &["utilization", "score"])
}

fn weighted_label() -> Value {
    let weight = defaulted(within(1, i32::MAX.into()), 1.into());
    let with_weight = object(&[("label", text()), ("weight", weight)], &["label"]);
    json!({"anyOf": [text(), with_weight]})
}

/// A spread constraint without a selector, which is deduced for each pod.
pub(super) fn spread_constraint() -> Value {
    let policy = || one_of(&["Honor", "Ignore"]);
    let fields = [
        ("maxSkew", within(1, i32::MAX.into())),
        ("topologyKey", text()),
        ("whenUnsatisfiable", one_of(&["DoNotSchedule", "ScheduleAnyway"])),
        ("minDomains", int32()),
        ("nodeAffinityPolicy", policy()),
        ("nodeTaintsPolicy", policy()),
        ("matchLabelKeys", list(&text())),
    ];
    object(&fields, &["maxSkew", "topologyKey", "whenUnsatisfiable"])
}
