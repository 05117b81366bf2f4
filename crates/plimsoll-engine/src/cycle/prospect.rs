//! What would help a pod, found out without anything coming of it.

use std::borrow::Cow;

use plimsoll_framework::{CycleContext, Resolvability, Verdict, Verdicts};
use plimsoll_model::Moment;
use plimsoll_model::columns::{Columns, NodeIndex, NodeSet};

use super::Cycle;
use crate::nominations::Contender;
use crate::{Lack, NearNode};

/// So many nodes are told.
const NEAREST: usize = 5;

/// What each filter says of every candidate, each asked by itself.
pub(crate) struct Survey {
    /// By the numbers of the filters that were asked.
    columns: Vec<(u8, Verdicts)>,
}

impl Survey {
    /// The filters that reject a node, with their verdicts.
    fn rejections(&self, node: NodeIndex) -> impl Iterator<Item = (u8, Verdict)> {
        let each = self
            .columns
            .iter()
            .map(move |(filter, column)| (*filter, column.of(node)));
        each.filter(|(_, verdict)| verdict.filter().is_some())
    }
}

impl Cycle {
    /// Names of the pre-filters that leave only some nodes.
    pub(crate) fn restricting(&self) -> &[&'static str] {
        &self.restricting
    }

    /// Asks every filter about every candidate.
    pub(crate) fn survey(&self, columns: &Columns, now: Moment) -> Result<Survey, String> {
        let mut survey = Survey { columns: Vec::new() };
        for number in 0..self.plan.profile.filter.len() {
            if self.skip_filter[number] {
                continue;
            }
            let mut verdicts = Verdicts::default();
            verdicts.begin(&self.candidates, columns.capacity());
            self.run_filters(std::iter::once(number), &mut verdicts, columns, now)?;
            if verdicts.feasible().len() < self.candidates.len() {
                survey.columns.push((u8::try_from(number).unwrap_or(u8::MAX), verdicts));
            }
        }
        Ok(survey)
    }

    /// Candidates that no filter rejects, while nobody else is meant for them.
    pub(crate) fn unrejected(&self, survey: &Survey) -> NodeSet {
        let mut left = self.candidates.clone();
        for (_, column) in &survey.columns {
            left.intersect_with(column.feasible());
        }
        left
    }

    /// Which of these nodes will not do with the pods on them that are nominated there.
    pub(crate) fn contested_among(
        &mut self,
        contenders: &[Contender],
        columns: &mut Columns,
        now: Moment,
    ) -> Result<NodeSet, String> {
        self.filter_contested(columns, contenders, now)?;
        Ok(self.contested.iter().map(|(node, _)| *node).collect())
    }

    /// The nodes that the fewest filters reject, of those the ones that lack the least.
    pub(crate) fn nearest(&self, survey: &Survey, columns: &Columns, now: Moment) -> Vec<NearNode> {
        let mut ranked: Vec<(Rank, NodeIndex)> = Vec::with_capacity(self.candidates.len());
        ranked.extend(self.candidates.iter().map(|node| (Rank::of(survey, node), node)));
        let last = NEAREST.min(ranked.len()).saturating_sub(1);
        if !ranked.is_empty() {
            ranked.select_nth_unstable(last);
        }
        // Distances are asked only of nodes that may be among the nearest.
        let Some(worst) = ranked.get(last).map(|(rank, _)| *rank) else {
            return Vec::new();
        };
        let mut nearest: Vec<(Rank, u32, NodeIndex)> = ranked
            .into_iter()
            .filter(|(rank, _)| *rank <= worst)
            .map(|(rank, node)| (rank, self.distance(survey, node, columns, now), node))
            .collect();
        nearest.sort_unstable();
        nearest.truncate(NEAREST);
        nearest
            .into_iter()
            .map(|(_, _, node)| NearNode {
                name: columns.name(node).into(),
                lacks: self.lacks(survey, node, columns, now),
                kept_for: Vec::new(),
            })
            .collect()
    }

    fn distance(&self, survey: &Survey, node: NodeIndex, columns: &Columns, now: Moment) -> u32 {
        let context = self.context(columns, now);
        let each = survey.rejections(node).map(|(filter, _)| {
            let plugin = &self.plan.profile.filter[usize::from(filter)];
            plugin.distance(context, &self.state, node)
        });
        each.max().unwrap_or(0)
    }

    fn lacks(&self, survey: &Survey, node: NodeIndex, columns: &Columns, now: Moment) -> Vec<Lack> {
        let context = self.context(columns, now);
        let each = survey.rejections(node).map(|(filter, verdict)| {
            let plugin = &self.plan.profile.filter[usize::from(filter)];
            let reasons = plugin.reasons(context, &self.state, verdict.code());
            Lack {
                plugin: plugin.name(),
                reasons: reasons.into_iter().map(Cow::into_owned).collect(),
                details: plugin.lacking(context, &self.state, node),
                resolvability: verdict.resolvability(),
            }
        });
        each.collect()
    }

    fn context<'a>(&'a self, columns: &'a Columns, now: Moment) -> CycleContext<'a> {
        CycleContext {
            pod: &self.pod,
            columns,
            now,
        }
    }
}

/// How many filters reject a node, and how many of them for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    filters: u32,
    for_good: u32,
}

impl Rank {
    fn of(survey: &Survey, node: NodeIndex) -> Self {
        let unrejected = Self {
            filters: 0,
            for_good: 0,
        };
        survey.rejections(node).fold(unrejected, |rank, (_, verdict)| Self {
            filters: rank.filters + 1,
            for_good: rank.for_good + u32::from(verdict.resolvability() == Resolvability::Unresolvable),
        })
    }
}
