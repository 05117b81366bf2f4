//! Binding and eviction.

use serde_json::{Value, json};

use super::PODS;
use super::objects::{binding, labelled, node, pod, pod_with};
use crate::step::{Request, Script};

fn bind(name: &str, body: Value) -> Request {
    Request::post(format!("{PODS}/{name}/binding"), body)
}

pub(super) fn add(script: &mut Script) {
    script.send(
        "create a node to bind to",
        Request::post("/api/v1/nodes", node("parity-bind")),
    );
    script.send(
        "create a pod to bind",
        Request::post(PODS, pod("bind-a")).capture("bind.uid", "/metadata/uid"),
    );
    script.send(
        "bind without a target (5xx)",
        bind("bind-a", json!({"metadata": {"name": "bind-a"}, "target": {}})),
    );
    script.send(
        "bind to another kind (5xx)",
        bind(
            "bind-a",
            json!({"metadata": {"name": "bind-a"}, "target": {"kind": "Pod", "name": "x"}}),
        ),
    );
    script.send(
        "bind a pod that is not there",
        bind("nobody", binding("nobody", "parity-bind")),
    );
    let mut other = binding("bind-a", "parity-bind");
    other["metadata"]["uid"] = json!("00000000-0000-0000-0000-000000000000");
    script.send("bind another UID", bind("bind-a", other));
    script.send(
        "bind dry",
        Request::post(
            format!("{PODS}/bind-a/binding?dryRun=All"),
            binding("bind-a", "parity-bind"),
        ),
    );
    let mut right = binding("bind-a", "parity-bind");
    right["metadata"]["uid"] = json!("${bind.uid}");
    right["metadata"]["annotations"] = json!({"example.com/note": "bound"});
    script.send("bind", bind("bind-a", right.clone()));
    script.send("the bound pod", Request::get(format!("{PODS}/bind-a")));
    script.send("bind again to the same node", bind("bind-a", right));
    script.send(
        "bind again to another node",
        bind("bind-a", binding("bind-a", "parity-other")),
    );
    script.send(
        "nominate a bound pod",
        Request::strategic(
            format!("{PODS}/bind-a/status"),
            json!({"status": {"nominatedNodeName": "parity-other"}}),
        ),
    );
    script.send(
        "move a bound pod",
        Request::merge(format!("{PODS}/bind-a"), json!({"spec": {"nodeName": "parity-other"}})),
    );
    placed_pods(script);
    evictions(script);
}

/// Pods that are nominated, gated, bound through the collection, or going.
fn placed_pods(script: &mut Script) {
    script.send(
        "create a pod to nominate and bind",
        Request::post(PODS, pod("bind-nominated")),
    );
    script.send(
        "nominate it",
        Request::strategic(
            format!("{PODS}/bind-nominated/status"),
            json!({"status": {"nominatedNodeName": "parity-bind"}}),
        ),
    );
    script.send(
        "bind it to a node that is not there",
        bind("bind-nominated", binding("bind-nominated", "parity-nowhere")),
    );
    script.send(
        "the nomination after binding",
        Request::get(format!("{PODS}/bind-nominated")),
    );
    script.send(
        "create a gated pod to bind",
        Request::post(
            PODS,
            pod_with("bind-gated", &json!({"schedulingGates": [{"name": "a"}]})),
        ),
    );
    script.send(
        "bind a gated pod",
        bind("bind-gated", binding("bind-gated", "parity-bind")),
    );
    script.send(
        "create a pod to bind through the collection",
        Request::post(PODS, pod("bind-collection")),
    );
    script.send(
        "bind through the collection",
        Request::post(
            "/api/v1/namespaces/parity/bindings",
            binding("bind-collection", "parity-bind"),
        ),
    );
    let mut terminating = pod("bind-terminating");
    terminating["metadata"]["finalizers"] = json!(["example.com/a"]);
    script.send("create a pod that will not go", Request::post(PODS, terminating));
    script.send("delete it", Request::delete(format!("{PODS}/bind-terminating")));
    script.send(
        "bind a terminating pod",
        bind("bind-terminating", binding("bind-terminating", "parity-bind")),
    );
    script.send(
        "let it go",
        Request::merge(
            format!("{PODS}/bind-terminating"),
            json!({"metadata": {"finalizers": null}}),
        ),
    );
}

fn evictions(script: &mut Script) {
    let eviction = |name: &str| json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}});
    let evict = |name: &str| Request::post(format!("{PODS}/{name}/eviction"), eviction(name));
    script.send("evict a pod that is not there", evict("nobody"));
    script.send("evict a bound pod", evict("bind-a"));
    script.send("the evicted pod", Request::get(format!("{PODS}/bind-a")));
    script.send(
        "finish the evicted pod",
        Request::delete(format!("{PODS}/bind-a?gracePeriodSeconds=0")),
    );
    let budgets = "/apis/policy/v1/namespaces/parity/poddisruptionbudgets";
    let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "evict"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"evict": "me"}}}});
    script.send("create a budget", Request::post(budgets, budget));
    let mut guarded = labelled("evict-a", &json!({"evict": "me"}));
    guarded["spec"]["nodeName"] = json!("parity-bind");
    script.send("create a guarded pod", Request::post(PODS, guarded));
    script.send(
        "it runs",
        Request::strategic(
            format!("{PODS}/evict-a/status"),
            json!({"status": {"phase": "Running",
        "conditions": [{"type": "Ready", "status": "True"}]}}),
        ),
    );
    script.send("evict while the budget knows nothing", evict("evict-a"));
    let status = |allowed: i64| {
        json!({"status": {"observedGeneration": 1, "disruptionsAllowed": allowed,
        "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}})
    };
    script.send(
        "the budget allows none",
        Request::merge(format!("{budgets}/evict/status"), status(0)),
    );
    script.send("evict against the budget", evict("evict-a"));
    script.send(
        "the budget allows one",
        Request::merge(format!("{budgets}/evict/status"), status(1)),
    );
    script.send(
        "evict dry",
        Request::post(format!("{PODS}/evict-a/eviction?dryRun=All"), eviction("evict-a")),
    );
    script.send("evict within the budget", evict("evict-a"));
    script.send("the budget afterwards", Request::get(format!("{budgets}/evict")));
    script.send(
        "finish the guarded pod",
        Request::delete(format!("{PODS}/evict-a?gracePeriodSeconds=0")),
    );
}
