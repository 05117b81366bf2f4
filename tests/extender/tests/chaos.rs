//! Thousands of calls with faults. By itself, since it looks at the memory of its process.

#![expect(clippy::unwrap_used, reason = "a test may fail in its helpers too")]

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream;
use plimsoll_config::{ExtenderConfig, GoDuration};
use plimsoll_extender::HttpExtenders;
use plimsoll_framework::{Extender, ExtenderCall, ExtenderNodes};

#[path = "direct/asking.rs"]
mod asking;

use asking::{ask, config, extender, filter, pod, started};

const CALLS: usize = 10_000;
const AT_A_TIME: usize = 24;
const LIMIT: Duration = Duration::from_secs(2);
const FAULTS: &[&str] = &[
    "status:500",
    "status:204",
    "status:404",
    "redirect:307:/scheduler/filter",
    "redirect:302:http://127.0.0.1:1/",
    "close",
    "reset",
    "lost",
    "cut",
    "junk",
    "deep",
    "error:no",
    "unknown",
    "nulls",
    "types",
    "nothing",
    "more",
    "chunked",
    "drip:0.0005",
    "wire:junk\\r\\n\\r\\n",
    "wire:\\x16\\x03\\x01",
    "wire:HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\nzz\\r\\n{",
    "wire:HTTP/1.1 200 OK\\r\\nContent-Length: 18446744073709551615\\r\\n\\r\\n{}",
];

/// Present memory of this process in kilobytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap_or_default();
    line.split_whitespace()
        .nth(1)
        .and_then(|number| number.parse().ok())
        .unwrap_or_default()
}

fn call(index: usize) -> ExtenderCall {
    match index % 3 {
        0 => filter(&["a", "b", "c"]),
        1 => ExtenderCall::Prioritize {
            pod: pod("p"),
            nodes: ExtenderNodes::Names(vec!["a".into(), "b".into()]),
        },
        _ => ExtenderCall::Preempt {
            pod: pod("p"),
            candidates: vec![],
        },
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_calls_with_faults_all_end_and_leave_nothing_behind() {
    let Some(python) = started() else { return };
    let extenders = HttpExtenders::default();
    let hurried = Arc::new(Extender::new(ExtenderConfig {
        http_timeout: GoDuration::from_secs(2),
        ..config(&python.url())
    }));
    python.faults(1876, 0.4, FAULTS).unwrap();
    let ended = |index: usize| {
        let (extenders, extender) = (&extenders, &hurried);
        async move {
            let asked = tokio::time::Instant::now();
            let answer = ask(extenders, extender, call(index)).await;
            assert!(asked.elapsed() < 3 * LIMIT, "{answer:?} after {:?}", asked.elapsed());
            if let Err(text) = &answer {
                assert!(!text.is_empty(), "an error without a text");
            }
            answer.is_ok()
        }
    };
    let mut warm = 0;
    let mut good = 0;
    let mut answers = stream::iter(0..CALLS)
        .map(ended)
        .buffer_unordered(AT_A_TIME)
        .enumerate();
    while let Some((number, is_good)) = answers.next().await {
        good += usize::from(is_good);
        if number == CALLS / 10 {
            warm = resident();
        }
    }
    drop(answers);
    let grown = resident().saturating_sub(warm);
    assert!(grown < 50_000, "memory grew by {grown} kB in {CALLS} calls");
    let report = python.report().unwrap();
    let faults = report["faults"].as_object().unwrap();
    assert_eq!(faults.len(), FAULTS.len(), "every fault was met: {faults:?}");
    assert!(good > CALLS / 2 && good < CALLS, "{good} of {CALLS} calls went well");

    // And when the faults are over, all is well.
    python.faults(0, 0.0, &[]).unwrap();
    let patient = extender(&python.url());
    for _ in 0..50 {
        ask(&extenders, &patient, filter(&["a"])).await.unwrap();
    }
}
