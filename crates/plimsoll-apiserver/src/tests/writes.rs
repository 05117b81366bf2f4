//! Create, update, patch, delete.

use serde_json::json;

use super::*;

#[tokio::test(start_paused = true)]
async fn a_created_pod_has_everything_a_real_server_gives_it() {
    let server = server();
    let (code, created) = server.call("POST", PODS, pod("a")).await;
    assert_eq!(code, 201, "{created}");
    assert_eq!(created["kind"], "Pod");
    assert_eq!(created["metadata"]["namespace"], "default");
    assert_eq!(created["metadata"]["creationTimestamp"], START);
    assert_eq!(created["metadata"]["generation"], 1);
    assert_eq!(created["metadata"]["uid"].as_str().map(str::len), Some(36));
    assert_eq!(
        created["status"],
        json!({ "phase": "Pending", "qosClass": "BestEffort" })
    );
    assert_eq!(created["spec"]["priority"], 0);
    assert_eq!(created["spec"]["preemptionPolicy"], "PreemptLowerPriority");
    assert_eq!(created["spec"]["schedulerName"], "default-scheduler");
    assert_eq!(created["spec"]["tolerations"].as_array().map(Vec::len), Some(2));
    assert_eq!(server.get_ok(&format!("{PODS}/a")).await, created);
}

