//! `HttpServer`: owns the listener for health checks, metrics and debugging. It asks the owners of state and never peeks.

mod owners;

use std::net::{Ipv6Addr, SocketAddr};
use std::sync::Arc;

use plimsoll_telemetry::{About, Endpoints, Guard, Metrics, Serving, ServingOptions};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio_util::sync::CancellationToken;

use self::owners::Owners;
use crate::elector::ElectorMessage;
use crate::explanation::Explainer;
use crate::informer_cache::CacheMessage;
use crate::mailbox::{Mailbox, Reply, Summary};
use crate::supervisor::SupervisorMessage;
use crate::tracer::Tracing;

/// Where and how to serve, and whom.
#[derive(Debug, Clone)]
pub struct Listen {
    /// Address, port and TLS.
    pub options: ServingOptions,
    /// Who may ask for what.
    pub guard: Arc<Guard>,
    /// What the process says of itself.
    pub about: Arc<About>,
    /// The host, without a port, under which others reach this replica; the address itself, unless it means every one.
    pub advertised: Option<String>,
}

impl Listen {
    /// Where others reach this replica, if that is known.
    pub fn url(&self) -> Option<String> {
        reached_at(self.options.address, self.advertised.as_deref())
    }
}

fn reached_at(address: SocketAddr, advertised: Option<&str>) -> Option<String> {
    let own = || Some(address.ip()).filter(|ip| !ip.is_unspecified());
    let host = advertised
        .map(str::to_owned)
        .or_else(|| own().map(|ip| ip.to_string()))?;
    let port = address.port();
    let is_v6 = host.parse::<Ipv6Addr>().is_ok();
    Some(if is_v6 {
        format!("https://[{host}]:{port}")
    } else {
        format!("https://{host}:{port}")
    })
}

/// What the server hears.
#[derive(Debug)]
pub enum HttpMessage {
    /// From outside: where does it listen? Answered at once.
    Address(Reply<SocketAddr>),
    /// From the supervisor: the process is to end, and is not ready for anything any more.
    ShuttingDown,
    /// From the supervisor: take no more requests, and answer when those under way are over, or five seconds are.
    Stop(Reply<()>),
}

impl Summary for HttpMessage {
    fn summary(&self) -> String {
        match self {
            Self::Address(_) => "Address",
            Self::ShuttingDown => "ShuttingDown",
            Self::Stop(_) => "Stop",
        }
        .to_owned()
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
    /// Whom the term is asked through.
    pub supervisor: Mailbox<SupervisorMessage>,
    /// Told of what is answered about pods.
    pub tracing: Option<Tracing>,
    /// Whether there is an election at all.
    pub leader_elect: bool,
    /// Whether debug endpoints are served.
    pub debug: bool,
    /// What `/metrics` shows.
    pub metrics: Arc<Metrics>,
}

/// What the server owns.
pub struct HttpServerState {
    mailbox: Mailbox<HttpMessage>,
    serving: Serving,
    shutting_down: CancellationToken,
    cancelled: CancellationToken,
}

impl Drop for HttpServerState {
    fn drop(&mut self) {
        self.cancelled.cancel();
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
        let explainer = Explainer {
            cache: arguments.cache.clone(),
            elector: arguments.elector.clone(),
            supervisor: arguments.supervisor.clone(),
            tracing: arguments.tracing,
        };
        let Listen {
            options, guard, about, ..
        } = arguments.listen;
        let shutting_down = CancellationToken::new();
        let owners = Owners {
            explainer,
            cache: arguments.cache,
            elector: arguments.elector,
            supervisor: arguments.supervisor,
            leader_elect: arguments.leader_elect,
            shutting_down: shutting_down.clone(),
            metrics: Arc::clone(&arguments.metrics),
        };
        let endpoints = Endpoints {
            state: Arc::new(owners),
            metrics: arguments.metrics,
            debug: arguments.debug,
            about,
        };
        let cancelled = CancellationToken::new();
        let serving = plimsoll_telemetry::serve(options, guard, endpoints, cancelled.clone()).await?;
        tracing::info!(address = %serving.address(), "Serving securely");
        Ok(HttpServerState {
            mailbox: arguments.mailbox,
            serving,
            shutting_down,
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
                reply.send(state.serving.address());
            }
            HttpMessage::ShuttingDown => state.shutting_down.cancel(),
            HttpMessage::Stop(reply) => {
                state.shutting_down.cancel();
                state.cancelled.cancel();
                state.serving.ended().await;
                reply.send(());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replica_is_reached_where_it_says_or_where_it_listens() {
        let url = |address: &str, advertised| reached_at(address.parse().unwrap(), advertised);
        let cases = [
            ("0.0.0.0:10259", None, None),
            ("[::]:10259", Some("10.0.0.7"), Some("https://10.0.0.7:10259")),
            ("[::]:10259", Some("fd00::7"), Some("https://[fd00::7]:10259")),
            ("10.0.0.1:444", Some("scheduler-0"), Some("https://scheduler-0:444")),
            ("10.0.0.1:444", None, Some("https://10.0.0.1:444")),
        ];
        for (address, advertised, expected) in cases {
            assert_eq!(
                url(address, advertised).as_deref(),
                expected,
                "{address} {advertised:?}"
            );
        }
    }
}
