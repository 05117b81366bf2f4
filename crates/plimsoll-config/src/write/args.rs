//! The arguments of plugins.

use plimsoll_model::{NodeAffinity, NodeSelectorTerm};
use serde_json::{Value, json};

use super::{list, requirement, set, text};
use crate::{
    API_VERSION, DefaultSpreadConstraint, DynamicResourcesArgs, NodeAffinityArgs, NodeLabelArgs, NodeResourcesFitArgs,
    PLIMSOLL_API_VERSION, PluginArgs, PodTopologySpreadArgs, ResourceWeight, ScoringStrategy, ServiceAffinityArgs,
    UtilizationShapePoint, WeightedLabel,
};

/// Arguments with their kind; those of plugins that nobody knows as they were written.
pub(crate) fn args(args: &PluginArgs) -> Value {
    let (version, kind, mut value) = match args {
        PluginArgs::Raw(raw) => return raw.clone(),
        PluginArgs::DefaultPreemption(args) => {
            let value = json!({
                "minCandidateNodesPercentage": args.min_candidate_nodes_percentage,
                "minCandidateNodesAbsolute": args.min_candidate_nodes_absolute,
            });
            (API_VERSION, "DefaultPreemptionArgs", value)
        }
        PluginArgs::DynamicResources(args) => (API_VERSION, "DynamicResourcesArgs", dynamic_resources(args)),
        PluginArgs::InterPodAffinity(args) => {
            let value = json!({
                "hardPodAffinityWeight": args.hard_pod_affinity_weight,
                "ignorePreferredTermsOfExistingPods": args.ignore_preferred_terms_of_existing_pods,
            });
            (API_VERSION, "InterPodAffinityArgs", value)
        }
        PluginArgs::NodeAffinity(args) => {
            let mut value = json!({});
            set(
                &mut value,
                "addedAffinity",
                args.added_affinity.as_ref().map(|added| node_affinity(added, args)),
            );
            (API_VERSION, "NodeAffinityArgs", value)
        }
        PluginArgs::NodeResourcesBalancedAllocation(args) => {
            let mut value = json!({});
            set(&mut value, "resources", list(&args.resources, resource));
            (API_VERSION, "NodeResourcesBalancedAllocationArgs", value)
        }
        PluginArgs::NodeResourcesFit(args) => (API_VERSION, "NodeResourcesFitArgs", node_resources_fit(args)),
        PluginArgs::PodTopologySpread(args) => (API_VERSION, "PodTopologySpreadArgs", pod_topology_spread(args)),
        PluginArgs::VolumeBinding(args) => {
            let mut value = json!({"bindTimeoutSeconds": args.bind_timeout_seconds});
            let shape = args.shape.as_deref().unwrap_or_default();
            set(&mut value, "shape", list(shape, |shape| point(*shape)));
            (API_VERSION, "VolumeBindingArgs", value)
        }
        PluginArgs::ServiceAffinity(args) => (PLIMSOLL_API_VERSION, "ServiceAffinityArgs", service_affinity(args)),
        PluginArgs::NodeLabel(args) => (PLIMSOLL_API_VERSION, "NodeLabelArgs", node_label(args)),
    };
    set(&mut value, "apiVersion", Some(version.into()));
    set(&mut value, "kind", Some(kind.into()));
    value
}

fn dynamic_resources(args: &DynamicResourcesArgs) -> Value {
    // Unlike its neighbour, kube-scheduler writes this one also when it has no value.
    let mut value = json!({"filterTimeout": args.filter_timeout.map(|timeout| timeout.to_string())});
    let binding = args.binding_timeout.map(|timeout| timeout.to_string().into());
    set(&mut value, "bindingTimeout", binding);
    value
}

