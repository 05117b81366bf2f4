use super::*;

#[test]
fn a_status_is_kept_while_it_changes_what_the_pod_occupies() {
    let resized = |in_effect: &str, allocated: &str, condition: &Value| {
        let requests = json!({"requests": {"cpu": in_effect}});
        pod_with(&json!({
            "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
            "status": {
                "conditions": [condition],
                "containerStatuses": [
                    {"name": "c", "resources": requests, "allocatedResources": {"cpu": allocated}},
                    {"name": "gone", "resources": requests},
                    {"name": "c2"},
                ],
            },
        }))
    };
    let pending = |reason: &str| json!({"type": "PodResizePending", "status": "True", "reason": reason});
    let cases = [
        ("1", "1", json!({}), 0, 1000),
        ("500m", "500m", json!({}), 0, 1000),
        ("1500m", "1", json!({}), 1, 1500),
        ("1", "2", pending("Deferred"), 1, 2000),
        ("500m", "500m", pending("Infeasible"), 1, 500),
        ("1", "1", pending("Infeasible"), 0, 1000),
    ];
    for (in_effect, allocated, condition, kept, occupied) in cases {
        let pod = resized(in_effect, allocated, &condition);
        assert_eq!(
            pod.status.container_statuses.len(),
            kept,
            "{in_effect} {allocated} {condition}"
        );
        assert_eq!(
            Footprint::of(&pod).requests.milli_cpu,
            occupied,
            "{in_effect} {allocated} {condition}"
        );
    }
}

#[test]
fn words_of_a_later_api_do_not_make_an_object_unreadable() {
    let pod = pod_with(&json!({
        "spec": {
            "preemptionPolicy": "Later",
            "tolerations": [{"operator": "Later", "effect": "Later"}],
            "containers": [{"restartPolicy": "Later", "ports": [{"hostPort": 1, "protocol": "Later"}]}],
            "volumes": [{"name": "v", "later": {}}],
            "topologySpreadConstraints": [
                {"whenUnsatisfiable": "Later", "nodeAffinityPolicy": "Later", "nodeTaintsPolicy": null},
            ],
        },
        "status": {"phase": "Later"},
    }));
    assert_eq!(pod.spec.preemption_policy, PreemptionPolicy::PreemptLowerPriority);
    assert_eq!(pod.status.phase, PodPhase::Unknown);
    let spread = &pod.spec.topology_spread_constraints[0];
    assert_eq!(spread.when_unsatisfiable, WhenUnsatisfiable::DoNotSchedule);
    assert_eq!(spread.node_affinity_policy, Some(NodeInclusionPolicy::Ignore));
    let taints = json!([{"key": "a"}, {"key": "b", "effect": "Later"}]);
    let metadata = json!({"name": "n", "uid": "1", "resourceVersion": "1"});
    let node = decode_node(
        json!({"metadata": metadata, "spec": {"taints": taints}})
            .to_string()
            .as_bytes(),
    )
    .unwrap();
    assert!(node.spec.taints.iter().all(|taint| !taint.effect.rules_out()));
}

#[test]
fn of_init_containers_only_sidecars_have_a_status_that_counts() {
    let restarting = |policy: &str| {
        pod_with(&json!({
            "spec": {"initContainers": [{"name": "i", "restartPolicy": policy}]},
            "status": {"initContainerStatuses": [{"name": "i", "resources": {"requests": {"cpu": "1"}}}]},
        }))
    };
    assert_eq!(restarting("Always").status.container_statuses.len(), 1);
    assert_eq!(Footprint::of(&restarting("Always")).requests.milli_cpu, 1000);
    assert_eq!(restarting("").status.container_statuses.len(), 0);
}

#[test]
fn a_status_of_the_whole_pod_is_kept_while_it_says_something_new() {
    let given = |cpu: &str| {
        pod_with(&json!({
            "spec": {"resources": {"requests": {"cpu": "2"}}},
            "status": {"resources": {"requests": {"cpu": cpu}}, "allocatedResources": {"cpu": cpu}},
        }))
    };
    assert!(given("2").status.pod_level.is_none());
    assert!(given("3").status.pod_level.is_some());
    assert_eq!(Footprint::of(&given("3")).requests.milli_cpu, 3000);
}
