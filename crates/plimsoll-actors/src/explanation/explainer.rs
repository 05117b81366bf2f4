//! Asks the owners of a pod's state, and answers for a replica that does not lead.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use plimsoll_model::{ObjectName, Pod};
use plimsoll_telemetry::Document;
use serde::Serialize;
use tokio::sync::oneshot;

use super::{Explanation, Facts, NotLeading, explain, unknown};
use crate::attempt_record::PodIdentity;
use crate::elector::{ElectorMessage, ElectorView};
use crate::informer_cache::CacheMessage;
use crate::mailbox::{Mailbox, Reply};
use crate::supervisor::SupervisorMessage;
use crate::term::Question;
use crate::trace_context::TraceContext;
use crate::tracer::{ExplainedRecord, TracerMessage, Tracing};

/// The name under which answers come.
const ASKER: &str = "Explainer";

/// An owner that has not answered for this long does not.
const PATIENCE: Duration = Duration::from_secs(2);

/// Why there is no explanation, for people.
#[derive(Serialize)]
struct Refusal {
    error: String,
}

/// Answers `/debug/explain`: a handle that asks whoever knows.
#[derive(Debug, Clone)]
pub struct Explainer {
    /// Asked for the pod.
    pub(crate) cache: Mailbox<CacheMessage>,
    /// Asked who leads.
    pub(crate) elector: Mailbox<ElectorMessage>,
    /// Whom the term is asked through.
    pub(crate) supervisor: Mailbox<SupervisorMessage>,
    /// What is told is in the pod's trace too; none if nobody takes traces.
    pub(crate) tracing: Option<Tracing>,
}

async fn ask<T>(answer: oneshot::Receiver<T>) -> Option<T> {
    tokio::time::timeout(PATIENCE, answer).await.ok().and_then(Result::ok)
}

impl Explainer {
    /// The answer to a question about a pod, `namespace/name`: 200 with an [`Explanation`](super::Explanation), 404 with one
    /// of a pod that is not known, 503 with [`NotLeading`] on a replica that does not lead, 400 without the name of a pod, 504
    /// when somebody who would know does not answer.
    pub async fn answer(&self, asked: Option<&str>) -> Document {
        let Some(name) = asked.and_then(parse) else {
            let error = "name a pod, as in /debug/explain?pod=NAMESPACE/NAME".to_owned();
            return document(StatusCode::BAD_REQUEST, &Refusal { error });
        };
        let Some(elector) = ask(self.elector.ask(ASKER, ElectorMessage::View)).await else {
            return silent("the elector");
        };
        if !elector.leading {
            return document(StatusCode::SERVICE_UNAVAILABLE, &not_leading(elector));
        }
        let Some(found) = ask(self.cache.ask(ASKER, |reply| CacheMessage::Pod(name.clone(), reply))).await else {
            return silent("the cache");
        };
        let Some(pod) = found else {
            return document(StatusCode::NOT_FOUND, &unknown(&name));
        };
        match self.facts(pod).await {
            Some(facts) => {
                let explanation = explain(&facts);
                let answer = document(StatusCode::OK, &explanation);
                self.trace(&facts, explanation);
                answer
            }
            None => silent("the term, which may have begun just now,"),
        }
    }

    fn trace(&self, facts: &Facts, explanation: Explanation) {
        if let Some(tracing) = &self.tracing {
            let record = ExplainedRecord {
                trace: TraceContext::of(&facts.pod),
                pod: PodIdentity::of(&facts.pod),
                at: facts.cycle.at,
                explanation,
            };
            tracing.tell(TracerMessage::Explained(Box::new(record)));
        }
    }

    /// Without a term the question is dropped.
    fn ask_term<T>(&self, question: impl FnOnce(Reply<T>) -> Question) -> oneshot::Receiver<T> {
        let question = |reply| SupervisorMessage::Ask(question(reply));
        self.supervisor.ask(ASKER, question)
    }

    /// All are asked at once, so that what they tell is of about the same time.
    async fn facts(&self, pod: Arc<Pod>) -> Option<Facts> {
        let uid = &pod.uid;
        let account = self.ask_term(|reply| Question::Account(uid.clone(), reply));
        let victims = self.ask_term(|reply| Question::Victims(uid.clone(), reply));
        let cycle = self.ask_term(|reply| Question::Explain(Arc::clone(&pod), reply));
        let (account, victims, cycle) = futures::future::join3(ask(account), ask(victims), ask(cycle)).await;
        Some(Facts {
            account: account?.map(|account| *account),
            victims: victims?,
            cycle: *cycle?,
            pod,
        })
    }
}

fn parse(text: &str) -> Option<ObjectName> {
    let (namespace, name) = text.split_once('/')?;
    let is_name = |part: &str| !part.is_empty() && !part.contains('/');
    (is_name(namespace) && is_name(name)).then(|| ObjectName::new(namespace, name))
}

fn not_leading(elector: ElectorView) -> NotLeading {
    let error = match elector.holder.as_str() {
        "" => "this replica does not lead, and nobody else is known to".to_owned(),
        holder => format!("this replica does not lead; {holder} does"),
    };
    NotLeading {
        error,
        leader_address: elector.holder_address,
        leader: elector.holder,
    }
}

fn silent(who: &str) -> Document {
    let error = format!("{who} has not answered within {} s; ask again", PATIENCE.as_secs());
    document(StatusCode::GATEWAY_TIMEOUT, &Refusal { error })
}

fn document(status: StatusCode, answer: &impl Serialize) -> Document {
    match serde_json::to_string_pretty(answer) {
        Ok(json) => Document {
            status,
            json: json + "\n",
        },
        Err(error) => Document {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            json: format!("{{\"error\": {:?}}}\n", error.to_string()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_named_by_namespace_and_name() {
        assert_eq!(parse("shop/web"), Some(ObjectName::new("shop", "web")));
        for bad in ["", "web", "shop/", "/web", "shop/web/x"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_standby_says_who_leads_and_where() {
        let view = |holder: &str, address: Option<&str>| ElectorView {
            leading: false,
            holder: holder.to_owned(),
            holder_address: address.map(str::to_owned),
            overdue: false,
            candidate_known: None,
        };
        let json = |view| serde_json::to_value(not_leading(view)).unwrap();
        assert_eq!(
            json(view("a_1", Some("https://10.0.0.1:10259"))),
            serde_json::json!({
                "error": "this replica does not lead; a_1 does",
                "leader": "a_1",
                "leaderAddress": "https://10.0.0.1:10259",
            })
        );
        assert_eq!(
            json(view("", None)),
            serde_json::json!({
                "error": "this replica does not lead, and nobody else is known to",
                "leader": "",
            })
        );
    }
}
