//! The arguments of plugins.

use std::collections::BTreeSet;

use plimsoll_model::label_key_faults;

use super::{affinity, below};
use crate::{
    DefaultPreemptionArgs, DefaultSpreadConstraint, DefaultingType, DynamicResourcesArgs, FeatureGates, FieldError,
    FieldErrorKind, Gate, GoDuration, InterPodAffinityArgs, NodeResourcesBalancedAllocationArgs, NodeResourcesFitArgs,
    PluginArgs, PodTopologySpreadArgs, ScoringStrategy, ScoringStrategyType, UtilizationShapePoint, VolumeBindingArgs,
    WeightedLabel,
};

/// What is not allowed in the arguments at a path.
pub(super) fn validate(path: &str, args: &PluginArgs, gates: &FeatureGates) -> Vec<FieldError> {
    let mut errors = Vec::new();
    match args {
        PluginArgs::DefaultPreemption(args) => default_preemption(path, args, &mut errors),
        PluginArgs::DynamicResources(args) => dynamic_resources(path, args, gates, &mut errors),
        PluginArgs::InterPodAffinity(args) => inter_pod_affinity(path, args, &mut errors),
        PluginArgs::NodeAffinity(args) => {
            if let Some(added) = &args.added_affinity {
                let path = below(path, "addedAffinity");
                affinity::node_affinity(&path, added, &mut errors);
                show_empty_lists(&path, &args.empty_lists, &mut errors);
            }
        }
        PluginArgs::NodeResourcesBalancedAllocation(args) => balanced_allocation(path, args, &mut errors),
        PluginArgs::NodeResourcesFit(args) => node_resources_fit(path, args, &mut errors),
        PluginArgs::PodTopologySpread(args) => pod_topology_spread(path, args, &mut errors),
        PluginArgs::VolumeBinding(args) => volume_binding(path, args, gates, &mut errors),
        PluginArgs::ServiceAffinity(args) => {
            label_names(&below(path, "affinityLabels"), &args.affinity_labels, &mut errors);
            let spread = below(path, "antiAffinityLabelsPreference");
            weighted_labels(&spread, &args.anti_affinity_labels_preference, &mut errors);
        }
        PluginArgs::NodeLabel(args) => {
            label_names(&below(path, "presentLabels"), &args.present_labels, &mut errors);
            label_names(&below(path, "absentLabels"), &args.absent_labels, &mut errors);
            let present = below(path, "presentLabelsPreference");
            weighted_labels(&present, &args.present_labels_preference, &mut errors);
            let absent = below(path, "absentLabelsPreference");
            weighted_labels(&absent, &args.absent_labels_preference, &mut errors);
        }
        PluginArgs::Raw(_) => {}
    }
    errors
}

/// Lists that are written empty are shown so; those that are left out are null.
fn show_empty_lists(path: &str, empty: &[String], errors: &mut [FieldError]) {
    let is_empty = |field: &str| {
        let below = field.strip_prefix(path).and_then(|rest| rest.strip_prefix('.'));
        below.is_some_and(|below| empty.iter().any(|empty| empty == below))
    };
    for error in errors {
        if error.kind == FieldErrorKind::Invalid("null".to_owned()) && is_empty(&error.field) {
            error.kind = FieldErrorKind::Invalid("[]".to_owned());
        }
    }
}

fn label_names(path: &str, names: &[String], errors: &mut Vec<FieldError>) {
    for (at, name) in names.iter().enumerate() {
        label_name(&format!("{path}[{at}]"), name, errors);
    }
}

fn weighted_labels(path: &str, labels: &[WeightedLabel], errors: &mut Vec<FieldError>) {
    for (at, label) in labels.iter().enumerate() {
        let path = format!("{path}[{at}]");
        label_name(&below(&path, "label"), &label.label, errors);
        if label.weight < 1 {
            errors.push(FieldError::invalid(
                below(&path, "weight"),
                label.weight,
                "must be greater than 0",
            ));
        }
    }
}

fn label_name(path: &str, name: &str, errors: &mut Vec<FieldError>) {
    let faults = label_key_faults(name);
    errors.extend(faults.into_iter().map(|fault| FieldError::invalid(path, name, fault)));
}

fn default_preemption(path: &str, args: &DefaultPreemptionArgs, errors: &mut Vec<FieldError>) {
    let (percentage, absolute) = (args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute);
    let percentage_path = below(path, "minCandidateNodesPercentage");
    let absolute_path = below(path, "minCandidateNodesAbsolute");
    if !(0..=100).contains(&percentage) {
        errors.push(FieldError::invalid(
            &percentage_path,
            percentage,
            "not in valid range [0, 100]",
        ));
    }
    if absolute < 0 {
        errors.push(FieldError::invalid(
            &absolute_path,
            absolute,
            "not in valid range [0, inf)",
        ));
    }
    if percentage == 0 && absolute == 0 {
        let detail = "cannot be zero at the same time as minCandidateNodesAbsolute";
        errors.push(FieldError::invalid(percentage_path, percentage, detail));
        let detail = "cannot be zero at the same time as minCandidateNodesPercentage";
        errors.push(FieldError::invalid(absolute_path, absolute, detail));
    }
}

