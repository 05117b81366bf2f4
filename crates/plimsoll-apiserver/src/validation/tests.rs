use serde_json::json;

use super::*;
use crate::resource;

mod storage;

fn errors(group: &str, plural: &str, obj: &Value, old: Option<&Value>) -> Vec<String> {
    let res = resource::find(group, "v1", plural).expect("known kind");
    let causes = validate(res, obj, old).err().unwrap_or_default();
    causes.iter().map(ToString::to_string).collect()
}

fn pod_with(spec: &Value) -> Value {
    let mut pod = json!({"metadata": {"name": "p", "namespace": "default"},
        "spec": {"containers": [{"name": "c", "image": "i"}]}});
    for (field, value) in spec.as_object().expect("object") {
        pod["spec"][field] = value.clone();
    }
    pod
}

fn pod_errors(spec: &Value) -> Vec<String> {
    errors("", "pods", &pod_with(spec), None)
}

fn update_errors(old: &Value, new: &Value) -> Vec<String> {
    errors("", "pods", &pod_with(new), Some(&pod_with(old)))
}

#[test]
fn a_plain_pod_is_valid() {
    assert_eq!(pod_errors(&json!({})), [""; 0]);
}

#[test]
fn bad_names_are_refused_in_upstreams_words() {
    let mut pod = pod_with(&json!({}));
    pod["metadata"]["name"] = json!("Bad_Name");
    assert_eq!(
        errors("", "pods", &pod, None),
        [
            "metadata.name: Invalid value: \"Bad_Name\": a lowercase RFC 1123 subdomain must consist of lower case \
          alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. \
          'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
        ]
    );
    let nameless = json!({"metadata": {"namespace": "default"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    assert_eq!(
        errors("", "pods", &nameless, None),
        ["metadata.name: Required value: name or generateName is required"]
    );
    let dotted = json!({"metadata": {"name": "a.b"}});
    assert_eq!(
        errors("", "namespaces", &dotted, None),
        ["metadata.name: Invalid value: \"a.b\": must not contain dots"]
    );
    assert_eq!(
        errors(
            "rbac.authorization.k8s.io",
            "clusterroles",
            &json!({"metadata": {"name": "system:x"}}),
            None
        ),
        [""; 0]
    );
}

#[test]
fn generated_names_may_have_a_dash_before_the_generated_part() {
    let mut pod = pod_with(&json!({}));
    pod["metadata"]["generateName"] = json!("a-");
    assert_eq!(errors("", "pods", &pod, None), [""; 0]);
    pod["metadata"]["generateName"] = json!("A-");
    assert_eq!(errors("", "pods", &pod, None).len(), 1);
}

#[test]
fn labels_are_checked_by_key_and_value() {
    let mut pod = pod_with(&json!({}));
    pod["metadata"]["labels"] = json!({"a b": "x", "ok": "not ok!"});
    let errors = errors("", "pods", &pod, None);
    assert_eq!(errors.len(), 2);
    assert!(
        errors[0].starts_with("metadata.labels: Invalid value: \"a b\": name part must consist of"),
        "{errors:?}"
    );
    assert!(
        errors[1].starts_with("metadata.labels: Invalid value: \"not ok!\": a valid label must be"),
        "{errors:?}"
    );
}

#[test]
fn containers_need_names_images_and_to_be_there() {
    assert_eq!(
        pod_errors(&json!({"containers": []})),
        ["spec.containers: Required value"]
    );
    assert_eq!(
        pod_errors(&json!({"containers": [{"image": "i"}, {"name": "c"}, {"name": "c", "image": "i"}]})),
        [
            "spec.containers[0].name: Required value",
            "spec.containers[1].image: Required value",
            "spec.containers[2].name: Duplicate value: \"c\"",
        ]
    );
}

#[test]
fn requests_stay_within_limits() {
    let resources =
        |resources: Value| pod_errors(&json!({"containers": [{"name": "c", "image": "i", "resources": resources}]}));
    assert_eq!(
        resources(json!({"requests": {"cpu": "2"}, "limits": {"cpu": "1"}})),
        ["spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1"]
    );
    assert_eq!(
        resources(json!({"requests": {"example.com/gpu": "1"}})),
        ["spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources"]
    );
    assert_eq!(
        resources(json!({"requests": {"cpu": "-1"}})),
        ["spec.containers[0].resources.requests[cpu]: Invalid value: \"-1\": must be greater than or equal to 0"]
    );
    assert_eq!(resources(json!({"requests": {"cpu": "nope"}})).len(), 1);
    assert_eq!(resources(json!({"requests": {"gpu": "1"}})).len(), 2);
}

#[test]
fn ports_are_in_range_and_unique_on_the_host() {
    let ports = |ports: Value| pod_errors(&json!({"containers": [{"name": "c", "image": "i", "ports": ports}]}));
    assert_eq!(
        ports(json!([{"containerPort": 70000}])),
        ["spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive"]
    );
    assert_eq!(
        ports(json!([{"containerPort": 1, "hostPort": 80, "protocol": "TCP"},
                     {"containerPort": 2, "hostPort": 80, "protocol": "TCP"}])),
        ["spec.containers[0].ports[1].hostPort: Duplicate value: \"TCP//80\""]
    );
}

#[test]
fn tolerations_follow_their_operators() {
    let toleration = |toleration: Value| pod_errors(&json!({"tolerations": [toleration]}));
    assert_eq!(toleration(json!({"operator": "Exists"})), [""; 0]);
    assert_eq!(
        toleration(json!({"operator": "Equal"})),
        [
            "spec.tolerations[0].operator: Invalid value: \"Equal\": operator must be Exists when `key` is empty, which \
          means \"match all values and all keys\""
        ]
    );
    assert_eq!(
        toleration(json!({"key": "a", "operator": "Exists", "value": "b"})),
        ["spec.tolerations[0].operator: Invalid value: \"b\": value must be empty when `operator` is 'Exists'"]
    );
    assert_eq!(
        toleration(json!({"key": "a", "operator": "Maybe"})),
        ["spec.tolerations[0].operator: Unsupported value: \"Maybe\": supported values: \"Equal\", \"Exists\""]
    );
    assert_eq!(
        toleration(json!({"key": "a", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 3})),
        [
            "spec.tolerations[0].effect: Invalid value: \"NoSchedule\": effect must be 'NoExecute' when \
          `tolerationSeconds` is set"
        ]
    );
}

#[test]
fn affinity_terms_and_spread_constraints_are_checked() {
    let affinity = |affinity: Value| pod_errors(&json!({"affinity": affinity}));
    let base = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    let required = |terms: Value| {
        affinity(
            json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}),
        )
    };
    assert_eq!(
        required(json!([])),
        [format!(
            "{base}: Required value: must have at least one node selector term"
        )]
    );
    assert_eq!(
        required(json!([{"matchExpressions": [{"key": "a", "operator": "Near"}]}])),
        [format!(
            "{base}[0].matchExpressions[0].operator: Invalid value: \"Near\": not a valid selector operator"
        )]
    );
    assert_eq!(
        pod_errors(
            &json!({"topologySpreadConstraints": [{"maxSkew": 0, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}]})
        ),
        ["spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero"]
    );
}

#[test]
fn images_and_tolerations_may_change_and_little_else() {
    assert_eq!(
        update_errors(&json!({}), &json!({"containers": [{"name": "c", "image": "other"}]})),
        [""; 0]
    );
    assert_eq!(
        update_errors(&json!({}), &json!({"tolerations": [{"operator": "Exists"}]})),
        [""; 0]
    );
    assert_eq!(
        update_errors(
            &json!({"tolerations": [{"key": "a", "operator": "Exists"}]}),
            &json!({"tolerations": []})
        ),
        ["spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"]
    );
    let changed = update_errors(&json!({}), &json!({"nodeSelector": {"a": "b"}}));
    assert_eq!(changed.len(), 1);
    assert!(
        changed[0]
            .starts_with("spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,")
    );
    assert_eq!(
        update_errors(&json!({}), &json!({"containers": []})),
        ["spec.containers: Forbidden: pod updates may not add or remove containers"]
    );
}

#[test]
fn gates_can_only_be_removed_and_gated_pods_narrowed() {
    let gated = json!({"schedulingGates": [{"name": "a"}]});
    assert_eq!(update_errors(&gated, &json!({})), [""; 0]);
    assert_eq!(
        update_errors(&json!({}), &gated),
        ["spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'a'"]
    );
    let narrowed = json!({"schedulingGates": [{"name": "a"}], "nodeSelector": {"zone": "z"}});
    assert_eq!(update_errors(&gated, &narrowed), [""; 0]);
}

fn status_errors(new: &Value, old: &Value) -> Vec<String> {
    let pods = resource::find("", "v1", "pods").expect("pods");
    let causes = validate_status(pods, new, old).err().unwrap_or_default();
    causes.iter().map(ToString::to_string).collect()
}

#[test]
fn nominations_name_nodes() {
    let old = pod_with(&json!({}));
    let mut new = old.clone();
    new["status"] = json!({"nominatedNodeName": "Not_A_Node"});
    assert_eq!(status_errors(&new, &old).len(), 1);
}

#[test]
fn what_no_decoder_reads_is_told_in_its_words() {
    let pods = resource::find("", "v1", "pods").expect("pods");
    let wrong =
        pod_with(&json!({"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "lots"}}}]}));
    assert_eq!(
        undecodable(pods, &wrong).as_deref(),
        Some(
            "Pod in version \"v1\" cannot be handled as a Pod: quantities must match the regular expression \
              '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        )
    );
    assert!(undecodable(pods, &pod_with(&json!({"containers": "none"}))).is_some());
    assert_eq!(undecodable(pods, &pod_with(&json!({}))), None);
}

#[test]
fn new_events_follow_strict_rules_and_core_events_lax_ones() {
    let event = json!({"metadata": {"name": "e", "namespace": "n"}, "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "a/b", "reportingInstance": "i", "action": "Binding", "reason": "Scheduled",
        "type": "Normal", "note": "ok", "regarding": {"kind": "Pod", "namespace": "n", "name": "p"}});
    let group = "events.k8s.io";
    assert_eq!(errors(group, "events", &event, None), [""; 0]);
    let mut timeless = event.clone();
    timeless["eventTime"] = Value::Null;
    assert_eq!(errors(group, "events", &timeless, None), ["eventTime: Required value"]);
    let mut wordy = event.clone();
    wordy["note"] = json!("x".repeat(1025));
    assert_eq!(
        errors(group, "events", &wordy, None),
        ["message: Invalid value: \"\": can have at most 1024 characters"]
    );
    let mut other = event.clone();
    other["reason"] = json!("Other");
    assert_eq!(
        errors(group, "events", &other, Some(&event)),
        ["reason: Invalid value: \"Other\": field is immutable"]
    );
    let core = json!({"metadata": {"name": "e", "namespace": "n"}, "involvedObject": {"kind": "Node", "name": "m"}});
    assert_eq!(
        errors("", "events", &core, None),
        ["involvedObject.namespace: Invalid value: \"\": does not match event.namespace"]
    );
}

#[test]
fn a_bound_pod_takes_no_nomination() {
    let mut old = pod_with(&json!({"nodeName": "n"}));
    old["status"] = json!({});
    let mut new = old.clone();
    new["status"]["nominatedNodeName"] = json!("m");
    assert_eq!(
        status_errors(&new, &old),
        ["status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node"]
    );
}

#[test]
fn objects_being_deleted_take_no_new_finalizers() {
    let mut old = pod_with(&json!({}));
    old["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let mut new = old.clone();
    new["metadata"]["finalizers"] = json!(["a/b"]);
    assert_eq!(
        errors("", "pods", &new, Some(&old)),
        [
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new \
          finalizers []string{\"a/b\"}"
        ]
    );
}

#[test]
fn taints_are_checked_and_unique() {
    let node = |taints: Value| {
        let node = json!({"metadata": {"name": "n"}, "spec": {"taints": taints}});
        errors("", "nodes", &node, None)
    };
    assert_eq!(node(json!([{"key": "a", "effect": "NoSchedule"}])), [""; 0]);
    assert_eq!(
        node(json!([{"key": "a", "effect": "Sometimes"}])),
        [
            "metadata.taints[0].effect: Unsupported value: \"Sometimes\": supported values: \"NoSchedule\", \
          \"PreferNoSchedule\", \"NoExecute\""
        ]
    );
    assert_eq!(
        node(json!([{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule"}])).len(),
        1
    );
}

#[test]
fn priority_values_are_bounded_and_never_change() {
    let class = |value: i64| json!({"metadata": {"name": "p"}, "value": value});
    let group = "scheduling.k8s.io";
    assert_eq!(
        errors(group, "priorityclasses", &class(2_000_000_000), None),
        ["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"]
    );
    assert_eq!(
        errors(group, "priorityclasses", &class(2), Some(&class(1))),
        ["value: Forbidden: may not be changed in an update."]
    );
}

#[test]
fn workload_selectors_match_their_templates_and_stay() {
    let set = |selector: &str, label: &str| {
        json!({"metadata": {"name": "r", "namespace": "default"}, "spec": {"selector": {"matchLabels": {"a": selector}},
            "template": {"metadata": {"labels": {"a": label}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}})
    };
    assert_eq!(errors("apps", "replicasets", &set("1", "1"), None), [""; 0]);
    assert_eq!(
        errors("apps", "replicasets", &set("1", "2"), None),
        ["spec.template.metadata.labels: Invalid value: {\"a\":\"2\"}: `selector` does not match template `labels`"]
    );
    assert_eq!(
        errors("apps", "replicasets", &set("2", "2"), Some(&set("1", "1"))).len(),
        1
    );
}

#[test]
fn leases_last_longer_than_nothing() {
    let lease = json!({"metadata": {"name": "l", "namespace": "default"}, "spec": {"leaseDurationSeconds": 0}});
    assert_eq!(
        errors("coordination.k8s.io", "leases", &lease, None),
        ["spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"]
    );
}
