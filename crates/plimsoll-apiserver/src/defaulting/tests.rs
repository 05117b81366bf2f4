use serde_json::json;

use super::*;
use crate::resource;

fn defaulted(group: &str, plural: &str, mut object: Value) -> Value {
    let res = resource::find(group, "v1", plural).expect("known kind");
    apply(res, &mut object);
    let once = object.clone();
    apply(res, &mut object);
    assert_eq!(object, once, "defaults are stable");
    object
}

fn pod(spec: &Value) -> Value {
    defaulted("", "pods", json!({"metadata": {"name": "p"}, "spec": spec}))["spec"].clone()
}

#[test]
fn a_bare_pod_reads_back_with_upstreams_defaults() {
    assert_eq!(
        pod(&json!({"containers": [{"name": "c", "image": "i:1"}]})),
        json!({
            "containers": [{
                "name": "c", "image": "i:1", "imagePullPolicy": "IfNotPresent", "resources": {},
                "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
            }],
            "dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "securityContext": {},
            "schedulerName": "default-scheduler", "terminationGracePeriodSeconds": 30, "enableServiceLinks": true,
        })
    );
}

#[test]
fn images_without_tag_or_with_latest_are_always_pulled() {
    let policy = |image: &str| {
        let spec = pod(&json!({"containers": [{"name": "c", "image": image}]}));
        spec["containers"][0]["imagePullPolicy"].clone()
    };
    for image in ["i", "host:5000/i", "i:latest"] {
        assert_eq!(policy(image), "Always", "{image}");
    }
    for image in ["i:1", "host:5000/i:2", "i@sha256:0"] {
        assert_eq!(policy(image), "IfNotPresent", "{image}");
    }
}

#[test]
fn quantities_are_canonical_and_limits_become_requests() {
    let spec = pod(&json!({"containers": [{"name": "c", "image": "i",
        "resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"}, "requests": {"cpu": 0.5}}}]}));
    assert_eq!(
        spec["containers"][0]["resources"],
        json!({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m", "memory": "1Gi"}})
    );
}

#[test]
fn host_network_makes_container_ports_host_ports() {
    let spec = pod(&json!({"hostNetwork": true, "containers": [{"name": "c", "image": "i",
        "ports": [{"containerPort": 80}, {"containerPort": 81, "hostPort": 82, "protocol": "UDP"}]}]}));
    assert_eq!(
        spec["containers"][0]["ports"],
        json!([{"containerPort": 80, "hostPort": 80, "protocol": "TCP"},
               {"containerPort": 81, "hostPort": 82, "protocol": "UDP"}])
    );
}

#[test]
fn templates_get_no_defaults_that_pods_alone_get() {
    let object = defaulted(
        "apps",
        "deployments",
        json!({"spec": {"template": {"spec": {"containers": [
            {"name": "c", "image": "i:1", "resources": {"limits": {"cpu": "1"}}}]}}}}),
    );
    let template = &object["spec"]["template"]["spec"];
    assert_eq!(template.get("enableServiceLinks"), None);
    assert_eq!(template["containers"][0]["resources"], json!({"limits": {"cpu": "1"}}));
    assert_eq!(template["schedulerName"], "default-scheduler");
    assert_eq!(
        object["spec"]["strategy"],
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}})
    );
    assert_eq!(object["spec"]["replicas"], 1);
}

#[test]
fn a_nodes_allocatable_defaults_to_its_capacity() {
    let node = defaulted("", "nodes", json!({"status": {"capacity": {"cpu": "4000m"}}}));
    assert_eq!(node["status"]["allocatable"], json!({"cpu": "4"}));
    assert_eq!(node["status"]["nodeInfo"]["kubeletVersion"], "");
}

#[test]
fn namespaces_are_labelled_with_their_name_and_active() {
    let namespace = defaulted("", "namespaces", json!({"metadata": {"name": "a"}}));
    assert_eq!(
        namespace["metadata"]["labels"],
        json!({"kubernetes.io/metadata.name": "a"})
    );
    assert_eq!(namespace["status"]["phase"], "Active");
}

#[test]
fn service_ports_and_policies_are_filled_in() {
    let service = defaulted("", "services", json!({"spec": {"ports": [{"port": 80}]}}));
    assert_eq!(
        service["spec"],
        json!({"type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster",
            "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}]})
    );
}

#[test]
fn claims_wait_as_filesystems() {
    let claim = defaulted(
        "",
        "persistentvolumeclaims",
        json!({"spec": {"resources": {"requests": {"storage": "1024Mi"}}}}),
    );
    assert_eq!(claim["spec"]["volumeMode"], "Filesystem");
    assert_eq!(claim["spec"]["resources"]["requests"]["storage"], "1Gi");
    assert_eq!(claim["status"]["phase"], "Pending");
}

#[test]
fn empty_lists_and_maps_are_left_out_as_in_a_round_trip() {
    let object = defaulted(
        "",
        "pods",
        json!({"metadata": {"name": "p", "labels": {}, "finalizers": []},
            "spec": {"containers": [], "schedulingGates": [], "volumes": [{"name": "v", "emptyDir": {}}]}}),
    );
    assert_eq!(object["metadata"], json!({"name": "p"}));
    assert_eq!(object["spec"].get("schedulingGates"), None);
    assert_eq!(object["spec"]["volumes"], json!([{"name": "v", "emptyDir": {}}]));
    let map = defaulted("", "configmaps", json!({"metadata": {"name": "m"}, "data": {}}));
    assert_eq!(map, json!({"metadata": {"name": "m"}}));
}

#[test]
fn statuses_that_count_start_at_zero() {
    let budgets = resource::find("policy", "v1", "poddisruptionbudgets").expect("budgets");
    assert_eq!(zero_status(budgets)["disruptionsAllowed"], 0);
    let claims = resource::find("resource.k8s.io", "v1", "resourceclaims").expect("claims");
    assert_eq!(zero_status(claims), json!({}));
}
