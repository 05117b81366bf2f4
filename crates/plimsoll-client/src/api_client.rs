use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use kube::client::Body;
use plimsoll_config::ClientConnection;
use plimsoll_telemetry::RestClientMetrics;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::api_status::ApiStatus;
use crate::fence::{Fence, FenceClosed};
use crate::measured::Measured;
use crate::{Clock, RateLimit, TermToken};

const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// Metadata of a list's objects, or the objects from a server that does not part them.
const METADATA: HeaderValue =
    HeaderValue::from_static("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json");
const MERGE: HeaderValue = HeaderValue::from_static("application/merge-patch+json");
const STRATEGIC_MERGE: HeaderValue = HeaderValue::from_static("application/strategic-merge-patch+json");
/// As long as kube-apiserver itself works on a request that names no time-out.
const DEFAULT_REQUEST_TIMEOUT: Duration = Duration::from_mins(1);

/// A way to the API server: each request names its sender, waits for the rate limit and ends within a time-out.
///
/// It never repeats a request by itself. It is cheap to clone; clones share the connections and the rate limit.
#[derive(Clone)]
pub struct ApiClient {
    client: kube::Client,
    clock: Arc<dyn Clock>,
    limit: Option<Arc<RateLimit>>,
    user_agent: HeaderValue,
    request_timeout: Duration,
    /// The API server's name and port, as metrics call it.
    host: Arc<str>,
    measured: Option<Measured>,
}

impl fmt::Debug for ApiClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiClient")
            .field("user_agent", &self.user_agent)
            .finish_non_exhaustive()
    }
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) body: Bytes,
}

impl Reply {
    /// What a refusal says.
    pub(crate) fn refusal(&self) -> ApiStatus {
        ApiStatus::decode(self.status, &self.body)
    }

    /// How long the server asks to wait, from header or body.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        self.retry_after.or_else(|| self.refusal().retry_after())
    }
}

/// Why there is no whole answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SendError {
    /// The server certainly has not seen the request.
    #[error("not sent: {0}")]
    NotSent(NotSent),
    /// The server may have seen and may still carry out the request.
    #[error("{0}")]
    Unknown(String),
}

/// Why a request certainly never reached the server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotSent {
    /// The term does not allow writes any more: cancelled, or past its deadline.
    #[error("the term is over")]
    TermOver,
    /// No connection could be made.
    #[error("{0}")]
    NoConnection(String),
    /// Whoever asked for it took it back while it waited for its turn.
    #[error("it is no longer wanted")]
    Withdrawn,
}

impl ApiClient {
    /// A client over any stack of services, real or in process. Must be called within a tokio runtime when `client`
    /// was built there.
    pub fn new(client: kube::Client, clock: Arc<dyn Clock>) -> Self {
        let user_agent = HeaderValue::from_static("plimsoll");
        Self {
            client,
            clock,
            limit: None,
            user_agent,
            request_timeout: DEFAULT_REQUEST_TIMEOUT,
            host: Arc::from(""),
            measured: None,
        }
    }

    /// The same client to an API server with this name and port.
    #[must_use]
    pub fn to_host(self, host: &str) -> Self {
        Self {
            host: Arc::from(host),
            ..self
        }
    }

    /// The same client, whose requests are told of.
    #[must_use]
    pub fn measured_by(self, metrics: &Arc<RestClientMetrics>) -> Self {
        let measured = Measured::new(Arc::clone(metrics), Arc::clone(&self.host), Arc::clone(&self.clock));
        Self {
            measured: Some(measured),
            ..self
        }
    }

    /// The same client under `connection`'s limit of requests per second.
    #[must_use]
    pub fn with_rate_limit(self, connection: &ClientConnection) -> Self {
        Self {
            limit: RateLimit::new(connection).map(Arc::new),
            ..self
        }
    }

    /// The same client under another name.
    #[must_use]
    pub fn with_user_agent(self, user_agent: HeaderValue) -> Self {
        Self { user_agent, ..self }
    }

    /// The same client with another bound on requests that are no watch.
    #[must_use]
    pub fn with_request_timeout(self, request_timeout: Duration) -> Self {
        Self {
            request_timeout,
            ..self
        }
    }

