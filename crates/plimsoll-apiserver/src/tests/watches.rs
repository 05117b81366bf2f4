//! Watches: replay, selectors, bookmarks, compaction, time-outs.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::*;

#[tokio::test(start_paused = true)]
async fn a_watch_replays_from_its_version_and_goes_on() {
    let server = server();
    server.create(pods(), "default", pod("a")).expect("created");
    let from = server.resource_version();
    server.create(pods(), "default", pod("b")).expect("created");
    server.bind("default", "b", "n").expect("bound");
    server
        .create(
            kind("", "configmaps"),
            "default",
            json!({ "metadata": { "name": "m" } }),
        )
        .expect("created");
    let mut events = server
        .watch(&format!("/api/v1/pods?watch=true&resourceVersion={from}"))
        .await;
    assert_eq!(events.short().await, format!("ADDED b@{}", from + 1));
    assert_eq!(events.short().await, format!("MODIFIED b@{}", from + 2));
    let (next, ()) = tokio::join!(events.short(), async {
        server.delete(pods(), "default", "b").expect("deleted");
    });
    assert_eq!(next, format!("MODIFIED b@{}", from + 4));
    assert_eq!(events.short().await, format!("DELETED b@{}", from + 5));
}

#[tokio::test(start_paused = true)]
async fn a_watch_without_a_version_starts_with_what_is_there() {
    let server = server();
    server.create(pods(), "default", pod("a")).expect("created");
    for (at, query) in ["watch=1", "watch=true&resourceVersion=0"].into_iter().enumerate() {
        let mut events = server.watch(&format!("{PODS}?{query}")).await;
        assert!(events.short().await.starts_with("ADDED a@"), "{query}");
        server
            .modify(pods(), "default", "a", |pod| {
                pod["metadata"]["labels"] = json!({ "at": at.to_string() });
            })
            .expect("changed");
        assert!(events.short().await.starts_with("MODIFIED a@"), "{query}");
    }
}

#[tokio::test(start_paused = true)]
async fn entering_a_selector_is_an_addition_and_leaving_a_deletion() {
    let server = server();
    let from = server.resource_version();
    let path = format!("/api/v1/pods?watch=true&resourceVersion={from}&fieldSelector=spec.nodeName%3D");
    let mut pending = server.watch(&path).await;
    let path = format!("/api/v1/pods?watch=true&resourceVersion={from}&fieldSelector=spec.nodeName%3Dn");
    let mut on_node = server.watch(&path).await;
    server.create(pods(), "default", pod("a")).expect("created");
    server.bind("default", "a", "n").expect("bound");
    assert_eq!(pending.short().await, format!("ADDED a@{}", from + 1));
    assert_eq!(on_node.short().await, format!("ADDED a@{}", from + 2));
    let left = pending.next().await.expect("an event");
    assert_eq!(left["type"], "DELETED");
    assert_eq!(left["object"]["metadata"]["resourceVersion"], (from + 2).to_string());
    assert_eq!(
        left["object"]["spec"].get("nodeName"),
        None,
        "as it was while it was selected"
    );
}

