//! Which workloads a pod belongs to, and the pods that belong to them too.

use plimsoll_model::columns::Columns;
use plimsoll_model::{LabelSelector, Labels, ObjectName, Pod, PodPattern, PodQuery, WorkloadKind};

/// The selectors of the services that a pod belongs to, in order of their names.
pub(crate) fn services_of<'a>(pod: &'a Pod, columns: &'a Columns) -> impl Iterator<Item = &'a LabelSelector> {
    let services = columns.service_selectors(&pod.name.namespace);
    services.filter(|service| service.matches(&pod.labels))
}

/// The kind and the selector of the replication controller, replica set or stateful set that controls a pod.
pub(crate) fn controller_of<'a>(pod: &Pod, columns: &'a Columns) -> Option<(WorkloadKind, &'a LabelSelector)> {
    let controller = pod.controller.as_deref()?;
    let kind = WorkloadKind::ALL.into_iter().find(|kind| {
        kind.as_str() == controller.kind && kind.owner_api_version() == Some(controller.api_version.as_str())
    })?;
    let name = ObjectName::new(pod.name.namespace.clone(), controller.name.clone());
    Some((kind, columns.workload_selector(kind, &name)?))
}

/// What selects only pods that all of the selectors select; none when they ask for nothing.
pub(crate) fn joined<'a>(selectors: impl IntoIterator<Item = &'a LabelSelector>) -> Option<LabelSelector> {
    let mut labels = Vec::new();
    let mut joined = LabelSelector::default();
    for selector in selectors {
        labels.extend(selector.match_labels.iter());
        joined
            .match_expressions
            .extend(selector.match_expressions.iter().cloned());
    }
    joined.match_labels = labels.into_iter().collect::<Labels>();
    (!joined.is_empty()).then_some(joined)
}

/// The pods beside `pod` that a selector selects.
pub(crate) fn pods_beside(pod: &Pod, selector: LabelSelector, terminating: bool) -> PodQuery {
    let pattern = PodPattern::in_namespace(pod.name.namespace.clone(), Some(selector));
    PodQuery::of(pattern, terminating)
}
