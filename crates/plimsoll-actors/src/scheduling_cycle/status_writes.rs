mod told;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use plimsoll_client::{NominationPatch, NotSent, PatchReply, PodStatusPatch};
use plimsoll_model::{Delta, Moment, ObjectName, Pod, Uid};

use self::told::Told;
use crate::binding_workers::WriteJob;
use crate::trace_context::TraceContext;

/// kube-scheduler tries a status patch four times in all, 10 ms apart and then five times as long each time.
const TRIES: u32 = 4;
const FIRST_WAIT: Duration = Duration::from_millis(10);

/// Whether kube-scheduler would try again: conflict, server trouble, or no connection.
fn is_retryable(reply: &PatchReply) -> bool {
    match reply {
        PatchReply::Conflict { .. } | PatchReply::Unknown { .. } | PatchReply::Throttled { .. } => true,
        PatchReply::NotSent(reason) => matches!(reason, NotSent::NoConnection(_)),
        PatchReply::Patched | PatchReply::NotFound | PatchReply::Refused { .. } => false,
    }
}

/// Both in one: what the newer says nothing about stays as the older has it.
fn merged(older: PodStatusPatch, newer: PodStatusPatch) -> PodStatusPatch {
    PodStatusPatch {
        uid: newer.uid.or(older.uid),
        condition: newer.condition.or(older.condition),
        nominated_node_name: match newer.nominated_node_name {
            NominationPatch::Keep => older.nominated_node_name,
            said => said,
        },
    }
}

/// Status patches under way: at most one per pod, the newest waiting behind it, and the pod's binding behind both.
#[derive(Debug, Default)]
pub(super) struct StatusWrites {
    pods: BTreeMap<Uid, Write>,
    due: BTreeSet<(Moment, Uid)>,
    told: Told,
}

#[derive(Debug)]
struct Write {
    trace: TraceContext,
    name: ObjectName,
    patch: PodStatusPatch,
    tries: u32,
    newer: Option<PodStatusPatch>,
    held: Vec<WriteJob>,
    /// Whether the pod is bound or gone meanwhile, so that nobody asks what was written.
    is_over: bool,
}

impl Write {
    fn job(&self, uid: &Uid) -> WriteJob {
        WriteJob::Status {
            uid: uid.clone(),
            name: self.name.clone(),
            patch: Box::new(self.patch.clone()),
            trace: self.trace,
        }
    }
}

impl StatusWrites {
    /// A patch to write; the job to hand out now, unless an earlier patch of the pod is under way.
    pub(super) fn submit(&mut self, pod: &Pod, patch: PodStatusPatch) -> Option<WriteJob> {
        let uid = &pod.uid;
        if let Some(write) = self.pods.get_mut(uid) {
            write.newer = Some(match write.newer.take() {
                Some(older) => merged(older, patch),
                None => patch,
            });
            return None;
        }
        let write = Write {
            trace: TraceContext::of(pod),
            name: pod.name.clone(),
            patch,
            tries: 1,
            newer: None,
            held: Vec::new(),
            is_over: false,
        };
        let job = write.job(uid);
        self.pods.insert(uid.clone(), write);
        Some(job)
    }

    /// A job about the pod that must not overtake its patches; given back when there are none.
    pub(super) fn after(&mut self, uid: &Uid, job: WriteJob) -> Option<WriteJob> {
        let Some(write) = self.pods.get_mut(uid) else {
            return Some(job);
        };
        // Between two tries nothing is under way that could be overtaken, and what is no longer true need not be said.
        if write.held.is_empty() && self.due.extract_if(.., |(_, due)| due == uid).count() > 0 {
            self.pods.remove(uid);
            return Some(job);
        }
        // What has not been sent yet is no longer true.
        write.newer = None;
        write.held.push(job);
        None
    }

    /// Takes the answer to the patch under way and says what to hand out next.
    pub(super) fn answered(&mut self, uid: &Uid, reply: &PatchReply, now: Moment) -> Vec<WriteJob> {
        let Some(write) = self.pods.get_mut(uid) else {
            return Vec::new();
        };
        let superseded = write.newer.is_some() || !write.held.is_empty();
        if is_retryable(reply) && write.tries < TRIES && !superseded {
            let mut wait = FIRST_WAIT * 5_u32.pow(write.tries - 1);
            if let PatchReply::Throttled { retry_after } = reply {
                wait = wait.max(*retry_after);
            }
            write.tries += 1;
            self.due.insert((now + wait, uid.clone()));
            return Vec::new();
        }
        if !matches!(
            reply,
            PatchReply::Patched | PatchReply::NotFound | PatchReply::NotSent(_)
        ) {
            tracing::warn!(pod = %write.name, ?reply, "Error updating pod");
        }
        if matches!(reply, PatchReply::Patched) && !write.is_over {
            self.told.tell(uid, &write.patch);
        }
        if let Some(patch) = write.newer.take() {
            write.patch = patch;
            write.tries = 1;
            return vec![write.job(uid)];
        }
        self.pods.remove(uid).map(|write| write.held).unwrap_or_default()
    }

    /// Patches whose next try is due.
    pub(super) fn due(&mut self, now: Moment) -> Vec<WriteJob> {
        let mut jobs = Vec::new();
        while self.due.first().is_some_and(|(at, _)| *at <= now) {
            let Some((_, uid)) = self.due.pop_first() else { break };
            if let Some(write) = self.pods.get(&uid) {
                jobs.push(write.job(&uid));
            }
        }
        jobs
    }

    /// The pod is tried, as the stream has told of it.
    pub(super) fn handed_out(&mut self, pod: &Pod) {
        self.told.handed_out(pod);
    }

    /// A change in the stream.
    pub(super) fn see(&mut self, delta: &Delta) {
        self.told.see(delta);
        if let Some(write) = told::over(delta).and_then(|uid| self.pods.get_mut(uid)) {
            write.is_over = true;
        }
    }

    /// The pod with all that was or is being written to its status, whether the stream has told of it or not. What was given up
    /// before it was sent is no part of that.
    pub(super) fn shown<'a>(&self, pod: &'a Pod) -> Cow<'a, Pod> {
        let write = self.pods.get(&pod.uid);
        let under_way = write
            .into_iter()
            .flat_map(|write| [Some(&write.patch), write.newer.as_ref()]);
        self.told.shown(pod, under_way.flatten())
    }

    pub(super) fn next_deadline(&self) -> Option<Moment> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Whether a patch of the pod is not answered yet.
    pub(super) fn is_under_way(&self, uid: &Uid) -> bool {
        self.pods.contains_key(uid)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pods.is_empty()
    }
}

#[cfg(test)]
mod tests;
