use std::collections::BTreeSet;

use compact_str::CompactString;
use smallvec::SmallVec;

use super::counts::Counts;
use super::domain_counts::Spot;
use super::label_columns::LabelColumn;
use super::match_index::{Anchors, MatchIndex};
use super::numbered::Numbered;
use super::{DomainCounts, NodeIndex, NodeSet};
use crate::{Labels, PodClass, PodQuery};

/// As many counts are kept whether they are asked for or not.
const KEPT_ANYWAY: usize = 512;
/// Beyond that, a count is dropped when it was not among the last so many asked for.
const MEMORY: u64 = 4096;
/// How many requests pass before it is looked again for counts to drop.
const SWEEP: u64 = 256;

/// A count that the columns keep. It is good until the count is dropped, which takes thousands of other requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueryId {
    number: u32,
    /// Tells it from those that had the number before.
    born: u64,
}

impl QueryId {
    /// Numbers that no other count ever has.
    pub fn numbers(self) -> [u64; 2] {
        [self.number.into(), self.born]
    }
}

/// The counts that are kept.
#[derive(Debug, Clone, Default)]
pub(super) struct PodQueries {
    kept: Numbered<PodQuery, Kept>,
    index: MatchIndex,
    /// Those that look at the labels of namespaces.
    by_namespace_labels: BTreeSet<u32>,
    /// How many requests there were.
    asked: u64,
    next_sweep: u64,
}

/// The pods that one query matches.
#[derive(Debug, Clone, Default)]
pub(super) struct Kept {
    by_node: Counts,
    /// On nodes that have an object.
    total: u64,
    tables: SmallVec<[Table; 2]>,
    born: u64,
    last_asked: u64,
    anchors: Anchors,
}

#[derive(Debug, Clone)]
struct Table {
    key: CompactString,
    counts: Counts,
}

impl PodQueries {
    /// The number of the query, if its pods are counted already; asking keeps it alive.
    pub(super) fn ask(&mut self, query: &PodQuery) -> Option<u32> {
        self.asked += 1;
        let number = self.kept.find(query)?;
        if let Some(kept) = self.kept.value_mut(number) {
            kept.last_asked = self.asked;
        }
        Some(number)
    }

    /// Begins to count; the classes that match are to be added by the caller. A query that can't be parsed stays at 0.
    pub(super) fn begin(&mut self, query: &PodQuery) -> u32 {
        let kept = Kept {
            born: self.asked,
            last_asked: self.asked,
            ..Kept::default()
        };
        let number = self.kept.insert(query.clone(), kept);
        // A pod must match every pattern, so any of them will do to find it; one with fixed namespaces is best.
        let fixed = query.all_of.iter().find(|pattern| pattern.namespace_selector.is_none());
        let Some(pattern) = fixed.or_else(|| query.all_of.first()).filter(|_| query.is_valid()) else {
            return number;
        };
        let anchors = self.index.insert(number, pattern);
        if let Some(kept) = self.kept.value_mut(number) {
            kept.anchors = anchors;
        }
        if query.all_of.iter().any(|pattern| pattern.namespace_selector.is_some()) {
            self.by_namespace_labels.insert(number);
        }
        number
    }

    /// Takes out what has long not been asked for, if there is more than need be.
    pub(super) fn sweep(&mut self) -> Vec<u32> {
        if self.kept.len() <= KEPT_ANYWAY || self.asked < self.next_sweep {
            return Vec::new();
        }
        self.next_sweep = self.asked + SWEEP;
        let old = |kept: &Kept| kept.last_asked + MEMORY < self.asked;
        let dropped: Vec<u32> = self
            .kept
            .iter()
            .filter(|(_, _, kept)| old(kept))
            .map(|(number, ..)| number)
            .collect();
        for number in &dropped {
            if let Some((_, kept)) = self.kept.remove(*number) {
                self.index.remove(*number, &kept.anchors);
            }
            self.by_namespace_labels.remove(number);
        }
        dropped
    }

    pub(super) fn id(&self, number: u32) -> QueryId {
        let born = self.kept.get(number).map_or(0, |(_, kept)| kept.born);
        QueryId { number, born }
    }

    pub(super) fn id_of(&self, query: &PodQuery) -> Option<QueryId> {
        self.kept.find(query).map(|number| self.id(number))
    }

    pub(super) fn by_id(&self, id: QueryId) -> Option<&Kept> {
        let (_, kept) = self.kept.get(id.number)?;
        (kept.born == id.born).then_some(kept)
    }

    pub(super) fn by_query(&self, query: &PodQuery) -> Option<&Kept> {
        let (_, kept) = self.kept.get(self.kept.find(query)?)?;
        Some(kept)
    }

