//! `HttpServer`: owns the listener for health checks, metrics and debugging. It asks the owners of state and never peeks.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use plimsoll_telemetry::{Check, Endpoints, Metrics, Serving, StateSource, TlsIdentity};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::elector::{ElectorMessage, ElectorView};
use crate::informer_cache::{CacheMessage, CacheView};
use crate::mailbox::{Mailbox, Reply, Summary};
use crate::resource_page::resource_page;
use crate::supervisor::SupervisorMessage;
use crate::term::Question;

/// The name under which answers come.
const ASKER: &str = "HttpServer";

/// An owner that has not answered for this long is not well.
const ASK: Duration = Duration::from_secs(2);

/// An audit takes as long as it takes three busy actors to take up a message each.
const AUDIT: Duration = Duration::from_secs(20);

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
    Address(Reply<SocketAddr>),
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
    /// Whom the term is asked through.
    pub supervisor: Mailbox<SupervisorMessage>,
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
    supervisor: Mailbox<SupervisorMessage>,
    leader_elect: bool,
    metrics: Arc<Metrics>,
}

async fn ask<T>(answer: oneshot::Receiver<T>) -> Option<T> {
    tokio::time::timeout(ASK, answer).await.ok().and_then(Result::ok)
}

impl Owners {
    /// Without a term the question is dropped.
    fn ask_term<T>(&self, question: impl FnOnce(Reply<T>) -> Question) -> oneshot::Receiver<T> {
        self.supervisor
            .ask(ASKER, |reply| SupervisorMessage::Ask(question(reply)))
    }

    async fn cache_view(&self) -> Option<CacheView> {
        ask(self.cache.ask(ASKER, CacheMessage::View)).await
    }

    async fn elector_view(&self) -> Option<ElectorView> {
        ask(self.elector.ask(ASKER, ElectorMessage::View)).await
    }

    /// The checks that the elector answers for: `leaderElection`, and with a coordinator `informer-sync`.
    async fn leader_election(&self) -> Option<(Check, Option<Check>)> {
        if !self.leader_elect {
            return None;
        }
        let view = self.elector_view().await;
        let informers = view.as_ref().and_then(candidate);
        Some((Check::new("leaderElection", renewal(view.as_ref())), informers))
    }
}

/// Whether the elector answers, and no term has outlived its lease by far.
fn renewal(elector: Option<&ElectorView>) -> Result<(), String> {
    match elector {
        None => Err("the elector does not answer".to_owned()),
        Some(view) if view.overdue => Err("failed election to renew leadership on lease kube-scheduler".to_owned()),
        Some(_) => Ok(()),
    }
}

/// Whether the API server has told of the candidate of this replica, if it needs one.
fn candidate(elector: &ElectorView) -> Option<Check> {
    let known = elector.candidate_known?;
    let not_started = "1 informers not started yet: [*v1beta1.LeaseCandidate]";
    let result = if known { Ok(()) } else { Err(not_started.to_owned()) };
    Some(Check::new("informer-sync", result))
}

/// Whether the caches are filled and being kept so.
fn handlers(cache: Option<&CacheView>) -> Result<(), String> {
    let not_synced = "handlers are not fully synchronized";
    match cache {
        Some(view) if !view.forbidden.is_empty() => {
            let forbidden = view.forbidden.iter();
            let told: Vec<_> = forbidden
                .map(|(kind, reason)| format!("{} may not be read ({reason})", kind.as_str()))
                .collect();
            Err(format!("{not_synced}: {}", told.join("; ")))
        }
        Some(view) if view.synced => Ok(()),
        _ => Err(not_synced.to_owned()),
    }
}

