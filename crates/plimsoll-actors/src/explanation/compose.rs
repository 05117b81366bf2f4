//! Puts what the owners tell of a pod together.

use std::sync::Arc;

use jiff::Timestamp;
use plimsoll_client::seconds_text;
use plimsoll_engine::{ClaimState, FailureReason, NearNode, Prospect};
use plimsoll_framework::{Membership, Resolvability};
use plimsoll_model::{Moment, ObjectName, Pod};
use plimsoll_queue::{Account, Place};

use super::waiting::waits_for;
use super::{Explanation, Lack, PastAttempt, PodState, QueuePlace, Rejection, WaitFor, WouldHelp};
use crate::attempt_record::{AttemptOutcome, AttemptRecord};
use crate::evictor::VictimsAwaited;
use crate::scheduling_cycle::CycleAccount;

/// What the owners have told of one pod.
#[derive(Debug)]
pub(super) struct Facts {
    /// The cache.
    pub(super) pod: Arc<Pod>,
    /// The queue.
    pub(super) account: Option<Account>,
    /// The cycle.
    pub(super) cycle: CycleAccount,
    /// The Evictor.
    pub(super) victims: Option<VictimsAwaited>,
}

/// Moments as people read them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    at: Moment,
    wall: Timestamp,
}

impl Times {
    pub(super) fn text(&self, moment: Moment) -> String {
        let shifted = if moment < self.at {
            self.wall.checked_sub(self.at.since(moment))
        } else {
            self.wall.checked_add(moment.since(self.at))
        };
        seconds_text(shifted.unwrap_or(self.wall))
    }
}

/// Of a pod that is not there.
pub(super) fn unknown(name: &ObjectName) -> Explanation {
    Explanation {
        pod: name.to_string(),
        state: PodState::Unknown,
        summary: "the API server has told of no such pod, or it has finished".to_owned(),
        ..Explanation::default()
    }
}

/// Everything that is known.
pub(super) fn explain(facts: &Facts) -> Explanation {
    let times = Times {
        at: facts.cycle.at,
        wall: facts.cycle.wall,
    };
    let state = state_of(facts);
    let pending = !matches!(state, PodState::Bound | PodState::NotOurs | PodState::Deleting);
    let waits_for = if pending { waits_for(facts, &times) } else { Vec::new() };
    let standing = facts.cycle.standing.as_ref();
    let node = facts
        .pod
        .node_name()
        .or_else(|| standing.map(|standing| standing.node.as_str()));
    let account = facts.account.as_ref().filter(|_| pending);
    let prospect = facts.cycle.prospect.as_ref().filter(|_| pending);
    Explanation {
        pod: facts.pod.name.to_string(),
        uid: Some(facts.pod.uid.to_string()),
        at: Some(times.text(times.at)),
        state,
        summary: summary(facts, state, &waits_for, &times),
        scheduler_name: Some(facts.pod.spec.scheduler_name.to_string()),
        node: node.map(str::to_owned),
        nominated_node: facts.cycle.nominated.as_ref().map(ToString::to_string),
        queue: account.map(|account| place(account, &times)),
        waits_for,
        attempts: facts
            .cycle
            .attempts
            .iter()
            .map(|attempt| past(attempt, &times))
            .collect(),
        would_help: prospect.map(would_help),
    }
}

fn state_of(facts: &Facts) -> PodState {
    let cycle = &facts.cycle;
    if facts.pod.node_name().is_some() {
        return PodState::Bound;
    }
    if let Some(standing) = &cycle.standing {
        return match standing.state {
            ClaimState::Bound | ClaimState::Moved => PodState::Bound,
            _ => PodState::BeingBound,
        };
    }
    if facts.pod.is_terminating() {
        return PodState::Deleting;
    }
    if cycle.membership.profile().is_none() {
        return PodState::NotOurs;
    }
    if cycle.awaits_victims {
        return PodState::Preempting;
    }
    if cycle.being_tried.is_some() {
        return PodState::BeingTried;
    }
    let Some(account) = &facts.account else {
        return PodState::InTransit;
    };
    match account.place {
        _ if account.held_for_victims => PodState::Preempting,
        Place::Active => PodState::Active,
        Place::Backoff | Place::ErrorBackoff => PodState::BackingOff,
        Place::Unschedulable => PodState::Unschedulable,
        Place::Gated => PodState::Gated,
        Place::InFlight | Place::Placed => PodState::InTransit,
    }
}

