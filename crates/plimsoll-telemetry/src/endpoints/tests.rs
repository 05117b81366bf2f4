use std::sync::atomic::{AtomicU64, Ordering};

use futures::FutureExt;
use futures::future::BoxFuture;
use http::{HeaderValue, StatusCode, header};
use http_body_util::BodyExt;
use serde_json::{Value, json};

use super::*;
use crate::{Check, DebugView, Document, PageOf};

/// Leads or not, and counts how often it was told of a scrape.
struct Known {
    leads: bool,
    scrapes: AtomicU64,
}

impl Known {
    fn tell<T>(&self, shown: T) -> BoxFuture<'_, Result<T, String>>
    where
        T: Send + 'static,
    {
        let leads = self.leads;
        async move {
            leads
                .then_some(shown)
                .ok_or_else(|| "this replica does not lead".to_owned())
        }
        .boxed()
    }
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

    fn configz(&self) -> BoxFuture<'_, Result<Value, String>> {
        self.tell(json!({ "componentconfig": { "parallelism": 16 } }))
    }

    fn audit(&self) -> BoxFuture<'_, Result<String, String>> {
        self.tell("audit 3: nothing wrong\n".to_owned())
    }

    fn explain<'a>(&'a self, pod: Option<&'a str>) -> BoxFuture<'a, Document> {
        let status = match (pod, self.leads) {
            (None, _) => StatusCode::BAD_REQUEST,
            (_, false) => StatusCode::SERVICE_UNAVAILABLE,
            (_, true) => StatusCode::OK,
        };
        let json = format!("{pod:?}");
        async move { Document { status, json } }.boxed()
    }

    fn resources(&self) -> BoxFuture<'_, Result<String, String>> {
        self.tell("# TYPE kube_pod_resource_request gauge\n".to_owned())
    }

    fn debug_view(&self, view: DebugView, page: PageOf) -> BoxFuture<'_, Result<Value, String>> {
        self.tell(json!({ "view": format!("{view:?}"), "limit": page.limit, "after": page.after }))
    }
}

fn endpoints(leads: bool, debug: bool) -> (Arc<Known>, Endpoints) {
    let known = Arc::new(Known {
        leads,
        scrapes: AtomicU64::new(0),
    });
    let flag = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let endpoints = Endpoints {
        state: Arc::clone(&known) as _,
        metrics: Arc::new(Metrics::new()),
        debug,
        about: Arc::new(About {
            component: "plimsoll",
            version: "v0.1.0".to_owned(),
            built_with: "Rust 1.95".to_owned(),
            emulation_version: "1.36".to_owned(),
            started: "2026-11-28T10:00:00.5Z".parse().unwrap(),
            began: Instant::now(),
            flags: Some([flag("v", "2"), flag("config", "/a")].into()),
            statusz: true,
        }),
    };
    (known, endpoints)
}

