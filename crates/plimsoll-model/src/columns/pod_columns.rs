use std::collections::BTreeSet;

use compact_str::CompactString;
use smallvec::SmallVec;

use super::counts::Counts;
use super::domain_counts::Spot;
use super::label_columns::LabelColumns;
use super::numbered::Numbered;
use super::pod_queries::PodQueries;
use super::pod_terms::PodTerms;
use super::{Columns, DomainCounts, Map, MatchingTerm, NodeIndex, NodeSet, PodCounts, QueryId, TermId};
use crate::{KnownClass, Labels, Namespace, Pod, PodQuery};

/// Which pods there are on which nodes, by class; what kept queries count of them; and the terms that they have.
///
/// A pod that comes or goes changes the counts of the queries that its class matches, so that a cycle finds them ready and
/// no pod is looked at twice. What a class matches is found out once, when its first pod comes.
#[derive(Debug, Clone, Default)]
pub(super) struct PodColumns {
    classes: Numbered<KnownClass, Members>,
    by_namespace: Map<CompactString, BTreeSet<u32>>,
    queries: PodQueries,
    terms: PodTerms,
    namespaces: Map<CompactString, Labels>,
    namespaces_changed: u64,
}

/// The pods of one class.
#[derive(Debug, Clone, Default)]
struct Members {
    count: usize,
    by_node: Counts,
    /// The kept queries that match them, ascending.
    queries: Vec<u32>,
    /// One for each term that a pod has.
    terms: SmallVec<[u32; 2]>,
}

// === Pods ===

impl PodColumns {
    pub(super) fn add_pod(&mut self, spot: &Spot<'_>, class: &KnownClass) {
        let number = self.classes.find(class).unwrap_or_else(|| self.begin_class(class));
        let Some(members) = self.classes.value_mut(number) else {
            return;
        };
        members.count += 1;
        members.by_node.add(spot.row.as_usize(), 1);
        for query in &members.queries {
            if let Some(kept) = self.queries.value_mut(*query) {
                kept.add(spot, 1);
            }
        }
        for term in &members.terms {
            self.terms.add(*term, spot);
        }
    }

    /// Nothing happens if no pod of the class is there.
    pub(super) fn remove_pod(&mut self, spot: &Spot<'_>, class: &KnownClass) {
        let Some(number) = self.classes.find(class) else {
            return;
        };
        let Some(members) = self.classes.value_mut(number) else {
            return;
        };
        if members.by_node.get(spot.row.as_usize()) == 0 {
            return;
        }
        members.count -= 1;
        members.by_node.subtract(spot.row.as_usize(), 1);
        for query in &members.queries {
            if let Some(kept) = self.queries.value_mut(*query) {
                kept.subtract(spot, 1);
            }
        }
        for term in &members.terms {
            self.terms.subtract(*term, spot);
        }
        if members.count == 0 {
            self.end_class(number);
        }
    }

    fn begin_class(&mut self, class: &KnownClass) -> u32 {
        let namespace_labels = self.namespaces.get(&class.namespace);
        let members = Members {
            queries: self.queries.matching(class, namespace_labels),
            terms: class.terms.iter().map(|term| self.terms.hold(term)).collect(),
            ..Members::default()
        };
        let number = self.classes.insert(class.clone(), members);
        self.by_namespace
            .entry(class.namespace.clone())
            .or_default()
            .insert(number);
        number
    }

    fn end_class(&mut self, number: u32) {
        let Some((class, members)) = self.classes.remove(number) else {
            return;
        };
        for term in members.terms {
            self.terms.let_go(term);
        }
        if let Some(beside) = self.by_namespace.get_mut(&class.namespace) {
            beside.remove(&number);
            if beside.is_empty() {
                self.by_namespace.remove(&class.namespace);
            }
        }
    }
}

#[cfg(test)]
impl PodColumns {
    /// Whether nothing is left of pods that have gone.
    pub(super) fn is_without_pods(&self) -> bool {
        self.classes.len() == 0 && self.by_namespace.is_empty() && self.terms.is_empty()
    }
}

// === Nodes ===

