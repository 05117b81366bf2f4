//! Injected faults, seen from a client.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

use super::*;
use crate::fault::{Action, Failure, Match, Rule};

const BINDING: &str = "/api/v1/namespaces/default/pods/a/binding";

fn with_pod() -> ApiServer {
    let server = server();
    server.create(pods(), "default", pod("a")).expect("created");
    server
}

fn on_bind(action: Action) -> Rule {
    Rule::new(
        Match::verbs(&["create"]).resource("pods").subresource("binding"),
        action,
    )
    .times(1)
}

fn to_node() -> Value {
    json!({ "metadata": { "name": "a" }, "target": { "name": "n" } })
}

fn node(server: &ApiServer) -> Value {
    server.get(pods(), "default", "a").expect("the pod")["spec"]["nodeName"].clone()
}

fn bind_request(query: &str) -> http::Request<Full<Bytes>> {
    http::Request::post(format!("{BINDING}{query}"))
        .body(Full::from(to_node().to_string()))
        .expect("a request")
}

#[tokio::test(start_paused = true)]
async fn a_failure_before_applying_applies_nothing() {
    let server = with_pod();
    server.faults().add(on_bind(Action::Fail {
        failure: Failure::code(429).retry_after(3),
    }));
    let response = server.send(bind_request("")).await.expect("a response");
    assert_eq!(response.status(), 429);
    assert_eq!(response.headers()["retry-after"], "3");
    assert_eq!(node(&server), Value::Null);
    assert_eq!(
        server.call("POST", BINDING, to_node()).await.0,
        201,
        "the rule fired once"
    );
}

#[tokio::test(start_paused = true)]
async fn a_failure_after_applying_and_a_lost_reply_apply() {
    for action in [
        Action::FailAfter {
            failure: Failure::code(500),
        },
        Action::LoseReply,
    ] {
        let server = with_pod();
        server.faults().add(on_bind(action));
        if let Ok(response) = server.send(bind_request("")).await {
            assert_eq!(response.status(), 500);
        }
        assert_eq!(node(&server), "n");
    }
}

#[tokio::test(start_paused = true)]
async fn latency_is_virtual_and_bounded_by_the_time_out() {
    let server = with_pod();
    server.faults().add(on_bind(Action::Latency { millis: 5_000 }));
    let start = Instant::now();
    assert_eq!(server.call("POST", BINDING, to_node()).await.0, 201);
    assert_eq!(start.elapsed(), Duration::from_secs(5));

    let server = with_pod();
    server.faults().add(on_bind(Action::Latency { millis: 5_000 }));
    let start = Instant::now();
    let (code, status) = server.call("POST", &format!("{BINDING}?timeout=2s"), to_node()).await;
    assert_eq!((code, start.elapsed()), (504, Duration::from_secs(2)));
    assert_eq!(
        status["message"],
        "Timeout: request did not complete within requested timeout - context deadline exceeded"
    );
    assert_eq!(node(&server), Value::Null);
    assert_eq!(
        server.call("POST", &format!("{BINDING}?timeout=x"), to_node()).await.0,
        400
    );
}

