//! Whom the HTTP server asks: the owners of what it shows.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use plimsoll_config::SchedulerConfig;
use plimsoll_telemetry::{Check, DebugView, Document, Metrics, PageOf, StateSource};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::elector::{ElectorMessage, ElectorView};
use crate::explanation::Explainer;
use crate::informer_cache::{CacheMessage, CacheView};
use crate::mailbox::{Mailbox, Reply};
use crate::resource_page::resource_page;
use crate::supervisor::SupervisorMessage;
use crate::term::Question;

/// The name under which answers come.
const ASKER: &str = "HttpServer";

/// An owner that has not answered for this long is not well.
const ASK: Duration = Duration::from_secs(2);

/// An audit takes as long as it takes three busy actors to take up a message each.
const AUDIT: Duration = Duration::from_secs(20);

pub(super) struct Owners {
    pub(super) cache: Mailbox<CacheMessage>,
    pub(super) elector: Mailbox<ElectorMessage>,
    pub(super) supervisor: Mailbox<SupervisorMessage>,
    pub(super) explainer: Explainer,
    pub(super) leader_elect: bool,
    pub(super) shutting_down: CancellationToken,
    pub(super) metrics: Arc<Metrics>,
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

/// Whether the process goes on.
fn shutdown(shutting_down: &CancellationToken) -> Result<(), String> {
    if shutting_down.is_cancelled() {
        Err("process is shutting down".to_owned())
    } else {
        Ok(())
    }
}

/// What `/configz` shows. Keys of extenders are nobody's business.
fn configz(config: &SchedulerConfig) -> Value {
    let mut shown = config.to_json();
    hide_keys(&mut shown);
    json!({ "componentconfig": shown })
}

fn hide_keys(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("keyData");
            fields.values_mut().for_each(hide_keys);
        }
        Value::Array(items) => items.iter_mut().for_each(hide_keys),
        _ => {}
    }
}

/// What came back, or why nothing did.
async fn answered<T>(answer: oneshot::Receiver<T>, nobody: &str) -> Result<T, String> {
    match tokio::time::timeout(ASK, answer).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(_)) => Err(nobody.to_owned()),
        Err(_) => Err(format!("no answer within {} s", ASK.as_secs())),
    }
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
            checks.push(Check::new("shutdown", shutdown(&self.shutting_down)));
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

    fn configz(&self) -> BoxFuture<'_, Result<Value, String>> {
        async {
            let answer = self.supervisor.ask(ASKER, SupervisorMessage::Config);
            let assembled = answered(answer, "the supervisor does not answer").await?;
            Ok(configz(&assembled.config))
        }
        .boxed()
    }

    fn debug_view(&self, view: DebugView, page: PageOf) -> BoxFuture<'_, Result<Value, String>> {
        async move {
            let standby = "this replica does not lead";
            let no_cache = "this replica has no cache yet";
            match view {
                DebugView::Pods => {
                    let answer = self.cache.ask(ASKER, |reply| CacheMessage::ListPods(page, reply));
                    Ok(answered(answer, no_cache).await?.to_json())
                }
                DebugView::Nodes => {
                    let answer = self.cache.ask(ASKER, |reply| CacheMessage::ListNodes(page, reply));
                    Ok(answered(answer, no_cache).await?.to_json())
                }
                DebugView::Queue => {
                    let answer = self.ask_term(|reply| Question::Queue(page, reply));
                    Ok(answered(answer, standby).await?.to_json())
                }
                DebugView::WaitingPods => {
                    let answer = self.ask_term(Question::WaitingPods);
                    Ok(answered(answer, standby).await?.to_json(&page))
                }
                DebugView::Columns => {
                    let answer = self.ask_term(|reply| Question::Nodes(page, reply));
                    Ok(answered(answer, standby).await?.to_json())
                }
                DebugView::Terms => {
                    let answer = self.supervisor.ask(ASKER, SupervisorMessage::Terms);
                    let terms = answered(answer, "the supervisor does not answer").await?;
                    Ok(terms.to_json(&page))
                }
            }
        }
        .boxed()
    }

    fn explain<'a>(&'a self, pod: Option<&'a str>) -> BoxFuture<'a, Document> {
        self.explainer.answer(pod).boxed()
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
            holder_address: None,
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
    fn a_process_that_shuts_down_is_not_ready() {
        let shutting_down = CancellationToken::new();
        assert_eq!(shutdown(&shutting_down), Ok(()));
        shutting_down.cancel();
        assert_eq!(shutdown(&shutting_down), Err("process is shutting down".to_owned()));
    }

    #[test]
    fn the_configuration_is_shown_without_the_keys_of_extenders() {
        let text = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n\
                    extenders:\n- urlPrefix: https://e\n  tlsConfig: {keyData: c2VjcmV0, certData: Y2VydA==}\n";
        let config = plimsoll_config::load(text, &plimsoll_config::FeatureGates::default()).unwrap();
        let shown = configz(&config);
        let config = &shown["componentconfig"];
        assert_eq!(config["kind"], "KubeSchedulerConfiguration");
        assert_eq!(config["extenders"][0]["tlsConfig"], json!({ "certData": "Y2VydA==" }));
        assert_eq!(config["profiles"][0]["schedulerName"], "default-scheduler");
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
