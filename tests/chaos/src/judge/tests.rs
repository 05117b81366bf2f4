use k8s_openapi::api::coordination::v1::Lease;
use plimsoll_controlplane::Answered;
use serde_json::{Value, json};

use super::*;

fn pod(uid: &str, node: Option<&str>, status: &Value) -> Record {
    let object = json!({
        "metadata": { "name": "p", "namespace": "n", "uid": uid },
        "spec": {
            "nodeName": node, "priority": 5,
            "containers": [{ "name": "main", "resources": { "requests": { "cpu": "1" } } }],
        },
        "status": status,
    });
    Record::Pod("n/p".to_owned(), Box::new(serde_json::from_value(object).unwrap()))
}

fn deleted(mut record: Record) -> Record {
    if let Record::Pod(_, pod) = &mut record {
        pod.metadata.deletion_timestamp = Some(serde_json::from_value(json!("2026-01-02T03:04:05Z")).unwrap());
    }
    record
}

fn lease(holder: &str) -> Record {
    let lease: Lease = serde_json::from_value(json!({ "spec": { "holderIdentity": holder } })).unwrap();
    Record::Lease(Box::new(lease))
}

fn node(cpu: &str) -> Record {
    let status = json!({ "allocatable": { "cpu": cpu, "pods": "10" } });
    let node = json!({ "metadata": { "name": "a" }, "status": status });
    Record::Node("a".to_owned(), Box::new(serde_json::from_value(node).unwrap()))
}

fn request(id: &str, replica: u8, asked: Asked, answered: Option<(u16, i64)>) -> Request {
    Request {
        id: id.to_owned(),
        asked,
        namespace: "n".to_owned(),
        name: "p".to_owned(),
        uid: "u".to_owned(),
        group: format!("replica-{replica}"),
        received: 0,
        answered: answered.map(|(code, revision)| Answered {
            code,
            at: 1,
            revision: Some(revision),
        }),
    }
}

/// Replica 1 is called `one`, replica 2 is called `two`.
fn ledger(requests: impl IntoIterator<Item = Request>) -> Ledger {
    let mut ledger = Ledger::default();
    let holds = |replica, name: &str| request(name, replica, Asked::Lease(name.to_owned()), Some((200, 1)));
    ledger.take(vec![holds(1, "one"), holds(2, "two")]);
    ledger.take(requests.into_iter().collect());
    ledger
}

fn judged(records: Vec<Record>, ledger: &Ledger) -> Findings {
    let records: Vec<(i64, Record)> = (1..).zip(records).collect();
    Judge::default().judge(&records, ledger).unwrap()
}

fn bind(replica: u8, code: Option<u16>) -> Request {
    request(
        &format!("bind-{replica}"),
        replica,
        Asked::Bind("a".to_owned()),
        code.map(|code| (code, 0)),
    )
}

fn waiting() -> Record {
    pod("u", None, &Value::Null)
}

fn bound() -> Record {
    pod("u", Some("a"), &Value::Null)
}

#[test]
fn a_binding_is_the_lease_holders_or_a_violation() {
    let by = |replica| {
        judged(
            vec![lease("one"), waiting(), bound()],
            &ledger([bind(replica, Some(201))]),
        )
    };
    assert!(by(1).violations.is_empty());
    assert_eq!((by(1).bound, by(1).fenced), (1, 1));
    assert_eq!(
        by(2).violations,
        ["revision 3: n/p was bound by replica-2 while replica-1 held the lease"]
    );
}

#[test]
fn nobody_may_write_while_the_lease_is_released() {
    let found = judged(
        vec![lease("one"), waiting(), lease(""), bound()],
        &ledger([bind(1, Some(201))]),
    );
    assert_eq!(found.violations.len(), 1);
}

#[test]
fn a_binding_without_an_answer_may_have_been_the_holders() {
    let records = || vec![lease("two"), waiting(), bound()];
    assert!(
        judged(records(), &ledger([bind(1, None), bind(2, None)]))
            .violations
            .is_empty()
    );
    assert_eq!(judged(records(), &ledger([bind(1, None)])).violations.len(), 1);
    // A refused one was nobody's.
    let refused = judged(records(), &ledger([bind(1, Some(409))]));
    assert_eq!((refused.violations.len(), refused.unattributed), (0, 1));
}

#[test]
fn a_second_node_a_second_answer_and_too_much_on_a_node_are_violations() {
    let mut twice = ledger([bind(1, Some(201))]);
    twice.take(vec![request("again", 1, Asked::Bind("b".to_owned()), Some((201, 0)))]);
    let moved = pod("u", Some("b"), &Value::Null);
    let found = judged(vec![node("500m"), lease("one"), waiting(), bound(), moved], &twice);
    assert_eq!(
        found.violations,
        [
            "revision 4: n/p took a past its cpu: 1000 of 500 (m)",
            "revision 5: n/p was bound to a and then to Some(\"b\")",
            "the pod with UID u was bound by replica-1 and again by replica-1",
        ]
    );
}

#[test]
fn a_status_is_written_by_the_holder_at_the_very_version() {
    let told = pod("u", None, &json!({ "nominatedNodeName": "a" }));
    let status = |replica, version| request("status", replica, Asked::Pod(PodWrite::Status), Some((200, version)));
    let by = |request| judged(vec![lease("one"), waiting(), told.clone()], &ledger([request]));
    assert!(by(status(1, 3)).violations.is_empty());
    assert_eq!(by(status(2, 3)).violations.len(), 1);
    assert_eq!(by(status(2, 2)).unattributed, 1);
}

#[test]
fn a_scheduler_deletes_only_whom_it_has_marked_for_somebody_more_important() {
    let marked = || {
        let condition = json!([{ "type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler" }]);
        pod("u", Some("a"), &json!({ "conditions": condition }))
    };
    let more_important = || {
        let mut record = pod("v", None, &Value::Null);
        if let Record::Pod(key, pod) = &mut record {
            *key = "n/q".to_owned();
            pod.metadata.name = Some("q".to_owned());
            pod.spec.as_mut().unwrap().priority = Some(10);
        }
        record
    };
    let delete = request("delete", 1, Asked::Pod(PodWrite::Delete), Some((200, 5)));
    let mark = request("mark", 1, Asked::Pod(PodWrite::Status), Some((200, 4)));
    let ledger = ledger([delete, mark]);
    let planned = judged(
        vec![lease("one"), more_important(), bound(), marked(), deleted(marked())],
        &ledger,
    );
    assert!(planned.violations.is_empty(), "{:?}", planned.violations);
    assert_eq!(planned.evicted, 1);
    let for_nobody = judged(
        vec![lease("one"), node("4"), bound(), marked(), deleted(marked())],
        &ledger,
    );
    assert_eq!(
        for_nobody.violations,
        ["revision 4: n/p was made a victim and nobody more important waited"]
    );
    let unmarked = judged(
        vec![lease("one"), more_important(), bound(), bound(), deleted(bound())],
        &ledger,
    );
    assert_eq!(
        unmarked.violations,
        ["revision 5: n/p was deleted by a scheduler and not marked as a victim before"]
    );
}
