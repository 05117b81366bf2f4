//! The server as a tower service: one request in, one response out, faults and time-outs in between.

use std::{
    error::Error,
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderValue, Response, header};
use http_body::Body;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::{
    sync::oneshot,
    time::{Instant, sleep, timeout_at},
};

use crate::{
    answer::{Answer, answer},
    body::ApiBody,
    fault::{Aftermath, Plan},
    fixed,
    list::{ListRequest, Version},
    request::{Request, Target},
    server::Shared,
    status::ApiError,
    watch::{FRESHNESS_TIMEOUT, WatchRequest, Watcher},
};

/// Largest request body, as kube-apiserver's default.
const MAX_BODY: usize = 3 * 1024 * 1024;

/// The connection was closed without an answer (an injected fault).
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLost;

impl fmt::Display for ConnectionLost {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("connection closed before the message completed")
    }
}

impl Error for ConnectionLost {}

/// The server in process. Usable with `kube::Client::new(server.service(), "default")`.
#[derive(Clone)]
pub struct ApiService {
    shared: Arc<Shared>,
}

impl fmt::Debug for ApiService {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ApiService").finish_non_exhaustive()
    }
}

/// A response under way.
pub type ResponseFuture = Pin<Box<dyn Future<Output = Result<Response<ApiBody>, ConnectionLost>> + Send>>;

impl ApiService {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    fn respond<B>(&self, request: http::Request<B>) -> ResponseFuture
    where
        B: Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let request = Request::new(parts);
            match read_body(body).await {
                Ok(body) => handle(shared, request, body).await,
                Err(error) => Ok(respond(Answer::error(&error))),
            }
        })
    }
}

impl<B> tower::Service<http::Request<B>> for ApiService
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Response = Response<ApiBody>;
    type Error = ConnectionLost;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectionLost>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> ResponseFuture {
        self.respond(request)
    }
}

impl<B> hyper::service::Service<http::Request<B>> for ApiService
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Response = Response<ApiBody>;
    type Error = ConnectionLost;
    type Future = ResponseFuture;

    fn call(&self, request: http::Request<B>) -> ResponseFuture {
        self.respond(request)
    }
}

async fn read_body<B>(body: B) -> Result<Bytes, ApiError>
where
    B: Body,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    match Limited::new(body, MAX_BODY).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(ApiError::with_code(
            http::StatusCode::PAYLOAD_TOO_LARGE,
            format!("Request entity too large: limit is {MAX_BODY}"),
        )),
        Err(error) => Err(ApiError::bad_request(error.to_string())),
    }
}

fn respond(answer: Answer) -> Response<ApiBody> {
    let mut response = Response::new(ApiBody::whole(answer.body));
    *response.status_mut() = answer.code;
    let headers = response.headers_mut();
    if let Ok(content_type) = HeaderValue::from_str(&answer.content_type) {
        headers.insert(header::CONTENT_TYPE, content_type);
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    if let Some(seconds) = answer.retry_after {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

async fn handle(shared: Arc<Shared>, request: Request, body: Bytes) -> Result<Response<ApiBody>, ConnectionLost> {
    if let Err(error) = shared.tokens.check(request.header(&header::AUTHORIZATION)) {
        return Ok(respond(Answer::error(&error)));
    }
    let Some(target) = request.target.clone() else {
        return Ok(respond(fixed::answer(&shared, &request, &body)));
    };
    let timeout = match request.timeout() {
        Ok(timeout) => timeout,
        Err(error) => return Ok(respond(Answer::error(&error))),
    };
    let mut plan = shared.faults.plan(&request);
    if request.verb() == "watch" {
        // A watch has no time-out but its own.
        hold_back(&shared, &plan).await;
        if request.query.flag("sendInitialEvents") {
            let version = request.query.get("resourceVersion").parse().unwrap_or(0);
            shared.reached(version, FRESHNESS_TIMEOUT).await;
        }
        return Ok(watch(&shared, &request, &target, plan));
    }
    let deadline = Instant::now() + timeout;
    if let Some(late) = plan.apply_late.take() {
        // Whatever else holds it up: applied by its time-out, or not at all.
        let after = (late + std::mem::take(&mut plan.delay)).min(timeout);
        return apply_late(shared, request, target, body, plan, after, deadline).await;
    }
    let timed_out = request.timeout_error();
    match timeout_at(deadline, run(&shared, &request, &target, &body, plan)).await {
        Ok(result) => result,
        Err(_) => Ok(respond(Answer::error(&timed_out))),
    }
}

async fn hold_back(shared: &Shared, plan: &Plan) {
    if !plan.delay.is_zero() {
        sleep(plan.delay).await;
    }
    for gate in &plan.holds {
        shared.faults.pass(gate).await;
    }
}

/// Goes through a request from its delays to its answer.
async fn run(
    shared: &Shared,
    request: &Request,
    target: &Target,
    body: &[u8],
    plan: Plan,
) -> Result<Response<ApiBody>, ConnectionLost> {
    hold_back(shared, &plan).await;
    if let Some(error) = plan.before {
        return Ok(respond(Answer::error(&error)));
    }
    await_version(shared, request, target).await;
    let answer = answer(shared, request, target, body, plan.watch.stale_by);
    match plan.after {
        Some(Aftermath::LoseReply) => Err(ConnectionLost),
        Some(Aftermath::Answer(error)) if answer.code.is_success() => Ok(respond(Answer::error(&error))),
        _ => Ok(respond(answer)),
    }
}

/// A list or get that asks for a version still to come waits a while for it.
async fn await_version(shared: &Shared, request: &Request, target: &Target) {
    if request.is_write() {
        return;
    }
    let wanted = match request.verb() {
        "list" => match ListRequest::parse(target, request).map(|list| list.version) {
            Ok(Version::NotOlderThan(rv)) => rv,
            _ => return,
        },
        _ => request.query.get("resourceVersion").parse().unwrap_or(0),
    };
    shared.reached(wanted, FRESHNESS_TIMEOUT).await;
}

fn watch(shared: &Arc<Shared>, request: &Request, target: &Target, plan: Plan) -> Response<ApiBody> {
    if let Some(error) = plan.before {
        return respond(Answer::error(&error));
    }
    if !target.resource.verbs.contains(&"watch") || !target.subresource.is_empty() {
        return respond(Answer::error(&ApiError::method_not_allowed()));
    }
    match WatchRequest::parse(target, request) {
        Ok(watch) => {
            let mut response = Response::new(ApiBody::watch(Watcher::start(shared, watch, plan.watch)));
            let headers = response.headers_mut();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
            response
        }
        Err(error) => respond(Answer::error(&error)),
    }
}

/// Applies a request after a while, in a task of its own: it goes on when the client has given up.
async fn apply_late(
    shared: Arc<Shared>,
    request: Request,
    target: Target,
    body: Bytes,
    plan: Plan,
    after: Duration,
    deadline: Instant,
) -> Result<Response<ApiBody>, ConnectionLost> {
    let (sender, receiver) = oneshot::channel();
    let timed_out = request.timeout_error();
    let owner = Arc::clone(&shared);
    owner.late.spawn(async move {
        sleep(after).await;
        // Nobody may be listening any more: that is what this fault is about.
        let _ = sender.send(run(&shared, &request, &target, &body, plan).await);
    });
    match timeout_at(deadline, receiver).await {
        Ok(Ok(result)) if Instant::now() < deadline => result,
        Ok(Err(_)) => Err(ConnectionLost),
        _ => Ok(respond(Answer::error(&timed_out))),
    }
}
