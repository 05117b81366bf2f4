//! The arguments of plugins.

use super::affinity::{empty_lists, label_selector, node_affinity};
use super::cursor::{Cursor, Faults, Object, Scope};
use super::kind::{API_VERSION, GroupVersion, KIND, PLIMSOLL_API_VERSION};
use crate::document::Value;
use crate::{
    DefaultPreemptionArgs, DefaultSpreadConstraint, DefaultingType, DynamicResourcesArgs, FeatureGates,
    InterPodAffinityArgs, NodeAffinityArgs, NodeLabelArgs, NodeResourcesBalancedAllocationArgs, NodeResourcesFitArgs,
    PluginArgs, PluginConfig, PodTopologySpreadArgs, ResourceWeight, ScoringStrategy, ScoringStrategyType,
    ServiceAffinityArgs, UtilizationShapePoint, VolumeBindingArgs, WeightedLabel,
};

/// Whether it is the kind of the arguments of one of kube-scheduler's plugins.
pub(super) fn is_args_kind(kind: &str) -> bool {
    let plugin = kind.strip_suffix("Args");
    plugin.is_some_and(|plugin| version_of(plugin) == Some(API_VERSION))
}

/// The API version of the arguments of a plugin that has a kind for them.
pub(crate) fn version_of(plugin: &str) -> Option<&'static str> {
    match plugin {
        "DefaultPreemption"
        | "DynamicResources"
        | "InterPodAffinity"
        | "NodeAffinity"
        | "NodeResourcesBalancedAllocation"
        | "NodeResourcesFit"
        | "PodTopologySpread"
        | "VolumeBinding" => Some(API_VERSION),
        "ServiceAffinity" | "NodeLabel" => Some(PLIMSOLL_API_VERSION),
        _ => None,
    }
}

/// An entry of `pluginConfig`, given the profile's place and its own.
pub(super) fn plugin_config(cursor: Cursor<'_>, (profile, at): (usize, usize), gates: &FeatureGates) -> PluginConfig {
    let Some(mut object) = cursor.object() else {
        return PluginConfig {
            name: String::new(),
            args: PluginArgs::Raw(serde_json::Value::Null),
        };
    };
    let name = object.text("name").unwrap_or_default();
    let args = object.get("args");
    object.finish();
    let Some(default) = PluginArgs::default_of(&name, gates) else {
        let raw = args.map(|args| args.node.to_json()).unwrap_or_default();
        return PluginConfig {
            name,
            args: PluginArgs::Raw(raw),
        };
    };
    let args = match args {
        None => default,
        Some(args) => {
            let place = format!("decoding .profiles[{profile}].pluginConfig[{at}]: ");
            let decoding = format!("decoding args for plugin {name}: ");
            let scope = Scope {
                strict: format!("{place}strict decoding error: {decoding}strict decoding error: "),
                wrong: format!("{place}{decoding}"),
                path: args.path.len() + 1,
            };
            typed(&name, &args.within(&scope), &place, gates).unwrap_or(default)
        }
    };
    PluginConfig { name, args }
}

fn typed(plugin: &str, cursor: &Cursor<'_>, place: &str, gates: &FeatureGates) -> Option<PluginArgs> {
    if !matches!(cursor.node.value, Value::Map(_)) {
        let why = format!(
            "couldn't get version/kind; json parse error: cannot read {} as object",
            cursor.node.kind()
        );
        cursor.wrong(&why, Some("write fields with their values".to_owned()));
        return None;
    }
    let mut object = cursor.clone().object()?;
    let (kind, version) = own_kind(plugin, cursor, &mut object, place)?;
    let own_version = version_of(plugin).unwrap_or(API_VERSION);
    if version.is(own_version) && kind.strip_suffix("Args") == Some(plugin) {
        let args = fields(plugin, &mut object, gates)?;
        object.finish();
        return Some(args);
    }
    // kube-scheduler reads them as what they say they are before it looks whose they should be.
    let apart = Faults::default();
    let object = cursor.apart(&apart).object();
    if let (Some(other), Some(mut object)) = (kind.strip_suffix("Args"), object) {
        fields(other, &mut object, gates);
    }
    if !cursor.take_wrong_values(apart) {
        let own_group = own_version.split('/').next().unwrap_or_default();
        let group = version.group;
        let why = format!("args for plugin {plugin} were not of type {plugin}Args.{own_group}, got {kind}.{group}");
        let hint = format!("leave apiVersion and kind out, or write {plugin}Args");
        cursor.wrong_whole(place, &why, Some(hint));
    }
    None
}

