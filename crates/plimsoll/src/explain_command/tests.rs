use clap::Parser;
use http::StatusCode;
use plimsoll_actors::explanation::{Lack, NearNode, PastAttempt, QueuePlace, Rejection, WaitFor, WouldHelp};
use plimsoll_client::UserAnswer;

use super::asking::{Said, pod_of, understand};
use super::*;

fn flags(arguments: &[&str]) -> PodFlags {
    let arguments = ["plimsoll explain", "pod"].into_iter().chain(arguments.iter().copied());
    let Command::Pod(flags) = ExplainFlags::try_parse_from(arguments).unwrap().command;
    flags
}

#[test]
fn a_pod_is_named_with_its_namespace_or_beside_it() {
    let named = |arguments: &[&str]| pod_of(&flags(arguments), "context").map_err(|error| error.to_string());
    assert_eq!(named(&["web"]), Ok("context/web".to_owned()));
    assert_eq!(named(&["web", "-n", "shop"]), Ok("shop/web".to_owned()));
    assert_eq!(named(&["shop/web"]), Ok("shop/web".to_owned()));
    assert_eq!(named(&["shop/web", "-n", "shop"]), Ok("shop/web".to_owned()));
    assert!(named(&["shop/web", "-n", "other"]).is_err());
    for bad in ["Shop/web", "shop/", "/web", "shop/web?x", "a/b/c"] {
        assert!(named(&[bad]).is_err(), "{bad}");
    }
}

fn said(status: u16, body: &str) -> Result<Said, String> {
    let answer = UserAnswer {
        status: StatusCode::from_u16(status).unwrap(),
        body: body.to_owned().into(),
    };
    understand(&answer, "https://a:1").map_err(|error| error.to_string())
}

#[test]
fn a_replica_that_does_not_lead_sends_on_to_the_leader_and_nowhere_without_tls() {
    let sent_to = |address: &str| {
        said(
            503,
            &format!(r#"{{"error":"no","leader":"b","leaderAddress":"{address}"}}"#),
        )
    };
    assert_eq!(sent_to("https://b:1"), Ok(Said::AskLeader("https://b:1".to_owned())));
    assert!(sent_to("http://b:1").unwrap_err().contains("no https address"));
    let unknown = said(503, r#"{"error":"this replica does not lead; b does","leader":"b"}"#);
    assert_eq!(
        unknown,
        Err("https://a:1: this replica does not lead; b does".to_owned())
    );
}

#[test]
fn refusals_say_what_to_do() {
    let cases = [
        (
            401,
            r#"{"message":"Unauthorized"}"#,
            "does not know these credentials (401): Unauthorized",
        ),
        (
            403,
            "Forbidden",
            "does not allow this user to `get` the nonResourceURL /debug/explain (403): Forbidden",
        ),
        (
            404,
            "404 page not found",
            "serves no /debug/explain: it may be kube-scheduler",
        ),
        (
            504,
            r#"{"error":"the cache has not answered"}"#,
            "answers 504: the cache has not answered",
        ),
    ];
    for (status, body, expected) in cases {
        let error = said(status, body).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn an_unknown_pod_is_an_answer() {
    let Ok(Said::Explained(explanation)) = said(404, r#"{"pod":"a/b","state":"Unknown","summary":"no such pod"}"#)
    else {
        panic!("not explained")
    };
    assert_eq!(
        (explanation.pod.as_str(), explanation.state),
        ("a/b", PodState::Unknown)
    );
}

fn pending() -> Explanation {
    let text = str::to_owned;
    Explanation {
        pod: text("shop/web"),
        uid: Some(text("u1")),
        at: Some(text("2026-11-29T02:00:10Z")),
        state: PodState::Unschedulable,
        summary: text("no node would do"),
        scheduler_name: Some(text("default-scheduler")),
        queue: Some(QueuePlace {
            place: text("unschedulable"),
            since: text("2026-11-29T02:00:00Z"),
            event: Some(text("ScheduleAttemptFailure")),
            next_look: Some(text("2026-11-29T02:05:01Z")),
            retry_at: Some(text("2026-11-29T02:06:10Z")),
            pods: 3,
            ahead: None,
            added: text("2026-11-29T01:00:00Z"),
            attempts: 2,
            rejected_by: vec![text("NodeResourcesFit")],
        }),
        waits_for: vec![WaitFor {
            kind: text("Victims"),
            what: text("its victims on node n1 to go"),
            since: Some(text("2026-11-29T02:00:00Z")),
            until: None,
            pods: vec![text("shop/low is going")],
        }],
        attempts: vec![PastAttempt {
            attempt: 2,
            ended: text("2026-11-29T02:00:00Z"),
            seconds: 0.00125,
            reason: text("Unschedulable"),
            message: text("0/2 nodes are available: 2 Insufficient cpu."),
            rejections: vec![Rejection {
                plugin: text("NodeResourcesFit"),
                nodes: 2,
                reason: text("Insufficient cpu"),
                examples: vec![text("n1"), text("n2")],
            }],
            nominated_node: None,
            victims: Vec::new(),
        }],
        would_help: Some(WouldHelp {
            note: None,
            nodes: 2,
            nearest: vec![NearNode {
                node: text("n1"),
                fits: false,
                lacks: vec![Lack {
                    plugin: text("NodeResourcesFit"),
                    what: text("cpu: needs 2, free 1.5"),
                    preemptible: true,
                }],
            }],
        }),
        ..Explanation::default()
    }
}

#[test]
fn a_table_shows_everything_that_is_known() {
    let expected = "\
Pod:          shop/web (u1)
State:        Unschedulable: no node would do
Scheduler:    default-scheduler
Queue:        unschedulable since 2026-11-29T02:00:00Z (10s ago), brought there by ScheduleAttemptFailure; 3 pods are there
Attempts:     2 since 2026-11-29T01:00:00Z (1h0m ago), rejected by NodeResourcesFit last
Next look:    2026-11-29T02:05:01Z (in 4m51s) at the latest
Retry at:     2026-11-29T02:06:10Z (in 6m0s), what spoke against it may be over then

Waits for
  its victims on node n1 to go, since 2026-11-29T02:00:00Z (10s ago)
    shop/low is going

What would help: the nearest of 2 nodes
  NODE  PLUGIN            LACKS
  n1    NodeResourcesFit  cpu: needs 2, free 1.5

Attempt 2, 2026-11-29T02:00:00Z (10s ago), took 1.2 ms: Unschedulable
  PLUGIN            NODES  FOR EXAMPLE  REASON
  NodeResourcesFit      2  n1, n2       Insufficient cpu
";
    let mut out = Vec::new();
    show(&pending(), Output::Table, &mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

#[test]
fn json_is_what_the_scheduler_answers() {
    let mut out = Vec::new();
    show(&pending(), Output::Json, &mut out).unwrap();
    assert_eq!(serde_json::from_slice::<Explanation>(&out).unwrap(), pending());
    let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(json["queue"]["retryAt"], "2026-11-29T02:06:10Z");
}
