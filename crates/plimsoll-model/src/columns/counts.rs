use super::Map;

/// At least this many cells are in use before a vector is worth its memory.
const WORTH_A_VECTOR: usize = 64;
/// A vector is worth it while one in this many of its cells is in use.
const SPREAD: usize = 8;

/// Counts by a small number (a row, or the slot of a label value). Most are about a few nodes, some about nearly all.
#[derive(Debug, Clone)]
pub(super) enum Counts {
    /// Those that are not 0.
    Few(Map<u32, u32>),
    /// One cell per number.
    Many {
        cells: Vec<u32>,
        /// How many are not 0.
        used: usize,
    },
}

impl Default for Counts {
    fn default() -> Self {
        Self::Few(Map::default())
    }
}

impl Counts {
    pub(super) fn get(&self, at: usize) -> u32 {
        match self {
            Self::Few(map) => narrow(at).and_then(|at| map.get(&at)).copied().unwrap_or(0),
            Self::Many { cells, .. } => cells.get(at).copied().unwrap_or(0),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Few(map) => map.is_empty(),
            Self::Many { used, .. } => *used == 0,
        }
    }

    /// Numbers whose count is not 0, in no order that means anything.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, u32)> {
        let (few, many) = match self {
            Self::Few(map) => (Some(map), None),
            Self::Many { cells, .. } => (None, Some(cells)),
        };
        let few = few.into_iter().flatten().map(|(at, count)| (*at as usize, *count));
        let many = many.into_iter().flatten().copied().enumerate();
        few.chain(many.filter(|(_, count)| *count > 0))
    }

    pub(super) fn add(&mut self, at: usize, count: u32) {
        if count == 0 {
            return;
        }
        match self {
            Self::Few(map) => {
                let Some(at) = narrow(at) else { return };
                let before = map.len();
                *map.entry(at).or_default() += count;
                // Now and then, so that finding the largest number costs nothing to speak of.
                if map.len() > before && map.len() >= WORTH_A_VECTOR && map.len().is_power_of_two() {
                    self.widen();
                }
            }
            Self::Many { cells, used } => {
                if at >= cells.len() {
                    cells.resize(at + 1, 0);
                }
                *used += usize::from(cells[at] == 0);
                cells[at] += count;
            }
        }
    }

    /// Takes away what was added; never goes below 0.
    pub(super) fn subtract(&mut self, at: usize, count: u32) {
        match self {
            Self::Few(map) => {
                let Some(at) = narrow(at) else { return };
                let Some(cell) = map.get_mut(&at) else { return };
                *cell = cell.saturating_sub(count);
                if *cell == 0 {
                    map.remove(&at);
                }
            }
            Self::Many { cells, used } => {
                let Some(cell) = cells.get_mut(at).filter(|cell| **cell > 0) else {
                    return;
                };
                *cell = cell.saturating_sub(count);
                *used -= usize::from(*cell == 0);
                if *used * SPREAD * 4 < cells.len() {
                    self.narrow_down();
                }
            }
        }
    }

    fn widen(&mut self) {
        let Self::Few(map) = self else { return };
        let length = map.keys().max().map_or(0, |at| *at as usize + 1);
        if map.len() * SPREAD < length {
            return;
        }
        let mut cells = vec![0; length];
        for (at, count) in map.iter() {
            cells[*at as usize] = *count;
        }
        let used = map.len();
        *self = Self::Many { cells, used };
    }

    fn narrow_down(&mut self) {
        let few = self
            .iter()
            .filter_map(|(at, count)| Some((narrow(at)?, count)))
            .collect();
        *self = Self::Few(few);
    }
}

/// There are never as many rows or values as there are numbers.
fn narrow(at: usize) -> Option<u32> {
    u32::try_from(at).ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn counts_equal_a_map_however_they_are_kept(
            steps in proptest::collection::vec((any::<bool>(), 0_usize..400, 1_u32..3), 1..1500)
        ) {
            let mut counts = Counts::default();
            let mut expected = BTreeMap::new();
            for (add, at, count) in steps {
                if add {
                    counts.add(at, count);
                    *expected.entry(at).or_insert(0) += count;
                } else {
                    counts.subtract(at, count);
                    let left = expected.get(&at).copied().unwrap_or(0_u32).saturating_sub(count);
                    if left == 0 {
                        expected.remove(&at);
                    } else {
                        expected.insert(at, left);
                    }
                }
                prop_assert_eq!(counts.get(at), expected.get(&at).copied().unwrap_or(0));
                prop_assert_eq!(counts.is_empty(), expected.is_empty());
            }
            prop_assert_eq!(counts.iter().collect::<BTreeMap<_, _>>(), expected);
        }
    }

    #[test]
    fn a_count_on_most_nodes_becomes_a_vector_and_shrinks_back() {
        let mut counts = Counts::default();
        for at in 0..1000 {
            counts.add(at, 1);
        }
        assert!(matches!(counts, Counts::Many { used: 1000, .. }));
        for at in 0..995 {
            counts.subtract(at, 1);
        }
        assert!(matches!(&counts, Counts::Few(map) if map.len() < 40));
        assert_eq!(counts.get(999), 1);
    }

    #[test]
    fn a_few_far_apart_stay_in_a_map() {
        let mut counts = Counts::default();
        for at in 0..128 {
            counts.add(at * 1000, 1);
        }
        assert!(matches!(counts, Counts::Few(_)));
    }
}
