use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use plimsoll_framework::{
    Code, CycleContext, CycleState, Effect, EffectReply, Extender, ExtensionPoint, PreFilterOutcome, Restriction,
    Status, Verdict, Verdicts,
};
use plimsoll_model::columns::{Columns, NodeIndex, NodeSet};
use plimsoll_model::{Moment, Pod, Seq};

use crate::nominations::Contender;
use crate::plan::Plan;
use crate::recall::Known;
use crate::rejection::Share;
use crate::timeline::Timing;
pub(crate) use dry_run::LiveFilters;
use extending::Extending;
pub(crate) use post_filtering::PostFiltering;

mod contested;
mod dry_run;
mod explain;
mod extending;
mod grouping;
mod post_filtering;
mod prospect;
mod recalling;
mod sampling;
pub(crate) mod scoring;

/// Which nodes a filter pass looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The node that the pod is nominated to.
    Nominated(NodeIndex),
    /// Every candidate.
    All,
}

/// Which effect a cycle waits for.
#[derive(Debug)]
pub(crate) enum Awaited {
    /// That of the effect filter at this position.
    Filter(Scope, usize),
    /// The verdict of the extender at this position.
    Extender(Scope, usize),
    /// The scores of these extenders.
    Priorities(Vec<Arc<Extender>>),
    /// Whom the extender at this position would have evicted.
    Victims(usize),
}

/// What the pre-filters made of the pod.
pub(crate) enum Look {
    /// There are candidates.
    Candidates,
    /// No node can take it.
    Rejected(Status),
    /// Internal failure with its text.
    Failed(String),
}

/// One attempt at placing one pod. Its buffers are kept for the next.
pub(crate) struct Cycle {
    pub(crate) pod: Arc<Pod>,
    pub(crate) plan: Arc<Plan>,
    pub(crate) begun_at: Moment,
    pub(crate) judged_at: Seq,
    /// The effect whose reply is awaited.
    pub(crate) awaits: Option<Awaited>,
    pub(crate) state: CycleState,
    pub(crate) verdicts: Verdicts,
    candidates: NodeSet,
    /// How many nodes were looked at in search of feasible ones.
    pub(crate) evaluated: usize,
    entered: Option<Scope>,
    /// The node that the pod was nominated to and that will not do.
    turned_down: Option<NodeIndex>,
    scope: NodeSet,
    pub(crate) skip_filter: Vec<bool>,
    /// Pre-filters that named the only nodes that will do.
    restricting: Vec<&'static str>,
    contested: Vec<(NodeIndex, Verdict)>,
    /// Of one contested node.
    one_node: Verdicts,
    tally: HashMap<Verdict, Share, FixedState>,
    scoring: scoring::Buffers,
    extending: Extending,
    /// What is known for pods like this one.
    pub(crate) known: Option<Known>,
    pub(crate) post_filtering: PostFiltering,
    pub(crate) timing: Timing,
}

impl Cycle {
    pub(crate) fn new(pod: Arc<Pod>, plan: Arc<Plan>, now: Moment) -> Self {
        Self {
            pod,
            plan,
            begun_at: now,
            judged_at: Seq::ZERO,
            awaits: None,
            state: CycleState::new(),
            verdicts: Verdicts::default(),
            candidates: NodeSet::new(),
            evaluated: 0,
            entered: None,
            turned_down: None,
            scope: NodeSet::new(),
            skip_filter: Vec::new(),
            restricting: Vec::new(),
            contested: Vec::new(),
            one_node: Verdicts::default(),
            tally: HashMap::with_hasher(FixedState::default()),
            scoring: scoring::Buffers::default(),
            extending: Extending::default(),
            known: None,
            post_filtering: PostFiltering::default(),
            timing: Timing::default(),
        }
    }

    /// Makes a finished cycle's buffers serve another pod.
    pub(crate) fn reuse(&mut self, pod: Arc<Pod>, plan: Arc<Plan>, now: Moment) {
        self.pod = pod;
        self.plan = plan;
        self.begun_at = now;
        self.awaits = None;
        self.post_filtering = PostFiltering::default();
        self.state = CycleState::new();
    }

