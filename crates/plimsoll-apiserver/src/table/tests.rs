use serde_json::json;

use super::*;
use crate::resource;

fn table(group: &str, plural: &str, object: &Value) -> Value {
    let res = resource::find(group, "v1", plural).expect("known kind");
    let now = "2026-01-01T00:10:30Z".parse().expect("time");
    to_table(res, object, IncludeObject::Metadata, now)
}

fn cells(group: &str, plural: &str, object: &Value) -> Value {
    table(group, plural, object)["rows"][0]["cells"].clone()
}

const CREATED: &str = "2026-01-01T00:00:00Z";

#[test]
fn every_kind_has_as_many_cells_as_columns() {
    for res in resource::RESOURCES {
        let table = to_table(
            res,
            &json!({"metadata": {"name": "a"}}),
            IncludeObject::None,
            Timestamp::UNIX_EPOCH,
        );
        let columns = table["columnDefinitions"].as_array().map(Vec::len);
        assert_eq!(
            columns,
            table["rows"][0]["cells"].as_array().map(Vec::len),
            "{}",
            res.plural
        );
    }
}

#[test]
fn pods_show_phase_readiness_and_age() {
    let pod = json!({"metadata": {"name": "a", "creationTimestamp": CREATED, "resourceVersion": "7"},
        "spec": {"containers": [{"name": "c"}], "nodeName": "n"}, "status": {"phase": "Pending"}});
    assert_eq!(
        cells("", "pods", &pod),
        json!(["a", "0/1", "Pending", "0", "10m", "<none>", "n", "<none>", "<none>"])
    );
    let table = table("", "pods", &pod);
    assert_eq!(table["metadata"], json!({"resourceVersion": "7"}));
    assert_eq!(table["rows"][0]["object"]["kind"], "PartialObjectMetadata");
}

#[test]
fn pod_status_condenses_containers_gates_and_deletion() {
    let status_of = |pod: Value| cells("", "pods", &pod)[2].clone();
    let gated = json!({"status": {"phase": "Pending", "conditions": [
        {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]}});
    assert_eq!(status_of(gated), "SchedulingGated");
    let deleted = json!({"metadata": {"deletionTimestamp": CREATED}, "status": {"phase": "Running"}});
    assert_eq!(status_of(deleted), "Terminating");
    let crashing = json!({"spec": {"containers": [{"name": "c"}]}, "status": {"phase": "Running",
        "containerStatuses": [{"name": "c", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}});
    assert_eq!(status_of(crashing), "CrashLoopBackOff");
    let init = json!({"spec": {"initContainers": [{"name": "i"}, {"name": "j"}]}, "status": {"phase": "Pending",
        "initContainerStatuses": [{"name": "i", "state": {"running": {}}}]}});
    assert_eq!(status_of(init), "Init:0/2");
    let completed = json!({"spec": {"containers": [{"name": "c"}, {"name": "d"}]}, "status": {"phase": "Running",
        "conditions": [{"type": "Ready", "status": "True"}], "containerStatuses": [
            {"name": "c", "state": {"terminated": {"reason": "Completed", "exitCode": 0}}},
            {"name": "d", "ready": true, "state": {"running": {}}}]}});
    assert_eq!(status_of(completed), "Running");
}

#[test]
fn restarts_tell_how_long_ago() {
    let pod = json!({"spec": {"containers": [{"name": "c"}]}, "status": {"containerStatuses": [
        {"name": "c", "restartCount": 3, "lastState": {"terminated": {"finishedAt": "2026-01-01T00:10:00Z"}}}]}});
    assert_eq!(cells("", "pods", &pod)[3], "3 (30s ago)");
}

#[test]
fn nodes_show_readiness_cordon_and_roles() {
    let node = json!({"metadata": {"name": "n", "creationTimestamp": CREATED,
            "labels": {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "edge"}},
        "spec": {"unschedulable": true},
        "status": {"conditions": [{"type": "Ready", "status": "True"}], "nodeInfo": {"kubeletVersion": "v1"}}});
    let cells = cells("", "nodes", &node);
    assert_eq!(cells[1], "Ready,SchedulingDisabled");
    assert_eq!(cells[2], "edge,worker");
    assert_eq!(cells[4], "v1");
}

#[test]
fn events_of_both_groups_read_alike() {
    let old = json!({"metadata": {"name": "e"}, "type": "Normal", "reason": "Scheduled", "message": " ok ",
        "involvedObject": {"kind": "Pod", "name": "p"}, "source": {"component": "s"},
        "firstTimestamp": CREATED, "lastTimestamp": "2026-01-01T00:10:00Z", "count": 2});
    let new = json!({"metadata": {"name": "e"}, "type": "Normal", "reason": "Scheduled", "note": "ok",
        "regarding": {"kind": "Pod", "name": "p"}, "reportingController": "s",
        "deprecatedFirstTimestamp": CREATED, "eventTime": CREATED,
        "series": {"count": 2, "lastObservedTime": "2026-01-01T00:10:00.000000Z"}});
    let expected = json!(["30s", "Normal", "Scheduled", "pod/p", "", "s", "ok", "10m", 2, "e"]);
    assert_eq!(cells("", "events", &old), expected);
    assert_eq!(cells("events.k8s.io", "events", &new), expected);
}

#[test]
fn workloads_and_services_show_counts_and_selectors() {
    let replica_set = json!({"metadata": {"name": "r"}, "spec": {"replicas": 2,
        "selector": {"matchLabels": {"b": "1"}, "matchExpressions": [{"key": "a", "operator": "In", "values": ["y", "x"]}]},
        "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}});
    assert_eq!(
        cells("apps", "replicasets", &replica_set),
        json!(["r", 2, 0, 0, "<unknown>", "c", "i", "a in (x,y),b=1"])
    );
    let service = json!({"metadata": {"name": "s"}, "spec": {"type": "NodePort", "clusterIPs": ["10.0.0.1"],
        "ports": [{"port": 80, "nodePort": 30000, "protocol": "TCP"}]}});
    assert_eq!(
        cells("", "services", &service),
        json!([
            "s",
            "NodePort",
            "10.0.0.1",
            "<none>",
            "80:30000/TCP",
            "<unknown>",
            "<none>"
        ])
    );
}

#[test]
fn lists_keep_their_metadata_and_rows_may_carry_whole_objects() {
    let res = resource::find("", "v1", "pods").expect("pods");
    let list = json!({"metadata": {"resourceVersion": "9", "continue": "x"}, "items": [{"metadata": {"name": "a"}}]});
    let table = to_table(res, &list, IncludeObject::Object, Timestamp::UNIX_EPOCH);
    assert_eq!(table["metadata"], json!({"resourceVersion": "9", "continue": "x"}));
    assert_eq!(
        table["rows"][0]["object"],
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}})
    );
    let bare = to_table(res, &list, IncludeObject::None, Timestamp::UNIX_EPOCH);
    assert_eq!(bare["rows"][0]["object"], Value::Null);
}
