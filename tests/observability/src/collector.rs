//! A collector that takes spans and throws them away, or does not do what it is there for.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, HeaderValue, header};
use http_body_util::{BodyExt, Full};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Takes connections. Dropping it ends it.
#[derive(Debug)]
pub struct Collector {
    address: String,
    asked: Arc<AtomicUsize>,
    task: JoinSet<()>,
}

/// Of one that answers.
#[derive(Clone)]
struct Answering {
    asked: Arc<AtomicUsize>,
    after: Duration,
}

impl Collector {
    /// Reads every request, over HTTP or gRPC, throws it away and says that all is well.
    pub async fn taking() -> anyhow::Result<Self> {
        Self::answering(Duration::ZERO).await
    }

    /// The same, each answer so much later.
    pub async fn slow(after: Duration) -> anyhow::Result<Self> {
        Self::answering(after).await
    }

    /// Takes connections and never answers.
    pub async fn hanging() -> anyhow::Result<Self> {
        Self::start(None).await
    }

    /// Answers every request over HTTP with 400.
    pub async fn refusing() -> anyhow::Result<Self> {
        Self::start(Some(
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        ))
        .await
    }

    /// An address at which nobody listens.
    pub fn down() -> anyhow::Result<String> {
        Ok(format!("http://127.0.0.1:{}", plimsoll_controlplane::free_port()?))
    }

    async fn start(answer: Option<&'static str>) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = format!("http://{}", listener.local_addr()?);
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut held = Vec::new();
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::Relaxed);
                match answer {
                    // Kept open: the other side must not be told that nobody will answer.
                    None => held.push(stream),
                    Some(answer) => respond(stream, answer).await,
                }
            }
        });
        Ok(Self { address, asked, task })
    }

    async fn answering(after: Duration) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = format!("http://{}", listener.local_addr()?);
        let asked = Arc::new(AtomicUsize::new(0));
        let state = Answering {
            asked: Arc::clone(&asked),
            after,
        };
        let mut task = JoinSet::new();
        task.spawn(async move {
            let _ = axum::serve(listener, Router::new().fallback(take).with_state(state)).await;
        });
        Ok(Self { address, asked, task })
    }

    /// Where it listens.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// How many connections it has taken; of one that answers, how many requests.
    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

/// Says that all is well: over HTTP an empty message, over gRPC the same in a frame, with the status behind it.
async fn take(State(state): State<Answering>, headers: HeaderMap, whole: Bytes) -> Response {
    drop(whole);
    state.asked.fetch_add(1, Ordering::Relaxed);
    if !state.after.is_zero() {
        tokio::time::sleep(state.after).await;
    }
    let asked_by = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    let grpc = asked_by.is_some_and(|kind| kind.starts_with(b"application/grpc"));
    let (kind, body) = if grpc {
        let status = HeaderMap::from_iter([(
            header::HeaderName::from_static("grpc-status"),
            HeaderValue::from_static("0"),
        )]);
        let framed = Full::new(Bytes::from_static(&[0; 5]));
        let framed = framed.with_trailers(std::future::ready(Some(Ok(status))));
        ("application/grpc", Body::new(framed))
    } else {
        ("application/x-protobuf", Body::empty())
    };
    let mut response = Response::new(body);
    let kind = HeaderValue::from_static(kind);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// Answers without waiting for the end of the request, as a proxy in front of a collector does.
async fn respond(mut stream: TcpStream, answer: &str) {
    let mut beginning = [0; 1024];
    if stream.read(&mut beginning).await.is_ok() {
        let _ = stream.write_all(answer.as_bytes()).await;
        let _ = stream.shutdown().await;
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.task.abort_all();
    }
}
