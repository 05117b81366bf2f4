use std::sync::Arc;

use compact_str::CompactString;
use plimsoll_framework::{BindAction, Code, Effect, ExtensionPoint, PreBindInput, PreBindOutcome, guarded};
use plimsoll_model::{Moment, Pod, Seq};

use super::claiming::unreserve;
use super::permitting::removed_message;
use super::{Engine, Held};
use crate::claim::{Ask, Carrier, Input, Reaction};
use crate::go_duration::go_duration;
use crate::record::PreBindWork;
use crate::{ClaimId, ClaimState, Ending, Failure, FailureReason, Notice};

/// What comes next for a claim that has its permits.
enum Next {
    Perform(Effect),
    Step,
    Send(Carrier),
    /// A plugin panicked, or (without a text) no bind plugin binds.
    Fail(String),
}

impl Engine {
    /// Takes a claim one step further: announce, pre-bind, bind. Does nothing while it waits for a permit or for an answer.
    pub(super) fn proceed(&mut self, id: ClaimId, now: Moment, out: &mut Vec<Notice>) {
        let waits = self
            .records
            .get(id)
            .is_none_or(|record| record.claim.state() != ClaimState::Waiting || record.pre_bind != PreBindWork::None);
        if waits {
            return;
        }
        if self.over {
            return self.on_term_over(id, now, out);
        }
        if self.records.get(id).is_some_and(|record| !record.permits.is_empty()) {
            self.expect(id, out);
            self.records.set_alarm(id);
            return;
        }
        self.records.set_alarm(id);
        match self.next_for(id) {
            Next::Perform(effect) => {
                self.expect(id, out);
                self.perform_pre_bind(id, effect, out);
            }
            Next::Step => {
                self.expect(id, out);
                self.step_in_turn(id, PreBindInput::Begin, now, out);
            }
            Next::Send(carrier) => self.advance_claim(id, Input::Cleared(carrier), now, out),
            Next::Fail(message) => self.fail_waiting(id, error(message, self.applied), now, out),
        }
    }

    fn next_for(&mut self, id: ClaimId) -> Next {
        let Some(record) = self.records.get_mut(id) else {
            return Next::Fail(String::new());
        };
        let plan = Arc::clone(&record.plan);
        let last = record.pre_bind_plugin().map(|plugin| plugin.name());
        let watch = self.watch.as_ref();
        record.timing.pre_binds_are_asked(last, watch);
        let (pod, node) = (Arc::clone(record.claim.pod()), record.claim.node());
        while let Some(plugin) = plan.profile.pre_bind.get(record.next_pre_bind) {
            record.next_pre_bind += 1;
            match guarded(|| plugin.pre_bind(&pod, &record.state, node)) {
                Ok(PreBindOutcome::Skip) => {}
                Ok(PreBindOutcome::Needs(request)) => {
                    record.timing.pre_bind_works(watch);
                    return Next::Perform(Effect {
                        plugin: plugin.name(),
                        request,
                    });
                }
                Ok(PreBindOutcome::Steps) => {
                    record.timing.pre_bind_works(watch);
                    return Next::Step;
                }
                Err(panic) => {
                    return Next::Fail(format!("running PreBind plugin {:?}: panicked: {panic}", plugin.name()));
                }
            }
        }
        record.timing.pre_binds_are_done(watch);
        let mut binders = plan.extenders(&pod).filter(|(_, extender)| extender.binds());
        record.binder = binders.next().map(|(_, extender)| Arc::clone(extender));
        if record.binder.as_ref().is_some_and(|binder| !binder.ignorable()) {
            return Next::Send(Carrier::Extender { fallback: false });
        }
        for plugin in plan.binds() {
            match guarded(|| plugin.bind(&pod, node)) {
                Ok(BindAction::PostBinding) => {
                    record.bind_plugin = plugin.name();
                    return Next::Send(match record.binder {
                        Some(_) => Carrier::Extender { fallback: true },
                        None => Carrier::Api,
                    });
                }
                Ok(_) => {}
                Err(panic) => return Next::Fail(format!("running Bind plugin {:?}: panicked: {panic}", plugin.name())),
            }
        }
        match record.binder {
            Some(_) => Next::Send(Carrier::Extender { fallback: false }),
            None => Next::Fail(String::new()),
        }
    }

