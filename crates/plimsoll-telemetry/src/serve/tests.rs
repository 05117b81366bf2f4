use std::sync::atomic::{AtomicU64, Ordering};

use futures::FutureExt;
use futures::future::BoxFuture;
use http_body_util::BodyExt;

use super::*;

/// Leads or not, and counts how often it was told of a scrape.
struct Known {
    leads: bool,
    scrapes: AtomicU64,
}

impl StateSource for Known {
    fn healthz(&self) -> BoxFuture<'_, Vec<Check>> {
        async { vec![Check::new("ping", Ok(()))] }.boxed()
    }

    fn readyz(&self) -> BoxFuture<'_, Vec<Check>> {
        async { vec![Check::new("sched-handler-sync", Err("not yet".to_owned()))] }.boxed()
    }

    fn before_scrape(&self) -> BoxFuture<'_, ()> {
        async {
            self.scrapes.fetch_add(1, Ordering::Relaxed);
        }
        .boxed()
    }

    fn audit(&self) -> BoxFuture<'_, Result<String, String>> {
        let answer = if self.leads {
            Ok("audit 3: nothing wrong\n".to_owned())
        } else {
            Err("this replica does not lead".to_owned())
        };
        async { answer }.boxed()
    }

    fn resources(&self) -> BoxFuture<'_, Result<String, String>> {
        async { Ok("# TYPE kube_pod_resource_request gauge\n".to_owned()) }.boxed()
    }

    fn waiting_pods(&self) -> BoxFuture<'_, Result<String, String>> {
        let answer = if self.leads {
            Ok("pods that wait at Permit: 0\n".to_owned())
        } else {
            Err("this replica does not lead".to_owned())
        };
        async { answer }.boxed()
    }
}

fn endpoints(leads: bool, debug: bool) -> (Arc<Known>, Endpoints) {
    let known = Arc::new(Known {
        leads,
        scrapes: AtomicU64::new(0),
    });
    let endpoints = Endpoints {
        state: Arc::clone(&known) as _,
        metrics: Arc::new(Metrics::new()),
        debug,
    };
    (known, endpoints)
}

fn get(endpoints: &Endpoints, path: &str) -> (u16, String) {
    ask(endpoints, Request::get(path).body(()).unwrap())
}

fn ask(endpoints: &Endpoints, request: Request<()>) -> (u16, String) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let response = endpoints.answer(request).await;
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    })
}

#[test]
fn an_audit_is_shown_by_a_leader_where_profiling_is_enabled() {
    let shown = (200, "audit 3: nothing wrong\n".to_owned());
    assert_eq!(get(&endpoints(true, true).1, "/debug/audit"), shown);
    let standby = (503, "this replica does not lead\n".to_owned());
    assert_eq!(get(&endpoints(false, true).1, "/debug/audit"), standby);
    assert_eq!(get(&endpoints(true, false).1, "/debug/audit").0, 404);
}

#[test]
fn pods_that_wait_at_permit_are_shown_by_a_leader_where_profiling_is_enabled() {
    let path = "/debug/waiting-pods";
    let shown = (200, "pods that wait at Permit: 0\n".to_owned());
    assert_eq!(get(&endpoints(true, true).1, path), shown);
    let standby = (503, "this replica does not lead\n".to_owned());
    assert_eq!(get(&endpoints(false, true).1, path), standby);
    assert_eq!(get(&endpoints(true, false).1, path).0, 404);
}

#[test]
fn gauges_that_need_a_walk_are_brought_up_to_date_for_each_scrape_and_for_nothing_else() {
    let (known, endpoints) = endpoints(true, true);
    for path in ["/healthz", "/livez", "/readyz", "/debug/audit"] {
        get(&endpoints, path);
    }
    assert_eq!(known.scrapes.load(Ordering::Relaxed), 0);
    assert_eq!(get(&endpoints, "/metrics").0, 200);
    assert_eq!(known.scrapes.load(Ordering::Relaxed), 1);
}

#[test]
fn one_check_alone_tells_why_it_fails() {
    let (_, endpoints) = endpoints(true, true);
    let told = (500, "internal server error: not yet\n".to_owned());
    assert_eq!(get(&endpoints, "/readyz/sched-handler-sync"), told);
    assert_eq!(
        get(&endpoints, "/readyz").1.lines().next().unwrap(),
        "[-]sched-handler-sync failed: reason withheld"
    );
}

#[test]
fn exemplars_are_for_scrapers_that_ask_for_open_metrics() {
    let (_, endpoints) = endpoints(true, false);
    let asked = |accept: &str| {
        let request = Request::get("/metrics").header("accept", accept);
        ask(&endpoints, request.body(()).unwrap()).1
    };
    let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1";
    assert!(asked(prometheus).ends_with("# EOF\n"));
    assert!(!asked("text/plain").contains("# EOF"));
}

#[test]
fn metrics_begin_anew_when_they_are_deleted() {
    let (_, endpoints) = endpoints(true, false);
    endpoints.metrics.undecodable_object("pods");
    assert!(get(&endpoints, "/metrics").1.contains("undecodable"));
    let delete = |path: &str| ask(&endpoints, Request::delete(path).body(()).unwrap());
    assert_eq!(delete("/metrics"), (200, "metrics reset\n".to_owned()));
    assert!(!get(&endpoints, "/metrics").1.contains("undecodable"));
    assert_eq!(delete("/metrics/resources").0, 200);
    assert_eq!(delete("/healthz").0, 405);
}

#[test]
fn health_checks_are_counted_for_those_who_measure_how_often_it_was_well() {
    let (_, endpoints) = endpoints(true, false);
    for path in ["/healthz", "/readyz", "/readyz?verbose"] {
        get(&endpoints, path);
    }
    let (_, slis) = get(&endpoints, "/metrics/slis");
    for line in [
        r#"kubernetes_healthcheck{name="ping",type="healthz"} 1"#,
        r#"kubernetes_healthcheck{name="sched-handler-sync",type="readyz"} 0"#,
        r#"kubernetes_healthchecks_total{name="sched-handler-sync",status="error",type="readyz"} 2"#,
    ] {
        assert!(slis.lines().any(|found| found == line), "{line} in {slis}");
    }
    let delete = Request::delete("/metrics/slis").body(()).unwrap();
    assert_eq!(ask(&endpoints, delete).0, 200);
    assert!(!get(&endpoints, "/metrics/slis").1.contains("kubernetes_healthcheck"));
}

#[test]
fn what_pods_ask_for_is_shown_by_whoever_knows_it() {
    let (_, endpoints) = endpoints(true, false);
    let shown = "# TYPE kube_pod_resource_request gauge\n".to_owned();
    assert_eq!(get(&endpoints, "/metrics/resources"), (200, shown));
}
