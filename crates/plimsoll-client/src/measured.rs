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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use plimsoll_config::ClientConnection;
    use plimsoll_model::{Moment, decode_pod};
    use plimsoll_telemetry::Metrics;

    use crate::TermToken;
    use crate::scripted::{Script, Step, pod};

    #[tokio::test(start_paused = true)]
    async fn requests_are_told_of_under_the_names_of_client_go() {
        let metrics = Metrics::new();
        let script = Script::new([Step::refusal(201, "", ""), Step::lost()]);
        let limit = ClientConnection {
            qps: 1.0,
            burst: 1,
            ..ClientConnection::default()
        };
        let client = script.client().to_host("10.0.0.1:6443").with_rate_limit(&limit);
        let client = client.measured_by(metrics.rest_client());
        let token = TermToken::new(1, Moment::ZERO, Duration::from_mins(1), Duration::from_secs(5));
        let pod = decode_pod(pod("a", 9).to_string().as_bytes()).unwrap();
        for _ in 0..2 {
            client.bind(&token, &pod, "n1").await;
        }
        let text = metrics.text().unwrap();
        for line in [
            r#"rest_client_requests_total{code="201",host="10.0.0.1:6443",method="POST"} 1"#,
            r#"rest_client_requests_total{code="<error>",host="10.0.0.1:6443",method="POST"} 1"#,
            r#"rest_client_request_duration_seconds_count{host="10.0.0.1:6443",verb="POST"} 2"#,
            r#"rest_client_request_size_bytes_count{host="10.0.0.1:6443",verb="POST"} 2"#,
            r#"rest_client_response_size_bytes_count{host="10.0.0.1:6443",verb="POST"} 1"#,
            r#"rest_client_rate_limiter_duration_seconds_bucket{host="10.0.0.1:6443",verb="POST",le="0.005"} 1"#,
            r#"rest_client_rate_limiter_duration_seconds_bucket{host="10.0.0.1:6443",verb="POST",le="2"} 2"#,
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
    }
}