fn asked(path_and_query: &str) -> Asked {
    let (path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
    Asked {
        method: Method::GET,
        path: path.to_owned(),
        query: Query::parse(query),
        headers: HeaderMap::new(),
        body: Bytes::new(),
    }
}

async fn answer(endpoints: &Endpoints, asked: &Asked) -> (u16, String) {
    let page = endpoints.answer(asked).await;
    let status = page.status().as_u16();
    let body = page.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

async fn get(endpoints: &Endpoints, path: &str) -> (u16, String) {
    answer(endpoints, &asked(path)).await
}

fn standby() -> (u16, String) {
    (503, "this replica does not lead\n".to_owned())
}

#[tokio::test]
async fn an_audit_is_shown_by_a_leader_where_profiling_is_enabled() {
    let shown = (200, "audit 3: nothing wrong\n".to_owned());
    assert_eq!(get(&endpoints(true, true).1, "/debug/audit").await, shown);
    assert_eq!(get(&endpoints(false, true).1, "/debug/audit").await, standby());
    assert_eq!(get(&endpoints(true, false).1, "/debug/audit").await.0, 404);
}

#[tokio::test]
async fn what_actors_own_is_shown_by_the_page_where_profiling_is_enabled() {
    let (_, leader) = endpoints(true, true);
    for (path, view) in [
        ("/debug/queue", "Queue"),
        ("/debug/waiting-pods", "WaitingPods"),
        ("/debug/cache/pods", "Pods"),
        ("/debug/cache/nodes", "Nodes"),
        ("/debug/columns", "Columns"),
        ("/debug/terms", "Terms"),
    ] {
        let (status, body) = get(&leader, &format!("{path}?limit=7&continue=a/b")).await;
        let shown: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(
            (status, shown),
            (200, json!({ "view": view, "limit": 7, "after": "a/b" }))
        );
        assert_eq!(get(&leader, &format!("{path}?limit=x")).await.0, 400);
        assert_eq!(get(&endpoints(false, true).1, path).await, standby());
        assert_eq!(get(&endpoints(true, false).1, path).await.0, 404);
    }
}

#[tokio::test]
async fn gauges_that_need_a_walk_are_brought_up_to_date_for_each_scrape_and_for_nothing_else() {
    let (known, endpoints) = endpoints(true, true);
    for path in ["/healthz", "/livez", "/readyz", "/debug/audit"] {
        get(&endpoints, path).await;
    }
    assert_eq!(known.scrapes.load(Ordering::Relaxed), 0);
    assert_eq!(get(&endpoints, "/metrics").await.0, 200);
    assert_eq!(known.scrapes.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn one_check_alone_tells_why_it_fails() {
    let (_, endpoints) = endpoints(true, true);
    let told = (500, "internal server error: not yet\n".to_owned());
    assert_eq!(get(&endpoints, "/readyz/sched-handler-sync").await, told);
    for path in ["/livez/ping", "/healthz/ping"] {
        assert_eq!(get(&endpoints, path).await, (200, "ok".to_owned()));
    }
    assert_eq!(get(&endpoints, "/livez/sched-handler-sync").await.0, 404);
    assert_eq!(
        get(&endpoints, "/readyz").await.1.lines().next().unwrap(),
        "[-]sched-handler-sync failed: reason withheld"
    );
    assert_eq!(
        get(&endpoints, "/readyz?verbose&exclude=sched-handler-sync").await.1,
        "[+]sched-handler-sync excluded: ok\nreadyz check passed\n"
    );
}

#[tokio::test]
async fn the_configuration_in_use_is_shown_as_json() {
    let (_, endpoints) = endpoints(true, false);
    let shown = "{\"componentconfig\":{\"parallelism\":16}}\n".to_owned();
    assert_eq!(get(&endpoints, "/configz").await, (200, shown));
}

fn structured(path: &str, kind: &str, version: &str) -> Asked {
    let mut asked = asked(path);
    let accept = format!("application/json;v={version};g=config.k8s.io;as={kind}");
    asked.headers.insert(header::ACCEPT, accept.parse().unwrap());
    asked
}

#[tokio::test]
async fn flags_are_told_as_text_and_as_json() {
    let (_, endpoints) = endpoints(true, false);
    let (status, text) = get(&endpoints, "/flagz").await;
    assert_eq!(status, 200);
    assert!(
        text.starts_with("\nplimsoll flagz\nWarning: This endpoint is not meant to be"),
        "{text}"
    );
    let flags: Vec<_> = text.lines().skip(3).collect();
    assert!(
        flags[0].starts_with("config") && flags[0].ends_with("/a") && flags[1].ends_with('2'),
        "{text}"
    );

    let (status, body) = answer(&endpoints, &structured("/flagz", "Flagz", "v1beta1")).await;
    let expected = json!({
        "kind": "Flagz",
        "apiVersion": "config.k8s.io/v1beta1",
        "metadata": { "name": "plimsoll" },
        "flags": { "config": "/a", "v": "2" },
    });
    assert_eq!((status, serde_json::from_str(&body).unwrap()), (200, expected));
}

#[tokio::test]
async fn status_is_told_as_text_and_as_json() {
    let (_, endpoints) = endpoints(true, false);
    let (status, text) = get(&endpoints, "/statusz").await;
    assert_eq!(status, 200);
    for line in [
        "plimsoll statusz",
        "Sat Nov 28 10:00:00 UTC 2026",
        "0 hr 00 min 00 sec",
        "v0.1.0",
        "1.36",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    assert!(
        text.contains(" /configz /flagz /healthz /livez /metrics /readyz\n"),
        "{text}"
    );

    let (status, body) = answer(&endpoints, &structured("/statusz", "Statusz", "v1beta1")).await;
    let expected = json!({
        "kind": "Statusz",
        "apiVersion": "config.k8s.io/v1beta1",
        "metadata": { "name": "plimsoll" },
        "startTime": "2026-11-28T10:00:00Z",
        "uptimeSeconds": 0,
        "goVersion": "Rust 1.95",
        "binaryVersion": "v0.1.0",
        "emulationVersion": "1.36",
        "paths": ["/configz", "/flagz", "/healthz", "/livez", "/metrics", "/readyz"],
    });
    assert_eq!((status, serde_json::from_str(&body).unwrap()), (200, expected));
}

#[tokio::test]
async fn the_older_form_says_so_and_an_unknown_one_is_refused() {
    let (_, endpoints) = endpoints(true, false);
    let page = endpoints.answer(&structured("/statusz", "Statusz", "v1alpha1")).await;
    let warning = "299 - \"This version of the statusz endpoint is deprecated. Please use a newer version.\"";
    assert_eq!(page.headers()[header::WARNING], HeaderValue::from_static(warning));
    let (status, body) = answer(&endpoints, &structured("/statusz", "Statusz", "v2")).await;
    assert_eq!(status, 406);
    assert!(body.contains("only the following media types are accepted"), "{body}");
}

#[tokio::test]
async fn what_is_switched_off_is_not_there() {
    let (_, mut endpoints) = endpoints(true, false);
    endpoints.about = Arc::new(About {
        flags: None,
        statusz: false,
        ..About::clone(&endpoints.about)
    });
    for path in ["/flagz", "/statusz", "/nowhere", "/debug/pprof/", "/debug/flags/v"] {
        assert_eq!(
            get(&endpoints, path).await,
            (404, "404 page not found\n".to_owned()),
            "{path}"
        );
    }
}

#[tokio::test]
async fn the_verbosity_is_changed_by_a_put() {
    let (_, endpoints) = endpoints(true, true);
    let put = |body: &'static str| Asked {
        method: Method::PUT,
        body: Bytes::from_static(body.as_bytes()),
        ..asked("/debug/flags/v")
    };
    let told = "successfully set klog.logging.verbosity to 0".to_owned();
    assert_eq!(answer(&endpoints, &put("0")).await, (200, told));
    let no_level = "strconv.ParseUint: parsing \"x\": invalid syntax".to_owned();
    assert_eq!(answer(&endpoints, &put("x")).await, (400, no_level));
    let not_so = (406, "unsupported http method".to_owned());
    assert_eq!(get(&endpoints, "/debug/flags/v").await, not_so);
    assert!(get(&endpoints, "/debug/flags").await.1.contains("/debug/flags/v"));
}

#[tokio::test]
async fn profiles_of_gos_runtime_are_not_there_and_the_answer_says_what_is() {
    let (_, endpoints) = endpoints(true, true);
    let page = endpoints.answer(&asked("/debug/pprof")).await;
    assert_eq!(
        (page.status().as_u16(), &page.headers()[header::LOCATION]),
        (302, &HeaderValue::from_static("/debug/pprof/"))
    );
    assert!(get(&endpoints, "/debug/pprof/").await.1.contains("profile?seconds=N"));
    let (status, body) = get(&endpoints, "/debug/pprof/heap").await;
    assert_eq!(status, 404);
    assert!(body.contains("no profile \"heap\" here"), "{body}");
    for seconds in ["0", "x", "301"] {
        let (status, body) = get(&endpoints, &format!("/debug/pprof/profile?seconds={seconds}")).await;
        assert_eq!(
            (status, body),
            (400, format!("seconds {seconds:?} must be a number from 1 to 300\n"))
        );
    }
}

/// Work that shows in a profile.
fn spin(stop: &std::sync::atomic::AtomicBool) -> u64 {
    let mut sum = 0_u64;
    while !stop.load(Ordering::Relaxed) {
        for number in 0..10_000 {
            sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(number));
        }
    }
    sum
}

#[tokio::test]
async fn a_cpu_profile_names_the_functions_that_were_busy_and_there_is_one_at_a_time() {
    let (_, endpoints) = endpoints(true, true);
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let worker = std::thread::spawn({
        let stop = Arc::clone(&stop);
        move || spin(&stop)
    });
    let path = "/debug/pprof/profile?seconds=1";
    let first = asked(path);
    // A machine with much else to do may leave no sample in one second.
    let mut names = Vec::new();
    for _ in 0..60 {
        let (page, second) = tokio::join!(biased; endpoints.answer(&first), get(&endpoints, path));
        assert_eq!(second.0, 409, "{}", second.1);
        assert_eq!(page.status().as_u16(), 200);
        let body = page.into_body().collect().await.unwrap().to_bytes();
        names = crate::cpu_profile::functions(&body);
        if names.iter().any(|name| name.contains("spin")) {
            break;
        }
    }
    stop.store(true, Ordering::Relaxed);
    worker.join().unwrap();
    assert!(names.iter().any(|name| name.contains("spin")), "{names:?}");
}

async fn delete(endpoints: &Endpoints, path: &str) -> (u16, String) {
    let asked = Asked {
        method: Method::DELETE,
        ..asked(path)
    };
    answer(endpoints, &asked).await
}

#[tokio::test]
async fn exemplars_are_for_scrapers_that_ask_for_open_metrics() {
    let (_, endpoints) = endpoints(true, false);
    let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1";
    for (accept, ended) in [(prometheus, true), ("text/plain", false)] {
        let mut asked = asked("/metrics");
        asked.headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
        let (_, shown) = answer(&endpoints, &asked).await;
        assert_eq!(shown.ends_with("# EOF\n"), ended, "{accept}");
    }
}

#[tokio::test]
async fn metrics_begin_anew_when_they_are_deleted() {
    let (_, endpoints) = endpoints(true, false);
    endpoints.metrics.undecodable_object("pods");
    assert!(get(&endpoints, "/metrics").await.1.contains("undecodable"));
    assert_eq!(
        delete(&endpoints, "/metrics").await,
        (200, "metrics reset\n".to_owned())
    );
    assert!(!get(&endpoints, "/metrics").await.1.contains("undecodable"));
    assert_eq!(delete(&endpoints, "/metrics/resources").await.0, 200);
}

#[tokio::test]
async fn health_checks_are_counted_for_those_who_measure_how_often_it_was_well() {
    let (_, endpoints) = endpoints(true, false);
    for path in ["/healthz", "/readyz", "/readyz?verbose"] {
        get(&endpoints, path).await;
    }
    let (_, slis) = get(&endpoints, "/metrics/slis").await;
    for line in [
        r#"kubernetes_healthcheck{name="ping",type="healthz"} 1"#,
        r#"kubernetes_healthcheck{name="sched-handler-sync",type="readyz"} 0"#,
        r#"kubernetes_healthchecks_total{name="sched-handler-sync",status="error",type="readyz"} 2"#,
    ] {
        assert!(slis.lines().any(|found| found == line), "{line} in {slis}");
    }
    assert_eq!(delete(&endpoints, "/metrics/slis").await.0, 200);
    let (_, slis) = get(&endpoints, "/metrics/slis").await;
    assert!(!slis.contains("kubernetes_healthcheck"));
}

#[tokio::test]
async fn what_pods_ask_for_is_shown_by_whoever_knows_it() {
    let (_, endpoints) = endpoints(true, false);
    let shown = "# TYPE kube_pod_resource_request gauge\n".to_owned();
    assert_eq!(get(&endpoints, "/metrics/resources").await, (200, shown));
}

#[tokio::test]
async fn a_pod_is_explained_as_json_also_where_debugging_is_off() {
    let shown = r#"Some("shop/web")"#;
    let cases = [
        (true, "/debug/explain?pod=shop/web", 200, shown),
        (true, "/debug/explain?verbose&pod=shop%2Fweb", 200, shown),
        (true, "/debug/explain", 400, "None"),
        (false, "/debug/explain?pod=shop/web", 503, shown),
    ];
    for (leads, path, status, body) in cases {
        let (_, endpoints) = endpoints(leads, false);
        let page = endpoints.answer(&asked(path)).await;
        assert_eq!(page.status().as_u16(), status, "{path}");
        assert_eq!(page.headers()[header::CONTENT_TYPE], "application/json");
        let answered = page.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(answered, body.as_bytes(), "{path}");
    }
}
