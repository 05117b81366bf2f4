use std::sync::Arc;

use plimsoll_framework::{Code, Effect, EffectReply, ExtensionPoint};
use plimsoll_model::columns::NodeIndex;
use plimsoll_model::{Moment, Pod};

use super::Engine;
use super::extending::ask_about_victims;
use super::reservations::tell_volume_errors;
use crate::cycle::{Awaited, Cycle, Look, Scope};
use crate::{Diagnosis, DropReason, Nomination, Notice, Outcome, Step};

/// Where a cycle is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stage {
    /// Pre-filters.
    Look,
    /// Filters over whole columns.
    Filter(Scope),
    /// Filters that need I/O, from this position on.
    Effects(Scope, usize),
    /// Extenders that filter, from this position on.
    Extenders(Scope, usize),
    /// Who is left?
    Sift(Scope),
    /// Nobody is: the post-filters have their try, one by one.
    PostFilter,
    /// Preemption has candidates: extenders that have a say in them, from this position on.
    AskAboutVictims(usize),
    /// All have: choose one.
    Victims,
    /// Several are: score.
    Rank,
    /// All scores are there: choose.
    Choose,
    /// One is chosen: check it against what was held back, then claim it.
    Settle(Choice),
}

/// A chosen node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choice {
    pub(super) node: NodeIndex,
    pub(super) evaluated: usize,
    pub(super) feasible: usize,
}

#[expect(clippy::large_enum_variant, reason = "one at a time, and moved once")]
pub(super) enum Flow {
    Go(Stage),
    Wait(Effect),
    Done(Outcome),
}

impl Engine {
    pub(super) fn start(&mut self, pod: &Arc<Pod>, now: Moment, out: &mut Vec<Notice>) -> Step {
        self.timeline.points.clear();
        self.timeline.plugins.clear();
        let pod = match self.latest(pod) {
            Ok(pod) => pod,
            Err(reason) => return Step::Done(Outcome::Dropped(reason)),
        };
        let Some(plan) = self.plan_for(&pod).map(Arc::clone) else {
            return Step::Done(Outcome::Dropped(DropReason::UnknownProfile));
        };
        let mut cycle = match self.spare.take() {
            Some(mut cycle) => {
                cycle.reuse(pod, plan, now);
                cycle
            }
            None => Box::new(Cycle::new(pod, plan, now)),
        };
        self.start_timing(&mut cycle);
        self.drive(cycle, Stage::Look, now, out)
    }

    pub(super) fn go_on(
        &mut self,
        mut cycle: Box<Cycle>,
        reply: EffectReply,
        now: Moment,
        out: &mut Vec<Notice>,
    ) -> Step {
        let Some(awaited) = cycle.awaits.take() else {
            return Step::Done(Outcome::Dropped(DropReason::NotWaiting));
        };
        match self.hear(&mut cycle, awaited, reply, now, out) {
            Ok(stage) => self.drive(cycle, stage, now, out),
            Err(message) => self.finish(cycle, |cycle| failed(cycle, message), now, out),
        }
    }

    /// Where the reply to an effect leads; `Err` is a failed attempt.
    fn hear(
        &mut self,
        cycle: &mut Cycle,
        awaited: Awaited,
        reply: EffectReply,
        now: Moment,
        out: &mut Vec<Notice>,
    ) -> Result<Stage, String> {
        match awaited {
            Awaited::Filter(scope, position) => match cycle.apply(position, reply, self.ledger.columns(), now) {
                Ok(()) => Ok(Stage::Effects(scope, position + 1)),
                Err(message) => {
                    cycle.timing.close(ExtensionPoint::Filter, Code::Error);
                    if scope == Scope::All {
                        Err(message)
                    } else {
                        Ok(Stage::Filter(Scope::All))
                    }
                }
            },
            Awaited::Extender(scope, position) => self.hear_extender(cycle, scope, position, reply, out),
            Awaited::Priorities(asked) => {
                self.hear_priorities(cycle, &asked, reply, out);
                Ok(Stage::Choose)
            }
            Awaited::Victims(position) => Ok(self.hear_about_victims(cycle, position, reply, out)),
        }
    }