fn node_affinity(affinity: &NodeAffinity, args: &NodeAffinityArgs) -> Value {
    const TERMS: &str = "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    let mut value = json!({});
    // An empty list of terms is written as it was read, none as null.
    let no_terms = || args.empty_lists.iter().any(|path| path == TERMS).then(|| json!([]));
    let required = affinity
        .required
        .as_ref()
        .map(|terms| json!({"nodeSelectorTerms": list(terms, node_selector_term).or_else(no_terms)}));
    set(&mut value, "requiredDuringSchedulingIgnoredDuringExecution", required);
    let preferred = list(
        &affinity.preferred,
        |term| json!({"weight": term.weight, "preference": node_selector_term(&term.preference)}),
    );
    set(&mut value, "preferredDuringSchedulingIgnoredDuringExecution", preferred);
    value
}

fn node_selector_term(term: &NodeSelectorTerm) -> Value {
    let mut value = json!({});
    set(
        &mut value,
        "matchExpressions",
        list(&term.match_expressions, requirement),
    );
    set(&mut value, "matchFields", list(&term.match_fields, requirement));
    value
}

fn resource(resource: &ResourceWeight) -> Value {
    json!({"name": resource.name, "weight": resource.weight})
}

fn point(point: UtilizationShapePoint) -> Value {
    json!({"utilization": point.utilization, "score": point.score})
}

fn texts(texts: &[String]) -> Option<Value> {
    list(texts, |text| text.as_str().into())
}

fn node_resources_fit(args: &NodeResourcesFitArgs) -> Value {
    let mut value = json!({});
    set(&mut value, "ignoredResources", texts(&args.ignored_resources));
    set(
        &mut value,
        "ignoredResourceGroups",
        texts(&args.ignored_resource_groups),
    );
    set(
        &mut value,
        "scoringStrategy",
        args.scoring_strategy.as_ref().map(scoring_strategy),
    );
    value
}

fn scoring_strategy(strategy: &ScoringStrategy) -> Value {
    let mut value = json!({});
    set(&mut value, "type", text(strategy.kind.name()));
    set(&mut value, "resources", list(&strategy.resources, resource));
    let ratio = strategy.requested_to_capacity_ratio.as_ref().map(|points| {
        let mut ratio = json!({});
        set(&mut ratio, "shape", list(points, |shape| point(*shape)));
        ratio
    });
    set(&mut value, "requestedToCapacityRatio", ratio);
    value
}

fn pod_topology_spread(args: &PodTopologySpreadArgs) -> Value {
    let mut value = json!({"defaultingType": args.defaulting_type.name()});
    set(
        &mut value,
        "defaultConstraints",
        list(&args.default_constraints, spread_constraint),
    );
    value
}

fn spread_constraint(constraint: &DefaultSpreadConstraint) -> Value {
    let mut value = json!({
        "maxSkew": constraint.max_skew,
        "topologyKey": constraint.topology_key,
        "whenUnsatisfiable": constraint.when_unsatisfiable,
    });
    let policy = |policy: &Option<String>| policy.as_deref().map(Value::from);
    set(&mut value, "minDomains", constraint.min_domains.map(Value::from));
    set(
        &mut value,
        "nodeAffinityPolicy",
        policy(&constraint.node_affinity_policy),
    );
    set(&mut value, "nodeTaintsPolicy", policy(&constraint.node_taints_policy));
    set(&mut value, "matchLabelKeys", texts(&constraint.match_label_keys));
    value
}

fn weighted_labels(labels: &[WeightedLabel]) -> Option<Value> {
    list(labels, |label| match label.weight {
        1 => label.label.as_str().into(),
        weight => json!({"label": label.label, "weight": weight}),
    })
}

fn service_affinity(args: &ServiceAffinityArgs) -> Value {
    let mut value = json!({});
    set(&mut value, "affinityLabels", texts(&args.affinity_labels));
    set(
        &mut value,
        "antiAffinityLabelsPreference",
        weighted_labels(&args.anti_affinity_labels_preference),
    );
    value
}

fn node_label(args: &NodeLabelArgs) -> Value {
    let mut value = json!({});
    set(&mut value, "presentLabels", texts(&args.present_labels));
    set(&mut value, "absentLabels", texts(&args.absent_labels));
    set(
        &mut value,
        "presentLabelsPreference",
        weighted_labels(&args.present_labels_preference),
    );
    set(
        &mut value,
        "absentLabelsPreference",
        weighted_labels(&args.absent_labels_preference),
    );
    value
}
