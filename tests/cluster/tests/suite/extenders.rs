//! Extenders are sent what kube-scheduler sends them.

use std::time::Duration;

use k8s_openapi::api::scheduling::v1::PriorityClass;
use kube::api::{Patch, PatchParams};
use plimsoll_cluster::extender_recorder::{ExtenderCall, ExtenderRecorder, ensure_same, json_differences};
use plimsoll_cluster::fixtures::node;
use plimsoll_cluster::{Cluster, PodFacts, Scheduler, suite};
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_secs(40);

/// What each extender is asked about two pods: one that can be placed, and one for which somebody has to go.
const CALLS: &[(&str, &str, &str)] = &[
    ("whole", "filter", "scored"),
    ("names", "filter", "scored"),
    ("whole", "prioritize", "scored"),
    ("names", "prioritize", "scored"),
    ("whole", "bind", "scored"),
    ("whole", "preempt", "crowded"),
    ("names", "preempt", "crowded"),
];

fn config(url: &str) -> String {
    format!(
        "apiVersion: kubescheduler.config.k8s.io/v1\n\
         kind: KubeSchedulerConfiguration\n\
         leaderElection:\n  leaderElect: false\n\
         clientConnection:\n  kubeconfig: KUBECONFIG\n  qps: 5000\n  burst: 5000\n\
         extenders:\n\
         - urlPrefix: {url}/whole\n  filterVerb: filter\n  prioritizeVerb: prioritize\n  weight: 1\n  \
           preemptVerb: preempt\n  bindVerb: bind\n\
         - urlPrefix: {url}/names/\n  filterVerb: filter\n  prioritizeVerb: prioritize\n  weight: 2\n  \
           preemptVerb: preempt\n  nodeCacheCapable: true\n"
    )
}

/// A container that uses about everything that schedulers do not look at.
fn container(cpu: &str) -> Value {
    json!({
        "name": "main", "image": "registry.example/main@sha256:0123", "command": ["/bin/sh", "-c"],
        "args": ["exec sleep \"$TIME\" # <&> \u{2028} ünïcödé"], "workingDir": "/srv",
        "env": [
            { "name": "TIME", "value": "10" },
            { "name": "NODE", "valueFrom": { "fieldRef": { "fieldPath": "spec.nodeName" } } },
            { "name": "SECRET", "valueFrom": { "secretKeyRef": { "name": "s", "key": "k", "optional": true } } },
        ],
        "envFrom": [{ "prefix": "P_", "configMapRef": { "name": "cm" } }],
        "ports": [{ "name": "web", "containerPort": 80 }],
        "resources": {
            "requests": { "cpu": cpu, "memory": "104857600" },
            "limits": { "memory": "128Mi" },
        },
        "livenessProbe": { "httpGet": { "path": "/live", "port": "web" }, "periodSeconds": 3 },
        "readinessProbe": { "exec": { "command": ["true"] } },
        "lifecycle": { "preStop": { "sleep": { "seconds": 2 } } },
        "securityContext": { "runAsUser": 1000, "capabilities": { "drop": ["ALL"] }, "seccompProfile": { "type": "RuntimeDefault" } },
        "volumeMounts": [{ "name": "tmp", "mountPath": "/tmp", "subPath": "x" }],
        "resizePolicy": [{ "resourceName": "cpu", "restartPolicy": "NotRequired" }],
        "terminationMessagePolicy": "FallbackToLogsOnError",
    })
}

