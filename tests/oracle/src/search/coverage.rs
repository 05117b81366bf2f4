use std::fmt;

use super::SearchAnswer;
use crate::question::Coverage;

/// What searches came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Searches {
    /// Cases.
    pub cases: u64,
    /// Searches for one pod.
    pub searches: u64,
    /// Those that stopped at a share of the nodes.
    pub shared: u64,
    /// Those that found nothing.
    pub unfit: u64,
    /// Those that found exactly one node, or one that was better than all others.
    pub decided: u64,
}

/// Upstream never stops below so many.
const FEWEST: usize = 100;

impl Coverage<SearchAnswer> for Searches {
    fn count(&mut self, upstream: &SearchAnswer) {
        self.cases += 1;
        for search in upstream.searches.iter().flatten() {
            self.searches += 1;
            let found = search.feasible.as_ref().map_or(0, Vec::len);
            self.shared += u64::from(found >= FEWEST);
            self.unfit += u64::from(search.fit_error.is_some());
            self.decided += u64::from(search.best.as_ref().is_some_and(|best| best.len() == 1));
        }
    }

    fn add(&mut self, other: &Self) {
        self.cases += other.cases;
        self.searches += other.searches;
        self.shared += other.shared;
        self.unfit += other.unfit;
        self.decided += other.decided;
    }
}

impl fmt::Display for Searches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            cases,
            searches,
            shared,
            unfit,
            decided,
        } = self;
        writeln!(
            f,
            "{cases} clusters: {searches} searches, of which {shared} found a hundred nodes or more, {unfit} none, and \
             {decided} had one best node"
        )
    }
}