    /// Whether pre-filters have left any node aside.
    pub(crate) fn is_restricted(&self) -> bool {
        !self.restricting.is_empty()
    }

    pub(crate) fn candidates(&self) -> &NodeSet {
        &self.candidates
    }

    /// Lets plugins ask for counts, runs the pre-filters and finds the candidates.
    pub(crate) fn look(&mut self, columns: &mut Columns, now: Moment) -> Look {
        let plan = Arc::clone(&self.plan);
        let pod = Arc::clone(&self.pod);
        for plugin in &plan.profile.prepare {
            plugin.prepare(&pod, columns);
        }
        let columns = &*columns;
        let context = CycleContext {
            pod: &pod,
            columns,
            now,
        };
        self.candidates.clone_from(columns.nodes());
        self.restricting.clear();
        self.entered = None;
        self.turned_down = None;
        self.extending.clear();
        self.skip_filter.clear();
        let filters = plan.profile.filter.len() + plan.profile.effect_filter.len();
        self.skip_filter.resize(filters, false);
        let mut rejection = None;
        let mut absent_in_common = Vec::new();
        for (number, (plugin, filters)) in plan.profile.pre_filter.iter().zip(&plan.filters_of).enumerate() {
            self.timing.count_pre_filter(number);
            let begun = self.timing.plugin_begins();
            let outcome = plugin.pre_filter(context, &mut self.state);
            let code = code_of(&outcome);
            self.timing
                .plugin_ended(begun, plugin.name(), ExtensionPoint::PreFilter, code, 0);
            match outcome {
                PreFilterOutcome::Continue => {}
                PreFilterOutcome::Skip => {
                    for filter in filters {
                        self.skip_filter[*filter] = true;
                    }
                }
                PreFilterOutcome::Restrict(Restriction { nodes, absent }) => {
                    self.candidates.intersect_with(&nodes);
                    if self.restricting.is_empty() {
                        absent_in_common = absent;
                    } else {
                        absent_in_common.retain(|name| absent.contains(name));
                    }
                    self.restricting.push(plugin.name());
                    if self.candidates.is_empty() && absent_in_common.is_empty() {
                        return Look::Rejected(self.nothing_in_common());
                    }
                }
                PreFilterOutcome::Stop(status) => match status.code {
                    // Preemption cannot help, so the others need not be asked.
                    Code::UnschedulableAndUnresolvable => {
                        self.restricting.clear();
                        return Look::Rejected(Status {
                            plugin: plugin.name(),
                            ..status
                        });
                    }
                    // Preemption may help and will want what the others prepare.
                    Code::Unschedulable => {
                        rejection = Some(Status {
                            plugin: plugin.name(),
                            ..status
                        });
                    }
                    _ => {
                        let message = status.message();
                        return Look::Failed(format!("running PreFilter plugin {:?}: {message}", plugin.name()));
                    }
                },
            }
        }
        rejection.map_or(Look::Candidates, Look::Rejected)
    }

    fn nothing_in_common(&mut self) -> Status {
        self.restricting.sort_unstable();
        let message = match self.restricting.as_slice() {
            [plugin] => format!("node(s) didn't satisfy plugin {plugin}"),
            plugins => format!(
                "node(s) didn't satisfy plugin(s) [{}] simultaneously",
                plugins.join(" ")
            ),
        };
        Status::new(Code::UnschedulableAndUnresolvable, "", message)
    }

    /// The nodes that a pass looks at.
    pub(crate) fn enter(&mut self, scope: Scope) -> &NodeSet {
        if let (Scope::All, Some(Scope::Nominated(node))) = (scope, self.entered) {
            self.turned_down = self.verdicts.of(node).filter().map(|_| node);
        }
        self.entered = Some(scope);
        match scope {
            Scope::All => {
                self.evaluated = self.candidates.len();
                self.scope.clone_from(&self.candidates);
            }
            Scope::Nominated(node) => {
                self.scope.clear();
                self.scope.insert(node);
            }
        }
        &self.scope
    }

