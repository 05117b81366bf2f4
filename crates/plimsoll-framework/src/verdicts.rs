use std::sync::Arc;

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

/// Rejections of more nodes at once are kept as sets.
const SINGLE: usize = 64;

/// So many such sets at most: to find a node's verdict is to ask each of them.
const MOST_SETS: usize = 8;

/// The verdicts of one cycle: which nodes are still feasible, and why each other one is not.
#[derive(Debug, Default)]
pub struct Verdicts {
    feasible: NodeSet,
    /// What was judged here.
    book: Arc<Book>,
    /// What was judged before, of all nodes but some.
    before: Option<Before>,
}

/// Why nodes were rejected; of feasible ones it may say anything.
#[derive(Debug, Clone, Default)]
struct Book {
    column: Vec<Verdict>,
    /// No node is in two of them; of a node in one of them the column says nothing.
    sets: Vec<(NodeSet, Verdict)>,
}

#[derive(Debug)]
struct Before {
    book: Arc<Book>,
    /// The nodes that were feasible then.
    open: NodeSet,
}

impl Book {
    fn of(&self, node: NodeIndex) -> Verdict {
        let in_set = self.sets.iter().find(|(nodes, _)| nodes.contains(node));
        in_set.map_or_else(
            || self.column.get(node.as_usize()).copied().unwrap_or_default(),
            |(_, verdict)| *verdict,
        )
    }

    fn write(&mut self, node: NodeIndex, verdict: Verdict) {
        for (nodes, _) in &mut self.sets {
            nodes.remove(node);
        }
        if let Some(slot) = self.column.get_mut(node.as_usize()) {
            *slot = verdict;
        }
    }
}

impl Verdicts {
    /// Starts a cycle over `candidates`; `capacity` is the length of the columns. Buffers are kept between cycles.
    pub fn begin(&mut self, candidates: &NodeSet, capacity: usize) {
        self.feasible.clone_from(candidates);
        self.before = None;
        let book = Arc::make_mut(&mut self.book);
        book.sets.clear();
        book.column.clear();
        book.column.resize(capacity, Verdict::default());
    }

    /// As `other` is, which has begun by itself; what it knows is not copied, but [`let_go`](Self::let_go) should be called
    /// before it changes, else it is then.
    pub fn follow(&mut self, other: &Self) {
        self.feasible.clone_from(&other.feasible);
        let length = other.book.column.len();
        let book = Arc::make_mut(&mut self.book);
        book.sets.clear();
        // What is left in it of an earlier cycle is about nodes of which nothing is read here before it is written.
        book.column.resize(length, Verdict::default());
        self.before = Some(Before {
            book: Arc::clone(&other.book),
            open: other.feasible.clone(),
        });
    }

    /// Forgets what was judged by those followed: the cycle is over.
    pub fn let_go(&mut self) {
        self.before = None;
    }

    /// Starts over for these nodes, new ones among them, and has filters look at no other until [`close`](Self::close).
    pub fn reopen(&mut self, nodes: &NodeSet, capacity: usize) -> Judged {
        let book = Arc::make_mut(&mut self.book);
        if book.column.len() < capacity {
            book.column.resize(capacity, Verdict::default());
        }
        for node in nodes {
            book.write(node, Verdict::default());
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
        self.write(node, verdict);
    }

    /// Starts over for one node, after a pass over one node that began with the same capacity. What was judged of others is
    /// left as it is.
    pub fn restart(&mut self, node: NodeIndex) {
        self.feasible.clear();
        self.feasible.insert(node);
        self.write(node, Verdict::default());
    }

    /// Nodes that no plugin has rejected so far.
    pub fn feasible(&self) -> &NodeSet {
        &self.feasible
    }

    /// Why the node was rejected; the default value when it was not.
    pub fn of(&self, node: NodeIndex) -> Verdict {
        if self.feasible.contains(node) {
            return Verdict::default();
        }
        match &self.before {
            Some(before) if !before.open.contains(node) => before.book.of(node),
            _ => self.book.of(node),
        }
    }

    /// The view that one filter writes through. Profiles hold at most 127 filters.
    pub fn pass(&mut self, filter: u8) -> FilterPass<'_> {
        FilterPass { verdicts: self, filter }
    }