fn inter_pod_affinity(path: &str, args: &InterPodAffinityArgs, errors: &mut Vec<FieldError>) {
    let weight = args.hard_pod_affinity_weight;
    if !(0..=100).contains(&weight) {
        let path = below(path, "hardPodAffinityWeight");
        errors.push(FieldError::invalid(path, weight, "not in valid range [0, 100]"));
    }
}

fn balanced_allocation(path: &str, args: &NodeResourcesBalancedAllocationArgs, errors: &mut Vec<FieldError>) {
    let mut names = BTreeSet::new();
    for (at, resource) in args.resources.iter().enumerate() {
        let path = format!("{}[{at}]", below(path, "resources"));
        if !names.insert(&resource.name) {
            errors.push(FieldError::duplicate(below(&path, "name"), resource.name.as_str()));
        }
        if resource.weight != 1 {
            errors.push(FieldError::invalid(
                below(&path, "weight"),
                resource.weight,
                "must be 1",
            ));
        }
    }
}

fn node_resources_fit(path: &str, args: &NodeResourcesFitArgs, errors: &mut Vec<FieldError>) {
    let resources = below(path, "ignoredResources");
    for (at, resource) in args.ignored_resources.iter().enumerate() {
        label_name(&format!("{resources}[{at}]"), resource, errors);
    }
    let groups = below(path, "ignoredResourceGroups");
    for (at, group) in args.ignored_resource_groups.iter().enumerate() {
        let path = format!("{groups}[{at}]");
        if group.contains('/') {
            errors.push(FieldError::invalid(
                &path,
                group.as_str(),
                "resource group name can't contain '/'",
            ));
        }
        label_name(&path, group, errors);
    }
    let path = below(path, "scoringStrategy");
    match &args.scoring_strategy {
        None => errors.push(FieldError::required(path, "ScoringStrategy field is required")),
        Some(strategy) => scoring_strategy(&path, strategy, errors),
    }
}

fn scoring_strategy(path: &str, strategy: &ScoringStrategy, errors: &mut Vec<FieldError>) {
    if let ScoringStrategyType::Other(kind) = &strategy.kind {
        let supported = ["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"];
        errors.push(FieldError::not_supported(below(path, "type"), kind, &supported));
    }
    let resources = below(path, "resources");
    for (at, resource) in strategy.resources.iter().enumerate() {
        if !(1..=100).contains(&resource.weight) {
            let detail = format!("resource weight of {} not in valid range (0, 100]", resource.name);
            errors.push(FieldError::invalid(
                format!("{resources}[{at}].weight"),
                resource.weight,
                detail,
            ));
        }
    }
    let ratio = below(path, "requestedToCapacityRatio");
    let by_ratio = strategy.kind == ScoringStrategyType::RequestedToCapacityRatio;
    match &strategy.requested_to_capacity_ratio {
        None if by_ratio => {
            let detail = "must be specified when type is RequestedToCapacityRatio";
            errors.push(FieldError::required(ratio, detail));
        }
        Some(points) if by_ratio => shape(&below(&ratio, "shape"), points, errors),
        Some(_) => {
            let detail = "must be nil when type is not RequestedToCapacityRatio";
            errors.push(FieldError::forbidden(ratio, detail));
        }
        None => {}
    }
}

fn shape(path: &str, points: &[UtilizationShapePoint], errors: &mut Vec<FieldError>) {
    if points.is_empty() {
        errors.push(FieldError::required(path, "at least one point must be specified"));
        return;
    }
    let falling = points
        .windows(2)
        .position(|pair| pair[0].utilization >= pair[1].utilization);
    if let Some(at) = falling.map(|before| before + 1) {
        let path = format!("{path}[{at}].utilization");
        errors.push(FieldError::invalid(
            path,
            points[at].utilization,
            "values must be sorted in increasing order",
        ));
    }
    for (at, point) in points.iter().enumerate() {
        if !(0..=100).contains(&point.utilization) {
            let path = format!("{path}[{at}].utilization");
            errors.push(FieldError::invalid(
                path,
                point.utilization,
                "not in valid range [0, 100]",
            ));
        }
        if !(0..=10).contains(&point.score) {
            let path = format!("{path}[{at}].score");
            errors.push(FieldError::invalid(path, point.score, "not in valid range [0, 10]"));
        }
    }
}

