use std::sync::{Arc, Mutex, PoisonError};

use futures::future::join_all;
use plimsoll_config::{ExtenderConfig, ExtenderTls};
use plimsoll_framework::{Extender, ExtenderAnswer, ExtenderCall, ExtenderRequest};

use crate::Gate;
use crate::client::{CallError, ExtenderClient};
use crate::reply::{ReplyError, binding_error, filter_reply, host_priorities, preemption_reply};
use crate::request::{NotKept, request};
use crate::tls::{SetupError, TlsOptions};

/// Extenders to which connections are kept; beyond, those to the ones asked longest ago are closed. Configurations that were
/// replaced leave some behind.
const CLIENTS: usize = 64;

/// Calls extenders over HTTP.
///
/// What is promised of each call: it ends within [`Extender::time_limit`], the sending of the request and the reading of the
/// reply included; it takes memory for no more than 64 MiB beyond the size of the request; and whatever comes back is an
/// answer or a text. Connections are kept open between calls, HTTP/1.1, an extender's own.
///
/// Cheap to clone; clones share the connections.
#[derive(Debug, Clone, Default)]
pub struct HttpExtenders {
    clients: Arc<Mutex<Vec<Known>>>,
}

/// An extender that was called before. The one called last comes first.
type Known = (Reached, Arc<ExtenderClient>);

/// Everything that connections to an extender depend on.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Reached {
    url_prefix: String,
    enable_https: bool,
    tls_config: Option<ExtenderTls>,
}

impl HttpExtenders {
    /// Whether the extender could be called as far as its configuration tells: the files that it names are there and hold what
    /// they should. kube-scheduler does not start without.
    pub async fn check(config: &ExtenderConfig) -> Result<(), SetupError> {
        TlsOptions::new(config).check().await
    }

    /// Performs the calls, side by side. The answers come in their order.
    pub async fn perform(&self, requests: Vec<ExtenderRequest>) -> Vec<Result<ExtenderAnswer, String>> {
        join_all(requests.iter().map(|request| self.call(request, None))).await
    }

    /// The same for calls that may be sent only as long as the gate is open. One that was not is [`ExtenderAnswer::NotBound`]
    /// when it was to bind a pod, else a failure.
    pub async fn perform_while(
        &self,
        requests: Vec<ExtenderRequest>,
        gate: Gate,
    ) -> Vec<Result<ExtenderAnswer, String>> {
        join_all(requests.iter().map(|request| self.call(request, Some(gate.clone())))).await
    }

    async fn call(&self, request: &ExtenderRequest, gate: Option<Gate>) -> Result<ExtenderAnswer, String> {
        let ExtenderRequest { extender, call } = request;
        match self.exchange(extender, call, gate).await {
            Ok(answer) => Ok(answer),
            // It is certain that the extender did not bind the pod, so nobody has to wait for news of it.
            Err(failure) if matches!(call, ExtenderCall::Bind { .. }) && failure.was_never_sent() => {
                Ok(ExtenderAnswer::NotBound(failure.to_string()))
            }
            Err(failure) => Err(failure.to_string()),
        }
    }

    async fn exchange(
        &self,
        extender: &Extender,
        call: &ExtenderCall,
        gate: Option<Gate>,
    ) -> Result<ExtenderAnswer, Failure> {
        let body = request(call, extender.node_cache_capable())?;
        let client = self.client(extender.config());
        let reply = client
            .call(verb(extender, call), body, gate, extender.time_limit())
            .await?;
        answer(extender, call, &reply)
    }

    fn client(&self, config: &ExtenderConfig) -> Arc<ExtenderClient> {
        let reached = Reached {
            url_prefix: config.url_prefix.clone(),
            enable_https: config.enable_https,
            tls_config: config.tls_config.clone(),
        };
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let known = clients.iter().position(|(known, _)| *known == reached);
        let entry = match known {
            Some(index) => clients.remove(index),
            None => (reached, Arc::new(ExtenderClient::new(config))),
        };
        let client = Arc::clone(&entry.1);
        clients.insert(0, entry);
        clients.truncate(CLIENTS);
        client
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    NotKept(#[from] NotKept),
    #[error(transparent)]
    Call(#[from] CallError),
    #[error(transparent)]
    Reply(#[from] ReplyError),
    /// The extender says so.
    #[error("{0}")]
    Reported(String),
}

impl Failure {
    fn was_never_sent(&self) -> bool {
        match self {
            Self::NotKept(_) => true,
            Self::Call(error) => error.was_never_sent(),
            Self::Reply(_) | Self::Reported(_) => false,
        }
    }
}

fn verb<'a>(extender: &'a Extender, call: &ExtenderCall) -> &'a str {
    let config = extender.config();
    match call {
        ExtenderCall::Filter { .. } => &config.filter_verb,
        ExtenderCall::Prioritize { .. } => &config.prioritize_verb,
        ExtenderCall::Bind { .. } => &config.bind_verb,
        ExtenderCall::Preempt { .. } => &config.preempt_verb,
    }
}

fn answer(extender: &Extender, call: &ExtenderCall, reply: &[u8]) -> Result<ExtenderAnswer, Failure> {
    match call {
        ExtenderCall::Filter { .. } => {
            let mut reply = filter_reply(reply)?;
            if !reply.error.is_empty() {
                return Err(Failure::Reported(reply.error));
            }
            Ok(ExtenderAnswer::Filtered {
                nodes: reply.passing(extender.node_cache_capable()),
                failed: reply.failed.into_iter().collect(),
                unresolvable: reply.unresolvable.into_iter().collect(),
            })
        }
        ExtenderCall::Prioritize { .. } => Ok(ExtenderAnswer::Prioritized(host_priorities(reply)?)),
        ExtenderCall::Bind { .. } => {
            let error = binding_error(reply)?;
            Ok(if error.is_empty() {
                ExtenderAnswer::Bound
            } else {
                ExtenderAnswer::NotBound(error)
            })
        }
        ExtenderCall::Preempt { .. } => Ok(ExtenderAnswer::Preempted(preemption_reply(reply)?)),
    }
}
