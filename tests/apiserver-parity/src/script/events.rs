//! Events of both groups.

use serde_json::json;

use crate::step::{Request, Script};

const NEW: &str = "/apis/events.k8s.io/v1/namespaces/parity/events";
const CORE: &str = "/api/v1/namespaces/parity/events";

pub(super) fn add(script: &mut Script) {
    let event = json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "event.new", "namespace": "parity"},
        "eventTime": "2026-01-01T00:00:00.123456Z", "reportingController": "default-scheduler", "reportingInstance": "default-scheduler-host",
        "action": "Binding", "reason": "Scheduled", "type": "Normal", "note": "Successfully assigned",
        "regarding": {"apiVersion": "v1", "kind": "Pod", "namespace": "parity", "name": "p"}});
    script.send("create an event", Request::post(NEW, event.clone()));
    script.send("read it as a core event", Request::get(format!("{CORE}/event.new")));
    script.send(
        "start its series",
        Request::strategic(
            format!("{NEW}/event.new"),
            json!({"series": {"count": 2, "lastObservedTime": "2026-01-01T00:01:00.000000Z"}}),
        ),
    );
    script.send(
        "read the series as a core event",
        Request::get(format!("{CORE}/event.new")),
    );
    let core = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "event.core", "namespace": "parity"},
        "involvedObject": {"kind": "Node", "name": "n"}, "reason": "Starting", "message": "started", "type": "Normal",
        "source": {"component": "kubelet"}, "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z", "count": 1});
    script.send(
        "create a core event in another namespace than its object's",
        Request::post(format!("{CORE}?dryRun=All"), core.clone()),
    );
    let mut about_pod = core;
    about_pod["involvedObject"] = json!({"kind": "Pod", "name": "p", "namespace": "parity"});
    script.send("create a core event", Request::post(CORE, about_pod));
    script.send("read it as a new event", Request::get(format!("{NEW}/event.core")));
    let mut bad = event;
    bad["metadata"]["name"] = json!("event.bad");
    bad.as_object_mut()
        .into_iter()
        .for_each(|fields| drop(fields.remove("eventTime")));
    script.send(
        "an event without a time",
        Request::post(format!("{NEW}?dryRun=All"), bad),
    );
    script.send(
        "events about a pod",
        Request::get(format!(
            "{CORE}?fieldSelector=involvedObject.name%3Dp,reason%3DScheduled"
        )),
    );
    script.send("list the new events", Request::get(NEW));
}
