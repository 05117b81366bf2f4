use super::NodeIndex;

/// With so many cells in use a column is never too many for a list.
const FEW: usize = 8;
/// A list is worth it while no more than one in this many rows is in it: it costs twice the memory of a cell for each, and a
/// search.
const SPREAD: usize = 256;

/// One number for each row, of which most may be 0: kept as a list of the others while these are few.
#[derive(Debug, Clone)]
pub(super) struct SparseColumn {
    length: usize,
    cells: Cells,
}

#[derive(Debug, Clone)]
enum Cells {
    /// Those that are not 0, by ascending row.
    Few(Vec<(NodeIndex, i64)>),
    /// One per row.
    All {
        cells: Vec<i64>,
        /// How many are not 0.
        used: usize,
    },
}

/// What a column says of each node.
#[derive(Debug, Clone, Copy)]
pub struct Figures<'a>(View<'a>);

#[derive(Debug, Clone, Copy)]
enum View<'a> {
    Few(&'a [(NodeIndex, i64)]),
    All(&'a [i64]),
}

impl Figures<'_> {
    /// A column of zeros.
    pub const NONE: Self = Self(View::All(&[]));

    /// The number in a row; 0 beyond the end.
    pub fn at(self, row: usize) -> i64 {
        match self.0 {
            View::All(cells) => cells.get(row).copied().unwrap_or(0),
            View::Few(cells) => {
                let found = cells.binary_search_by(|(node, _)| node.as_usize().cmp(&row));
                found.ok().and_then(|at| cells.get(at)).map_or(0, |(_, value)| *value)
            }
        }
    }
}

impl<'a> From<&'a [i64]> for Figures<'a> {
    fn from(column: &'a [i64]) -> Self {
        Self(View::All(column))
    }
}

impl SparseColumn {
    pub(super) fn with_length(length: usize) -> Self {
        Self {
            length,
            cells: Cells::Few(Vec::new()),
        }
    }

    /// How many rows there are.
    pub(super) fn grow(&mut self, length: usize) {
        self.length = length;
        if let Cells::All { cells, .. } = &mut self.cells {
            cells.resize(length, 0);
            self.shrink();
        }
    }

    pub(super) fn figures(&self) -> Figures<'_> {
        match &self.cells {
            Cells::Few(cells) => Figures(View::Few(cells)),
            Cells::All { cells, .. } => Figures(View::All(cells)),
        }
    }

    pub(super) fn get(&self, row: NodeIndex) -> i64 {
        self.figures().at(row.as_usize())
    }

    pub(super) fn set(&mut self, row: NodeIndex, value: i64) {
        match &mut self.cells {
            Cells::All { cells, used } => {
                let Some(cell) = cells.get_mut(row.as_usize()) else {
                    return;
                };
                *used += usize::from(value != 0);
                *used -= usize::from(*cell != 0);
                *cell = value;
                self.shrink();
            }
            Cells::Few(cells) => {
                match (cells.binary_search_by_key(&row, |(node, _)| *node), value) {
                    (Ok(at), 0) => {
                        cells.remove(at);
                    }
                    (Ok(at), value) => cells[at].1 = value,
                    (Err(_), 0) => {}
                    (Err(at), value) => cells.insert(at, (row, value)),
                }
                self.widen();
            }
        }
    }

    fn widen(&mut self) {
        let Cells::Few(few) = &self.cells else { return };
        if few.len() <= FEW.max(self.length / SPREAD) {
            return;
        }
        let mut cells = vec![0; self.length];
        for (node, value) in few {
            if let Some(cell) = cells.get_mut(node.as_usize()) {
                *cell = *value;
            }
        }
        let used = few.len();
        self.cells = Cells::All { cells, used };
    }

    /// At half of what makes it wide, lest it goes to and fro.
    fn shrink(&mut self) {
        let Cells::All { cells, used } = &self.cells else {
            return;
        };
        if *used > FEW.max(self.length / SPREAD) / 2 {
            return;
        }
        let numbered = cells.iter().enumerate().filter(|(_, value)| **value != 0);
        let few = numbered
            .map(|(row, value)| (NodeIndex::from_usize(row), *value))
            .collect();
        self.cells = Cells::Few(few);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Step {
        Set(usize, i64),
        /// So many rows in a line, as when a pool of nodes comes or goes.
        Fill(usize, usize, i64),
        Grow(usize),
    }

    fn steps() -> impl Strategy<Value = Step> {
        prop_oneof![
            6 => (0..5000_usize, -2..3_i64).prop_map(|(row, value)| Step::Set(row, value)),
            2 => (0..5000_usize, 1..60_usize, 0..3_i64).prop_map(|(row, count, value)| Step::Fill(row, count, value)),
            1 => (1..900_usize).prop_map(Step::Grow),
        ]
    }

    proptest! {
        #[test]
        fn a_list_and_a_column_say_the_same(steps in prop::collection::vec(steps(), 1..120)) {
            let mut column = SparseColumn::with_length(40);
            let mut expected = vec![0; 40];
            for step in steps {
                let sets = match step {
                    Step::Grow(by) => {
                        expected.resize(expected.len() + by, 0);
                        column.grow(expected.len());
                        continue;
                    }
                    Step::Set(row, value) => vec![(row, value)],
                    Step::Fill(row, count, value) => (row..row + count).map(|row| (row, value)).collect(),
                };
                for (row, value) in sets {
                    let row = row % expected.len();
                    column.set(NodeIndex::from_usize(row), value);
                    expected[row] = value;
                }
                let figures = column.figures();
                let told: Vec<i64> = (0..expected.len() + 3).map(|row| figures.at(row)).collect();
                prop_assert_eq!(&told[..expected.len()], expected.as_slice());
                prop_assert_eq!(&told[expected.len()..], &[0, 0, 0]);
                let used = expected.iter().filter(|value| **value != 0).count();
                let is_few = matches!(column.cells, Cells::Few(_));
                let bound = FEW.max(expected.len() / SPREAD);
                prop_assert!(if is_few { used <= bound } else { used > bound / 2 }, "{used} of {}", expected.len());
            }
        }
    }
}
