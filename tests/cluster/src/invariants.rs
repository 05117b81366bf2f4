//! What must hold in every test, judged from etcd's history and the API server's audit log alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use k8s_openapi::api::core::v1::{Node, Pod};
use plimsoll_controlplane::BindRequest;

use crate::explain::PodFacts;
use crate::history::{Record, State};
use crate::quantity::{Amounts, add, amounts, pod_requests};
use crate::replica::Scheduler;

mod storage;

/// For how long after another kind of scheduler bound a pod to a node an over-commitment of that node is laid to the
/// hand-over between them: a Binding has no condition on the node, so neither can prevent it.
const HAND_OVER_MICROSECONDS: i64 = 15_000_000;

/// What happened, for the judge.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// All changes of pods, nodes and storage with their revisions, in order.
    pub records: &'a [(i64, Record)],
    /// All Bindings asked for, in the order of their answers.
    pub binds: &'a [BindRequest],
    /// Which program each scheduler identity (audit group) was.
    pub programs: &'a BTreeMap<String, Scheduler>,
    /// The scheduler names served in this test.
    pub served: &'a [&'a str],
}

/// The judgement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Each broken promise in one line; empty when all hold.
    pub violations: Vec<String>,
    /// Nodes taken past their allocatable because two kinds of scheduler bound to them within one hand-over.
    pub foreign_overcommitments: usize,
    /// Pods that got a claim for one pod alone which another kind of scheduler had given to another pod within one hand-over.
    pub foreign_sharers: usize,
    /// Successful binds by scheduler program and identity.
    pub binds: BTreeMap<String, usize>,
    /// Bindings that were not answered with 201, by status code; 0 when the client was gone before the answer.
    pub unsuccessful: BTreeMap<u16, usize>,
    /// Pods bound at the end.
    pub bound: usize,
    /// Pods pending at the end.
    pub pending: usize,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let binds: Vec<String> = self
            .binds
            .iter()
            .map(|(who, count)| format!("{count} by {who}"))
            .collect();
        write!(
            f,
            "{} pods bound, {} pending; binds: {}",
            self.bound,
            self.pending,
            binds.join(", ")
        )?;
        if !self.unsuccessful.is_empty() {
            let codes: Vec<String> = self
                .unsuccessful
                .iter()
                .map(|(code, n)| format!("{n} with {code}"))
                .collect();
            write!(f, "; unsuccessful: {}", codes.join(", "))?;
        }
        if self.foreign_overcommitments > 0 {
            write!(
                f,
                "; {} over-commitments in a hand-over between schedulers",
                self.foreign_overcommitments
            )?;
        }
        if self.foreign_sharers > 0 {
            write!(
                f,
                "; {} claims shared in a hand-over between schedulers",
                self.foreign_sharers
            )?;
        }
        self.violations
            .iter()
            .try_for_each(|violation| write!(f, "\n  broken: {violation}"))
    }
}

/// Judges a whole test: no pod bound twice, no node ever past its allocatable, every pod where its volumes are, no volume with
/// two claims, no claim for one pod alone with two, no node with more volumes than it takes, every pending pod explained.
pub fn judge(evidence: &Evidence<'_>) -> anyhow::Result<Verdict> {
    let mut verdict = Verdict::default();
    let mut state = State::default();
    bound_once_by_answers(evidence, &mut verdict);
    for (revision, record) in evidence.records {
        let before = match record {
            Record::Pod(key, _) => state.pods.get(key).cloned(),
            _ => None,
        };
        state.apply(record);
        if let Record::Pod(_, pod) = record {
            let before = before.filter(|before| before.uid() == pod.uid());
            node_never_changes(*revision, before.as_ref(), pod, &mut verdict);
            if pod.node().is_some() && before.as_ref().is_none_or(|before| before.node().is_none()) {
                never_past_the_line(*revision, pod, &state, evidence, &mut verdict)?;
                // Who made it with a node asked no scheduler.
                if before.is_some() {
                    storage::where_its_volumes_are(*revision, pod, &state, &mut verdict)?;
                    alone_with_its_claims(*revision, pod, &state, evidence, &mut verdict);
                }
            }
        }
        if let Record::Claim(_, claim) = record {
            storage::one_claim_per_volume(*revision, claim, &state, &mut verdict);
        }
    }
    every_pending_pod_explained(&state, evidence.served, &mut verdict);
    Ok(verdict)
}

