use std::fmt;

const WORD_BITS: usize = 64;

/// Row of a node in the columns: the same as long as the node lives, or pods are left on it; given to another node
/// afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct NodeIndex(u32);

impl NodeIndex {
    /// The row with this number.
    pub const fn new(row: u32) -> Self {
        Self(row)
    }

    /// There are never as many nodes as there are numbers.
    pub(super) fn from_usize(row: usize) -> Self {
        Self(u32::try_from(row).unwrap_or(u32::MAX))
    }

    /// Its number.
    pub const fn as_u32(self) -> u32 {
        self.0
    }

    /// Its number, to index a column with.
    pub const fn as_usize(self) -> usize {
        self.0 as usize
    }
}

/// A set of rows: one bit each, combined a machine word at a time.
#[derive(Default)]
pub struct NodeSet {
    words: Vec<u64>,
}

impl Clone for NodeSet {
    fn clone(&self) -> Self {
        Self {
            words: self.words.clone(),
        }
    }

    /// Keeps the memory.
    fn clone_from(&mut self, other: &Self) {
        self.words.clone_from(&other.words);
    }
}

impl NodeSet {
    /// The empty set.
    pub const fn new() -> Self {
        Self { words: Vec::new() }
    }

    /// The rows for which the predicate holds, out of the first `length`.
    pub fn from_fn(length: usize, mut holds: impl FnMut(usize) -> bool) -> Self {
        let mut words = vec![0_u64; length.div_ceil(WORD_BITS)];
        for (at, word) in words.iter_mut().enumerate() {
            let first = at * WORD_BITS;
            for bit in 0..WORD_BITS.min(length - first) {
                *word |= u64::from(holds(first + bit)) << bit;
            }
        }
        Self { words }
    }

    /// The rows whose cell in a column passes.
    pub fn from_column<T>(column: &[T], mut passes: impl FnMut(&T) -> bool) -> Self {
        let word = |cells: &[T]| {
            cells
                .iter()
                .rev()
                .fold(0_u64, |word, cell| word << 1 | u64::from(passes(cell)))
        };
        Self {
            words: column.chunks(WORD_BITS).map(word).collect(),
        }
    }

    /// Puts a row in; whether it was not in before.
    pub fn insert(&mut self, node: NodeIndex) -> bool {
        let (at, bit) = position(node);
        if at >= self.words.len() {
            self.words.resize(at + 1, 0);
        }
        let was_in = self.words[at] & bit != 0;
        self.words[at] |= bit;
        !was_in
    }

    /// Takes a row out; whether it was in.
    pub fn remove(&mut self, node: NodeIndex) -> bool {
        let (at, bit) = position(node);
        let Some(word) = self.words.get_mut(at) else {
            return false;
        };
        let was_in = *word & bit != 0;
        *word &= !bit;
        was_in
    }

    /// Whether a row is in.
    pub fn contains(&self, node: NodeIndex) -> bool {
        let (at, bit) = position(node);
        self.words.get(at).is_some_and(|word| word & bit != 0)
    }

    /// The rows in ascending order.
    pub fn iter(&self) -> Iter<'_> {
        Iter {
            words: &self.words,
            at: 0,
            rest: self.words.first().copied().unwrap_or(0),
        }
    }

    /// How many rows are in; counts bits.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether no row is in.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Takes all rows out and keeps the memory.
    pub fn clear(&mut self) {
        self.words.clear();
    }

    /// Keeps only rows that `other` has too.
    pub fn intersect_with(&mut self, other: &Self) {
        self.words.truncate(other.words.len());
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= other;
        }
    }

    /// Adds the rows of `other`.
    pub fn union_with(&mut self, other: &Self) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
    }

    /// Takes out the rows of `other`.
    pub fn subtract(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= !other;
        }
    }

    /// Whether the two have a row in common.
    pub fn intersects(&self, other: &Self) -> bool {
        self.words
            .iter()
            .zip(&other.words)
            .any(|(word, other)| word & other != 0)
    }

    /// Whether every row is also in `other`.
    pub fn is_subset_of(&self, other: &Self) -> bool {
        let others = other.words.iter().copied().chain(std::iter::repeat(0));
        self.words.iter().zip(others).all(|(word, other)| word & !other == 0)
    }

    /// How many rows the two have in common.
    pub fn intersection_len(&self, other: &Self) -> usize {
        self.words
            .iter()
            .zip(&other.words)
            .map(|(word, other)| (word & other).count_ones() as usize)
            .sum()
    }

    /// The first row, if there is one.
    pub fn first(&self) -> Option<NodeIndex> {
        self.iter().next()
    }

    /// The bits, 64 rows to a word; rows beyond the end are not in.
    pub fn words(&self) -> &[u64] {
        &self.words
    }
}

