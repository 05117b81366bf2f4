//! Scores that look at more than a node's row are asked about one node of each group that they cannot tell apart.

use plimsoll_framework::{CycleContext, MAX_NODE_SCORE};
use plimsoll_model::columns::NodeIndex;
use smallvec::SmallVec;

use super::Cycle;
use super::recalling::feasible_among;
use super::scoring::Sums;
use crate::recall::Known;
use crate::score_groups::{Marks, Member, ScoreGroups, ToldApart};

impl Cycle {
    /// The groups that have the best nodes, with what these plugins score them; none if some plugin does not mark nodes, or
    /// nodes are too different, or it fails: then all nodes are to be looked at.
    pub(super) fn score_groups(
        &self,
        by_row: SmallVec<[usize; 8]>,
        plugins: &[usize],
        known: &mut Known,
        context: CycleContext<'_>,
    ) -> Option<Sums> {
        let told_apart = self.told_apart(by_row, plugins, context)?;
        let mut groups = known.take_groups(&told_apart)?;
        let members = self.members_scored(&mut groups, plugins, known, context);
        let found = members.map(|members| {
            let winners = groups.best(&members, self.verdicts.feasible(), known.scores.sums());
            #[cfg(debug_assertions)]
            self.check_grouped(&groups, &members, plugins, known, context);
            winners
        });
        if let Some(winners) = found {
            return Some(Sums::Groups(groups, winners));
        }
        known.put_groups(groups);
        None
    }

    /// Gives back what it has of the pods of its kind, since the cycle is over.
    pub(crate) fn let_go_of_kind(&mut self) {
        self.verdicts.let_go();
        if let Sums::Groups(groups, _) = std::mem::take(&mut self.scoring.sums)
            && let Some(known) = &mut self.known
        {
            known.put_groups(groups);
        }
    }

    fn told_apart(
        &self,
        by_row: SmallVec<[usize; 8]>,
        plugins: &[usize],
        context: CycleContext<'_>,
    ) -> Option<ToldApart> {
        let basis = |number: &usize| {
            let plugin = &self.plan.profile.score[*number].plugin;
            Some((*number, plugin.mark_basis(context, &self.state)?))
        };
        let marking = plugins.iter().map(basis).collect::<Option<_>>()?;
        // Whether it sorts them is asked about none of them.
        let sorts = |number: &usize| {
            let plugin = &self.plan.profile.filter[*number];
            !self.skip_filter[*number] && plugin.sort_out(context, &self.state, &[], &mut [])
        };
        Some(ToldApart {
            by_row,
            marking,
            filters: (0..self.plan.profile.filter.len()).filter(sorts).collect(),
        })
    }

    /// Brings the groups up to date, and scores one node of each.
    fn members_scored(
        &self,
        groups: &mut ScoreGroups,
        plugins: &[usize],
        known: &Known,
        context: CycleContext<'_>,
    ) -> Option<Vec<Member>> {
        if groups.are_too_many() {
            return None;
        }
        let columns = context.columns;
        let changed = match groups.marked_at() {
            Some(version) => columns.changed_since(version),
            None => columns.nodes().clone(),
        };
        let nodes: Vec<NodeIndex> = feasible_among(known, &changed).iter().collect();
        let marks = self.marks(groups, &nodes, context)?;
        groups.update(columns.version(), &changed, &nodes, &marks, known.scores.sums());
        if groups.are_too_many() {
            return None;
        }
        let mut members = groups.members(self.verdicts.feasible());
        self.score_members(&mut members, plugins, context)?;
        Some(members)
    }

    /// The marks of these nodes.
    fn marks(&self, groups: &ScoreGroups, nodes: &[NodeIndex], context: CycleContext<'_>) -> Option<Vec<Marks>> {
        let mut all: Vec<Marks> = vec![Marks::new(); nodes.len()];
        let mut column = vec![0; nodes.len()];
        let told_apart = &groups.told_apart;
        let profile = &self.plan.profile;
        let scores = told_apart.marking.iter().map(|(number, _)| (true, *number));
        let filters = told_apart.filters.iter().map(|number| (false, *number));
        for (is_score, number) in scores.chain(filters) {
            column.fill(0);
            let marked = if is_score {
                let plugin = &profile.score[number].plugin;
                plugin.mark(context, &self.state, nodes, &mut column)
            } else {
                profile.filter[number].sort_out(context, &self.state, nodes, &mut column)
            };
            if !marked {
                return None;
            }
            for (marks, mark) in all.iter_mut().zip(&column) {
                marks.push(*mark);
            }
        }
        Some(all)
    }

    fn score_members(&self, members: &mut [Member], plugins: &[usize], context: CycleContext<'_>) -> Option<()> {
        let nodes: Vec<NodeIndex> = members.iter().map(|member| member.node).collect();
        let mut scores = vec![0; nodes.len()];
        for number in plugins {
            let weighted = &self.plan.profile.score[*number];
            scores.fill(0);
            let begun = self.timing.plugin_begins();
            weighted.plugin.score(context, &self.state, &nodes, &mut scores).ok()?;
            weighted
                .plugin
                .normalize_scores(context, &self.state, &nodes, &mut scores)
                .ok()?;
            if scores.iter().any(|score| !(0..=MAX_NODE_SCORE).contains(score)) {
                return None;
            }
            for (member, score) in members.iter_mut().zip(&scores) {
                member.more += score * weighted.weight;
            }
            self.tell_score(*number, begun);
        }
        Some(())
    }

    /// Debug builds look at all nodes as well.
    #[cfg(debug_assertions)]
    fn check_grouped(
        &self,
        groups: &ScoreGroups,
        members: &[Member],
        plugins: &[usize],
        known: &Known,
        context: CycleContext<'_>,
    ) {
        let nodes: Vec<NodeIndex> = self.verdicts.feasible().iter().collect();
        let mut totals: Vec<i64> = nodes.iter().map(|node| known.scores.of(*node)).collect();
        for number in plugins {
            let weighted = &self.plan.profile.score[*number];
            let mut scores = vec![0; nodes.len()];
            let outcome = weighted.plugin.score(context, &self.state, &nodes, &mut scores);
            let outcome = outcome.and_then(|()| {
                weighted
                    .plugin
                    .normalize_scores(context, &self.state, &nodes, &mut scores)
            });
            debug_assert_eq!(outcome, Ok(()), "{} scores", weighted.plugin.name());
            totals
                .iter_mut()
                .zip(&scores)
                .for_each(|(total, score)| *total += score * weighted.weight);
        }
        for (node, total) in nodes.iter().zip(totals) {
            let grouped = groups.total_of(*node, members, known.scores.sums());
            debug_assert_eq!(grouped, Some(total), "the scores of {}", context.columns.name(*node));
        }
    }
}
