use std::collections::BTreeMap;

use super::NodeIndex;
use super::sparse_column::{Figures, SparseColumn};

/// Sums per row that are exact however large they get, so that taking away always undoes adding. What is read is held
/// at the ends of `i64`: a sum that wrapped around would look like free room.
#[derive(Debug, Clone, Default)]
pub(super) struct SumColumn {
    values: Vec<i64>,
    /// Exact sums of the rows that do not fit `i64`; practically always empty.
    beyond: BTreeMap<NodeIndex, i128>,
}

impl SumColumn {
    pub(super) fn grow(&mut self, length: usize) {
        self.values.resize(length, 0);
    }

    pub(super) fn values(&self) -> &[i64] {
        &self.values
    }

    pub(super) fn add(&mut self, row: NodeIndex, amount: i64) {
        self.change(row, amount.into());
    }

    pub(super) fn subtract(&mut self, row: NodeIndex, amount: i64) {
        self.change(row, -i128::from(amount));
    }

    pub(super) fn change(&mut self, row: NodeIndex, by: i128) {
        let value = &mut self.values[row.as_usize()];
        *value = changed(&mut self.beyond, row, *value, by);
    }
}

/// The same for sums of which most are 0.
#[derive(Debug, Clone)]
pub(super) struct SparseSums {
    values: SparseColumn,
    beyond: BTreeMap<NodeIndex, i128>,
}

impl SparseSums {
    pub(super) fn with_length(length: usize) -> Self {
        Self {
            values: SparseColumn::with_length(length),
            beyond: BTreeMap::new(),
        }
    }

    pub(super) fn grow(&mut self, length: usize) {
        self.values.grow(length);
    }

    pub(super) fn figures(&self) -> Figures<'_> {
        self.values.figures()
    }

    pub(super) fn change(&mut self, row: NodeIndex, by: i128) {
        let value = changed(&mut self.beyond, row, self.values.get(row), by);
        self.values.set(row, value);
    }
}

/// What is read of a sum once it has changed.
fn changed(beyond: &mut BTreeMap<NodeIndex, i128>, row: NodeIndex, value: i64, by: i128) -> i64 {
    let exact = beyond.get(&row).copied().unwrap_or_else(|| value.into()) + by;
    if let Ok(sum) = i64::try_from(exact) {
        if !beyond.is_empty() {
            beyond.remove(&row);
        }
        sum
    } else {
        beyond.insert(row, exact);
        if exact < 0 { i64::MIN } else { i64::MAX }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_beyond_the_end_is_held_there_and_comes_back_exactly() {
        let row = NodeIndex::new(1);
        let (mut column, mut sparse) = (SumColumn::default(), SparseSums::with_length(2));
        column.grow(2);
        for amount in [5, i64::MAX, i64::MAX] {
            column.add(row, amount);
            sparse.change(row, amount.into());
        }
        for left in [i64::MAX, i64::MAX, 5] {
            assert_eq!(column.values(), [0, left]);
            assert_eq!([0, 1].map(|row| sparse.figures().at(row)), [0, left]);
            column.subtract(row, i64::MAX);
            sparse.change(row, -i128::from(i64::MAX));
        }
    }
}
