//! Answers in a word, and what went wrong, for those who tell of calls.

use plimsoll_client::{BindReply, NotSent, PatchReply, PodRead, RemovalReply, VolumeReply};
use plimsoll_framework::{EXTENDER, Effect, EffectReply, ExtenderAnswer, ExtenderRequest};

use crate::attempt_record::CallKind;
use crate::binding_workers::ExtenderBindReply;
use crate::claim_input::{bind_kind, extender_bind_kind, read_kind};

/// What came back, in a word, and what went wrong.
pub(crate) type CallOutcome = (&'static str, Option<String>);

fn not_sent(reason: &NotSent) -> CallOutcome {
    ("not_sent", Some(reason.to_string()))
}

fn throttled() -> CallOutcome {
    ("throttled", Some("429: the API server is busy".to_owned()))
}

pub(crate) fn of_bind(reply: &BindReply) -> CallOutcome {
    let error = match reply {
        BindReply::Created => None,
        BindReply::NotFound => Some("the pod was not found".to_owned()),
        BindReply::Conflict { message } | BindReply::Refused { message, .. } => Some(message.clone()),
        BindReply::Throttled { .. } => return throttled(),
        BindReply::Unknown { error } => Some(error.clone()),
        BindReply::NotSent(reason) => return not_sent(reason),
    };
    (bind_kind(reply), error)
}

pub(crate) fn of_extender_bind(reply: &ExtenderBindReply) -> CallOutcome {
    let error = match reply {
        ExtenderBindReply::Bound => None,
        ExtenderBindReply::NotBound { message } => Some(message.clone()),
        ExtenderBindReply::Unknown { error, .. } => Some(error.clone()),
        ExtenderBindReply::NotSent => Some(NotSent::TermOver.to_string()),
    };
    (extender_bind_kind(reply), error)
}

pub(crate) fn of_read(read: &PodRead) -> CallOutcome {
    let error = match read {
        PodRead::Found(_) | PodRead::Gone => None,
        PodRead::Failed { error } => Some(error.clone()),
    };
    (read_kind(read), error)
}

pub(crate) fn of_patch(reply: &PatchReply) -> CallOutcome {
    match reply {
        PatchReply::Patched => ("patched", None),
        PatchReply::NotFound => ("not_found", Some("the pod was not found".to_owned())),
        PatchReply::Conflict { message } => ("conflict", Some(message.clone())),
        PatchReply::Refused { message, .. } => ("refused", Some(message.clone())),
        PatchReply::Throttled { .. } => throttled(),
        PatchReply::Unknown { error, .. } => ("unknown", Some(error.clone())),
        PatchReply::NotSent(reason) => not_sent(reason),
    }
}

pub(crate) fn of_volume_write(reply: &VolumeReply) -> CallOutcome {
    match reply {
        VolumeReply::Done(_) => ("patched", None),
        VolumeReply::Refused { message } => ("refused", Some(message.clone())),
        VolumeReply::Throttled { message, .. } => ("throttled", Some(message.clone())),
        VolumeReply::Unknown { error } => ("unknown", Some(error.clone())),
        VolumeReply::NotSent(reason) => not_sent(reason),
    }
}

/// The calls that an effect stands for: those of extenders one by one.
pub(crate) fn calls_of(effect: &Effect) -> Vec<CallKind> {
    let requests = effect.request.downcast_ref::<Vec<ExtenderRequest>>();
    match requests.filter(|_| effect.plugin == EXTENDER) {
        None => vec![CallKind::Effect { plugin: effect.plugin }],
        Some(requests) => {
            let call = |request: &ExtenderRequest| CallKind::Extender {
                url: request.extender.url().to_owned(),
                verb: request.call.verb(),
            };
            requests.iter().map(call).collect()
        }
    }
}

/// What came of each of so many calls of an effect.
pub(crate) fn of_effect(reply: &EffectReply, calls: usize) -> Vec<CallOutcome> {
    let answers = match reply {
        Err(error) => return vec![("failed", Some(error.clone())); calls],
        Ok(answer) => answer.downcast_ref::<Vec<Result<ExtenderAnswer, String>>>(),
    };
    match answers.filter(|answers| answers.len() == calls) {
        None => vec![("answered", None); calls],
        Some(answers) => {
            let outcome = |answer: &Result<ExtenderAnswer, String>| match answer {
                Ok(_) => ("answered", None),
                Err(error) => ("failed", Some(error.clone())),
            };
            answers.iter().map(outcome).collect()
        }
    }
}

/// Of a victim's deletion or eviction.
pub(crate) fn of_removal(reply: &RemovalReply) -> CallOutcome {
    match reply {
        RemovalReply::Accepted => ("accepted", None),
        RemovalReply::NotFound => ("not_found", None),
        RemovalReply::Conflict { message } => ("conflict", Some(message.clone())),
        RemovalReply::Forbidden { message } => ("forbidden", Some(message.clone())),
        RemovalReply::Refused { message, .. } => ("refused", Some(message.clone())),
        RemovalReply::Throttled { .. } => throttled(),
        RemovalReply::Unknown { error } => ("unknown", Some(error.clone())),
        RemovalReply::NotSent(reason) => not_sent(reason),
    }
}