#[tokio::test(start_paused = true)]
async fn creation_is_refused_with_upstreams_texts() {
    let server = server();
    server.call("POST", PODS, pod("taken")).await;
    let with = |field: &str, value: Value| {
        let mut pod = pod("x");
        let at = field.rfind('/').expect("a pointer");
        pod.pointer_mut(&field[..at]).expect("a parent")[&field[at + 1..]] = value;
        pod
    };
    for (path, body, code, message) in [
        (PODS, pod("taken"), 409, "pods \"taken\" already exists"),
        (
            "/api/v1/namespaces/none/pods",
            pod("x"),
            404,
            "namespaces \"none\" not found",
        ),
        (
            PODS,
            with("/metadata/namespace", json!("other")),
            400,
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
        (
            PODS,
            with("/spec/priorityClassName", json!("none")),
            403,
            "pods \"x\" is forbidden: no PriorityClass with name none was found",
        ),
        (
            PODS,
            with("/apiVersion", json!("apps/v1")),
            400,
            "the API version in the data (apps/v1) does not match the expected API version (v1)",
        ),
    ] {
        let (is, status) = server.call("POST", path, body).await;
        assert_eq!((is, status["message"].as_str()), (code, Some(message)));
        assert_eq!(status["kind"], "Status");
    }
}

#[tokio::test(start_paused = true)]
async fn priorities_come_from_classes() {
    let server = server();
    let mut critical = pod("critical");
    critical["spec"]["priorityClassName"] = json!("system-node-critical");
    let (_, created) = server.call("POST", PODS, critical).await;
    assert_eq!(created["spec"]["priority"], 2_000_001_000);

    let class = json!({ "metadata": { "name": "usual" }, "value": 5, "globalDefault": true });
    let (code, _) = server
        .call("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", class)
        .await;
    assert_eq!(code, 201);
    let (_, created) = server.call("POST", PODS, pod("plain")).await;
    assert_eq!(
        (&created["spec"]["priority"], &created["spec"]["priorityClassName"]),
        (&json!(5), &json!("usual"))
    );
}

#[tokio::test(start_paused = true)]
async fn names_and_uids_follow_from_the_seed() {
    let names = |seed| async move {
        let server = server_with(Config {
            seed,
            ..Config::default()
        });
        let mut generated = pod("");
        generated["metadata"] = json!({ "generateName": "p-" });
        let (code, created) = server.call("POST", PODS, generated).await;
        assert_eq!(code, 201, "{created}");
        (created["metadata"]["name"].clone(), created["metadata"]["uid"].clone())
    };
    let first = names(1).await;
    assert_eq!(first.0.as_str().map(str::len), Some(7));
    assert_eq!(first, names(1).await);
    assert_ne!(first, names(2).await);
}

#[tokio::test(start_paused = true)]
async fn updates_are_optimistic_and_guard_the_uid() {
    let server = server();
    let (_, mut current) = server.call("POST", PODS, pod("a")).await;
    let path = format!("{PODS}/a");
    let mut stale = current.clone();
    current["metadata"]["labels"] = json!({ "a": "b" });
    let (code, updated) = server.call("PUT", &path, current).await;
    assert_eq!(code, 200, "{updated}");

    stale["metadata"]["labels"] = json!({ "a": "c" });
    let (code, status) = server.call("PUT", &path, stale.clone()).await;
    assert_eq!(code, 409);
    assert_eq!(
        status["message"],
        "Operation cannot be fulfilled on pods \"a\": the object has been modified; please apply your changes to the latest version and try again"
    );
    assert_eq!(status["reason"], "Conflict");

    stale["metadata"]["uid"] = json!("other");
    let (code, status) = server.call("PUT", &path, stale).await;
    assert_eq!(code, 409);
    let message = status["message"].as_str().expect("a message");
    assert!(
        message.contains("Precondition failed: UID in precondition: other, UID in object meta: "),
        "{message}"
    );
    assert!(message.contains("Key: /registry/pods/default/a,"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn an_update_that_changes_nothing_makes_no_version() {
    let server = server();
    let (_, current) = server.call("POST", PODS, pod("a")).await;
    let before = server.resource_version();
    let (code, same) = server.call("PUT", &format!("{PODS}/a"), current.clone()).await;
    assert_eq!((code, same), (200, current));
    assert_eq!(server.resource_version(), before);
}

#[tokio::test(start_paused = true)]
async fn leases_need_a_version_and_can_be_created_by_put() {
    let server = server();
    let path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/l";
    let lease = json!({ "metadata": { "name": "l" }, "spec": { "holderIdentity": "a" } });
    let (code, created) = server.call("PUT", path, lease.clone()).await;
    assert_eq!(code, 201, "{created}");
    let (code, status) = server.call("PUT", path, lease).await;
    assert_eq!(code, 422);
    assert_eq!(
        status["message"],
        "leases.coordination.k8s.io \"l\" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update"
    );
}

#[tokio::test(start_paused = true)]
async fn patches_reach_the_object_and_its_status() {
    let server = server();
    server.call("POST", PODS, pod("a")).await;
    let path = format!("{PODS}/a");
    let (code, patched) = server
        .call("PATCH", &path, json!({ "metadata": { "labels": { "x": "y" } } }))
        .await;
    assert_eq!(
        (code, &patched["metadata"]["labels"]),
        (200, &json!({ "x": "y" })),
        "{patched}"
    );

    let condition = json!({ "status": {
        "nominatedNodeName": "n",
        "conditions": [{ "type": "PodScheduled", "status": "False", "reason": "Unschedulable" }],
    } });
    let (code, patched) = server
        .call_as(
            "PATCH",
            &format!("{path}/status"),
            "application/strategic-merge-patch+json",
            condition,
        )
        .await;
    assert_eq!(code, 200, "{patched}");
    assert_eq!(patched["status"]["nominatedNodeName"], "n");
    assert_eq!(patched["status"]["phase"], "Pending");
    assert_eq!(patched["metadata"]["generation"], 1);

    let (code, status) = server.call_as("PATCH", &path, "text/plain", json!({})).await;
    assert_eq!(code, 415, "{status}");
    let (code, _) = server.call("PATCH", &format!("{PODS}/none"), json!({})).await;
    assert_eq!(code, 404);
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_answers_and_changes_nothing() {
    let server = server();
    let before = server.resource_version();
    let (code, _) = server.call("POST", &format!("{PODS}?dryRun=All"), pod("a")).await;
    assert_eq!(code, 201);
    assert_eq!((server.resource_version(), server.snapshot(pods()).len()), (before, 0));

    server.call("POST", PODS, pod("a")).await;
    let (code, _) = server.call("DELETE", &format!("{PODS}/a?dryRun=All"), None).await;
    assert_eq!(code, 200);
    assert!(server.get(pods(), "default", "a").is_some());
}

#[tokio::test(start_paused = true)]
async fn an_unbound_pod_goes_at_once_and_a_bound_one_after_its_grace() {
    let server = server();
    server.call("POST", PODS, pod("unbound")).await;
    let (code, deleted) = server.call("DELETE", &format!("{PODS}/unbound"), None).await;
    assert_eq!((code, &deleted["metadata"]["name"]), (200, &json!("unbound")));
    assert!(server.get(pods(), "default", "unbound").is_none());

    server.call("POST", PODS, pod("bound")).await;
    server.bind("default", "bound", "n").expect("bound");
    let path = format!("{PODS}/bound");
    let (code, marked) = server.call("DELETE", &path, None).await;
    assert_eq!(code, 200);
    assert_eq!(marked["metadata"]["deletionGracePeriodSeconds"], 30);
    assert_eq!(marked["metadata"]["deletionTimestamp"], "2026-01-01T00:00:30Z");
    assert_eq!(marked["metadata"]["generation"], 2);

    // A second deletion changes nothing, a shorter one moves the end.
    let (_, again) = server.call("DELETE", &path, None).await;
    assert_eq!(
        again["metadata"]["resourceVersion"],
        marked["metadata"]["resourceVersion"]
    );
    let (_, shorter) = server
        .call("DELETE", &format!("{path}?gracePeriodSeconds=5"), None)
        .await;
    assert_eq!(shorter["metadata"]["deletionTimestamp"], "2026-01-01T00:00:05Z");

    assert_eq!(server.reap_terminated_pods(), 0);
    tokio::time::advance(std::time::Duration::from_secs(5)).await;
    assert_eq!(server.reap_terminated_pods(), 1);
    assert!(server.get(pods(), "default", "bound").is_none());
}

#[tokio::test(start_paused = true)]
async fn deletion_checks_its_preconditions() {
    let server = server();
    server.call("POST", PODS, pod("a")).await;
    let path = format!("{PODS}/a");
    let options = |preconditions: Value| json!({ "kind": "DeleteOptions", "preconditions": preconditions });
    let (code, status) = server.call("DELETE", &path, options(json!({ "uid": "other" }))).await;
    assert_eq!(code, 409);
    let message = status["message"].as_str().expect("a message");
    assert!(
        message.starts_with("Operation cannot be fulfilled on Pod \"a\": the UID in the precondition (other)"),
        "{message}"
    );
    let (code, _) = server
        .call("DELETE", &path, options(json!({ "resourceVersion": "1" })))
        .await;
    assert_eq!(code, 409);
}

#[tokio::test(start_paused = true)]
async fn finalizers_hold_an_object_until_the_last_is_gone() {
    let server = server();
    let maps = "/api/v1/namespaces/default/configmaps";
    let map = json!({ "metadata": { "name": "m", "finalizers": ["x/y"] } });
    server.call("POST", maps, map).await;
    let (code, marked) = server.call("DELETE", &format!("{maps}/m"), None).await;
    assert_eq!(code, 200);
    assert_eq!(marked["metadata"]["deletionGracePeriodSeconds"], 0);
    let release = json!({ "metadata": { "finalizers": null } });
    let (code, _) = server.call("PATCH", &format!("{maps}/m"), release).await;
    assert_eq!(code, 200);
    let (code, status) = server.call("GET", &format!("{maps}/m"), None).await;
    assert_eq!((code, &status["message"]), (404, &json!("configmaps \"m\" not found")));
}

#[tokio::test(start_paused = true)]
async fn what_is_deleted_is_named_in_a_status() {
    let server = server();
    server
        .call("POST", "/api/v1/nodes", json!({ "metadata": { "name": "n" } }))
        .await;
    let (code, status) = server.call("DELETE", "/api/v1/nodes/n", None).await;
    assert_eq!(
        (code, &status["status"], &status["details"]["kind"]),
        (200, &json!("Success"), &json!("nodes"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_collection_is_deleted_by_selector() {
    let server = server();
    for (name, app) in [("a", "x"), ("b", "y"), ("c", "x")] {
        let mut pod = pod(name);
        pod["metadata"]["labels"] = json!({ "app": app });
        server.call("POST", PODS, pod).await;
    }
    let (code, list) = server
        .call("DELETE", &format!("{PODS}?labelSelector=app%3Dx"), None)
        .await;
    assert_eq!((code, list["items"].as_array().map(Vec::len)), (200, Some(2)));
    assert_eq!(server.snapshot(pods()).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_namespace_goes_with_all_that_is_in_it() {
    let server = server();
    server
        .call("POST", "/api/v1/namespaces", json!({ "metadata": { "name": "n" } }))
        .await;
    server.call("POST", "/api/v1/namespaces/n/pods", pod("a")).await;
    let (code, namespace) = server.call("DELETE", "/api/v1/namespaces/n", None).await;
    assert_eq!((code, &namespace["status"]["phase"]), (200, &json!("Terminating")));
    assert_eq!(server.call("GET", "/api/v1/namespaces/n", None).await.0, 404);
    assert!(server.snapshot(pods()).is_empty());
}

#[tokio::test(start_paused = true)]
async fn events_of_both_groups_are_the_same_objects() {
    let server = server();
    let event = json!({
        "metadata": { "name": "e" }, "regarding": { "kind": "Pod", "name": "p", "namespace": "default" },
        "reason": "Scheduled", "action": "Binding", "type": "Normal", "note": "bound",
        "reportingController": "s", "reportingInstance": "s-0", "eventTime": "2026-01-01T00:00:00.000000Z",
    });
    let (code, created) = server
        .call("POST", "/apis/events.k8s.io/v1/namespaces/default/events", event)
        .await;
    assert_eq!(code, 201, "{created}");
    assert_eq!(created["note"], "bound");
    let listed = server
        .get_ok("/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dp")
        .await;
    assert_eq!(listed["items"][0]["message"], "bound");
    let patch = json!({ "series": { "count": 2, "lastObservedTime": "2026-01-01T00:01:00.000000Z" } });
    let (code, patched) = server
        .call("PATCH", "/apis/events.k8s.io/v1/namespaces/default/events/e", patch)
        .await;
    assert_eq!((code, &patched["series"]["count"]), (200, &json!(2)), "{patched}");
}

#[tokio::test(start_paused = true)]
async fn the_history_holds_every_write_in_order() {
    let server = server();
    let start = server.resource_version();
    server.call("POST", PODS, pod("a")).await;
    server.bind("default", "a", "n").expect("bound");
    server.delete(pods(), "default", "a").expect("deleted");
    let history = server.history();
    let since: Vec<_> = history
        .iter()
        .filter(|m| m.rv > start)
        .map(|m| (m.verb, m.deleted))
        .collect();
    // A pod is marked before it goes.
    assert_eq!(
        since,
        [("create", false), ("bind", false), ("delete", false), ("delete", true)]
    );
    assert!(history.windows(2).all(|pair| pair[0].rv < pair[1].rv));
}