impl StateSource for Owners {
    fn healthz(&self) -> BoxFuture<'_, Vec<Check>> {
        async {
            let election = self.leader_election().await;
            vec![election.map_or_else(|| Check::new("ping", Ok(())), |(check, _)| check)]
        }
        .boxed()
    }

    fn readyz(&self) -> BoxFuture<'_, Vec<Check>> {
        async {
            let handlers = handlers(self.cache_view().await.as_ref());
            let (election, informers) = self.leader_election().await.unzip();
            let mut checks = Vec::from_iter(election);
            checks.push(Check::new("shutdown", Ok(())));
            checks.push(Check::new("sched-handler-sync", handlers));
            checks.extend(informers.flatten());
            checks
        }
        .boxed()
    }

    fn before_scrape(&self) -> BoxFuture<'_, ()> {
        async {
            let answer = self.ask_term(Question::InFlightEvents);
            // Without a term nobody answers, and there is nothing to show.
            let events = ask(answer).await.unwrap_or_default();
            self.metrics.queue().in_flight_events(&events);
        }
        .boxed()
    }

    fn audit(&self) -> BoxFuture<'_, Result<String, String>> {
        async {
            let answer = self.ask_term(Question::Audit);
            match tokio::time::timeout(AUDIT, answer).await {
                Ok(Ok(report)) => Ok(report.to_string()),
                Ok(Err(_)) => Err("no audit: this replica does not lead".to_owned()),
                Err(_) => Err(format!("the audit did not come round within {} s", AUDIT.as_secs())),
            }
        }
        .boxed()
    }

    fn resources(&self) -> BoxFuture<'_, Result<String, String>> {
        async {
            if self.leader_elect && !self.elector_view().await.is_some_and(|view| view.leading) {
                return Ok(String::new());
            }
            let pods = tokio::time::timeout(ASK, self.cache.ask(ASKER, CacheMessage::EveryPod));
            match pods.await {
                Ok(Ok(pods)) => Ok(resource_page(&pods)),
                _ => Err(format!("the cache has not told of pods within {} s", ASK.as_secs())),
            }
        }
        .boxed()
    }

    fn waiting_pods(&self) -> BoxFuture<'_, Result<String, String>> {
        async {
            let answer = self.ask_term(Question::WaitingPods);
            match tokio::time::timeout(ASK, answer).await {
                Ok(Ok(report)) => Ok(report.to_string()),
                Ok(Err(_)) => Err("no pods wait here: this replica does not lead".to_owned()),
                Err(_) => Err(format!("no answer within {} s", ASK.as_secs())),
            }
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
            supervisor: arguments.supervisor,
            leader_elect: arguments.leader_elect,
            metrics: Arc::clone(&arguments.metrics),
        };
        let endpoints = Endpoints {
            state: Arc::new(owners),
            metrics: arguments.metrics,
            debug: arguments.debug,
        };
        let cancelled = CancellationToken::new();
        let listen = arguments.listen;
        let serving = plimsoll_telemetry::serve(listen.address, &listen.tls, endpoints, cancelled.clone()).await?;
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
                reply.send(state.serving.address());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::informer_cache::Kind;

    fn elector(overdue: bool, candidate_known: Option<bool>) -> ElectorView {
        ElectorView {
            leading: true,
            holder: "us".to_owned(),
            overdue,
            candidate_known,
        }
    }

    #[test]
    fn the_leader_election_check_fails_for_a_term_that_outlives_its_lease_and_a_dumb_elector() {
        assert_eq!(renewal(Some(&elector(false, None))), Ok(()));
        let failed = "failed election to renew leadership on lease kube-scheduler";
        assert_eq!(renewal(Some(&elector(true, None))), Err(failed.to_owned()));
        assert_eq!(renewal(None), Err("the elector does not answer".to_owned()));
    }

    #[test]
    fn with_a_coordinator_a_replica_is_ready_when_the_api_server_knows_its_candidate() {
        assert_eq!(candidate(&elector(false, None)), None);
        assert_eq!(
            candidate(&elector(false, Some(true))),
            Some(Check::new("informer-sync", Ok(())))
        );
        let not_started = "1 informers not started yet: [*v1beta1.LeaseCandidate]";
        assert_eq!(
            candidate(&elector(false, Some(false))),
            Some(Check::new("informer-sync", Err(not_started.to_owned())))
        );
    }

    #[test]
    fn readiness_names_the_kinds_that_may_not_be_read() {
        let view = |synced, forbidden: &[(Kind, &str)]| CacheView {
            pods: 0,
            nodes: 0,
            synced,
            forbidden: forbidden.iter().map(|(kind, why)| (*kind, (*why).to_owned())).collect(),
        };
        let not_synced = "handlers are not fully synchronized";
        assert_eq!(handlers(Some(&view(true, &[]))), Ok(()));
        assert_eq!(handlers(Some(&view(false, &[]))), Err(not_synced.to_owned()));
        assert_eq!(handlers(None), Err(not_synced.to_owned()));
        // Also when it could once be read, and what is known of it grows old.
        for synced in [false, true] {
            let forbidden = view(synced, &[(Kind::Nodes, "403: no"), (Kind::Pods, "403: nor that")]);
            let told = "nodes may not be read (403: no); pods may not be read (403: nor that)";
            assert_eq!(handlers(Some(&forbidden)), Err(format!("{not_synced}: {told}")));
        }
    }
}
