//! The program with `--policy-configmap`, against an API server in memory: pods are placed by the Policy in it.

#![expect(clippy::unwrap_used, reason = "a test may fail in its helpers too")]

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_apiserver::{ApiServer, Config, Resource, Serving, Tls, resource};
use serde_json::{Value, json};
use tokio::process::{Child, Command};

/// Pods go to nodes that say how much they are rated for, whatever they say.
const POLICY: &str = r#"{"kind": "Policy", "apiVersion": "v1",
    "predicates": [
        {"name": "PodFitsResources"},
        {"name": "Rated", "argument": {"labelsPresence": {"labels": ["rated"], "presence": true}}}
    ],
    "priorities": []}"#;

fn kind(name: &str) -> &'static Resource {
    resource::find("", "v1", name).unwrap()
}

/// A server with four nodes, one of which is rated, and small.
async fn cluster() -> (ApiServer, Serving) {
    let server = ApiServer::new(Config::default());
    for (name, labels, cpu) in [
        ("rated", json!({"rated": "maybe"}), "1"),
        ("a", json!({}), "8"),
        ("b", json!({}), "8"),
        ("c", json!({}), "8"),
    ] {
        let room = json!({"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110"}});
        let node = json!({"metadata": {"name": name, "labels": labels}, "status": room});
        server.create(kind("nodes"), "", node).unwrap();
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let serving = server.serve(listener, Tls::Off).unwrap();
    (server, serving)
}

fn config_map(data: &Value) -> Value {
    json!({"metadata": {"name": "scheduler-policy"}, "data": data})
}

fn start(serving: &Serving) -> Child {
    Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .arg(format!("--master={}", serving.url()))
        .args([
            "--policy-configmap=scheduler-policy",
            "--leader-elect=false",
            "--secure-port=0",
        ])
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

fn add_pod(server: &ApiServer, name: &str, cpu: &str) {
    let container = json!({"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}});
    let pod = json!({"metadata": {"name": name}, "spec": {"containers": [container]}});
    server.create(kind("pods"), "default", pod).unwrap();
}

/// What becomes of a pod: the node it is bound to, or why it is not placed.
async fn fate(server: &ApiServer, name: &str) -> String {
    let decided = |pod: &Arc<Value>| {
        let conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let unplaced = conditions
            .iter()
            .find(|condition| condition["reason"] == "Unschedulable");
        let said = pod["spec"]["nodeName"]
            .as_str()
            .or_else(|| unplaced?["message"].as_str());
        said.map(str::to_owned)
    };
    let waiting = async {
        loop {
            let pod = server.get(kind("pods"), "default", name).unwrap();
            if let Some(fate) = decided(&pod) {
                return fate;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), waiting).await.unwrap()
}

#[tokio::test]
async fn pods_are_placed_by_a_policy_in_a_config_map_that_is_read_once() {
    let (server, serving) = cluster().await;
    let (maps, namespace) = (kind("configmaps"), "kube-system");
    let policy = config_map(&json!({"policy.cfg": POLICY}));
    server.create(maps, namespace, policy).unwrap();
    let _running = start(&serving);
    add_pod(&server, "small", "500m");
    assert_eq!(fate(&server, "small").await, "rated");
    let refused = "0/4 nodes are available: 1 Insufficient cpu, 3 node(s) didn't have the requested labels.";
    add_pod(&server, "big", "4");
    let said = fate(&server, "big").await;
    assert!(said.starts_with(refused), "{said}");

    // Another Policy counts from the next start on.
    let any_node = POLICY.replace(r#""presence": true"#, r#""presence": false"#);
    let policy = config_map(&json!({"policy.cfg": any_node}));
    server.update(maps, namespace, policy).unwrap();
    add_pod(&server, "later", "4");
    let said = fate(&server, "later").await;
    assert!(said.starts_with(refused), "{said}");
    serving.shutdown().await;
}

#[tokio::test]
async fn a_config_map_without_a_policy_ends_the_start_with_code_1() {
    let (server, serving) = cluster().await;
    let (maps, namespace) = (kind("configmaps"), "kube-system");
    let refusal = async || {
        let ended = start(&serving).wait_with_output();
        let output = tokio::time::timeout(Duration::from_mins(1), ended)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    let expected =
        "error: couldn't get policy config map kube-system/scheduler-policy: configmaps \"scheduler-policy\" not found";
    let said = refusal().await;
    assert!(said.contains(expected), "{said}");
    let cases = [
        (
            json!({"other.cfg": POLICY}),
            "error: missing policy config map value at key \"policy.cfg\"\n",
        ),
        (
            json!({"policy.cfg": ""}),
            "error: invalid policy: Object 'Kind' is missing\n",
        ),
        (
            json!({"policy.cfg": POLICY.replace("PodFitsResources", "Nobody")}),
            "error: Invalid predicate name \"Nobody\" specified - no corresponding function found\n",
        ),
    ];
    for (data, expected) in cases {
        // There is none to be deleted the first time.
        let _ = server.delete(maps, namespace, "scheduler-policy");
        server.create(maps, namespace, config_map(&data)).unwrap();
        let said = refusal().await;
        assert!(said.contains(expected), "{data}: {said}");
    }
    serving.shutdown().await;
}
