use super::super::explained::explained;
use super::*;
use crate::explanation::{Explanation, Lack, NearNode, QueuePlace, WaitFor, WouldHelp};

fn span_of(explanation: Explanation) -> SpanData {
    let pod = tried();
    let record = ExplainedRecord {
        trace: TraceContext::of(&pod),
        pod: PodIdentity::of(&pod),
        at: at(12_000),
        explanation,
    };
    let mut building = building();
    explained(&record, &mut building);
    building.into_spans().remove(0)
}

fn told(span: &SpanData, event: &str) -> Vec<String> {
    let events = span.events.iter().filter(|told| told.name == event);
    let texts = events.map(|event| {
        let values = event.attributes.iter().map(|attribute| attribute.value.to_string());
        values.collect::<Vec<_>>().join(" | ")
    });
    texts.collect()
}

#[test]
fn what_would_help_a_pod_and_whom_it_waits_for_is_in_its_trace_when_somebody_has_asked() {
    let lack = Lack {
        plugin: "NodeResourcesFit".to_owned(),
        what: "Insufficient cpu: wants 2, has 1".to_owned(),
        preemptible: true,
    };
    let near = |node: &str, lacks: Vec<Lack>| NearNode {
        node: node.to_owned(),
        fits: lacks.is_empty(),
        lacks,
    };
    let span = span_of(Explanation {
        summary: "no node will do".to_owned(),
        queue: Some(QueuePlace {
            place: "unschedulable".to_owned(),
            ..QueuePlace::default()
        }),
        nominated_node: Some("n3".to_owned()),
        waits_for: vec![WaitFor {
            kind: "Victims".to_owned(),
            what: "pods that make room".to_owned(),
            pods: vec!["default/low".to_owned()],
            ..WaitFor::default()
        }],
        would_help: Some(WouldHelp {
            note: None,
            nodes: 2,
            nearest: vec![near("n1", vec![lack]), near("n2", Vec::new())],
        }),
        ..Explanation::default()
    });
    assert_eq!(span.name, "explain");
    assert_eq!(span.parent_span_id, SpanId::from(TraceContext::of(&tried()).root()));
    assert_eq!(span.start_time, time("2026-11-28T02:30:12Z"));
    let said = |key| attribute(&span, key);
    assert_eq!(
        [said("k8s.pod.name"), said("k8s.node.name"), said("plimsoll.queue")],
        ["a", "n3", "unschedulable"]
    );
    assert_eq!(said("plimsoll.explain.summary"), "no node will do");
    assert_eq!(
        told(&span, "waits for"),
        [r#"Victims | pods that make room | ["default/low"]"#]
    );
    assert_eq!(
        told(&span, "near node"),
        [
            r#"n1 | false | ["NodeResourcesFit: Insufficient cpu: wants 2, has 1"]"#,
            "n2 | true | []",
        ]
    );
}

#[test]
fn a_pod_for_which_nothing_is_to_be_said_has_a_summary_alone() {
    let span = span_of(Explanation {
        summary: "it is bound".to_owned(),
        node: Some("n1".to_owned()),
        ..Explanation::default()
    });
    assert!(span.events.events.is_empty());
    assert_eq!(attribute(&span, "k8s.node.name"), "n1");
}
