//! Serving over TCP: plain HTTP or TLS, HTTP/1.1 and HTTP/2.

mod certificate;

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use base64::{Engine, engine::general_purpose::STANDARD};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    time::sleep,
};
use tokio_rustls::TlsAcceptor;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{server::ApiServer, service::ApiService};
use certificate::Certificates;

/// How long open connections may finish what they are at after a shutdown began; watches end with it.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);
/// Pause after an accept that failed (out of file descriptors, usually).
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
const MAX_CONCURRENT_STREAMS: u32 = 1000;

/// Whether connections are encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tls {
    /// Plain HTTP.
    Off,
    /// TLS with a certificate from an authority made up at start and kept in memory.
    SelfSigned,
}

/// A listening server. Dropping it leaves it running; [`Serving::shutdown`] ends it.
#[derive(Debug)]
pub struct Serving {
    /// Where it listens.
    pub addr: SocketAddr,
    authority_pem: Option<String>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl ApiServer {
    /// Serves connections of a listener until [`Serving::shutdown`].
    ///
    /// # Errors
    /// When the listener has no address or no certificate can be made.
    pub fn serve(&self, listener: TcpListener, tls: Tls) -> io::Result<Serving> {
        let addr = listener.local_addr()?;
        let certificates = match tls {
            Tls::Off => None,
            Tls::SelfSigned => Some(Certificates::generate(addr.ip())?),
        };
        let acceptor = certificates.as_ref().map(|c| TlsAcceptor::from(Arc::clone(&c.server)));
        let serving = Serving {
            addr,
            authority_pem: certificates.map(|c| c.authority_pem),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        let accept = Accept {
            service: self.service(),
            acceptor,
            stop: serving.stop.clone(),
            tasks: serving.tasks.clone(),
        };
        serving.tasks.spawn(accept.run(listener));
        Ok(serving)
    }
}

impl Serving {
    /// `https://…` or `http://…`.
    pub fn url(&self) -> String {
        let scheme = if self.authority_pem.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.addr)
    }

    /// The authority that signed the server's certificate, in PEM; none without TLS.
    pub fn authority_pem(&self) -> Option<&str> {
        self.authority_pem.as_deref()
    }

    /// A kubeconfig for this server, for the user behind a bearer token or an anonymous one.
    pub fn kubeconfig(&self, token: Option<&str>) -> String {
        let authority = self.authority_pem.as_ref().map_or(String::new(), |pem| {
            format!("\n    certificate-authority-data: {}", STANDARD.encode(pem))
        });
        // kubectl prompts for a user when it is given none; the server ignores what it did not ask for.
        let user = token.map_or_else(
            || "\n    username: anonymous\n    password: anonymous".to_owned(),
            |token| format!("\n    token: {token}"),
        );
        format!(
            "apiVersion: v1\nkind: Config\nclusters:\n- name: plimsoll\n  cluster:\n    server: {}{authority}\n\
             users:\n- name: plimsoll\n  user:{user}\n\
             contexts:\n- name: plimsoll\n  context:\n    cluster: plimsoll\n    user: plimsoll\n\
             current-context: plimsoll\n",
            self.url()
        )
    }

    /// Stops accepting, lets requests under way finish for a moment, and closes what is left.
    pub async fn shutdown(self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

struct Accept {
    service: ApiService,
    acceptor: Option<TlsAcceptor>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Accept {
    async fn run(self, listener: TcpListener) {
        while let Some(accepted) = self.stop.run_until_cancelled(listener.accept()).await {
            match accepted {
                Ok((stream, _)) => self.serve(stream),
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    fn serve(&self, stream: TcpStream) {
        let (service, stop) = (self.service.clone(), self.stop.clone());
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "cannot set TCP_NODELAY");
        }
        match self.acceptor.clone() {
            None => {
                self.tasks.spawn(serve_connection(stream, service, stop));
            }
            Some(acceptor) => {
                self.tasks.spawn(async move {
                    match stop.run_until_cancelled(acceptor.accept(stream)).await {
                        Some(Ok(stream)) => serve_connection(stream, service, stop.clone()).await,
                        Some(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
                        None => {}
                    }
                });
            }
        }
    }
}

async fn serve_connection<I>(io: I, service: ApiService, stop: CancellationToken)
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new());
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_CONCURRENT_STREAMS);
    let connection = builder.serve_connection(TokioIo::new(io), service);
    let mut connection = std::pin::pin!(connection);
    let finished = stop.run_until_cancelled(connection.as_mut()).await;
    let result = if let Some(result) = finished {
        result
    } else {
        connection.as_mut().graceful_shutdown();
        // A watch would go on for many minutes: it is cut.
        tokio::time::timeout(SHUTDOWN_GRACE, connection).await.unwrap_or(Ok(()))
    };
    if let Err(error) = result {
        tracing::debug!(%error, "connection ended with an error");
    }
}