    /// The version of the pod to judge, if it is to be tried at all.
    pub(super) fn latest(&self, pod: &Arc<Pod>) -> Result<Arc<Pod>, DropReason> {
        let latest = self.ledger.pod(&pod.uid).ok_or(DropReason::Gone)?;
        if latest.node_name().is_some() {
            Err(DropReason::Assigned)
        } else if self.ledger.claim_of(&pod.uid).is_some() {
            Err(DropReason::Assumed)
        } else if latest.is_terminating() {
            Err(DropReason::Deleting)
        } else {
            Ok(Arc::clone(latest))
        }
    }

    fn drive(&mut self, mut cycle: Box<Cycle>, mut stage: Stage, now: Moment, out: &mut Vec<Notice>) -> Step {
        loop {
            match self.advance(&mut cycle, stage, now, out) {
                Flow::Go(next) => stage = next,
                Flow::Wait(effect) => {
                    self.cycle = Some(cycle);
                    return Step::Needs(effect);
                }
                Flow::Done(outcome) => return self.finish(cycle, |_| outcome, now, out),
            }
        }
    }

    /// A cycle that was refused has not seen what was held back: `judged_at` says so, and the notices of it come later.
    fn finish(
        &mut self,
        mut cycle: Box<Cycle>,
        outcome: impl FnOnce(&Cycle) -> Outcome,
        now: Moment,
        out: &mut Vec<Notice>,
    ) -> Step {
        let outcome = outcome(&cycle);
        if let Outcome::Unschedulable(Diagnosis { nominate, .. }) | Outcome::Failed { nominate, .. } = &outcome {
            match nominate {
                Nomination::Keep => {}
                Nomination::Clear => self.nominations.remove(&cycle.pod.uid),
                Nomination::Set(node) => self.nominations.set(&cycle.pod, node.clone()),
            }
        }
        if let Outcome::Unschedulable(Diagnosis {
            preemption: Some(plan), ..
        }) = &outcome
        {
            self.settle_plan(plan, cycle.post_filtering.terms, now);
        }
        self.tell_of_ended_nominations(out);
        self.verdicts.extend(cycle.state.take_permit_verdicts());
        tell_volume_errors(&cycle.state, out);
        self.keep_kind(&mut cycle);
        cycle.timing.hand_over(&mut self.timeline, &mut self.evaluations);
        self.spare = Some(cycle);
        self.release_held(now, out);
        self.heed_verdicts(now, out);
        Step::Done(outcome)
    }

    fn advance(&mut self, cycle: &mut Cycle, stage: Stage, now: Moment, out: &mut Vec<Notice>) -> Flow {
        match stage {
            Stage::Look => self.look(cycle, now),
            Stage::Filter(scope) => self.filter(cycle, scope, now),
            Stage::Effects(scope, position) => self.effects(cycle, scope, position, now),
            Stage::Extenders(scope, position) => self.ask_extenders(cycle, scope, position),
            Stage::Sift(scope) => self.sift(cycle, scope, now),
            Stage::PostFilter => {
                let flow = self.post_filter(cycle, now);
                self.confirm_plan(cycle, flow, now, out)
            }
            Stage::AskAboutVictims(position) => ask_about_victims(cycle, position),
            Stage::Victims => self.take_victims(cycle),
            Stage::Rank => self.rank(cycle, now),
            Stage::Choose => self.choose(cycle),
            Stage::Settle(choice) => self.settle(cycle, choice, now, out),
        }
    }

