//! What every request passes before it is answered: a net for panics, a line in the log, and the guard.

use std::any::Any;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use http::{HeaderValue, Method, Request, StatusCode, header};
use http_body::Body;
use http_body_util::{BodyExt, Limited};
use rustls::pki_types::CertificateDer;
use tokio::time::Instant;

use super::Guard;
use crate::authentication::Credentials;
use crate::logs::V3;
use crate::page::{Page, error};
use crate::{Asked, Endpoints, Query};

/// No request has more to say than a level of verbosity.
const LONGEST_BODY: usize = 4096;

/// Who is at the other end of a connection.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) address: SocketAddr,
    /// What it has shown, its own first; nobody has looked who signed for them.
    pub(super) certificates: Vec<CertificateDer<'static>>,
}

/// The way of a request.
#[derive(Debug)]
pub(super) struct Chain {
    guard: Arc<Guard>,
    endpoints: Endpoints,
}

impl Chain {
    pub(super) fn new(guard: Arc<Guard>, endpoints: Endpoints) -> Self {
        Self { guard, endpoints }
    }

    pub(super) async fn refresh(&self) {
        self.guard.refresh().await;
    }

    /// Answers a request, whatever happens.
    pub(super) async fn answer<B>(&self, peer: &Peer, request: Request<B>) -> Page
    where
        B: Body<Data = Bytes> + Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let began = Instant::now();
        let method = request.method().clone();
        let uri = request.uri().clone();
        let agent = request.headers().get(header::USER_AGENT).cloned();
        let answer = AssertUnwindSafe(self.guarded(peer, request)).catch_unwind().await;
        let mut page = answer.unwrap_or_else(|panic| panicked(&method, uri.path(), panic.as_ref()));
        page.headers_mut()
            .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
        tracing::debug!(
            name: V3,
            verb = %method,
            URI = %uri,
            latency = ?began.elapsed(),
            userAgent = agent.as_ref().and_then(|agent| agent.to_str().ok()).unwrap_or_default(),
            srcIP = %peer.address,
            resp = page.status().as_u16(),
            "HTTP"
        );
        page
    }

    async fn guarded<B>(&self, peer: &Peer, request: Request<B>) -> Page
    where
        B: Body<Data = Bytes> + Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (head, body) = request.into_parts();
        let mut asked = Asked {
            path: head.uri.path().to_owned(),
            query: Query::parse(head.uri.query().unwrap_or_default()),
            method: head.method,
            headers: head.headers,
            body: Bytes::new(),
        };
        let credentials = Credentials {
            certificates: &peer.certificates,
            headers: &asked.headers,
        };
        if let Some(refusal) = self.guard.refusal(credentials, &asked).await {
            return refusal;
        }
        if asked.method == Method::PUT {
            asked.body = match Limited::new(body, LONGEST_BODY).collect().await {
                Ok(body) => body.to_bytes(),
                Err(why) => return error(StatusCode::BAD_REQUEST, &format!("error reading request body: {why}")),
            };
        }
        self.endpoints.answer(&asked).await
    }
}

fn panicked(method: &Method, path: &str, panic: &(dyn Any + Send)) -> Page {
    let what = panic.downcast_ref::<&str>().copied();
    let what = what.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    tracing::error!(%method, URI = path, panic = what.unwrap_or("?"), "A request made the server panic");
    let told = "This request caused apiserver to panic. Look in the logs for details.";
    error(StatusCode::INTERNAL_SERVER_ERROR, told)
}
