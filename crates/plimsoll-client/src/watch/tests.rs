use plimsoll_model::{Pod, RawPolicy, ResourceVersion};
use rand_core::SeedableRng;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::*;
use crate::scripted::{Chunk, Script, Step, pod, strange_pod};
use crate::{BarrierError, consistent_version, force_progress};

const SELECTOR: &str = "fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed";

fn line(name: &str, object: &Value) -> String {
    format!("{}\n", json!({ "type": name, "object": object }))
}

fn bookmark(version: u64) -> String {
    line(
        "BOOKMARK",
        &json!({ "kind": "Pod", "metadata": { "resourceVersion": version.to_string() } }),
    )
}

fn initial_end(version: u64) -> String {
    let annotations = json!({ "k8s.io/initial-events-end": "true" });
    line(
        "BOOKMARK",
        &json!({ "metadata": { "resourceVersion": version.to_string(), "annotations": annotations } }),
    )
}

fn gone() -> String {
    line(
        "ERROR",
        &json!({ "kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version" }),
    )
}

fn list(version: u64, next: &str, items: &[Value]) -> Step {
    Step::ok(&json!({ "metadata": { "resourceVersion": version.to_string(), "continue": next }, "items": items }))
}

/// A streaming list of one pod at version 10.
fn listed() -> Step {
    Step::stream([line("ADDED", &pod("a", 9)), initial_end(10)])
}

fn refused_streaming() -> Step {
    Step::refusal(422, "Invalid", "sendInitialEvents is forbidden for watch")
}

fn describe(event: &WatchEvent<Pod>) -> String {
    match event {
        WatchEvent::Replace {
            objects,
            undecodable,
            version,
            history_began_anew,
            ..
        } => {
            let anew = if *history_began_anew { "anew " } else { "" };
            let head = format!("{anew}replace@{version}");
            let objects = objects.iter().map(|pod| pod.name.to_string());
            let undecodable = undecodable.iter().map(|object| format!("!{}", object.name));
            [head]
                .into_iter()
                .chain(objects)
                .chain(undecodable)
                .collect::<Vec<_>>()
                .join(" ")
        }
        WatchEvent::Upsert(pod) => format!("upsert@{} {}", pod.resource_version, pod.name),
        WatchEvent::Delete { name, uid, version } => format!("delete@{version} {name} {uid}"),
        WatchEvent::Undecodable(object) => format!("undecodable@{} {}", object.version, object.name),
        WatchEvent::Progress(version) => format!("progress@{version}"),
        WatchEvent::Forbidden { reason } => format!("forbidden {reason}"),
    }
}

/// Runs a watch until so many events have come and so many requests were seen.
async fn watched(script: &Script, events: usize, requests: usize) -> Vec<String> {
    let (sink, mut source) = mpsc::channel::<WatchBatch<Pod>>(4);
    let stop = CancellationToken::new();
    let watch = Watch::<Pods>::new(script.client(), ChaCha8Rng::seed_from_u64(1));
    let receive = async {
        let mut received = Vec::new();
        while received.len() < events {
            received.extend(source.recv().await.unwrap().events.iter().map(describe));
        }
        while script.seen().len() < requests {
            tokio::time::advance(Duration::from_millis(100)).await;
        }
        stop.cancel();
        received
    };
    let ((), received) = tokio::join!(biased; watch.run(sink, stop.clone()), receive);
    received
}

fn versions_asked(script: &Script) -> Vec<String> {
    let version = |path: &String| {
        path.split_once("&resourceVersion=")
            .map(|(_, version)| version.to_owned())
    };
    script.paths().iter().filter_map(version).collect()
}

