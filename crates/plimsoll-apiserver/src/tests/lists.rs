//! Lists, versions, pages, tables.

use serde_json::json;

use super::*;

fn names(list: &Value) -> Vec<&str> {
    let items = list["items"].as_array().expect("items");
    items
        .iter()
        .map(|i| i["metadata"]["name"].as_str().expect("a name"))
        .collect()
}

fn with_pods(count: usize) -> ApiServer {
    let server = server();
    for at in 0..count {
        server
            .create(pods(), "default", pod(&format!("p{at}")))
            .expect("created");
    }
    server
}

#[tokio::test(start_paused = true)]
async fn pages_show_one_version_however_long_they_take() {
    let server = with_pods(5);
    let first = server.get_ok(&format!("{PODS}?limit=2")).await;
    assert_eq!(names(&first), ["p0", "p1"]);
    assert_eq!(first["metadata"]["remainingItemCount"], 3);
    assert_eq!(first["items"][0].get("kind"), None, "items do not name their kind");

    server.create(pods(), "default", pod("p11")).expect("created");
    server.delete(pods(), "default", "p2").expect("deleted");
    let token = first["metadata"]["continue"].as_str().expect("a token");
    let second = server.get_ok(&format!("{PODS}?limit=2&continue={token}")).await;
    assert_eq!(names(&second), ["p2", "p3"]);
    assert_eq!(
        second["metadata"]["resourceVersion"],
        first["metadata"]["resourceVersion"]
    );
    let token = second["metadata"]["continue"].as_str().expect("a token");
    let third = server.get_ok(&format!("{PODS}?limit=2&continue={token}")).await;
    assert_eq!(names(&third), ["p4"]);
    assert_eq!(third["metadata"].get("continue"), None);
}

#[tokio::test(start_paused = true)]
async fn a_token_from_before_the_compaction_is_answered_410_with_a_way_on() {
    let server = with_pods(4);
    let first = server.get_ok(&format!("{PODS}?limit=2")).await;
    server.delete(pods(), "default", "p3").expect("deleted");
    server.compact(server.resource_version());
    let token = first["metadata"]["continue"].as_str().expect("a token");
    let (code, status) = server
        .call("GET", &format!("{PODS}?limit=2&continue={token}"), None)
        .await;
    assert_eq!((code, &status["reason"]), (410, &json!("Expired")));
    let token = status["metadata"]["continue"].as_str().expect("a token to go on with");
    let rest = server.get_ok(&format!("{PODS}?continue={token}")).await;
    assert_eq!(names(&rest), ["p2"]);
}

#[tokio::test(start_paused = true)]
async fn versions_are_matched_as_asked() {
    let server = with_pods(3);
    let now = server.resource_version();
    let before = now - 1;
    for (query, code, expected) in [
        (String::new(), 200, 3),
        ("resourceVersion=0".to_owned(), 200, 3),
        (format!("resourceVersion={before}"), 200, 3),
        (
            format!("resourceVersion={before}&resourceVersionMatch=NotOlderThan"),
            200,
            3,
        ),
        (format!("resourceVersion={before}&resourceVersionMatch=Exact"), 200, 2),
        (format!("resourceVersion={before}&limit=10"), 200, 2),
        ("resourceVersion=0&limit=1".to_owned(), 200, 3),
        (
            format!("resourceVersion={}&resourceVersionMatch=Exact", now + 5),
            504,
            0,
        ),
        (format!("resourceVersion={}", now + 5), 504, 0),
        ("resourceVersionMatch=Exact".to_owned(), 422, 0),
        ("resourceVersion=0&resourceVersionMatch=Exact".to_owned(), 422, 0),
        ("sendInitialEvents=true".to_owned(), 422, 0),
        ("resourceVersion=x".to_owned(), 400, 0),
        ("continue=x".to_owned(), 400, 0),
    ] {
        let (is, list) = server.call("GET", &format!("{PODS}?{query}"), None).await;
        assert_eq!(is, code, "{query}: {list}");
        if code == 200 {
            assert_eq!(list["items"].as_array().map(Vec::len), Some(expected), "{query}");
        }
    }
    server.compact(now);
    let path = format!("{PODS}?resourceVersion={before}&resourceVersionMatch=Exact");
    let (code, status) = server.call("GET", &path, None).await;
    assert_eq!(code, 410);
    assert_eq!(
        status["message"],
        "The resourceVersion for the provided list is too old."
    );
}

#[tokio::test(start_paused = true)]
async fn a_version_still_to_come_is_waited_for() {
    let server = with_pods(1);
    let path = format!("{PODS}?resourceVersion={}", server.resource_version() + 1);
    let (list, ()) = tokio::join!(server.get_ok(&path), async {
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        server.create(pods(), "default", pod("late")).expect("created");
    });
    assert_eq!(names(&list), ["late", "p0"]);
    let (code, status) = server.call("GET", &format!("{PODS}?resourceVersion=999"), None).await;
    assert_eq!(code, 504);
    assert_eq!(status["details"]["causes"][0]["reason"], "ResourceVersionTooLarge");
    assert_eq!(status["details"]["retryAfterSeconds"], 1);
}

