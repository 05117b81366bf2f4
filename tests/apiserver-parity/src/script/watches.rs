//! Watches: replay, selectors, bookmarks, streaming lists, ends.

use serde_json::json;

use super::objects::{binding, config_map, labelled, namespace, pod};
use crate::step::{Request, Script};

const PODS: &str = "/api/v1/namespaces/parity-watch/pods";
const MAPS: &str = "/api/v1/namespaces/parity-watch/configmaps";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

pub(super) fn add(script: &mut Script) {
    script.send(
        "a namespace for watches",
        Request::post("/api/v1/namespaces", namespace("parity-watch")),
    );
    script.send(
        "before the watches",
        Request::get(PODS).capture("watch.rv", "/metadata/resourceVersion"),
    );
    live(script);
    selected(script);
    replayed(script);
    streaming(script);
    ends(script);
}

/// Watches open while things happen.
fn live(script: &mut Script) {
    script.open("live", format!("{PODS}?watch=true&resourceVersion=${{watch.rv}}"));
    script.send("watched: create", Request::post(PODS, pod("watch-a")));
    script.send(
        "watched: label",
        Request::merge(format!("{PODS}/watch-a"), json!({"metadata": {"labels": {"a": "b"}}})),
    );
    script.send(
        "watched: nothing new",
        Request::merge(format!("{PODS}/watch-a"), json!({"metadata": {"labels": {"a": "b"}}})),
    );
    script.send(
        "watched: bind",
        Request::post(format!("{PODS}/watch-a/binding"), binding("watch-a", "parity-bind")),
    );
    script.send(
        "watched: status",
        Request::strategic(
            format!("{PODS}/watch-a/status"),
            json!({"status": {"phase": "Running"}}),
        ),
    );
    script.send("watched: delete with grace", Request::delete(format!("{PODS}/watch-a")));
    script.send(
        "watched: delete",
        Request::delete(format!("{PODS}/watch-a?gracePeriodSeconds=0")),
    );
    script.read("live", 6);
    script.send("watched: create another", Request::post(PODS, pod("watch-b")));
    script.read("live", 1);
}

/// An object that enters and leaves a selection is added and deleted.
fn selected(script: &mut Script) {
    script.open(
        "selected",
        format!("{PODS}?watch=true&resourceVersion=${{watch.rv}}&labelSelector=in%3Dyes"),
    );
    script.open(
        "unbound",
        format!(
            "{PODS}?watch=true&resourceVersion=${{watch.rv}}&fieldSelector=spec.nodeName%3D,metadata.name%3Dwatch-c"
        ),
    );
    script.send("selected: create outside", Request::post(PODS, pod("watch-c")));
    script.send(
        "selected: enter",
        Request::merge(
            format!("{PODS}/watch-c"),
            json!({"metadata": {"labels": {"in": "yes"}}}),
        ),
    );
    script.send(
        "selected: change inside",
        Request::merge(format!("{PODS}/watch-c"), json!({"metadata": {"labels": {"x": "1"}}})),
    );
    script.send(
        "selected: leave",
        Request::merge(format!("{PODS}/watch-c"), json!({"metadata": {"labels": {"in": "no"}}})),
    );
    script.send(
        "selected: enter again",
        Request::merge(
            format!("{PODS}/watch-c"),
            json!({"metadata": {"labels": {"in": "yes"}}}),
        ),
    );
    script.send(
        "selected: bind",
        Request::post(format!("{PODS}/watch-c/binding"), binding("watch-c", "parity-bind")),
    );
    script.send(
        "selected: delete inside",
        Request::delete(format!("{PODS}/watch-c?gracePeriodSeconds=0")),
    );
    script.read("selected", 5);
    script.read("unbound", 5);
}

