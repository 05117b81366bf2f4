//! Nodes in groups that get the same scores from plugins that look at more than a node's row: the best node of a group is the one
//! with the best sum of the scores that do follow rows, so that a look at one node of each group is as good as at all.

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use plimsoll_framework::MarkBasis;
use plimsoll_model::columns::{NodeIndex, NodeSet};
use smallvec::SmallVec;

use crate::row_scores::{Block, EMPTY, ROWS};

/// More groups than this are not kept: each costs a look at a block for every 64 nodes.
const MOST_GROUPS: usize = 64;

/// Of so many changed rows each block is found by itself, of more all are looked at.
const FEW: usize = 128;

/// The row is in no group.
const NOWHERE: u16 = u16::MAX;

/// What tells nodes apart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ToldApart {
    /// The plugins whose scores follow rows, by their numbers.
    pub(crate) by_row: SmallVec<[usize; 8]>,
    /// Those that mark nodes, each with what its marks follow from.
    pub(crate) marking: SmallVec<[(usize, MarkBasis); 4]>,
    /// The filters that sort nodes out.
    pub(crate) filters: SmallVec<[usize; 4]>,
}

/// The marks of one node, of one plugin after the other.
pub(crate) type Marks = SmallVec<[u64; 4]>;

/// The nodes that passed the filters that follow rows, by what tells them apart.
#[derive(Debug)]
pub(crate) struct ScoreGroups {
    pub(crate) told_apart: ToldApart,
    /// The version of the columns by which they were.
    at: Option<u64>,
    of_row: Vec<u16>,
    groups: Vec<Group>,
    by_marks: HashMap<Marks, u16, FixedState>,
    /// Groups without a node.
    free: Vec<u16>,
    too_many: bool,
}

#[derive(Debug, Default)]
struct Group {
    marks: Marks,
    nodes: NodeSet,
    count: usize,
    /// Of each 64 rows.
    blocks: Vec<Block>,
}

/// A group of which some node is feasible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Member {
    group: u16,
    /// The first such node.
    pub(crate) node: NodeIndex,
    /// What the others score each of its nodes.
    pub(crate) more: i64,
}

/// The groups that have the best nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Winners {
    groups: SmallVec<[Winner; 4]>,
    /// How many nodes are best.
    pub(crate) count: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Winner {
    group: u16,
    /// The sum by rows of its best nodes.
    best: i64,
}

impl ScoreGroups {
    pub(crate) fn new(told_apart: ToldApart) -> Self {
        Self {
            told_apart,
            at: None,
            of_row: Vec::new(),
            groups: Vec::new(),
            by_marks: HashMap::default(),
            free: Vec::new(),
            too_many: false,
        }
    }

    /// The version since which nodes are to be marked anew; none if all are.
    pub(crate) fn marked_at(&self) -> Option<u64> {
        self.at
    }

    /// Whether there would be so many groups that a look at all nodes is better.
    pub(crate) fn are_too_many(&self) -> bool {
        self.too_many
    }

    /// These rows have changed, of which these nodes are feasible by their rows and have these marks and sums now, nodes in
    /// ascending order.
    pub(crate) fn update(
        &mut self,
        version: u64,
        changed: &NodeSet,
        nodes: &[NodeIndex],
        marks: &[Marks],
        sums: &[i64],
    ) {
        if self.of_row.len() < sums.len() {
            self.of_row.resize(sums.len(), NOWHERE);
        }
        let mut touched = Touched {
            words: Vec::new(),
            all: changed.len() > FEW,
        };
        for node in changed {
            self.leave(node, &mut touched);
        }
        for (node, marks) in nodes.iter().zip(marks) {
            let Some(group) = self.group_of(marks) else {
                self.give_up();
                return;
            };
            self.enter(*node, group, &mut touched);
        }
        if touched.all {
            for group in &mut self.groups {
                (0..group.nodes.words().len()).for_each(|word| group.look_at(word, sums));
            }
        }
        touched.words.sort_unstable();
        touched.words.dedup();
        for (group, word) in touched.words {
            if let Some(group) = self.groups.get_mut(usize::from(group)) {
                group.look_at(word, sums);
            }
        }
        self.at = Some(version);
    }

    fn leave(&mut self, node: NodeIndex, touched: &mut Touched) {
        let Some(of_row) = self.of_row.get_mut(node.as_usize()) else {
            return;
        };
        let number = std::mem::replace(of_row, NOWHERE);
        let Some(group) = self.groups.get_mut(usize::from(number)) else {
            return;
        };
        group.nodes.remove(node);
        group.count -= 1;
        touched.note(number, node);
        if group.count == 0 {
            self.by_marks.remove(&group.marks);
            self.free.push(number);
        }
    }