    /// Takes back what was judged of a node: it is neither feasible nor rejected, as if nobody had looked at it.
    pub fn forget(&mut self, node: NodeIndex) {
        self.feasible.remove(node);
        self.write(node, Verdict::default());
    }

    /// Rejects a node with a verdict decided elsewhere, for example in a pass with nominated pods added.
    pub fn reject(&mut self, node: NodeIndex, verdict: Verdict) {
        if self.feasible.remove(node) {
            self.write(node, verdict);
        }
    }

    /// Rejects feasible nodes.
    fn reject_all(&mut self, nodes: NodeSet, verdict: Verdict) {
        let book = Arc::make_mut(&mut self.book);
        if book.sets.len() < MOST_SETS && nodes.len() > SINGLE {
            self.feasible.subtract(&nodes);
            book.sets.push((nodes, verdict));
            return;
        }
        for node in &nodes {
            self.reject(node, verdict);
        }
    }

    fn write(&mut self, node: NodeIndex, verdict: Verdict) {
        if let Some(before) = &mut self.before {
            before.open.insert(node);
        }
        Arc::make_mut(&mut self.book).write(node, verdict);
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
        let verdict = Verdict::rejected(self.filter, code, resolvability);
        self.verdicts.reject_all(hit, verdict);
    }

    /// Keeps only feasible nodes in `nodes` and rejects the others.
    pub fn keep_only(&mut self, nodes: &NodeSet, code: ReasonCode, resolvability: Resolvability) {
        let mut hit = self.verdicts.feasible.clone();
        hit.subtract(nodes);
        let verdict = Verdict::rejected(self.filter, code, resolvability);
        self.verdicts.reject_all(hit, verdict);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

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

    const CAPACITY: u32 = 400;

    #[derive(Debug, Clone)]
    enum Step {
        RejectSet(u32, u32),
        KeepOnly(u32, u32),
        Reject(u32),
        Overrule(u32),
        Forget(u32),
        /// Another cycle begins by what is known so far.
        Follow,
        /// What is known of these is found out anew, and all are feasible.
        Reopen(u32, u32),
    }

    fn steps() -> impl Strategy<Value = Step> {
        let range = || (0..CAPACITY, 1..CAPACITY);
        prop_oneof![
            range().prop_map(|(from, count)| Step::RejectSet(from, count)),
            range().prop_map(|(from, count)| Step::KeepOnly(from, count)),
            (0..CAPACITY).prop_map(Step::Reject),
            (0..CAPACITY).prop_map(Step::Overrule),
            (0..CAPACITY).prop_map(Step::Forget),
            Just(Step::Follow),
            (0..CAPACITY, 1..40_u32).prop_map(|(from, count)| Step::Reopen(from, count)),
        ]
    }

    fn nodes_of(from: u32, count: u32) -> NodeSet {
        (from..CAPACITY.min(from + count)).map(NodeIndex::new).collect()
    }

    /// Verdicts kept one by one.
    #[derive(Clone)]
    struct Naive(BTreeMap<u32, Option<Verdict>>);

    impl Naive {
        fn reject(&mut self, nodes: impl Fn(u32) -> bool, verdict: Verdict) {
            for (node, state) in &mut self.0 {
                if nodes(*node) && *state == Some(Verdict::default()) {
                    *state = Some(verdict);
                }
            }
        }

        fn check(&self, verdicts: &Verdicts) -> Result<(), TestCaseError> {
            for (node, state) in &self.0 {
                let index = NodeIndex::new(*node);
                prop_assert_eq!(
                    verdicts.feasible().contains(index),
                    *state == Some(Verdict::default()),
                    "{}",
                    node
                );
                prop_assert_eq!(verdicts.of(index), state.unwrap_or_default(), "{}", node);
            }
            Ok(())
        }
    }

    proptest! {
        #[test]
        fn verdicts_are_the_same_however_they_are_kept(steps in prop::collection::vec(steps(), 1..40)) {
            let all = nodes_of(0, CAPACITY);
            let (mut known, mut cycle) = (Verdicts::default(), Verdicts::default());
            known.begin(&all, CAPACITY as usize);
            cycle.follow(&known);
            // A node that nobody has looked at has no state.
            let mut expected = Naive((0..CAPACITY).map(|node| (node, Some(Verdict::default()))).collect());
            let mut expected_known = expected.clone();
            for (at, step) in (0..).zip(steps) {
                let (filter, code) = (u8::try_from(at % 5).unwrap_or(0), ReasonCode(at));
                let verdict = Verdict::rejected(filter, code, Resolvability::Resolvable);
                let one = |node: u32| move |other: u32| other == node;
                match step {
                    Step::RejectSet(from, count) => {
                        let nodes = nodes_of(from, count);
                        cycle.pass(filter).reject_set(&nodes, code, Resolvability::Resolvable);
                        expected.reject(|node| nodes.contains(NodeIndex::new(node)), verdict);
                    }
                    Step::KeepOnly(from, count) => {
                        let nodes = nodes_of(from, count);
                        cycle.pass(filter).keep_only(&nodes, code, Resolvability::Resolvable);
                        expected.reject(|node| !nodes.contains(NodeIndex::new(node)), verdict);
                    }
                    Step::Reject(node) => {
                        cycle.pass(filter).reject(NodeIndex::new(node), code, Resolvability::Resolvable);
                        expected.reject(one(node), verdict);
                    }
                    Step::Overrule(node) => {
                        cycle.overrule(NodeIndex::new(node), verdict);
                        expected.0.insert(node, Some(verdict));
                    }
                    Step::Forget(node) => {
                        cycle.forget(NodeIndex::new(node));
                        expected.0.insert(node, None);
                    }
                    Step::Follow => {
                        cycle.let_go();
                        cycle.follow(&known);
                        expected = expected_known.clone();
                    }
                    Step::Reopen(from, count) => {
                        let nodes = nodes_of(from, count);
                        let judged = known.reopen(&nodes, CAPACITY as usize);
                        known.pass(filter).reject_set(&nodes_of(from, count / 2), code, Resolvability::Resolvable);
                        known.close(&judged);
                        for node in &nodes {
                            let rejected = node.as_u32() < from + count / 2;
                            let state = if rejected { verdict } else { Verdict::default() };
                            expected_known.0.insert(node.as_u32(), Some(state));
                        }
                        expected_known.check(&known)?;
                        // What goes on has seen what was known before.
                    }
                }
                expected.check(&cycle)?;
            }
        }

        #[test]
        fn rejections_at_once_are_known_from_cycle_to_cycle(
            ranges in prop::collection::vec((0..CAPACITY, 1..CAPACITY), 1..14),
            again in (0..CAPACITY, 1..40_u32),
        ) {
            let mut known = Verdicts::default();
            known.begin(&nodes_of(0, CAPACITY), CAPACITY as usize);
            let mut expected = Naive((0..CAPACITY).map(|node| (node, Some(Verdict::default()))).collect());
            for (at, (from, count)) in (0..).zip(ranges) {
                let nodes = nodes_of(from, count);
                known.pass(1).reject_set(&nodes, ReasonCode(at), Resolvability::Pending);
                let verdict = Verdict::rejected(1, ReasonCode(at), Resolvability::Pending);
                expected.reject(|node| nodes.contains(NodeIndex::new(node)), verdict);
                expected.check(&known)?;
            }
            let mut cycle = Verdicts::default();
            cycle.follow(&known);
            expected.check(&cycle)?;
            let nodes = nodes_of(again.0, again.1);
            let judged = known.reopen(&nodes, CAPACITY as usize);
            known.close(&judged);
            for node in &nodes {
                expected.0.insert(node.as_u32(), Some(Verdict::default()));
            }
            expected.check(&known)?;
        }
    }
}
