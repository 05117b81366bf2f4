//! The same seed, the same requests: the same bytes, in the same order.

use serde_json::json;

use super::*;
use crate::fault::{Action, Match, Rule};

/// Several writers race, watchers listen, chances are drawn: everything anyone saw, in order.
async fn play(seed: u64) -> Vec<String> {
    let server = server_with(Config {
        seed,
        ..Config::default()
    });
    let flaky = Rule::new(
        Match::verbs(&["create"]).resource("pods"),
        Action::Latency { millis: 3 },
    );
    server.faults().add(Rule {
        probability: Some(0.5),
        ..flaky
    });
    let trace = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let mut tasks = tokio::task::JoinSet::new();
    for watcher in 0..3 {
        let (server, trace) = (server.clone(), std::sync::Arc::clone(&trace));
        tasks.spawn(async move {
            let mut events = server
                .watch("/api/v1/pods?watch=1&resourceVersion=1&timeoutSeconds=2")
                .await;
            while let Some(event) = events.next().await {
                trace.lock().expect("unpoisoned").push(format!("{watcher} {event}"));
            }
        });
    }
    for writer in 0..4 {
        let server = server.clone();
        tasks.spawn(async move {
            for at in 0..5 {
                let name = format!("p-{writer}-{at}");
                server.call("POST", PODS, pod(&name)).await;
                let binding = json!({ "metadata": { "name": name }, "target": { "name": "n" } });
                server.call("POST", &format!("{PODS}/{name}/binding"), binding).await;
            }
        });
    }
    while tasks.join_next().await.is_some() {}
    std::mem::take(&mut *trace.lock().expect("unpoisoned"))
}

#[tokio::test(start_paused = true)]
async fn a_seed_replays() {
    let first = play(7).await;
    assert_eq!(first.len(), 3 * 4 * 5 * 2);
    for _ in 0..5 {
        assert_eq!(play(7).await, first);
    }
    assert_ne!(play(8).await, first);
}

#[tokio::test(start_paused = true)]
async fn a_thousand_pods_are_created_and_bound_quickly() {
    let server = server();
    for at in 0..1000 {
        let name = format!("p{at}");
        assert_eq!(server.call("POST", PODS, pod(&name)).await.0, 201);
        let binding = json!({ "metadata": { "name": name }, "target": { "name": "n" } });
        assert_eq!(
            server.call("POST", &format!("{PODS}/{name}/binding"), binding).await.0,
            201
        );
    }
    assert!(server.snapshot(pods()).iter().all(|pod| pod["spec"]["nodeName"] == "n"));
}