    fn enter(&mut self, node: NodeIndex, number: u16, touched: &mut Touched) {
        let of_row = self.of_row.get_mut(node.as_usize());
        if let (Some(of_row), Some(group)) = (of_row, self.groups.get_mut(usize::from(number))) {
            *of_row = number;
            group.nodes.insert(node);
            group.count += 1;
            touched.note(number, node);
        }
    }

    /// The group with these marks, a new one if there is none; none if there are too many.
    fn group_of(&mut self, marks: &Marks) -> Option<u16> {
        if let Some(group) = self.by_marks.get(marks) {
            return Some(*group);
        }
        let number = if let Some(number) = self.free.pop() {
            number
        } else {
            if self.groups.len() >= MOST_GROUPS {
                return None;
            }
            self.groups.push(Group::default());
            u16::try_from(self.groups.len() - 1).ok()?
        };
        // Blocks of groups without a node are empty.
        self.groups[usize::from(number)].marks.clone_from(marks);
        self.by_marks.insert(marks.clone(), number);
        Some(number)
    }

    fn give_up(&mut self) {
        *self = Self {
            too_many: true,
            ..Self::new(std::mem::take(&mut self.told_apart))
        };
    }

    /// The groups that have feasible nodes, by the first of these.
    pub(crate) fn members(&self, feasible: &NodeSet) -> Vec<Member> {
        let numbered = (0..).zip(&self.groups).filter(|(_, group)| group.count > 0);
        let mut members: Vec<Member> = numbered
            .filter_map(|(number, group)| {
                let mut words = group.nodes.words().iter().zip(feasible.words()).enumerate();
                let (at, word) = words.find_map(|(at, (rows, feasible))| {
                    let word = rows & feasible;
                    (word != 0).then_some((at, word))
                })?;
                let row = u32::try_from(at * ROWS).ok()? + word.trailing_zeros();
                Some(Member {
                    group: number,
                    node: NodeIndex::new(row),
                    more: 0,
                })
            })
            .collect();
        members.sort_unstable_by_key(|member| member.node);
        members
    }

    /// The best of the feasible nodes: those with the most by their rows and by their group together.
    pub(crate) fn best(&self, members: &[Member], feasible: &NodeSet, sums: &[i64]) -> Winners {
        let (mut most, mut winners) = (i64::MIN, Winners::default());
        for member in members {
            let best = self.blocks(member.group, feasible, sums).map(|(_, _, block)| block);
            let best = best.fold(EMPTY, Block::and);
            if best.count == 0 {
                continue;
            }
            let total = best.best + member.more;
            if total > most || winners.count == 0 {
                (most, winners) = (total, Winners::default());
            }
            if total == most {
                winners.count += best.count;
                winners.groups.push(Winner {
                    group: member.group,
                    best: best.best,
                });
            }
        }
        winners
    }

    /// The feasible rows of a group, 64 at a time, with the best among them.
    fn blocks<'a>(
        &'a self,
        group: u16,
        feasible: &'a NodeSet,
        sums: &'a [i64],
    ) -> impl Iterator<Item = (usize, u64, Block)> + 'a {
        let group = self.groups.get(usize::from(group));
        let rows = group
            .into_iter()
            .flat_map(|group| group.nodes.words().iter().zip(&group.blocks));
        let words = rows.zip(feasible.words()).enumerate();
        words.filter_map(move |(at, ((rows, block), feasible))| match rows & feasible {
            0 => None,
            all if all == *rows => Some((at, all, *block)),
            some => Some((at, some, Block::within(some, sums.get(at * ROWS..).unwrap_or_default()))),
        })
    }

    /// One of the best nodes, by its place among them in ascending order.
    pub(crate) fn nth_of_best(
        &self,
        winners: &Winners,
        nth: usize,
        feasible: &NodeSet,
        sums: &[i64],
    ) -> Option<NodeIndex> {
        let mut best: Vec<u64> = vec![0; feasible.words().len()];
        for winner in &winners.groups {
            for (at, rows, block) in self.blocks(winner.group, feasible, sums) {
                if block.best == winner.best {
                    best[at] |= rows_with(winner.best, rows, sums.get(at * ROWS..).unwrap_or_default());
                }
            }
        }
        let mut before = 0;
        for (at, word) in best.iter().enumerate() {
            let here = word.count_ones() as usize;
            if nth < before + here {
                let mut rest = *word;
                for _ in before..nth {
                    rest &= rest - 1;
                }
                let row = u32::try_from(at * ROWS).ok()? + rest.trailing_zeros();
                return Some(NodeIndex::new(row));
            }
            before += here;
        }
        None
    }

    /// What one node has by its row and by its group together; none if it is in no group with feasible nodes.
    #[cfg(debug_assertions)]
    pub(crate) fn total_of(&self, node: NodeIndex, members: &[Member], sums: &[i64]) -> Option<i64> {
        let number = *self.of_row.get(node.as_usize())?;
        let member = members.iter().find(|member| member.group == number)?;
        Some(sums.get(node.as_usize())? + member.more)
    }
}

