use std::borrow::Cow;

use compact_str::CompactString;
use plimsoll_framework::{Code, CycleContext, EXTENDER, Resolvability, Status, Verdict};
use plimsoll_model::Moment;
use plimsoll_model::columns::{Columns, NodeIndex};
use smallvec::SmallVec;

use super::Cycle;
use crate::fit_error::{Histogram, pre_filter_message};
use crate::rejection::{RejectionList, Share};
use crate::{Diagnosis, Nomination, Rejection};

/// What is told of nodes that an extender named neither among those that it keeps nor among those that it rejects.
const LEFT_OUT: &str = "left out by an extender without a reason";

impl Cycle {
    /// Why the pre-filters turned the pod away.
    pub(crate) fn explain_rejection(&self, status: &Status, columns: &Columns) -> Diagnosis {
        let mut plugins = self.restricting.clone();
        if !status.plugin.is_empty() {
            plugins.push(status.plugin);
        }
        let reason = status.message();
        let message = pre_filter_message(columns.node_count(), &reason);
        let mut rejections = RejectionList::default();
        if let Some(plugin) = plugins.last().copied() {
            let all = columns.nodes().iter().fold(Share::default(), |mut all, node| {
                all.add(node);
                all
            });
            rejections.add(plugin, &reason, &all, columns);
        }
        self.diagnosis(message, plugins, Vec::new(), rejections.sorted())
    }

    /// Why no node passed: one text per distinct verdict, however many nodes share it.
    pub(crate) fn explain(&mut self, columns: &Columns, now: Moment) -> Diagnosis {
        self.count_verdicts(columns);
        let mut tally: Vec<(Verdict, Share)> = self.tally.drain().collect();
        tally.sort_unstable_by_key(|(verdict, _)| *verdict);
        let mut rejections = RejectionList::default();
        let mut histogram = Histogram::default();
        let mut plugins = self.restricting.clone();
        if self.extending.has_rejected() {
            plugins.push(EXTENDER);
        }
        let mut pending_plugins = Vec::new();
        for (verdict, share) in tally {
            match verdict.filter() {
                Some(filter) => {
                    let name = self.plan.filter_name(filter);
                    plugins.extend(name);
                    if verdict.resolvability() == Resolvability::Pending {
                        pending_plugins.extend(name);
                    }
                    let reasons: SmallVec<[_; 2]> = self.reasons(filter, verdict, columns, now).collect();
                    rejections.add(name.unwrap_or_default(), &reasons.join(", "), &share, columns);
                    for reason in reasons {
                        histogram.add(reason, share.nodes);
                    }
                }
                None => {
                    if let Some(plugin) = self.restricting.first().copied() {
                        let reason = self.outside_restriction();
                        rejections.add(plugin, &reason, &share, columns);
                        histogram.add(Cow::Owned(reason), share.nodes);
                    } else if self.extending.has_rejected() {
                        rejections.add(EXTENDER, LEFT_OUT, &share, columns);
                    }
                }
            }
        }
        let message = histogram.message(columns.node_count());
        self.diagnosis(message, plugins, pending_plugins, rejections.sorted())
    }

    /// Why this node will not do, if so.
    pub(crate) fn rejection_of(&self, node: NodeIndex, columns: &Columns, now: Moment) -> Option<Status> {
        let verdict = self.verdicts.of(node);
        let Some(filter) = verdict.filter() else {
            let left_out = !self.candidates().contains(node);
            return left_out.then(|| Status::new(Code::UnschedulableAndUnresolvable, "", self.outside_restriction()));
        };
        let reasons = self.reasons(filter, verdict, columns, now).map(Cow::into_owned);
        Some(Status {
            code: verdict.resolvability().code(),
            reasons: reasons.collect(),
            plugin: self.plan.filter_name(filter).unwrap_or_default(),
        })
    }

    /// Names of the nodes that the pre-filters leave, when they name the only ones that will do.
    pub(crate) fn restriction(&self, columns: &Columns) -> Option<Vec<CompactString>> {
        let names = self.candidates().iter().map(|node| columns.name(node).into());
        (!self.restricting.is_empty()).then(|| names.collect())
    }

    fn count_verdicts(&mut self, columns: &Columns) {
        self.tally.clear();
        let mut run = (Verdict::default(), Share::default());
        for node in columns.nodes() {
            let verdict = self.verdicts.of(node);
            if verdict != run.0 {
                self.tally.entry(run.0).or_default().merge(&run.1);
                run = (verdict, Share::default());
            }
            run.1.add(node);
        }
        self.tally.entry(run.0).or_default().merge(&run.1);
        self.tally.retain(|_, share| share.nodes > 0);
    }

    pub(super) fn reasons(
        &self,
        filter: u8,
        verdict: Verdict,
        columns: &Columns,
        now: Moment,
    ) -> impl Iterator<Item = Cow<'static, str>> {
        let context = CycleContext {
            pod: &self.pod,
            columns,
            now,
        };
        let profile = &self.plan.profile;
        let number = usize::from(filter);
        let reasons = match profile.filter.get(number) {
            Some(plugin) => Some(plugin.reasons(context, &self.state, verdict.code())),
            None if number == self.plan.extender_number() => {
                let text = self.extending.text(verdict.code());
                text.map(|text| std::iter::once(Cow::Owned(text.to_owned())).collect())
            }
            None => profile
                .effect_filter
                .get(number - profile.filter.len())
                .map(|plugin| plugin.reasons(context, &self.state, verdict.code())),
        };
        reasons.into_iter().flatten()
    }

    fn outside_restriction(&self) -> String {
        let mut plugins = self.restricting.clone();
        plugins.sort_unstable();
        format!("node(s) didn't satisfy plugin(s) [{}]", plugins.join(" "))
    }

    fn diagnosis(
        &self,
        message: String,
        mut plugins: Vec<&'static str>,
        mut pending_plugins: Vec<&'static str>,
        rejections: Vec<Rejection>,
    ) -> Diagnosis {
        for names in [&mut plugins, &mut pending_plugins] {
            names.sort_unstable();
            names.dedup();
        }
        Diagnosis {
            message,
            plugins,
            pending_plugins,
            preemption_plugins: Vec::new(),
            rejections,
            nominate: Nomination::Clear,
            judged_at: self.judged_at,
            no_nodes: false,
            preemption_tried: false,
            preemption: None,
            retry_at: None,
        }
    }
}
