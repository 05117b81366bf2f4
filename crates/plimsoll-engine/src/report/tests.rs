use plimsoll_model::decode_pod;

use super::*;

fn pod(status: &str) -> Pod {
    let json = format!(
        r#"{{"metadata":{{"name":"a","namespace":"default","uid":"u1","resourceVersion":"1","generation":4}},
            "spec":{{"containers":[]}},"status":{status}}}"#
    );
    decode_pod(json.as_bytes()).unwrap()
}

fn refused(message: &str) -> String {
    format!(
        r#"{{"conditions":[{{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"{message}",
            "lastTransitionTime":"2026-01-01T00:00:00Z"}}]}}"#
    )
}

fn report(pod: &Pod, message: &str, nominate: &Nomination) -> Option<StatusReport> {
    status_report(pod, FailureReason::Unschedulable, message, nominate)
}

#[test]
fn a_first_refusal_writes_the_condition_with_a_new_time() {
    let report = report(&pod("{}"), "no room", &Nomination::Clear).unwrap();
    let condition = report.condition.unwrap();
    assert_eq!(condition.message, "no room");
    assert_eq!(condition.observed_generation, 4);
    assert_eq!(condition.last_transition, TransitionTime::Now);
    assert_eq!(report.nominated_node_name, None);
}

#[test]
fn another_message_keeps_the_time() {
    let report = report(&pod(&refused("old")), "new", &Nomination::Keep).unwrap();
    let kept = Some(Timestamp::new("2026-01-01T00:00:00Z"));
    assert_eq!(report.condition.unwrap().last_transition, TransitionTime::Keep(kept));
}

#[test]
fn nothing_is_written_when_a_reader_would_see_no_difference() {
    assert_eq!(report(&pod(&refused("same")), "same", &Nomination::Clear), None);
}

#[test]
fn another_reason_is_a_difference() {
    let report = status_report(
        &pod(&refused("same")),
        FailureReason::SchedulerError,
        "same",
        &Nomination::Keep,
    );
    assert_eq!(report.unwrap().condition.unwrap().reason, FailureReason::SchedulerError);
}

#[test]
fn condition_and_nomination_go_in_one_patch() {
    let nominated = pod(r#"{"nominatedNodeName":"n1"}"#);
    let cleared = report(&nominated, "no room", &Nomination::Clear).unwrap();
    assert!(cleared.condition.is_some());
    assert_eq!(cleared.nominated_node_name.as_deref(), Some(""));
    let same = report(&nominated, "no room", &Nomination::Set("n1".into())).unwrap();
    assert_eq!(same.nominated_node_name, None);
    let other = report(&nominated, "no room", &Nomination::Set("n2".into())).unwrap();
    assert_eq!(other.nominated_node_name.as_deref(), Some("n2"));
}

#[test]
fn a_note_is_cut_at_1024_bytes_on_a_character() {
    assert_eq!(event_note(&"x".repeat(1024)), "x".repeat(1024));
    assert_eq!(event_note(&"x".repeat(1025)), format!("{} ...", "x".repeat(1020)));
    let wide = event_note(&"é".repeat(600));
    assert_eq!(wide.len(), 1024);
    let uneven = event_note(&format!("x{}", "é".repeat(600)));
    assert_eq!(uneven.len(), 1023);
    assert!(uneven.ends_with("é ..."));
}

#[test]
fn a_note_is_no_format() {
    let note = "100% of 5%d, %s and %!v(MISSING)";
    assert_eq!(event_note(note), note);
}
