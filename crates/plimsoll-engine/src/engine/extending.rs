//! What is asked of extenders, and what follows from their answers.

use std::sync::Arc;

use plimsoll_framework::{
    Code, EXTENDER, Effect, EffectReply, Extender, ExtenderAnswer, ExtenderCall, ExtenderChoice, ExtenderNodes,
    ExtenderRequest, ExtenderVictims, Nomination, shortened,
};
use plimsoll_model::Pod;

use super::Engine;
use super::attempt::{Flow, Stage};
use super::preempting::said;
use crate::Notice;
use crate::cycle::{Awaited, Cycle, Scope};
use crate::preemption::Candidate;

impl Engine {
    /// Asks the next extender, from this position on, which of the nodes that are left will do.
    pub(super) fn ask_extenders(&self, cycle: &mut Cycle, scope: Scope, position: usize) -> Flow {
        let plan = Arc::clone(&cycle.plan);
        let pod = Arc::clone(&cycle.pod);
        let mut wanted = plan
            .extenders(&pod)
            .filter(|(at, extender)| *at >= position && extender.filters());
        let next = wanted.next();
        match next.filter(|_| !cycle.verdicts.feasible().is_empty()) {
            Some((position, extender)) => {
                let nodes = self.nodes_for(extender, cycle);
                cycle.awaits = Some(Awaited::Extender(scope, position));
                let call = ExtenderCall::Filter {
                    pod: Arc::clone(&pod),
                    nodes,
                };
                Flow::Wait(effect([(extender, call)]))
            }
            None => Flow::Go(Stage::Sift(scope)),
        }
    }

    /// The extender at this position has narrowed the nodes, or failed. What goes wrong with the node that the pod is
    /// nominated to leaves all the others to be tried.
    pub(super) fn hear_extender(
        &self,
        cycle: &mut Cycle,
        scope: Scope,
        position: usize,
        reply: EffectReply,
        out: &mut Vec<Notice>,
    ) -> Result<Stage, String> {
        let next = Stage::Extenders(scope, position + 1);
        let Some(extender) = cycle.plan.profile.extenders.get(position).map(Arc::clone) else {
            return Ok(next);
        };
        let [answer] = answers(reply);
        let narrowed = answer.and_then(|answer| match answer {
            ExtenderAnswer::Filtered {
                nodes,
                failed,
                unresolvable,
            } => cycle.narrow(&extender, &nodes, &failed, &unresolvable, self.ledger.columns()),
            other => Err(out_of_place(&other)),
        });
        let Err(error) = narrowed else { return Ok(next) };
        if !extender.ignorable() && scope == Scope::All {
            return Err(error);
        }
        let goes_on = if extender.ignorable() {
            next
        } else {
            Stage::Filter(Scope::All)
        };
        out.push(ignored(cycle, &extender, "filter", error));
        Ok(goes_on)
    }

    /// Asks all extenders at once how well the nodes suit.
    pub(super) fn ask_priorities(&self, cycle: &mut Cycle) -> Flow {
        let plan = Arc::clone(&cycle.plan);
        let interested = plan.extenders(&cycle.pod).map(|(_, extender)| extender);
        let asked: Vec<Arc<Extender>> = interested
            .filter(|extender| extender.prioritizes())
            .map(Arc::clone)
            .collect();
        if asked.is_empty() {
            return Flow::Go(Stage::Choose);
        }
        let calls = asked.iter().map(|extender| {
            let call = ExtenderCall::Prioritize {
                pod: Arc::clone(&cycle.pod),
                nodes: self.nodes_for(extender, cycle),
            };
            (extender, call)
        });
        let effect = effect(calls);
        cycle.awaits = Some(Awaited::Priorities(asked));
        Flow::Wait(effect)
    }

    /// Takes the scores of those that have given any. One that fails scores nothing, whether it may fail or not.
    pub(super) fn hear_priorities(
        &self,
        cycle: &mut Cycle,
        asked: &[Arc<Extender>],
        reply: EffectReply,
        out: &mut Vec<Notice>,
    ) {
        for (extender, answer) in asked.iter().zip(all_answers(reply, asked.len())) {
            match answer {
                Ok(ExtenderAnswer::Prioritized(priorities)) => {
                    cycle.add_priorities(extender, &priorities, self.ledger.columns());
                }
                Ok(other) => out.push(ignored(cycle, extender, "prioritize", out_of_place(&other))),
                Err(error) => out.push(ignored(cycle, extender, "prioritize", error)),
            }
        }
    }

    /// The extender at this position says what is left of the candidates, or failed.
    pub(super) fn hear_about_victims(
        &self,
        cycle: &mut Cycle,
        position: usize,
        reply: EffectReply,
        out: &mut Vec<Notice>,
    ) -> Stage {
        let next = Stage::AskAboutVictims(position + 1);
        let Some(extender) = cycle.plan.profile.extenders.get(position).map(Arc::clone) else {
            return next;
        };
        let [answer] = answers(reply);
        let candidates = answer.and_then(|answer| match answer {
            ExtenderAnswer::Preempted(choices) => self.candidates_left(cycle, &extender, &choices),
            other => Err(out_of_place(&other)),
        });
        match candidates {
            Ok(candidates) => {
                cycle.post_filtering.candidates = candidates;
                next
            }
            Err(error) if extender.ignorable() => {
                out.push(ignored(cycle, &extender, "preempt", error));
                next
            }
            Err(error) => {
                cycle.heed(said(Nomination::Keep, Code::Error, &error), None);
                Stage::PostFilter
            }
        }
    }