/// Pods in `state` that nobody explains yet: tests wait until there are none before they judge.
pub fn unexplained<'a>(state: &'a State, served: &[&str]) -> Vec<&'a Pod> {
    let ours = |pod: &&Pod| {
        let name = pod
            .spec
            .as_ref()
            .and_then(|spec| spec.scheduler_name.as_deref())
            .unwrap_or_default();
        served.contains(&name)
    };
    let pending = |pod: &&Pod| pod.node().is_none() && !pod.finished() && pod.metadata.deletion_timestamp.is_none();
    state
        .pods
        .values()
        .filter(pending)
        .filter(ours)
        .filter(|pod| pod.why_pending().is_none() && !pod.gated())
        .collect()
}

/// How many pods were bound by a Binding: seen without a node first, then with one.
pub(crate) fn binds_to_expect(records: &[(i64, Record)]) -> usize {
    let (mut unbound, mut bound) = (BTreeSet::new(), BTreeSet::new());
    for (_, record) in records {
        let Record::Pod(_, pod) = record else { continue };
        if pod.node().is_none() {
            unbound.insert(pod.uid());
        } else if unbound.contains(pod.uid()) {
            bound.insert(pod.uid());
        }
    }
    bound.len()
}

fn bound_once_by_answers(evidence: &Evidence<'_>, verdict: &mut Verdict) {
    let mut seen = BTreeSet::new();
    for bind in evidence.binds.iter().filter(|bind| !bind.bound()) {
        *verdict.unsuccessful.entry(bind.code).or_default() += 1;
    }
    for bind in evidence.binds.iter().filter(|bind| bind.bound()) {
        let program = evidence
            .programs
            .get(&bind.group)
            .map_or("unknown", |program| program.name());
        *verdict.binds.entry(format!("{program} {}", bind.group)).or_default() += 1;
        if !seen.insert((&bind.namespace, &bind.pod, &bind.uid)) {
            verdict.violations.push(format!(
                "{}/{} ({}) was bound twice",
                bind.namespace, bind.pod, bind.uid
            ));
        }
    }
}

fn node_never_changes(revision: i64, before: Option<&Pod>, pod: &Pod, verdict: &mut Verdict) {
    if let Some(old) = before.and_then(PodFacts::node)
        && pod.node() != Some(old)
    {
        verdict.violations.push(format!(
            "revision {revision}: {} went from {old} to {:?}",
            pod.key(),
            pod.node()
        ));
    }
}

/// Called for each pod at the revision that bound it.
fn never_past_the_line(
    revision: i64,
    pod: &Pod,
    state: &State,
    evidence: &Evidence<'_>,
    verdict: &mut Verdict,
) -> anyhow::Result<()> {
    for OverCommitment { resource, taken, line } in over_commitments(pod, state)? {
        let on_node = state.pods.values().filter(|p| p.node() == pod.node() && !p.finished());
        if in_hand_over(pod, &on_node.collect::<Vec<_>>(), evidence) {
            verdict.foreign_overcommitments += 1;
        } else {
            let (key, name) = (pod.key(), pod.node().unwrap_or_default());
            let message = format!("revision {revision}: {key} took {name} past its {resource}: {taken} of {line} (m)");
            verdict.violations.push(message);
        }
    }
    Ok(())
}

