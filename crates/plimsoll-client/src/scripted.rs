//! An API server that plays a script: one step per request, in order; past its end it never answers.

use std::collections::VecDeque;
use std::future::pending;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::time::Instant;
use tower::BoxError;

use crate::{ApiClient, VirtualClock};

/// What comes of one request.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    status: u16,
    retry_after: Option<u64>,
    chunks: VecDeque<Chunk>,
    lost: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum Chunk {
    Data(String),
    /// The connection breaks.
    Break,
    /// Nothing ever comes again.
    Hang,
}

impl Step {
    pub(crate) fn answer(status: u16, body: impl Into<String>) -> Self {
        Self {
            status,
            retry_after: None,
            chunks: VecDeque::from([Chunk::Data(body.into())]),
            lost: false,
        }
    }

    pub(crate) fn ok(body: &Value) -> Self {
        Self::answer(200, body.to_string())
    }

    pub(crate) fn refusal(code: u16, reason: &str, message: &str) -> Self {
        let status = json!({ "kind": "Status", "code": code, "reason": reason, "message": message });
        Self::answer(code, status.to_string())
    }

    pub(crate) fn retry_after(self, seconds: u64) -> Self {
        Self {
            retry_after: Some(seconds),
            ..self
        }
    }

    /// A stream that ends in good order after these chunks.
    pub(crate) fn stream(chunks: impl IntoIterator<Item = String>) -> Self {
        Self {
            status: 200,
            retry_after: None,
            chunks: chunks.into_iter().map(Chunk::Data).collect(),
            lost: false,
        }
    }

    pub(crate) fn then(mut self, chunk: Chunk) -> Self {
        self.chunks.push_back(chunk);
        self
    }

    /// The connection is lost before the answer.
    pub(crate) fn lost() -> Self {
        Self {
            lost: true,
            ..Self::answer(200, "")
        }
    }
}

/// A request as the server saw it.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) content_type: String,
    pub(crate) user_agent: String,
    pub(crate) body: Value,
    pub(crate) at: Duration,
}

#[derive(Debug, Clone)]
pub(crate) struct Script {
    steps: Arc<Mutex<VecDeque<Step>>>,
    seen: Arc<Mutex<Vec<Seen>>>,
    /// What a watch is told that asks, before it goes on, how far the server has come; no step of the script.
    version: Arc<Mutex<u64>>,
    started: Instant,
}

impl Script {
    pub(crate) fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        let steps = Arc::new(Mutex::new(steps.into_iter().collect()));
        Self {
            steps,
            seen: Arc::default(),
            version: Arc::new(Mutex::new(u64::MAX)),
            started: Instant::now(),
        }
    }

    pub(crate) fn client(&self) -> ApiClient {
        let script = self.clone();
        let service = tower::service_fn(move |request| {
            let script = script.clone();
            async move { script.play(request).await }
        });
        ApiClient::new(
            kube::Client::new(service, "default"),
            Arc::new(VirtualClock::new(jiff::Timestamp::UNIX_EPOCH)),
        )
    }

    /// From now on the server has come this far and no further.
    pub(crate) fn at_version(self, version: u64) -> Self {
        *self.version.lock().unwrap() = version;
        self
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn paths(&self) -> Vec<String> {
        self.seen().into_iter().map(|seen| seen.path).collect()
    }

    async fn play(&self, request: Request<kube::client::Body>) -> Result<Response<ScriptBody>, BoxError> {
        let (head, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let header = |name: &str| {
            head.headers
                .get(name)
                .map_or("", |value| value.to_str().unwrap())
                .to_owned()
        };
        let is_check = head.uri.to_string().ends_with("&limit=1");
        if !is_check {
            self.seen.lock().unwrap().push(Seen {
                method: head.method.clone(),
                path: head.uri.to_string(),
                content_type: header("content-type"),
                user_agent: header("user-agent"),
                body: serde_json::from_slice(&body).unwrap_or(Value::Null),
                at: self.started.elapsed(),
            });
        }
        let step = if is_check {
            let version = self.version.lock().unwrap().to_string();
            Some(Step::ok(&json!({ "metadata": { "resourceVersion": version } })))
        } else {
            self.steps.lock().unwrap().pop_front()
        };
        let Some(step) = step else { return pending().await };
        if step.lost {
            return Err("connection reset by peer".into());
        }
        let mut response = Response::builder().status(StatusCode::from_u16(step.status)?);
        if let Some(seconds) = step.retry_after {
            response = response.header("retry-after", seconds);
        }
        Ok(response.body(ScriptBody { chunks: step.chunks })?)
    }
}

#[derive(Debug)]
pub(crate) struct ScriptBody {
    chunks: VecDeque<Chunk>,
}

impl Body for ScriptBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match self.chunks.front() {
            None => Poll::Ready(None),
            Some(Chunk::Hang) => Poll::Pending,
            Some(Chunk::Break) => {
                self.chunks.clear();
                Poll::Ready(Some(Err("connection reset by peer".into())))
            }
            Some(Chunk::Data(_)) => match self.chunks.pop_front() {
                Some(Chunk::Data(text)) => Poll::Ready(Some(Ok(Frame::data(text.into())))),
                _ => Poll::Ready(None),
            },
        }
    }
}

/// An object with a head; `more` is merged into it.
pub(crate) fn object(namespace: &str, name: &str, version: u64, more: Value) -> Value {
    let mut object = json!({
        "metadata": { "namespace": namespace, "name": name, "uid": format!("uid-{name}"), "resourceVersion": version.to_string() },
    });
    if let (Value::Object(object), Value::Object(more)) = (&mut object, more) {
        object.extend(more);
    }
    object
}

/// A pod that can be decoded.
pub(crate) fn pod(name: &str, version: u64) -> Value {
    object(
        "ns",
        name,
        version,
        json!({ "spec": { "containers": [{ "name": "c" }] } }),
    )
}

/// A pod whose spec makes no sense.
pub(crate) fn strange_pod(name: &str, version: u64) -> Value {
    object("ns", name, version, json!({ "spec": "strange" }))
}
