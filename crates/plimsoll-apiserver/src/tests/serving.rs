//! The server through real clients: kube in process, and kube over TCP with TLS.

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::{
    api::core::v1::{Binding, Node, Pod},
    apimachinery::pkg::apis::meta::v1::Status,
};
use kube::{
    Api, Client, Config as ClientConfig,
    api::{ListParams, PostParams, WatchEvent, WatchParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::json;
use tokio::net::TcpListener;

use super::*;
use crate::Tls;

async fn place_a_pod(client: Client) {
    let nodes: Api<Node> = Api::all(client.clone());
    let node = serde_json::from_value(json!({ "metadata": { "name": "n" } })).expect("a node");
    nodes.create(&PostParams::default(), &node).await.expect("created");
    let pods: Api<Pod> = Api::default_namespaced(client);
    let before = pods
        .list(&ListParams::default())
        .await
        .expect("a list")
        .metadata
        .resource_version
        .expect("a version");
    let pod: Pod = serde_json::from_value(pod("a")).expect("a pod");
    pods.create(&PostParams::default(), &pod).await.expect("created");
    let binding: Binding =
        serde_json::from_value(json!({ "metadata": { "name": "a" }, "target": { "name": "n" } })).expect("a binding");
    let options = PostParams::default();
    let bind = || pods.create_subresource::<Binding, Status>("binding", "a", &options, &binding);
    bind().await.expect("bound");
    let again = bind().await.expect_err("bound already");
    assert!(matches!(again, kube::Error::Api(status) if status.code == 409));

    let watch = pods
        .watch(&WatchParams::default().timeout(5), &before)
        .await
        .expect("a watch");
    let events: Vec<_> = watch.take(2).try_collect().await.expect("events");
    match events.as_slice() {
        [WatchEvent::Added(_), WatchEvent::Modified(bound)] => {
            assert_eq!(bound.spec.as_ref().and_then(|s| s.node_name.as_deref()), Some("n"));
        }
        other => panic!("unexpected events: {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn kube_works_in_process() {
    place_a_pod(Client::new(server().service(), "default")).await;
}

async fn client_of(kubeconfig: &str) -> Client {
    // Whoever was first has set the same provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let kubeconfig = Kubeconfig::from_yaml(kubeconfig).expect("a kubeconfig");
    let config = ClientConfig::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    Client::try_from(config.expect("a configuration")).expect("a client")
}

#[tokio::test]
async fn kube_works_over_tcp_with_and_without_tls() {
    for tls in [Tls::SelfSigned, Tls::Off] {
        let user = crate::review::User {
            name: "me".into(),
            uid: "1".into(),
            groups: vec![],
        };
        let server = server_with(Config {
            tokens: crate::Tokens::default().with("t", user),
            ..Config::default()
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let serving = server.serve(listener, tls).expect("serving");
        place_a_pod(client_of(&serving.kubeconfig(Some("t"))).await).await;
        let refused = client_of(&serving.kubeconfig(Some("wrong")))
            .await
            .apiserver_version()
            .await;
        assert!(refused.is_ok() || matches!(refused, Err(kube::Error::Api(_))));
        serving.shutdown().await;
    }
}

#[tokio::test]
async fn a_lost_reply_closes_the_connection_over_tcp() {
    let server = server();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let serving = server.serve(listener, Tls::Off).expect("serving");
    let rule = crate::fault::Rule::new(crate::fault::Match::verbs(&["create"]), crate::fault::Action::LoseReply);
    server.faults().add(rule);
    let pods: Api<Pod> = Api::default_namespaced(client_of(&serving.kubeconfig(None)).await);
    let pod: Pod = serde_json::from_value(pod("a")).expect("a pod");
    let lost = pods.create(&PostParams::default(), &pod).await.expect_err("no reply");
    assert!(!matches!(lost, kube::Error::Api(_)), "{lost:?}");
    assert!(
        server.get(super::pods(), "default", "a").is_some(),
        "and yet it was applied"
    );
    serving.shutdown().await;
}
