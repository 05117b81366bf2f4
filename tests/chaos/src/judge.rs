//! What must hold whatever went wrong, judged from etcd's own history, change by change, and from who asked for it.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Pod, PodCondition};
use plimsoll_cluster::invariants::over_commitments;
use plimsoll_cluster::{PodFacts, Record, State};
use plimsoll_controlplane::{Asked, PodWrite, Request};

use crate::ledger::{Ledger, is_scheduler};

/// What one round's changes showed.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Each broken promise in one line.
    pub(crate) violations: Vec<String>,
    /// Pods bound.
    pub(crate) bound: u64,
    /// Pods that a scheduler deleted to make room.
    pub(crate) evicted: u64,
    /// Writes of schedulers that were laid to the holder of the lease.
    pub(crate) fenced: u64,
    /// Writes of which the logs name nobody who could have asked for them.
    pub(crate) unattributed: u64,
}

/// Follows the history over all rounds of a control plane.
#[derive(Debug, Default)]
pub(crate) struct Judge {
    state: State,
    /// Where each pod that is there was bound, by UID: once for good.
    bound: BTreeMap<String, String>,
    /// The highest priority of a pod that waited for a node in this round.
    highest_waiting: i32,
}

impl Judge {
    /// Judges the next changes, in order, by a ledger that has read at least as far.
    pub(crate) fn judge(&mut self, records: &[(i64, Record)], ledger: &Ledger) -> anyhow::Result<Findings> {
        let mut findings = Findings::default();
        self.highest_waiting = self.waiting_priority();
        for (revision, record) in records {
            let before = match record {
                Record::Pod(key, pod) => self.state.pods.get(key).filter(|old| old.uid() == pod.uid()).cloned(),
                _ => None,
            };
            self.state.apply(record);
            if let Record::Pod(_, pod) = record {
                let change = Change {
                    revision: *revision,
                    before: before.as_ref(),
                    pod,
                };
                self.judge_change(&change, ledger, &mut findings)?;
            }
        }
        bound_once_by_answers(ledger, &mut findings);
        let present = &self.state.pods;
        self.bound.retain(|uid, _| present.values().any(|pod| pod.uid() == uid));
        Ok(findings)
    }

    fn judge_change(&mut self, change: &Change<'_>, ledger: &Ledger, findings: &mut Findings) -> anyhow::Result<()> {
        let Change { revision, before, pod } = *change;
        let key = pod.key();
        if pod.node().is_none() {
            self.highest_waiting = self.highest_waiting.max(priority(pod));
        }
        if let Some(old) = before.and_then(PodFacts::node)
            && pod.node() != Some(old)
        {
            let now = pod.node();
            let moved = format!("revision {revision}: {key} was bound to {old} and then to {now:?}");
            findings.violations.push(moved);
        }
        if let Some(node) = pod.node()
            && before.is_some_and(|before| before.node().is_none())
        {
            findings.bound += 1;
            if let Some(first) = self.bound.insert(pod.uid().to_owned(), node.to_owned()) {
                let again = format!("revision {revision}: {key} was bound to {node} after {first}");
                findings.violations.push(again);
            }
            for over in over_commitments(pod, &self.state)? {
                let (resource, taken, line) = (over.resource, over.taken, over.line);
                let message =
                    format!("revision {revision}: {key} took {node} past its {resource}: {taken} of {line} (m)");
                findings.violations.push(message);
            }
            self.held_by_writer(change, "bound", &binders(ledger, pod), ledger, findings);
        } else if before.is_some_and(|before| said_by_scheduler(before) != said_by_scheduler(pod)) {
            let writers = writers(ledger, pod, PodWrite::Status, revision);
            self.held_by_writer(change, "written to", &writers, ledger, findings);
        }
        if pod.marked_as_victim() && before.is_some_and(|before| !before.marked_as_victim()) {
            self.has_a_plan(change, findings);
        }
        if pod.metadata.deletion_timestamp.is_some() && before.is_some_and(|b| b.metadata.deletion_timestamp.is_none())
        {
            self.judge_deletion(change, ledger, findings);
        }
        Ok(())
    }

    /// Clients delete pods too; only a deletion that cannot be theirs is a scheduler's.
    fn judge_deletion(&self, change: &Change<'_>, ledger: &Ledger, findings: &mut Findings) {
        let (key, uid) = (change.pod.key(), change.pod.uid());
        let by_client = ledger.about(&key, uid).any(|request| {
            let deletes = request.asked == Asked::Pod(PodWrite::Delete);
            deletes && !is_scheduler(&request.group) && (request.is_done() || request.is_unknown())
        });
        let writers = writers(ledger, change.pod, PodWrite::Delete, change.revision);
        if writers.is_empty() || (by_client && !writers.certain) {
            return;
        }
        findings.evicted += 1;
        self.held_by_writer(change, "deleted", &writers, ledger, findings);
        if !change.pod.marked_as_victim() {
            let revision = change.revision;
            let unplanned =
                format!("revision {revision}: {key} was deleted by a scheduler and not marked as a victim before");
            findings.violations.push(unplanned);
        }
    }