fn rich(name: &str, cpu: &str, more: Value) -> Value {
    let mut spec = json!({
        "containers": [container(cpu)],
        "initContainers": [{ "name": "side", "image": "side", "restartPolicy": "Always", "startupProbe": { "tcpSocket": { "port": 1 } } }],
        "volumes": [
            { "name": "tmp", "emptyDir": { "medium": "Memory", "sizeLimit": "1Mi" } },
            { "name": "cm", "configMap": { "name": "cm", "items": [{ "key": "k", "path": "p", "mode": 256 }] } },
            { "name": "all", "projected": { "sources": [{ "downwardAPI": { "items": [
                { "path": "l", "fieldRef": { "fieldPath": "metadata.labels" } }] } }] } },
            { "name": "own", "emptyDir": {} },
        ],
        "affinity": {
            "nodeAffinity": { "preferredDuringSchedulingIgnoredDuringExecution": [
                { "weight": 3, "preference": { "matchExpressions": [{ "key": "disk", "operator": "Exists" }] } }] },
            "podAntiAffinity": { "preferredDuringSchedulingIgnoredDuringExecution": [
                { "weight": 1, "podAffinityTerm": { "topologyKey": "kubernetes.io/hostname",
                    "labelSelector": { "matchLabels": { "app": "x" } }, "matchLabelKeys": ["rev"] } }] },
        },
        "topologySpreadConstraints": [{ "maxSkew": 1, "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": { "matchLabels": { "app": "x" } } }],
        "tolerations": [{ "key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 7 }],
        "hostAliases": [{ "ip": "127.0.0.1", "hostnames": ["h"] }],
        "dnsConfig": { "nameservers": ["192.0.2.1"], "options": [{ "name": "ndots", "value": "2" }, { "name": "edns0" }] },
        "readinessGates": [{ "conditionType": "example.com/gate" }],
        "securityContext": { "fsGroup": 5, "sysctls": [{ "name": "net.ipv4.ip_unprivileged_port_start", "value": "0" }] },
        "os": { "name": "linux" }, "nodeSelector": { "kubernetes.io/os": "linux" }, "subdomain": "sub", "hostname": "h",
        "terminationGracePeriodSeconds": 5, "automountServiceAccountToken": false, "enableServiceLinks": false,
        "imagePullSecrets": [{ "name": "p" }], "shareProcessNamespace": true, "setHostnameAsFQDN": false,
    });
    if let (Value::Object(spec), Value::Object(more)) = (&mut spec, more) {
        spec.extend(more);
    }
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "labels": { "app": "x", "rev": "1" },
            "annotations": { "example.com/json": "{\"a\":\"<b>\"}", "empty": "" },
            "finalizers": ["example.com/keep-not"],
            "ownerReferences": [{ "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u-1", "controller": true,
                "blockOwnerDeletion": true }],
        },
        "spec": spec,
    })
}

/// Two nodes and on each a running pod of low priority, then the two pods that are asked about, all as full of details as the
/// API server lets them be.
async fn fill(cluster: &Cluster<'_>) -> anyhow::Result<()> {
    let class = json!({ "metadata": { "name": "high" }, "value": 1000 });
    cluster.create::<PriorityClass>(class).await?;
    let nodes = ["n1", "n2"].map(|name| {
        node(name)
            .cpu("4")
            .label("kubernetes.io/os", "linux")
            .label("disk", "ssd")
    });
    cluster.create_nodes(nodes).await?;
    for name in ["n1", "n2"] {
        let node = json!({
            "metadata": { "annotations": { "example.com/rack": "7", "volumes.kubernetes.io/controller-managed-attach-detach": "true" } },
            "spec": { "podCIDR": "10.1.0.0/24", "providerID": format!("x:///{name}"),
                "taints": [{ "key": "soft", "effect": "PreferNoSchedule" }] },
        });
        cluster.patch_node(name, node).await?;
        let status = json!({ "status": {
            "addresses": [{ "type": "InternalIP", "address": "192.0.2.7" }],
            "images": [{ "names": ["registry.example/main:1", "registry.example/main@sha256:0123"], "sizeBytes": 70_000_000_000_i64 }],
            "nodeInfo": { "architecture": "amd64", "bootID": "b", "containerRuntimeVersion": "c://1", "kernelVersion": "6",
                "kubeProxyVersion": "", "kubeletVersion": "v1.36.3", "machineID": "m", "operatingSystem": "linux", "osImage": "o",
                "systemUUID": "s" },
            "volumesInUse": ["kubernetes.io/csi/d^v"],
            "daemonEndpoints": { "kubeletEndpoint": { "Port": 10250 } },
        } });
        let nodes = cluster.nodes();
        nodes
            .patch_status(name, &PatchParams::default(), &Patch::Merge(&status))
            .await?;
        let victim = format!("low-{name}");
        cluster
            .create_in_namespace::<k8s_openapi::api::core::v1::Pod>(rich(&victim, "2.0", json!({ "nodeName": name })))
            .await?;
        let status = json!({ "status": {
            "phase": "Running", "qosClass": "Burstable", "podIP": "10.1.0.9", "podIPs": [{ "ip": "10.1.0.9" }], "hostIP": "192.0.2.7",
            "startTime": "2026-01-02T03:04:05Z",
            "conditions": [{ "type": "Ready", "status": "True", "lastProbeTime": null, "lastTransitionTime": "2026-01-02T03:04:06Z" }],
            "containerStatuses": [{ "name": "main", "image": "i", "imageID": "id", "ready": true, "started": true, "restartCount": 3,
                "state": { "running": { "startedAt": "2026-01-02T03:04:06Z" } },
                "lastState": { "terminated": { "exitCode": 1, "reason": "Error", "finishedAt": null, "startedAt": null } },
                "allocatedResources": { "cpu": "100m" } }],
        } });
        let pods = cluster.pods();
        pods.patch_status(&victim, &PatchParams::default(), &Patch::Strategic(&status))
            .await?;
    }
    for (name, cpu) in [("scored", "0.1"), ("crowded", "3")] {
        let pod = rich(name, cpu, json!({ "priorityClassName": "high" }));
        cluster
            .create_in_namespace::<k8s_openapi::api::core::v1::Pod>(pod)
            .await?;
        let extra = json!({ "spec": { "ephemeralContainers": [{ "name": "debug", "image": "d", "targetContainerName": "main" }] } });
        let pods = cluster.pods();
        pods.patch_subresource(
            "ephemeralcontainers",
            name,
            &PatchParams::default(),
            &Patch::Strategic(&extra),
        )
        .await?;
        let status = json!({ "status": { "conditions": [
            { "type": "example.com/gate", "status": "False", "message": "m", "lastProbeTime": "2026-01-02T03:04:05Z" }] } });
        pods.patch_status(name, &PatchParams::default(), &Patch::Strategic(&status))
            .await?;
    }
    Ok(())
}

