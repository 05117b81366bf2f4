//! The last stretch before the API server, beyond the fence: what is on it arrives, whoever has given up meanwhile.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{Request, Response};
use http_body::Body;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use plimsoll_apiserver::{ApiBody, ApiService, ConnectionLost};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use tower::{BoxError, Service};

use crate::invariants::judge::{Judge, Sent, Until};
use crate::link::Link;

/// The server's time-out for a request that names none.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(1);

/// The API server at the end of one machine's wire.
#[derive(Clone)]
pub struct Wire {
    server: ApiService,
    link: Link,
    replica: Arc<str>,
    judge: Judge,
    tasks: TaskTracker,
}

type Answer = Result<Response<ApiBody>, ConnectionLost>;

impl Wire {
    /// The wire of this replica.
    pub fn new(server: ApiService, link: Link, replica: &str, judge: Judge) -> Self {
        Self {
            server,
            link,
            replica: Arc::from(replica),
            judge,
            tasks: TaskTracker::new(),
        }
    }

    async fn carry<B>(mut self, request: Request<B>) -> Answer
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let (parts, body) = request.into_parts();
        let body = match body.collect().await.map_err(Into::into) {
            Ok(body) => body.to_bytes(),
            // Half a request: the server drops it.
            Err(error) => return self.server.call(Request::from_parts(parts, broken(error))).await,
        };
        let delay = self.link.wire_delay();
        let sent = self.sent(&parts, &body, delay);
        let mut server = self.server;
        let arriving = async move {
            tokio::time::sleep(delay).await;
            let answer = server.call(Request::from_parts(parts, Full::new(body))).await;
            if let (Some(sent), Ok(response)) = (sent, &answer)
                && is_definite(response)
            {
                sent.answered();
            }
            answer
        };
        if delay.is_zero() {
            return arriving.await;
        }
        let (reply, answer) = oneshot::channel();
        self.tasks.spawn(async move {
            // Nobody may be listening any more.
            let _ = reply.send(arriving.await);
        });
        answer.await.unwrap_or(Err(ConnectionLost))
    }

    fn sent(&self, parts: &Parts, body: &[u8], delay: Duration) -> Option<Sent> {
        let (namespace, pod) = bound_at(parts.uri.path())?;
        let binding: Value = serde_json::from_slice(body).ok()?;
        let text = |pointer: &str| binding.pointer(pointer).and_then(Value::as_str);
        let until = Until::TimeOut(Instant::now() + delay + timeout(parts));
        let (uid, node) = (text("/metadata/uid")?, text("/target/name")?);
        Some(
            self.judge
                .sent(&self.replica, (&format!("{namespace}/{pod}"), uid), node, until),
        )
    }
}

/// Namespace and name of the pod whose binding is posted to this path, if one is.
fn bound_at(path: &str) -> Option<(&str, &str)> {
    let pod = path.strip_prefix("/api/v1/namespaces/")?.strip_suffix("/binding")?;
    pod.split_once("/pods/")
}

/// The server's time-out: whole seconds or milliseconds, as the client writes it.
fn timeout(parts: &Parts) -> Duration {
    let query = parts.uri.query().unwrap_or_default();
    let asked = query.split('&').find_map(|pair| pair.strip_prefix("timeout="));
    let millis = asked.and_then(|text| text.strip_suffix("ms")).map(str::parse);
    let seconds = asked.and_then(|text| text.strip_suffix('s')).map(str::parse);
    match (millis, seconds) {
        (Some(Ok(millis)), _) => Duration::from_millis(millis),
        (_, Some(Ok(seconds))) => Duration::from_secs(seconds),
        _ => DEFAULT_TIMEOUT,
    }
}

fn is_definite(response: &Response<ApiBody>) -> bool {
    !response.status().is_server_error() && response.status() != http::StatusCode::REQUEST_TIMEOUT
}

fn broken(error: BoxError) -> UnsyncBoxBody<Bytes, BoxError> {
    StreamBody::new(futures::stream::once(async move { Err(error) })).boxed_unsync()
}

impl<B> Service<Request<B>> for Wire
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<ApiBody>;
    type Error = ConnectionLost;
    type Future = Pin<Box<dyn Future<Output = Answer> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectionLost>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        Box::pin(self.clone().carry(request))
    }
}
