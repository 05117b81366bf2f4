use std::fmt;
use std::sync::Arc;

use http::Method;
use plimsoll_model::Moment;
use plimsoll_telemetry::RestClientMetrics;

use crate::Clock;
use crate::api_client::{Reply, SendError};

/// Tells of the requests of a client, under client-go's names.
#[derive(Clone)]
pub(crate) struct Measured {
    metrics: Arc<RestClientMetrics>,
    host: Arc<str>,
    clock: Arc<dyn Clock>,
}

impl fmt::Debug for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Measured")
            .field("host", &self.host)
            .finish_non_exhaustive()
    }
}

impl Measured {
    pub(crate) fn new(metrics: Arc<RestClientMetrics>, host: Arc<str>, clock: Arc<dyn Clock>) -> Self {
        Self { metrics, host, clock }
    }

    pub(crate) fn now(&self) -> Moment {
        self.clock.now()
    }

    /// A request has waited for its turn since then.
    pub(crate) fn waited(&self, method: &Method, since: Moment) {
        let took = self.clock.now().since(since);
        self.metrics.waited(&self.host, method.as_str(), took);
    }

    /// A request of so many bytes that went out then has its answer, or will have none. Nothing is told of one that did not go
    /// out.
    pub(crate) fn exchanged(&self, method: &Method, since: Moment, sent: usize, outcome: &Result<Reply, SendError>) {
        let (code, received) = match outcome {
            Ok(reply) => (Some(reply.status.as_u16()), Some(reply.body.len())),
            Err(_) => (None, None),
        };
        let (took, method) = (self.clock.now().since(since), method.as_str());
        self.metrics.ended(&self.host, method, code);
        self.metrics.exchanged(&self.host, method, took, sent, received);
    }

    /// The answer to a request for a stream begins with this status, or there is none.
    pub(crate) fn opened(&self, method: &Method, code: Option<u16>) {
        self.metrics.ended(&self.host, method.as_str(), code);
    }
}