    /// Says once where the pod is going, since that will take a while.
    fn expect(&mut self, id: ClaimId, out: &mut Vec<Notice>) {
        let Some(record) = self.records.get_mut(id) else { return };
        if !std::mem::replace(&mut record.expected, true) {
            let node = CompactString::from(record.claim.node());
            out.push(Notice::Expect {
                pod: Arc::clone(record.claim.pod()),
                node,
            });
        }
    }

    pub(super) fn on_alarm(&mut self, id: ClaimId, now: Moment, out: &mut Vec<Notice>) {
        let late = self
            .records
            .get(id)
            .and_then(|record| record.permits.iter().min_by_key(|wait| wait.until));
        match late.filter(|wait| wait.until <= now) {
            None if self.has_waited_for_pre_bind(id, now) => self.step_in_turn(id, PreBindInput::Due, now, out),
            Some(wait) => {
                let (plugin, waited) = (wait.plugin, go_duration(wait.timeout));
                let message = format!("rejected due to timeout after waiting {waited} at plugin {plugin}");
                self.turn_away(id, plugin, &message, now, out);
            }
            None => self.advance_claim(id, Input::Due, now, out),
        }
    }

    pub(super) fn on_term_over(&mut self, id: ClaimId, now: Moment, out: &mut Vec<Notice>) {
        let Some(record) = self.records.get_mut(id) else { return };
        let reaction = record.claim.on(Input::TermOver, now);
        let failure = error("the term is over".to_owned(), self.applied);
        self.react(id, reaction, Some(failure), now, out);
    }

    /// Gives up a claim that has sent nothing.
    pub(super) fn fail_waiting(&mut self, id: ClaimId, failure: Failure, now: Moment, out: &mut Vec<Notice>) {
        let Some(record) = self.records.get_mut(id) else { return };
        let reaction = record.claim.on(Input::Withdrawn, now);
        self.react(id, reaction, Some(failure), now, out);
    }

    /// Lets a claim take in what happened, and does what follows.
    pub(super) fn advance_claim(&mut self, id: ClaimId, input: Input<'_>, now: Moment, out: &mut Vec<Notice>) {
        let Some(record) = self.records.get_mut(id) else { return };
        let reaction = record.claim.on(input, now);
        self.react(id, reaction, None, now, out);
    }

    fn react(&mut self, id: ClaimId, reaction: Reaction, failure: Option<Failure>, now: Moment, out: &mut Vec<Notice>) {
        if reaction.bound {
            self.announce_bound(id, now, out);
        }
        if let Some(node) = reaction.moved_to {
            self.move_claim(id, node, out);
        }
        if let Some(error) = reaction.fell_back {
            self.tell_fallback(id, error, out);
        }
        if let Some(ask) = reaction.ask {
            self.ask(id, ask, out);
        }
        match reaction.ending {
            Some(ending) => self.end_claim(id, ending, failure, now, out),
            None => self.records.set_alarm(id),
        }
    }

    fn tell_fallback(&self, id: ClaimId, error: String, out: &mut Vec<Notice>) {
        let record = self.records.get(id);
        if let Some((record, extender)) = record.and_then(|record| Some((record, record.binder.as_ref()?))) {
            out.push(Notice::ExtenderIgnored {
                pod: Arc::clone(record.claim.pod()),
                extender: Arc::clone(extender),
                verb: "bind",
                error,
            });
        }
    }

    fn announce_bound(&mut self, id: ClaimId, now: Moment, out: &mut Vec<Notice>) {
        let Some(record) = self.records.get_mut(id) else { return };
        let pod = Arc::clone(record.claim.pod());
        let node = CompactString::from(record.claim.node());
        let binder = record.bind_plugin();
        record.timing.ended(binder, Code::Success, now);
        for plugin in &record.plan.profile.post_bind {
            // The pod is bound whatever its plugin makes of that; the panic hook has told of the panic.
            let _ = guarded(|| plugin.post_bind(&pod, &node));
        }
        record.timing.point(ExtensionPoint::PostBind, now, self.watch.as_ref());
        out.push(Notice::Bound {
            claim: id,
            pod,
            node,
            evaluated_nodes: record.evaluated_nodes,
            feasible_nodes: record.feasible_nodes,
            begun_at: record.begun_at,
            assumed_at: record.assumed_at,
            timeline: record.timing.take(),
        });
    }

