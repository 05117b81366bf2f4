use super::*;

fn merged(mut spec: Value, changes: &Value) -> Value {
    for (field, value) in changes.as_object().expect("object") {
        spec[field] = value.clone();
    }
    spec
}

fn volume_spec() -> Value {
    json!({"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"},
        "csi": {"driver": "disk.example.com", "volumeHandle": "h"}})
}

fn claim_spec() -> Value {
    json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}})
}

fn of_spec(spec: &Value) -> Value {
    json!({"metadata": {"name": "a", "namespace": "default"}, "spec": spec})
}

fn volume_errors(changes: &Value) -> Vec<String> {
    let mut volume = of_spec(&merged(volume_spec(), changes));
    volume["metadata"] = json!({"name": "a"});
    errors("", "persistentvolumes", &volume, None)
}

fn claim_errors(changes: &Value) -> Vec<String> {
    let claim = of_spec(&merged(claim_spec(), changes));
    errors("", "persistentvolumeclaims", &claim, None)
}

#[test]
fn volumes_and_claims_are_refused_in_upstreams_words() {
    assert_eq!(volume_errors(&json!({})), [""; 0]);
    assert_eq!(claim_errors(&json!({})), [""; 0]);
    let modes = "supported values: \"ReadOnlyMany\", \"ReadWriteMany\", \"ReadWriteOnce\", \"ReadWriteOncePod\"";
    let both = "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes";
    for (changes, expected) in [
        (
            json!({"accessModes": ["X"]}),
            format!("spec.accessModes: Unsupported value: \"X\": {modes}"),
        ),
        (
            json!({"accessModes": ["ReadWriteOncePod", "ReadWriteOnce"]}),
            both.to_owned(),
        ),
        (
            json!({"volumeMode": "Tape"}),
            "spec.volumeMode: Unsupported value: \"Tape\": supported values: \"Block\", \"Filesystem\"".to_owned(),
        ),
    ] {
        assert_eq!(volume_errors(&changes), [expected.as_str()], "{changes}");
        assert_eq!(claim_errors(&changes), [expected.as_str()], "{changes}");
    }
    for (changes, expected) in [
        (json!({"csi": null}), "spec: Required value: must specify a volume type"),
        (
            json!({"hostPath": {"path": "/x"}}),
            "spec.csi: Forbidden: may not specify more than 1 volume type",
        ),
        (
            json!({"csi": null, "local": {"path": "/x"}}),
            "spec.nodeAffinity: Required value: Local volume requires node affinity",
        ),
        (
            json!({"nodeAffinity": {"required": {}}}),
            "spec.nodeAffinity.required.nodeSelectorTerms: Required value: must have at least one node selector term",
        ),
        (
            json!({"capacity": {"storage": "0"}}),
            "spec.capacity[storage]: Invalid value: \"0\": must be greater than zero",
        ),
    ] {
        assert_eq!(volume_errors(&changes), [expected], "{changes}");
    }
    let no_size = claim_errors(&json!({"resources": {}}));
    assert_eq!(no_size, ["spec.resources[storage]: Required value"]);
}

#[test]
fn of_a_volume_the_source_the_mode_and_the_place_stay_and_the_claim_may_change() {
    let terms =
        json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}});
    let old = merged(
        volume_spec(),
        &json!({"nodeAffinity": terms, "volumeMode": "Filesystem"}),
    );
    let update = |changes: Value| {
        let new = of_spec(&merged(old.clone(), &changes));
        let fields = errors("", "persistentvolumes", &new, Some(&of_spec(&old)));
        fields
            .iter()
            .map(|error| error.split(':').next().unwrap_or_default().to_owned())
            .collect::<Vec<String>>()
    };
    assert_eq!(
        update(json!({"claimRef": {"name": "c"}, "storageClassName": "fast"})),
        [""; 0]
    );
    let secret = json!({"driver": "disk.example.com", "volumeHandle": "h", "controllerExpandSecretRef": {"name": "s"}});
    assert_eq!(update(json!({ "csi": secret })), [""; 0]);
    let other = json!({"driver": "disk.example.com", "volumeHandle": "other"});
    assert_eq!(update(json!({ "csi": other })), ["spec.persistentvolumesource"]);
    assert_eq!(update(json!({"volumeMode": "Block"})), ["volumeMode"]);
    assert_eq!(update(json!({"nodeAffinity": null})), ["nodeAffinity"]);
}

