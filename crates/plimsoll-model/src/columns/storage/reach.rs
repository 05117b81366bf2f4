use smallvec::SmallVec;

use super::super::{NodeIndex, NodeSet};

/// Most nodes that are kept by number: a local volume is reached from one node, and there are as many of those as nodes.
const FEW: usize = 8;

/// The nodes from which something of storage can be reached.
#[derive(Debug, Clone)]
pub enum Reach {
    /// So few that they are listed, in ascending order.
    Few(SmallVec<[NodeIndex; 2]>),
    /// More.
    Many(NodeSet),
}

impl Default for Reach {
    fn default() -> Self {
        Self::Few(SmallVec::new())
    }
}

impl From<NodeSet> for Reach {
    fn from(nodes: NodeSet) -> Self {
        let few: SmallVec<[NodeIndex; 2]> = nodes.iter().take(FEW + 1).collect();
        if few.len() <= FEW {
            Self::Few(few)
        } else {
            Self::Many(nodes)
        }
    }
}

impl Reach {
    /// Whether a node is among them.
    pub fn contains(&self, node: NodeIndex) -> bool {
        match self {
            Self::Few(few) => few.contains(&node),
            Self::Many(nodes) => nodes.contains(node),
        }
    }

    /// Puts them into a set.
    pub fn add_to(&self, set: &mut NodeSet) {
        match self {
            Self::Few(few) => {
                for node in few {
                    set.insert(*node);
                }
            }
            Self::Many(nodes) => set.union_with(nodes),
        }
    }

    /// Those that are in a set.
    pub fn within(&self, set: &NodeSet) -> NodeSet {
        match self {
            Self::Few(few) => few.iter().copied().filter(|node| set.contains(*node)).collect(),
            Self::Many(nodes) => {
                let mut within = set.clone();
                within.intersect_with(nodes);
                within
            }
        }
    }

    pub(super) fn set(&mut self, node: NodeIndex, is_in: bool) {
        match self {
            Self::Few(few) => match (few.binary_search(&node), is_in) {
                (Ok(at), false) => drop(few.remove(at)),
                (Err(at), true) if few.len() < FEW => few.insert(at, node),
                (Err(_), true) => {
                    let mut nodes: NodeSet = few.iter().copied().collect();
                    nodes.insert(node);
                    *self = Self::Many(nodes);
                }
                (Ok(_), true) | (Err(_), false) => {}
            },
            Self::Many(nodes) => {
                if is_in {
                    nodes.insert(node);
                } else if nodes.remove(node) {
                    *self = Self::from(std::mem::take(nodes));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn few_or_many_it_is_a_set(changes in proptest::collection::vec((0_u32..30, any::<bool>()), 0..80)) {
            let (mut reach, mut rows) = (Reach::default(), BTreeSet::new());
            for (row, is_in) in changes {
                reach.set(NodeIndex::new(row), is_in);
                if is_in { rows.insert(row); } else { rows.remove(&row); }
                let mut set = NodeSet::new();
                reach.add_to(&mut set);
                prop_assert_eq!(set.iter().map(NodeIndex::as_u32).collect::<BTreeSet<_>>(), rows.clone());
                prop_assert!((0..30).all(|row| reach.contains(NodeIndex::new(row)) == rows.contains(&row)));
                prop_assert_eq!(matches!(reach, Reach::Few(_)), rows.len() <= FEW);
                let even = NodeSet::from_fn(30, |row| row % 2 == 0);
                let within = reach.within(&even);
                prop_assert_eq!(within.len(), rows.iter().filter(|row| *row % 2 == 0).count());
            }
        }
    }
}
