use std::sync::Mutex;

use plimsoll_model::{Pod, decode_pod};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::*;
use crate::scripted::{Script, Step, pod};
use crate::{BindReply, NotSent, SystemClock, TermToken};

#[test]
fn user_agents_tell_the_two_clients_apart() {
    let agent = user_agent("leader-election");
    let text = agent.to_str().unwrap();
    assert!(
        text.starts_with("plimsoll/0.") && text.ends_with(") leader-election"),
        "{text}"
    );
}

#[test]
fn the_lease_client_waits_half_the_renew_deadline_but_at_least_a_second() {
    let election = |seconds| ElectionConfig {
        renew_deadline: Duration::from_secs(seconds),
        ..ElectionConfig::default()
    };
    assert_eq!(lease_request_timeout(&election(10)), Duration::from_secs(5));
    assert_eq!(lease_request_timeout(&election(1)), Duration::from_secs(1));
}

#[tokio::test]
async fn master_alone_names_the_server_and_nothing_is_retried() {
    let access = Access {
        kubeconfig: None,
        master: Some("127.0.0.1:8080".to_owned()),
    };
    let config = load_config(&access).await.unwrap();
    assert_eq!(config.cluster_url.to_string(), "http://127.0.0.1:8080/");
    assert!(!config.default_retry);
}

#[tokio::test]
async fn a_missing_kubeconfig_is_named_in_the_error() {
    let access = Access {
        kubeconfig: Some("/no/such/file".into()),
        master: None,
    };
    let error = load_config(&access).await.unwrap_err();
    assert_eq!(error.to_string(), "cannot use kubeconfig /no/such/file");
}

/// Whoever asks in a user's name has the proxy of that user's environment in the configuration.
#[tokio::test]
async fn a_proxy_is_never_passed_by_without_a_word() {
    let mut config = kube::Config::new(http::Uri::from_static("http://127.0.0.1:1"));
    assert!(client(&config, None).is_ok());
    config.proxy_url = Some(http::Uri::from_static("http://127.0.0.1:2"));
    let error = client(&config, None).err().unwrap().to_string();
    assert_eq!(
        error,
        "a proxy (proxy-url in the kubeconfig, or HTTPS_PROXY in the environment, whatever NO_PROXY says) is not supported"
    );
}

#[tokio::test]
async fn a_proxy_that_the_current_context_asks_for_is_refused_and_not_passed_by() {
    let path = std::env::temp_dir().join(format!("plimsoll-proxy-{}", std::process::id()));
    let mut texts = Vec::new();
    for current in ["through", "direct"] {
        let contexts = ["through", "direct"].map(|name| {
            let context = serde_json::json!({ "cluster": format!("cluster-{name}"), "user": "u" });
            serde_json::json!({ "name": name, "context": context })
        });
        let kubeconfig = serde_json::json!({
            "apiVersion": "v1", "kind": "Config", "current-context": current,
            "contexts": contexts,
            "clusters": [
                { "name": "cluster-through", "cluster": { "server": "http://127.0.0.1:1", "proxy-url": "http://127.0.0.1:2" } },
                { "name": "cluster-direct", "cluster": { "server": "http://127.0.0.1:1" } },
            ],
            "users": [{ "name": "u", "user": {} }],
        });
        std::fs::write(&path, kubeconfig.to_string()).unwrap();
        let access = Access {
            kubeconfig: Some(path.clone()),
            master: None,
        };
        texts.push(
            load_config(&access)
                .await
                .map(|_| ())
                .map_err(|error| error.to_string()),
        );
    }
    std::fs::remove_file(&path).unwrap();
    assert_eq!(
        texts,
        [Err("a proxy-url in the kubeconfig is not supported".to_owned()), Ok(())]
    );
}

#[tokio::test(start_paused = true)]
async fn requests_name_their_sender_and_the_lease_does_not_wait_for_the_rate_limit() {
    let script = Script::new([Step::refusal(404, "NotFound", ""), Step::refusal(404, "NotFound", "")]);
    let limit = ClientConnection {
        qps: 0.001,
        burst: 1,
        ..ClientConnection::default()
    };
    let clients = separate(script.client(), script.client(), &limit, &ElectionConfig::default());
    clients.main.read_pod(&plimsoll_model::ObjectName::new("ns", "a")).await;
    crate::LeaseClient::new(clients.leader_election, "kube-system", "kube-scheduler")
        .get()
        .await;
    let seen = script.seen();
    assert!(seen[0].user_agent.ends_with(") scheduler"), "{}", seen[0].user_agent);
    assert!(
        seen[1].user_agent.ends_with(") leader-election"),
        "{}",
        seen[1].user_agent
    );
    assert_eq!(seen[1].at, Duration::ZERO);
}

