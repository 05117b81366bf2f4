//! What is told of requests to the API server: client-go's families.

use std::borrow::Cow;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;

use crate::registrar::{Registrar, alpha};
use crate::vector::Vector;

const SECONDS: [f64; 12] = [0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0];
const BYTES: [f64; 11] = [
    64.0,
    256.0,
    512.0,
    1024.0,
    4096.0,
    16_384.0,
    65_536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
];

/// `rest_client_*`.
#[derive(Debug)]
pub struct RestClientMetrics {
    requests: Vector<Counter>,
    request_duration: Vector<Histogram>,
    rate_limiter_duration: Vector<Histogram>,
    request_size: Vector<Histogram>,
    response_size: Vector<Histogram>,
}

impl RestClientMetrics {
    pub(crate) fn new(registrar: &mut Registrar<'_>) -> Self {
        let seconds = || Histogram::new(SECONDS);
        let bytes = || Histogram::new(BYTES);
        Self {
            requests: registrar.many(
                alpha(
                    "rest_client_requests_total",
                    "Number of HTTP requests, partitioned by status code, method, and host.",
                ),
                &["code", "host", "method"],
                Counter::default,
            ),
            request_duration: registrar.many(
                alpha(
                    "rest_client_request_duration_seconds",
                    "Request latency in seconds. Broken down by verb, and host.",
                ),
                &["host", "verb"],
                seconds,
            ),
            rate_limiter_duration: registrar.many(
                alpha(
                    "rest_client_rate_limiter_duration_seconds",
                    "Client side rate limiter latency in seconds. Broken down by verb, and host.",
                ),
                &["host", "verb"],
                seconds,
            ),
            request_size: registrar.many(
                alpha(
                    "rest_client_request_size_bytes",
                    "Request size in bytes. Broken down by verb and host.",
                ),
                &["host", "verb"],
                bytes,
            ),
            response_size: registrar.many(
                alpha(
                    "rest_client_response_size_bytes",
                    "Response size in bytes. Broken down by verb and host.",
                ),
                &["host", "verb"],
                bytes,
            ),
        }
    }

    /// A request waited so long for its turn.
    pub fn waited(&self, host: &str, method: &str, took: Duration) {
        observe(&self.rate_limiter_duration, host, method, took.as_secs_f64());
    }

    /// A request came to an end, or the stream that it asks for began.
    pub fn ended(&self, host: &str, method: &str, code: Option<u16>) {
        let code = code.map_or(Cow::Borrowed("<error>"), |code| code.to_string().into());
        self.requests
            .with([code, host.to_owned().into(), method.to_owned().into()])
            .inc();
    }

    /// A request that is no stream took so long; `received` is how many bytes were the answer, if there was one.
    pub fn exchanged(&self, host: &str, method: &str, took: Duration, sent: usize, received: Option<usize>) {
        observe(&self.request_duration, host, method, took.as_secs_f64());
        observe(&self.request_size, host, method, bytes(sent));
        if let Some(received) = received {
            observe(&self.response_size, host, method, bytes(received));
        }
    }
}

fn observe(vector: &Vector<Histogram>, host: &str, method: &str, value: f64) {
    let labels = [host.to_owned().into(), method.to_owned().into()];
    vector.with(labels).observe(value);
}

fn bytes(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
