use std::collections::BTreeMap;

use compact_str::CompactString;

use super::{Columns, Map};
use crate::{LabelSelector, ObjectName, WorkloadKind, WorkloadSelector};

/// Which pods belong to which workload. Objects that select nothing are left out.
#[derive(Debug, Clone, Default)]
pub(super) struct WorkloadSelectors {
    by_namespace: Map<CompactString, BTreeMap<(WorkloadKind, CompactString), LabelSelector>>,
}

impl WorkloadSelectors {
    /// Whether anything changed; without a selector the object is as good as gone.
    fn set(&mut self, kind: WorkloadKind, name: &ObjectName, selector: Option<&LabelSelector>) -> bool {
        let Some(selector) = selector else {
            return self.remove(kind, name);
        };
        let beside = self.by_namespace.entry(name.namespace.clone()).or_default();
        let before = beside.insert((kind, name.name.clone()), selector.clone());
        before.as_ref() != Some(selector)
    }

    fn remove(&mut self, kind: WorkloadKind, name: &ObjectName) -> bool {
        let Some(beside) = self.by_namespace.get_mut(&name.namespace) else {
            return false;
        };
        let was_there = beside.remove(&(kind, name.name.clone())).is_some();
        if beside.is_empty() {
            self.by_namespace.remove(&name.namespace);
        }
        was_there
    }

    fn get(&self, kind: WorkloadKind, name: &ObjectName) -> Option<&LabelSelector> {
        self.by_namespace.get(&name.namespace)?.get(&(kind, name.name.clone()))
    }

    fn services(&self, namespace: &str) -> impl Iterator<Item = &LabelSelector> {
        let first = (WorkloadKind::Service, CompactString::default());
        let beside = self.by_namespace.get(namespace).into_iter();
        let services = beside.flat_map(move |beside| beside.range(first.clone()..));
        services
            .take_while(|((kind, _), _)| *kind == WorkloadKind::Service)
            .map(|(_, selector)| selector)
    }
}

impl Columns {
    /// Adds or updates a workload.
    pub fn set_workload_selector(&mut self, workload: &WorkloadSelector) {
        let selector = workload.selector.as_ref();
        if self.workloads.set(workload.kind, &workload.name, selector) {
            self.version += 1;
        }
    }

    /// Takes a workload away.
    pub fn remove_workload_selector(&mut self, kind: WorkloadKind, name: &ObjectName) {
        if self.workloads.remove(kind, name) {
            self.version += 1;
        }
    }

    /// Which pods a workload selects; none when it is not known or selects nothing.
    pub fn workload_selector(&self, kind: WorkloadKind, name: &ObjectName) -> Option<&LabelSelector> {
        self.workloads.get(kind, name)
    }

    /// The selectors of the services in a namespace, in order of their names.
    pub fn service_selectors(&self, namespace: &str) -> impl Iterator<Item = &LabelSelector> {
        self.workloads.services(namespace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Labels, ResourceVersion, Uid};

    fn selector(app: &str) -> LabelSelector {
        LabelSelector::of_labels([("app", app)].into_iter().collect::<Labels>())
    }

    fn workload(kind: WorkloadKind, namespace: &str, name: &str, app: Option<&str>) -> WorkloadSelector {
        WorkloadSelector {
            kind,
            name: ObjectName::new(namespace, name),
            uid: Uid::from("u"),
            resource_version: ResourceVersion::new(1),
            selector: app.map(selector),
        }
    }

    #[test]
    fn selectors_are_found_by_kind_and_name_and_services_by_namespace() {
        let mut columns = Columns::new();
        for workload in [
            workload(WorkloadKind::Service, "a", "second", Some("2")),
            workload(WorkloadKind::Service, "a", "first", Some("1")),
            workload(WorkloadKind::Service, "a", "headless", None),
            workload(WorkloadKind::Service, "b", "other", Some("3")),
            workload(WorkloadKind::ReplicaSet, "a", "first", Some("4")),
        ] {
            columns.set_workload_selector(&workload);
        }
        let services = |columns: &Columns, namespace| columns.service_selectors(namespace).cloned().collect::<Vec<_>>();
        assert_eq!(services(&columns, "a"), [selector("1"), selector("2")]);
        assert_eq!(services(&columns, "b"), [selector("3")]);
        assert_eq!(services(&columns, "c"), []);
        let first = ObjectName::new("a", "first");
        let of_set = columns.workload_selector(WorkloadKind::ReplicaSet, &first);
        assert_eq!(of_set, Some(&selector("4")));
        assert_eq!(columns.workload_selector(WorkloadKind::StatefulSet, &first), None);
        columns.remove_workload_selector(WorkloadKind::Service, &first);
        columns.set_workload_selector(&workload(WorkloadKind::Service, "a", "second", None));
        assert_eq!(services(&columns, "a"), []);
        columns.remove_workload_selector(WorkloadKind::ReplicaSet, &first);
        assert_eq!(columns.workload_selector(WorkloadKind::ReplicaSet, &first), None);
    }

    #[test]
    fn an_equal_object_is_no_change() {
        let mut columns = Columns::new();
        let service = workload(WorkloadKind::Service, "a", "web", Some("web"));
        columns.set_workload_selector(&service);
        let version = columns.version();
        columns.set_workload_selector(&service);
        columns.remove_workload_selector(WorkloadKind::Service, &ObjectName::new("a", "gone"));
        assert_eq!(columns.version(), version);
    }
}
