//! Required affinity and anti-affinity between pods, by what is there at the end.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Pod, PodAffinityTerm};

use super::cluster::{Placed, View};
use super::selector::{Labels, labels_of, selects};

/// Pods whose namespace and labels are the same, which a term takes or leaves together, by domain of a topology.
struct Classes<'a> {
    /// How many pods of each class there are in each domain, by topology key.
    counts: BTreeMap<(&'a str, &'a Labels), BTreeMap<&'a str, usize>>,
}

impl<'a> Classes<'a> {
    fn by_node(view: &View<'a>) -> Self {
        let mut counts: BTreeMap<(&str, &Labels), BTreeMap<&str, usize>> = BTreeMap::new();
        for placed in &view.placed {
            let nodes = counts.entry((placed.namespace, placed.labels)).or_default();
            *nodes.entry(placed.on).or_default() += 1;
        }
        Self { counts }
    }

    /// How many pods the term of a pod in `namespace` takes in each domain.
    fn in_domains(
        &self,
        term: &PodAffinityTerm,
        namespace: &str,
        labels: &Labels,
        view: &View<'a>,
    ) -> BTreeMap<&'a str, usize> {
        let mut domains = BTreeMap::new();
        for ((of, with), nodes) in &self.counts {
            if !takes(term, namespace, labels, (of, with), view) {
                continue;
            }
            for (node, count) in nodes {
                let domain = view
                    .nodes
                    .get(node)
                    .and_then(|view| labels_of(view.node).get(&term.topology_key));
                if let Some(domain) = domain {
                    *domains.entry(domain.as_str()).or_default() += count;
                }
            }
        }
        domains
    }
}

/// Whether the term of a pod with these labels in that namespace takes the other pod.
fn takes(
    term: &PodAffinityTerm,
    namespace: &str,
    own: &Labels,
    (of, labels): (&str, &Labels),
    view: &View<'_>,
) -> bool {
    let listed = term.namespaces.as_deref().unwrap_or_default();
    let selected = term.namespace_selector.as_ref().is_some_and(|selector| {
        let labels = view.namespaces.get(of);
        labels.is_some_and(|labels| selects(Some(selector), labels))
    });
    let own_only = listed.is_empty() && term.namespace_selector.is_none();
    let here = if own_only {
        of == namespace
    } else {
        selected || listed.iter().any(|listed| listed == of)
    };
    let same = |keys: &Option<Vec<String>>, same: bool| {
        let with_value = |key: &&String| own.contains_key(*key);
        let keys = keys.iter().flatten();
        keys.filter(with_value)
            .all(|key| (labels.get(key) == own.get(key)) == same)
    };
    here && selects(term.label_selector.as_ref(), labels)
        && same(&term.match_label_keys, true)
        && same(&term.mismatch_label_keys, false)
}

fn required(pod: &Pod, anti: bool) -> Vec<&PodAffinityTerm> {
    let affinity = pod.spec.as_ref().and_then(|spec| spec.affinity.as_ref());
    let terms = affinity.and_then(|affinity| {
        if anti {
            affinity
                .pod_anti_affinity
                .as_ref()?
                .required_during_scheduling_ignored_during_execution
                .as_ref()
        } else {
            affinity
                .pod_affinity
                .as_ref()?
                .required_during_scheduling_ignored_during_execution
                .as_ref()
        }
    });
    terms.into_iter().flatten().collect()
}

/// Terms that occur, with the domains of what they take: most pods have the same.
struct Domains<'a, 'v> {
    view: &'v View<'a>,
    classes: Classes<'a>,
    known: BTreeMap<(String, &'a str, Labels), BTreeMap<&'a str, usize>>,
}

impl<'a, 'v> Domains<'a, 'v> {
    fn new(view: &'v View<'a>) -> Self {
        Self {
            view,
            classes: Classes::by_node(view),
            known: BTreeMap::new(),
        }
    }

    /// How many pods the term takes in the domain of the pod that has it, itself not counted; `None` when its node is
    /// in no such domain.
    fn others(&mut self, term: &PodAffinityTerm, placed: &Placed<'a>) -> Option<(usize, bool)> {
        let written = serde_json::to_string(term).unwrap_or_default();
        // Only the labels that a term looks at tell its owners apart.
        let keys = term.match_label_keys.iter().chain(&term.mismatch_label_keys).flatten();
        let own: Labels = keys
            .filter_map(|key| Some((key.clone(), placed.labels.get(key)?.clone())))
            .collect();
        let (classes, view) = (&self.classes, self.view);
        let domains = self
            .known
            .entry((written, placed.namespace, own))
            .or_insert_with_key(|(_, namespace, own)| classes.in_domains(term, namespace, own, view));
        let node = view.nodes.get(placed.on)?.node;
        let domain = labels_of(node).get(&term.topology_key)?;
        let itself = takes(
            term,
            placed.namespace,
            placed.labels,
            (placed.namespace, placed.labels),
            view,
        );
        let count = domains.get(domain.as_str()).copied().unwrap_or(0);
        Some((count.saturating_sub(usize::from(itself)), itself))
    }
}

/// Pods that are with whom they must not be with; of two that keep away from each other both are told.
pub(super) fn anti_affinity(view: &View<'_>, broken: &mut Vec<String>) {
    let mut domains = Domains::new(view);
    for placed in &view.placed {
        for term in required(placed.pod, true) {
            if let Some((others, _)) = domains.others(term, placed)
                && others > 0
            {
                let (key, on, topology) = (&placed.key, placed.on, &term.topology_key);
                broken.push(format!(
                    "{key} on {on} is in one {topology} with {others} pods that it must keep away from"
                ));
            }
        }
    }
}

/// Pods that are not with whom they must be with. The first of those that are with their like is alone rightly.
pub(super) fn affinity(view: &View<'_>, broken: &mut Vec<String>) {
    let mut domains = Domains::new(view);
    for placed in &view.placed {
        for term in required(placed.pod, false) {
            let (key, on, topology) = (&placed.key, placed.on, &term.topology_key);
            match domains.others(term, placed) {
                None => broken.push(format!("{key} is on {on}, which has no {topology}")),
                Some((0, false)) => {
                    broken.push(format!(
                        "{key} on {on} is in no {topology} with any pod that it must be with"
                    ));
                }
                Some(_) => {}
            }
        }
    }
}
