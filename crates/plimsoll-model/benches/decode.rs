//! What it costs to read a pod or node, and to keep the whole of it for extenders besides.
//!
//! Run it with `make bench-decode`.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use plimsoll_model::{Raw, decode_node, decode_pod};
use serde_json::{Value, json};

fn managed_fields() -> Value {
    let container = json!({ ".": {}, "f:image": {}, "f:name": {}, "f:resources": { ".": {}, "f:requests": { ".": {}, "f:cpu": {}, "f:memory": {} } } });
    let fields = json!({ "f:metadata": { "f:labels": { ".": {}, "f:app": {}, "f:pod-template-hash": {} }, "f:ownerReferences": { ".": {}, "k:{\"uid\":\"u\"}": {} } },
        "f:spec": { "f:containers": { "k:{\"name\":\"a\"}": container, "k:{\"name\":\"b\"}": container }, "f:dnsPolicy": {}, "f:restartPolicy": {} } });
    let entry = |manager: &str| json!({ "manager": manager, "operation": "Update", "apiVersion": "v1", "time": "2026-01-02T03:04:05Z", "fieldsType": "FieldsV1", "fieldsV1": fields });
    json!([entry("kube-controller-manager"), entry("kubelet")])
}

fn pod() -> Vec<u8> {
    let env: Vec<Value> = (0..20)
        .map(|number| json!({ "name": format!("SETTING_{number}"), "value": format!("value number {number}") }))
        .collect();
    let container = |name: &str| {
        json!({ "name": name, "image": format!("registry.example/team/{name}:1.2.3"), "env": env,
            "args": ["--verbose", "--listen=:8080"], "ports": [{ "containerPort": 8080, "protocol": "TCP" }],
            "resources": { "requests": { "cpu": "250m", "memory": "512Mi" }, "limits": { "memory": "1Gi" } },
            "livenessProbe": { "httpGet": { "path": "/live", "port": 8080, "scheme": "HTTP" }, "timeoutSeconds": 1, "periodSeconds": 10 },
            "volumeMounts": [{ "name": "token", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": true }],
            "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File", "imagePullPolicy": "IfNotPresent" })
    };
    let pod = json!({
        "kind": "Pod", "apiVersion": "v1",
        "metadata": { "name": "web-7d9f-abcde", "namespace": "shop", "uid": "0a1b2c3d-0000-1111-2222-333344445555",
            "resourceVersion": "123456", "generation": 1, "creationTimestamp": "2026-01-02T03:04:05Z",
            "labels": { "app": "web", "pod-template-hash": "7d9f" }, "annotations": { "example.com/checksum": "0123456789abcdef" },
            "managedFields": managed_fields() },
        "spec": { "containers": [container("a"), container("b")], "schedulerName": "default-scheduler", "priority": 0,
            "dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "securityContext": {},
            "volumes": [{ "name": "token", "projected": { "defaultMode": 420, "sources": [{ "serviceAccountToken": { "expirationSeconds": 3607, "path": "token" } }] } }],
            "tolerations": [{ "key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300 }] },
        "status": { "phase": "Pending", "qosClass": "Burstable" },
    });
    pod.to_string().into_bytes()
}

fn node() -> Vec<u8> {
    let images: Vec<Value> = (0..50)
        .map(|number| json!({ "names": [format!("registry.example/image-{number}@sha256:{number:064}"), format!("registry.example/image-{number}:1.0")], "sizeBytes": 50_000_000 + number }))
        .collect();
    let amounts = json!({ "cpu": "16", "memory": "64Gi", "pods": "110", "ephemeral-storage": "100Gi" });
    let condition = |kind: &str| json!({ "type": kind, "status": "False", "lastHeartbeatTime": "2026-01-02T03:04:05Z", "lastTransitionTime": "2026-01-02T03:04:05Z", "reason": "KubeletHasNo", "message": "kubelet has enough" });
    let node = json!({
        "kind": "Node", "apiVersion": "v1",
        "metadata": { "name": "node-17", "uid": "0a1b2c3d-0000-1111-2222-333344445555", "resourceVersion": "123456",
            "labels": { "kubernetes.io/hostname": "node-17", "topology.kubernetes.io/zone": "a", "kubernetes.io/os": "linux" },
            "annotations": { "node.alpha.kubernetes.io/ttl": "0" }, "managedFields": managed_fields() },
        "spec": { "podCIDR": "10.1.17.0/24" },
        "status": { "allocatable": amounts, "capacity": amounts, "images": images,
            "conditions": [condition("MemoryPressure"), condition("DiskPressure"), condition("PIDPressure"), condition("Ready")] },
    });
    node.to_string().into_bytes()
}

fn decode(criterion: &mut Criterion) {
    let (pod, node) = (pod(), node());
    let mut group = criterion.benchmark_group("decode");
    group.throughput(Throughput::Bytes(pod.len() as u64));
    group.bench_function("pod", |bench| bench.iter(|| decode_pod(black_box(&pod))));
    group.bench_function("pod, kept whole", |bench| {
        bench.iter(|| (decode_pod(black_box(&pod)), Raw::of_object(black_box(&pod))));
    });
    group.throughput(Throughput::Bytes(node.len() as u64));
    group.bench_function("node", |bench| bench.iter(|| decode_node(black_box(&node))));
    group.bench_function("node, kept whole", |bench| {
        bench.iter(|| (decode_node(black_box(&node)), Raw::of_object(black_box(&node))));
    });
    group.finish();
}

criterion_group!(benches, decode);
criterion_main!(benches);
