use super::counts::Counts;
use super::label_columns::LabelColumns;
use super::{NodeIndex, ValueId};

/// Pods by the value that one label has on their nodes. Pods on nodes without the label are in no domain.
#[derive(Debug, Clone, Copy)]
pub struct DomainCounts<'a> {
    counts: &'a Counts,
}

impl<'a> DomainCounts<'a> {
    pub(super) fn new(counts: &'a Counts) -> Self {
        Self { counts }
    }

    /// How many there are on the nodes with a value.
    pub fn of(self, value: ValueId) -> u64 {
        self.counts.get(value.slot()).into()
    }

    /// Whether there is none in any domain.
    pub fn is_empty(self) -> bool {
        self.counts.is_empty()
    }

    /// The domains that have any, in no order that means anything.
    pub fn iter(self) -> impl Iterator<Item = (ValueId, u64)> + use<'a> {
        let counts = self.counts.iter();
        counts.map(|(slot, count)| (ValueId::of_slot(slot), count.into()))
    }
}

/// A row, and how it is labelled.
#[derive(Clone, Copy)]
pub(super) struct Spot<'a> {
    pub(super) row: NodeIndex,
    /// Not a ghost.
    pub(super) is_node: bool,
    pub(super) labels: &'a LabelColumns,
}

impl Spot<'_> {
    /// The slot of its value of a label.
    pub(super) fn domain(&self, key: &str) -> Option<usize> {
        let value = self.labels.column(key)?.value(self.row)?;
        Some(value.slot())
    }
}
