use std::collections::BTreeMap;
use std::sync::Arc;

use smallvec::SmallVec;

/// Which plugins turned a pod away in its last attempt, or hold it back.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct PluginSet {
    rejecting: SmallVec<[&'static str; 2]>,
    pending: SmallVec<[&'static str; 1]>,
    /// Those that stood in the way of a preemption and are not among the others.
    hindering: SmallVec<[&'static str; 1]>,
}

impl PluginSet {
    pub(crate) fn new(rejecting: &[&'static str], pending: &[&'static str]) -> Self {
        let mut set = Self {
            rejecting: rejecting.into(),
            pending: pending.into(),
            hindering: SmallVec::new(),
        };
        set.rejecting.sort_unstable();
        set.rejecting.dedup();
        set.pending.sort_unstable();
        set.pending.dedup();
        set
    }

    /// The set with those that stood in the way of a preemption.
    pub(crate) fn hindered_by(mut self, plugins: &[&'static str]) -> Self {
        let others = plugins
            .iter()
            .filter(|plugin| !self.iter().any(|other| other == **plugin));
        let mut hindering: SmallVec<[&'static str; 1]> = others.copied().collect();
        hindering.sort_unstable();
        hindering.dedup();
        self.hindering = hindering;
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rejecting.is_empty() && self.pending.is_empty()
    }

    /// Whether a plugin answered `Pending`.
    pub(crate) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Whether this plugin answered `Pending`.
    pub(crate) fn is_pending(&self, plugin: &str) -> bool {
        self.pending.contains(&plugin)
    }

    /// Every plugin that turned the pod away, each once.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &'static str> + '_ {
        let pending_only = self.pending.iter().filter(|plugin| !self.rejecting.contains(plugin));
        self.rejecting.iter().chain(pending_only).copied()
    }

    /// Every plugin whose events may help the pod, each once.
    pub(crate) fn listening(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.iter().chain(self.hindering.iter().copied())
    }

    fn with(&self, plugin: &'static str) -> Self {
        let mut rejecting = self.rejecting.clone();
        rejecting.push(plugin);
        Self::new(&rejecting, &self.pending).hindered_by(&self.hindering)
    }
}

/// The number of a set; equal sets have one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PluginSetId(u32);

/// All sets seen. Waiting pods share a handful of them, so that a pod keeps four bytes rather than names.
#[derive(Debug)]
pub(crate) struct PluginSets {
    sets: Vec<Arc<PluginSet>>,
    ids: BTreeMap<Arc<PluginSet>, PluginSetId>,
}

impl PluginSets {
    /// The empty set.
    pub(crate) const EMPTY: PluginSetId = PluginSetId(0);

    pub(crate) fn new() -> Self {
        let mut sets = Self {
            sets: Vec::new(),
            ids: BTreeMap::new(),
        };
        sets.intern(PluginSet::default());
        sets
    }

    pub(crate) fn intern(&mut self, set: PluginSet) -> PluginSetId {
        if let Some(id) = self.ids.get(&set) {
            return *id;
        }
        let set = Arc::new(set);
        // Sets are made of the few plugins of the profiles: never near four thousand million.
        let id = PluginSetId(u32::try_from(self.sets.len()).unwrap_or(u32::MAX));
        self.sets.push(Arc::clone(&set));
        self.ids.insert(set, id);
        id
    }

    pub(crate) fn get(&self, id: PluginSetId) -> &Arc<PluginSet> {
        &self.sets[id.0 as usize]
    }

    /// The set with one more plugin.
    pub(crate) fn with(&mut self, id: PluginSetId, plugin: &'static str) -> PluginSetId {
        self.intern(self.get(id).with(plugin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_sets_share_a_number_whatever_their_order() {
        let mut sets = PluginSets::new();
        let one = sets.intern(PluginSet::new(&["B", "A"], &[]));
        let other = sets.intern(PluginSet::new(&["A", "B", "A"], &[]));
        assert_eq!(one, other);
        assert_ne!(one, PluginSets::EMPTY);
        assert_eq!(
            sets.with(PluginSets::EMPTY, "A"),
            sets.intern(PluginSet::new(&["A"], &[]))
        );
        assert_eq!(sets.with(one, "A"), one);
    }

    #[test]
    fn a_plugin_in_both_halves_is_named_once() {
        let set = PluginSet::new(&["A"], &["A", "P"]);
        assert_eq!(set.iter().collect::<Vec<_>>(), ["A", "P"]);
        assert!(set.is_pending("A") && set.is_pending("P"));
        assert!(!PluginSet::new(&["A"], &["P"]).is_pending("A"));
    }

    #[test]
    fn plugins_in_the_way_of_a_preemption_are_heard_and_have_turned_nobody_away() {
        let set = PluginSet::new(&["A"], &["P"]).hindered_by(&["P", "C", "A", "B", "C"]);
        assert_eq!(set.iter().collect::<Vec<_>>(), ["A", "P"]);
        assert_eq!(set.listening().collect::<Vec<_>>(), ["A", "P", "B", "C"]);
        assert_eq!(set.with("B").listening().collect::<Vec<_>>(), ["A", "B", "P", "C"]);
        assert_ne!(set, PluginSet::new(&["A"], &["P"]));
    }
}
