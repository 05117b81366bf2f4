//! The four patch types.

use serde_json::{Value, json};

use super::PODS;
use super::objects::{config_map, labelled};
use crate::step::{Request, Script};

pub(super) fn add(script: &mut Script) {
    let path = format!("{PODS}/patch-pod");
    script.send(
        "create a pod to patch",
        Request::post(PODS, labelled("patch-pod", &json!({"a": "1"}))).capture("patch.rv", "/metadata/resourceVersion"),
    );
    json_patches(script, &path);
    merge_patches(script, &path);
    strategic_patches(script, &path);
    node_lists(script);
    applies(script);
}

fn json_patches(script: &mut Script, path: &str) {
    let json = |patch: Value| Request::json_patch(path, patch);
    script.send(
        "json: add a label",
        json(json!([{"op": "add", "path": "/metadata/labels/b", "value": "2"}])),
    );
    script.send(
        "json: test and replace",
        json(json!([{"op": "test", "path": "/metadata/labels/b", "value": "2"},
        {"op": "replace", "path": "/metadata/labels/b", "value": "3"}])),
    );
    script.send(
        "json: a failing test",
        json(json!([{"op": "test", "path": "/metadata/labels/b", "value": "9"}])),
    );
    script.send(
        "json: remove what is not there",
        json(json!([{"op": "remove", "path": "/metadata/labels/zzz"}])),
    );
    script.send(
        "json: move and copy",
        json(
            json!([{"op": "copy", "from": "/metadata/labels/a", "path": "/metadata/labels/c"},
        {"op": "move", "from": "/metadata/labels/b", "path": "/metadata/labels/d"}]),
        ),
    );
    script.send("json: no list", json(json!({"op": "add"})));
    script.send(
        "json: an escaped key",
        json(json!([{"op": "add", "path": "/metadata/labels/example.com~1x", "value": "1"}])),
    );
}

fn merge_patches(script: &mut Script, path: &str) {
    let merge = |patch: Value| Request::merge(path, patch);
    script.send(
        "merge: set and remove labels",
        merge(json!({"metadata": {"labels": {"a": null, "e": "5"}}})),
    );
    script.send("merge: nothing new", merge(json!({"metadata": {"labels": {"e": "5"}}})));
    script.send(
        "merge: with an old version",
        merge(json!({"metadata": {"resourceVersion": "${patch.rv}", "labels": {"e": "6"}}})),
    );
    script.send(
        "merge: with another UID",
        merge(json!({"metadata": {"uid": "00000000-0000-0000-0000-000000000000"}})),
    );
    script.send("merge: rename", merge(json!({"metadata": {"name": "other"}})));
    script.send("merge: no object", merge(json!([1])));
    script.send(
        "merge: broken",
        Request::method("PATCH", path)
            .content_type("application/merge-patch+json")
            .text("{"),
    );
    script.send(
        "merge: dry",
        Request::merge(
            format!("{path}?dryRun=All"),
            json!({"metadata": {"labels": {"dry": "1"}}}),
        ),
    );
    script.send(
        "merge: with force",
        Request::merge(format!("{path}?force=true"), json!({})),
    );
    script.send(
        "merge: what is not there",
        Request::merge(format!("{PODS}/nobody"), json!({})),
    );
}

fn strategic_patches(script: &mut Script, path: &str) {
    let strategic = |patch: Value| Request::strategic(path, patch);
    script.send(
        "strategic: finalizers are a set",
        strategic(json!({"metadata": {"finalizers": ["example.com/a", "example.com/b"]}})),
    );
    script.send(
        "strategic: one finalizer more",
        strategic(json!({"metadata": {"finalizers": ["example.com/c"]}})),
    );
    script.send(
        "strategic: delete a finalizer",
        strategic(json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}})),
    );
    script.send(
        "strategic: replace the labels",
        strategic(json!({"metadata": {"labels": {"$patch": "replace", "z": "1"}}})),
    );
    script.send(
        "strategic: tolerations are atomic",
        strategic(json!({"spec": {"tolerations": [{"operator": "Exists"}]}})),
    );
    script.send(
        "strategic: no merge key (5xx)",
        strategic(json!({"spec": {"containers": [{"image": "x"}]}})),
    );
    script.send(
        "strategic: an unknown directive (5xx)",
        strategic(json!({"metadata": {"$patch": "explode"}})),
    );
    script.send(
        "strategic: broken",
        Request::method("PATCH", path)
            .content_type("application/strategic-merge-patch+json")
            .text("[]"),
    );
    script.send(
        "strategic: clear the finalizers",
        strategic(json!({"metadata": {"finalizers": null}})),
    );
    script.send(
        "an unknown patch type",
        Request::merge(path, json!({})).content_type("application/json"),
    );
}

