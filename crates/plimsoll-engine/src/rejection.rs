use compact_str::CompactString;
use plimsoll_model::columns::{Columns, NodeIndex};
use smallvec::SmallVec;

/// So many nodes are named for each rejection.
const EXAMPLES: usize = 3;

/// So many rejections of one attempt are told apart; what rejects the fewest nodes is left out beyond that.
const TOLD: usize = 24;

/// Nodes that one plugin rejected in an attempt for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// Who: a plugin, or `Extender`. A pre-filter that names the only nodes that will do rejects all others.
    pub plugin: &'static str,
    /// How many nodes.
    pub nodes: u32,
    /// Some of them.
    pub examples: SmallVec<[CompactString; EXAMPLES]>,
    /// What users read.
    pub reason: CompactString,
}

/// Nodes of one verdict: how many, and the first of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Share {
    pub(crate) nodes: usize,
    examples: SmallVec<[NodeIndex; EXAMPLES]>,
}

impl Share {
    pub(crate) fn add(&mut self, node: NodeIndex) {
        self.nodes += 1;
        if self.examples.len() < EXAMPLES {
            self.examples.push(node);
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.nodes += other.nodes;
        let wanted = EXAMPLES - self.examples.len();
        self.examples.extend(other.examples.iter().copied().take(wanted));
    }
}

/// The rejections of one attempt.
#[derive(Debug, Default)]
pub(crate) struct RejectionList(Vec<Rejection>);

impl RejectionList {
    pub(crate) fn add(&mut self, plugin: &'static str, reason: &str, share: &Share, columns: &Columns) {
        let count = u32::try_from(share.nodes).unwrap_or(u32::MAX);
        let names = share.examples.iter().map(|node| columns.name(*node).into());
        let same = |known: &&mut Rejection| known.plugin == plugin && known.reason.as_str() == reason;
        if let Some(known) = self.0.iter_mut().find(same) {
            known.nodes = known.nodes.saturating_add(count);
            let wanted = EXAMPLES.saturating_sub(known.examples.len());
            known.examples.extend(names.take(wanted));
        } else {
            self.0.push(Rejection {
                plugin,
                nodes: count,
                examples: names.collect(),
                reason: reason.into(),
            });
        }
    }

    /// Those of the most nodes first.
    pub(crate) fn sorted(mut self) -> Vec<Rejection> {
        self.0.sort_by(|a, b| {
            b.nodes
                .cmp(&a.nodes)
                .then_with(|| (a.plugin, &a.reason).cmp(&(b.plugin, &b.reason)))
        });
        self.0.truncate(TOLD);
        self.0
    }
}