    /// The candidates as the extender has them. It chooses among those that it was told of, and may have other pods evicted
    /// there, as long as they are less important than the one that room is made for.
    fn candidates_left(
        &self,
        cycle: &Cycle,
        extender: &Extender,
        choices: &[ExtenderChoice],
    ) -> Result<Vec<Candidate>, String> {
        let left = choices.iter().map(|choice| {
            let known = &cycle.post_filtering.candidates;
            if !known.iter().any(|candidate| candidate.node == choice.node) {
                return Err(format!("nodeinfo not found for node name {:?}", choice.node.as_str()));
            }
            Ok(Candidate {
                node: choice.node.clone(),
                victims: self.victims_named(cycle, extender, choice)?,
                violations: choice.violations,
            })
        });
        let mut left = left.collect::<Result<Vec<Candidate>, String>>()?;
        if extender.ignorable() {
            left.retain(|candidate| !candidate.victims.is_empty());
        }
        match left.iter().find(|candidate| candidate.victims.is_empty()) {
            Some(candidate) => {
                let node = candidate.node.as_str();
                Err(format!("expected at least one victim pod on node {node:?}"))
            }
            None => Ok(left),
        }
    }

    fn victims_named(
        &self,
        cycle: &Cycle,
        extender: &Extender,
        choice: &ExtenderChoice,
    ) -> Result<Vec<Arc<Pod>>, String> {
        let less_important: Vec<Arc<Pod>> = self
            .ledger
            .guests_below(&choice.node, cycle.pod.priority())
            .map(|guest| guest.pod)
            .collect();
        let named = choice.pods.iter().map(|uid| {
            let there = less_important.iter().find(|pod| pod.uid == *uid);
            // kube-scheduler's words, `&{}` included.
            there.map(Arc::clone).ok_or_else(|| {
                format!(
                    "extender: {} claims to preempt pod (UID: &{{{uid}}}) on node: {}, but the pod is not found on that node",
                    extender.url(),
                    choice.node
                )
            })
        });
        named.collect()
    }

    fn nodes_for(&self, extender: &Extender, cycle: &Cycle) -> ExtenderNodes {
        let columns = self.ledger.columns();
        let names = cycle.verdicts.feasible().iter().map(|node| columns.name(node));
        if extender.node_cache_capable() {
            ExtenderNodes::Names(names.map(Into::into).collect())
        } else {
            ExtenderNodes::Objects(
                names
                    .filter_map(|name| self.ledger.node(name))
                    .map(Arc::clone)
                    .collect(),
            )
        }
    }
}

/// Asks the next extender, from this position on, whom it would have evicted.
pub(super) fn ask_about_victims(cycle: &mut Cycle, position: usize) -> Flow {
    let plan = Arc::clone(&cycle.plan);
    let pod = Arc::clone(&cycle.pod);
    let candidates = &cycle.post_filtering.candidates;
    let mut wanted = plan
        .extenders(&pod)
        .filter(|(at, extender)| *at >= position && extender.preempts());
    let next = wanted.next();
    let Some((position, extender)) = next.filter(|_| !candidates.is_empty()) else {
        return Flow::Go(Stage::Victims);
    };
    let candidates = candidates.iter().map(|candidate| ExtenderVictims {
        node: candidate.node.clone(),
        pods: candidate.victims.clone(),
        violations: candidate.violations,
    });
    let call = ExtenderCall::Preempt {
        pod: Arc::clone(&pod),
        candidates: candidates.collect(),
    };
    cycle.awaits = Some(Awaited::Victims(position));
    Flow::Wait(effect([(extender, call)]))
}

fn effect<'a>(calls: impl IntoIterator<Item = (&'a Arc<Extender>, ExtenderCall)>) -> Effect {
    let requests: Vec<ExtenderRequest> = calls
        .into_iter()
        .map(|(extender, call)| ExtenderRequest {
            extender: Arc::clone(extender),
            call,
        })
        .collect();
    Effect {
        plugin: EXTENDER,
        request: Box::new(requests),
    }
}

/// The answer to the one call that was made.
fn answers(reply: EffectReply) -> [Result<ExtenderAnswer, String>; 1] {
    let mut answers = all_answers(reply, 1);
    [answers.pop().unwrap_or_else(|| Err(NO_ANSWER.to_owned()))]
}

/// One answer for each of the calls that were made, whatever came back.
fn all_answers(reply: EffectReply, asked: usize) -> Vec<Result<ExtenderAnswer, String>> {
    let heard = match reply {
        Ok(reply) => match reply.downcast::<Vec<Result<ExtenderAnswer, String>>>() {
            Ok(answers) => *answers,
            Err(_) => Vec::new(),
        },
        Err(error) => vec![Err(error); asked],
    };
    let missing = std::iter::repeat_with(|| Err(NO_ANSWER.to_owned()));
    let short = |answer: Result<_, String>| answer.map_err(|error| shortened(&error).into_owned());
    heard.into_iter().chain(missing).take(asked).map(short).collect()
}

const NO_ANSWER: &str = "the extender was not asked";

fn out_of_place(answer: &ExtenderAnswer) -> String {
    format!("the extender's answer is one to another question: {answer:?}")
}

fn ignored(cycle: &Cycle, extender: &Arc<Extender>, verb: &'static str, error: String) -> Notice {
    Notice::ExtenderIgnored {
        pod: Arc::clone(&cycle.pod),
        extender: Arc::clone(extender),
        verb,
        error,
    }
}
