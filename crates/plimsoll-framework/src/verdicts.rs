use plimsoll_model::columns::{NodeIndex, NodeSet};

use crate::Code;

/// A plugin's own number for why it rejected a node; it turns the number into text when somebody asks.
///
/// At most [`ReasonCode::MAX`]; a plugin with several simultaneous reasons uses the bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReasonCode(pub u32);

impl ReasonCode {
    /// Largest usable code.
    pub const MAX: u32 = (1 << REASON_BITS) - 1;
}

/// What could make a rejected node fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Resolvability {
    /// `Unschedulable`: removing pods from the node could help, so that it is a candidate for preemption.
    Resolvable,
    /// `UnschedulableAndUnresolvable`: removing pods does not help.
    Unresolvable,
    /// `Pending`: something outside the scheduler has to happen first. Removing pods does not help, and the pod returns
    /// without backoff once the plugin's events say so.
    Pending,
}

impl Resolvability {
    /// The status code that says so.
    pub fn code(self) -> Code {
        match self {
            Self::Resolvable => Code::Unschedulable,
            Self::Unresolvable => Code::UnschedulableAndUnresolvable,
            Self::Pending => Code::Pending,
        }
    }
}

const REASON_BITS: u32 = 23;
const UNRESOLVABLE: u32 = 1 << REASON_BITS;
const PENDING: u32 = 1 << (REASON_BITS + 1);
const PLUGIN_SHIFT: u32 = REASON_BITS + 2;

/// Why one node was rejected, in one word: plugin, resolvability and reason code. Zero is "not rejected".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Verdict(u32);

impl Verdict {
    /// Packs a rejection by the plugin at `filter` in the profile's filter list, which holds at most 127.
    pub fn rejected(filter: u8, code: ReasonCode, resolvability: Resolvability) -> Self {
        let resolvability = match resolvability {
            Resolvability::Resolvable => 0,
            Resolvability::Unresolvable => UNRESOLVABLE,
            Resolvability::Pending => PENDING,
        };
        Self(((u32::from(filter) + 1) << PLUGIN_SHIFT) | resolvability | (code.0 & ReasonCode::MAX))
    }

    /// Position in the profile's filter list of the plugin that rejected, if one did.
    pub fn filter(self) -> Option<u8> {
        u8::try_from(self.0 >> PLUGIN_SHIFT)
            .ok()
            .and_then(|plugin| plugin.checked_sub(1))
    }

    /// The plugin's own code.
    pub fn code(self) -> ReasonCode {
        ReasonCode(self.0 & ReasonCode::MAX)
    }

    /// What could help.
    pub fn resolvability(self) -> Resolvability {
        if self.0 & PENDING != 0 {
            Resolvability::Pending
        } else if self.0 & UNRESOLVABLE != 0 {
            Resolvability::Unresolvable
        } else {
            Resolvability::Resolvable
        }
    }
}

/// The verdict column of one cycle: which nodes are still feasible, and why each other one is not.
#[derive(Debug, Default)]
pub struct Verdicts {
    feasible: NodeSet,
    column: Vec<Verdict>,
}

impl Verdicts {
    /// Starts a cycle over `candidates`; `capacity` is the length of the columns. Buffers are kept between cycles.
    pub fn begin(&mut self, candidates: &NodeSet, capacity: usize) {
        self.feasible.clone_from(candidates);
        self.column.clear();
        self.column.resize(capacity, Verdict::default());
    }

    /// As `other` is; buffers are kept.
    pub fn copy_from(&mut self, other: &Self) {
        self.feasible.clone_from(&other.feasible);
        self.column.clone_from(&other.column);
    }

    /// Starts over for these nodes, new ones among them, and has filters look at no other until [`close`](Self::close).
    pub fn reopen(&mut self, nodes: &NodeSet, capacity: usize) -> Judged {
        if self.column.len() < capacity {
            self.column.resize(capacity, Verdict::default());
        }
        for node in nodes {
            if let Some(slot) = self.column.get_mut(node.as_usize()) {
                *slot = Verdict::default();
            }
        }
        let mut feasible = std::mem::replace(&mut self.feasible, nodes.clone());
        feasible.subtract(nodes);
        Judged { feasible }
    }

    /// Puts the other nodes back, which were feasible before.
    pub fn close(&mut self, judged: &Judged) {
        self.feasible.union_with(&judged.feasible);
    }