/// Watches opened after things happened.
fn replayed(script: &mut Script) {
    script.watch(
        "replay",
        format!(
            "{PODS}?watch=true&resourceVersion=${{watch.rv}}&timeoutSeconds=1&fieldSelector=metadata.name%3Dwatch-a"
        ),
    );
    script.watch(
        "replay-one",
        format!("{PODS}?watch=1&resourceVersion=${{watch.rv}}&timeoutSeconds=1&fieldSelector=metadata.name%3Dwatch-b"),
    );
    script.send(
        "a list to settle on",
        Request::get(PODS).capture("settled.rv", "/metadata/resourceVersion"),
    );
    script.watch(
        "from-now",
        format!("{PODS}?watch=true&timeoutSeconds=1&resourceVersion=${{settled.rv}}"),
    );
    script.watch(
        "from-zero",
        format!("{PODS}?watch=true&resourceVersion=0&timeoutSeconds=1"),
    );
    script.watch("from-nothing", format!("{PODS}?watch=true&timeoutSeconds=1"));
    script.send(
        "something else happens",
        Request::post(MAPS, config_map("watch-0", &json!({}))),
    );
    script.send("and the pods hear of it", Request::get(PODS));
    script.watch(
        "bookmarked",
        format!("{PODS}?watch=true&resourceVersion=${{settled.rv}}&timeoutSeconds=6&allowWatchBookmarks=true"),
    );
    script.send(
        "a list without news",
        Request::get(PODS).capture("quiet.rv", "/metadata/resourceVersion"),
    );
    script.watch(
        "nothing to bookmark",
        format!("{PODS}?watch=true&resourceVersion=${{quiet.rv}}&timeoutSeconds=6&allowWatchBookmarks=true"),
    );
    script.watch(
        "by-path",
        "/api/v1/watch/namespaces/parity-watch/pods?resourceVersion=${settled.rv}&timeoutSeconds=1",
    );
    script.send(
        "one object is read, not watched",
        Request::get(format!(
            "{PODS}/watch-b?watch=true&resourceVersion=${{settled.rv}}&timeoutSeconds=1"
        )),
    );
    script.send(
        "a watch as table",
        Request::get(format!(
            "{PODS}?watch=true&resourceVersion=${{settled.rv}}&timeoutSeconds=1"
        ))
        .accept(TABLE),
    );
}

fn streaming(script: &mut Script) {
    script.send(
        "create a first map",
        Request::post(MAPS, config_map("watch-1", &json!({"a": "1"}))),
    );
    script.send(
        "create a second map",
        Request::post(MAPS, config_map("watch-2", &json!({"a": "2"}))).capture("map2.rv", "/metadata/resourceVersion"),
    );
    let stream = "watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan";
    script.open("stream", format!("{MAPS}?{stream}"));
    script.read("stream", 3);
    script.send(
        "streamed: create",
        Request::post(MAPS, config_map("watch-3", &json!({"a": "3"}))),
    );
    script.read("stream", 1);
    script.open("stream-from", format!("{MAPS}?{stream}&resourceVersion=${{map2.rv}}"));
    script.read("stream-from", 4);
    script.open(
        "stream-selected",
        format!("{MAPS}?{stream}&resourceVersion=0&fieldSelector=metadata.name%3Dwatch-2"),
    );
    script.read("stream-selected", 2);
    script.open("stream-empty", format!("{MAPS}?{stream}&labelSelector=nothing"));
    script.read("stream-empty", 1);
    script.watch(
        "no-initial",
        format!("{MAPS}?watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&timeoutSeconds=1"),
    );
    script.watch(
        "stream-without-match",
        format!("{MAPS}?watch=true&sendInitialEvents=true&timeoutSeconds=1"),
    );
    script.watch(
        "stream-exact",
        format!(
            "{MAPS}?watch=true&sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=1&timeoutSeconds=1"
        ),
    );
    script.watch(
        "stream-without-bookmarks",
        format!("{MAPS}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1"),
    );
    script.send(
        "a list with initial events",
        Request::get(format!("{MAPS}?sendInitialEvents=true")),
    );
    script.send(
        "maps as they are",
        Request::get(format!("{MAPS}?labelSelector=nothing")),
    );
    script.send(
        "labelled pods",
        Request::post(PODS, labelled("watch-d", &json!({"in": "yes"}))),
    );
    script.read("selected", 1);
}

fn ends(script: &mut Script) {
    script.watch(
        "bad-version (5xx)",
        format!("{PODS}?watch=true&resourceVersion=x&timeoutSeconds=1"),
    );
    script.watch(
        "with-match",
        format!("{PODS}?watch=true&resourceVersion=1&resourceVersionMatch=Exact&timeoutSeconds=1"),
    );
    script.watch(
        "of-nothing",
        "/api/v1/namespaces/parity-watch/gizmos?watch=true&timeoutSeconds=1",
    );
}
