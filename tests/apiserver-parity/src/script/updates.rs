//! PUT, versions and preconditions, status and finalizers.

use serde_json::{Value, json};

use super::PODS;
use super::objects::{config_map, lease, pod, pod_with};
use crate::step::{Request, Script};

pub(super) fn add(script: &mut Script) {
    let maps = "/api/v1/namespaces/parity/configmaps";
    let map = format!("{maps}/update-a");
    script.send(
        "create a map to update",
        Request::post(maps, config_map("update-a", &json!({"a": "1"})))
            .capture("map.rv", "/metadata/resourceVersion")
            .capture("map.uid", "/metadata/uid"),
    );
    let versioned = |rv: &str, value: &str| {
        let mut object = config_map("update-a", &json!({"a": value}));
        object["metadata"]["resourceVersion"] = json!(rv);
        object
    };
    script.send("update at its version", Request::put(&map, versioned("${map.rv}", "2")));
    script.send(
        "update at an old version",
        Request::put(&map, versioned("${map.rv}", "3")),
    );
    script.send("update at a bad version (5xx)", Request::put(&map, versioned("x", "3")));
    script.send(
        "update without a version",
        Request::put(&map, config_map("update-a", &json!({"a": "4"}))),
    );
    script.send(
        "update with nothing new",
        Request::put(&map, config_map("update-a", &json!({"a": "4"}))),
    );
    script.send(
        "update dry",
        Request::put(format!("{map}?dryRun=All"), config_map("update-a", &json!({"a": "5"}))),
    );
    script.send("the dry update left no trace", Request::get(&map));
    let mut other_uid = config_map("update-a", &json!({}));
    other_uid["metadata"]["uid"] = json!("00000000-0000-0000-0000-000000000000");
    script.send("update another UID", Request::put(&map, other_uid));
    let mut same_uid = config_map("update-a", &json!({"a": "6"}));
    same_uid["metadata"]["uid"] = json!("${map.uid}");
    script.send("update the same UID", Request::put(&map, same_uid));
    script.send(
        "update another name",
        Request::put(&map, config_map("update-b", &json!({}))),
    );
    script.send(
        "update what is not there",
        Request::put(format!("{maps}/nobody"), config_map("nobody", &json!({}))),
    );

    leases(script);
    pods(script);
    statuses(script);
    finalizers(script);
}

fn leases(script: &mut Script) {
    let leases = "/apis/coordination.k8s.io/v1/namespaces/parity/leases";
    script.send(
        "create a lease",
        Request::post(leases, lease("update-lease", "a")).capture("lease.rv", "/metadata/resourceVersion"),
    );
    script.send(
        "update the lease without a version",
        Request::put(format!("{leases}/update-lease"), lease("update-lease", "b")),
    );
    let mut taken = lease("update-lease", "b");
    taken["metadata"]["resourceVersion"] = json!("${lease.rv}");
    script.send(
        "take the lease",
        Request::put(format!("{leases}/update-lease"), taken.clone()),
    );
    script.send(
        "take the lease too late",
        Request::put(format!("{leases}/update-lease"), taken),
    );
    script.send(
        "put a lease into being",
        Request::put(format!("{leases}/update-new"), lease("update-new", "a")),
    );
}

fn pods(script: &mut Script) {
    let path = format!("{PODS}/update-pod");
    script.send("create a pod to update", Request::post(PODS, pod("update-pod")));
    let mut image = pod("update-pod");
    image["spec"]["containers"][0]["image"] = json!("image:2");
    script.send("put a pod with its defaults left out", Request::put(&path, image));
    script.send(
        "change a pod's image",
        Request::strategic(
            &path,
            json!({"spec": {"containers": [{"name": "c", "image": "image:3"}]}}),
        ),
    );
    script.send(
        "change a pod's node selector",
        Request::merge(&path, json!({"spec": {"nodeSelector": {"a": "b"}}})),
    );
    script.send(
        "add a toleration",
        Request::json_patch(
            &path,
            json!([{"op": "add", "path": "/spec/tolerations/-", "value": {"operator": "Exists"}}]),
        ),
    );
    script.send(
        "remove the tolerations",
        Request::merge(&path, json!({"spec": {"tolerations": null}})),
    );
    script.send(
        "set a deadline",
        Request::merge(&path, json!({"spec": {"activeDeadlineSeconds": 100}})),
    );
    script.send(
        "extend the deadline",
        Request::merge(&path, json!({"spec": {"activeDeadlineSeconds": 200}})),
    );
    script.send(
        "change the status through the pod",
        Request::merge(&path, json!({"status": {"phase": "Failed"}})),
    );
    let two_gates = json!({"schedulingGates": [{"name": "example.com/a"}, {"name": "example.com/b"}]});
    script.send(
        "create a gated pod",
        Request::post(PODS, pod_with("update-gated", &two_gates)),
    );
    let gates = |names: &[&str]| {
        let gates: Vec<Value> = names.iter().map(|n| json!({"name": n})).collect();
        Request::merge(
            format!("{PODS}/update-gated"),
            json!({"spec": {"schedulingGates": gates}}),
        )
    };
    script.send("remove a gate", gates(&["example.com/b"]));
    script.send(
        "narrow the gated pod",
        Request::merge(
            format!("{PODS}/update-gated"),
            json!({"spec": {"nodeSelector": {"a": "b"}}}),
        ),
    );
    script.send(
        "widen the gated pod again",
        Request::merge(format!("{PODS}/update-gated"), json!({"spec": {"nodeSelector": null}})),
    );
    script.send("add a gate", gates(&["example.com/b", "example.com/c"]));
    script.send("remove the last gate", gates(&[]));
}