impl Group {
    /// Finds the best of 64 rows anew.
    fn look_at(&mut self, word: usize, sums: &[i64]) {
        let rows = self.nodes.words().get(word).copied().unwrap_or(0);
        if self.blocks.len() <= word {
            self.blocks.resize(word + 1, EMPTY);
        }
        self.blocks[word] = Block::within(rows, sums.get(word * ROWS..).unwrap_or_default());
    }
}

/// Where nodes have come and gone.
struct Touched {
    words: Vec<(u16, usize)>,
    /// So many that all blocks are to be looked at, and none is noted.
    all: bool,
}

impl Touched {
    fn note(&mut self, group: u16, node: NodeIndex) {
        let entry = (group, node.as_usize() / ROWS);
        if !self.all && self.words.last() != Some(&entry) {
            self.words.push(entry);
        }
    }
}

/// Those of 64 rows in a word that have this sum.
fn rows_with(sum: i64, word: u64, sums: &[i64]) -> u64 {
    let (mut rows, mut rest) = (0, word);
    while rest != 0 {
        let bit = rest.trailing_zeros();
        if sums.get(bit as usize) == Some(&sum) {
            rows |= 1 << bit;
        }
        rest &= rest - 1;
    }
    rows
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use smallvec::smallvec;

    use super::*;

    const NODES: usize = 300;

    /// A row that changes: its mark and its sum, or it is no longer feasible.
    type Change = (usize, Option<(u64, i64)>);

    fn changes() -> impl Strategy<Value = Vec<Vec<Change>>> {
        let change = (0..NODES, prop::option::weighted(0.8, (0..6_u64, 0..4_i64)));
        prop::collection::vec(prop::collection::vec(change, 1..60), 1..8)
    }

    fn node(row: usize) -> NodeIndex {
        NodeIndex::new(u32::try_from(row).unwrap())
    }

    proptest! {
        #[test]
        fn the_best_are_those_that_a_look_at_all_finds(
            rounds in changes(),
            out in prop::collection::btree_set(0..NODES, 0..200),
            more in prop::array::uniform6(0..5_i64),
        ) {
            let mut groups = ScoreGroups::new(ToldApart::default());
            let mut rows: Vec<Option<(u64, i64)>> = vec![None; NODES];
            let mut sums = vec![i64::MIN; NODES];
            for (version, round) in (1..).zip(rounds) {
                let changed: NodeSet = round.iter().map(|(row, _)| node(*row)).collect();
                for (row, state) in round {
                    rows[row] = state;
                    sums[row] = state.map_or(i64::MIN, |(_, sum)| sum);
                }
                let (mut nodes, mut marks) = (Vec::new(), Vec::new());
                for changed in &changed {
                    if let Some((mark, _)) = rows[changed.as_usize()] {
                        nodes.push(changed);
                        marks.push(smallvec![mark]);
                    }
                }
                groups.update(version, &changed, &nodes, &marks, &sums);
                let is_feasible = |row: &usize| rows[*row].is_some() && !out.contains(row);
                let feasible: NodeSet = (0..NODES).filter(is_feasible).map(node).collect();
                let total = |row: usize| {
                    let (mark, sum) = rows[row].unwrap();
                    sum + more[usize::try_from(mark).unwrap()]
                };
                let best = feasible.iter().map(|node| total(node.as_usize())).max();
                let expected: Vec<NodeIndex> =
                    feasible.iter().filter(|node| Some(total(node.as_usize())) == best).collect();
                let mut members = groups.members(&feasible);
                prop_assert!(members.is_sorted_by_key(|member| member.node));
                for member in &mut members {
                    let (mark, _) = rows[member.node.as_usize()].unwrap();
                    member.more = more[usize::try_from(mark).unwrap()];
                }
                let winners = groups.best(&members, &feasible, &sums);
                prop_assert_eq!(winners.count, expected.len());
                let found: Vec<NodeIndex> = (0..=winners.count)
                    .filter_map(|nth| groups.nth_of_best(&winners, nth, &feasible, &sums))
                    .collect();
                prop_assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn groups_without_a_node_are_used_again_and_too_many_are_given_up() {
        let sums = vec![1; 100];
        let mut groups = ScoreGroups::new(ToldApart::default());
        let one: NodeSet = [node(0)].into_iter().collect();
        for mark in 0..1000 {
            groups.update(mark, &one, &[node(0)], &[smallvec![mark]], &sums);
        }
        assert!(!groups.are_too_many());
        let all: NodeSet = (0..100).map(node).collect();
        let nodes: Vec<NodeIndex> = all.iter().collect();
        let marks: Vec<Marks> = (0..100).map(|mark| smallvec![mark]).collect();
        groups.update(1001, &all, &nodes, &marks, &sums);
        assert!(groups.are_too_many());
        assert!(groups.members(&all).is_empty());
    }
}