    /// Rejects a node with a verdict decided elsewhere, which stands whatever was decided here.
    pub fn overrule(&mut self, node: NodeIndex, verdict: Verdict) {
        self.feasible.remove(node);
        if let Some(slot) = self.column.get_mut(node.as_usize()) {
            *slot = verdict;
        }
    }

    /// Starts over for one node, after a pass over one node that began with the same capacity. What was judged of others is
    /// left as it is.
    pub fn restart(&mut self, node: NodeIndex) {
        self.feasible.clear();
        self.feasible.insert(node);
        if let Some(slot) = self.column.get_mut(node.as_usize()) {
            *slot = Verdict::default();
        }
    }

    /// Nodes that no plugin has rejected so far.
    pub fn feasible(&self) -> &NodeSet {
        &self.feasible
    }

    /// Why the node was rejected; the default value when it was not.
    pub fn of(&self, node: NodeIndex) -> Verdict {
        self.column.get(node.as_usize()).copied().unwrap_or_default()
    }

    /// The view that one filter writes through. Profiles hold at most 127 filters.
    pub fn pass(&mut self, filter: u8) -> FilterPass<'_> {
        FilterPass { verdicts: self, filter }
    }

    /// Takes back what was judged of a node: it is neither feasible nor rejected, as if nobody had looked at it.
    pub fn forget(&mut self, node: NodeIndex) {
        self.feasible.remove(node);
        if let Some(slot) = self.column.get_mut(node.as_usize()) {
            *slot = Verdict::default();
        }
    }

    /// Rejects a node with a verdict decided elsewhere, for example in a pass with nominated pods added.
    pub fn reject(&mut self, node: NodeIndex, verdict: Verdict) {
        if self.feasible.remove(node)
            && let Some(slot) = self.column.get_mut(node.as_usize())
        {
            *slot = verdict;
        }
    }
}

/// The feasible nodes that filters need not look at again, see [`Verdicts::reopen`].
#[derive(Debug)]
pub struct Judged {
    feasible: NodeSet,
}

/// What a filter sees and writes: the nodes still feasible, and rejections. The first rejection of a node stands.
#[derive(Debug)]
pub struct FilterPass<'a> {
    verdicts: &'a mut Verdicts,
    filter: u8,
}

impl FilterPass<'_> {
    /// Nodes still feasible.
    pub fn feasible(&self) -> &NodeSet {
        &self.verdicts.feasible
    }

    /// Rejects one node; nothing happens if an earlier plugin did.
    pub fn reject(&mut self, node: NodeIndex, code: ReasonCode, resolvability: Resolvability) {
        self.verdicts
            .reject(node, Verdict::rejected(self.filter, code, resolvability));
    }

    /// Rejects each feasible node in `nodes`.
    pub fn reject_set(&mut self, nodes: &NodeSet, code: ReasonCode, resolvability: Resolvability) {
        let mut hit = self.verdicts.feasible.clone();
        hit.intersect_with(nodes);
        for node in &hit {
            self.reject(node, code, resolvability);
        }
    }

    /// Keeps only feasible nodes in `nodes` and rejects the others.
    pub fn keep_only(&mut self, nodes: &NodeSet, code: ReasonCode, resolvability: Resolvability) {
        let mut hit = self.verdicts.feasible.clone();
        hit.subtract(nodes);
        for node in &hit {
            self.reject(node, code, resolvability);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_packs_plugin_code_and_resolvability() {
        for resolvability in [
            Resolvability::Resolvable,
            Resolvability::Unresolvable,
            Resolvability::Pending,
        ] {
            for (filter, code) in [(126, ReasonCode::MAX), (0, 0)] {
                let verdict = Verdict::rejected(filter, ReasonCode(code), resolvability);
                assert_eq!(verdict.filter(), Some(filter));
                assert_eq!(verdict.code(), ReasonCode(code));
                assert_eq!(verdict.resolvability(), resolvability);
            }
        }
        assert_eq!(Verdict::default().filter(), None);
    }

    #[test]
    fn the_first_rejection_of_a_node_stands() {
        let mut nodes = NodeSet::new();
        nodes.insert(NodeIndex::new(3));
        let mut verdicts = Verdicts::default();
        verdicts.begin(&nodes, 4);
        verdicts
            .pass(0)
            .reject(NodeIndex::new(3), ReasonCode(1), Resolvability::Resolvable);
        verdicts
            .pass(1)
            .reject(NodeIndex::new(3), ReasonCode(2), Resolvability::Unresolvable);
        assert_eq!(verdicts.of(NodeIndex::new(3)).filter(), Some(0));
        assert!(verdicts.feasible().is_empty());
    }
}