    fn look(&mut self, cycle: &mut Cycle, now: Moment) -> Flow {
        self.note_judgement(cycle);
        if self.ledger.columns().node_count() == 0 {
            return Flow::Done(Outcome::Unschedulable(no_nodes(cycle)));
        }
        match self.examine(cycle, now) {
            Look::Candidates => Flow::Go(Stage::Filter(self.first_scope(cycle))),
            Look::Rejected(status) => {
                let columns = self.ledger.columns();
                let diagnosis = cycle.explain_rejection(&status, columns);
                cycle.begin_post_filters(diagnosis, Some(status));
                Flow::Go(Stage::PostFilter)
            }
            Look::Failed(message) => Flow::Done(failed(cycle, message)),
        }
    }

    /// Everything that comes before the filters.
    pub(super) fn examine(&mut self, cycle: &mut Cycle, now: Moment) -> Look {
        let begun = cycle.timing.now();
        let look = cycle.look(self.ledger.columns_mut(), now);
        cycle.time_look(begun, &look);
        look
    }

    /// The node that room was made on is most likely the only one that fits, so it is tried alone.
    fn first_scope(&self, cycle: &Cycle) -> Scope {
        let named = cycle
            .pod
            .status
            .nominated_node_name
            .as_ref()
            .or_else(|| self.nominations.node_of(&cycle.pod.uid));
        named
            .and_then(|node| self.ledger.columns().index_of(node))
            .filter(|node| cycle.candidates().contains(*node))
            .map_or(Scope::All, Scope::Nominated)
    }

    fn filter(&mut self, cycle: &mut Cycle, scope: Scope, now: Moment) -> Flow {
        cycle.timing.open();
        if scope == Scope::All {
            self.recall_kind(cycle);
        }
        let filtered = self.filter_pass(cycle, scope, now);
        if filtered.is_err() {
            cycle.timing.close(ExtensionPoint::Filter, Code::Error);
        }
        match filtered {
            Ok(()) => {
                if scope == Scope::All {
                    self.sample(cycle);
                }
                Flow::Go(Stage::Effects(scope, 0))
            }
            // Whatever is wrong with the nominated node, the others are still to be tried.
            Err(_) if scope != Scope::All => Flow::Go(Stage::Filter(Scope::All)),
            Err(message) => Flow::Done(failed(cycle, message)),
        }
    }

    /// Takes up what is known for pods of its kind. Extenders that are interested want the scores of single nodes.
    fn recall_kind(&mut self, cycle: &mut Cycle) {
        let has_extenders = cycle.plan.extenders(&cycle.pod).next().is_some();
        if cycle.known.is_none() && !has_extenders && !cycle.is_restricted() {
            cycle.known = self.recall.take(&cycle.pod, &cycle.plan, &cycle.skip_filter);
        }
    }

    fn keep_kind(&mut self, cycle: &mut Cycle) {
        cycle.let_go_of_kind();
        if let Some(known) = cycle.known.take().filter(|_| self.plans.contains(&cycle.plan)) {
            self.recall.put(known);
        }
    }

    pub(super) fn filter_pass(&mut self, cycle: &mut Cycle, scope: Scope, now: Moment) -> Result<(), String> {
        let pod = Arc::clone(&cycle.pod);
        let nodes = cycle.enter(scope);
        let contenders = self.nominations.contenders(&pod, nodes, self.ledger.columns());
        cycle.filter(self.ledger.columns_mut(), &contenders, now)
    }

    fn effects(&mut self, cycle: &mut Cycle, scope: Scope, position: usize, now: Moment) -> Flow {
        let asked_all = position >= cycle.plan.profile.effect_filter.len();
        if asked_all || cycle.verdicts.feasible().is_empty() {
            cycle.timing.close(ExtensionPoint::Filter, Code::Success);
            return Flow::Go(Stage::Extenders(scope, 0));
        }
        match cycle.request(position, self.ledger.columns(), now) {
            Some(effect) => {
                cycle.awaits = Some(Awaited::Filter(scope, position));
                Flow::Wait(effect)
            }
            None => Flow::Go(Stage::Effects(scope, position + 1)),
        }
    }

