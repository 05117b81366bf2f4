//! The HTTPS server of a scheduler process.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::health::{Check, answer};
use crate::{Metrics, StateSource, TlsError, TlsIdentity};
use scrape::Scrape;

mod scrape;

/// A peer that does not finish its handshake in this time is let go.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Why the server does not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is taken or not ours.
    #[error("listening on {address}: {source}; choose another --secure-port or --bind-address")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why not.
        source: std::io::Error,
    },
    /// No certificate.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// A running server; it ends with the token it was given.
#[derive(Debug)]
pub struct Serving {
    address: SocketAddr,
    tasks: TaskTracker,
}

impl Serving {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until every connection has ended, after the token was cancelled.
    pub async fn ended(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// What is served.
#[derive(Clone)]
pub struct Endpoints {
    /// Who is asked.
    pub state: Arc<dyn StateSource>,
    /// What `/metrics` shows.
    pub metrics: Arc<Metrics>,
    /// Whether `/debug/…` is there: kube-scheduler has it only where profiling is enabled.
    pub debug: bool,
}

/// Serves `/healthz`, `/livez`, `/readyz`, `/metrics` with `/slis` and `/resources` below it, `/debug/audit` and `/debug/waiting-pods` over TLS until `stop` is cancelled.
pub async fn serve(
    address: SocketAddr,
    identity: &TlsIdentity,
    endpoints: Endpoints,
    stop: CancellationToken,
) -> Result<Serving, ServeError> {
    let acceptor = TlsAcceptor::from(identity.server_config()?);
    let listener = TcpListener::bind(address)
        .await
        .map_err(|source| ServeError::Listen { address, source })?;
    let address = listener
        .local_addr()
        .map_err(|source| ServeError::Listen { address, source })?;
    let tasks = TaskTracker::new();
    tasks.spawn(accept(listener, acceptor, endpoints, tasks.clone(), stop));
    Ok(Serving { address, tasks })
}

async fn accept(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    endpoints: Endpoints,
    tasks: TaskTracker,
    stop: CancellationToken,
) {
    while let Some(accepted) = stop.run_until_cancelled(listener.accept()).await {
        let Ok((stream, _)) = accepted else {
            // Out of file descriptors, most likely; give others time to close theirs.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let acceptor = acceptor.clone();
        let endpoints = endpoints.clone();
        let stop = stop.clone();
        tasks.spawn(async move {
            let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await else {
                return;
            };
            let service = TowerToHyperService::new(tower::service_fn(move |request| {
                let endpoints = endpoints.clone();
                async move { Ok::<_, Infallible>(endpoints.answer(request).await) }
            }));
            let builder = Builder::new(TokioExecutor::new());
            let connection = builder.serve_connection(TokioIo::new(stream), service);
            // A connection that breaks is its peer's business.
            let _ = stop.run_until_cancelled(connection).await;
        });
    }
    tracing::info!("[graceful-termination] secure server has stopped listening");
}

impl Endpoints {
    fn health_of(&self, query: &str, endpoint: &'static str, checks: &[Check]) -> Response<Full<Bytes>> {
        self.metrics.health().checked(endpoint, checks);
        health(query, endpoint, checks)
    }

    async fn answer<B>(&self, request: Request<B>) -> Response<Full<Bytes>> {
        let (method, path, headers) = (request.method(), request.uri().path(), request.headers());
        if let Some(scrape) = Scrape::asked(method, path, headers) {
            return self.scraped(scrape).await;
        }
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return text(StatusCode::METHOD_NOT_ALLOWED, "405 method not allowed\n".to_owned());
        }
        let query = request.uri().query().unwrap_or_default();
        match request.uri().path() {
            "/healthz" => self.health_of(query, "healthz", &self.state.healthz().await),
            "/livez" => self.health_of(query, "livez", &[Check::new("ping", Ok(()))]),
            "/readyz" => self.health_of(query, "readyz", &self.state.readyz().await),
            "/debug/audit" if self.debug => debugged(self.state.audit().await),
            "/debug/waiting-pods" if self.debug => debugged(self.state.waiting_pods().await),
            path => {
                let single = path.strip_prefix("/healthz/").map(|name| (name, self.state.healthz()));
                let single = single.or_else(|| path.strip_prefix("/readyz/").map(|name| (name, self.state.readyz())));
                let Some((name, checks)) = single else {
                    return not_found();
                };
                checks
                    .await
                    .into_iter()
                    .find(|check| check.name == name)
                    .map_or_else(not_found, one_check)
            }
        }
    }
}

fn health(query: &str, endpoint: &str, checks: &[Check]) -> Response<Full<Bytes>> {
    let mut verbose = false;
    let mut excluded = Vec::new();
    for pair in query.split('&') {
        match pair.split_once('=').unwrap_or((pair, "")) {
            ("verbose", _) => verbose = true,
            ("exclude", name) => excluded.push(name.to_owned()),
            _ => {}
        }
    }
    let (well, body) = answer(endpoint, checks, verbose, &excluded);
    text(
        if well {
            StatusCode::OK
        } else {
            StatusCode::INTERNAL_SERVER_ERROR
        },
        body,
    )
}

fn one_check(check: Check) -> Response<Full<Bytes>> {
    match check.result {
        Ok(()) => text(StatusCode::OK, "ok".to_owned()),
        Err(error) => text(
            StatusCode::INTERNAL_SERVER_ERROR,
            format!("internal server error: {error}\n"),
        ),
    }
}

fn debugged(answer: Result<String, String>) -> Response<Full<Bytes>> {
    match answer {
        Ok(shown) => text(StatusCode::OK, shown),
        Err(reason) => text(StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")),
    }
}

fn not_found() -> Response<Full<Bytes>> {
    text(StatusCode::NOT_FOUND, "404 page not found\n".to_owned())
}

fn text(status: StatusCode, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        header::HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    headers.insert(
        header::CACHE_CONTROL,
        header::HeaderValue::from_static("no-cache, private"),
    );
    response
}

#[cfg(test)]
mod tests;
