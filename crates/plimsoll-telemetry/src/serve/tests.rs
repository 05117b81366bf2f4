//! Over real sockets and TLS.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::FutureExt;
use futures::future::BoxFuture;
use http::Request;
use hyper::client::conn::http2;
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::*;
use crate::certificate_authority::{Signed, TestAuthority};
use crate::{
    About, Access, AccessReviewer, AuthenticationLookup, AuthenticationOptions, Authenticator, AuthorizationOptions,
    Authorizer, Check, DebugView, Document, Metrics, PageOf, StateSource, TlsIdentity, TokenReviewer, User, Verdict,
};

/// Answers at once; panics and waits where it is told to.
#[derive(Default)]
struct State {
    panics: AtomicBool,
    slow: AtomicBool,
    asked: Notify,
    go_on: Notify,
}

impl StateSource for State {
    fn healthz(&self) -> BoxFuture<'_, Vec<Check>> {
        async { vec![Check::new("ping", Ok(()))] }.boxed()
    }

    fn readyz(&self) -> BoxFuture<'_, Vec<Check>> {
        async {
            assert!(!self.panics.load(Ordering::Relaxed), "a bug");
            vec![Check::new("shutdown", Ok(()))]
        }
        .boxed()
    }

    fn before_scrape(&self) -> BoxFuture<'_, ()> {
        async {
            if self.slow.load(Ordering::Relaxed) {
                self.asked.notify_one();
                self.go_on.notified().await;
            }
        }
        .boxed()
    }

    fn configz(&self) -> BoxFuture<'_, Result<Value, String>> {
        async { Ok(json!({})) }.boxed()
    }

    fn resources(&self) -> BoxFuture<'_, Result<String, String>> {
        async { Ok(String::new()) }.boxed()
    }

    fn explain<'a>(&'a self, _: Option<&'a str>) -> BoxFuture<'a, Document> {
        let (status, json) = (http::StatusCode::OK, "{}".to_owned());
        async move { Document { status, json } }.boxed()
    }

    fn audit(&self) -> BoxFuture<'_, Result<String, String>> {
        async { Ok(String::new()) }.boxed()
    }

    fn debug_view(&self, _: DebugView, _: PageOf) -> BoxFuture<'_, Result<Value, String>> {
        async { Ok(json!({})) }.boxed()
    }
}

/// A cluster that knows the tokens `of-jane` and `of-joe`, trusts one authority, and lets jane alone do anything.
struct Cluster(TestAuthority);

impl TokenReviewer for Cluster {
    fn review<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<Option<User>, String>> {
        let name = token.strip_prefix("of-").map(|name| User {
            name: name.to_owned(),
            ..User::default()
        });
        async { Ok(name) }.boxed()
    }
}

impl AccessReviewer for Cluster {
    fn review<'a>(&'a self, access: &'a Access) -> BoxFuture<'a, Result<Verdict, String>> {
        let answer = match (access.user.name.as_str(), access.verb.as_str()) {
            ("nobody-knows", _) => Err("no answer <b>".to_owned()),
            (name, verb) => Ok(Verdict {
                allowed: name == "jane" && verb == "get",
                ..Verdict::default()
            }),
        };
        async { answer }.boxed()
    }
}

impl AuthenticationLookup for Cluster {
    fn read(&self) -> BoxFuture<'_, Result<BTreeMap<String, String>, String>> {
        let texts = [("client-ca-file".to_owned(), self.0.pem())].into();
        async { Ok(texts) }.boxed()
    }
}

/// A server that runs, and what it knows.
struct World {
    cluster: Arc<Cluster>,
    state: Arc<State>,
    server: TestAuthority,
    serving: Serving,
    stop: CancellationToken,
}

