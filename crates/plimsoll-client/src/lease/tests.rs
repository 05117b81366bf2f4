use http::Method;
use std::time::Duration;

use super::*;
use crate::scripted::{Script, Step};

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn lease_json() -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": { "name": "kube-scheduler", "namespace": "kube-system", "uid": "u1", "resourceVersion": "0042",
            "labels": { "kept": "yes" } },
        "spec": { "holderIdentity": "other", "leaseDurationSeconds": 15, "acquireTime": "2026-11-28T02:30:00.000000Z",
            "renewTime": "2026-11-28T02:30:02.123456Z", "leaseTransitions": 3, "strategy": "OldestEmulationVersion",
            "preferredHolder": "third" },
    })
}

fn ours() -> LeaseRecord {
    LeaseRecord {
        holder: "us".to_owned(),
        duration_seconds: 15,
        acquire_time: Some(time("2026-11-28T02:31:00Z")),
        renew_time: Some(time("2026-11-28T02:31:00.5Z")),
        transitions: 4,
    }
}

fn lease(script: &Script) -> LeaseClient {
    LeaseClient::new(
        script.client().with_request_timeout(Duration::from_secs(5)),
        "kube-system",
        "kube-scheduler",
    )
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_read_as_client_go_writes_it() {
    let script = Script::new([Step::ok(&lease_json())]);
    let LeaseReply::Lease(stored) = lease(&script).get().await else {
        panic!("not read")
    };
    let expected = LeaseRecord {
        holder: "other".to_owned(),
        duration_seconds: 15,
        acquire_time: Some(time("2026-11-28T02:30:00Z")),
        renew_time: Some(time("2026-11-28T02:30:02.123456Z")),
        transitions: 3,
    };
    assert_eq!(stored.record, expected);
    assert_eq!(
        (stored.resource_version.as_str(), stored.preferred_holder.as_deref()),
        ("0042", Some("third"))
    );
    let path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler?timeout=5s";
    assert_eq!(script.paths(), [path]);
}

#[tokio::test(start_paused = true)]
async fn an_update_keeps_what_it_does_not_know_and_the_version_as_precondition() {
    let script = Script::new([Step::ok(&lease_json()), Step::ok(&lease_json())]);
    let lease = lease(&script);
    let LeaseReply::Lease(stored) = lease.get().await else {
        panic!("not read")
    };
    lease.update(&stored, &ours()).await;
    let seen = &script.seen()[1];
    let mut expected = lease_json();
    expected["spec"]["holderIdentity"] = "us".into();
    expected["spec"]["acquireTime"] = "2026-11-28T02:31:00.000000Z".into();
    expected["spec"]["renewTime"] = "2026-11-28T02:31:00.500000Z".into();
    expected["spec"]["leaseTransitions"] = 4.into();
    assert_eq!((&seen.method, &seen.body), (&Method::PUT, &expected));
}

#[tokio::test(start_paused = true)]
async fn a_created_lease_has_whole_spec() {
    let script = Script::new([Step::answer(201, lease_json().to_string())]);
    assert!(matches!(lease(&script).create(&ours()).await, LeaseReply::Lease(_)));
    let seen = &script.seen()[0];
    assert_eq!(
        seen.path,
        "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases?timeout=5s"
    );
    let spec = json!({ "holderIdentity": "us", "leaseDurationSeconds": 15, "leaseTransitions": 4,
        "acquireTime": "2026-11-28T02:31:00.000000Z", "renewTime": "2026-11-28T02:31:00.500000Z" });
    assert_eq!(seen.body["spec"], spec);
}

#[tokio::test(start_paused = true)]
async fn every_answer_about_a_lease_has_one_meaning() {
    let text = |text: &str| text.to_owned();
    let cases = [
        (Step::refusal(404, "NotFound", "none"), LeaseReply::NotFound),
        (
            Step::refusal(409, "Conflict", "changed"),
            LeaseReply::Conflict {
                message: text("changed"),
            },
        ),
        (
            Step::refusal(403, "Forbidden", "no"),
            LeaseReply::Refused {
                code: 403,
                message: text("no"),
            },
        ),
        (
            Step::refusal(429, "", "slow"),
            LeaseReply::Refused {
                code: 429,
                message: text("slow"),
            },
        ),
        (
            Step::refusal(500, "", "etcd"),
            LeaseReply::Unreachable {
                error: text("500: etcd"),
            },
        ),
    ];
    for (step, expected) in cases {
        assert_eq!(lease(&Script::new([step])).get().await, expected);
    }
    assert!(matches!(
        lease(&Script::new([Step::lost()])).get().await,
        LeaseReply::Unreachable { .. }
    ));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_is_given_up_after_the_request_time_out() {
    let script = Script::new([]);
    let started = tokio::time::Instant::now();
    let reply = lease(&script).get().await;
    assert_eq!(
        reply,
        LeaseReply::Unreachable {
            error: "no answer in time".to_owned()
        }
    );
    assert_eq!(started.elapsed(), Duration::from_secs(5));
}

/// What an update by this client makes of the annotations of a lease.
async fn annotated(stored: Value, record: &LeaseRecord, address: Option<&str>) -> Value {
    let script = Script::new([Step::ok(&stored), Step::ok(&stored)]);
    let lease = lease(&script).advertising(address.map(str::to_owned));
    let LeaseReply::Lease(read) = lease.get().await else {
        panic!("not read")
    };
    lease.update(&read, record).await;
    script.seen()[1].body["metadata"]["annotations"].clone()
}

#[tokio::test(start_paused = true)]
async fn a_holder_says_where_it_serves_and_takes_back_what_another_has_said() {
    let address = Some("https://10.0.0.1:10259");
    let ours_said = json!({ LEADER_ADDRESS: "https://10.0.0.1:10259", LEADER_ADDRESS_OF: "us" });
    assert_eq!(annotated(lease_json(), &ours(), address).await, ours_said);
    let mut others = lease_json();
    others["metadata"]["annotations"] =
        json!({ LEADER_ADDRESS: "https://10.0.0.2:10259", LEADER_ADDRESS_OF: "other", "kept": "yes" });
    let mut expected = ours_said.clone();
    expected["kept"] = "yes".into();
    assert_eq!(annotated(others.clone(), &ours(), address).await, expected);
    let kept = json!({ "kept": "yes" });
    assert_eq!(
        annotated(others.clone(), &ours(), None).await,
        kept,
        "it serves nowhere"
    );
    let free = LeaseRecord {
        holder: String::new(),
        ..ours()
    };
    assert_eq!(annotated(others, &free, address).await, kept, "nobody leads");
    assert_eq!(annotated(lease_json(), &ours(), None).await, Value::Null);
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_created_with_the_address_of_its_holder() {
    let script = Script::new([Step::ok(&lease_json())]);
    let lease = lease(&script).advertising(Some("https://10.0.0.1:10259".to_owned()));
    lease.create(&ours()).await;
    let expected = json!({ LEADER_ADDRESS: "https://10.0.0.1:10259", LEADER_ADDRESS_OF: "us" });
    assert_eq!(script.seen()[0].body["metadata"]["annotations"], expected);
}

#[test]
fn an_address_counts_only_while_whoever_wrote_it_holds_the_lease() {
    let address = |annotations: Value| {
        let mut lease = lease_json();
        lease["metadata"]["annotations"] = annotations;
        let stored = StoredLease::decode(lease.to_string().as_bytes()).unwrap();
        stored.leader_address().map(str::to_owned)
    };
    let url = "https://10.0.0.2:10259";
    assert_eq!(
        address(json!({ LEADER_ADDRESS: url, LEADER_ADDRESS_OF: "other" })).as_deref(),
        Some(url)
    );
    // kube-scheduler has taken the lease over, and left the annotations.
    assert_eq!(address(json!({ LEADER_ADDRESS: url, LEADER_ADDRESS_OF: "us" })), None);
    assert_eq!(address(json!({ LEADER_ADDRESS: url })), None);
    assert_eq!(address(Value::Null), None);
}
