use std::collections::BTreeMap;

use compact_str::CompactString;
use plimsoll_config::DefaultSpreadConstraint;
use plimsoll_model::columns::Columns;
use plimsoll_model::{LabelSelector, Pod, TopologySpreadConstraint, WhenUnsatisfiable, WorkloadKind};

use super::constraint::{Constraint, require};
use crate::workload_of_pod::controller_of;

/// kube-scheduler's own default constraints.
pub(super) fn of_system() -> Vec<TopologySpreadConstraint> {
    [("kubernetes.io/hostname", 3), ("topology.kubernetes.io/zone", 5)]
        .map(|(key, max_skew)| DefaultSpreadConstraint {
            max_skew,
            topology_key: key.to_owned(),
            when_unsatisfiable: "ScheduleAnyway".to_owned(),
            ..DefaultSpreadConstraint::default()
        })
        .iter()
        .map(of_args)
        .collect()
}

/// A default constraint as configured.
pub(super) fn of_args(args: &DefaultSpreadConstraint) -> TopologySpreadConstraint {
    let policy = |text: &Option<String>| text.as_deref().map(|text| CompactString::from(text).into());
    TopologySpreadConstraint {
        max_skew: args.max_skew,
        topology_key: args.topology_key.as_str().into(),
        when_unsatisfiable: WhenUnsatisfiable::from(CompactString::from(args.when_unsatisfiable.as_str())),
        label_selector: None,
        min_domains: args.min_domains,
        node_affinity_policy: policy(&args.node_affinity_policy),
        node_taints_policy: policy(&args.node_taints_policy),
        match_label_keys: args.match_label_keys.iter().map(|key| key.as_str().into()).collect(),
    }
}

/// The default constraints for one pod; none when it belongs to no workload, so that it has no like.
pub(super) fn for_pod<'a>(
    defaults: impl Iterator<Item = &'a TopologySpreadConstraint>,
    pod: &Pod,
    columns: &Columns,
) -> Vec<Constraint> {
    let mut defaults = defaults.peekable();
    if defaults.peek().is_none() {
        return Vec::new();
    }
    let selector = workload_selector(pod, columns);
    if selector.is_empty() {
        return Vec::new();
    }
    defaults
        .map(|spread| Constraint::with_selector(spread, Some(selector.clone())))
        .collect()
}

/// What selects the pods of the pod's services and of its controller; empty when it has neither.
fn workload_selector(pod: &Pod, columns: &Columns) -> LabelSelector {
    // As in kube-scheduler, what services select is taken for valid; a namespace may have many of them.
    let has = |(key, value)| pod.labels.get(key) == Some(value);
    let mut labels: BTreeMap<&str, &str> = columns
        .service_selectors(&pod.name.namespace)
        .filter(|selector| selector.match_labels.iter().all(has))
        .flat_map(|selector| selector.match_labels.iter())
        .collect();
    let controller = controller_of(pod, columns);
    // Of a replication controller and a service with different values for a label, the controller wins.
    if let Some((WorkloadKind::ReplicationController, selector)) = controller {
        labels.extend(selector.match_labels.iter());
    }
    let mut selector = LabelSelector::of_labels(labels.into_iter().collect());
    if let Some((WorkloadKind::ReplicaSet | WorkloadKind::StatefulSet, other)) = controller
        && other.is_valid()
    {
        if selector.is_empty() {
            return other.clone();
        }
        for (key, value) in other.match_labels.iter() {
            require(&mut selector, key, value);
        }
        selector
            .match_expressions
            .extend(other.match_expressions.iter().cloned());
    }
    selector
}