impl PodColumns {
    /// A ghost gets its object, or a node becomes a ghost; ghosts have no labels.
    pub(super) fn turn(&mut self, row: NodeIndex, is_node: bool) {
        for kept in self.queries.values_mut() {
            kept.turn(row, is_node);
        }
    }

    /// Takes the pods of a node out of their domains for labels that are about to change.
    pub(super) fn leave(&mut self, spot: &Spot<'_>, keys: &[&str]) {
        for kept in self.queries.values_mut() {
            kept.leave(spot, keys);
        }
        self.terms.leave(spot, keys);
    }

    /// Puts the pods of a node into their domains for labels that have changed.
    pub(super) fn enter(&mut self, spot: &Spot<'_>, keys: &[&str]) {
        for kept in self.queries.values_mut() {
            kept.enter(spot, keys);
        }
        self.terms.enter(spot, keys);
    }
}

// === Namespaces ===

impl PodColumns {
    pub(super) fn namespace_labels(&self, namespace: &str) -> Option<&Labels> {
        self.namespaces.get(namespace)
    }

    /// None when the namespace is gone. Whether anything changed.
    pub(super) fn set_namespace(
        &mut self,
        namespace: &str,
        labels: Option<&Labels>,
        nodes: &NodeSet,
        columns: &LabelColumns,
    ) -> bool {
        if self.namespaces.get(namespace) == labels {
            return false;
        }
        self.namespaces_changed += 1;
        match labels {
            Some(labels) => self.namespaces.insert(namespace.into(), labels.clone()),
            None => self.namespaces.remove(namespace),
        };
        let classes = self.by_namespace.get(namespace).into_iter().flatten();
        let classes: Vec<u32> = classes.copied().collect();
        for class in classes {
            self.reconsider(class, nodes, columns);
        }
        true
    }

    /// Asks again whether queries that look at namespaces match a class.
    fn reconsider(&mut self, number: u32, nodes: &NodeSet, columns: &LabelColumns) {
        let Some((class, _)) = self.classes.get(number) else {
            return;
        };
        let labels = self.namespaces.get(&class.namespace);
        let by_labels = self.queries.by_namespace_labels().iter().copied();
        let asked: Vec<(u32, bool)> = by_labels
            .map(|query| (query, self.queries.holds_for(query, class, labels)))
            .collect();
        let Some(members) = self.classes.value_mut(number) else {
            return;
        };
        for (query, holds) in asked {
            let Some(kept) = self.queries.value_mut(query) else {
                continue;
            };
            let spots = members.by_node.iter().map(|(row, pods)| {
                let row = NodeIndex::from_usize(row);
                let is_node = nodes.contains(row);
                (
                    Spot {
                        row,
                        is_node,
                        labels: columns,
                    },
                    pods,
                )
            });
            match (members.queries.binary_search(&query), holds) {
                (Err(at), true) => {
                    spots.for_each(|(spot, pods)| kept.add(&spot, pods));
                    members.queries.insert(at, query);
                }
                (Ok(at), false) => {
                    spots.for_each(|(spot, pods)| kept.subtract(&spot, pods));
                    members.queries.remove(at);
                }
                _ => {}
            }
        }
    }
}

// === Queries ===

impl PodColumns {
    pub(super) fn keep_count(&mut self, query: &PodQuery, nodes: &NodeSet, columns: &LabelColumns) -> u32 {
        if let Some(number) = self.queries.ask(query) {
            return number;
        }
        let dropped = self.queries.sweep();
        if !dropped.is_empty() {
            for (_, members) in self.classes.values_mut() {
                members.queries.retain(|query| dropped.binary_search(query).is_err());
            }
        }
        let number = self.queries.begin(query);
        for class in self.classes_for(query) {
            self.count_class(number, class, nodes, columns);
        }
        number
    }

    /// The classes that a query may match.
    fn classes_for(&self, query: &PodQuery) -> Vec<u32> {
        if !query.is_valid() {
            return Vec::new();
        }
        let mut fixed = query
            .all_of
            .iter()
            .filter(|pattern| pattern.namespace_selector.is_none());
        match fixed.next() {
            Some(pattern) => {
                let named = pattern.namespaces.iter().filter_map(|name| self.by_namespace.get(name));
                named.flatten().copied().collect()
            }
            None => self.classes.iter().map(|(number, ..)| number).collect(),
        }
    }