fn pod_topology_spread(path: &str, args: &PodTopologySpreadArgs, errors: &mut Vec<FieldError>) {
    let kind = &args.defaulting_type;
    let kind_path = below(path, "defaultingType");
    match kind {
        DefaultingType::Other(kind) => errors.push(FieldError::not_supported(kind_path, kind, &["System", "List"])),
        DefaultingType::System if !args.default_constraints.is_empty() => {
            let detail = "when .defaultConstraints are not empty";
            errors.push(FieldError::invalid(kind_path, kind.name(), detail));
        }
        DefaultingType::System | DefaultingType::List => {}
    }
    let list = below(path, "defaultConstraints");
    let mut seen = BTreeSet::new();
    for (at, constraint) in args.default_constraints.iter().enumerate() {
        let path = format!("{list}[{at}]");
        spread_constraint(&path, constraint, errors);
        if !seen.insert((&constraint.topology_key, &constraint.when_unsatisfiable)) {
            let shown = format!("{{{}, {}}}", constraint.topology_key, constraint.when_unsatisfiable);
            errors.push(FieldError::duplicate(path, shown));
        }
    }
}

fn spread_constraint(path: &str, constraint: &DefaultSpreadConstraint, errors: &mut Vec<FieldError>) {
    if constraint.max_skew <= 0 {
        let path = below(path, "maxSkew");
        errors.push(FieldError::invalid(
            path,
            constraint.max_skew,
            "not in valid range (0, inf)",
        ));
    }
    let key_path = below(path, "topologyKey");
    if constraint.topology_key.is_empty() {
        errors.push(FieldError::required(key_path, "can not be empty"));
    } else {
        label_name(&key_path, &constraint.topology_key, errors);
    }
    let action_path = below(path, "whenUnsatisfiable");
    let action = constraint.when_unsatisfiable.as_str();
    let actions = ["DoNotSchedule", "ScheduleAnyway"];
    if action.is_empty() {
        errors.push(FieldError::required(action_path, "can not be empty"));
    } else if !actions.contains(&action) {
        errors.push(FieldError::not_supported(action_path, action, &actions));
    }
    if constraint.has_selector {
        let detail = "constraint must not define a selector, as they deduced for each pod";
        errors.push(FieldError::forbidden(below(path, "labelSelector"), detail));
    }
}

fn volume_binding(path: &str, args: &VolumeBindingArgs, gates: &FeatureGates, errors: &mut Vec<FieldError>) {
    let seconds = args.bind_timeout_seconds;
    if seconds < 0 {
        let detail = "invalid BindTimeoutSeconds, should not be a negative value";
        errors.push(FieldError::invalid(below(path, "bindTimeoutSeconds"), seconds, detail));
    }
    let shape_path = below(path, "shape");
    let points = args.shape.as_deref();
    if gates.enabled(Gate::StorageCapacityScoring) {
        shape(&shape_path, points.unwrap_or_default(), errors);
    } else if let Some(points) = points {
        let detail = "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring";
        let points: Vec<String> = points
            .iter()
            .map(|point| format!("{{\"Utilization\":{},\"Score\":{}}}", point.utilization, point.score))
            .collect();
        let shown = format!("[{}]", points.join(","));
        errors.push(FieldError::invalid_json(shape_path, shown, detail));
    }
}

fn dynamic_resources(path: &str, args: &DynamicResourcesArgs, gates: &FeatureGates, errors: &mut Vec<FieldError>) {
    let filter_path = below(path, "filterTimeout");
    match args.filter_timeout {
        Some(_) if !gates.enabled(Gate::DRASchedulerFilterTimeout) => {
            errors.push(FieldError::forbidden(
                filter_path,
                "DRASchedulingFilterTimeout feature gate is disabled",
            ));
        }
        Some(timeout) if timeout < GoDuration::ZERO => {
            errors.push(FieldError::invalid(
                filter_path,
                timeout.to_string(),
                "must be zero or positive",
            ));
        }
        _ => {}
    }
    let binding_path = below(path, "bindingTimeout");
    let on = gates.enabled(Gate::DRADeviceBindingConditions) && gates.enabled(Gate::DRAResourceClaimDeviceStatus);
    match args.binding_timeout {
        Some(_) if !on => {
            let detail = "DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate is disabled";
            errors.push(FieldError::forbidden(binding_path, detail));
        }
        Some(timeout) if timeout < GoDuration::from_secs(1) => {
            errors.push(FieldError::invalid(
                binding_path,
                timeout.to_string(),
                "must be at least 1 second",
            ));
        }
        _ => {}
    }
}