/// Lets a scheduler try both pods, and returns what it sent. It is gone afterwards.
async fn asked_by(
    cluster: &mut Cluster<'_>,
    scheduler: Scheduler,
    recorder: &ExtenderRecorder,
) -> anyhow::Result<Vec<ExtenderCall>> {
    recorder.take();
    let file = cluster.start_configured_as(scheduler, &config(&recorder.url()))?;
    let asked = recorder.first_of_each(CALLS, LIMIT).await;
    let explained = |state: &plimsoll_cluster::State| {
        let why = |name| state.pod(name).and_then(PodFacts::why_pending).map(drop);
        why("scored").and_then(|()| why("crowded"))
    };
    cluster
        .history()
        .until("both pods are explained", LIMIT, explained)
        .await?;
    let replica = cluster.replicas().last_mut();
    if let Some(replica) = replica {
        replica.terminate().await?;
    }
    drop(file);
    asked
}

/// Nodes come in an order of the scheduler's own, beginning somewhere else each time, and of equally good ones chance
/// chooses where to bind.
fn with_nodes_by_name(mut call: ExtenderCall) -> ExtenderCall {
    if let Some(node) = call.body.get_mut("Node").filter(|node| *node == "n1" || *node == "n2") {
        *node = "n1 or n2".into();
    }
    if let Some(nodes) = call.body.pointer_mut("/Nodes/items").and_then(Value::as_array_mut) {
        nodes.sort_by_key(|node| node["metadata"]["name"].to_string());
    }
    if let Some(names) = call.body.get_mut("NodeNames").and_then(Value::as_array_mut) {
        names.sort_by_key(Value::to_string);
    }
    call
}

/// What kube-scheduler sends and Plimsoll, on purpose, does not: who has written which field of a node.
fn is_meant(difference: &str) -> bool {
    difference.contains("/Nodes/items/")
        && difference.contains("/metadata/managedFields: [")
        && difference.ends_with("| absent")
}

#[test]
fn extenders_are_sent_what_kube_scheduler_sends_them() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        if cluster.control_plane().programs().path("kube-scheduler").is_none() {
            suite::say("*** no kube-scheduler on this machine: nothing to compare with ***");
            return Ok(());
        }
        fill(cluster).await?;
        let recorder = ExtenderRecorder::start().await?;
        // The first attempt writes why the pods are pending. From then on they stay as they are.
        asked_by(cluster, Scheduler::KubeScheduler, &recorder).await?;
        let theirs = asked_by(cluster, Scheduler::KubeScheduler, &recorder).await?;
        let ours = asked_by(cluster, Scheduler::under_test(), &recorder).await?;
        let mut differences = Vec::new();
        for (theirs, ours) in theirs.into_iter().zip(ours) {
            let (theirs, ours) = (with_nodes_by_name(theirs), with_nodes_by_name(ours));
            let what = format!("{}/{}", theirs.extender, theirs.verb);
            assert_eq!((&theirs.how, theirs.pod()), (&ours.how, ours.pod()), "{what}");
            differences.extend(json_differences(&what, &theirs.body, &ours.body));
        }
        let of_nodes = differences.iter().filter(|difference| is_meant(difference)).count();
        differences.retain(|difference| !is_meant(difference));
        ensure_same(&differences)?;
        if Scheduler::under_test() == Scheduler::Plimsoll {
            assert!(of_nodes > 0, "kube-scheduler sends what is listed as sent by it alone");
        }
        Ok(())
    })
}