    fn count_class(&mut self, query: u32, class: u32, nodes: &NodeSet, columns: &LabelColumns) {
        let Some((pods, _)) = self.classes.get(class) else {
            return;
        };
        let namespace_labels = self.namespaces.get(&pods.namespace);
        if !self.queries.holds_for(query, pods, namespace_labels) {
            return;
        }
        let (Some(members), Some(kept)) = (self.classes.value_mut(class), self.queries.value_mut(query)) else {
            return;
        };
        if let Err(at) = members.queries.binary_search(&query) {
            members.queries.insert(at, query);
        }
        for (row, pods) in members.by_node.iter() {
            let row = NodeIndex::from_usize(row);
            let is_node = nodes.contains(row);
            kept.add(
                &Spot {
                    row,
                    is_node,
                    labels: columns,
                },
                pods,
            );
        }
    }
}

impl Columns {
    /// Counts the pods that match from now on, and goes on doing so for some time after it was last asked for. The first
    /// time costs a look at every class of pods in the query's namespaces; after that, pods that come and go are counted as
    /// they do.
    pub fn keep_count(&mut self, query: &PodQuery) -> QueryId {
        let number = self.pods.keep_count(query, &self.nodes, &self.labels);
        self.pods.queries.id(number)
    }

    /// As [`keep_count`](Self::keep_count), and by the values of a node label too.
    pub fn keep_count_by(&mut self, query: &PodQuery, key: &str) -> QueryId {
        let number = self.pods.keep_count(query, &self.nodes, &self.labels);
        if let Some(kept) = self.pods.queries.value_mut(number) {
            kept.count_by(key, self.labels.column(key));
        }
        self.pods.queries.id(number)
    }

    /// The pods that match, if their count is kept.
    pub fn count_of(&self, query: &PodQuery) -> Option<PodCounts<'_>> {
        let kept = self.pods.queries.by_query(query)?;
        Some(PodCounts::new(kept, &self.nodes))
    }

    /// The count of the pods that match, if it is kept.
    pub fn id_of(&self, query: &PodQuery) -> Option<QueryId> {
        self.pods.queries.id_of(query)
    }

    /// Rises whenever the labels of some namespace change, so that selectors of namespaces may mean other pods.
    pub fn namespaces_changed(&self) -> u64 {
        self.pods.namespaces_changed
    }

    /// The pods of a count, if it is still kept.
    pub fn count(&self, id: QueryId) -> Option<PodCounts<'_>> {
        let kept = self.pods.queries.by_id(id)?;
        Some(PodCounts::new(kept, &self.nodes))
    }

    /// The (anti-)affinity terms of pods on nodes that mean this pod, by its namespace's labels as they are now. Their
    /// owners on ghosts, and on nodes without the topology label, are in no domain.
    pub fn terms_towards<'a>(&'a self, pod: &'a Pod) -> impl Iterator<Item = MatchingTerm<'a>> {
        let namespace = pod.name.namespace.as_str();
        let namespace_labels = self.pods.namespace_labels(namespace);
        self.pods.terms.matching(namespace, namespace_labels, &pod.labels)
    }

    /// The pods that have a term, by the values of its label on their nodes; none once the last of them has gone.
    pub fn owners_of(&self, term: TermId) -> Option<DomainCounts<'_>> {
        self.pods.terms.owners(term)
    }

    /// Adds or updates a namespace.
    pub fn set_namespace(&mut self, namespace: &Namespace) {
        let labels = Some(&namespace.labels);
        if self
            .pods
            .set_namespace(&namespace.name, labels, &self.nodes, &self.labels)
        {
            self.version += 1;
        }
    }

    /// Takes a namespace away; pods that are left in it are in one without labels.
    pub fn remove_namespace(&mut self, name: &str) {
        if self.pods.set_namespace(name, None, &self.nodes, &self.labels) {
            self.version += 1;
        }
    }

    /// The labels of a namespace, if it is known.
    pub fn namespace_labels(&self, name: &str) -> Option<&Labels> {
        self.pods.namespace_labels(name)
    }
}
