use compact_str::CompactString;
use smallvec::SmallVec;

use super::NodeIndex;
use crate::Footprint;

/// What the pods on each node request, by their priority: how much would be free without the less important ones is a sum
/// over a handful of levels, however many pods there are.
#[derive(Debug, Clone, Default)]
pub(super) struct PriorityLevels {
    /// Of each row, by ascending priority.
    rows: Vec<Vec<Level>>,
}

/// The pods of one priority on one node, or several such levels together. Sums are exact.
#[derive(Debug, Clone, Default)]
pub(super) struct Level {
    priority: i32,
    pub(super) pods: i64,
    pub(super) milli_cpu: i128,
    pub(super) memory: i128,
    pub(super) ephemeral_storage: i128,
    pub(super) scalars: SmallVec<[(CompactString, i128); 1]>,
}

impl PriorityLevels {
    pub(super) fn grow(&mut self, length: usize) {
        self.rows.resize(length, Vec::new());
    }

    pub(super) fn add(&mut self, row: NodeIndex, footprint: &Footprint) {
        let levels = &mut self.rows[row.as_usize()];
        let priority = footprint.priority;
        let at = match levels.binary_search_by_key(&priority, |level| level.priority) {
            Ok(at) => at,
            Err(at) => {
                let level = Level {
                    priority,
                    ..Level::default()
                };
                levels.insert(at, level);
                at
            }
        };
        levels[at].add(footprint);
    }

    /// A level goes with its last pod, and with it whatever it named.
    pub(super) fn subtract(&mut self, row: NodeIndex, footprint: &Footprint) {
        let levels = &mut self.rows[row.as_usize()];
        let Ok(at) = levels.binary_search_by_key(&footprint.priority, |level| level.priority) else {
            return;
        };
        levels[at].subtract(footprint);
        if levels[at].pods == 0 {
            levels.remove(at);
        }
    }

    pub(super) fn pods_below(&self, row: NodeIndex, priority: i32) -> i64 {
        self.below(row, priority).map(|level| level.pods).sum()
    }

    /// Everything that pods below a priority request, into `sum`.
    pub(super) fn sum_below(&self, row: NodeIndex, priority: i32, sum: &mut Level) {
        *sum = Level::default();
        for level in self.below(row, priority) {
            sum.pods += level.pods;
            sum.milli_cpu += level.milli_cpu;
            sum.memory += level.memory;
            sum.ephemeral_storage += level.ephemeral_storage;
            for (name, amount) in &level.scalars {
                *sum.scalar(name) += amount;
            }
        }
    }

    fn below(&self, row: NodeIndex, priority: i32) -> impl Iterator<Item = &Level> {
        let levels = self.rows.get(row.as_usize()).into_iter().flatten();
        levels.take_while(move |level| level.priority < priority)
    }
}

impl Level {
    pub(super) fn add(&mut self, footprint: &Footprint) {
        self.change(footprint, 1);
    }

    fn subtract(&mut self, footprint: &Footprint) {
        self.change(footprint, -1);
    }

    fn change(&mut self, footprint: &Footprint, times: i8) {
        let wide = i128::from(times);
        let requests = &footprint.requests;
        self.pods += i64::from(times);
        self.milli_cpu += i128::from(requests.milli_cpu) * wide;
        self.memory += i128::from(requests.memory) * wide;
        self.ephemeral_storage += i128::from(requests.ephemeral_storage) * wide;
        for (name, amount) in &requests.scalars {
            *self.scalar(name) += i128::from(*amount) * wide;
        }
    }

    fn scalar(&mut self, name: &CompactString) -> &mut i128 {
        let known = self.scalars.iter().position(|(named, _)| named == name);
        let at = known.unwrap_or_else(|| {
            self.scalars.push((name.clone(), 0));
            self.scalars.len() - 1
        });
        &mut self.scalars[at].1
    }
}
