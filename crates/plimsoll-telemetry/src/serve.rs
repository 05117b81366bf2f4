//! The HTTPS server of a scheduler process.

mod chain;
mod guard;

#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{Either, select};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::chain::{Chain, Peer};
pub use self::guard::Guard;
use crate::tls::Tls;
use crate::{Endpoints, TlsError, TlsOptions};

/// A peer that does not finish its handshake in this time is let go.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// A peer that does not say what it wants in this time is let go, as in kube-scheduler.
const HEADERS: Duration = Duration::from_secs(32);
/// Requests under way have this long to end when the server does.
const GRACE: Duration = Duration::from_secs(5);
/// How many requests one connection may have at once, unless said otherwise, as in kube-scheduler.
const STREAMS: u32 = 100;
/// Connections that wait to be taken up.
const BACKLOG: u32 = 1024;

/// Where and how to serve.
#[derive(Debug, Clone)]
pub struct ServingOptions {
    /// Address and port.
    pub address: SocketAddr,
    /// How TLS is spoken.
    pub tls: TlsOptions,
    /// `--http2-max-streams-per-connection`; 0 leaves it to the server.
    pub http2_max_streams: u32,
    /// `--permit-port-sharing`: others may listen there too.
    pub port_sharing: bool,
}

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

    /// Waits until every connection has ended, after the token was cancelled: a few seconds at most.
    pub fn ended(&self) -> impl Future<Output = ()> + Send + 'static {
        let tasks = self.tasks.clone();
        async move {
            tasks.close();
            tasks.wait().await;
        }
    }
}

/// Serves the endpoints to those whom the guard lets through, over TLS, until `stop` is cancelled.
///
/// # Errors
/// When there is no certificate, or the address cannot be listened on.
pub async fn serve(
    options: ServingOptions,
    guard: Arc<Guard>,
    endpoints: Endpoints,
    stop: CancellationToken,
) -> Result<Serving, ServeError> {
    let address = options.address;
    let failed = |source| ServeError::Listen { address, source };
    let http2 = options.tls.http2;
    let server = Server {
        tls: Arc::new(Tls::new(options.tls)?),
        chain: Arc::new(Chain::new(Arc::clone(&guard), endpoints)),
        http2,
        streams: Some(options.http2_max_streams)
            .filter(|streams| *streams > 0)
            .unwrap_or(STREAMS),
        connections: TaskTracker::new(),
        stop,
        cut: CancellationToken::new(),
    };
    let listener = listen(address, options.port_sharing).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let tasks = TaskTracker::new();
    let stop = server.stop.clone();
    tasks.spawn(async move { guard.follow(&stop).await });
    tasks.spawn(server.accept(listener));
    Ok(Serving { address, tasks })
}

fn listen(address: SocketAddr, port_sharing: bool) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    // As Go and tokio do unasked: `--permit-address-sharing` has nothing to add.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    #[cfg(unix)]
    socket.set_reuseport(port_sharing)?;
    #[cfg(not(unix))]
    let _ = port_sharing;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

#[derive(Clone)]
struct Server {
    tls: Arc<Tls>,
    chain: Arc<Chain>,
    http2: bool,
    streams: u32,
    connections: TaskTracker,
    /// No more connections, and those that there are end with what they are at.
    stop: CancellationToken,
    /// Whatever they are at, they end.
    cut: CancellationToken,
}

impl Server {
    async fn accept(self, listener: TcpListener) {
        while let Some(accepted) = self.stop.run_until_cancelled(listener.accept()).await {
            let Ok((stream, peer)) = accepted else {
                // Out of file descriptors, most likely; give others time to close theirs.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            let connection = self.clone();
            self.connections.spawn(async move {
                let cut = connection.cut.clone();
                Box::pin(cut.run_until_cancelled(connection.handle(stream, peer))).await;
            });
        }
        drop(listener);
        tracing::info!("[graceful-termination] secure server has stopped listening");
        self.connections.close();
        if tokio::time::timeout(GRACE, self.connections.wait()).await.is_err() {
            self.cut.cancel();
            self.connections.wait().await;
        }
        tracing::info!("[graceful-termination] secure server is exiting");
    }

    async fn handle(self, stream: TcpStream, peer: SocketAddr) {
        let local = stream.local_addr().ok().map(|address| address.ip());
        let config = self.tls.config(local).await;
        let handshake = TlsAcceptor::from(config).accept(stream);
        let Some(Ok(Ok(stream))) = self
            .stop
            .run_until_cancelled(tokio::time::timeout(HANDSHAKE, handshake))
            .await
        else {
            return;
        };
        self.chain.refresh().await;
        self.speak(stream, peer).await;
    }

    async fn speak(self, stream: TlsStream<TcpStream>, peer: SocketAddr) {
        let certificates = stream.get_ref().1.peer_certificates();
        let peer = Arc::new(Peer {
            address: peer,
            certificates: certificates.map(<[_]>::to_vec).unwrap_or_default(),
        });
        let chain = self.chain;
        let service = TowerToHyperService::new(tower::service_fn(move |request: http::Request<Incoming>| {
            let (chain, peer) = (Arc::clone(&chain), Arc::clone(&peer));
            async move { Ok::<_, Infallible>(chain.answer(&peer, request).await) }
        }));
        let mut builder = Builder::new(TokioExecutor::new());
        if !self.http2 {
            builder = builder.http1_only();
        }
        builder.http1().timer(TokioTimer::new()).header_read_timeout(HEADERS);
        let streams = self.streams;
        builder.http2().timer(TokioTimer::new()).max_concurrent_streams(streams);
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        let mut connection = pin!(connection);
        // A connection that breaks is its peer's business.
        let stopping = {
            let stop = pin!(self.stop.cancelled());
            matches!(select(connection.as_mut(), stop).await, Either::Right(_))
        };
        if stopping {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}