#[tokio::test(start_paused = true)]
async fn a_late_request_is_applied_after_its_client_gave_up() {
    let server = with_pod();
    server.faults().add(on_bind(Action::ApplyLate { millis: 60_000 }));
    let gave_up = timeout(Duration::from_secs(1), server.send(bind_request("?timeout=5s"))).await;
    assert!(gave_up.is_err());
    sleep(Duration::from_millis(3_900)).await;
    assert_eq!(node(&server), Value::Null);
    sleep(Duration::from_millis(200)).await;
    assert_eq!(node(&server), "n", "no later than its time-out");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_waits_for_a_late_request_is_told_504() {
    let server = with_pod();
    server.faults().add(on_bind(Action::ApplyLate { millis: 60_000 }));
    let (code, _) = server.call("POST", &format!("{BINDING}?timeout=5s"), to_node()).await;
    assert_eq!(code, 504);
    sleep(Duration::from_millis(1)).await;
    assert_eq!(node(&server), "n");
}

#[tokio::test(start_paused = true)]
async fn a_late_request_that_is_slow_besides_is_applied_by_its_time_out_all_the_same() {
    let server = with_pod();
    server.faults().add(on_bind(Action::ApplyLate { millis: 4_000 }));
    server.faults().add(on_bind(Action::Latency { millis: 60_000 }));
    let (code, _) = server.call("POST", &format!("{BINDING}?timeout=5s"), to_node()).await;
    assert_eq!(code, 504);
    sleep(Duration::from_millis(1)).await;
    assert_eq!(node(&server), "n");
}

#[tokio::test(start_paused = true)]
async fn a_held_request_goes_on_when_its_gate_opens() {
    let server = with_pod();
    server.faults().add(on_bind(Action::Hold { gate: "g".into() }));
    let ((code, _), ()) = tokio::join!(server.call("POST", BINDING, to_node()), async {
        sleep(Duration::from_secs(3)).await;
        assert_eq!((server.faults().held("g"), node(&server)), (1, Value::Null));
        server.faults().release("g");
    });
    assert_eq!((code, node(&server)), (201, json!("n")));
    assert_eq!(server.faults().held("g"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_watch_is_cut_in_the_middle_of_a_line() {
    let server = with_pod();
    server.create(pods(), "default", pod("b")).expect("created");
    server.faults().add(Rule::new(
        Match::verbs(&["watch"]),
        Action::CutWatch { after_events: 1 },
    ));
    let mut events = server.watch("/api/v1/pods?watch=1").await;
    assert!(events.short().await.starts_with("ADDED a@"));
    assert_eq!(events.next().await, None);
    assert!(!events.buffer.is_empty(), "half a line is left");
}

#[tokio::test(start_paused = true)]
async fn stale_reads_show_an_older_version_and_watches_catch_up() {
    let server = with_pod();
    server.bind("default", "a", "n").expect("bound");
    server.faults().add(Rule::new(
        Match::default().resource("pods"),
        Action::StaleRead { versions: 1 },
    ));
    let list = server.get_ok(&format!("{PODS}?resourceVersion=0")).await;
    assert_eq!(list["items"][0]["spec"].get("nodeName"), None);
    let fresh = server.get_ok(PODS).await;
    assert_eq!(fresh["items"][0]["spec"]["nodeName"], "n");
    let mut events = server.watch("/api/v1/pods?watch=1&resourceVersion=0").await;
    assert!(events.short().await.starts_with("ADDED a@"));
    let caught_up = events.next().await.expect("an event");
    assert_eq!(
        (&caught_up["type"], &caught_up["object"]["spec"]["nodeName"]),
        (&json!("MODIFIED"), &json!("n"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_watch_can_be_refused_or_told_that_it_expired() {
    let server = with_pod();
    let rule = |action| Rule::new(Match::verbs(&["watch"]), action).times(1);
    server.faults().add(rule(Action::Fail {
        failure: Failure::code(410),
    }));
    assert_eq!(server.call("GET", "/api/v1/pods?watch=1", None).await.0, 410);
    server.faults().add(rule(Action::WatchError {
        failure: Failure::code(410),
    }));
    let mut events = server.watch("/api/v1/pods?watch=1").await;
    let error = events.next().await.expect("an event");
    assert_eq!(
        (&error["type"], &error["object"]["reason"]),
        (&json!("ERROR"), &json!("Expired"))
    );
    assert_eq!(events.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn bookmarks_can_be_hurried() {
    let server = with_pod();
    server.faults().add(Rule::new(
        Match::verbs(&["watch"]),
        Action::BookmarkEvery { millis: 100 },
    ));
    let path = format!(
        "/api/v1/pods?watch=1&allowWatchBookmarks=1&resourceVersion={}",
        server.resource_version()
    );
    let mut events = server.watch(&path).await;
    let start = Instant::now();
    for _ in 0..3 {
        assert!(events.short().await.starts_with("BOOKMARK"));
    }
    assert_eq!(start.elapsed(), Duration::from_millis(300));
}

#[tokio::test(start_paused = true)]
async fn rules_come_and_go_over_http() {
    let server = server_with(Config {
        fault_endpoint: true,
        ..Config::default()
    });
    let rule = json!({ "match": { "verbs": ["list"] }, "action": { "type": "fail", "code": 503 }, "times": 2 });
    let (code, added) = server.call("POST", "/_faults", rule).await;
    assert_eq!((code, &added["id"]), (201, &json!(1)));
    assert_eq!(server.call("GET", PODS, None).await.0, 503);
    let (_, rules) = server.call("GET", "/_faults", None).await;
    assert_eq!(rules["rules"][0]["fired"], 1);
    assert_eq!(server.call("DELETE", "/_faults/1", None).await.0, 200);
    assert_eq!(server.call("GET", PODS, None).await.0, 200);
    assert_eq!(
        server
            .call("POST", "/_faults", json!({ "action": { "type": "unheard-of" } }))
            .await
            .0,
        400
    );
}
