use compact_str::CompactString;
use plimsoll_model::{Pod, Timestamp};

use crate::{FailureReason, Nomination};

/// When the condition's status last changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransitionTime {
    /// It did not change: this time stays.
    Keep(Option<Timestamp>),
    /// It changes with this write: whoever writes fills in the time.
    Now,
}

/// The `PodScheduled` condition to write; its status is `False`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionReport {
    /// `Unschedulable` or `SchedulerError`.
    pub reason: FailureReason,
    /// What users read, whole.
    pub message: String,
    /// The pod's `metadata.generation`.
    pub observed_generation: i64,
    /// `lastTransitionTime`.
    pub last_transition: TransitionTime,
}

/// What one patch of a pod's status is to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusReport {
    /// The condition, unless it says so already.
    pub condition: Option<ConditionReport>,
    /// `nominatedNodeName`, when it changes; empty to clear it.
    pub nominated_node_name: Option<CompactString>,
}

/// What to write to the status of a pod that was not placed, or nothing when a reader would see no difference.
///
/// As kube-scheduler: status, reason and message decide whether the condition changes; the generation alone does not.
pub fn status_report(pod: &Pod, reason: FailureReason, message: &str, nominate: &Nomination) -> Option<StatusReport> {
    let condition = condition_report(pod, reason, message);
    let nominated_node_name = nomination_change(pod, nominate);
    (condition.is_some() || nominated_node_name.is_some()).then_some(StatusReport {
        condition,
        nominated_node_name,
    })
}

fn condition_report(pod: &Pod, reason: FailureReason, message: &str) -> Option<ConditionReport> {
    let old = pod.status.pod_scheduled.as_deref();
    let still_false = old.filter(|old| old.status == "False");
    if still_false.is_some_and(|old| old.reason == reason.as_str() && old.message == message) {
        return None;
    }
    let last_transition = match still_false {
        Some(old) => TransitionTime::Keep(old.last_transition_time.clone()),
        None => TransitionTime::Now,
    };
    Some(ConditionReport {
        reason,
        message: message.to_owned(),
        observed_generation: pod.generation,
        last_transition,
    })
}

fn nomination_change(pod: &Pod, nominate: &Nomination) -> Option<CompactString> {
    let wanted = match nominate {
        Nomination::Keep => return None,
        Nomination::Clear => "",
        Nomination::Set(node) => node,
    };
    let now = pod.status.nominated_node_name.as_deref().unwrap_or_default();
    (now != wanted).then(|| CompactString::from(wanted))
}

/// Longest note that the events API takes, in bytes.
const MAX_NOTE: usize = 1024;
const CUT_MARK: &str = " ...";

/// The note of an event: the message, cut to what the events API takes.
pub fn event_note(message: &str) -> String {
    if message.len() <= MAX_NOTE {
        return message.to_owned();
    }
    let mut end = MAX_NOTE - CUT_MARK.len();
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{CUT_MARK}", &message[..end])
}

#[cfg(test)]
mod tests;