#[tokio::test(start_paused = true)]
async fn selectors_and_namespaces_narrow_a_list() {
    let server = with_pods(2);
    server
        .create(
            kind("", "namespaces"),
            "",
            json!({ "metadata": { "name": "default2" } }),
        )
        .expect("created");
    server.create(pods(), "default2", pod("p0")).expect("created");
    server.bind("default", "p1", "n").expect("bound");
    for (path, expected) in [
        ("/api/v1/pods", 3),
        (PODS, 2),
        ("/api/v1/pods?fieldSelector=spec.nodeName%3D", 2),
        ("/api/v1/pods?fieldSelector=spec.nodeName%3Dn", 1),
        (
            "/api/v1/pods?fieldSelector=metadata.name%3Dp0,metadata.namespace%3Ddefault2",
            1,
        ),
        (
            "/api/v1/pods?fieldSelector=spec.schedulerName%3Ddefault-scheduler,status.phase%21%3DSucceeded",
            3,
        ),
        (
            "/api/v1/namespaces?labelSelector=kubernetes.io/metadata.name+in+(default,kube-system)",
            2,
        ),
    ] {
        assert_eq!(names(&server.get_ok(path).await).len(), expected, "{path}");
    }
    let (code, status) = server
        .call("GET", "/api/v1/pods?fieldSelector=spec.foo%3D1", None)
        .await;
    assert_eq!(
        (code, &status["message"]),
        (400, &json!("field label not supported: spec.foo"))
    );
}

#[tokio::test(start_paused = true)]
async fn tables_and_metadata_are_given_to_who_asks() {
    let server = with_pods(2);
    let get = |accept: &'static str| {
        let request = http::Request::builder()
            .uri(PODS)
            .header("accept", accept)
            .body(Full::default());
        let server = server.clone();
        async move {
            let response = server.send(request.expect("a request")).await.expect("a response");
            let code = response.status().as_u16();
            let bytes = response.into_body().collect().await.expect("a body").to_bytes();
            (code, serde_json::from_slice::<Value>(&bytes).expect("JSON"))
        }
    };
    let (_, table) = get("application/json;as=Table;v=v1;g=meta.k8s.io,application/json").await;
    assert_eq!(
        (&table["kind"], table["rows"].as_array().map(Vec::len)),
        (&json!("Table"), Some(2))
    );
    let (_, metadata) = get("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io").await;
    assert_eq!(metadata["kind"], "PartialObjectMetadataList");
    assert_eq!(metadata["items"][0].get("spec"), None);
    assert_eq!(get("application/vnd.kubernetes.protobuf").await.0, 406);
}

#[tokio::test(start_paused = true)]
async fn paths_without_kinds_answer_too() {
    let server = server();
    for (method, path, code) in [
        ("GET", "/healthz", 200),
        ("GET", "/readyz/ping", 200),
        ("GET", "/version", 200),
        ("GET", "/api", 200),
        ("GET", "/apis", 200),
        ("GET", "/api/v1", 200),
        ("GET", "/apis/apps/v1", 200),
        ("GET", "/openapi/v3", 200),
        ("GET", "/api/v1/foos", 404),
        ("GET", "/_faults", 404),
        ("POST", PODS, 400),
        ("PUT", PODS, 405),
        ("DELETE", "/api/v1/namespaces", 405),
        ("GET", "/api/v1/namespaces/default/bindings", 405),
        ("GET", "/api/v1/namespaces/default/pods/x/nothing", 404),
    ] {
        assert_eq!(server.call(method, path, None).await.0, code, "{method} {path}");
    }
}

#[tokio::test(start_paused = true)]
async fn reviews_are_answered_and_tokens_checked() {
    let user = crate::review::User {
        name: "me".into(),
        uid: "1".into(),
        groups: vec!["g".into()],
    };
    let server = server_with(Config {
        tokens: crate::Tokens::default().with("secret", user),
        ..Config::default()
    });
    let review = json!({ "spec": { "token": "secret" } });
    let (code, answer) = server
        .call("POST", "/apis/authentication.k8s.io/v1/tokenreviews", review)
        .await;
    assert_eq!((code, &answer["status"]["user"]["username"]), (201, &json!("me")));
    let review = json!({ "spec": { "user": "me", "resourceAttributes": { "verb": "get" } } });
    let (code, answer) = server
        .call("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
        .await;
    assert_eq!((code, &answer["status"]["allowed"]), (201, &json!(true)));

    let get = |token: &'static str| {
        let request = http::Request::builder()
            .uri(PODS)
            .header("authorization", format!("Bearer {token}"));
        let server = server.clone();
        async move {
            server
                .send(request.body(Full::default()).expect("a request"))
                .await
                .expect("a response")
                .status()
        }
    };
    assert_eq!(get("secret").await, 200);
    assert_eq!(get("wrong").await, 401);
}