fn statuses(script: &mut Script) {
    let path = format!("{PODS}/update-pod/status");
    let condition = json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
        "message": "0/1 nodes are available", "lastTransitionTime": "2026-01-01T00:00:00Z"});
    script.send(
        "patch a pod's status",
        Request::strategic(
            &path,
            json!({"status": {"conditions": [condition], "nominatedNodeName": "parity-n1"}}),
        ),
    );
    script.send(
        "patch the condition in place",
        Request::strategic(
            &path,
            json!({"status": {"conditions": [
        {"type": "PodScheduled", "message": "0/2 nodes are available"}]}}),
        ),
    );
    script.send(
        "add a second condition",
        Request::strategic(
            &path,
            json!({"status": {"conditions": [
        {"type": "Ready", "status": "False"}]}}),
        ),
    );
    script.send(
        "patch the status with nothing new",
        Request::strategic(
            &path,
            json!({"status": {"conditions": [
        {"type": "Ready", "status": "False"}]}}),
        ),
    );
    script.send(
        "patch the spec through the status",
        Request::merge(&path, json!({"spec": {"nodeSelector": {"x": "y"}}})),
    );
    script.send(
        "clear the nomination",
        Request::strategic(&path, json!({"status": {"nominatedNodeName": null}})),
    );
    script.send(
        "nominate a bad name",
        Request::strategic(&path, json!({"status": {"nominatedNodeName": "Not_A_Node"}})),
    );
    let sets = "/apis/apps/v1/namespaces/parity/replicasets";
    let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "update-set"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": "image:1"}]}}}});
    script.send("create a replica set", Request::post(sets, set));
    script.send(
        "set its status",
        Request::merge(format!("{sets}/update-set/status"), json!({"status": {"replicas": 1}})),
    );
    script.send(
        "scale it",
        Request::merge(format!("{sets}/update-set"), json!({"spec": {"replicas": 3}})),
    );
    script.send("read its scale", Request::get(format!("{sets}/update-set/scale")));
    script.send(
        "patch its scale",
        Request::merge(format!("{sets}/update-set/scale"), json!({"spec": {"replicas": 5}})),
    );
    script.send("read the scaled set", Request::get(format!("{sets}/update-set")));
}

fn finalizers(script: &mut Script) {
    let path = format!("{PODS}/update-final");
    let mut object = pod("update-final");
    object["metadata"]["finalizers"] = json!(["example.com/a"]);
    script.send("create a pod with a finalizer", Request::post(PODS, object));
    script.send(
        "delete it at once",
        Request::delete(format!("{path}?gracePeriodSeconds=0")),
    );
    script.send("it is still there", Request::get(&path));
    script.send(
        "delete it again",
        Request::delete(format!("{path}?gracePeriodSeconds=0")),
    );
    script.send(
        "add another finalizer",
        Request::merge(
            &path,
            json!({"metadata": {"finalizers": ["example.com/a", "example.com/b"]}}),
        ),
    );
    script.send(
        "a label may still change",
        Request::merge(&path, json!({"metadata": {"labels": {"a": "b"}}})),
    );
    script.send(
        "remove the finalizer",
        Request::json_patch(&path, json!([{"op": "remove", "path": "/metadata/finalizers"}])),
    );
    script.send("it is gone", Request::get(&path));
}
