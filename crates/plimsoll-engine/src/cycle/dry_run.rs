use plimsoll_framework::{PodsSeen, Verdict, Verdicts};
use plimsoll_model::Moment;
use plimsoll_model::columns::{Columns, NodeIndex, NodeSet};

use super::Cycle;
use crate::fit_error::Histogram;
use crate::nominations::Contender;

/// Which filters are worth running on nodes without some of their pods.
#[derive(Debug, Default)]
pub(crate) struct LiveFilters {
    /// The filters of this cycle that see pods at all.
    pub(crate) numbers: Vec<usize>,
    /// The first filter that sees more than requests, or whose verdict on a node others change; the filters before it can judge
    /// by sums.
    by_sums: usize,
    /// None of them sees more of pods than how many there are on the node and what they request.
    pub(crate) see_requests_only: bool,
    /// What those that see pods say of a node follows its row.
    pub(crate) follow_rows: bool,
}

impl Cycle {
    /// Must come before [`Cycle::judge`]: makes room for one node after the other.
    pub(crate) fn begin_dry_runs(&mut self, columns: &Columns) -> LiveFilters {
        self.one_node.begin(&NodeSet::new(), columns.capacity());
        let filters = self.plan.profile.filter.iter().enumerate();
        let running = filters.filter(|(number, _)| !self.skip_filter[*number]);
        let seen: Vec<(usize, PodsSeen)> = running
            .map(|(number, filter)| match filter.pods_seen() {
                // Sums are changed on all nodes at once.
                PodsSeen::Requests if !filter.judges_nodes_alone() => (number, PodsSeen::Everything),
                seen => (number, seen),
            })
            .collect();
        let see_pods = seen.iter().filter(|(_, seen)| *seen != PodsSeen::Nothing);
        let sees_everything = seen.iter().find(|(_, seen)| *seen == PodsSeen::Everything);
        let numbers: Vec<usize> = see_pods.map(|(number, _)| *number).collect();
        LiveFilters {
            follow_rows: numbers
                .iter()
                .all(|number| self.plan.profile.filter[*number].follows_rows()),
            numbers,
            by_sums: sees_everything.map_or(self.plan.profile.filter.len(), |(number, _)| *number),
            see_requests_only: sees_everything.is_none(),
        }
    }

    /// What filters say of one node as the columns are now, with the nominated pods that count there and then without:
    /// those with these numbers, or all of them.
    pub(crate) fn judge(
        &mut self,
        node: NodeIndex,
        filters: Option<&[usize]>,
        contenders: &[Contender],
        columns: &mut Columns,
        now: Moment,
    ) -> Result<Verdict, String> {
        let mut one = std::mem::take(&mut self.one_node);
        one.restart(node);
        let result = match filters {
            Some(filters) => self.judge_twice(filters.iter().copied(), contenders, &mut one, columns, now),
            None => self.judge_twice(0..self.plan.profile.filter.len(), contenders, &mut one, columns, now),
        };
        let verdict = one.of(node);
        self.one_node = one;
        result.map(|()| verdict)
    }

    fn judge_twice(
        &self,
        filters: impl IntoIterator<Item = usize> + Clone,
        contenders: &[Contender],
        one: &mut Verdicts,
        columns: &mut Columns,
        now: Moment,
    ) -> Result<(), String> {
        if !contenders.is_empty() {
            self.filter_with(contenders, filters.clone(), one, columns, now)?;
        }
        self.run_filters(filters, one, columns, now)
    }

    /// Finds in one pass which nodes will not do even without all pods of lower priority than the pod's, as far as that can be
    /// told from sums: up to the first filter that sees more. Those that nominated pods contend for are looked at with them
    /// before, as in [`judge`](Self::judge). Nothing is known when a filter fails.
    pub(crate) fn judge_by_sums(
        &self,
        nodes: &NodeSet,
        contenders: &[Contender],
        live: &LiveFilters,
        columns: &mut Columns,
        now: Moment,
    ) -> Option<Verdicts> {
        let mut verdicts = Verdicts::default();
        verdicts.begin(nodes, columns.capacity());
        if !contenders.is_empty() {
            let contested: NodeSet = contenders.iter().map(|contender| contender.index).collect();
            let mut with = Verdicts::default();
            with.begin(&contested, columns.capacity());
            for contender in contenders {
                columns.add_requests(contender.index, &contender.footprint);
            }
            let result = self.filter_aside(&contested, live, &mut with, columns, now);
            for contender in contenders {
                columns.remove_requests(contender.index, &contender.footprint);
            }
            result.ok()?;
            for node in &contested {
                if !with.feasible().contains(node) {
                    verdicts.reject(node, with.of(node));
                } else if !live.see_requests_only {
                    // With these pods on it a later filter may have turned it away first.
                    verdicts.forget(node);
                }
            }
        }
        self.filter_aside(nodes, live, &mut verdicts, columns, now).ok()?;
        Some(verdicts)
    }

    /// Runs the filters that can judge by sums, without the pods of lower priority on these nodes.
    fn filter_aside(
        &self,
        nodes: &NodeSet,
        live: &LiveFilters,
        verdicts: &mut Verdicts,
        columns: &mut Columns,
        now: Moment,
    ) -> Result<(), String> {
        columns.set_requests_aside(nodes, self.pod.priority());
        let result = self.run_filters(0..live.by_sums, verdicts, columns, now);
        columns.bring_requests_back(nodes, self.pod.priority());
        result
    }

    /// Adds the texts behind a verdict that so many nodes share.
    pub(crate) fn add_reasons(
        &self,
        verdict: Verdict,
        nodes: usize,
        columns: &Columns,
        now: Moment,
        histogram: &mut Histogram<'_>,
    ) {
        if let Some(filter) = verdict.filter() {
            for reason in self.reasons(filter, verdict, columns, now) {
                histogram.add(reason, nodes);
            }
        }
    }
}