#[test]
fn of_a_claim_a_volume_is_named_once_and_only_a_bound_one_asks_for_more() {
    let claim = |changes: &Value, phase: &str| {
        let mut claim = of_spec(&merged(claim_spec(), changes));
        claim["status"] = json!({"phase": phase, "capacity": {"storage": "1Gi"}});
        claim
    };
    let update = |before: Value, after: Value, phase: &str| {
        let (old, new) = (claim(&before, phase), claim(&after, phase));
        let fields = errors("", "persistentvolumeclaims", &new, Some(&old));
        fields
            .iter()
            .map(|error| error.split(": ").next().unwrap_or_default().to_owned())
            .collect::<Vec<String>>()
    };
    let more = || json!({"resources": {"requests": {"storage": "2Gi"}}});
    let volume = |name: &str| json!({ "volumeName": name });
    assert_eq!(update(json!({}), volume("v"), "Pending"), [""; 0]);
    assert_eq!(update(volume("v"), volume("w"), "Pending"), ["spec"]);
    assert_eq!(update(json!({}), more(), "Bound"), [""; 0]);
    assert_eq!(update(json!({}), more(), "Pending"), ["spec"]);
    assert_eq!(update(more(), json!({}), "Bound"), ["spec.resources.requests.storage"]);
    let class = |name: &str| json!({ "storageClassName": name });
    assert_eq!(update(json!({}), class("fast"), "Pending"), [""; 0]);
    assert_eq!(update(class("slow"), class("fast"), "Pending"), ["spec"]);
}

#[test]
fn kinds_of_the_storage_group_are_refused_in_upstreams_words() {
    let of = |plural: &str, parts: &Value| {
        let resource = resource::find("storage.k8s.io", "v1", plural).expect("known kind");
        let mut object = parts.clone();
        object["metadata"] = if resource.namespaced {
            json!({"name": "a", "namespace": "default"})
        } else {
            json!({"name": "a"})
        };
        errors("storage.k8s.io", plural, &object, None)
    };
    let zone = |values: &[&str]| json!({"matchLabelExpressions": [{"key": "zone", "values": values}]});
    let topologies = |terms: &[Value]| json!({"provisioner": "p", "allowedTopologies": terms});
    let drivers = |drivers: Value| json!({"spec": {"drivers": drivers}});
    for (plural, parts, expected) in [
        ("storageclasses", json!({}), "provisioner: Required value"),
        (
            "storageclasses",
            json!({"provisioner": "p", "volumeBindingMode": "Later"}),
            "volumeBindingMode: Unsupported value: \"Later\": supported values: \"Immediate\", \"WaitForFirstConsumer\"",
        ),
        (
            "storageclasses",
            topologies(&[zone(&["a", "a"])]),
            "allowedTopologies[0].matchLabelExpressions[0].values[1]: Duplicate value: \"a\"",
        ),
        (
            "storageclasses",
            topologies(&[zone(&["a", "b"]), zone(&["b", "a"])]),
            "allowedTopologies[1].matchLabelExpressions: Duplicate value: \"\"",
        ),
        (
            "csinodes",
            drivers(json!([{"name": "d", "nodeID": "n"}, {"name": "d", "nodeID": "n"}])),
            "spec.drivers[1].name: Duplicate value: \"d\"",
        ),
        (
            "csinodes",
            drivers(json!([{"name": "d", "nodeID": "n", "allocatable": {"count": -1}}])),
            "spec.drivers[0].allocatable.count: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            "csidrivers",
            json!({"spec": {"volumeLifecycleModes": ["Eternal"]}}),
            "spec.volumeLifecycleModes: Unsupported value: \"Eternal\": supported values: \"Persistent\", \"Ephemeral\"",
        ),
        (
            "csistoragecapacities",
            json!({"storageClassName": "fast", "capacity": "-1"}),
            "capacity: Invalid value: \"-1\": must be greater than or equal to 0",
        ),
        (
            "volumeattachments",
            json!({"spec": {"attacher": "d", "nodeName": "n", "source": {}}}),
            "spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName",
        ),
    ] {
        assert_eq!(of(plural, &parts), [expected], "{plural} {parts}");
    }
}
