use std::sync::Arc;

use plimsoll_config::ExtenderConfig;
use plimsoll_extender::{Gate, HttpExtenders};
use plimsoll_extender_tests::PythonExtender;
use plimsoll_framework::{Extender, ExtenderAnswer, ExtenderCall, ExtenderNodes, ExtenderRequest, ExtenderVictims};
use plimsoll_model::{Node, Pod, Raw, testing};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::{ask, config, extender, filter, pod, started};

fn node(name: &str, size: usize) -> Arc<Node> {
    let json = json!({ "metadata": { "name": name, "annotations": { "a": "x".repeat(size) } } });
    Arc::new(Node {
        raw: Some(Raw::of_object(json.to_string().as_bytes()).unwrap()),
        ..testing::node(name).build()
    })
}

fn passing(answer: &Result<ExtenderAnswer, String>) -> Vec<String> {
    match answer {
        Ok(ExtenderAnswer::Filtered { nodes, .. }) => nodes.iter().map(ToString::to_string).collect(),
        other => unreachable!("{other:?}"),
    }
}

fn requests(python: &PythonExtender) -> Vec<Value> {
    python.report().unwrap()["requests"].as_array().unwrap().clone()
}

fn body(request: &Value) -> Value {
    serde_json::from_str(request["body"].as_str().unwrap()).unwrap()
}

