//! Deleting: grace, preconditions, options, collections.

use serde_json::{Value, json};

use super::PODS;
use super::objects::{config_map, labelled, node, pod};
use crate::step::{Request, Script};

fn delete_with(path: String, options: Value) -> Request {
    Request::delete(path).json(options)
}

pub(super) fn add(script: &mut Script) {
    let of = |name: &str| format!("{PODS}/{name}");
    script.send(
        "create a pod to delete",
        Request::post(PODS, pod("delete-a"))
            .capture("delete.uid", "/metadata/uid")
            .capture("delete.rv", "/metadata/resourceVersion"),
    );
    script.send(
        "delete another UID",
        delete_with(
            of("delete-a"),
            json!({"preconditions": {"uid": "00000000-0000-0000-0000-000000000000"}}),
        ),
    );
    script.send(
        "delete another version",
        delete_with(of("delete-a"), json!({"preconditions": {"resourceVersion": "1"}})),
    );
    script.send("delete dry", Request::delete(format!("{}?dryRun=All", of("delete-a"))));
    script.send("the dry delete left no trace", Request::get(of("delete-a")));
    script.send("delete the right UID and version", delete_with(of("delete-a"),
        json!({"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": "${delete.uid}", "resourceVersion": "${delete.rv}"}})));
    script.send("an unbound pod is gone at once", Request::get(of("delete-a")));
    script.send("delete what is not there", Request::delete(of("delete-a")));

    script.send(
        "create a node to delete from",
        Request::post("/api/v1/nodes", node("parity-delete")),
    );
    let mut bound = pod("delete-bound");
    bound["spec"]["nodeName"] = json!("parity-delete");
    script.send("create a bound pod", Request::post(PODS, bound.clone()));
    script.send("delete it with grace", Request::delete(of("delete-bound")));
    script.send("it is terminating", Request::get(of("delete-bound")));
    script.send("delete it with the same grace", Request::delete(of("delete-bound")));
    script.send(
        "shorten the grace",
        Request::delete(format!("{}?gracePeriodSeconds=5", of("delete-bound"))),
    );
    script.send(
        "lengthen the grace",
        Request::delete(format!("{}?gracePeriodSeconds=50", of("delete-bound"))),
    );
    script.send(
        "delete it now",
        Request::delete(format!("{}?gracePeriodSeconds=0", of("delete-bound"))),
    );
    script.send("it is gone", Request::get(of("delete-bound")));
    bound["metadata"]["name"] = json!("delete-body");
    script.send("create another bound pod", Request::post(PODS, bound));
    script.send(
        "grace in the body",
        delete_with(of("delete-body"), json!({"gracePeriodSeconds": 3})),
    );
    script.send(
        "grace of less than nothing",
        delete_with(of("delete-body"), json!({"gracePeriodSeconds": -1})),
    );
    script.send("a broken body", Request::delete(of("delete-body")).text("{"));
    script.send(
        "finish it",
        Request::delete(format!("{}?gracePeriodSeconds=0", of("delete-body"))),
    );

    policies(script);
    collections(script);
    script.send("delete the node", Request::delete("/api/v1/nodes/parity-delete"));
}

fn policies(script: &mut Script) {
    let maps = "/api/v1/namespaces/parity/configmaps";
    for policy in ["Background", "Foreground", "Orphan", "Sideways"] {
        let name = format!("delete-{}", policy.to_lowercase());
        script.send(
            format!("create a map to delete {policy}"),
            Request::post(maps, config_map(&name, &json!({}))),
        );
        script.send(
            format!("delete it {policy}"),
            delete_with(format!("{maps}/{name}"), json!({"propagationPolicy": policy})),
        );
        script.send(
            format!("after deleting it {policy}"),
            Request::get(format!("{maps}/{name}")),
        );
    }
    script.send(
        "two ways to say the policy",
        delete_with(
            format!("{maps}/delete-sideways"),
            json!({"propagationPolicy": "Orphan", "orphanDependents": true}),
        ),
    );
}

fn collections(script: &mut Script) {
    for (name, group) in [("delete-c1", "x"), ("delete-c2", "x"), ("delete-c3", "y")] {
        script.send(
            format!("create {name}"),
            Request::post(PODS, labelled(name, &json!({"collection": group}))),
        );
    }
    script.send(
        "delete a collection",
        Request::delete(format!("{PODS}?labelSelector=collection%3Dx")),
    );
    script.send(
        "what is left of it",
        Request::get(format!("{PODS}?labelSelector=collection")),
    );
    script.send(
        "delete an empty collection",
        Request::delete(format!("{PODS}?labelSelector=collection%3Dx")),
    );
}