/// Called for each pod at the revision that bound it. Two kinds of scheduler that bind within one hand-over know nothing of each
/// other, here as with what nodes have.
fn alone_with_its_claims(revision: i64, pod: &Pod, state: &State, evidence: &Evidence<'_>, verdict: &mut Verdict) {
    for (claim, other) in storage::sharers(pod, state) {
        if in_hand_over(pod, &[other], evidence) {
            verdict.foreign_sharers += 1;
        } else {
            let (key, other) = (pod.key(), other.key());
            let message = format!("revision {revision}: {key} got {claim}, which is for one pod alone and {other} has");
            verdict.violations.push(message);
        }
    }
}

/// A resource of which a node has given away more than it has, in thousandths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverCommitment {
    /// Its name; `pods` for the count of pods.
    pub resource: String,
    /// What the pods on the node take.
    pub taken: i128,
    /// What the node has.
    pub line: i128,
}

/// Of what the pod asks for, that of which its node has given away too much; nothing where the pod is not bound or its node
/// is gone.
pub fn over_commitments(pod: &Pod, state: &State) -> anyhow::Result<Vec<OverCommitment>> {
    let Some(node) = pod.node().and_then(|name| state.nodes.get(name)) else {
        return Ok(Vec::new());
    };
    let (taken, line) = (taken(node, state)?, allocatable(node)?);
    let mut found = Vec::new();
    for (resource, asked) in pod_requests(pod)? {
        let of = |amounts: &Amounts| amounts.get(&resource).copied().unwrap_or(0);
        let (taken, line) = (of(&taken), of(&line));
        if asked > 0 && taken > line {
            found.push(OverCommitment { resource, taken, line });
        }
    }
    Ok(found)
}

/// Whether the node has what the pod asks for, beside the pods that are there.
pub fn has_room(pod: &Pod, node: &Node, state: &State) -> anyhow::Result<bool> {
    let (taken, line) = (taken(node, state)?, allocatable(node)?);
    let of = |amounts: &Amounts, resource: &String| amounts.get(resource).copied().unwrap_or(0);
    let fits = |(resource, asked): (String, i128)| asked == 0 || of(&taken, &resource) + asked <= of(&line, &resource);
    Ok(pod_requests(pod)?.into_iter().all(fits))
}

fn allocatable(node: &Node) -> anyhow::Result<Amounts> {
    amounts(node.status.as_ref().and_then(|status| status.allocatable.as_ref()))
}

/// What the pods on a node take.
fn taken(node: &Node, state: &State) -> anyhow::Result<Amounts> {
    let mut taken = Amounts::new();
    for pod in state.pods.values() {
        if pod.node() == node.metadata.name.as_deref() && !pod.finished() {
            add(&mut taken, &pod_requests(pod)?);
        }
    }
    Ok(taken)
}

/// True when another kind of scheduler bound a pod to the same node shortly before. A Binding may have been applied
/// although its client, gone by then, got no answer (504): only a refusal rules it out.
fn in_hand_over(pod: &Pod, on_node: &[&Pod], evidence: &Evidence<'_>) -> bool {
    let bind_of = |pod: &Pod| {
        let applied = |bind: &&BindRequest| {
            bind.uid == pod.uid() && Some(bind.node.as_str()) == pod.node() && !(400..500).contains(&bind.code)
        };
        let bind = evidence.binds.iter().find(applied)?;
        Some((evidence.programs.get(&bind.group)?, bind.received, bind.answered))
    };
    let Some((ours, received, _)) = bind_of(pod) else {
        return false;
    };
    on_node
        .iter()
        .filter_map(|other| bind_of(other))
        .any(|(theirs, _, answered)| theirs != ours && answered > received - HAND_OVER_MICROSECONDS)
}

fn every_pending_pod_explained(state: &State, served: &[&str], verdict: &mut Verdict) {
    verdict.bound = state.bound();
    verdict.pending = state.pods.len() - verdict.bound;
    for pod in unexplained(state, served) {
        verdict
            .violations
            .push(format!("{} is pending and nothing says why", pod.key()));
    }
}

#[cfg(test)]
mod tests;