#[tokio::test(start_paused = true)]
async fn bookmarks_come_once_a_minute_and_two_seconds_before_the_end() {
    let server = server();
    let path = "/api/v1/pods?watch=true&resourceVersion=1&allowWatchBookmarks=true&timeoutSeconds=150";
    let mut events = server.watch(path).await;
    let start = Instant::now();
    let mut seen = Vec::new();
    loop {
        let event = events.short().await;
        seen.push((event.clone(), start.elapsed().as_secs()));
        if event == "END" {
            break;
        }
    }
    let rv = server.resource_version();
    let mark = format!("BOOKMARK -@{rv}");
    assert_eq!(
        seen,
        [
            (mark.clone(), 60),
            (mark.clone(), 120),
            (mark, 148),
            ("END".into(), 150)
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_short_watch_forces_a_bookmark_and_one_too_short_gets_none() {
    let server = server();
    for (seconds, expected) in [(3, vec![1, 3]), (2, vec![2])] {
        let path = format!("/api/v1/pods?watch=1&resourceVersion=1&allowWatchBookmarks=1&timeoutSeconds={seconds}");
        let mut events = server.watch(&path).await;
        let start = Instant::now();
        let mut times = Vec::new();
        loop {
            let event = events.next().await;
            times.push(start.elapsed().as_secs());
            if event.is_none() {
                break;
            }
        }
        assert_eq!(times, expected, "{seconds} s");
    }
}

#[tokio::test(start_paused = true)]
async fn a_streaming_list_ends_with_a_marked_bookmark() {
    let server = server();
    server.create(pods(), "default", pod("a")).expect("created");
    server
        .create(
            kind("", "configmaps"),
            "default",
            json!({ "metadata": { "name": "m" } }),
        )
        .expect("created");
    let base = "/api/v1/pods?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    for version in ["", "&resourceVersion=0", "&resourceVersion=2"] {
        let mut events = server.watch(&format!("{base}&allowWatchBookmarks=true{version}")).await;
        assert!(events.short().await.starts_with("ADDED a@"));
        let mark = events.next().await.expect("a bookmark");
        assert_eq!(mark["type"], "BOOKMARK");
        let metadata = &mark["object"]["metadata"];
        assert_eq!(metadata["annotations"], json!({ "k8s.io/initial-events-end": "true" }));
        assert_eq!(metadata["resourceVersion"], server.resource_version().to_string());
    }
    let (code, _) = server
        .call("GET", "/api/v1/pods?watch=true&sendInitialEvents=true", None)
        .await;
    assert_eq!(code, 422);
    let mut events = server
        .watch(&format!("{base}&allowWatchBookmarks=true&resourceVersion=999"))
        .await;
    let error = events.next().await.expect("an error");
    assert_eq!(
        (&error["type"], &error["object"]["code"]),
        (&json!("ERROR"), &json!(504))
    );
}

#[tokio::test(start_paused = true)]
async fn a_large_initial_state_comes_whole_and_what_changes_meanwhile_after_it() {
    let server = server();
    for at in 0..200 {
        let made = server.create(pods(), "default", pod(&format!("p{at:03}")));
        made.expect("created");
    }
    let listed = server.resource_version();
    let base = "/api/v1/pods?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    let mut events = server.watch(&format!("{base}&allowWatchBookmarks=true")).await;
    for at in 0..200 {
        if at == 1 {
            server.delete(pods(), "default", "p150").expect("deleted");
        }
        let event = events.short().await;
        assert!(event.starts_with(&format!("ADDED p{at:03}@")), "{at}: {event}");
    }
    assert_eq!(events.short().await, format!("BOOKMARK -@{listed}"));
    // Its grace has not run out yet.
    assert_eq!(events.short().await, format!("MODIFIED p150@{}", listed + 1));
}

#[tokio::test(start_paused = true)]
async fn a_watch_of_a_kind_that_nothing_happens_to_outlives_any_number_of_changes_of_others() {
    let server = server_with(Config {
        log_capacity: 10,
        ..Config::default()
    });
    server.create(pods(), "default", pod("a")).expect("created");
    let version = server.resource_version();
    let path = format!("/api/v1/pods?watch=true&resourceVersion={version}");
    let mut before = server.watch(&path).await;
    for at in 0..100 {
        let node = json!({ "metadata": { "name": format!("n{at}") } });
        server.create(kind("", "nodes"), "", node).expect("created");
    }
    let mut after = server.watch(&path).await;
    server.create(pods(), "default", pod("b")).expect("created");
    for events in [&mut before, &mut after] {
        assert_eq!(events.short().await, format!("ADDED b@{}", server.resource_version()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_compacted_version_is_an_error_event() {
    let server = server();
    server.create(pods(), "default", pod("a")).expect("created");
    let compacted = server.resource_version();
    server.compact(compacted);
    let mut events = server.watch("/api/v1/pods?watch=true&resourceVersion=1").await;
    let error = events.next().await.expect("an error");
    assert_eq!(error["type"], "ERROR");
    assert_eq!(
        (&error["object"]["code"], &error["object"]["reason"]),
        (&json!(410), &json!("Expired"))
    );
    assert_eq!(
        error["object"]["message"],
        format!("too old resource version: 1 ({compacted})")
    );
    assert_eq!(events.next().await, None);
    let mut events = server
        .watch(&format!(
            "/api/v1/pods?watch=true&resourceVersion={compacted}&timeoutSeconds=1"
        ))
        .await;
    assert_eq!(
        events.next().await,
        None,
        "the last compacted version itself can be watched from"
    );
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_falls_behind_the_log_ends() {
    let server = server_with(Config {
        log_capacity: 3,
        ..Config::default()
    });
    let mut events = server
        .watch(&format!(
            "/api/v1/pods?watch=1&resourceVersion={}",
            server.resource_version()
        ))
        .await;
    for at in 0..5 {
        server
            .create(pods(), "default", pod(&format!("p{at}")))
            .expect("created");
    }
    assert_eq!(events.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn watchers_share_the_bytes_of_an_event() {
    let server = server();
    let path = format!("/api/v1/pods?watch=1&resourceVersion={}", server.resource_version());
    server.create(pods(), "default", pod("a")).expect("created");
    let log = server
        .shared
        .read(|store| store.log().after(pods(), 0).map(|c| c.cloned().collect::<Vec<_>>()));
    let change = log.expect("not compacted").pop().expect("a change");
    let line = change.line(crate::store::ChangeKind::Added, pods());
    let again = change.line(crate::store::ChangeKind::Added, pods());
    assert_eq!(line.as_ptr(), again.as_ptr());
    let mut events = server.watch(&path).await;
    assert!(events.short().await.starts_with("ADDED a@"));
}

#[tokio::test(start_paused = true)]
async fn one_object_is_watched_by_a_field_selector_and_only_read_by_its_path() {
    let server = server();
    let from = server.resource_version();
    for name in ["a", "b"] {
        server.create(pods(), "default", pod(name)).expect("created");
    }
    let mut events = server
        .watch(&format!(
            "{PODS}?watch=true&fieldSelector=metadata.name%3Db&resourceVersion={from}&timeoutSeconds=5"
        ))
        .await;
    assert_eq!(events.short().await, format!("ADDED b@{}", from + 2));
    assert_eq!(events.short().await, "END");
    assert_eq!(server.get_ok(&format!("{PODS}/b?watch=true")).await["kind"], "Pod");
}

#[tokio::test(start_paused = true)]
async fn events_of_the_new_group_are_watched_in_its_form() {
    let server = server();
    let path = format!(
        "/apis/events.k8s.io/v1/events?watch=1&resourceVersion={}",
        server.resource_version()
    );
    let mut events = server.watch(&path).await;
    let event = json!({
        "metadata": { "name": "e" }, "involvedObject": { "kind": "Pod", "name": "p", "namespace": "default" },
        "message": "m", "reason": "r", "type": "Normal", "source": { "component": "s" },
    });
    server.create(kind("", "events"), "default", event).expect("created");
    let seen = events.next().await.expect("an event");
    assert_eq!(
        (&seen["object"]["note"], &seen["object"]["apiVersion"]),
        (&json!("m"), &json!("events.k8s.io/v1"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_watch_without_a_time_out_ends_between_half_an_hour_and_an_hour() {
    let server = server();
    let start = Instant::now();
    let mut events = server.watch("/api/v1/pods?watch=1&resourceVersion=1").await;
    assert_eq!(events.next().await, None);
    assert!((Duration::from_mins(30)..Duration::from_hours(1)).contains(&start.elapsed()));
}

#[tokio::test(start_paused = true)]
async fn changes_that_are_not_selected_hide_no_later_one() {
    let server = server();
    let from = server.resource_version();
    for at in 0..1500 {
        server
            .create(pods(), "default", pod(&format!("p{at}")))
            .expect("created");
    }
    let path =
        format!("/api/v1/pods?watch=1&resourceVersion={from}&fieldSelector=metadata.name%3Dp1499&timeoutSeconds=9");
    assert_eq!(
        server.watch(&path).await.short().await,
        format!("ADDED p1499@{}", from + 1500)
    );
}