    pub(super) fn value_mut(&mut self, number: u32) -> Option<&mut Kept> {
        self.kept.value_mut(number)
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut Kept> {
        self.kept.values_mut().map(|(_, kept)| kept)
    }

    /// The queries that match pods of a class in a namespace with these labels, ascending.
    pub(super) fn matching(&self, class: &PodClass, namespace_labels: Option<&Labels>) -> Vec<u32> {
        let mut candidates = self.index.candidates(&class.namespace, &class.labels);
        candidates.retain(|number| self.holds_for(*number, class, namespace_labels));
        candidates.to_vec()
    }

    /// The queries to ask again when the labels of a namespace change.
    pub(super) fn by_namespace_labels(&self) -> &BTreeSet<u32> {
        &self.by_namespace_labels
    }

    pub(super) fn holds_for(&self, number: u32, class: &PodClass, namespace_labels: Option<&Labels>) -> bool {
        self.kept
            .get(number)
            .is_some_and(|(query, _)| query.holds_for(class, namespace_labels))
    }
}

impl Kept {
    pub(super) fn add(&mut self, spot: &Spot<'_>, pods: u32) {
        self.by_node.add(spot.row.as_usize(), pods);
        if spot.is_node {
            self.total += u64::from(pods);
        }
        for table in &mut self.tables {
            if let Some(domain) = spot.domain(&table.key) {
                table.counts.add(domain, pods);
            }
        }
    }

    pub(super) fn subtract(&mut self, spot: &Spot<'_>, pods: u32) {
        self.by_node.subtract(spot.row.as_usize(), pods);
        if spot.is_node {
            self.total = self.total.saturating_sub(pods.into());
        }
        for table in &mut self.tables {
            if let Some(domain) = spot.domain(&table.key) {
                table.counts.subtract(domain, pods);
            }
        }
    }

    /// A row gets its object, or loses it.
    pub(super) fn turn(&mut self, row: NodeIndex, is_node: bool) {
        let pods = u64::from(self.by_node.get(row.as_usize()));
        self.total = if is_node {
            self.total + pods
        } else {
            self.total.saturating_sub(pods)
        };
    }

    /// Takes the pods of a node out of their domains for these labels.
    pub(super) fn leave(&mut self, spot: &Spot<'_>, keys: &[&str]) {
        let pods = self.by_node.get(spot.row.as_usize());
        for table in moved(&mut self.tables, pods, keys) {
            if let Some(domain) = spot.domain(&table.key) {
                table.counts.subtract(domain, pods);
            }
        }
    }

    /// Puts the pods of a node into their domains for these labels.
    pub(super) fn enter(&mut self, spot: &Spot<'_>, keys: &[&str]) {
        let pods = self.by_node.get(spot.row.as_usize());
        for table in moved(&mut self.tables, pods, keys) {
            if let Some(domain) = spot.domain(&table.key) {
                table.counts.add(domain, pods);
            }
        }
    }

    /// Counts by the values of a label from now on.
    pub(super) fn count_by(&mut self, key: &str, column: Option<LabelColumn<'_>>) {
        if self.tables.iter().any(|table| table.key == key) {
            return;
        }
        let mut counts = Counts::default();
        if let Some(column) = column {
            for (row, pods) in self.by_node.iter() {
                if let Some(value) = column.value(NodeIndex::from_usize(row)) {
                    counts.add(value.slot(), pods);
                }
            }
        }
        self.tables.push(Table {
            key: key.into(),
            counts,
        });
    }
}

fn moved<'a>(tables: &'a mut [Table], pods: u32, keys: &'a [&str]) -> impl Iterator<Item = &'a mut Table> {
    tables
        .iter_mut()
        .filter(move |table| pods > 0 && keys.contains(&table.key.as_str()))
}

/// How many pods match a query, and where they are. Pods on ghosts do not count.
#[derive(Debug, Clone, Copy)]
pub struct PodCounts<'a> {
    kept: &'a Kept,
    nodes: &'a NodeSet,
}

impl<'a> PodCounts<'a> {
    pub(super) fn new(kept: &'a Kept, nodes: &'a NodeSet) -> Self {
        Self { kept, nodes }
    }

    /// How many there are.
    pub fn total(self) -> u64 {
        self.kept.total
    }

    /// How many there are on one node.
    pub fn on(self, node: NodeIndex) -> u32 {
        if self.nodes.contains(node) {
            self.kept.by_node.get(node.as_usize())
        } else {
            0
        }
    }

    /// The nodes that have any, in no order that means anything.
    pub fn iter(self) -> impl Iterator<Item = (NodeIndex, u32)> + use<'a> {
        let by_node = self.kept.by_node.iter();
        by_node
            .map(|(row, count)| (NodeIndex::from_usize(row), count))
            .filter(move |(row, _)| self.nodes.contains(*row))
    }

    /// How many there are in each domain; none if [`keep_count_by`](super::Columns::keep_count_by) has not been told the
    /// label.
    pub fn by_domain(self, key: &str) -> Option<DomainCounts<'a>> {
        let table = self.kept.tables.iter().find(|table| table.key == key)?;
        Some(DomainCounts::new(&table.counts))
    }
}
