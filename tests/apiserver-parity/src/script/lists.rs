//! Lists: selectors, pages, versions.

use serde_json::json;

use super::objects::{binding, labelled, namespace};
use crate::step::{Request, Script};

const PODS: &str = "/api/v1/namespaces/parity-list/pods";

pub(super) fn add(script: &mut Script) {
    script.send(
        "a namespace for lists",
        Request::post("/api/v1/namespaces", namespace("parity-list")),
    );
    script.send("list nothing", Request::get(PODS));
    for (at, labels) in [
        json!({"app": "a"}),
        json!({"app": "a", "tier": "1"}),
        json!({"app": "b"}),
        json!({}),
        json!({"tier": "2"}),
    ]
    .iter()
    .enumerate()
    {
        script.send(
            format!("create list-{at}"),
            Request::post(PODS, labelled(&format!("list-{at}"), labels)),
        );
    }
    script.send(
        "bind list-1",
        Request::post(format!("{PODS}/list-1/binding"), binding("list-1", "parity-bind")),
    );
    script.send("list everything", Request::get(PODS));
    let mut selected =
        |what: &str, query: &str| script.send(format!("list {what}"), Request::get(format!("{PODS}?{query}")));
    selected("app=a", "labelSelector=app%3Da");
    selected("app!=a", "labelSelector=app!%3Da");
    selected("app in (a,b)", "labelSelector=app%20in%20(a,b)");
    selected("app notin (a)", "labelSelector=app%20notin%20(a)");
    selected("those with tier", "labelSelector=tier");
    selected("those without tier", "labelSelector=!tier");
    selected("tier greater than 1", "labelSelector=tier%3E1");
    selected("two requirements", "labelSelector=app%3Da,tier");
    selected("unbound pods", "fieldSelector=spec.nodeName%3D");
    selected("bound pods", "fieldSelector=spec.nodeName!%3D");
    selected("pods of a node", "fieldSelector=spec.nodeName%3Dparity-bind");
    selected(
        "pending pods",
        "fieldSelector=status.phase%3DPending,metadata.name!%3Dlist-0",
    );
    selected(
        "pods of a scheduler",
        "fieldSelector=spec.schedulerName%3Ddefault-scheduler",
    );
    selected("pods of another scheduler", "fieldSelector=spec.schedulerName%3Dother");
    script.send("list all namespaces", Request::get("/api/v1/pods?labelSelector=app"));
    pages(script);
    versions(script);
}

fn pages(script: &mut Script) {
    script.send(
        "first page",
        Request::get(format!("{PODS}?limit=2"))
            .capture("page", "/metadata/resourceVersion")
            .capture("token", "/metadata/continue"),
    );
    script.send(
        "create between pages",
        Request::post(PODS, labelled("list-between", &json!({}))),
    );
    script.send("delete between pages", Request::delete(format!("{PODS}/list-4")));
    script.send(
        "second page",
        Request::get(format!("{PODS}?limit=2&continue=${{token}}")).capture("token2", "/metadata/continue"),
    );
    script.send(
        "last page",
        Request::get(format!("{PODS}?limit=2&continue=${{token2}}")),
    );
    script.send(
        "a page with a version",
        Request::get(format!("{PODS}?limit=2&continue=${{token}}&resourceVersion=5")),
    );
    script.send("a limit beyond the end", Request::get(format!("{PODS}?limit=500")));
    script.send(
        "a limited selection",
        Request::get(format!("{PODS}?limit=1&labelSelector=app%3Da")),
    );
    script.send(
        "exactly the first page's version",
        Request::get(format!("{PODS}?resourceVersion=${{page}}&resourceVersionMatch=Exact")),
    );
}

fn versions(script: &mut Script) {
    script.send(
        "a consistent list",
        Request::get(PODS).capture("list.rv", "/metadata/resourceVersion"),
    );
    let mut at = |what: &str, query: &str| script.send(format!("list {what}"), Request::get(format!("{PODS}?{query}")));
    at("at version 0", "resourceVersion=0");
    at("at version 0 with a limit", "resourceVersion=0&limit=2");
    at(
        "not older than now",
        "resourceVersion=${list.rv}&resourceVersionMatch=NotOlderThan",
    );
    at(
        "not older than now, limited",
        "resourceVersion=${list.rv}&resourceVersionMatch=NotOlderThan&limit=2",
    );
    at("at a version of its own", "resourceVersion=${list.rv}");
    at("from the future (5xx)", "resourceVersion=999999999&timeout=1s");
}
