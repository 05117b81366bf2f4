//! Creating and reading.

use serde_json::json;

use super::PODS;
use super::objects::{config_map, pod, pod_with};
use crate::step::{Request, Script};

pub(super) fn add(script: &mut Script) {
    let of = |name: &str| format!("{PODS}/{name}");
    script.send(
        "create a pod",
        Request::post(PODS, pod("write-a"))
            .capture("write-a.uid", "/metadata/uid")
            .capture("write-a.rv", "/metadata/resourceVersion"),
    );
    script.send("read it", Request::get(of("write-a")));
    script.send("read it at version 0 after a list", Request::get(PODS));
    script.send(
        "read it from the cache",
        Request::get(format!("{}?resourceVersion=0", of("write-a"))),
    );
    script.send(
        "read it at its version",
        Request::get(format!("{}?resourceVersion=${{write-a.rv}}", of("write-a"))),
    );
    script.send("read its status", Request::get(format!("{}/status", of("write-a"))));
    script.send("read a pod that is not there", Request::get(of("nobody")));
    script.send(
        "read a namespace's pod that is not there",
        Request::get("/api/v1/namespaces/nowhere/pods/nobody"),
    );
    script.send("create it again", Request::post(PODS, pod("write-a")));
    script.send(
        "create in no namespace",
        Request::post("/api/v1/namespaces/nowhere/pods", pod("write-b")),
    );
    let mut elsewhere = pod("write-b");
    elsewhere["metadata"]["namespace"] = json!("default");
    script.send(
        "create with another namespace in the body",
        Request::post(PODS, elsewhere),
    );
    let mut versioned = pod("write-b");
    versioned["metadata"]["resourceVersion"] = json!("5");
    script.send("create with a resource version (5xx)", Request::post(PODS, versioned));
    let mut own_fields = pod("write-c");
    own_fields["metadata"]["uid"] = json!("00000000-0000-0000-0000-000000000000");
    own_fields["metadata"]["creationTimestamp"] = json!("2001-01-01T00:00:00Z");
    own_fields["metadata"]["generation"] = json!(7);
    own_fields["status"] = json!({"phase": "Running"});
    script.send(
        "create with fields that are the server's",
        Request::post(PODS, own_fields),
    );
    script.send(
        "create dry",
        Request::post(format!("{PODS}?dryRun=All"), pod("write-dry")),
    );
    script.send("nothing was created", Request::get(of("write-dry")));
    script.send(
        "create with a bad dry run",
        Request::post(format!("{PODS}?dryRun=Some"), pod("write-dry")),
    );
    let mut untyped = pod("write-untyped");
    untyped.as_object_mut().into_iter().for_each(|fields| {
        fields.remove("kind");
        fields.remove("apiVersion");
    });
    script.send("create without kind and version", Request::post(PODS, untyped));
    let mut wrong_kind = pod("write-b");
    wrong_kind["kind"] = json!("Node");
    script.send("create another kind", Request::post(PODS, wrong_kind));
    let mut wrong_version = pod("write-b");
    wrong_version["apiVersion"] = json!("v2");
    script.send("create another version", Request::post(PODS, wrong_version));

    generated_names(script);
    rich_pods(script);

    let maps = "/api/v1/namespaces/parity/configmaps";
    script.send(
        "create a config map",
        Request::post(maps, config_map("write-map", &json!({"a": "1"}))),
    );
    script.send(
        "create from YAML",
        Request::method("POST", maps)
            .content_type("application/yaml")
            .text("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: write-yaml\ndata:\n  a: \"1\"\n"),
    );
}

fn generated_names(script: &mut Script) {
    let mut generated = pod("");
    generated["metadata"] = json!({"generateName": "write-gen-"});
    script.send(
        "create with a generated name",
        Request::post(PODS, generated.clone()).capture("generated", "/metadata/name"),
    );
    script.send(
        "read the generated name",
        Request::get(format!("{PODS}/${{generated}}")),
    );
    generated["metadata"]["name"] = json!("write-named");
    script.send("create with a name and a prefix", Request::post(PODS, generated));
    let mut nameless = pod("");
    nameless["metadata"] = json!({});
    script.send("create without a name", Request::post(PODS, nameless));
}

/// Pods whose defaults and canonical forms are many.
fn rich_pods(script: &mut Script) {
    let resources = json!({"containers": [
        {"name": "c", "image": "image", "resources": {"requests": {"cpu": "1000m", "memory": "1024Mi"}, "limits": {"cpu": "1.5"}}},
        {"name": "d", "image": "host:5000/image:latest", "ports": [{"containerPort": 80, "hostPort": 8080}, {"containerPort": 81, "protocol": "UDP"}],
         "livenessProbe": {"httpGet": {"port": 80}}}],
        "initContainers": [{"name": "i", "image": "image@sha256:0123456789012345678901234567890123456789012345678901234567890123",
            "resources": {"limits": {"cpu": "100m", "memory": "0.5Gi", "ephemeral-storage": "1e3"}}}]});
    script.send(
        "create a pod with resources, ports and probes",
        Request::post(PODS, pod_with("write-rich", &resources)),
    );
    let placed = json!({
        "nodeSelector": {"zone": "z1"}, "priorityClassName": "system-node-critical",
        "tolerations": [{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}],
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"a": "b"}}}],
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z1"]}]}]}},
            "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "podAffinityTerm": {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}}}]}},
        "schedulingGates": [{"name": "example.com/gate"}]});
    script.send(
        "create a gated pod with constraints",
        Request::post(PODS, pod_with("write-gated", &placed)),
    );
    let term = json!({"topologyKey": "zone", "matchLabelKeys": ["hash", "absent"], "mismatchLabelKeys": ["tenant"],
        "labelSelector": {"matchLabels": {"a": "b"}}});
    let mut by_own_labels = pod_with(
        "write-own-labels",
        &json!({
            "affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]},
                "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term}]}},
            "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
                "matchLabelKeys": ["hash"], "labelSelector": {}}],
        }),
    );
    by_own_labels["metadata"]["labels"] = json!({"hash": "1", "tenant": "t"});
    script.send(
        "create a pod whose terms speak of its own labels",
        Request::post(PODS, by_own_labels),
    );
    let on_host = json!({"hostNetwork": true, "containers": [{"name": "c", "image": "image:1", "ports": [{"containerPort": 80}]}],
        "volumes": [{"name": "v"}, {"name": "w", "hostPath": {"path": "/x"}}, {"name": "x", "configMap": {"name": "m"}}],
        "overhead": {"cpu": "250m"}});
    script.send(
        "create a pod with overhead of no runtime class",
        Request::post(PODS, pod_with("write-host", &on_host)),
    );
    let mut without_overhead = on_host;
    without_overhead
        .as_object_mut()
        .into_iter()
        .for_each(|spec| drop(spec.remove("overhead")));
    script.send(
        "create a pod on the host's network",
        Request::post(PODS, pod_with("write-host", &without_overhead)),
    );
    let guaranteed = json!({"containers": [{"name": "c", "image": "image:1",
        "resources": {"limits": {"cpu": "1", "memory": "1Gi", "example.com/gpu": "2"}}}]});
    script.send(
        "create a guaranteed pod",
        Request::post(PODS, pod_with("write-guaranteed", &guaranteed)),
    );
    script.send(
        "create a pod of no priority class",
        Request::post(
            PODS,
            pod_with("write-b", &json!({"priorityClassName": "no-such-class"})),
        ),
    );
    script.send(
        "create a pod with its own priority",
        Request::post(PODS, pod_with("write-b", &json!({"priority": 7}))),
    );
}
