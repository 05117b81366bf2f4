//! The way between one machine and the API server, which a test can cut.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::stream;
use http::header::{HeaderValue, USER_AGENT};
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, StreamBody};
use plimsoll_apiserver::{ApiBody, BodyCut};
use tokio::sync::Notify;
use tower::Service;

/// Open or cut. While it is cut nothing passes in either direction and nobody is told: requests wait before they are
/// handed to the connection, answers and watch events after they were sent. Clones share one state.
#[derive(Debug, Clone)]
pub struct Link(Arc<State>);

#[derive(Debug)]
struct State {
    open: AtomicBool,
    panic_at: Mutex<Option<&'static str>>,
    /// Wakes who waits in the order in which they came: a `watch` does so in an order of chance, and no run would replay.
    mended: Notify,
}

impl Default for Link {
    fn default() -> Self {
        Self(Arc::new(State {
            open: AtomicBool::new(true),
            panic_at: Mutex::default(),
            mended: Notify::new(),
        }))
    }
}

impl Link {
    /// Lets nothing pass.
    pub fn cut(&self) {
        self.0.open.store(false, Ordering::Relaxed);
    }

    /// Lets everything pass, what has waited first.
    pub fn mend(&self) {
        self.0.open.store(true, Ordering::Relaxed);
        self.0.mended.notify_waiters();
    }

    /// The next request whose path ends so panics on its way: a bug in the client, which ends the task that sent it.
    pub fn panic_at(&self, path: &'static str) {
        *self.0.panic_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(path);
    }

    fn panic_if_asked(&self, path: &str) {
        let mut panic_at = self.0.panic_at.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = panic_at.take_if(|end| path.ends_with(*end)).is_some();
        drop(panic_at);
        assert!(!asked, "a bug in the client, at {path}");
    }

    /// Whether it is open.
    pub fn is_open(&self) -> bool {
        self.0.open.load(Ordering::Relaxed)
    }

    async fn passable(&self) {
        loop {
            // Made before the look, so that no mending falls between the two.
            let mended = self.0.mended.notified();
            if self.is_open() {
                return;
            }
            mended.await;
        }
    }
}

/// A service behind a link. It signs requests with the machine's name.
#[derive(Debug, Clone)]
pub struct Linked<S> {
    inner: S,
    link: Link,
    name: Arc<str>,
}

impl<S> Linked<S> {
    /// Puts `link` in front of `inner`.
    pub fn new(inner: S, link: Link, name: &str) -> Self {
        Self {
            inner,
            link,
            name: Arc::from(name),
        }
    }

    fn sign<B>(&self, request: &mut Request<B>) {
        let agent = request.headers().get(USER_AGENT);
        let agent = agent.and_then(|agent| agent.to_str().ok()).unwrap_or_default();
        if let Ok(signed) = HeaderValue::from_str(&format!("{agent} {}", self.name)) {
            request.headers_mut().insert(USER_AGENT, signed);
        }
    }
}

type Answer<E> = Pin<Box<dyn Future<Output = Result<Response<LinkedBody>, E>> + Send>>;

/// A body that comes through a link.
pub type LinkedBody = UnsyncBoxBody<Bytes, BodyCut>;

impl<S, B> Service<Request<B>> for Linked<S>
where
    S: Service<Request<B>, Response = Response<ApiBody>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Send,
    B: Send + 'static,
{
    type Response = Response<LinkedBody>;
    type Error = S::Error;
    type Future = Answer<S::Error>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Answer<S::Error> {
        self.sign(&mut request);
        self.link.panic_if_asked(request.uri().path());
        let mut inner = self.inner.clone();
        let link = self.link.clone();
        Box::pin(async move {
            link.passable().await;
            let answer = inner.call(request).await;
            link.passable().await;
            answer.map(|response| response.map(|body| through(body, link)))
        })
    }
}

fn through(body: ApiBody, link: Link) -> LinkedBody {
    let frames = stream::unfold((body, link), |(mut body, link)| async move {
        let frame = body.frame().await;
        link.passable().await;
        frame.map(|frame| (frame, (body, link)))
    });
    StreamBody::new(frames).boxed_unsync()
}
