use std::sync::Arc;
use std::time::Duration;

use plimsoll_framework::{
    Code, CycleContext, ExtensionPoint, Nomination, PostFilter, PostFilterOutcome, PreemptionTerms, Rejections, Status,
};
use plimsoll_model::Moment;
use plimsoll_model::columns::Columns;

use super::Cycle;
use crate::preemption::{Candidate, Hindrance};
use crate::{Diagnosis, PreemptionPlan};

/// What a failed post-filter costs is at most so large a part of the time until it is asked again for the same pod: others
/// are not to wait for one that hangs, again and again.
const REST: u32 = 10;
/// The same, whatever it costs.
const SHORTEST_REST: Duration = Duration::from_secs(1);
const LONGEST_REST: Duration = Duration::from_mins(1);

/// How far the post-filters have come with a pod that no node will do for.
#[derive(Default)]
pub(crate) struct PostFiltering {
    diagnosis: Option<Diagnosis>,
    /// Why the pre-filters turned the pod away as a whole, if they did.
    whole: Option<Status>,
    /// The post-filter to ask next.
    position: usize,
    nomination: Option<Nomination>,
    reasons: Vec<String>,
    /// What they say together.
    code: Option<Code>,
    /// Nodes on which preemption would make room, while one of them is still to be chosen.
    pub(crate) candidates: Vec<Candidate>,
    /// On which terms they were found.
    pub(crate) terms: Option<PreemptionTerms>,
    /// Every node is tried and every candidate kept: for a trial.
    pub(crate) exhaustive: bool,
}

impl Cycle {
    /// Lets the post-filters have their try at the pod that was turned away like this.
    pub(crate) fn begin_post_filters(&mut self, diagnosis: Diagnosis, whole: Option<Status>) {
        self.post_filtering = PostFiltering {
            diagnosis: Some(diagnosis),
            whole,
            exhaustive: self.post_filtering.exhaustive,
            ..PostFiltering::default()
        };
        self.timing.open();
    }

    /// The post-filter to ask, if there is one left.
    pub(crate) fn next_post_filter(&self) -> Option<Arc<dyn PostFilter>> {
        let post_filters = &self.plan.profile.post_filter;
        post_filters.get(self.post_filtering.position).cloned()
    }

    /// What post-filters see of the verdicts.
    pub(crate) fn rejections(&self) -> Rejections<'_> {
        match &self.post_filtering.whole {
            Some(status) => Rejections::of_all_nodes(status.code),
            None => Rejections::by_filters(&self.verdicts),
        }
    }

    pub(crate) fn ask_post_filter(
        &mut self,
        plugin: &dyn PostFilter,
        columns: &Columns,
        now: Moment,
    ) -> PostFilterOutcome {
        let context = CycleContext {
            pod: &self.pod,
            columns,
            now,
        };
        let rejections = match &self.post_filtering.whole {
            Some(status) => Rejections::of_all_nodes(status.code),
            None => Rejections::by_filters(&self.verdicts),
        };
        let begun = self.timing.plugin_begins();
        let outcome = plugin.post_filter(context, &mut self.state, rejections);
        let (code, point) = (outcome.status.code, ExtensionPoint::PostFilter);
        self.timing.plugin_ended(begun, plugin.name(), point, code, 0);
        outcome
    }

    /// Notes that preemption is being tried.
    pub(crate) fn note_preemption(&mut self) {
        if let Some(diagnosis) = &mut self.post_filtering.diagnosis {
            diagnosis.preemption_tried = true;
        }
    }

    /// Notes what kept preemption from making room: the pod is to be tried again when that is over, the plugin hears when
    /// budgets allow more, and the filters when they might let the pod on a node after evictions.
    pub(crate) fn note_hindrance(&mut self, hindrance: &Hindrance, plugin: &'static str) {
        let filters = hindrance.filters.iter();
        let in_the_way: Vec<_> = filters.filter_map(|filter| self.plan.filter_name(*filter)).collect();
        let Some(diagnosis) = &mut self.post_filtering.diagnosis else {
            return;
        };
        diagnosis.retry_at = hindrance.until;
        if hindrance.budgets && !diagnosis.plugins.contains(&plugin) {
            diagnosis.plugins.push(plugin);
            diagnosis.plugins.sort_unstable();
        }
        let others = in_the_way.into_iter();
        diagnosis.preemption_plugins = others.filter(|name| !diagnosis.plugins.contains(name)).collect();
        diagnosis.preemption_plugins.sort_unstable();
    }

    /// Takes in what the post-filter said whose turn it was. Success and the word that nothing can help are the last word;
    /// so is a failure, which changes no nomination. Else the next one is asked.
    pub(crate) fn heed(&mut self, outcome: PostFilterOutcome, plan: Option<PreemptionPlan>) {
        let work = &mut self.post_filtering;
        work.position += 1;
        work.code = Some(outcome.status.code);
        let is_last_word = !matches!(outcome.status.code, Code::Unschedulable | Code::Pending);
        if is_last_word {
            work.position = usize::MAX;
            work.reasons.clear();
            work.nomination = None;
        }
        let failed = matches!(outcome.status.code, Code::Error | Code::Wait | Code::Skip);
        if !failed && outcome.nomination != Nomination::Keep {
            work.nomination = Some(outcome.nomination);
        }
        work.reasons.extend(outcome.status.reasons);
        if let Some(diagnosis) = &mut work.diagnosis {
            diagnosis.preemption = plan;
        }
    }

    /// The diagnosis with what the post-filters said added to the text; what becomes of the nomination is theirs to say, if
    /// there are any. No event tells that one would not fail any more, so after a failure the pod is tried again in time.
    pub(crate) fn end_post_filters(&mut self, now: Moment) -> Option<Diagnosis> {
        let rest = now.since(self.begun_at).saturating_mul(REST);
        let rest = rest.clamp(SHORTEST_REST, LONGEST_REST);
        let work = &mut self.post_filtering;
        let mut diagnosis = work.diagnosis.take()?;
        if !self.plan.profile.post_filter.is_empty() {
            diagnosis.nominate = work.nomination.take().unwrap_or(Nomination::Keep);
            let code = match work.code.unwrap_or(Code::Unschedulable) {
                // Any other than a rejection is a failure there too.
                Code::Wait | Code::Skip => Code::Error,
                Code::Pending => Code::Unschedulable,
                code => code,
            };
            if code == Code::Error {
                diagnosis.retry_at = Some(now + rest);
            }
            self.timing.close(ExtensionPoint::PostFilter, code);
        }
        let message = work.reasons.join(", ");
        if !message.is_empty() {
            diagnosis.message.push(' ');
            diagnosis.message.push_str(&message);
        }
        Some(diagnosis)
    }
}
