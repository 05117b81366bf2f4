//! The life of a namespace.

use serde_json::json;

use super::objects::{namespace, pod};
use crate::step::{Request, Script};

pub(super) fn add(script: &mut Script) {
    let path = "/api/v1/namespaces/parity-short";
    script.send(
        "create a short-lived namespace",
        Request::post("/api/v1/namespaces", namespace("parity-short")),
    );
    script.send(
        "create it again",
        Request::post("/api/v1/namespaces", namespace("parity-short")),
    );
    script.send(
        "label it",
        Request::merge(path, json!({"metadata": {"labels": {"a": "b"}}})),
    );
    script.send(
        "remove the label that it always has",
        Request::merge(
            path,
            json!({"metadata": {"labels": {"kubernetes.io/metadata.name": null}}}),
        ),
    );
    script.send("delete the namespace", Request::delete(path));
    script.send("it is terminating", Request::get(path));
    script.send(
        "create in a terminating namespace",
        Request::post(format!("{path}/pods"), pod("late")),
    );
    let mut finalized = namespace("parity-short");
    finalized["spec"] = json!({"finalizers": []});
    script.send("finalize it", Request::put(format!("{path}/finalize"), finalized));
    script.send("is it gone", Request::get(path));
    script.send(
        "delete what must stay",
        Request::delete("/api/v1/namespaces/default?dryRun=All"),
    );
}
