//! What is asked of extenders, and what follows from their answers.

use std::sync::Arc;

use plimsoll_framework::{
    EXTENDER, Effect, EffectReply, Extender, ExtenderAnswer, ExtenderCall, ExtenderNodes, ExtenderRequest, shortened,
};

use super::Engine;
use super::attempt::{Flow, Stage};
use crate::Notice;
use crate::cycle::{Awaited, Cycle, Scope};

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
    let heard = match reply.map(|reply| reply.downcast::<Vec<Result<ExtenderAnswer, String>>>()) {
        Ok(Ok(answers)) => *answers,
        Ok(Err(_)) => Vec::new(),
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
