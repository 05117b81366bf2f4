use http::StatusCode;

use super::scrape::Scrape;
use super::{Asked, Endpoints, flags_page, health_pages, pprof_pages, statusz};
use crate::page::{JSON, Page, answered, error, json, not_found, page, text};
use crate::{Check, DebugView, PageOf};

/// First parts of the paths that `/statusz` lists, as kube-scheduler does: nothing below `/debug`, and not itself.
pub(super) const LISTED: [&str; 6] = ["configz", "flagz", "healthz", "livez", "metrics", "readyz"];

impl Endpoints {
    /// The one place where paths are told apart. A page of its own comes in as a line here, with a method of
    /// [`StateSource`](crate::StateSource) when somebody has to be asked for it.
    pub(super) async fn route(&self, asked: &Asked) -> Page {
        if let Some(scrape) = Scrape::asked(&asked.method, &asked.path, &asked.headers) {
            return self.scraped(scrape).await;
        }
        match asked.path.as_str() {
            "/healthz" => self.health(asked, "healthz", &self.state.healthz().await),
            "/livez" => self.health(asked, "livez", &[ping()]),
            "/readyz" => self.health(asked, "readyz", &self.state.readyz().await),
            "/configz" => answered(self.state.configz().await, |shown| json(StatusCode::OK, &shown)),
            "/flagz" => flags_page::flagz(&self.about, &asked.headers),
            "/statusz" => statusz::statusz(&self.about, &asked.headers),
            "/debug/explain" => {
                let explained = self.state.explain(asked.query.first("pod")).await;
                page(explained.status, JSON, explained.json)
            }
            path if path.starts_with("/debug/") || path == "/debug" => self.debug_route(asked).await,
            path => self.single_check(path).await,
        }
    }

    /// Pages that are there only where profiling is enabled.
    async fn debug_route(&self, asked: &Asked) -> Page {
        if !self.debug {
            return not_found();
        }
        match asked.path.as_str() {
            "/debug/audit" => shown(self.state.audit().await),
            "/debug/waiting-pods" => self.view(asked, DebugView::WaitingPods).await,
            "/debug/queue" => self.view(asked, DebugView::Queue).await,
            "/debug/cache/pods" => self.view(asked, DebugView::Pods).await,
            "/debug/cache/nodes" => self.view(asked, DebugView::Nodes).await,
            "/debug/columns" => self.view(asked, DebugView::Columns).await,
            "/debug/terms" => self.view(asked, DebugView::Terms).await,
            "/debug/flags" | "/debug/flags/" => flags_page::index(),
            "/debug/flags/v" => flags_page::put_verbosity(asked),
            "/debug/pprof" => pprof_pages::to_index(),
            path => match path.strip_prefix("/debug/pprof/") {
                Some(name) => pprof_pages::profile(name, &asked.query).await,
                None => not_found(),
            },
        }
    }

    fn health(&self, asked: &Asked, endpoint: &'static str, checks: &[Check]) -> Page {
        self.metrics.health().checked(endpoint, checks);
        health_pages::all(asked, endpoint, checks)
    }

    async fn single_check(&self, path: &str) -> Page {
        let (checks, name) = if let Some(name) = path.strip_prefix("/healthz/") {
            (self.state.healthz().await, name)
        } else if let Some(name) = path.strip_prefix("/readyz/") {
            (self.state.readyz().await, name)
        } else if let Some(name) = path.strip_prefix("/livez/") {
            (vec![ping()], name)
        } else {
            return not_found();
        };
        let named = checks.into_iter().find(|check| check.name == name);
        named.map_or_else(not_found, health_pages::one)
    }

    async fn view(&self, asked: &Asked, view: DebugView) -> Page {
        match PageOf::asked(&asked.query) {
            Ok(of) => answered(self.state.debug_view(view, of).await, |shown| {
                json(StatusCode::OK, &shown)
            }),
            Err(reason) => error(StatusCode::BAD_REQUEST, &reason),
        }
    }
}

fn ping() -> Check {
    Check::new("ping", Ok(()))
}

fn shown(answer: Result<String, String>) -> Page {
    answered(answer, |shown| text(StatusCode::OK, shown))
}
