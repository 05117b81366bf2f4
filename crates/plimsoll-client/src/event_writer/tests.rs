use http::Method;

use super::*;
use crate::scripted::{Script, Step};

fn record() -> EventRecord {
    EventRecord {
        event_type: EventType::Warning,
        reason: "FailedScheduling".into(),
        action: "Scheduling".into(),
        note: "0/1 nodes are available, 100% of them %s".to_owned(),
        regarding: ObjectReference {
            api_version: "v1".into(),
            kind: "Pod".into(),
            name: ObjectName::new("ns", "a"),
            uid: Uid::from("uid-a"),
            resource_version: "9".into(),
        },
        related: None,
        reporting_controller: "default-scheduler".into(),
        reporting_instance: "default-scheduler-host".into(),
        event_time: "2026-11-28T02:30:00.000001Z".parse().unwrap(),
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_is_written_as_kube_scheduler_writes_it() {
    let script = Script::new([Step::refusal(201, "", "")]);
    assert_eq!(
        EventWriter::new(script.client()).create(&record(), None).await,
        EventReply::Written
    );
    let seen = &script.seen()[0];
    assert_eq!(
        (&seen.method, seen.path.as_str()),
        (&Method::POST, "/apis/events.k8s.io/v1/namespaces/ns/events")
    );
    let nanos: u64 = 1_795_833_000_000_001_000;
    let expected = json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": { "namespace": "ns", "name": format!("a.{nanos:x}") },
        "eventTime": "2026-11-28T02:30:00.000001Z",
        "reportingController": "default-scheduler",
        "reportingInstance": "default-scheduler-host",
        "action": "Scheduling",
        "reason": "FailedScheduling",
        "regarding": { "apiVersion": "v1", "kind": "Pod", "namespace": "ns", "name": "a", "uid": "uid-a", "resourceVersion": "9" },
        "note": "0/1 nodes are available, 100% of them %s",
        "type": "Warning",
    });
    assert_eq!(seen.body, expected);
}

#[tokio::test(start_paused = true)]
async fn a_series_is_a_strategic_merge_onto_the_first_event() {
    let script = Script::new([Step::refusal(200, "", ""), Step::refusal(404, "NotFound", "expired")]);
    let writer = EventWriter::new(script.client());
    let series = EventSeries {
        count: 2,
        last_observed_time: "2026-11-28T02:31:00Z".parse().unwrap(),
    };
    assert_eq!(writer.patch_series(&record(), series).await, EventReply::Written);
    assert_eq!(writer.patch_series(&record(), series).await, EventReply::NotFound);
    let seen = &script.seen()[0];
    assert_eq!(
        seen.path,
        format!("/apis/events.k8s.io/v1/namespaces/ns/events/{}", record().name())
    );
    assert_eq!(seen.content_type, "application/strategic-merge-patch+json");
    assert_eq!(
        seen.body,
        json!({ "series": { "count": 2, "lastObservedTime": "2026-11-28T02:31:00.000000Z" } })
    );
}

#[tokio::test(start_paused = true)]
async fn an_event_about_the_lease_is_a_core_event() {
    let script = Script::new([Step::refusal(201, "", "")]);
    let mut record = record();
    record.event_type = EventType::Normal;
    record.reason = "LeaderElection".into();
    let once = EventCount {
        count: 1,
        last_timestamp: record.event_time,
    };
    EventWriter::new(script.client()).create_core(&record, once).await;
    let seen = &script.seen()[0];
    assert_eq!(seen.path, "/api/v1/namespaces/ns/events");
    assert_eq!(seen.body["source"]["component"], "default-scheduler");
    assert_eq!(seen.body["firstTimestamp"], "2026-11-28T02:30:00Z");
    assert_eq!(
        (&seen.body["count"], &seen.body["eventTime"]),
        (&json!(1), &Value::Null)
    );
}

#[tokio::test(start_paused = true)]
async fn an_event_that_comes_again_before_it_is_there_is_created_as_a_series() {
    let script = Script::new([Step::refusal(201, "", "")]);
    let series = EventSeries {
        count: 2,
        last_observed_time: "2026-11-28T02:31:00Z".parse().unwrap(),
    };
    EventWriter::new(script.client()).create(&record(), Some(series)).await;
    assert_eq!(
        script.seen()[0].body["series"],
        json!({ "count": 2, "lastObservedTime": "2026-11-28T02:31:00.000000Z" })
    );
}

#[tokio::test(start_paused = true)]
async fn a_core_event_that_comes_again_is_counted_with_its_last_words() {
    let script = Script::new([Step::refusal(200, "", "")]);
    let count = EventCount {
        count: 3,
        last_timestamp: "2026-11-28T02:31:00Z".parse().unwrap(),
    };
    EventWriter::new(script.client()).patch_core(&record(), count).await;
    let seen = &script.seen()[0];
    assert_eq!(seen.path, format!("/api/v1/namespaces/ns/events/{}", record().name()));
    assert_eq!(
        seen.body,
        json!({ "count": 3, "lastTimestamp": "2026-11-28T02:31:00Z", "message": "0/1 nodes are available, 100% of them %s" })
    );
}

#[tokio::test(start_paused = true)]
async fn only_what_may_pass_is_worth_another_try() {
    let cases = [
        (Step::refusal(409, "AlreadyExists", "ours"), EventReply::Exists),
        (
            Step::refusal(403, "Forbidden", "no"),
            EventReply::Refused {
                code: 403,
                message: "no".to_owned(),
            },
        ),
        (
            Step::refusal(429, "", "slow").retry_after(3),
            EventReply::Throttled {
                retry_after: Duration::from_secs(3),
            },
        ),
        (
            Step::refusal(503, "", "down"),
            EventReply::Failed {
                error: "503: down".to_owned(),
            },
        ),
    ];
    for (step, expected) in cases {
        assert_eq!(
            EventWriter::new(Script::new([step]).client())
                .create(&record(), None)
                .await,
            expected
        );
    }
}

#[test]
fn the_name_of_an_event_fits_whatever_its_subject_is_called() {
    let mut long = record();
    long.regarding.name.name = "p".repeat(253).into();
    assert_eq!(long.name().len(), 253);
    assert!(long.name().ends_with(&record().name()[1..]));
}

#[test]
fn an_event_about_something_cluster_wide_goes_to_the_default_namespace() {
    let mut node = record();
    node.regarding.name = ObjectName::new("", "n1");
    assert_eq!(node.namespace(), "default");
}
