use super::*;

#[test]
fn of_a_namespace_the_labels_are_kept() {
    let object = json!({"metadata": {"name": "shop", "uid": "1", "resourceVersion": "7", "labels": {"team": "a"}},
        "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}});
    let namespace = decode_namespace(object.to_string().as_bytes()).unwrap();
    assert_eq!((namespace.name.as_str(), namespace.uid.as_str()), ("shop", "1"));
    assert_eq!(namespace.resource_version.as_u64(), 7);
    assert_eq!(namespace.labels.get("team"), Some("a"));
    assert!(decode_namespace(br#"{"metadata":{"name":"shop"}}"#).is_err());
}

#[test]
fn of_a_workload_the_selector_is_kept() {
    let labels = LabelSelector::of_labels([("app", "web")].into_iter().collect());
    let map = json!({"app": "web"});
    let selector = json!({"matchLabels": {"app": "web"}});
    let cases = [
        (WorkloadKind::Service, &map, Some(&labels)),
        (WorkloadKind::ReplicationController, &map, Some(&labels)),
        (WorkloadKind::ReplicaSet, &selector, Some(&labels)),
        (WorkloadKind::StatefulSet, &selector, Some(&labels)),
        (WorkloadKind::Service, &json!({}), None),
        (WorkloadKind::Service, &json!(null), None),
        (WorkloadKind::ReplicationController, &json!(null), None),
        (WorkloadKind::ReplicaSet, &json!({}), Some(&LabelSelector::default())),
        (WorkloadKind::ReplicaSet, &json!(null), None),
    ];
    for (kind, selector, expected) in cases {
        let object = json!({"metadata": {"namespace": "shop", "name": "w", "uid": "1", "resourceVersion": "7"},
            "spec": {"selector": selector, "replicas": 3, "template": {"spec": {}}}});
        let workload = decode_workload_selector(kind, object.to_string().as_bytes()).unwrap();
        assert_eq!(workload.selector.as_ref(), expected, "{kind} {selector}");
        assert_eq!((workload.kind, workload.name.to_string()), (kind, "shop/w".to_owned()));
        assert_eq!((workload.uid.as_str(), workload.resource_version.as_u64()), ("1", 7));
    }
    let error = decode_workload_selector(WorkloadKind::Service, b"{}").unwrap_err();
    assert!(error.to_string().starts_with("cannot decode Service: "), "{error}");
}

#[test]
fn of_a_disruption_budget_the_selector_and_what_is_allowed_are_kept() {
    let object = json!({"metadata": {"namespace": "shop", "name": "b", "uid": "1", "resourceVersion": "7"},
        "spec": {"minAvailable": 1, "selector": {"matchExpressions": [{"key": "app", "operator": "Wrong"}]}},
        "status": {"disruptionsAllowed": 2, "currentHealthy": 3,
            "disruptedPods": {"q": "2026-01-01T00:00:00Z", "p": "2026-01-01T00:00:00Z"}}});
    let budget = decode_disruption_budget(object.to_string().as_bytes()).unwrap();
    assert_eq!(budget.name.to_string(), "shop/b");
    assert_eq!((budget.uid.as_str(), budget.resource_version.as_u64()), ("1", 7));
    assert!(!budget.selector.unwrap().is_valid());
    assert_eq!(budget.disruptions_allowed, 2);
    assert_eq!(budget.disrupted_pods, ["p", "q"]);
    let bare = json!({"metadata": {"name": "b", "uid": "1", "resourceVersion": "7"}, "spec": null, "status": null});
    let bare = decode_disruption_budget(bare.to_string().as_bytes()).unwrap();
    assert_eq!((bare.selector, bare.disruptions_allowed), (None, 0));
}

#[test]
fn controllers_that_a_node_asks_to_avoid_are_kept() {
    let avoided = |annotation: &str| {
        let metadata = json!({"name": "n", "uid": "u", "resourceVersion": "1",
            "annotations": {"other": "x", "scheduler.alpha.kubernetes.io/preferAvoidPods": annotation}});
        let node = decode_node(json!({ "metadata": metadata }).to_string().as_bytes()).unwrap();
        let controllers = node.avoided_controllers.into_iter();
        controllers
            .map(|avoided| format!("{} {}", avoided.kind, avoided.uid))
            .collect::<Vec<_>>()
    };
    let entry = r#"{"podSignature":{"podController":{"apiVersion":"v1","kind":"ReplicationController","name":"foo",
        "uid":"abc","controller":true}},"evictionTime":"2016-01-01T00:00:00Z","reason":"r","message":"m"}"#;
    assert_eq!(
        avoided(&format!(r#"{{"preferAvoidPods":[{entry},{{}}]}}"#)),
        ["ReplicationController abc"]
    );
    assert_eq!(avoided("not json"), [] as [&str; 0]);
    assert_eq!(avoided("{}"), [] as [&str; 0]);
}
