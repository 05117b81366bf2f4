//! Sums of scores by row, of which the best are found without a look at all of them.

use plimsoll_model::columns::{NodeIndex, NodeSet};
use smallvec::SmallVec;

pub(crate) const ROWS: usize = 64;

/// A node that is not feasible has this sum.
const NONE: i64 = i64::MIN;

/// The sums of the scores that follow rows.
#[derive(Debug, Default)]
pub(crate) struct RowScores {
    /// The numbers of the plugins that have scored.
    plugins: SmallVec<[usize; 8]>,
    /// The version of the columns by which they did.
    at: Option<u64>,
    sums: Vec<i64>,
    /// Of each 64 rows.
    blocks: Vec<Block>,
}

/// The best sum among some rows, and how many of them have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) best: i64,
    pub(crate) count: usize,
}

pub(crate) const EMPTY: Block = Block { best: NONE, count: 0 };

impl Block {
    /// Of those of 64 rows that are in a word.
    pub(crate) fn within(word: u64, sums: &[i64]) -> Self {
        let mut block = EMPTY;
        let mut rest = word;
        while rest != 0 {
            let sum = sums.get(rest.trailing_zeros() as usize).copied().unwrap_or(NONE);
            block = block.and(Self { best: sum, count: 1 });
            rest &= rest - 1;
        }
        block
    }

    fn of(sums: &[i64]) -> Self {
        sums.iter()
            .map(|sum| Self { best: *sum, count: 1 })
            .fold(EMPTY, Self::and)
    }

    pub(crate) fn and(self, other: Self) -> Self {
        if self.best == NONE || other.best > self.best {
            other
        } else if other.best == self.best {
            Self {
                best: self.best,
                count: self.count + other.count,
            }
        } else {
            self
        }
    }
}

impl RowScores {
    /// The version since which rows are to be looked at, if these plugins scored the others; none if all rows are.
    pub(crate) fn scored_at(&self, plugins: &[usize]) -> Option<u64> {
        self.at.filter(|_| self.plugins.as_slice() == plugins)
    }

    /// Nothing is known any more; rows below `capacity` are to come.
    pub(crate) fn restart(&mut self, plugins: &[usize]) {
        self.plugins = plugins.into();
        self.at = None;
        self.sums.clear();
        self.blocks.clear();
    }

    /// These rows have changed, of which these nodes are feasible and have these sums now, in ascending order.
    pub(crate) fn update(
        &mut self,
        version: u64,
        capacity: usize,
        changed: &NodeSet,
        feasible: &[NodeIndex],
        sums: &[i64],
    ) {
        if self.sums.len() < capacity {
            self.sums.resize(capacity, NONE);
            self.blocks.resize(capacity.div_ceil(ROWS), EMPTY);
        }
        for node in changed {
            if let Some(sum) = self.sums.get_mut(node.as_usize()) {
                *sum = NONE;
            }
        }
        for (node, new) in feasible.iter().zip(sums) {
            if let Some(sum) = self.sums.get_mut(node.as_usize()) {
                *sum = *new;
            }
        }
        for (block, (rows, word)) in self.blocks.iter_mut().zip(self.sums.chunks(ROWS).zip(changed.words())) {
            if *word != 0 {
                *block = Block::of(rows);
            }
        }
        self.at = Some(version);
    }

    /// By row; those of nodes that are feasible say something.
    pub(crate) fn sums(&self) -> &[i64] {
        &self.sums
    }

    /// The sum of a feasible node.
    pub(crate) fn of(&self, node: NodeIndex) -> i64 {
        self.sums.get(node.as_usize()).copied().unwrap_or(NONE)
    }

    /// How many nodes have the best sum.
    pub(crate) fn count_of_best(&self) -> usize {
        self.best().count
    }

    fn best(&self) -> Block {
        self.blocks.iter().copied().fold(EMPTY, Block::and)
    }

    /// One of the nodes that have the best sum, by its place among them in ascending order.
    pub(crate) fn nth_of_best(&self, nth: usize) -> Option<NodeIndex> {
        let best = self.best().best;
        let mut before = 0;
        for (at, block) in self.blocks.iter().enumerate() {
            if block.best != best || best == NONE {
                continue;
            }
            if nth < before + block.count {
                let first = at * ROWS;
                let rows = self.sums.iter().enumerate().skip(first).take(ROWS);
                let (row, _) = rows.filter(|(_, sum)| **sum == best).nth(nth - before)?;
                return u32::try_from(row).ok().map(NodeIndex::new);
            }
            before += block.count;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(row: u32) -> NodeIndex {
        NodeIndex::new(row)
    }

    fn told(scores: &mut RowScores, sums: &[(u32, Option<i64>)]) {
        let changed: NodeSet = sums.iter().map(|(row, _)| node(*row)).collect();
        let feasible: Vec<_> = sums
            .iter()
            .filter_map(|(row, sum)| Some((node(*row), (*sum)?)))
            .collect();
        let (nodes, sums): (Vec<_>, Vec<_>) = feasible.into_iter().unzip();
        scores.update(1, 300, &changed, &nodes, &sums);
    }

    fn best(scores: &RowScores) -> Vec<NodeIndex> {
        (0..scores.count_of_best())
            .filter_map(|nth| scores.nth_of_best(nth))
            .collect()
    }

    #[test]
    fn the_best_are_found_as_rows_change() {
        let mut scores = RowScores::default();
        scores.restart(&[0]);
        assert_eq!(best(&scores), []);
        told(
            &mut scores,
            &[
                (3, Some(7)),
                (70, Some(9)),
                (130, Some(9)),
                (299, Some(9)),
                (131, Some(9)),
            ],
        );
        assert_eq!(best(&scores), [70, 130, 131, 299].map(node));
        told(&mut scores, &[(70, None), (131, Some(2))]);
        assert_eq!(best(&scores), [130, 299].map(node));
        told(&mut scores, &[(0, Some(10))]);
        assert_eq!(best(&scores), [node(0)]);
        told(
            &mut scores,
            &[(0, None), (130, None), (299, None), (131, None), (3, Some(-5))],
        );
        assert_eq!(best(&scores), [node(3)]);
        assert_eq!(scores.nth_of_best(1), None);
        told(&mut scores, &[(3, None)]);
        assert_eq!((best(&scores), scores.nth_of_best(0)), (vec![], None));
    }
}
