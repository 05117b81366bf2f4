//! `HttpServer`: owns the listener for health checks and metrics. It asks the owners of state and never peeks.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use plimsoll_telemetry::{Check, HealthSource, Metrics, Serving, TlsIdentity};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::elector::{ElectorMessage, ElectorView};
use crate::informer_cache::{CacheMessage, CacheView};
use crate::mailbox::{Mailbox, Summary};

/// An owner that has not answered for this long is not well.
const ASK: Duration = Duration::from_secs(2);

/// Where and how to serve.
#[derive(Debug, Clone)]
pub struct Listen {
    /// Address and port.
    pub address: SocketAddr,
    /// Certificate and key.
    pub tls: TlsIdentity,
}

/// What the server hears.
#[derive(Debug)]
pub enum HttpMessage {
    /// From outside: where does it listen? Answered at once.
    Address(oneshot::Sender<SocketAddr>),
}

impl Summary for HttpMessage {
    fn summary(&self) -> String {
        "Address".to_owned()
    }
}

/// The actor; its state is [`HttpServerState`].
#[derive(Debug)]
pub struct HttpServer;

/// What the server needs to start.
pub struct HttpServerArguments {
    /// Its own mailbox.
    pub mailbox: Mailbox<HttpMessage>,
    /// Where to serve.
    pub listen: Listen,
    /// Asked whether the caches are filled.
    pub cache: Mailbox<CacheMessage>,
    /// Asked whether election goes on.
    pub elector: Mailbox<ElectorMessage>,
    /// Whether there is an election at all.
    pub leader_elect: bool,
    /// What `/metrics` shows.
    pub metrics: Arc<Metrics>,
}

/// What the server owns.
pub struct HttpServerState {
    mailbox: Mailbox<HttpMessage>,
    serving: Serving,
    cancelled: CancellationToken,
}

impl Drop for HttpServerState {
    fn drop(&mut self) {
        self.cancelled.cancel();
    }
}

struct Owners {
    cache: Mailbox<CacheMessage>,
    elector: Mailbox<ElectorMessage>,
    leader_elect: bool,
}

async fn ask<T>(answer: oneshot::Receiver<T>) -> Option<T> {
    tokio::time::timeout(ASK, answer).await.ok().and_then(Result::ok)
}

impl Owners {
    async fn cache_view(&self) -> Option<CacheView> {
        let (reply, answer) = oneshot::channel();
        self.cache.tell(CacheMessage::View(reply));
        ask(answer).await
    }

    async fn elector_view(&self) -> Option<ElectorView> {
        let (reply, answer) = oneshot::channel();
        self.elector.tell(ElectorMessage::View(reply));
        ask(answer).await
    }

    async fn leader_election(&self) -> Option<Check> {
        if !self.leader_elect {
            return None;
        }
        let answers = self.elector_view().await.is_some();
        Some(Check::new(
            "leaderElection",
            if answers {
                Ok(())
            } else {
                Err("the elector does not answer".to_owned())
            },
        ))
    }
}

impl HealthSource for Owners {
    fn healthz(&self) -> BoxFuture<'_, Vec<Check>> {
        async {
            vec![
                self.leader_election()
                    .await
                    .unwrap_or_else(|| Check::new("ping", Ok(()))),
            ]
        }
        .boxed()
    }

    fn readyz(&self) -> BoxFuture<'_, Vec<Check>> {
        async {
            let synced = self.cache_view().await.is_some_and(|view| view.synced);
            let handlers = if synced {
                Ok(())
            } else {
                Err("handlers are not fully synchronized".to_owned())
            };
            let mut checks = Vec::from_iter(self.leader_election().await);
            checks.push(Check::new("shutdown", Ok(())));
            checks.push(Check::new("sched-handler-sync", handlers));
            checks
        }
        .boxed()
    }
}

impl Actor for HttpServer {
    type Msg = HttpMessage;
    type State = HttpServerState;
    type Arguments = HttpServerArguments;

    async fn pre_start(
        &self,
        _: ActorRef<HttpMessage>,
        arguments: HttpServerArguments,
    ) -> Result<HttpServerState, ActorProcessingErr> {
        let owners = Owners {
            cache: arguments.cache,
            elector: arguments.elector,
            leader_elect: arguments.leader_elect,
        };
        let cancelled = CancellationToken::new();
        let listen = arguments.listen;
        let serving = plimsoll_telemetry::serve(
            listen.address,
            &listen.tls,
            Arc::new(owners),
            arguments.metrics,
            cancelled.clone(),
        )
        .await?;
        tracing::info!(address = %serving.address(), "Serving securely");
        Ok(HttpServerState {
            mailbox: arguments.mailbox,
            serving,
            cancelled,
        })
    }

    async fn handle(
        &self,
        _: ActorRef<HttpMessage>,
        message: HttpMessage,
        state: &mut HttpServerState,
    ) -> Result<(), ActorProcessingErr> {
        state.mailbox.depth().taken();
        match message {
            HttpMessage::Address(reply) => {
                let _ = reply.send(state.serving.address());
            }
        }
        Ok(())
    }
}