    fn move_claim(&mut self, id: ClaimId, node: CompactString, out: &mut Vec<Notice>) {
        let Some(record) = self.records.get_mut(id) else { return };
        let pod = Arc::clone(record.claim.pod());
        let left = record.claim.chosen().clone();
        unreserve(record, &mut self.verdicts, self.watch.as_ref());
        self.ledger.hold(&pod, id, node.clone());
        self.recount(&pod);
        out.push(Notice::BoundElsewhere {
            claim: id,
            pod: Arc::clone(&pod),
            node,
        });
        self.tell_in_turn(Notice::Released { pod, node: left }, out);
    }

    fn ask(&self, claim: ClaimId, ask: Ask, out: &mut Vec<Notice>) {
        let Some(record) = self.records.get(claim) else { return };
        let pod = Arc::clone(record.claim.pod());
        out.push(match ask {
            Ask::Send => Notice::SendBinding {
                claim,
                pod,
                node: record.claim.node().into(),
            },
            Ask::Delegate => {
                let Some(extender) = record.binder.as_ref().map(Arc::clone) else {
                    return;
                };
                Notice::BindThrough {
                    claim,
                    pod,
                    node: record.claim.node().into(),
                    extender,
                }
            }
            Ask::Read => Notice::ReadPod { claim, pod },
        });
    }

    fn end_claim(&mut self, id: ClaimId, ending: Ending, failure: Option<Failure>, now: Moment, out: &mut Vec<Notice>) {
        let Some(mut record) = self.records.remove(id) else {
            return;
        };
        self.waits.remove(id);
        let pod = Arc::clone(record.claim.pod());
        let node = CompactString::from(record.claim.node());
        if ending == Ending::Refused {
            let plugin = if record.timing.is_at(ExtensionPoint::Bind) {
                record.bind_plugin()
            } else {
                record.pre_bind_plugin().map(|plugin| plugin.name())
            };
            record.timing.ended(plugin, Code::Error, now);
        }
        if ending != Ending::Confirmed && !record.claim.is_bound() && !record.claim.is_moved() {
            unreserve(&mut record, &mut self.verdicts, self.watch.as_ref());
        }
        let waited = self.end_wait(id, failure.as_ref(), now, out);
        self.ledger.release(&pod.uid);
        self.recount(&pod);
        let mut stays = ending == Ending::Confirmed;
        match ending {
            Ending::Confirmed => {}
            Ending::Elsewhere => {
                if let Some(there) = self.found_elsewhere(&record.claim) {
                    stays = there == node;
                    out.push(Notice::BoundElsewhere {
                        claim: id,
                        pod: Arc::clone(&pod),
                        node: there,
                    });
                }
            }
            Ending::Gone => out.push(Notice::PodGone {
                claim: id,
                pod: Arc::clone(&pod),
                message: waited.then(removed_message),
            }),
            Ending::Refused => {
                let failure = failure.unwrap_or_else(|| refused(&record.claim, record.bind_plugin, self.applied));
                out.push(Notice::BindFailed {
                    claim: id,
                    pod: Arc::clone(&pod),
                    node: node.clone(),
                    failure,
                    timeline: record.timing.take(),
                });
            }
        }
        if !stays {
            self.tell_in_turn(Notice::Released { pod, node }, out);
        }
    }

    /// Where the watch shows the pod of a claim that ended elsewhere, unless its end was told already.
    fn found_elsewhere(&self, claim: &crate::Claim) -> Option<CompactString> {
        if claim.is_moved() || claim.is_bound() {
            return None;
        }
        let shown = self.ledger.pod(&claim.pod().uid)?;
        shown.node_name().map(CompactString::from)
    }

    /// A waiting cycle must not see its columns change.
    fn recount(&mut self, pod: &Pod) {
        if self.cycle.is_some() {
            self.held.push_back(Held::Recount(pod.uid.clone()));
        } else {
            self.ledger.recount(&pod.uid);
        }
    }

    /// Room is announced when the columns show it.
    fn tell_in_turn(&mut self, notice: Notice, out: &mut Vec<Notice>) {
        if self.cycle.is_some() {
            self.held.push_back(Held::Notice(Box::new(notice)));
        } else {
            out.push(notice);
        }
    }
}

fn refused(claim: &crate::Claim, plugin: &str, judged_at: Seq) -> Failure {
    let message = if claim.is_delegated() {
        claim.refusal().to_owned()
    } else {
        format!("running Bind plugin {plugin:?}: {}", claim.refusal())
    };
    error(message, judged_at)
}

pub(super) fn error(message: String, judged_at: Seq) -> Failure {
    Failure {
        reason: FailureReason::SchedulerError,
        message,
        plugins: Vec::new(),
        pending_plugins: Vec::new(),
        judged_at,
    }
}
