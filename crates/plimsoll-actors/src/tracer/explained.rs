//! What somebody was told who asked why a pod is pending, in the pod's trace.

use plimsoll_telemetry::traces::opentelemetry::KeyValue;

use super::ExplainedRecord;
use super::building::{Building, Whereabouts, list};
use crate::explanation::{NearNode, WaitFor};

pub(super) fn explained(record: &ExplainedRecord, building: &mut Building) {
    let ExplainedRecord {
        trace,
        pod,
        at,
        explanation,
    } = record;
    let whereabouts = Whereabouts {
        trace: trace.trace_id(),
        span: building.id("explained", &pod.uid, at.as_nanos()),
        parent: trace.root(),
    };
    let span = building.span("explain", whereabouts, (*at, *at));
    span.pod(pod).text("plimsoll.explain.summary", &explanation.summary);
    if let Some(queue) = &explanation.queue {
        span.text("plimsoll.queue", &queue.place);
    }
    if let Some(node) = explanation.node.as_ref().or(explanation.nominated_node.as_ref()) {
        span.node(node);
    }
    for wait in &explanation.waits_for {
        span.event("waits for", waits_for(wait));
    }
    let Some(help) = &explanation.would_help else {
        return;
    };
    if let Some(note) = &help.note {
        span.text("plimsoll.explain.note", note);
    }
    for near in &help.nearest {
        span.event("near node", near_node(near));
    }
}

fn waits_for(wait: &WaitFor) -> Vec<KeyValue> {
    vec![
        KeyValue::new("plimsoll.waits_for", wait.kind.clone()),
        KeyValue::new("plimsoll.reason", wait.what.clone()),
        KeyValue::new("plimsoll.waits_for.pods", list(wait.pods.iter().cloned())),
    ]
}

fn near_node(near: &NearNode) -> Vec<KeyValue> {
    let lacks = near.lacks.iter().map(|lack| format!("{}: {}", lack.plugin, lack.what));
    vec![
        KeyValue::new("k8s.node.name", near.node.clone()),
        KeyValue::new("plimsoll.node.fits", near.fits),
        KeyValue::new("plimsoll.node.lacks", list(lacks)),
    ]
}