fn position(node: NodeIndex) -> (usize, u64) {
    (node.as_usize() / WORD_BITS, 1 << (node.as_usize() % WORD_BITS))
}

impl PartialEq for NodeSet {
    fn eq(&self, other: &Self) -> bool {
        let (short, long) = if self.words.len() <= other.words.len() {
            (self, other)
        } else {
            (other, self)
        };
        let (same, rest) = long.words.split_at(short.words.len());
        short.words == same && rest.iter().all(|word| *word == 0)
    }
}

impl Eq for NodeSet {}

impl FromIterator<NodeIndex> for NodeSet {
    fn from_iter<I: IntoIterator<Item = NodeIndex>>(nodes: I) -> Self {
        let mut set = Self::new();
        for node in nodes {
            set.insert(node);
        }
        set
    }
}

impl<'a> IntoIterator for &'a NodeSet {
    type Item = NodeIndex;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Debug for NodeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(NodeIndex::as_u32)).finish()
    }
}

/// Rows of a [`NodeSet`] in ascending order.
#[derive(Debug, Clone)]
pub struct Iter<'a> {
    words: &'a [u64],
    at: usize,
    /// Bits of the current word that are still to come.
    rest: u64,
}

impl Iterator for Iter<'_> {
    type Item = NodeIndex;

    fn next(&mut self) -> Option<NodeIndex> {
        while self.rest == 0 {
            self.at += 1;
            self.rest = *self.words.get(self.at)?;
        }
        let bit = self.rest.trailing_zeros() as usize;
        self.rest &= self.rest - 1;
        u32::try_from(self.at * WORD_BITS + bit).ok().map(NodeIndex)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn set(rows: &BTreeSet<u32>) -> NodeSet {
        rows.iter().copied().map(NodeIndex::new).collect()
    }

    fn rows(set: &NodeSet) -> BTreeSet<u32> {
        set.iter().map(NodeIndex::as_u32).collect()
    }

    fn some_rows() -> impl Strategy<Value = BTreeSet<u32>> {
        proptest::collection::btree_set(0_u32..300, 0..40)
    }

    proptest! {
        #[test]
        fn set_operations_are_those_of_sets(a in some_rows(), b in some_rows(), row in 0_u32..400) {
            let (left, right) = (set(&a), set(&b));
            let with = |change: fn(&mut NodeSet, &NodeSet)| {
                let mut changed = left.clone();
                change(&mut changed, &right);
                changed
            };
            prop_assert_eq!(rows(&with(NodeSet::union_with)), &a | &b);
            prop_assert_eq!(rows(&with(NodeSet::intersect_with)), &a & &b);
            prop_assert_eq!(rows(&with(NodeSet::subtract)), &a - &b);
            prop_assert_eq!(left.intersects(&right), !a.is_disjoint(&b));
            prop_assert_eq!(left.intersection_len(&right), (&a & &b).len());
            prop_assert_eq!(left.is_subset_of(&right), a.is_subset(&b));
            prop_assert_eq!(left == right, a == b);
            prop_assert_eq!((left.len(), left.is_empty()), (a.len(), a.is_empty()));
            prop_assert_eq!(left.first().map(NodeIndex::as_u32), a.first().copied());
            prop_assert_eq!(left.contains(NodeIndex::new(row)), a.contains(&row));
            prop_assert_eq!(&NodeSet::from_fn(300, |at| a.iter().any(|row| *row as usize == at)), &left);
            let column: Vec<bool> = (0..300).map(|row| a.contains(&row)).collect();
            prop_assert_eq!(&NodeSet::from_column(&column, |cell| *cell), &left);
            let (mut changed, mut expected) = (left, a);
            prop_assert_eq!(changed.insert(NodeIndex::new(row)), expected.insert(row));
            prop_assert_eq!(&rows(&changed), &expected);
            prop_assert_eq!(changed.remove(NodeIndex::new(row)), expected.remove(&row));
            prop_assert_eq!(&changed, &set(&expected));
        }
    }
}
