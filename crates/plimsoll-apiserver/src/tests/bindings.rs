//! Binding and eviction.

use serde_json::json;

use super::*;

fn binding(pod: &str, node: &str) -> Value {
    json!({ "metadata": { "name": pod }, "target": { "kind": "Node", "name": node } })
}

#[tokio::test(start_paused = true)]
async fn a_pod_is_bound_once() {
    let server = server();
    let zone = json!({ "topology.kubernetes.io/zone": "z", "other": "x" });
    server
        .create(
            kind("", "nodes"),
            "",
            json!({ "metadata": { "name": "n", "labels": zone } }),
        )
        .expect("a node");
    server.create(pods(), "default", pod("a")).expect("created");
    server
        .modify_status(pods(), "default", "a", |pod| {
            pod["status"]["nominatedNodeName"] = json!("n");
        })
        .expect("nominated");

    let path = format!("{PODS}/a/binding");
    let (code, status) = server.call("POST", &path, binding("a", "n")).await;
    assert_eq!(code, 201);
    let expected = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201 });
    assert_eq!(status, expected);

    let bound = server.get(pods(), "default", "a").expect("the pod");
    assert_eq!(bound["spec"]["nodeName"], "n");
    assert_eq!(bound["status"].get("nominatedNodeName"), None);
    assert_eq!(bound["status"]["conditions"][0]["type"], "PodScheduled");
    assert_eq!(bound["status"]["conditions"][0]["status"], "True");
    assert_eq!(
        bound["metadata"]["labels"],
        json!({ "topology.kubernetes.io/zone": "z" })
    );

    let (code, status) = server.call("POST", &path, binding("a", "n")).await;
    assert_eq!((code, &status["reason"]), (409, &json!("Conflict")));
    assert_eq!(
        status["message"],
        "Operation cannot be fulfilled on pods/binding \"a\": pod a is already assigned to node \"n\""
    );
    assert_eq!(status["details"], json!({ "name": "a", "kind": "pods/binding" }));
}

#[tokio::test(start_paused = true)]
async fn bindings_are_refused_with_upstreams_texts() {
    let server = server();
    server.create(pods(), "default", pod("a")).expect("created");
    let mut gated = pod("gated");
    gated["spec"]["schedulingGates"] = json!([{ "name": "g" }]);
    server.create(pods(), "default", gated).expect("created");
    let mut going = pod("going");
    going["metadata"]["finalizers"] = json!(["x/y"]);
    server.create(pods(), "default", going).expect("created");
    server.delete(pods(), "default", "going").expect("marked");

    let with_uid = json!({ "metadata": { "name": "a", "uid": "other" }, "target": { "name": "n" } });
    let elsewhere = json!({ "metadata": { "name": "a" }, "target": { "kind": "Pod", "name": "n" } });
    for (name, body, code, message) in [
        ("none", binding("none", "n"), 404, "pods \"none\" not found"),
        (
            "a",
            binding("b", "n"),
            400,
            "name in URL does not match name in Binding object",
        ),
        (
            "gated",
            binding("gated", "n"),
            409,
            "Operation cannot be fulfilled on pods/binding \"gated\": pod gated has non-empty .spec.schedulingGates",
        ),
        (
            "going",
            binding("going", "n"),
            409,
            "Operation cannot be fulfilled on pods/binding \"going\": pod going is being deleted, cannot be assigned to a host",
        ),
        (
            "a",
            with_uid,
            409,
            "Operation cannot be fulfilled on pods \"a\": StorageError: invalid object, Code: 4",
        ),
        ("a", elsewhere, 500, "target.kind: Unsupported value: \"Pod\""),
        ("a", binding("a", ""), 500, "target.name: Required value"),
    ] {
        let (is, status) = server.call("POST", &format!("{PODS}/{name}/binding"), body).await;
        let text = status["message"].as_str().unwrap_or_default();
        assert!(is == code && text.starts_with(message), "{is} {text}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_collection_of_bindings_binds_too() {
    let server = server();
    server.create(pods(), "default", pod("a")).expect("created");
    let (code, _) = server
        .call("POST", "/api/v1/namespaces/default/bindings", binding("a", "n"))
        .await;
    assert_eq!(code, 201);
    assert_eq!(
        server.get(pods(), "default", "a").expect("the pod")["spec"]["nodeName"],
        "n"
    );
}

/// A running pod with a label, and a budget of so many disruptions for it.
fn guarded(allowed: i64) -> ApiServer {
    let server = server();
    let mut running = pod("a");
    running["metadata"]["labels"] = json!({ "app": "x" });
    server.create(pods(), "default", running).expect("created");
    server.bind("default", "a", "n").expect("bound");
    server
        .modify_status(pods(), "default", "a", |pod| {
            pod["status"]["phase"] = json!("Running");
            pod["status"]["conditions"] = json!([{ "type": "Ready", "status": "True" }]);
        })
        .expect("running");
    let budgets = kind("policy", "poddisruptionbudgets");
    let budget = json!({
        "metadata": { "name": "b" },
        "spec": { "minAvailable": 1, "selector": { "matchLabels": { "app": "x" } } },
    });
    server.create(budgets, "default", budget).expect("created");
    server
        .modify_status(budgets, "default", "b", |budget| {
            budget["status"] = json!({
                "observedGeneration": 1, "disruptionsAllowed": allowed, "currentHealthy": 1,
                "desiredHealthy": 1, "expectedPods": 1,
            });
        })
        .expect("counted");
    server
}

fn eviction() -> Value {
    json!({ "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": "a" } })
}

#[tokio::test(start_paused = true)]
async fn an_eviction_spends_from_the_budget() {
    let server = guarded(1);
    let (code, status) = server.call("POST", &format!("{PODS}/a/eviction"), eviction()).await;
    assert_eq!(code, 201, "{status}");
    let budget = server
        .get(kind("policy", "poddisruptionbudgets"), "default", "b")
        .expect("the budget");
    assert_eq!(budget["status"]["disruptionsAllowed"], 0);
    assert_eq!(budget["status"]["disruptedPods"]["a"], START);
    let pod = server.get(pods(), "default", "a").expect("still in its grace");
    assert_eq!(pod["metadata"]["deletionGracePeriodSeconds"], 30);
    assert_eq!(crate::pod::condition_status(&pod, "DisruptionTarget"), "True");
}

#[tokio::test(start_paused = true)]
async fn an_empty_budget_refuses_with_429() {
    let server = guarded(0);
    let (code, status) = server.call("POST", &format!("{PODS}/a/eviction"), eviction()).await;
    assert_eq!(code, 429);
    assert_eq!(
        status["message"],
        "Cannot evict pod as it would violate the pod's disruption budget."
    );
    assert_eq!(
        status["details"]["causes"][0],
        json!({
            "reason": "DisruptionBudget",
            "message": "The disruption budget b needs 1 healthy pods and has 1 currently",
        })
    );
    assert!(server.get(pods(), "default", "a").is_some());
}

#[tokio::test(start_paused = true)]
async fn pods_that_do_not_run_are_evicted_without_a_budget() {
    let server = guarded(0);
    server
        .modify_status(pods(), "default", "a", |pod| {
            pod["status"]["phase"] = json!("Succeeded");
        })
        .expect("finished");
    let (code, _) = server.call("POST", &format!("{PODS}/a/eviction"), eviction()).await;
    assert_eq!(code, 201);
    assert!(server.get(pods(), "default", "a").is_none());
}