fn node_lists(script: &mut Script) {
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "parity-patch", "labels": {"parity": "patched"}},
        "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}});
    let path = "/api/v1/nodes/parity-patch";
    script.send("create a tainted node", Request::post("/api/v1/nodes", node));
    script.send(
        "strategic: taints",
        Request::strategic(path, json!({"spec": {"taints": [{"key": "b", "effect": "NoExecute"}]}})),
    );
    script.send(
        "strategic: cordon",
        Request::strategic(path, json!({"spec": {"unschedulable": true}})),
    );
    script.send(
        "strategic: a bad taint",
        Request::strategic(path, json!({"spec": {"taints": [{"key": "b", "effect": "Never"}]}})),
    );
    script.send("strategic: conditions", Request::strategic(format!("{path}/status"), json!({"status": {"conditions": [
        {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
        "addresses": [{"type": "InternalIP", "address": "10.1.2.3"}], "capacity": {"cpu": "2"}, "allocatable": {"cpu": "1500m"}}})));
    script.send(
        "strategic: a second condition",
        Request::strategic(
            format!("{path}/status"),
            json!({"status": {"conditions": [
        {"type": "MemoryPressure", "status": "False"}]}}),
        ),
    );
    script.send(
        "strategic: ordered conditions",
        Request::strategic(
            format!("{path}/status"),
            json!({"status": {
        "$setElementOrder/conditions": [{"type": "Ready"}, {"type": "MemoryPressure"}],
        "conditions": [{"type": "Ready", "reason": "Other"}]}}),
        ),
    );
    script.send(
        "strategic: delete a condition",
        Request::strategic(
            format!("{path}/status"),
            json!({"status": {"conditions": [
        {"type": "MemoryPressure", "$patch": "delete"}]}}),
        ),
    );
}

fn applies(script: &mut Script) {
    let path = "/api/v1/namespaces/parity/configmaps/patch-applied";
    let by = |manager: &str| format!("{path}?fieldManager={manager}");
    let map = |data: &Value| config_map("patch-applied", data);
    script.send("apply: without a manager", Request::apply(path, map(&json!({}))));
    script.send(
        "apply: create",
        Request::apply(by("one"), map(&json!({"a": "1", "b": "1"}))),
    );
    script.send(
        "apply: nothing new",
        Request::apply(by("one"), map(&json!({"a": "1", "b": "1"}))),
    );
    script.send(
        "apply: one field less",
        Request::apply(by("one"), map(&json!({"a": "1"}))),
    );
    script.send(
        "apply: another manager's field",
        Request::apply(by("two"), map(&json!({"c": "1"}))),
    );
    script.send(
        "apply: a conflict",
        Request::apply(by("two"), map(&json!({"a": "2", "c": "1"}))),
    );
    script.send(
        "apply: by force",
        Request::apply(format!("{}&force=true", by("two")), map(&json!({"a": "2", "c": "1"}))),
    );
    script.send(
        "apply: the loser conflicts",
        Request::apply(by("one"), map(&json!({"a": "1"}))),
    );
    script.send(
        "apply: after an update of the same field",
        Request::merge(path, json!({"data": {"c": "9"}})),
    );
    script.send(
        "apply: the update owns it",
        Request::apply(by("two"), map(&json!({"a": "2", "c": "1"}))),
    );
    script.send(
        "apply: YAML",
        Request::method("PATCH", by("three"))
            .content_type("application/apply-patch+yaml")
            .text("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: patch-applied\ndata:\n  z: \"1\"\n"),
    );
    script.send(
        "apply: a wrong version",
        Request::apply(
            by("one"),
            json!({"apiVersion": "v9", "kind": "ConfigMap", "metadata": {"name": "patch-applied"}}),
        ),
    );
    script.send(
        "apply: broken",
        Request::method("PATCH", by("one"))
            .content_type("application/apply-patch+yaml")
            .text("a: b: c"),
    );
}
