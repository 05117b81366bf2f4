use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt, TryFutureExt};
use http::Uri;
use hyper_rustls::MaybeHttpsStream;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tower::Service;

use crate::failure::{ConnectFailure, dial_failure, tls_failure};
use crate::tls::TlsOptions;

/// As Go's default dialer and transport; they matter only to an extender without a limit of time, or with a longer one.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// A connection that is silent for this long is probed, and given up after a few unanswered probes.
const KEEPALIVE: Duration = Duration::from_secs(15);

/// Makes connections to one extender. Directly: proxies in the environment are not used.
#[derive(Debug, Clone)]
pub(crate) struct Connector {
    http: HttpConnector,
    tls: Arc<TlsOptions>,
}

pub(crate) type Stream = MaybeHttpsStream<TokioIo<TcpStream>>;

impl Connector {
    pub(crate) fn new(tls: Arc<TlsOptions>) -> Self {
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_connect_timeout(Some(CONNECT_TIMEOUT));
        http.set_keepalive(Some(KEEPALIVE));
        http.set_keepalive_interval(Some(KEEPALIVE));
        http.set_keepalive_retries(Some(3));
        Self { http, tls }
    }
}

impl Service<Uri> for Connector {
    type Response = Stream;
    type Error = ConnectFailure;
    type Future = BoxFuture<'static, Result<Stream, ConnectFailure>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ConnectFailure>> {
        Pin::new(&mut self.http)
            .poll_ready(cx)
            .map_err(|error| ConnectFailure(error.to_string()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let is_https = uri.scheme_str() == Some("https");
        let address = format!(
            "{}:{}",
            uri.host().unwrap_or_default(),
            uri.port_u16().unwrap_or(if is_https { 443 } else { 80 })
        );
        let host = uri.host().unwrap_or_default().to_owned();
        let dialling = self.http.call(uri).map_err(move |error| dial_failure(&error, &address));
        if !is_https {
            return dialling.map_ok(MaybeHttpsStream::Http).boxed();
        }
        let tls = Arc::clone(&self.tls);
        async move {
            let name = match tls.server_name()? {
                Some(name) => name,
                None => server_name(&host)?,
            };
            let config = tls.client_config().await?;
            let stream = dialling.await?;
            let handshake = TlsConnector::from(config).connect(name, TokioIo::new(stream));
            let shaken = tokio::time::timeout(HANDSHAKE_TIMEOUT, handshake)
                .await
                .map_err(|_| ConnectFailure("net/http: TLS handshake timeout".to_owned()))?;
            Ok(MaybeHttpsStream::Https(TokioIo::new(
                shaken.map_err(|error| tls_failure(&error))?,
            )))
        }
        .boxed()
    }
}

/// The host of an address, an IPv6 one without its brackets.
fn server_name(host: &str) -> Result<ServerName<'static>, ConnectFailure> {
    let plain = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host);
    ServerName::try_from(plain.to_owned())
        .map_err(|_| ConnectFailure(format!("tls: {plain:?} is no name that a certificate could be for")))
}
