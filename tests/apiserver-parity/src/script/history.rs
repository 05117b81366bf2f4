//! What is left when history has been compacted, as etcd does, and the server has no memory of it.

use serde_json::json;

use super::objects::{namespace, pod};
use crate::step::{Request, Script};

const PODS: &str = "/api/v1/namespaces/parity-history/pods";

pub(super) fn add(script: &mut Script) {
    script.send(
        "a namespace with a history",
        Request::post("/api/v1/namespaces", namespace("parity-history")),
    );
    for name in ["history-a", "history-b", "history-c"] {
        script.send(format!("create {name}"), Request::post(PODS, pod(name)));
    }
    script.send(
        "a page before forgetting",
        Request::get(format!("{PODS}?limit=1"))
            .capture("page.old", "/metadata/resourceVersion")
            .capture("old.token", "/metadata/continue"),
    );
    script.send(
        "the last write before forgetting",
        Request::merge(format!("{PODS}/history-a"), json!({"metadata": {"labels": {"x": "1"}}})),
    );
    script.compact("forget the past");
    script.send(
        "after forgetting",
        Request::get(PODS).capture("now.rv", "/metadata/resourceVersion"),
    );
    script.send(
        "forgotten: a page",
        Request::get(format!("{PODS}?limit=1&continue=${{old.token}}")).capture("inconsistent", "/metadata/continue"),
    );
    script.send(
        "forgotten: the rest after all",
        Request::get(format!("{PODS}?limit=5&continue=${{inconsistent}}")),
    );
    script.send(
        "forgotten: an exact version",
        Request::get(format!(
            "{PODS}?resourceVersion=${{page.old}}&resourceVersionMatch=Exact"
        )),
    );
    script.send(
        "forgotten: not older is still there",
        Request::get(format!(
            "{PODS}?resourceVersion=${{page.old}}&resourceVersionMatch=NotOlderThan"
        )),
    );
    script.watch(
        "forgotten",
        format!("{PODS}?watch=true&resourceVersion=1&timeoutSeconds=1"),
    );
    script.watch(
        "forgotten-page",
        format!("{PODS}?watch=true&resourceVersion=${{page.old}}&timeoutSeconds=1"),
    );
    script.watch(
        "remembered",
        format!("{PODS}?watch=true&resourceVersion=${{now.rv}}&timeoutSeconds=1"),
    );
}
