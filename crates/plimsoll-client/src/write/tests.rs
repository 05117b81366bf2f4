use http::Method;
use plimsoll_config::ClientConnection;
use plimsoll_model::Moment;

use super::*;
use crate::scripted::{Chunk, Script, Step, pod};

const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

fn token() -> Arc<TermToken> {
    TermToken::new(3, Moment::ZERO, Duration::from_secs(10), WRITE_TIMEOUT)
}

fn a_pod() -> Pod {
    decode_pod(pod("a", 9).to_string().as_bytes()).unwrap()
}

async fn bind_against(step: Step) -> (BindReply, bool) {
    let script = Script::new([step]);
    let client = script.client();
    let token = token();
    let reply = client.bind(&token, &a_pod(), "n1").await;
    assert_eq!(script.seen().len(), 1, "a POST is never repeated");
    assert_eq!(token.under_way(), 0);
    (reply, token.is_decided(client.clock().now()))
}

#[tokio::test(start_paused = true)]
async fn every_answer_to_a_binding_has_one_meaning() {
    let conflict = "pods \"a\" is already assigned to node \"n2\"";
    let message = |text: &str| text.to_owned();
    let unknown = |error: &str| {
        (
            BindReply::Unknown {
                error: error.to_owned(),
            },
            false,
        )
    };
    let second = Duration::from_secs(1);
    let cases = [
        (Step::refusal(201, "", ""), (BindReply::Created, true)),
        (Step::refusal(200, "", ""), (BindReply::Created, true)),
        (
            Step::refusal(409, "Conflict", conflict),
            (
                BindReply::Conflict {
                    message: message(conflict),
                },
                true,
            ),
        ),
        (Step::refusal(404, "NotFound", "gone"), (BindReply::NotFound, true)),
        (
            Step::refusal(403, "Forbidden", "no"),
            (
                BindReply::Refused {
                    code: 403,
                    message: message("no"),
                },
                true,
            ),
        ),
        (
            Step::refusal(422, "Invalid", "bad"),
            (
                BindReply::Refused {
                    code: 422,
                    message: message("bad"),
                },
                true,
            ),
        ),
        (
            Step::refusal(401, "Unauthorized", "who"),
            (
                BindReply::Refused {
                    code: 401,
                    message: message("who"),
                },
                true,
            ),
        ),
        (
            Step::refusal(429, "", "slow").retry_after(4),
            (
                BindReply::Throttled {
                    retry_after: second * 4,
                },
                true,
            ),
        ),
        (
            Step::refusal(429, "", "slow"),
            (BindReply::Throttled { retry_after: second }, true),
        ),
        (Step::refusal(500, "InternalError", "etcd"), unknown("500: etcd")),
        (Step::refusal(503, "", "down").retry_after(1), unknown("503: down")),
        (Step::refusal(504, "Timeout", "late"), unknown("504: late")),
        (Step::refusal(408, "", "late"), unknown("408: late")),
    ];
    for (step, expected) in cases {
        assert_eq!(bind_against(step.clone()).await, expected, "{step:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_or_late_or_cut_answer_is_unknown_until_the_time_out() {
    for step in [
        Step::lost(),
        Step::stream([]).then(Chunk::Hang),
        Step::answer(201, "{").then(Chunk::Break),
    ] {
        let script = Script::new([step]);
        let client = script.client();
        let token = token();
        let reply = client.bind(&token, &a_pod(), "n1").await;
        assert!(matches!(reply, BindReply::Unknown { .. }), "{reply:?}");
        assert_eq!(
            token.undecided_until(),
            Moment::ZERO + WRITE_TIMEOUT + token.server_timeout()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_writer_that_is_dropped_leaves_its_write_undecided() {
    let script = Script::new([]);
    let client = script.client();
    let token = token();
    let gave_up = tokio::time::timeout(Duration::from_secs(1), client.bind(&token, &a_pod(), "n1")).await;
    assert!(gave_up.is_err());
    assert_eq!(
        (token.under_way(), token.undecided_until()),
        (0, Moment::ZERO + WRITE_TIMEOUT + token.server_timeout())
    );
}

#[tokio::test(start_paused = true)]
async fn a_binding_names_the_pod_by_uid_and_bounds_the_server() {
    let script = Script::new([Step::refusal(201, "", "")]);
    script.client().bind(&token(), &a_pod(), "n1").await;
    let seen = &script.seen()[0];
    assert_eq!(
        (&seen.method, seen.path.as_str()),
        (&Method::POST, "/api/v1/namespaces/ns/pods/a/binding?timeout=4s")
    );
    assert_eq!(seen.content_type, "application/json");
    let expected = json!({
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": { "namespace": "ns", "name": "a", "uid": "uid-a" },
        "target": { "kind": "Node", "name": "n1" },
    });
    assert_eq!(seen.body, expected);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_once_the_term_is_over() {
    let over = token();
    tokio::time::advance(Duration::from_secs(10)).await;
    let cancelled = token();
    cancelled.renewed(Moment::ZERO + Duration::from_mins(1));
    cancelled.cancel();
    for token in [over, cancelled] {
        let script = Script::new([]);
        let client = script.client();
        // The script's clock starts with it.
        tokio::time::advance(Duration::from_secs(10)).await;
        let bind = client.bind(&token, &a_pod(), "n1").await;
        assert_eq!(bind, BindReply::NotSent(NotSent::TermOver));
        let patch = client
            .patch_pod_status(&token, &ObjectName::new("ns", "a"), &PodStatusPatch::default())
            .await;
        assert_eq!(patch, PatchReply::NotSent(NotSent::TermOver));
        assert!(script.seen().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_term_that_ends_while_waiting_for_the_rate_limit_is_noticed() {
    let script = Script::new([Step::refusal(201, "", ""), Step::refusal(201, "", "")]);
    let client = script.client().with_rate_limit(&ClientConnection {
        qps: 0.05,
        burst: 1,
        ..ClientConnection::default()
    });
    let token = token();
    assert_eq!(client.bind(&token, &a_pod(), "n1").await, BindReply::Created);
    assert_eq!(
        client.bind(&token, &a_pod(), "n1").await,
        BindReply::NotSent(NotSent::TermOver)
    );
    assert_eq!(script.seen().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_pod_is_read_from_the_store_not_from_a_cache() {
    let name = ObjectName::new("ns", "a");
    let script = Script::new([
        Step::ok(&pod("a", 9)),
        Step::refusal(404, "NotFound", "gone"),
        Step::lost(),
    ]);
    let client = script.client();
    assert_eq!(client.read_pod(&name).await, PodRead::Found(Arc::new(a_pod())));
    assert_eq!(client.read_pod(&name).await, PodRead::Gone);
    assert!(matches!(client.read_pod(&name).await, PodRead::Failed { .. }));
    assert_eq!(script.paths()[0], "/api/v1/namespaces/ns/pods/a");
}

#[tokio::test(start_paused = true)]
async fn condition_and_nomination_go_in_one_strategic_merge() {
    let condition = ConditionPatch {
        kind: "PodScheduled".to_owned(),
        status: "False".to_owned(),
        reason: "Unschedulable".to_owned(),
        message: "0/1 nodes are available".to_owned(),
        last_transition_time: Timestamp::new("2026-11-28T02:30:00Z"),
        observed_generation: 2,
    };
    let cases = [
        (NominationPatch::Keep, None),
        (NominationPatch::Clear, Some(Value::Null)),
        (NominationPatch::Set("n1".to_owned()), Some(Value::from("n1"))),
    ];
    for (nomination, expected) in cases {
        let script = Script::new([Step::refusal(200, "", "")]);
        let patch = PodStatusPatch {
            condition: Some(condition.clone()),
            nominated_node_name: nomination,
            ..PodStatusPatch::default()
        };
        let reply = script
            .client()
            .patch_pod_status(&token(), &ObjectName::new("ns", "a"), &patch)
            .await;
        assert_eq!(reply, PatchReply::Patched);
        let seen = &script.seen()[0];
        assert_eq!(
            (&seen.method, seen.path.as_str()),
            (&Method::PATCH, "/api/v1/namespaces/ns/pods/a/status?timeout=4s")
        );
        assert_eq!(seen.content_type, "application/strategic-merge-patch+json");
        let mut status = json!({ "conditions": [{
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "0/1 nodes are available",
            "lastTransitionTime": "2026-11-28T02:30:00Z",
            "observedGeneration": 2,
        }] });
        if let Some(expected) = expected {
            status["nominatedNodeName"] = expected;
        }
        assert_eq!(seen.body, json!({ "status": status }));
    }
}

#[tokio::test(start_paused = true)]
async fn every_answer_to_a_status_patch_has_one_meaning() {
    let text = |text: &str| text.to_owned();
    let cases = [
        (Step::refusal(404, "NotFound", "gone"), PatchReply::NotFound),
        (
            Step::refusal(409, "Conflict", "again"),
            PatchReply::Conflict { message: text("again") },
        ),
        (
            Step::refusal(422, "Invalid", "bad"),
            PatchReply::Refused {
                code: 422,
                message: text("bad"),
            },
        ),
        (
            Step::refusal(429, "", "slow").retry_after(2),
            PatchReply::Throttled {
                retry_after: Duration::from_secs(2),
            },
        ),
        (
            Step::refusal(500, "InternalError", "etcd"),
            PatchReply::Unknown {
                code: Some(500),
                error: text("500: etcd"),
            },
        ),
        (
            Step::refusal(503, "", "down"),
            PatchReply::Unknown {
                code: Some(503),
                error: text("503: down"),
            },
        ),
    ];
    for (step, expected) in cases {
        let client = Script::new([step]).client();
        let reply = client
            .patch_pod_status(&token(), &ObjectName::new("ns", "a"), &PodStatusPatch::default())
            .await;
        assert_eq!(reply, expected);
    }
}

#[test]
fn time_outs_are_written_as_go_reads_them() {
    assert_eq!(timeout_query(Duration::from_secs(4)), "?timeout=4s");
    assert_eq!(timeout_query(Duration::from_millis(800)), "?timeout=800ms");
}