    /// Room is only made for somebody more important.
    fn has_a_plan(&self, change: &Change<'_>, findings: &mut Findings) {
        if priority(change.pod) >= self.highest_waiting {
            let (revision, key) = (change.revision, change.pod.key());
            let message = format!("revision {revision}: {key} was made a victim and nobody more important waited");
            findings.violations.push(message);
        }
    }

    /// Whoever may have written this held the lease when etcd took it.
    fn held_by_writer(
        &self,
        change: &Change<'_>,
        what: &str,
        writers: &Writers,
        ledger: &Ledger,
        findings: &mut Findings,
    ) {
        let holder = self.state.holder();
        let group = holder.and_then(|identity| ledger.group_of(identity));
        if writers.is_empty() || (holder.is_some() && group.is_none()) {
            findings.unattributed += 1;
            return;
        }
        findings.fenced += 1;
        if !group.is_some_and(|group| writers.groups.iter().any(|writer| writer == group)) {
            let (revision, key) = (change.revision, change.pod.key());
            let by = writers.groups.join(" or ");
            let led = group.unwrap_or("nobody");
            let message = format!("revision {revision}: {key} was {what} by {by} while {led} held the lease");
            findings.violations.push(message);
        }
    }

    fn waiting_priority(&self) -> i32 {
        let waiting = self.state.pods.values().filter(|pod| pod.node().is_none());
        waiting.map(priority).max().unwrap_or(i32::MIN)
    }
}

fn bound_once_by_answers(ledger: &Ledger, findings: &mut Findings) {
    let mut seen = BTreeMap::new();
    for bound in &ledger.bound {
        if let Some(first) = seen.insert(&bound.uid, &bound.group) {
            let (uid, second) = (&bound.uid, &bound.group);
            findings.violations.push(format!(
                "the pod with UID {uid} was bound by {first} and again by {second}"
            ));
        }
    }
}

#[derive(Clone, Copy)]
struct Change<'a> {
    revision: i64,
    before: Option<&'a Pod>,
    pod: &'a Pod,
}

/// Who may have written something, by audit group.
#[derive(Debug, Default, PartialEq, Eq)]
struct Writers {
    groups: Vec<String>,
    /// An API server says that it was them; else each of them got no answer to something that may have been it.
    certain: bool,
}

impl Writers {
    fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Those of whom an API server says so, else those of whom nobody knows.
    fn of<'a>(requests: impl Iterator<Item = &'a Request>, certainly: impl Fn(&Request) -> bool) -> Self {
        let by_scheduler = requests.filter(|request| is_scheduler(&request.group));
        let (sure, unsure): (Vec<_>, Vec<_>) = by_scheduler.partition(|request| certainly(request));
        let certain = !sure.is_empty();
        let mut groups: Vec<String> = if certain {
            sure.iter().map(|request| request.group.clone()).collect()
        } else {
            let unknown = unsure.iter().filter(|request| request.is_unknown());
            unknown.map(|request| request.group.clone()).collect()
        };
        groups.sort();
        groups.dedup();
        Self { groups, certain }
    }
}

fn binders(ledger: &Ledger, pod: &Pod) -> Writers {
    let key = pod.key();
    let node = pod.node().unwrap_or_default();
    let to_node = ledger.about(&key, pod.uid()).filter(|request| match &request.asked {
        Asked::Bind(asked) => asked.is_empty() || asked == node,
        _ => false,
    });
    Writers::of(to_node, Request::is_done)
}

fn writers(ledger: &Ledger, pod: &Pod, write: PodWrite, revision: i64) -> Writers {
    let key = pod.key();
    let asked = ledger
        .about(&key, pod.uid())
        .filter(|request| request.asked == Asked::Pod(write));
    let wrote_it = |request: &Request| {
        let version = request.answered.as_ref().and_then(|answered| answered.revision);
        request.is_done() && version == Some(revision)
    };
    Writers::of(asked, wrote_it)
}

/// What only schedulers write into a pod's status, but for the API server when it binds.
fn said_by_scheduler(pod: &Pod) -> (Option<PodCondition>, Option<&str>, bool) {
    let mut scheduled = pod.scheduled().cloned();
    if let Some(condition) = &mut scheduled {
        condition.last_probe_time = None;
        condition.last_transition_time = None;
    }
    (scheduled, pod.nominated(), pod.marked_as_victim())
}

pub(crate) fn priority(pod: &Pod) -> i32 {
    pod.spec.as_ref().and_then(|spec| spec.priority).unwrap_or(0)
}

#[cfg(test)]
mod tests;