/// The fields of the arguments of a plugin.
fn fields(plugin: &str, object: &mut Object<'_>, gates: &FeatureGates) -> Option<PluginArgs> {
    Some(match plugin {
        "DefaultPreemption" => PluginArgs::DefaultPreemption(default_preemption(object)),
        "DynamicResources" => PluginArgs::DynamicResources(dynamic_resources(object, gates)),
        "InterPodAffinity" => PluginArgs::InterPodAffinity(inter_pod_affinity(object)),
        "NodeAffinity" => PluginArgs::NodeAffinity(node_affinity_args(object)),
        "NodeResourcesBalancedAllocation" => {
            PluginArgs::NodeResourcesBalancedAllocation(NodeResourcesBalancedAllocationArgs {
                resources: resources(object),
            })
        }
        "NodeResourcesFit" => PluginArgs::NodeResourcesFit(node_resources_fit(object)),
        "PodTopologySpread" => PluginArgs::PodTopologySpread(pod_topology_spread(object)),
        "VolumeBinding" => PluginArgs::VolumeBinding(volume_binding(object, gates)),
        "ServiceAffinity" => PluginArgs::ServiceAffinity(ServiceAffinityArgs {
            affinity_labels: object.texts("affinityLabels"),
            anti_affinity_labels_preference: weighted_labels(object, "antiAffinityLabelsPreference"),
        }),
        "NodeLabel" => PluginArgs::NodeLabel(NodeLabelArgs {
            present_labels: object.texts("presentLabels"),
            absent_labels: object.texts("absentLabels"),
            present_labels_preference: weighted_labels(object, "presentLabelsPreference"),
            absent_labels_preference: weighted_labels(object, "absentLabelsPreference"),
        }),
        _ => return None,
    })
}

/// The kind that the arguments say they are, and its version: their plugin's when they say nothing. What is no known kind is
/// a fault.
fn own_kind(plugin: &str, cursor: &Cursor<'_>, object: &mut Object<'_>, place: &str) -> Option<(String, GroupVersion)> {
    let own_version = version_of(plugin).unwrap_or(API_VERSION);
    let mut name = |field| object.get(field).map_or(Some(String::new()), |name| name.text());
    let (kind, version) = (name("kind"), name("apiVersion"));
    let (kind, version) = (kind?, version?);
    let kind = if kind.is_empty() { format!("{plugin}Args") } else { kind };
    let fault = match GroupVersion::parse(&version).map(|version| version.or_of(own_version)) {
        Ok(version) if version.version.is_empty() => {
            format!("Object 'apiVersion' is missing in '{}'", cursor.node.to_json())
        }
        Ok(version) if is_known(&kind, &version) => return Some((kind, version)),
        Ok(version) => version.not_registered(&kind),
        Err(fault) => fault,
    };
    let hint = format!("leave apiVersion and kind out, or write {own_version} and {plugin}Args");
    cursor.wrong_whole(
        place,
        &format!("decoding args for plugin {plugin}: {fault}"),
        Some(hint),
    );
    None
}

fn is_known(kind: &str, version: &GroupVersion) -> bool {
    let args = kind.strip_suffix("Args").and_then(version_of);
    args.is_some_and(|own| version.is(own)) || kind == KIND && version.is(API_VERSION)
}

fn default_preemption(object: &mut Object<'_>) -> DefaultPreemptionArgs {
    let default = DefaultPreemptionArgs::default();
    DefaultPreemptionArgs {
        min_candidate_nodes_percentage: object
            .int32("minCandidateNodesPercentage")
            .unwrap_or(default.min_candidate_nodes_percentage),
        min_candidate_nodes_absolute: object
            .int32("minCandidateNodesAbsolute")
            .unwrap_or(default.min_candidate_nodes_absolute),
    }
}

fn dynamic_resources(object: &mut Object<'_>, gates: &FeatureGates) -> DynamicResourcesArgs {
    let default = DynamicResourcesArgs::with_gates(gates);
    DynamicResourcesArgs {
        filter_timeout: object.duration_or_null("filterTimeout").or(default.filter_timeout),
        binding_timeout: object.duration_or_null("bindingTimeout").or(default.binding_timeout),
    }
}

fn inter_pod_affinity(object: &mut Object<'_>) -> InterPodAffinityArgs {
    let default = InterPodAffinityArgs::default();
    InterPodAffinityArgs {
        hard_pod_affinity_weight: object
            .int32("hardPodAffinityWeight")
            .unwrap_or(default.hard_pod_affinity_weight),
        ignore_preferred_terms_of_existing_pods: object
            .boolean("ignorePreferredTermsOfExistingPods")
            .unwrap_or(default.ignore_preferred_terms_of_existing_pods),
    }
}

fn node_affinity_args(object: &mut Object<'_>) -> NodeAffinityArgs {
    let added = object.get("addedAffinity");
    NodeAffinityArgs {
        empty_lists: added.as_ref().map(|added| empty_lists(added.node)).unwrap_or_default(),
        added_affinity: added.and_then(Cursor::object).map(node_affinity),
    }
}

