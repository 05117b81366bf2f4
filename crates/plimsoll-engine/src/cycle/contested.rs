use std::ops::Range;

use plimsoll_framework::{PodsSeen, Verdicts};
use plimsoll_model::Moment;
use plimsoll_model::columns::{Columns, NodeSet};

use super::Cycle;
use crate::nominations::Contender;

impl Cycle {
    /// Finds out which of the nodes that nominated pods contend for will not do with those pods on them, each node with its
    /// own only. Filters for which other nodes make no difference judge them all at once.
    pub(super) fn filter_contested(
        &mut self,
        columns: &mut Columns,
        contenders: &[Contender],
        now: Moment,
    ) -> Result<(), String> {
        self.contested.clear();
        if contenders.is_empty() {
            return Ok(());
        }
        let nodes: NodeSet = contenders.iter().map(|contender| contender.index).collect();
        let mut verdicts = std::mem::take(&mut self.verdicts);
        verdicts.begin(&nodes, columns.capacity());
        let result = self.judge_contested(&mut verdicts, columns, contenders, now);
        let rejected = nodes.iter().filter(|node| !verdicts.feasible().contains(*node));
        self.contested.extend(rejected.map(|node| (node, verdicts.of(node))));
        self.verdicts = verdicts;
        result
    }

    fn judge_contested(
        &mut self,
        verdicts: &mut Verdicts,
        columns: &mut Columns,
        contenders: &[Contender],
        now: Moment,
    ) -> Result<(), String> {
        for (filters, alone) in self.stretches() {
            if alone {
                self.filter_with(contenders, filters, verdicts, columns, now)?;
                continue;
            }
            let mut one = std::mem::take(&mut self.one_node);
            for of_one_node in contenders.chunk_by(|a, b| a.index == b.index) {
                let node = of_one_node[0].index;
                if !verdicts.feasible().contains(node) {
                    continue;
                }
                one.begin(&std::iter::once(node).collect(), columns.capacity());
                self.filter_with(of_one_node, filters.clone(), &mut one, columns, now)?;
                if one.feasible().is_empty() {
                    verdicts.reject(node, one.of(node));
                }
            }
            self.one_node = one;
        }
        Ok(())
    }

    /// The filters in order, those next to each other taken together if they are alike: whether they judge each node alone.
    fn stretches(&self) -> Vec<(Range<usize>, bool)> {
        let filters = &self.plan.profile.filter;
        let mut first = 0;
        let alike = filters.chunk_by(|a, b| a.judges_nodes_alone() == b.judges_nodes_alone());
        let stretches = alike.map(|stretch| {
            let filters = first..first + stretch.len();
            first = filters.end;
            (filters, stretch[0].judges_nodes_alone())
        });
        stretches.collect()
    }

    /// Runs filters with the contenders on their nodes for so long: with all of them, or with what they request where no filter
    /// sees more.
    pub(super) fn filter_with(
        &self,
        contenders: &[Contender],
        filters: impl IntoIterator<Item = usize> + Clone,
        verdicts: &mut Verdicts,
        columns: &mut Columns,
        now: Moment,
    ) -> Result<(), String> {
        if filters.clone().into_iter().all(|filter| self.skip_filter[filter]) {
            return Ok(());
        }
        let profile = &self.plan.profile;
        let sees_more =
            |filter: usize| !self.skip_filter[filter] && profile.filter[filter].pods_seen() == PodsSeen::Everything;
        let in_whole = filters.clone().into_iter().any(sees_more);
        for contender in contenders {
            if in_whole {
                let name = columns.name(contender.index).to_owned();
                columns.add_pod(&name, &contender.footprint);
            } else {
                columns.add_requests(contender.index, &contender.footprint);
            }
        }
        let result = self.run_filters(filters, verdicts, columns, now);
        for contender in contenders.iter().rev() {
            if in_whole {
                let name = columns.name(contender.index).to_owned();
                columns.remove_pod(&name, &contender.footprint);
            } else {
                columns.remove_requests(contender.index, &contender.footprint);
            }
        }
        result
    }
}