    /// The clock that its deadlines are made of.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    pub(crate) fn request_timeout(&self) -> Duration {
        self.request_timeout
    }

    /// Sends one read, and collects the answer.
    pub(crate) async fn send(&self, request: Request<Bytes>) -> Result<Reply, SendError> {
        self.wait_for_turn(request.method()).await;
        self.exchange(request, self.request_timeout).await
    }

    /// Sends a write that belongs to no term: an event, which changes nothing that anybody decides by, a review, which changes
    /// nothing at all, or the lease, which the fence itself is made of.
    pub(crate) async fn send_unfenced(&self, Write(request): Write) -> Result<Reply, SendError> {
        self.send(request).await
    }

    /// Sends a write of a term: the guard is passed after the rate limit, immediately before the request goes.
    pub(crate) async fn send_fenced(&self, token: &Arc<TermToken>, request: Write) -> Result<Reply, SendError> {
        self.send_wanted(token, &CancellationToken::new(), request).await
    }

    /// As [`Self::send_fenced`], unless the write is withdrawn before its turn has come.
    pub(crate) async fn send_wanted(
        &self,
        token: &Arc<TermToken>,
        withdrawn: &CancellationToken,
        Write(mut request): Write,
    ) -> Result<Reply, SendError> {
        // A backlog behind the rate limit must not keep a term that is over from stopping.
        let over = token.cancellation();
        let turn = over.run_until_cancelled(withdrawn.run_until_cancelled(self.wait_for_turn(request.method())));
        let turn = turn.await;
        if withdrawn.is_cancelled() {
            return Err(SendError::NotSent(NotSent::Withdrawn));
        }
        let Some(write) = turn.and_then(|_| token.begin(self.clock.now())) else {
            return Err(SendError::NotSent(NotSent::TermOver));
        };
        request
            .extensions_mut()
            .insert(Fence::new(Arc::clone(token), Arc::clone(&self.clock)));
        let outcome = self.exchange(request, token.write_timeout()).await;
        let definite = match &outcome {
            Ok(reply) => is_definite(reply.status),
            Err(SendError::NotSent(_)) => true,
            Err(SendError::Unknown(_)) => false,
        };
        if definite {
            write.answered();
        }
        outcome
    }

    /// Sends a request whose answer is a stream. The time-out covers the way to the first byte.
    pub(crate) async fn open(&self, request: Request<Bytes>) -> Result<Response<Body>, SendError> {
        self.wait_for_turn(request.method()).await;
        let method = request.method().clone();
        let opened = match timeout(self.request_timeout, self.client.send(self.dress(request))).await {
            Ok(answer) => answer.map_err(|error| send_error(&error)),
            Err(_) => Err(SendError::Unknown("no answer in time".to_owned())),
        };
        if let Some(measured) = &self.measured {
            let code = opened.as_ref().ok().map(|answer| answer.status().as_u16());
            measured.opened(&method, code);
        }
        opened
    }

    async fn exchange(&self, request: Request<Bytes>, within: Duration) -> Result<Reply, SendError> {
        let Some(measured) = &self.measured else {
            return self.exchange_within(request, within).await;
        };
        let (method, sent, since) = (request.method().clone(), request.body().len(), measured.now());
        let outcome = self.exchange_within(request, within).await;
        measured.exchanged(&method, since, sent, &outcome);
        outcome
    }

    async fn exchange_within(&self, request: Request<Bytes>, within: Duration) -> Result<Reply, SendError> {
        let exchange = async {
            let response = self
                .client
                .send(self.dress(request))
                .await
                .map_err(|error| send_error(&error))?;
            whole(response).await
        };
        match timeout(within, exchange).await {
            Ok(outcome) => outcome,
            Err(_) => Err(SendError::Unknown("no answer in time".to_owned())),
        }
    }

    async fn wait_for_turn(&self, method: &Method) {
        let Some(limit) = &self.limit else { return };
        let since = self.measured.as_ref().map(Measured::now);
        limit.acquire().await;
        if let (Some(measured), Some(since)) = (&self.measured, since) {
            measured.waited(method, since);
        }
    }

    fn dress(&self, mut request: Request<Bytes>) -> Request<Body> {
        let headers = request.headers_mut();
        headers.insert(USER_AGENT, self.user_agent.clone());
        headers.entry(ACCEPT).or_insert(JSON);
        request.map(Body::from)
    }
}

