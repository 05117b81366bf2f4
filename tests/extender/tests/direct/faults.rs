use std::sync::Arc;
use std::time::Duration;

use plimsoll_config::{ExtenderConfig, GoDuration};
use plimsoll_extender::HttpExtenders;
use plimsoll_framework::{Extender, ExtenderAnswer, ExtenderCall};

use super::{ask, config, extender, filter, pod, started};

/// What users read; `@` is the extender's address, and what stands behind `~` is only the beginning.
const TEXTS: &[(&str, &str)] = &[
    ("status:500", "failed filter with extender at URL @/filter, code 500"),
    ("status:201", "failed filter with extender at URL @/filter, code 201"),
    ("status:204", "failed filter with extender at URL @/filter, code 204"),
    ("redirect:302", "failed filter with extender at URL @/filter, code 302"),
    (
        "redirect:304:/",
        "failed filter with extender at URL @/filter, code 304",
    ),
    (
        "redirect:307:ftp://x/y",
        "Post \"ftp://x/y\": unsupported protocol scheme \"ftp\"",
    ),
    (
        "redirect:307:http://127.0.0.1:1/z",
        "Post \"http://127.0.0.1:1/z\": dial tcp 127.0.0.1:1: connect: connection refused",
    ),
    ("error:full up", "full up"),
    ("close", "Post \"@/filter\": EOF"),
    ("reset", "Post \"@/filter\": read: connection reset by peer"),
    ("lost", "Post \"@/filter\": read: connection reset by peer"),
    (
        "wire:junk\\r\\n\\r\\n",
        "~Post \"@/filter\": net/http: HTTP/1.x transport connection broken: malformed HTTP response",
    ),
    (
        "wire:HTTP/1.1 200 OK\\r\\nContent-Length: abc\\r\\n\\r\\n{}",
        "~Post \"@/filter\": net/http: HTTP/1.x transport connection broken",
    ),
    (
        "wire:HTTP/1.1 200 OK\\r\\nContent-Length: 100\\r\\n\\r\\n{",
        "unexpected EOF",
    ),
    ("wire:HTTP/1.1 200 OK\\r\\n\\r\\n", "EOF"),
    ("cut", "unexpected EOF"),
    ("body:", "EOF"),
    ("body:{", "unexpected EOF"),
    ("body:<html>", "invalid character '<' looking for beginning of value"),
    (
        "body:\\xff\\xfe",
        "invalid character '\u{ff}' looking for beginning of value",
    ),
    ("deep", "invalid character '[' exceeded max depth"),
    (
        "types",
        "json: cannot unmarshal number into Go struct field ExtenderFilterResult.NodeNames of type []string",
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_is_told_in_the_words_of_kube_scheduler_and_the_next_call_goes_well() {
    let Some(python) = started() else { return };
    let (extenders, extender) = (HttpExtenders::default(), extender(&python.url()));
    for (fault, expected) in TEXTS {
        python.script("filter", &[fault]).unwrap();
        let text = ask(&extenders, &extender, filter(&["a"])).await.unwrap_err();
        let expected = expected.replace('@', &python.url());
        match expected.strip_prefix('~') {
            Some(beginning) => assert!(text.starts_with(beginning), "{fault}: {text}"),
            None => assert_eq!(text, expected, "{fault}"),
        }
        assert!(
            ask(&extenders, &extender, filter(&["a"])).await.is_ok(),
            "after {fault}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_replies_that_go_takes_are_taken() {
    let Some(python) = started() else { return };
    let (extenders, extender) = (HttpExtenders::default(), extender(&python.url()));
    for (oddity, expected) in [
        ("more", vec!["a"]),
        ("more: }]garbage", vec!["a"]),
        ("chunked", vec!["a"]),
        ("open:5", vec!["a"]),
        ("drip:0.001", vec!["a"]),
        ("body:{\"nodenames\":[\"x\"],\"new\":[{}]}", vec!["x"]),
        (
            "body:{\"NODES\":{\"Items\":[{\"metadata\":{\"name\":\"x\"}}]}}",
            vec!["x"],
        ),
        ("nulls", vec![""]),
        ("nothing", vec![]),
        ("body:null", vec![]),
        ("wire:HTTP/1.0 200 OK\\r\\n\\r\\n{\"NodeNames\":[\"b\"]}", vec!["b"]),
        (
            "wire:HTTP/1.1 100 Continue\\r\\n\\r\\nHTTP/1.1 200 OK\\r\\nConnection: close\\r\\nContent-Length: 2\\r\\n\\r\\n{}",
            vec![],
        ),
    ] {
        python.script("filter", &[oddity]).unwrap();
        let asked = tokio::time::Instant::now();
        let answer = ask(&extenders, &extender, filter(&["a"])).await;
        let Ok(ExtenderAnswer::Filtered { nodes, .. }) = answer else {
            unreachable!("{oddity}: {answer:?}");
        };
        assert_eq!(nodes, expected, "{oddity}");
        assert!(asked.elapsed() < Duration::from_secs(4), "{oddity} was waited for");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn redirects_are_followed_as_go_follows_them() {
    let Some(python) = started() else { return };
    let (extenders, extender) = (HttpExtenders::default(), extender(&python.url()));
    for (status, method) in [(307, "POST"), (308, "POST"), (301, "GET"), (302, "GET"), (303, "GET")] {
        let redirect = format!("redirect:{status}:/elsewhere/filter");
        python
            .script("filter", &[&redirect, "body:{\"NodeNames\":[\"x\"]}"])
            .unwrap();
        let answer = ask(&extenders, &extender, filter(&["a"])).await;
        assert!(
            matches!(answer, Ok(ExtenderAnswer::Filtered { .. })),
            "{status}: {answer:?}"
        );
        let report = python.report().unwrap();
        let last = report["requests"].as_array().unwrap().last().unwrap().clone();
        assert_eq!(last["method"], method, "{status}");
        assert_eq!(last["body"] == "", method == "GET", "{status}");
    }
    python.script("filter", &["redirect:307:filter"; 11]).unwrap();
    let text = ask(&extenders, &extender, filter(&["a"])).await.unwrap_err();
    assert!(text.ends_with("stopped after 10 redirects"), "{text}");
    assert_eq!(python.report().unwrap()["calls"]["filter"], 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_call_takes_longer_than_its_limit() {
    let Some(python) = started() else { return };
    let extenders = HttpExtenders::default();
    let hurried = Arc::new(Extender::new(ExtenderConfig {
        http_timeout: GoDuration::from_nanos(300_000_000),
        ..config(&python.url())
    }));
    let head = format!(
        "Post \"{}/filter\": context deadline exceeded (Client.Timeout exceeded while awaiting headers)",
        python.url()
    );
    let body = "context deadline exceeded (Client.Timeout or context cancellation while reading body)".to_owned();
    for (fault, expected) in [("hang:5", &head), ("late:5", &head), ("drip:0.1", &body)] {
        python.script("filter", &[fault]).unwrap();
        let asked = tokio::time::Instant::now();
        let text = ask(&extenders, &hurried, filter(&["a"])).await.unwrap_err();
        assert_eq!(text, *expected, "{fault}");
        assert!(asked.elapsed() < Duration::from_secs(3), "{fault}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_without_end_costs_no_more_memory_than_is_allowed() {
    let Some(python) = started() else { return };
    let (extenders, extender) = (HttpExtenders::default(), extender(&python.url()));
    python.script("filter", &["huge", "huge:\\u0041"]).unwrap();
    for _ in 0..2 {
        let text = ask(&extenders, &extender, filter(&["a"])).await.unwrap_err();
        let beginning = format!(
            "the reply of extender at URL {}/filter is longer than 671",
            python.url()
        );
        assert!(text.starts_with(&beginning) && text.ends_with(" bytes"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_binding_that_was_certainly_not_asked_for_is_told_from_one_that_may_be() {
    let Some(python) = started() else { return };
    let extenders = HttpExtenders::default();
    let bind = || ExtenderCall::Bind {
        pod: pod("p"),
        node: "n".into(),
    };
    for (url, text) in [
        (
            "http://127.0.0.1:1",
            "Post \"http://127.0.0.1:1/bind\": dial tcp 127.0.0.1:1: connect: connection refused",
        ),
        ("nowhere", "Post \"nowhere/bind\": unsupported protocol scheme \"\""),
    ] {
        let answer = ask(&extenders, &extender(url), bind()).await;
        assert_eq!(answer, Ok(ExtenderAnswer::NotBound(text.to_owned())));
        assert_eq!(
            ask(&extenders, &extender(url), filter(&["a"])).await,
            Err(text.replace("bind", "filter"))
        );
    }
    for fault in [
        "close",
        "reset",
        "status:500",
        "body:junk",
        "redirect:307:http://127.0.0.1:1/z",
        "redirect:307:ftp://x",
    ] {
        python.script("bind", &[fault]).unwrap();
        let answer = ask(&extenders, &extender(&python.url()), bind()).await;
        assert!(answer.is_err(), "{fault}: {answer:?}");
    }
}
