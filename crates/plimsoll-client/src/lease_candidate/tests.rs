use std::time::Duration;

use http::Method;

use super::*;
use crate::scripted::{Script, Step};

const COLLECTION: &str = "/apis/coordination.k8s.io/v1beta1/namespaces/kube-system/leasecandidates";

fn candidate_json(ping: Option<&str>) -> Value {
    let mut object = json!({
        "apiVersion": "coordination.k8s.io/v1beta1",
        "kind": "LeaseCandidate",
        "metadata": { "name": "us_1", "namespace": "kube-system", "resourceVersion": "7", "labels": { "kept": "yes" } },
        "spec": { "leaseName": "kube-scheduler", "binaryVersion": "1.36.0", "emulationVersion": "1.36.0",
            "strategy": "OldestEmulationVersion", "renewTime": "2026-11-28T02:30:00.000000Z" },
    });
    if let Some(ping) = ping {
        object["spec"]["pingTime"] = ping.into();
    }
    object
}

fn stored(ping: Option<&str>) -> StoredCandidate {
    StoredCandidate::decode(candidate_json(ping).to_string().as_bytes()).unwrap()
}

fn client(script: &Script) -> LeaseCandidateClient {
    let client = script.client().with_request_timeout(Duration::from_secs(5));
    LeaseCandidateClient::new(client, "kube-system", "kube-scheduler", "us_1")
}

fn event_line(kind: &str, object: &Value) -> String {
    format!("{}\n", json!({ "type": kind, "object": object }))
}

#[test]
fn a_candidate_is_asked_when_the_question_is_younger_than_its_last_word() {
    assert!(!stored(None).is_asked());
    assert!(!stored(Some("2026-11-28T02:29:59.000000Z")).is_asked());
    assert!(!stored(Some("2026-11-28T02:30:00.000000Z")).is_asked());
    assert!(stored(Some("2026-11-28T02:30:00.000001Z")).is_asked());
}

#[tokio::test(start_paused = true)]
async fn a_candidate_is_created_as_kube_scheduler_creates_it() {
    let script = Script::new([Step::answer(201, candidate_json(None).to_string())]);
    let reply = client(&script).create("2026-11-28T02:30:00Z".parse().unwrap()).await;
    assert_eq!(reply, CandidateReply::Candidate(Box::new(stored(None))));
    let seen = &script.seen()[0];
    assert_eq!(
        (&seen.method, seen.path.as_str()),
        (&Method::POST, format!("{COLLECTION}?timeout=5s").as_str())
    );
    assert_eq!(seen.body["metadata"]["name"], "us_1");
    assert_eq!(seen.body["spec"], candidate_json(None)["spec"]);
}

#[tokio::test(start_paused = true)]
async fn a_renewal_moves_one_time_and_keeps_the_rest_with_the_version() {
    let ping = Some("2026-11-28T02:31:00.000000Z");
    let script = Script::new([Step::ok(&candidate_json(ping))]);
    client(&script)
        .renew(&stored(ping), "2026-11-28T02:31:00.5Z".parse().unwrap())
        .await;
    let seen = &script.seen()[0];
    let mut expected = candidate_json(ping);
    expected["spec"]["renewTime"] = "2026-11-28T02:31:00.500000Z".into();
    assert_eq!((&seen.method, &seen.body), (&Method::PUT, &expected));
}

#[test]
fn an_answer_is_not_dated_before_its_question() {
    let ahead = stored(Some("2026-11-28T03:00:00.000000Z"));
    let renewed = ahead.renewed("2026-11-28T02:31:00Z".parse().unwrap());
    let renewed = StoredCandidate::decode(renewed.to_string().as_bytes()).unwrap();
    assert!(!renewed.is_asked(), "{renewed:?}");
}

#[tokio::test(start_paused = true)]
async fn a_watch_tells_of_the_next_change_and_of_nothing_else() {
    let asked = candidate_json(Some("2026-11-28T02:31:00.000000Z"));
    let gone = event_line("DELETED", &asked);
    let error = json!({ "kind": "Status", "code": 410, "message": "too old" });
    let text = event_line("MODIFIED", &asked);
    let (half, rest) = text.split_at(30);
    let cases = [
        (
            Step::stream([half.to_owned(), rest.to_owned()]),
            CandidateReply::Candidate(Box::new(stored(Some("2026-11-28T02:31:00.000000Z")))),
        ),
        (Step::stream([gone]), CandidateReply::NotFound),
        (Step::stream([]), CandidateReply::Quiet),
        (
            Step::stream([event_line("ERROR", &error)]),
            CandidateReply::Failed {
                error: "too old".to_owned(),
            },
        ),
        (
            Step::refusal(403, "Forbidden", "no"),
            CandidateReply::Failed {
                error: "403: no".to_owned(),
            },
        ),
    ];
    for (step, expected) in cases {
        let script = Script::new([step]);
        assert_eq!(client(&script).changed(&stored(None)).await, expected);
        let path =
            format!("{COLLECTION}?watch=true&fieldSelector=metadata.name%3Dus_1&resourceVersion=7&timeoutSeconds=300");
        assert_eq!(script.paths(), [path]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_candidate_that_was_taken_away_is_not_there() {
    for step in [
        Step::ok(&json!({ "kind": "Status", "status": "Success" })),
        Step::refusal(404, "NotFound", "none"),
    ] {
        let script = Script::new([step]);
        assert_eq!(client(&script).delete().await, CandidateReply::NotFound);
        assert_eq!(script.seen()[0].method, Method::DELETE);
    }
}