fn summary(facts: &Facts, state: PodState, waits: &[WaitFor], times: &Times) -> String {
    let account = facts.account.as_ref();
    let next_look = account.map_or_else(String::new, |account| times.text(account.next_look));
    let said = match state {
        PodState::Unknown => return String::new(),
        PodState::NotOurs => return not_ours(facts),
        PodState::Deleting => return "it is to be deleted, and not scheduled any more".to_owned(),
        PodState::Bound => {
            let standing = facts.cycle.standing.as_ref().map(|standing| standing.node.as_str());
            let node = facts.pod.node_name().or(standing).unwrap_or_default();
            return format!("it is bound to node {node}");
        }
        PodState::BeingBound => {
            let standing = facts.cycle.standing.as_ref();
            let node = standing.map_or("", |standing| standing.node.as_str());
            format!("node {node} is chosen, and its binding is under way")
        }
        PodState::BeingTried => "it is being tried now".to_owned(),
        PodState::Preempting => "it is tried again when its victims are on their way".to_owned(),
        PodState::Gated => "it is held back and not tried".to_owned(),
        PodState::Active => match account.and_then(|account| account.ahead) {
            Some(0) => "it is the next to be tried".to_owned(),
            Some(1) => "it waits for its turn; 1 pod comes before it".to_owned(),
            Some(ahead) => format!("it waits for its turn; {ahead} pods come before it"),
            None => "it waits for its turn".to_owned(),
        },
        PodState::BackingOff => {
            let early = account.is_some_and(|account| account.place == Place::Backoff);
            let early = if early {
                ", or before when no other pod is to be tried"
            } else {
                ""
            };
            format!("it backs off after its last attempt and is tried again at {next_look}{early}")
        }
        PodState::Unschedulable if account.is_some_and(|account| account.set_aside) => {
            format!("deciding it panicked; it is tried again at {next_look}, or when it is changed")
        }
        PodState::Unschedulable if account.is_some_and(|account| account.woken) => {
            "something has changed that may help, and it is about to be tried again".to_owned()
        }
        PodState::Unschedulable => {
            format!("no node would do; it is tried again when something changes that may help, or at {next_look}")
        }
        PodState::InTransit => "it is on its way between the queue and the scheduling cycle; ask again".to_owned(),
    };
    match waits.first() {
        Some(wait) => format!("{said}; it waits for {}", wait.what),
        None => said,
    }
}

fn not_ours(facts: &Facts) -> String {
    let name = &facts.pod.spec.scheduler_name;
    match facts.cycle.membership {
        Membership::Unmatched => {
            format!("no profile of scheduler {name} takes it: its labels and its namespace's meet none of their rules")
        }
        Membership::Undecided => {
            format!("which profile of scheduler {name} takes it depends on its namespace, which is not known yet")
        }
        Membership::Foreign | Membership::Of(_) => {
            format!("its spec.schedulerName is {name}, which is the name of no profile of this scheduler")
        }
    }
}

fn place(account: &Account, times: &Times) -> QueuePlace {
    let waits = !matches!(account.place, Place::Active | Place::InFlight | Place::Placed) && !account.woken;
    QueuePlace {
        place: account.place.name().to_owned(),
        since: times.text(account.since),
        event: account.cause.map(|cause| cause.to_string()),
        next_look: waits.then(|| times.text(account.next_look)),
        retry_at: account.retry_at.filter(|_| waits).map(|at| times.text(at)),
        pods: account.company,
        ahead: account.ahead,
        added: times.text(account.added),
        attempts: account.attempts,
        rejected_by: account.rejected_by.iter().map(|plugin| (*plugin).to_owned()).collect(),
    }
}

fn past(record: &AttemptRecord, times: &Times) -> PastAttempt {
    let rejections = record.rejections.iter().map(|rejection| Rejection {
        plugin: rejection.plugin.to_owned(),
        nodes: rejection.nodes,
        reason: rejection.reason.to_string(),
        examples: rejection.examples.iter().map(ToString::to_string).collect(),
    });
    let reason = match record.outcome {
        AttemptOutcome::Unschedulable { .. } => FailureReason::Unschedulable,
        _ => FailureReason::SchedulerError,
    };
    let preemption = record.preemption.as_ref();
    let victims = preemption.into_iter().flat_map(|plan| &plan.victims);
    PastAttempt {
        attempt: record.attempt,
        ended: times.text(record.ended),
        seconds: record.ended.since(record.begun).as_secs_f64(),
        reason: reason.as_str().to_owned(),
        message: record.message.clone(),
        rejections: rejections.collect(),
        nominated_node: preemption.map(|plan| plan.node.to_string()),
        victims: victims.map(|victim| victim.name.to_string()).collect(),
    }
}

fn would_help(prospect: &Prospect) -> WouldHelp {
    WouldHelp {
        note: note(prospect),
        nodes: prospect.nodes,
        nearest: prospect.nearest.iter().map(near).collect(),
    }
}

fn note(prospect: &Prospect) -> Option<String> {
    if prospect.nodes == 0 {
        return Some("there are no nodes".to_owned());
    }
    if let Some(message) = &prospect.failure {
        return Some(format!("judging it fails: {message}"));
    }
    if let Some(status) = &prospect.rejection {
        let plugin = match status.plugin {
            "" => String::new(),
            plugin => format!("plugin {plugin} says: "),
        };
        return Some(format!("no node would help; {plugin}{}", status.message()));
    }
    let (plugins, left) = prospect.restricted.as_ref()?;
    let plugins = plugins.join(", ");
    Some(format!("{plugins} leaves {left} of {} nodes", prospect.nodes))
}

fn near(near: &NearNode) -> super::NearNode {
    let by_plugins = near.lacks.iter().flat_map(|lack| {
        let what = if lack.details.is_empty() {
            &lack.reasons
        } else {
            &lack.details
        };
        what.iter().map(|what| Lack {
            plugin: lack.plugin.to_owned(),
            what: what.clone(),
            preemptible: lack.resolvability == Resolvability::Resolvable,
        })
    });
    let kept_for = near.kept_for.iter().map(|pod| Lack {
        plugin: "Nomination".to_owned(),
        what: format!("room is kept for {pod}"),
        preemptible: false,
    });
    super::NearNode {
        node: near.name.to_string(),
        fits: near.fits(),
        lacks: by_plugins.chain(kept_for).collect(),
    }
}

#[cfg(test)]
mod tests;