impl Drop for World {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl World {
    async fn start(name: &str) -> Self {
        let server = TestAuthority::new("servers");
        let cluster = Arc::new(Cluster(TestAuthority::new("clients")));
        let state = Arc::new(State::default());
        let folder = std::env::temp_dir().join(format!("plimsoll-serve-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let signed = server.server(&["localhost"]);
        let (certificate, key) = (folder.join("tls.crt"), folder.join("tls.key"));
        std::fs::write(&certificate, signed.pem()).unwrap();
        std::fs::write(&key, signed.key_pem()).unwrap();
        let standard = AuthenticationOptions::default();
        let authenticator = Authenticator::new(
            &standard,
            Some(Arc::clone(&cluster) as _),
            Some(Arc::clone(&cluster) as _),
        );
        let guard = Guard {
            authenticator: authenticator.await.unwrap(),
            authorizer: Authorizer::new(&AuthorizationOptions::default(), Some(Arc::clone(&cluster) as _)).unwrap(),
        };
        let endpoints = Endpoints {
            state: Arc::clone(&state) as _,
            metrics: Arc::new(Metrics::new()),
            debug: true,
            about: Arc::new(About {
                component: "plimsoll",
                version: "v0.1.0".to_owned(),
                built_with: String::new(),
                emulation_version: "1.36".to_owned(),
                started: jiff::Timestamp::UNIX_EPOCH,
                began: Instant::now(),
                flags: None,
                statusz: true,
            }),
        };
        let options = ServingOptions {
            address: "127.0.0.1:0".parse().unwrap(),
            tls: TlsOptions {
                identity: TlsIdentity::Files { certificate, key },
                http2: true,
                ..TlsOptions::default()
            },
            http2_max_streams: 0,
            port_sharing: false,
        };
        let stop = CancellationToken::new();
        let serving = serve(options, Arc::new(guard), endpoints, stop.clone()).await.unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        Self {
            cluster,
            state,
            server,
            serving,
            stop,
        }
    }

    async fn connect(&self, client: Option<&Signed>) -> std::io::Result<TlsStream<TcpStream>> {
        self.connect_speaking(client, &[]).await
    }

    /// Of these protocols the server chooses one.
    async fn connect_speaking(
        &self,
        client: Option<&Signed>,
        protocols: &[&[u8]],
    ) -> std::io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(self.server.der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let mut config = match client {
            Some(signed) => config.with_client_auth_cert(vec![signed.der()], signed.key()).unwrap(),
            None => config.with_no_client_auth(),
        };
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        let stream = TcpStream::connect(self.serving.address()).await?;
        let connector = TlsConnector::from(Arc::new(config));
        connector.connect("localhost".try_into().unwrap(), stream).await
    }

    /// Status and body.
    async fn send(&self, client: Option<&Signed>, head: &str) -> (u16, String) {
        let mut stream = self.connect(client).await.unwrap();
        let request = format!("{head}\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(
            head.to_lowercase().contains("cache-control: no-cache, private"),
            "{head}"
        );
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, body.to_owned())
    }

    async fn get(&self, path: &str, token: Option<&str>) -> (u16, String) {
        let authorization = token.map(|token| format!("\r\nAuthorization: Bearer {token}"));
        let head = format!("GET {path} HTTP/1.1{}", authorization.unwrap_or_default());
        self.send(None, &head).await
    }
}

fn refused(code: u16, body: &str) -> Value {
    let value: Value = serde_json::from_str(body).unwrap();
    assert_eq!((&value["kind"], &value["code"]), (&json!("Status"), &json!(code)));
    value["message"].clone()
}

#[tokio::test]
async fn a_connection_over_http_2_of_an_anonymous_client_stays_open_after_its_request() {
    let world = World::start("http2").await;
    let stream = world.connect_speaking(None, &[b"h2", b"http/1.1"]).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
        .await
        .unwrap();
    let mut connections = JoinSet::new();
    connections.spawn(connection);
    for (path, status) in [("/healthz", 200), ("/metrics", 403), ("/healthz", 200)] {
        let request = Request::get(format!("https://localhost{path}"));
        let answer = sender.send_request(request.body(String::new()).unwrap()).await.unwrap();
        assert_eq!(answer.status(), status, "{path}");
    }
    assert!(connections.try_join_next().is_none());
}

#[tokio::test]
async fn each_request_is_answered_as_its_sender_may_ask() {
    let world = World::start("guarded").await;
    for path in ["/healthz", "/livez", "/readyz"] {
        assert_eq!(world.get(path, None).await, (200, "ok".to_owned()), "{path}");
    }
    for (path, token, user) in [
        ("/metrics", None, "system:anonymous"),
        ("/readyz/shutdown", None, "system:anonymous"),
        ("/nowhere", None, "system:anonymous"),
        ("/configz", Some("of-joe"), "joe"),
    ] {
        let (status, body) = world.get(path, token).await;
        assert_eq!(status, 403);
        let told = format!("forbidden: User \"{user}\" cannot get path \"{path}\"");
        assert_eq!(refused(403, &body), json!(told));
    }
    let (status, body) = world.get("/healthz", Some("unknown")).await;
    assert_eq!((status, refused(401, &body)), (401, json!("Unauthorized")));
    assert_eq!(world.get("/metrics", Some("of-jane")).await.0, 200);
    assert_eq!(
        world.get("/nowhere", Some("of-jane")).await,
        (404, "404 page not found\n".to_owned())
    );
    let put = "PUT /debug/flags/v HTTP/1.1\r\nAuthorization: Bearer of-jane\r\nContent-Length: 0";
    let (status, body) = world.send(None, put).await;
    assert_eq!(status, 403);
    assert_eq!(
        refused(403, &body),
        json!("forbidden: User \"jane\" cannot put path \"/debug/flags/v\"")
    );
    let unknown = (
        500,
        "Internal Server Error: \"/metrics\": no answer &lt;b&gt;\n".to_owned(),
    );
    assert_eq!(world.get("/metrics", Some("of-nobody-knows")).await, unknown);
}

#[tokio::test]
async fn a_client_certificate_is_as_good_as_a_token() {
    let world = World::start("certificates").await;
    let metrics = "GET /metrics HTTP/1.1";
    let of = |name: &str, group| world.cluster.0.client(name, group);
    assert_eq!(world.send(Some(&of("jane", None)), metrics).await.0, 200);
    assert_eq!(world.send(Some(&of("joe", None)), metrics).await.0, 403);
    assert_eq!(
        world.send(Some(&of("root", Some("system:masters"))), metrics).await.0,
        200
    );
    let strangers = TestAuthority::new("strangers");
    let forged = strangers.client("root", Some("system:masters"));
    assert_eq!(world.send(Some(&forged), metrics).await.0, 401);
    let with_token = format!("{metrics}\r\nAuthorization: Bearer of-jane");
    assert_eq!(world.send(Some(&forged), &with_token).await.0, 200);
}

#[tokio::test]
async fn a_request_that_panics_is_answered_and_harms_no_other() {
    let world = World::start("panics").await;
    world.state.panics.store(true, Ordering::Relaxed);
    let told = "This request caused apiserver to panic. Look in the logs for details.\n";
    assert_eq!(world.get("/readyz", None).await, (500, told.to_owned()));
    world.state.panics.store(false, Ordering::Relaxed);
    assert_eq!(world.get("/readyz", None).await.0, 200);
}

#[tokio::test]
async fn a_request_under_way_is_answered_when_the_server_stops_and_no_other_is_taken() {
    let world = World::start("stops").await;
    world.state.slow.store(true, Ordering::Relaxed);
    let mut idle = world.connect(None).await.unwrap();
    let stopping = async {
        world.state.asked.notified().await;
        world.stop.cancel();
        // The listener is gone before the request is answered.
        while TcpStream::connect(world.serving.address()).await.is_ok() {
            tokio::task::yield_now().await;
        }
        world.state.go_on.notify_one();
    };
    let (answer, ()) = tokio::join!(biased; world.get("/metrics", Some("of-jane")), stopping);
    assert_eq!(answer.0, 200);
    world.serving.ended().await;
    assert_eq!(idle.read(&mut [0; 1]).await.unwrap_or(0), 0);
}

#[tokio::test]
async fn a_request_that_does_not_end_is_given_up_after_five_seconds() {
    let world = World::start("hangs").await;
    world.state.slow.store(true, Ordering::Relaxed);
    let mut stream = world.connect(None).await.unwrap();
    let request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer of-jane\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    world.state.asked.notified().await;
    tokio::time::pause();
    let began = Instant::now();
    world.stop.cancel();
    world.serving.ended().await;
    assert_eq!(began.elapsed().as_secs(), 5);
}

#[tokio::test]
async fn several_may_listen_on_one_port_where_that_is_permitted() {
    let one = listen("127.0.0.1:0".parse().unwrap(), true).unwrap();
    let address = one.local_addr().unwrap();
    assert!(listen(address, true).is_ok());
    let alone = listen("127.0.0.1:0".parse().unwrap(), false).unwrap();
    assert!(listen(alone.local_addr().unwrap(), false).is_err());
}
