//! What kube-apiserver's coordinator does about the scheduler's lease, in process and without faults: it asks candidates
//! whether they are there, gives the lease to the oldest that is, and marks it for that one when another holds it.

use jiff::{SignedDuration, Timestamp};
use plimsoll_apiserver::{ApiServer, Resource, resource};
use serde_json::{Value, json};

const NAMESPACE: &str = "kube-system";
const LEASE: &str = "kube-scheduler";

/// How long a candidate has to answer, and how long its answer counts.
const ELECTION: SignedDuration = SignedDuration::from_secs(5);

/// A candidate that was not renewed for so long is none.
const VALID: SignedDuration = SignedDuration::from_mins(30);

#[expect(clippy::expect_used, reason = "the names are written in this file")]
fn kind(version: &str, plural: &str) -> &'static Resource {
    resource::find("coordination.k8s.io", version, plural).expect("a kind of coordination")
}

fn leases() -> &'static Resource {
    kind("v1", "leases")
}

/// All `LeaseCandidate`s.
pub fn candidates(server: &ApiServer) -> Vec<Value> {
    let stored = server.snapshot(kind("v1beta1", "leasecandidates"));
    stored.iter().map(|candidate| candidate.as_ref().clone()).collect()
}

fn time(object: &Value, field: &str) -> Option<Timestamp> {
    object["spec"][field].as_str().and_then(|text| text.parse().ok())
}

fn text(time: Timestamp) -> Value {
    Value::from(plimsoll_client::micros_text(time))
}

fn name(candidate: &Value) -> &str {
    candidate["metadata"]["name"].as_str().unwrap_or_default()
}

fn age(candidate: &Value) -> (&str, &str) {
    let created = candidate["metadata"]["creationTimestamp"].as_str();
    (created.unwrap_or_default(), name(candidate))
}

/// What one look makes of a candidate.
#[derive(PartialEq, Eq)]
enum Voice {
    There,
    Awaited,
    ToBeAsked,
    Silent,
}

fn voice(candidate: &Value, now: Timestamp) -> Voice {
    let renewed = time(candidate, "renewTime").unwrap_or(Timestamp::UNIX_EPOCH);
    let asked = time(candidate, "pingTime");
    let open = asked.is_some_and(|asked| renewed < asked);
    match asked {
        Some(asked) if open && asked + ELECTION > now => Voice::Awaited,
        _ if renewed + ELECTION > now => Voice::There,
        _ if open => Voice::Silent,
        _ => Voice::ToBeAsked,
    }
}

/// One look, at the wall-clock time `now`.
///
/// # Panics
/// When the server does not take what the coordinator writes.
pub fn look(server: &ApiServer, now: Timestamp) {
    let mut candidates = candidates(server);
    candidates.retain(|candidate| time(candidate, "renewTime").is_some_and(|at| at + VALID > now));
    candidates.sort_by(|a, b| age(a).cmp(&age(b)));
    let Some(oldest) = candidates.first().map(|candidate| name(candidate).to_owned()) else {
        return;
    };
    let lease = server.get(leases(), NAMESPACE, LEASE);
    let holder = lease.as_deref().and_then(|lease| holder(lease, now));
    if holder == Some(oldest.as_str()) {
        return;
    }
    let voices: Vec<(&Value, Voice)> = candidates.iter().map(|one| (one, voice(one, now))).collect();
    for (candidate, _) in voices.iter().filter(|(_, voice)| *voice == Voice::ToBeAsked) {
        ask(server, name(candidate), now);
    }
    if voices
        .iter()
        .any(|(_, voice)| matches!(voice, Voice::ToBeAsked | Voice::Awaited))
    {
        return;
    }
    let mut there = voices.iter().filter(|(_, voice)| *voice == Voice::There);
    if let Some((chosen, _)) = there.next() {
        give(server, name(chosen), lease.as_deref(), holder, now);
    }
}

/// Who holds the lease and has renewed it in time.
fn holder(lease: &Value, now: Timestamp) -> Option<&str> {
    let seconds = lease["spec"]["leaseDurationSeconds"].as_i64()?;
    let runs_out = time(lease, "renewTime")? + SignedDuration::from_secs(seconds);
    let holder = lease["spec"]["holderIdentity"].as_str()?;
    (runs_out >= now && !holder.is_empty()).then_some(holder)
}

#[expect(clippy::expect_used, reason = "what the server does not take is the test's fault")]
fn ask(server: &ApiServer, candidate: &str, now: Timestamp) {
    let ask = |candidate: &mut Value| candidate["spec"]["pingTime"] = text(now);
    server
        .modify(kind("v1beta1", "leasecandidates"), NAMESPACE, candidate, ask)
        .expect("a candidate to ask");
}

#[expect(clippy::expect_used, reason = "what the server does not take is the test's fault")]
fn give(server: &ApiServer, chosen: &str, lease: Option<&Value>, holder: Option<&str>, now: Timestamp) {
    let spec = json!({
        "holderIdentity": chosen, "leaseDurationSeconds": 5, "strategy": "OldestEmulationVersion", "renewTime": text(now),
    });
    if lease.is_none() {
        let lease = json!({ "metadata": { "name": LEASE, "namespace": NAMESPACE }, "spec": spec });
        server.create(leases(), NAMESPACE, lease).expect("a lease");
        return;
    }
    let change = |lease: &mut Value| {
        if holder.is_some() {
            lease["spec"]["preferredHolder"] = Value::from(chosen);
            return;
        }
        let transitions = lease["spec"]["leaseTransitions"].clone();
        lease["spec"] = spec;
        lease["spec"]["leaseTransitions"] = transitions;
    };
    server
        .modify(leases(), NAMESPACE, LEASE, change)
        .expect("a lease to give");
}