#[tokio::test]
async fn a_call_is_http_1_1_and_asks_for_no_compression() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serving = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.ends_with(br#""NodeNames":["a"]}"#) {
            let read = stream.read_buf(&mut request).await.unwrap();
            assert!(read > 0, "{}", String::from_utf8_lossy(&request));
        }
        let answer = br#"{"NodeNames":["a"]}"#;
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", answer.len());
        stream.write_all(&[head.as_bytes(), answer].concat()).await.unwrap();
        String::from_utf8(request).unwrap().to_lowercase()
    };
    let (extenders, extender) = (HttpExtenders::default(), extender(&url));
    let (answer, request) = tokio::join!(ask(&extenders, &extender, filter(&["a"])), serving);
    assert_eq!(passing(&answer), ["a"]);
    assert!(request.starts_with("post /filter http/1.1\r\n"), "{request}");
    assert!(!request.contains("encoding"), "{request}");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_verb_is_called_in_the_protocol_of_kube_scheduler() {
    let Some(python) = started() else { return };
    let rules = json!({
        "reject": { "b": "too warm" }, "never": { "c": "too far" }, "scores": { "a": 7 }, "spare": ["uid-v"],
    });
    python.rules(&rules).unwrap();
    let (extenders, extender) = (HttpExtenders::default(), extender(&python.url()));

    let answer = ask(&extenders, &extender, filter(&["a", "b", "c", "d"])).await;
    let expected = ExtenderAnswer::Filtered {
        nodes: vec!["a".into(), "d".into()],
        failed: vec![("b".into(), "too warm".into())],
        unresolvable: vec![("c".into(), "too far".into())],
    };
    assert_eq!(answer, Ok(expected));

    let nodes = ExtenderNodes::Names(vec!["a".into(), "b".into()]);
    let call = ExtenderCall::Prioritize { pod: pod("p"), nodes };
    let answer = ask(&extenders, &extender, call).await;
    assert_eq!(
        answer,
        Ok(ExtenderAnswer::Prioritized(vec![("a".into(), 7), ("b".into(), 0)]))
    );

    let victim = |name: &str| {
        let plain = Pod::clone(&pod(name));
        Arc::new(Pod {
            uid: plimsoll_model::Uid::new(format!("uid-{name}")),
            ..plain
        })
    };
    let candidates = vec![ExtenderVictims {
        node: "a".into(),
        pods: vec![victim("v"), victim("w")],
        violations: 1,
    }];
    let call = ExtenderCall::Preempt {
        pod: pod("p"),
        candidates,
    };
    let whole = Arc::new(Extender::new(ExtenderConfig {
        node_cache_capable: false,
        ..config(&python.url())
    }));
    for extender in [&extender, &whole] {
        let Ok(ExtenderAnswer::Preempted(choices)) = ask(&extenders, extender, call.clone()).await else {
            unreachable!("no choice");
        };
        assert_eq!(choices.len(), 1);
        let pods: Vec<_> = choices[0].pods.iter().map(plimsoll_model::Uid::as_str).collect();
        assert_eq!(
            (choices[0].node.as_str(), pods, choices[0].violations),
            ("a", vec!["uid-w"], 1)
        );
    }

    let sent = requests(&python);
    let first = &sent[0];
    assert_eq!((&first["verb"], &first["method"]), (&json!("filter"), &json!("POST")));
    assert_eq!(first["headers"]["content-type"], "application/json");
    let as_json = json!({ "metadata": { "name": "p", "uid": "uid-p" }, "spec": { "unknown": "field" } });
    let expected = json!({ "Pod": as_json, "Nodes": null, "NodeNames": ["a", "b", "c", "d"] });
    assert_eq!(body(first), expected);
    assert_eq!(
        body(&sent[2])["NodeNameToMetaVictims"],
        json!({ "a": { "Pods": [{ "UID": "uid-v" }, { "UID": "uid-w" }], "NumPDBViolations": 1 } })
    );
    assert_eq!(
        body(&sent[3])["NodeNameToVictims"]["a"]["Pods"][1]["metadata"]["name"],
        "w"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_go_whole_to_an_extender_that_does_not_know_them() {
    let Some(python) = started() else { return };
    python.rules(&json!({ "reject": { "n1": "no" } })).unwrap();
    let extender = Arc::new(Extender::new(ExtenderConfig {
        node_cache_capable: false,
        ..config(&python.url())
    }));
    // Twelve megabytes: more than any buffer in between.
    let nodes: Vec<_> = (0..1000).map(|index| node(&format!("n{index}"), 12_000)).collect();
    let call = ExtenderCall::Filter {
        pod: pod("p"),
        nodes: ExtenderNodes::Objects(nodes),
    };
    let answer = ask(&HttpExtenders::default(), &extender, call).await;
    let names = passing(&answer);
    assert_eq!((names.len(), names[1].as_str()), (999, "n2"));
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_share_a_connection_and_go_side_by_side() {
    let Some(python) = started() else { return };
    let (extenders, extender) = (HttpExtenders::default(), extender(&python.url()));
    let connections = || python.report().unwrap()["connections"].as_u64().unwrap();
    let before = connections();
    for _ in 0..20 {
        assert_eq!(passing(&ask(&extenders, &extender, filter(&["a"])).await), ["a"]);
    }
    // One of this report, and hardly more than one of the calls: a connection takes a moment until it can be used again.
    let opened = connections() - before;
    assert!((2..=8).contains(&opened), "{opened} connections");

    python.script("filter", &["late:2", "late:2", "late:2"]).unwrap();
    let requests: Vec<_> = ["a", "b", "c"]
        .iter()
        .map(|name| ExtenderRequest {
            extender: Arc::clone(&extender),
            call: filter(&[name]),
        })
        .collect();
    let together = tokio::time::timeout(std::time::Duration::from_secs(5), extenders.perform(requests));
    let answers: Vec<_> = together.await.unwrap().iter().map(passing).collect();
    assert_eq!(answers, [["a"], ["b"], ["c"]], "in the order of the calls");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_is_bound_only_while_the_gate_is_open() {
    let Some(python) = started() else { return };
    let extenders = HttpExtenders::default();
    let node = "n".into();
    let bind = vec![ExtenderRequest {
        extender: extender(&python.url()),
        call: ExtenderCall::Bind { pod: pod("p"), node },
    }];
    python
        .script("bind", &["body:{}", "body:{\"error\":\"full\"}"])
        .unwrap();
    let open = Gate::new(|| true);
    let answers = extenders.perform_while(bind.clone(), open.clone()).await;
    assert_eq!(answers, [Ok(ExtenderAnswer::Bound)]);
    let answers = extenders.perform_while(bind.clone(), open).await;
    assert_eq!(answers, [Ok(ExtenderAnswer::NotBound("full".to_owned()))]);
    let answers = extenders.perform_while(bind, Gate::new(|| false)).await;
    let url = python.url();
    let text = format!("Post \"{url}/bind\": the request may no longer be sent");
    assert_eq!(answers, [Ok(ExtenderAnswer::NotBound(text))]);
    assert_eq!(
        python.report().unwrap()["calls"]["bind"],
        2,
        "it knows nothing of the third"
    );
    let sent = body(&requests(&python)[0]);
    assert_eq!((&sent["PodName"], &sent["Node"]), (&json!("p"), &json!("n")));
}