fn node_resources_fit(object: &mut Object<'_>) -> NodeResourcesFitArgs {
    let strategy = object.object("scoringStrategy").map(scoring_strategy);
    NodeResourcesFitArgs {
        ignored_resources: object.texts("ignoredResources"),
        ignored_resource_groups: object.texts("ignoredResourceGroups"),
        scoring_strategy: strategy.or_else(|| NodeResourcesFitArgs::default().scoring_strategy),
    }
}

fn scoring_strategy(mut object: Object<'_>) -> ScoringStrategy {
    let kind = object.text("type").unwrap_or_default();
    let strategy = ScoringStrategy {
        kind: ScoringStrategyType::of(&kind),
        resources: resources(&mut object),
        requested_to_capacity_ratio: object.object("requestedToCapacityRatio").map(|mut object| {
            let shape = shape(&mut object);
            object.finish();
            shape
        }),
    };
    object.finish();
    strategy
}

/// Resources with their weights: `cpu` and `memory` when there are none, and weight 1 where there is none.
fn resources(object: &mut Object<'_>) -> Vec<ResourceWeight> {
    let items = object.items("resources");
    if items.is_empty() {
        return ResourceWeight::cpu_and_memory();
    }
    let resource = |cursor: Cursor<'_>| {
        let Some(mut object) = cursor.object() else {
            return ResourceWeight::new("", 1);
        };
        let name = object.text("name").unwrap_or_default();
        let weight = object.int64("weight").filter(|weight| *weight != 0).unwrap_or(1);
        object.finish();
        ResourceWeight::new(name, weight)
    };
    items.into_iter().map(resource).collect()
}

fn shape(object: &mut Object<'_>) -> Vec<UtilizationShapePoint> {
    let point = |cursor: Cursor<'_>| {
        // A null is a point too, as in Go.
        let mut point = UtilizationShapePoint {
            utilization: 0,
            score: 0,
        };
        if let Some(mut object) = cursor.object() {
            point.utilization = object.int32("utilization").unwrap_or_default();
            point.score = object.int32("score").unwrap_or_default();
            object.finish();
        }
        point
    };
    object.items("shape").into_iter().map(point).collect()
}

fn pod_topology_spread(object: &mut Object<'_>) -> PodTopologySpreadArgs {
    let constraints = object.items("defaultConstraints");
    let kind = object.text("defaultingType").filter(|kind| !kind.is_empty());
    PodTopologySpreadArgs {
        default_constraints: constraints.into_iter().map(spread_constraint).collect(),
        defaulting_type: kind.map(|kind| DefaultingType::of(&kind)).unwrap_or_default(),
    }
}

fn spread_constraint(cursor: Cursor<'_>) -> DefaultSpreadConstraint {
    let Some(mut object) = cursor.object() else {
        return DefaultSpreadConstraint::default();
    };
    let constraint = DefaultSpreadConstraint {
        max_skew: object.int32("maxSkew").unwrap_or_default(),
        topology_key: object.text("topologyKey").unwrap_or_default(),
        when_unsatisfiable: object.text("whenUnsatisfiable").unwrap_or_default(),
        min_domains: object.int32("minDomains"),
        node_affinity_policy: object.text("nodeAffinityPolicy"),
        node_taints_policy: object.text("nodeTaintsPolicy"),
        match_label_keys: object.texts("matchLabelKeys"),
        has_selector: object.object("labelSelector").map(label_selector).is_some(),
    };
    object.finish();
    constraint
}

fn volume_binding(object: &mut Object<'_>, gates: &FeatureGates) -> VolumeBindingArgs {
    let default = VolumeBindingArgs::with_gates(gates);
    let given = object.get("shape").is_some();
    let shape = Some(shape(object)).filter(|_| given);
    VolumeBindingArgs {
        bind_timeout_seconds: object
            .int64("bindTimeoutSeconds")
            .unwrap_or(default.bind_timeout_seconds),
        // With the gate an empty one is as none; without it any is one too many.
        shape: match (shape, default.shape) {
            (Some(points), Some(default)) if points.is_empty() => Some(default),
            (given, default) => given.or(default),
        },
    }
}

/// Labels with their weights; one that stands there alone weighs 1.
fn weighted_labels(object: &mut Object<'_>, field: &'static str) -> Vec<WeightedLabel> {
    let label = |cursor: Cursor<'_>| {
        if !matches!(cursor.node.value, Value::Map(_)) {
            return Some(WeightedLabel::new(cursor.text()?, 1));
        }
        let mut object = cursor.object()?;
        let label = object.text("label").unwrap_or_default();
        let weight = object.int32("weight").unwrap_or(1);
        object.finish();
        Some(WeightedLabel::new(label, weight))
    };
    object.items(field).into_iter().filter_map(label).collect()
}