#[tokio::test(start_paused = true)]
async fn a_streaming_list_becomes_one_replace_and_goes_on_as_a_watch() {
    let more = [
        line("MODIFIED", &pod("a", 11)),
        line("DELETED", &pod("a", 12)),
        bookmark(15),
    ]
    .concat();
    let script = Script::new([listed().then(Chunk::Data(more)).then(Chunk::Hang)]);
    let events = watched(&script, 4, 1).await;
    assert_eq!(
        events,
        [
            "replace@10 ns/a",
            "upsert@11 ns/a",
            "delete@12 ns/a uid-a",
            "progress@15"
        ]
    );
    let path = &script.paths()[0];
    assert!(
        path.starts_with("/api/v1/pods?watch=true&allowWatchBookmarks=true&timeoutSeconds="),
        "{path}"
    );
    assert!(
        path.ends_with(&format!(
            "{SELECTOR}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
        )),
        "{path}"
    );
    assert!(
        !path.contains("resourceVersion="),
        "consistent only without a version: {path}"
    );
}

#[tokio::test(start_paused = true)]
async fn changes_that_mix_with_the_initial_events_are_part_of_the_list() {
    let lines = [
        line("ADDED", &pod("a", 7)),
        line("ADDED", &pod("b", 8)),
        line("DELETED", &pod("a", 9)),
        line("MODIFIED", &pod("b", 10)),
        bookmark(10),
        initial_end(11),
    ];
    let script = Script::new([Step::stream(lines).then(Chunk::Hang)]);
    assert_eq!(watched(&script, 1, 1).await, ["replace@11 ns/b"]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_streaming_lists_is_asked_for_pages_from_then_on() {
    let script = Script::new([
        refused_streaming(),
        list(20, "a/b=", &[pod("a", 3)]),
        list(20, "", &[pod("b", 4)]),
        Step::stream([line("ADDED", &pod("c", 21)), gone()]),
        list(30, "", &[]),
    ]);
    assert_eq!(
        watched(&script, 3, 6).await,
        ["replace@20 ns/a ns/b", "upsert@21 ns/c", "replace@30"]
    );
    let paths = script.paths();
    assert_eq!(paths[1], format!("/api/v1/pods?{SELECTOR}&limit=500"));
    assert_eq!(paths[2], format!("/api/v1/pods?{SELECTOR}&limit=500&continue=a%2Fb%3D"));
    assert_eq!(paths[4], paths[1]);
    assert_eq!(versions_asked(&script), ["20", "30"]);
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_may_not_be_read_is_told_of_and_read_as_soon_as_it_may() {
    let forbidden = || Step::refusal(403, "Forbidden", "pods is forbidden");
    let script = Script::new([
        forbidden(),
        forbidden(),
        Step::stream([line("ADDED", &pod("a", 9)), initial_end(10)]).then(Chunk::Hang),
    ]);
    let told = "forbidden 403: pods is forbidden";
    assert_eq!(watched(&script, 3, 3).await, [told, told, "replace@10 ns/a"]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_fails_inside_on_streaming_lists_is_asked_for_pages() {
    let inside = line(
        "ERROR",
        &json!({ "kind": "Status", "code": 500, "message": "RequestWatchProgress is disabled" }),
    );
    for refusal in [
        Step::refusal(500, "InternalError", "RequestWatchProgress is disabled"),
        Step::stream([inside]),
    ] {
        let script = Script::new([refusal, list(20, "", &[])]);
        assert_eq!(watched(&script, 1, 3).await, ["replace@20"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_that_expired_leads_to_one_whole_list() {
    let script = Script::new([
        refused_streaming(),
        list(20, "next", &[pod("a", 3)]),
        Step::refusal(410, "Expired", "continue token is too old"),
        list(25, "", &[pod("b", 4)]),
    ]);
    assert_eq!(watched(&script, 1, 5).await, ["replace@25 ns/b"]);
    assert_eq!(script.paths()[3], format!("/api/v1/pods?{SELECTOR}"));
}

#[tokio::test(start_paused = true)]
async fn a_watch_whose_history_is_gone_lists_anew() {
    let http_gone = Step::refusal(410, "Expired", "too old resource version: 10 (40)");
    for expired in [Step::stream([gone()]), http_gone] {
        let again = Step::stream([initial_end(40)]).then(Chunk::Hang);
        let script = Script::new([listed(), expired, again]);
        assert_eq!(watched(&script, 2, 3).await, ["replace@10 ns/a", "replace@40"]);
        assert_eq!(versions_asked(&script), ["10"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_history_that_is_always_gone_is_not_asked_for_in_a_hot_loop() {
    let rounds = (0..6).flat_map(|_| [listed(), Step::stream([gone()])]);
    let script = Script::new(rounds);
    watched(&script, 6, 12).await;
    let seen = script.seen();
    assert!(seen[11].at >= Duration::from_secs(10), "{:?}", seen[11].at);
}

#[tokio::test(start_paused = true)]
async fn a_line_cut_in_the_middle_is_asked_for_again_from_the_last_good_version() {
    let whole = line("MODIFIED", &pod("a", 12));
    let (half, _) = whole.split_at(whole.len() / 2);
    for last in [Chunk::Data(String::new()), Chunk::Break] {
        let cut = Step::stream([line("MODIFIED", &pod("a", 11)), half.to_owned()]).then(last);
        let script = Script::new([listed(), cut, Step::stream([whole.clone()]).then(Chunk::Hang)]);
        assert_eq!(
            watched(&script, 3, 3).await,
            ["replace@10 ns/a", "upsert@11 ns/a", "upsert@12 ns/a"]
        );
        assert_eq!(versions_asked(&script), ["10", "11"]);
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_that_cannot_be_decoded_concerns_itself_alone() {
    let stream = Step::stream([
        line("ADDED", &pod("a", 8)),
        line("ADDED", &strange_pod("x", 9)),
        initial_end(10),
        line("MODIFIED", &strange_pod("y", 11)),
        line("ADDED", &pod("b", 12)),
    ]);
    let script = Script::new([stream]);
    let events = watched(&script, 3, 2).await;
    assert_eq!(
        events,
        ["replace@10 ns/a !ns/x", "undecodable@11 ns/y", "upsert@12 ns/b"]
    );
    assert_eq!(versions_asked(&script), ["12"]);

    let script = Script::new([refused_streaming(), list(20, "", &[strange_pod("x", 9), pod("a", 8)])]);
    assert_eq!(watched(&script, 1, 3).await, ["replace@20 ns/a !ns/x"]);
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_honoured() {
    let throttled = Step::refusal(429, "TooManyRequests", "slow down").retry_after(7);
    let script = Script::new([throttled, listed()]);
    watched(&script, 1, 2).await;
    assert!(script.seen()[1].at >= Duration::from_secs(7));
}

#[tokio::test(start_paused = true)]
async fn failures_are_spaced_out_and_one_seed_gives_one_timetable() {
    async fn timetable() -> Vec<Duration> {
        let script = Script::new([Step::lost(), Step::refusal(503, "", "down"), Step::lost(), listed()]);
        watched(&script, 1, 4).await;
        script.seen().iter().map(|seen| seen.at).collect()
    }
    let first = timetable().await;
    assert!(
        first[1] >= Duration::from_millis(800) && first[3] >= first[2] + Duration::from_millis(3_200),
        "{first:?}"
    );
    assert_eq!(first, timetable().await);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_in_good_order_goes_on_from_its_last_version() {
    let script = Script::new([
        listed(),
        Step::stream([bookmark(17)]),
        Step::stream([line("ADDED", &pod("b", 18))]),
    ]);
    assert_eq!(
        watched(&script, 3, 4).await,
        ["replace@10 ns/a", "progress@17", "upsert@18 ns/b"]
    );
    assert_eq!(versions_asked(&script), ["10", "17", "18"]);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_falls_silent_is_given_up() {
    let script = Script::new([listed(), Step::stream([bookmark(11)]).then(Chunk::Hang)]);
    watched(&script, 2, 3).await;
    assert_eq!(versions_asked(&script), ["10", "11"]);
    assert!(script.seen()[2].at >= Duration::from_secs(150));
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_ahead_of_the_server_lists_anew_and_says_so() {
    let restored = Step::stream([line("ADDED", &pod("b", 4)), initial_end(6)]);
    let script = Script::new([listed().then(Chunk::Data(bookmark(17))), restored.then(Chunk::Hang)]).at_version(5);
    assert_eq!(
        watched(&script, 3, 2).await,
        ["replace@10 ns/a", "progress@17", "anew replace@6 ns/b"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_list_older_than_what_was_seen_is_a_history_that_began_anew() {
    let script = Script::new([
        listed(),
        Step::stream([bookmark(17), gone()]),
        refused_streaming(),
        list(5, "", &[pod("b", 4)]),
        Step::stream([bookmark(6), gone()]),
        list(7, "", &[]),
    ]);
    assert_eq!(
        watched(&script, 5, 6).await,
        [
            "replace@10 ns/a",
            "progress@17",
            "anew replace@5 ns/b",
            "progress@6",
            "replace@7"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_ready_together_is_sent_together() {
    let chunks = (0..600).map(|number| line("ADDED", &pod(&format!("p{number}"), 11 + number)));
    let script = Script::new([listed(), Step::stream(chunks).then(Chunk::Hang)]);
    let (sink, mut source) = mpsc::channel::<WatchBatch<Pod>>(4);
    let stop = CancellationToken::new();
    let watch = Watch::<Pods>::new(script.client(), ChaCha8Rng::seed_from_u64(1));
    let receive = async {
        let mut sizes = Vec::new();
        while sizes.len() < 3 {
            sizes.push(source.recv().await.unwrap().events.len());
        }
        stop.cancel();
        sizes
    };
    let ((), sizes) = tokio::join!(biased; watch.run(sink, stop.clone()), receive);
    assert_eq!(sizes, [1, 512, 88]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_when_nobody_receives() {
    let script = Script::new([listed()]);
    let (sink, source) = mpsc::channel(1);
    drop(source);
    Watch::<Pods>::new(script.client(), ChaCha8Rng::seed_from_u64(1))
        .run(sink, CancellationToken::new())
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_consistent_version_is_that_of_a_list_without_one() {
    let script = Script::new([list(77, "more", &[pod("a", 3)])]);
    assert_eq!(
        consistent_version::<Pods>(&script.client()).await,
        Ok(ResourceVersion::new(77))
    );
    assert_eq!(script.paths(), ["/api/v1/pods?limit=1"]);

    let script = Script::new([Step::refusal(403, "Forbidden", "no")]);
    let refused = consistent_version::<Nodes>(&script.client()).await;
    assert_eq!(refused, Err(BarrierError::Forbidden("403: no".to_owned())));

    let script = Script::new([Step::refusal(429, "TooManyRequests", "slow down").retry_after(7)]);
    let refused = consistent_version::<Nodes>(&script.client()).await;
    let (reason, retry_after) = ("429: slow down".to_owned(), Some(Duration::from_secs(7)));
    assert_eq!(refused, Err(BarrierError::Refused { reason, retry_after }));
}

#[tokio::test(start_paused = true)]
async fn forcing_progress_delivers_what_happened_and_the_bookmark() {
    let script = Script::new([Step::stream([line("ADDED", &pod("b", 12)), bookmark(14)])]);
    let (sink, mut source) = mpsc::channel::<WatchBatch<Pod>>(4);
    let reached = force_progress::<Pods>(
        &script.client(),
        ResourceVersion::new(10),
        &RawPolicies::nothing(),
        &sink,
    )
    .await;
    assert_eq!(reached, Ok(ResourceVersion::new(14)));
    let events: Vec<_> = source.recv().await.unwrap().events.iter().map(describe).collect();
    assert_eq!(events, ["upsert@12 ns/b", "progress@14"]);
    let path = &script.paths()[0];
    assert!(
        path.contains("allowWatchBookmarks=true&timeoutSeconds=3&") && path.ends_with("&resourceVersion=10"),
        "{path}"
    );
}

#[tokio::test(start_paused = true)]
async fn forcing_progress_from_lost_history_says_so() {
    let script = Script::new([Step::stream([gone()])]);
    let (sink, _source) = mpsc::channel(4);
    let end = force_progress::<Pods>(
        &script.client(),
        ResourceVersion::new(1),
        &RawPolicies::nothing(),
        &sink,
    )
    .await;
    assert!(matches!(end, Err(BarrierError::Expired(_))), "{end:?}");
}

/// Of each event: whether its pods carry the whole of themselves.
fn whole(batch: &WatchBatch<Pod>) -> Vec<String> {
    let describe = |event: &WatchEvent<Pod>| {
        let pods: &[Arc<Pod>] = match event {
            WatchEvent::Replace { objects, .. } => objects,
            WatchEvent::Upsert(pod) => std::slice::from_ref(pod),
            _ => &[],
        };
        let whole = pods.iter().map(|pod| pod.raw.is_some().to_string());
        format!("{} {}", describe(event), whole.collect::<Vec<_>>().join(" "))
    };
    batch.events.iter().map(describe).collect()
}

const PENDING: RawPolicy = RawPolicy {
    pending_pods: true,
    ..RawPolicy::NOTHING
};

const NODES: RawPolicy = RawPolicy {
    nodes: true,
    ..RawPolicy::NOTHING
};

fn assigned(name: &str, version: u64) -> Value {
    let mut pod = pod(name, version);
    pod["spec"]["nodeName"] = json!("n");
    pod
}

#[tokio::test(start_paused = true)]
async fn everything_is_listed_anew_once_whole_objects_are_wanted() {
    for streaming in [true, false] {
        let follow = || Step::stream([line("MODIFIED", &pod("a", 12)), line("MODIFIED", &assigned("a", 13))]);
        let steps = if streaming {
            let second = [
                line("ADDED", &pod("a", 9)),
                line("ADDED", &assigned("b", 10)),
                initial_end(11),
            ];
            vec![listed().then(Chunk::Hang), Step::stream(second).then(Chunk::Hang)]
        } else {
            let second = list(11, "", &[pod("a", 9), assigned("b", 10)]);
            vec![
                list(10, "", &[pod("a", 9)]),
                Step::stream([]).then(Chunk::Hang),
                second,
                follow().then(Chunk::Hang),
            ]
        };
        let script = Script::new(steps);
        let demand = RawDemand::new(RawPolicy::NOTHING);
        let mut watch = Watch::<Pods>::new(script.client(), ChaCha8Rng::seed_from_u64(1)).keeping(demand.policies());
        watch.streaming = streaming;
        let (sink, mut source) = mpsc::channel::<WatchBatch<Pod>>(4);
        let stop = CancellationToken::new();
        let receive = async {
            assert_eq!(whole(&source.recv().await.unwrap()), ["replace@10 ns/a false"]);
            // Of nodes the watch of pods keeps nothing.
            demand.ask(NODES);
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_eq!(script.paths().len(), if streaming { 1 } else { 2 });
            demand.ask(PENDING);
            assert_eq!(
                whole(&source.recv().await.unwrap()),
                ["replace@11 ns/a ns/b true false"]
            );
            if !streaming {
                assert_eq!(
                    whole(&source.recv().await.unwrap()),
                    ["upsert@12 ns/a true", "upsert@13 ns/a false"]
                );
            }
            // It has that already.
            demand.ask(PENDING);
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_eq!(script.paths().len(), if streaming { 2 } else { 4 });
            stop.cancel();
        };
        tokio::join!(biased; watch.run(sink, stop.clone()), receive);
    }
}
