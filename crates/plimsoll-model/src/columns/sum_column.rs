use std::collections::BTreeMap;

use super::NodeIndex;

/// Sums per row that are exact however large they get, so that taking away always undoes adding. What is read is held
/// at the ends of `i64`: a sum that wrapped around would look like free room.
#[derive(Debug, Clone, Default)]
pub(super) struct SumColumn {
    values: Vec<i64>,
    /// Exact sums of the rows that do not fit `i64`; practically always empty.
    beyond: BTreeMap<NodeIndex, i128>,
}

impl SumColumn {
    pub(super) fn with_length(length: usize) -> Self {
        Self {
            values: vec![0; length],
            beyond: BTreeMap::new(),
        }
    }

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
        let exact = self.beyond.get(&row).copied().unwrap_or_else(|| (*value).into()) + by;
        if let Ok(sum) = i64::try_from(exact) {
            *value = sum;
            if !self.beyond.is_empty() {
                self.beyond.remove(&row);
            }
        } else {
            *value = if exact < 0 { i64::MIN } else { i64::MAX };
            self.beyond.insert(row, exact);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_beyond_the_end_is_held_there_and_comes_back_exactly() {
        let row = NodeIndex::new(1);
        let mut column = SumColumn::with_length(2);
        for amount in [5, i64::MAX, i64::MAX] {
            column.add(row, amount);
        }
        assert_eq!(column.values(), [0, i64::MAX]);
        column.subtract(row, i64::MAX);
        assert_eq!(column.values(), [0, i64::MAX]);
        column.subtract(row, i64::MAX);
        assert_eq!(column.values(), [0, 5]);
    }
}
