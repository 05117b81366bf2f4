use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};
use http_body_util::Full;

use super::{Endpoints, debugged, text};

const PROMETHEUS: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
const OPEN_METRICS: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");

/// What a scraper asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scrape {
    Metrics,
    /// The same with exemplars.
    OpenMetrics,
    Slis,
    Resources,
    Reset,
    ResetSlis,
    /// `/metrics/resources` keeps nothing that could begin anew.
    ResetNothing,
}

impl Scrape {
    /// None when the request is for something else.
    pub(super) fn asked(method: &Method, path: &str, headers: &HeaderMap) -> Option<Self> {
        let deletes = method == Method::DELETE;
        match path {
            "/metrics" if deletes => Some(Self::Reset),
            "/metrics" if wants_open_metrics(headers) => Some(Self::OpenMetrics),
            "/metrics" => Some(Self::Metrics),
            "/metrics/slis" if deletes => Some(Self::ResetSlis),
            "/metrics/slis" => Some(Self::Slis),
            "/metrics/resources" if deletes => Some(Self::ResetNothing),
            "/metrics/resources" => Some(Self::Resources),
            _ => None,
        }
    }
}

/// Prometheus names what it prefers first, and always Prometheus' own format behind it.
fn wants_open_metrics(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter();
    accepted
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|kind| kind.trim().starts_with("application/openmetrics-text"))
}

impl Endpoints {
    pub(super) async fn scraped(&self, scrape: Scrape) -> Response<Full<Bytes>> {
        match scrape {
            Scrape::Metrics => {
                self.state.before_scrape().await;
                written(self.metrics.text(), PROMETHEUS)
            }
            Scrape::OpenMetrics => {
                self.state.before_scrape().await;
                written(self.metrics.open_metrics(), OPEN_METRICS)
            }
            Scrape::Slis => written(self.metrics.health().text(), PROMETHEUS),
            Scrape::Resources => match self.state.resources().await {
                Ok(page) => written(Ok(page), PROMETHEUS),
                Err(reason) => debugged(Err(reason)),
            },
            Scrape::Reset => {
                self.metrics.reset();
                reset()
            }
            Scrape::ResetSlis => {
                self.metrics.health().reset();
                reset()
            }
            Scrape::ResetNothing => reset(),
        }
    }
}

fn written(page: Result<String, std::fmt::Error>, kind: HeaderValue) -> Response<Full<Bytes>> {
    match page {
        Ok(body) => {
            let mut response = text(StatusCode::OK, body);
            response.headers_mut().insert(header::CONTENT_TYPE, kind);
            response
        }
        Err(error) => text(
            StatusCode::INTERNAL_SERVER_ERROR,
            format!("encoding metrics: {error}\n"),
        ),
    }
}

fn reset() -> Response<Full<Bytes>> {
    text(StatusCode::OK, "metrics reset\n".to_owned())
}