/// Nothing of a request is delivered when the network is whole again and others may lead.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_connection_gives_up_what_is_not_acknowledged_within_the_time_for_the_way() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address: http::Uri = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    let config = kube::Config::new(address.clone());
    for (lease, expected) in [(15_000, 1_000), (12_000, 400), (10_500, 100)] {
        let election = ElectionConfig {
            lease_duration: Duration::from_millis(lease),
            ..ElectionConfig::default()
        };
        let on_the_way = time_on_the_way(election.write_timeout());
        let stream = connector(&config, Some(on_the_way))
            .oneshot(address.clone())
            .await
            .unwrap();
        assert_eq!(
            rustix::net::sockopt::tcp_user_timeout(stream.inner()).unwrap(),
            expected
        );
    }
}

fn a_pod() -> Pod {
    decode_pod(pod("a", 9).to_string().as_bytes()).unwrap()
}

fn token() -> Arc<TermToken> {
    TermToken::new(1, SystemClock.now(), Duration::from_secs(10), Duration::from_secs(5))
}

#[tokio::test]
async fn a_refused_connection_is_certainly_not_a_binding() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let access = Access {
        kubeconfig: None,
        master: Some(address.to_string()),
    };
    let unlimited = ClientConnection {
        qps: -1.0,
        burst: 1,
        ..ClientConnection::default()
    };
    let clients = connect(&access, &unlimited, &ElectionConfig::default(), Arc::new(SystemClock))
        .await
        .unwrap();
    let token = token();
    let reply = clients.main.bind(&token, &a_pod(), "n1").await;
    assert!(
        matches!(reply, BindReply::NotSent(NotSent::NoConnection(_))),
        "{reply:?}"
    );
    assert!(token.is_decided(SystemClock.now()));
}

/// Whoever holds the request, because the network is cut or the server is slow, is told to forget it.
#[tokio::test]
async fn a_write_that_is_given_up_is_reset_not_left_to_be_delivered_later() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let access = Access {
        kubeconfig: None,
        master: Some(listener.local_addr().unwrap().to_string()),
    };
    let unlimited = ClientConnection {
        qps: -1.0,
        burst: 1,
        ..ClientConnection::default()
    };
    let clients = connect(&access, &unlimited, &ElectionConfig::default(), Arc::new(SystemClock))
        .await
        .unwrap();
    let token = TermToken::new(
        1,
        SystemClock.now(),
        Duration::from_secs(10),
        Duration::from_millis(200),
    );
    let silent = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut bytes = [0; 4096];
        loop {
            match stream.read(&mut bytes).await {
                Ok(0) => return None,
                Ok(_) => {}
                Err(error) => return Some(error.kind()),
            }
        }
    };
    let pod = a_pod();
    let (reply, end) = tokio::join!(biased; clients.main.bind(&token, &pod, "n1"), silent);
    assert!(matches!(reply, BindReply::Unknown { .. }), "{reply:?}");
    assert_eq!(end, Some(std::io::ErrorKind::ConnectionReset));
}

/// A connection takes so long to be made that the term is over when it is there: the server must not get the binding.
#[tokio::test]
async fn a_write_that_waited_for_its_connection_is_stopped_at_the_fence() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (asked, connecting) = oneshot::channel::<()>();
    let (release, released) = oneshot::channel::<()>();
    let gate = Arc::new(Mutex::new(Some((asked, released))));
    let connector = tower::service_fn(move |_: http::Uri| {
        let gate = gate.lock().unwrap().take();
        Box::pin(async move {
            if let Some((asked, released)) = gate {
                asked.send(()).unwrap();
                released.await.unwrap();
            }
            TcpStream::connect(address).await.map(TokioIo::new)
        })
    });
    let connection: HyperClient<_, crate::FencedBody<kube::client::Body>> =
        HyperClient::builder(TokioExecutor::new()).build(connector);
    let base = ServiceBuilder::new()
        .map_request(|mut request: http::Request<kube::client::Body>| {
            *request.uri_mut() = format!("http://plimsoll.test{}", request.uri()).parse().unwrap();
            request
        })
        .service(fenced(connection));
    let client = ApiClient::new(kube::Client::new(base, "default"), Arc::new(SystemClock));
    let token = token();

    let end_of_term = async {
        connecting.await.unwrap();
        token.cancel();
        release.send(()).unwrap();
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut received = Vec::new();
        stream.read_to_end(&mut received).await.unwrap();
        String::from_utf8(received).unwrap()
    };
    let pod = a_pod();
    let (reply, received) = tokio::join!(biased; client.bind(&token, &pod, "n1"), end_of_term);
    assert_eq!(reply, BindReply::NotSent(NotSent::TermOver));
    assert!(!received.contains("Binding"), "{received}");
}
