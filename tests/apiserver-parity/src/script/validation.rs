//! What is refused with 422.

use serde_json::{Value, json};

use super::PODS;
use super::objects::{labelled, node, pod, pod_with};
use crate::step::{Request, Script};

pub(super) fn add(script: &mut Script) {
    let mut refuse = |name: &str, object: Value| script.send(format!("invalid: {name}"), Request::post(PODS, object));
    names_and_containers(&mut refuse);
    resources_and_ports(&mut refuse);
    placement(&mut refuse);
    affinity(&mut refuse);
    other_kinds(script);
}

/// Sends a pod that must be refused, under a name.
type Refuse<'a> = dyn FnMut(&str, Value) + 'a;

fn names_and_containers(refuse: &mut Refuse<'_>) {
    refuse("name", pod("Not_A_Name"));
    refuse("a long name", pod(&"a".repeat(254)));
    refuse("no containers", pod_with("invalid", &json!({"containers": []})));
    refuse(
        "a nameless container",
        pod_with("invalid", &json!({"containers": [{"image": "i"}]})),
    );
    refuse("no image", pod_with("invalid", &json!({"containers": [{"name": "c"}]})));
    refuse(
        "containers of one name",
        pod_with(
            "invalid",
            &json!({"containers": [{"name": "c", "image": "i"}, {"name": "c", "image": "i"}]}),
        ),
    );
    refuse(
        "a container's name",
        pod_with("invalid", &json!({"containers": [{"name": "C c", "image": "i"}]})),
    );
    refuse("a label key", labelled("invalid", &json!({"a b": "c"})));
    refuse("a label value", labelled("invalid", &json!({"a": "b c"})));
}

fn resources_and_ports(refuse: &mut Refuse<'_>) {
    let resources = |resources: Value| {
        pod_with(
            "invalid",
            &json!({"containers": [{"name": "c", "image": "i", "resources": resources}]}),
        )
    };
    refuse(
        "a request beyond its limit",
        resources(json!({"requests": {"cpu": "2"}, "limits": {"cpu": "1"}})),
    );
    refuse("a negative request", resources(json!({"requests": {"cpu": "-1"}})));
    refuse("an unknown resource", resources(json!({"requests": {"gpu": "1"}})));
    refuse(
        "an extended resource without limit",
        resources(json!({"requests": {"example.com/gpu": "1"}})),
    );
    refuse(
        "half an extended resource",
        resources(json!({"requests": {"example.com/gpu": "500m"}, "limits": {"example.com/gpu": "500m"}})),
    );
    refuse(
        "a quantity that is none",
        resources(json!({"requests": {"cpu": "lots"}})),
    );
    let ports = |ports: Value| {
        pod_with(
            "invalid",
            &json!({"containers": [{"name": "c", "image": "i", "ports": ports}]}),
        )
    };
    refuse("a port out of range", ports(json!([{"containerPort": 70000}])));
    refuse(
        "a host port twice",
        ports(json!([{"containerPort": 1, "hostPort": 80}, {"containerPort": 2, "hostPort": 80}])),
    );
    refuse("a protocol", ports(json!([{"containerPort": 1, "protocol": "ICMP"}])));
}

fn placement(refuse: &mut Refuse<'_>) {
    refuse(
        "a restart policy",
        pod_with("invalid", &json!({"restartPolicy": "Sometimes"})),
    );
    refuse("a DNS policy", pod_with("invalid", &json!({"dnsPolicy": "Guess"})));
    refuse(
        "a node selector",
        pod_with("invalid", &json!({"nodeSelector": {"a": "b c"}})),
    );
    refuse("a node name", pod_with("invalid", &json!({"nodeName": "Not_A_Node"})));
    refuse(
        "a node for a gated pod",
        pod_with("invalid", &json!({"nodeName": "n", "schedulingGates": [{"name": "a"}]})),
    );
    refuse(
        "a gate twice",
        pod_with("invalid", &json!({"schedulingGates": [{"name": "a"}, {"name": "a"}]})),
    );
    let toleration = |toleration: Value| pod_with("invalid", &json!({"tolerations": [toleration]}));
    refuse(
        "a toleration without a key",
        toleration(json!({"operator": "Equal", "value": "a"})),
    );
    refuse(
        "a toleration's operator",
        toleration(json!({"key": "a", "operator": "Maybe"})),
    );
    refuse(
        "a toleration of a value that exists",
        toleration(json!({"key": "a", "operator": "Exists", "value": "b"})),
    );
    refuse(
        "a toleration's effect",
        toleration(json!({"key": "a", "operator": "Exists", "effect": "Never"})),
    );
    refuse(
        "a toleration's seconds",
        toleration(json!({"key": "a", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 1})),
    );
    refuse(
        "a numeric toleration",
        toleration(json!({"key": "a", "operator": "Gt", "value": "1"})),
    );
}

fn affinity(refuse: &mut Refuse<'_>) {
    let terms = |terms: Value| {
        pod_with(
            "invalid",
            &json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}}),
        )
    };
    refuse("no node selector terms", terms(json!([])));
    refuse(
        "a node operator",
        terms(json!([{"matchExpressions": [{"key": "a", "operator": "Near"}]}])),
    );
    refuse(
        "a node operator without values",
        terms(json!([{"matchExpressions": [{"key": "a", "operator": "In"}]}])),
    );
    refuse(
        "a node field",
        terms(json!([{"matchFields": [{"key": "metadata.uid", "operator": "In", "values": ["a"]}]}])),
    );
    refuse(
        "a pod affinity without a topology",
        pod_with(
            "invalid",
            &json!({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"labelSelector": {}}]}}}),
        ),
    );
    let spread = |constraint: Value| pod_with("invalid", &json!({"topologySpreadConstraints": [constraint]}));
    refuse(
        "a skew of nothing",
        spread(json!({"maxSkew": 0, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"})),
    );
    refuse(
        "a spread's action",
        spread(json!({"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "Shrug"})),
    );
    refuse(
        "a preemption policy",
        pod_with("invalid", &json!({"preemptionPolicy": "Maybe"})),
    );
    refuse(
        "volumes of one name",
        pod_with("invalid", &json!({"volumes": [{"name": "v"}, {"name": "v"}]})),
    );
}

fn other_kinds(script: &mut Script) {
    let mut tainted = node("parity-invalid");
    tainted["spec"] = json!({"taints": [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule"}]});
    script.send("invalid: a taint twice", Request::post("/api/v1/nodes", tainted));
    let class = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "parity-high"}, "value": 2_000_000_000});
    script.send(
        "invalid: a priority too high",
        Request::post("/apis/scheduling.k8s.io/v1/priorityclasses", class),
    );
    script.send(
        "invalid: a namespace's name",
        Request::post("/api/v1/namespaces", super::objects::namespace("a.b")),
    );
}