    /// Runs the filters over the nodes entered; nodes that nominated pods contend for must pass with those on them too.
    pub(crate) fn filter(
        &mut self,
        columns: &mut Columns,
        contenders: &[Contender],
        now: Moment,
    ) -> Result<(), String> {
        self.filter_contested(columns, contenders, now)?;
        self.timing.main_pass(true);
        let first = self.begin_verdicts(columns, now);
        let mut verdicts = std::mem::take(&mut self.verdicts);
        let result = self.run_filters(first..self.plan.profile.filter.len(), &mut verdicts, columns, now);
        self.timing.main_pass(false);
        self.verdicts = verdicts;
        result
    }

    /// Runs the filters with these numbers, those that are not to be skipped.
    fn run_filters(
        &self,
        filters: impl IntoIterator<Item = usize>,
        verdicts: &mut Verdicts,
        columns: &Columns,
        now: Moment,
    ) -> Result<(), String> {
        let context = CycleContext {
            pod: &self.pod,
            columns,
            now,
        };
        for number in filters {
            let nodes = verdicts.feasible().len();
            if nodes == 0 {
                break;
            }
            if self.skip_filter[number] {
                continue;
            }
            self.timing.count_filter(number, nodes);
            let plugin = &self.plan.profile.filter[number];
            let begun = self.timing.filter_begins();
            let pass = u8::try_from(number).unwrap_or(u8::MAX);
            let filtered = plugin.filter(context, &self.state, &mut verdicts.pass(pass));
            if begun.is_some() {
                let code = match &filtered {
                    Err(_) => Code::Error,
                    Ok(()) if verdicts.feasible().is_empty() => Code::Unschedulable,
                    Ok(()) => Code::Success,
                };
                self.timing
                    .plugin_ended(begun, plugin.name(), ExtensionPoint::Filter, code, nodes);
            }
            filtered.map_err(|error| format!("running {:?} filter plugin: {error}", plugin.name()))?;
        }
        Ok(())
    }

    /// What the effect filter at this position wants to know, if anything.
    pub(crate) fn request(&mut self, position: usize, columns: &Columns, now: Moment) -> Option<Effect> {
        let plugin = self.plan.profile.effect_filter.get(position)?;
        if self.skip_filter[self.plan.profile.filter.len() + position] {
            return None;
        }
        let context = CycleContext {
            pod: &self.pod,
            columns,
            now,
        };
        let number = self.plan.profile.filter.len() + position;
        self.timing.count_filter(number, self.verdicts.feasible().len());
        let request = plugin.request(context, &mut self.state, self.verdicts.feasible())?;
        Some(Effect {
            plugin: plugin.name(),
            request,
        })
    }

    /// Lets the effect filter at this position judge by what came back.
    pub(crate) fn apply(
        &mut self,
        position: usize,
        reply: EffectReply,
        columns: &Columns,
        now: Moment,
    ) -> Result<(), String> {
        let Some(plugin) = self.plan.profile.effect_filter.get(position) else {
            return Ok(());
        };
        let context = CycleContext {
            pod: &self.pod,
            columns,
            now,
        };
        let number = u8::try_from(self.plan.profile.filter.len() + position).unwrap_or(u8::MAX);
        plugin
            .apply(context, &mut self.state, reply, &mut self.verdicts.pass(number))
            .map_err(|error| format!("running {:?} filter plugin: {error}", plugin.name()))
    }
}

fn code_of(outcome: &PreFilterOutcome) -> Code {
    match outcome {
        PreFilterOutcome::Continue | PreFilterOutcome::Restrict(_) => Code::Success,
        PreFilterOutcome::Skip => Code::Skip,
        PreFilterOutcome::Stop(status) => status.code,
    }
}