    fn sift(&mut self, cycle: &mut Cycle, scope: Scope, now: Moment) -> Flow {
        let feasible = cycle.verdicts.feasible();
        match (scope, feasible.len(), feasible.first()) {
            (Scope::Nominated(_), 1, Some(node)) => Flow::Go(Stage::Settle(Choice {
                node,
                evaluated: 1,
                feasible: 1,
            })),
            (Scope::Nominated(_), ..) => Flow::Go(Stage::Filter(Scope::All)),
            (Scope::All, 1, Some(node)) => {
                let evaluated = cycle.evaluated;
                Flow::Go(Stage::Settle(Choice {
                    node,
                    evaluated,
                    feasible: 1,
                }))
            }
            (Scope::All, _, Some(_)) => Flow::Go(Stage::Rank),
            (Scope::All, _, None) => {
                let columns = self.ledger.columns();
                let diagnosis = cycle.explain(columns, now);
                cycle.begin_post_filters(diagnosis, None);
                Flow::Go(Stage::PostFilter)
            }
        }
    }

    fn rank(&mut self, cycle: &mut Cycle, now: Moment) -> Flow {
        match cycle.rate(self.ledger.columns(), now, &mut ()) {
            Ok(()) => self.ask_priorities(cycle),
            Err(message) => Flow::Done(failed(cycle, message)),
        }
    }

    fn choose(&mut self, cycle: &mut Cycle) -> Flow {
        let Some(node) = cycle.choose(&mut self.ties) else {
            return Flow::Go(Stage::Sift(Scope::All));
        };
        Flow::Go(Stage::Settle(Choice {
            node,
            evaluated: cycle.evaluated,
            feasible: cycle.verdicts.feasible().len(),
        }))
    }

    fn settle(&mut self, cycle: &mut Cycle, choice: Choice, now: Moment, out: &mut Vec<Notice>) -> Flow {
        if self.held.is_empty() {
            return Flow::Done(self.claim_node(cycle, choice, now, out));
        }
        let name = self.ledger.columns().name(choice.node).to_owned();
        self.release_held(now, out);
        match self.latest(&cycle.pod) {
            Ok(pod) => cycle.pod = pod,
            Err(reason) => return Flow::Done(Outcome::Dropped(reason)),
        }
        if self.still_fits(cycle, &name, choice.node, now) {
            return Flow::Done(self.claim_node(cycle, choice, now, out));
        }
        tell_volume_errors(&cycle.state, out);
        self.keep_kind(cycle);
        let (pod, plan, begun_at) = (Arc::clone(&cycle.pod), Arc::clone(&cycle.plan), cycle.begun_at);
        cycle.reuse(pod, plan, begun_at);
        Flow::Go(Stage::Look)
    }

    /// Whether the chosen node, if its row is still its own, passes pre-filters and filters after what was held back.
    fn still_fits(&mut self, cycle: &mut Cycle, name: &str, node: NodeIndex, now: Moment) -> bool {
        self.note_judgement(cycle);
        let columns = self.ledger.columns();
        columns.index_of(name) == Some(node)
            && matches!(self.examine(cycle, now), Look::Candidates)
            && cycle.candidates().contains(node)
            && self.filter_pass(cycle, Scope::Nominated(node), now).is_ok()
            && cycle.verdicts.feasible().contains(node)
    }
}

pub(super) fn failed(cycle: &Cycle, message: String) -> Outcome {
    Outcome::Failed {
        message,
        judged_at: cycle.judged_at,
        nominate: Nomination::Clear,
    }
}

pub(super) fn no_nodes(cycle: &Cycle) -> Diagnosis {
    Diagnosis {
        message: "no nodes available to schedule pods".to_owned(),
        plugins: Vec::new(),
        pending_plugins: Vec::new(),
        preemption_plugins: Vec::new(),
        rejections: Vec::new(),
        nominate: Nomination::Clear,
        judged_at: cycle.judged_at,
        no_nodes: true,
        preemption_tried: false,
        preemption: None,
        retry_at: None,
    }
}