/// Collects an answer. One that breaks off counts as none: its end may have told of a failure.
pub(crate) async fn whole(response: Response<Body>) -> Result<Reply, SendError> {
    let (head, body) = response.into_parts();
    let retry_after = retry_after(&head.headers);
    match body.collect().await {
        Ok(body) => Ok(Reply {
            status: head.status,
            retry_after,
            body: body.to_bytes(),
        }),
        Err(error) => Err(SendError::Unknown(format!(
            "answer {} was cut: {}",
            head.status,
            chain(&error)
        ))),
    }
}

/// Whether a status tells for certain if a write was applied. A server error or time-out does not.
pub(crate) fn is_definite(status: StatusCode) -> bool {
    !status.is_server_error() && status != StatusCode::REQUEST_TIMEOUT
}

/// `Retry-After` in seconds, as kube-apiserver sends it.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds: u32 = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(u64::from(seconds)))
}

fn send_error(error: &kube::Error) -> SendError {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(current) = source {
        if is_fence_closed(current) {
            return SendError::NotSent(NotSent::TermOver);
        }
        let never_connected = current
            .downcast_ref::<hyper_util::client::legacy::Error>()
            .is_some_and(hyper_util::client::legacy::Error::is_connect);
        if never_connected {
            return SendError::NotSent(NotSent::NoConnection(chain(error)));
        }
        source = current.source();
    }
    SendError::Unknown(chain(error))
}

/// Whether a fence kept the request back, at the connection or at its socket.
fn is_fence_closed(error: &(dyn std::error::Error + 'static)) -> bool {
    let at_the_socket = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    error.is::<FenceClosed>() || matches!(at_the_socket, Some(inner) if inner.is::<FenceClosed>())
}

/// An error with its causes, each once.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

/// A request that changes something: it goes with a term's token or is named an exception, and never like a read.
#[derive(Debug)]
pub(crate) struct Write(Request<Bytes>);

/// A request without a body.
pub(crate) fn get(path_and_query: &str) -> Request<Bytes> {
    request(Method::GET, path_and_query, Bytes::new(), None)
}

/// A request for a list of metadata.
pub(crate) fn get_metadata(path_and_query: &str) -> Request<Bytes> {
    let mut request = get(path_and_query);
    request.headers_mut().insert(ACCEPT, METADATA);
    request
}

/// A request that creates.
pub(crate) fn post(path_and_query: &str, body: Vec<u8>) -> Write {
    Write(request(Method::POST, path_and_query, body.into(), Some(JSON)))
}

/// A request that replaces.
pub(crate) fn put(path_and_query: &str, body: Vec<u8>) -> Write {
    Write(request(Method::PUT, path_and_query, body.into(), Some(JSON)))
}

/// A request that deletes.
pub(crate) fn delete(path_and_query: &str, body: Vec<u8>) -> Write {
    Write(request(Method::DELETE, path_and_query, body.into(), Some(JSON)))
}

/// A merge patch.
pub(crate) fn merge_patch(path_and_query: &str, body: Vec<u8>) -> Write {
    Write(request(Method::PATCH, path_and_query, body.into(), Some(MERGE)))
}

/// A strategic merge patch.
pub(crate) fn patch(path_and_query: &str, body: Vec<u8>) -> Write {
    Write(request(
        Method::PATCH,
        path_and_query,
        body.into(),
        Some(STRATEGIC_MERGE),
    ))
}

fn request(method: Method, path_and_query: &str, body: Bytes, content_type: Option<HeaderValue>) -> Request<Bytes> {
    let mut request = Request::new(body);
    *request.method_mut() = method;
    // Names that reach here are checked by the server that gave them; anything else goes to a path that is not there.
    *request.uri_mut() = path_and_query.parse().unwrap_or_default();
    if let Some(content_type) = content_type {
        request.headers_mut().insert(CONTENT_TYPE, content_type);
    }
    request
}
