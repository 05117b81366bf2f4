use http::{HeaderMap, Method, StatusCode, header};

use super::Endpoints;
use crate::page::{Page, answered, page, text};

const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

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
    pub(super) async fn scraped(&self, scrape: Scrape) -> Page {
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
            Scrape::Resources => answered(self.state.resources().await, |body| {
                page(StatusCode::OK, PROMETHEUS, body)
            }),
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

fn written(body: Result<String, std::fmt::Error>, content_type: &'static str) -> Page {
    match body {
        Ok(body) => page(StatusCode::OK, content_type, body),
        Err(error) => text(
            StatusCode::INTERNAL_SERVER_ERROR,
            format!("encoding metrics: {error}\n"),
        ),
    }
}

fn reset() -> Page {
    text(StatusCode::OK, "metrics reset\n")
}
