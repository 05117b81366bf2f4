use std::sync::OnceLock;

use plimsoll_model::columns::{NodeIndex, NodeSet};

/// The nodes that will do for a pod.
#[derive(Debug)]
pub struct Feasible<'a> {
    nodes: &'a NodeSet,
    count: usize,
    list: &'a OnceLock<Vec<NodeIndex>>,
}

impl<'a> Feasible<'a> {
    /// These nodes; the list is made of them once it is wanted.
    pub fn new(nodes: &'a NodeSet, list: &'a OnceLock<Vec<NodeIndex>>) -> Self {
        Self {
            nodes,
            count: nodes.len(),
            list,
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// As a set: quick to combine with others.
    pub fn nodes(&self) -> &'a NodeSet {
        self.nodes
    }

    /// As a list in ascending order. Making it is a look at each of them, which is spared if nobody asks.
    pub fn list(&self) -> &'a [NodeIndex] {
        self.list.get_or_init(|| self.nodes.iter().collect())
    }
}
