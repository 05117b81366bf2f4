use serde_json::{Value, json};

use super::*;
use crate::testing;
use crate::{
    ControllerReference, Effect, Footprint, HostPort, InTreeVolume, LabelSelector, NodeInclusionPolicy, Operator,
    PodPhase, PreemptionPolicy, Protocol, Quantity, Toleration, VolumeKind, WhenUnsatisfiable,
};

mod kinds;
mod status;
mod storage;

const RUNNING_POD: &str = include_str!("tests/running_pod.json");
const NODE: &str = include_str!("tests/node.json");

fn pod_with(parts: &Value) -> Pod {
    let mut object = json!({"metadata": {"name": "a", "uid": "1", "resourceVersion": "5"}});
    for (part, fields) in parts.as_object().unwrap() {
        match object.get_mut(part) {
            Some(Value::Object(known)) => known.extend(fields.as_object().unwrap().clone()),
            _ => object[part] = fields.clone(),
        }
    }
    decode_pod(object.to_string().as_bytes()).unwrap()
}

#[test]
fn a_running_pod_keeps_what_scheduling_reads() {
    let pod = decode_pod(RUNNING_POD.as_bytes()).unwrap();
    assert_eq!(pod.name.to_string(), "shop/checkout-7d9c6b5f4-x2x8p");
    assert_eq!(pod.uid.as_str(), "5f2b8f0e-4f57-4b3c-9d3e-0d6b6a3f4c11");
    assert_eq!(pod.resource_version.as_u64(), 184_467);
    assert_eq!(pod.labels.get("pod-template-hash"), Some("7d9c6b5f4"));
    assert_eq!(pod.node_name(), Some("worker-17"));
    assert_eq!(pod.spec.scheduler_name, "default-scheduler");
    assert_eq!(pod.priority(), 1000);
    assert_eq!(pod.spec.preemption_policy, PreemptionPolicy::PreemptLowerPriority);
    let requests = &pod.spec.containers[0].requests;
    assert_eq!(requests.get("cpu").map(Quantity::milli_value), Some(250));
    assert_eq!(
        pod.spec.tolerations[0],
        Toleration::exists("node.kubernetes.io/not-ready", Some(Effect::NoExecute))
    );
    assert_eq!(
        pod.spec.volumes,
        [VolumeKind::PersistentVolumeClaim { claim: "cart".into() }]
    );
    assert_eq!(pod.status.phase, PodPhase::Running);
    assert_eq!(pod.status.pod_scheduled, None);
    let unplaced = decode_pod(RUNNING_POD.replace(r#""nodeName": "worker-17","#, "").as_bytes()).unwrap();
    let scheduled = unplaced.status.pod_scheduled.as_ref().unwrap();
    assert_eq!(
        (scheduled.status.as_str(), scheduled.observed_generation),
        ("True", Some(1))
    );
    let footprint = Footprint::of(&pod);
    assert_eq!(
        (footprint.requests.milli_cpu, footprint.requests.memory),
        (350, (256 + 64) << 20)
    );
}

#[test]
fn a_running_pod_keeps_little() {
    assert!(RUNNING_POD.len() > 4000);
    let pod = decode_pod(RUNNING_POD.as_bytes()).unwrap();
    assert!(size_of::<Pod>() <= 1024, "{}", size_of::<Pod>());
    let shown = format!("{pod:?}");
    for dropped in [
        "managedFields",
        "kubectl",
        "f:spec",
        "last-applied",
        "LOG_LEVEL",
        "readiness",
        "containerd://",
    ] {
        assert!(RUNNING_POD.contains(dropped), "{dropped}");
        assert!(!shown.contains(dropped), "{dropped} is kept");
    }
    assert!(
        pod.status.container_statuses.is_empty(),
        "a status that says nothing new is kept"
    );
}

#[test]
fn a_node_keeps_what_scheduling_reads() {
    let node = decode_node(NODE.as_bytes()).unwrap();
    assert_eq!(node.name, "worker-17");
    assert_eq!(node.labels.get("topology.kubernetes.io/zone"), Some("eu-1a"));
    assert!(node.spec.unschedulable);
    assert_eq!(node.spec.taints.len(), 2);
    assert_eq!(node.spec.taints[1].effect, Effect::NoExecute);
    let allocatable = &node.status.allocatable;
    assert_eq!((allocatable.amounts.milli_cpu, allocatable.pods), (7910, 110));
    assert_eq!(allocatable.amounts.memory, 31_415_926 * 1024);
    assert_eq!(
        allocatable.amounts.scalars.as_slice(),
        [("example.com/gpu".into(), 4), ("hugepages-2Mi".into(), 0)]
    );
    assert_eq!(node.status.images[0].names.len(), 2);
    assert_eq!(node.status.images[0].size_bytes, 70_544_635);
    assert_eq!(node.status.condition("Ready"), Some("True"));
    assert_eq!(node.status.declared_features, ["GuaranteedQoSPodCPUResize"]);
}

#[test]
fn of_a_pods_annotations_only_its_creators_span_is_kept() {
    let kept = |annotations: Value| {
        let pod = pod_with(&json!({"metadata": {"annotations": annotations}}));
        pod.trace_parent.map(|parent| parent.to_string())
    };
    let span = |number: u8| format!("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b{number}-01");
    let (first, second) = (span(1), span(2));
    assert_eq!(kept(json!({"a": "b", "traceparent": first, "c": null})), Some(span(1)));
    let both = json!({"traceparent": first, "tracing.k8s.io/traceparent": second});
    assert_eq!(kept(both), Some(span(2)), "the reserved key counts before the bare one");
    assert_eq!(kept(json!({"traceparent": null, "tra\u{e9}": "x"})), None);
    assert_eq!(kept(json!({"traceparent": "nonsense"})), None);
    assert_eq!(kept(Value::Null), None);
}

#[test]
fn annotations_show_only_whether_they_changed() {
    let hash = |annotations: &Value| {
        let metadata = json!({"name": "n", "uid": "1", "resourceVersion": "1", "annotations": annotations});
        decode_node(json!({"metadata": metadata}).to_string().as_bytes())
            .unwrap()
            .annotations_hash
    };
    assert_eq!(hash(&json!({"a": "1", "b": "2"})), hash(&json!({"b": "2", "a": "1"})));
    assert_ne!(hash(&json!({"a": "1", "b": "2"})), hash(&json!({"a": "2", "b": "1"})));
    assert_eq!(hash(&json!({})), hash(&json!(null)));
}

#[test]
fn nulls_and_missing_fields_count_as_absent() {
    let absent = pod_with(&json!({}));
    let fields = [
        "schedulerName",
        "nodeName",
        "priority",
        "preemptionPolicy",
        "schedulingGates",
        "nodeSelector",
        "affinity",
        "tolerations",
        "topologySpreadConstraints",
        "containers",
        "initContainers",
        "overhead",
        "resources",
        "volumes",
        "resourceClaims",
        "schedulingGroup",
        "hostNetwork",
    ];
    let spec: serde_json::Map<String, Value> = fields.iter().map(|field| ((*field).to_owned(), Value::Null)).collect();
    let status = json!({
        "phase": null, "nominatedNodeName": null, "startTime": null, "conditions": null, "containerStatuses": null,
        "initContainerStatuses": null, "resources": null, "allocatedResources": null, "resourceClaimStatuses": null,
    });
    let metadata = json!({
        "namespace": null, "generation": null, "labels": null, "creationTimestamp": null, "deletionTimestamp": null,
    });
    assert_eq!(
        pod_with(&json!({"spec": spec, "status": status, "metadata": metadata})),
        absent
    );
    assert_eq!(pod_with(&json!({"spec": null, "status": null})), absent);
    let container = json!({"name": null, "image": null, "resources": null, "ports": null, "restartPolicy": null});
    assert_eq!(
        **pod_with(&json!({"spec": {"containers": [container]}})).spec.containers,
        [crate::Container::default()]
    );
    let node = |parts: Value| {
        let mut object = json!({"metadata": {"name": "n", "uid": "1", "resourceVersion": "1"}});
        object
            .as_object_mut()
            .unwrap()
            .extend(parts.as_object().unwrap().clone());
        decode_node(object.to_string().as_bytes()).unwrap()
    };
    let nulls = json!({
        "spec": {"unschedulable": null, "taints": null},
        "status": {"allocatable": null, "images": null, "conditions": null, "declaredFeatures": null},
    });
    assert_eq!(node(nulls), node(json!({})));
    assert_eq!(
        node(json!({"status": {"images": [{"names": null, "sizeBytes": null}]}}))
            .status
            .images[0]
            .size_bytes,
        0
    );
}

#[test]
fn only_ports_on_the_node_are_kept() {
    let pod = pod_with(&json!({"spec": {
        "containers": [{"ports": [
            {"containerPort": 80},
            {"containerPort": 80, "hostPort": 8080},
            {"containerPort": 53, "hostPort": 53, "hostIP": "127.0.0.1", "protocol": "UDP"},
        ]}],
        "initContainers": [
            {"ports": [{"hostPort": 1}]},
            {"restartPolicy": "Always", "ports": [{"hostPort": 2, "protocol": "SCTP"}]},
        ],
    }}));
    let wanted: Vec<HostPort> = pod.host_ports().cloned().collect();
    let expected = [
        HostPort::tcp(8080),
        HostPort::new(Protocol::Udp, "127.0.0.1", 53),
        HostPort::new(Protocol::Sctp, "", 2),
    ];
    assert_eq!(wanted, expected);
    assert_eq!(Footprint::of(&pod).host_ports.as_slice(), expected);
}

#[test]
fn volumes_that_matter_are_told_apart() {
    let cases = [
        (json!({"emptyDir": {}}), None),
        (json!({"configMap": {"name": "x"}}), None),
        (
            json!({"persistentVolumeClaim": {"claimName": "c"}}),
            Some(VolumeKind::PersistentVolumeClaim { claim: "c".into() }),
        ),
        (
            json!({"ephemeral": {"volumeClaimTemplate": {"spec": {}}}}),
            Some(VolumeKind::Ephemeral { volume: "v".into() }),
        ),
        (
            json!({"image": {"reference": "r:1"}}),
            Some(VolumeKind::Image {
                reference: "r:1".into(),
            }),
        ),
        (
            json!({"csi": {"driver": "d"}}),
            Some(VolumeKind::Csi { driver: "d".into() }),
        ),
        (
            json!({"gcePersistentDisk": {"pdName": "d", "readOnly": true}}),
            Some(VolumeKind::GcePersistentDisk {
                pd_name: "d".into(),
                read_only: true,
            }),
        ),
        (
            json!({"awsElasticBlockStore": {"volumeID": "d"}}),
            Some(VolumeKind::AwsElasticBlockStore {
                volume: "v".into(),
                volume_id: "d".into(),
            }),
        ),
        (
            json!({"iscsi": {"iqn": "q"}}),
            Some(VolumeKind::Iscsi {
                iqn: "q".into(),
                read_only: false,
            }),
        ),
        (
            json!({"rbd": {"monitors": ["m"], "image": "i"}}),
            Some(VolumeKind::Rbd {
                monitors: Box::new(["m".into()]),
                pool: "rbd".into(),
                image: "i".into(),
                read_only: false,
            }),
        ),
        (
            json!({"vsphereVolume": {"volumePath": "p"}}),
            Some(VolumeKind::InTree(InTreeVolume::Vsphere)),
        ),
        (
            json!({"azureDisk": {"diskName": "p"}}),
            Some(VolumeKind::InTree(InTreeVolume::AzureDisk {
                volume: "v".into(),
                disk_uri: "".into(),
                kind: None,
            })),
        ),
        (
            json!({"azureDisk": {"diskName": "p", "diskURI": "u", "kind": "Managed"}}),
            Some(VolumeKind::InTree(InTreeVolume::AzureDisk {
                volume: "v".into(),
                disk_uri: "u".into(),
                kind: Some("Managed".into()),
            })),
        ),
        (
            json!({"azureFile": {"shareName": "s", "secretName": "t"}}),
            Some(VolumeKind::InTree(InTreeVolume::AzureFile)),
        ),
        (
            json!({"cinder": {"volumeID": "d"}}),
            Some(VolumeKind::InTree(InTreeVolume::Cinder { volume_id: "d".into() })),
        ),
        (
            json!({"portworxVolume": {"volumeID": "d"}}),
            Some(VolumeKind::InTree(InTreeVolume::Portworx { volume_id: "d".into() })),
        ),
    ];
    for (mut source, expected) in cases {
        source["name"] = json!("v");
        let pod = pod_with(&json!({"spec": {"volumes": [source]}}));
        assert_eq!(pod.spec.volumes, Vec::from_iter(expected), "{source}");
    }
}

#[test]
fn affinity_spread_gates_and_claims_are_whole() {
    let pod = pod_with(&json!({"spec": {
        "schedulingGates": [{"name": "g1"}, {"name": "g2"}],
        "nodeSelector": {},
        "preemptionPolicy": "Never",
        "schedulingGroup": {"podGroupName": "gang"},
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "k", "operator": "In", "values": ["a"]}]},
                    {"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n"]}]},
                    {},
                ]},
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 7, "preference": {}}],
            },
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "a"}}, "namespaceSelector": {}},
            ]},
        },
        "topologySpreadConstraints": [
            {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "nodeTaintsPolicy": "Honor"},
        ],
    }}));
    assert_eq!(pod.spec.scheduling_gates, ["g1", "g2"]);
    assert!(pod.spec.node_selector.as_ref().is_some_and(crate::Labels::is_empty));
    assert_eq!(pod.spec.preemption_policy, PreemptionPolicy::Never);
    assert_eq!(pod.spec.scheduling_group.as_deref(), Some("gang"));
    assert_eq!(
        pod.spec.resource_claims[0].resource_claim_template_name.as_deref(),
        Some("t")
    );
    let affinity = pod.spec.affinity.as_ref().unwrap();
    let nodes = affinity.node_affinity.as_ref().unwrap();
    let terms = nodes.required.as_ref().unwrap();
    assert_eq!(terms[0].match_expressions[0].operator, Operator::In);
    assert_eq!(terms[1].match_fields[0].values, ["n"]);
    assert!(terms[2].is_empty());
    assert_eq!(nodes.preferred[0].weight, 7);
    assert!(affinity.pod_affinity.is_none());
    let apart = &affinity.pod_anti_affinity.as_ref().unwrap().required[0];
    assert!(
        apart
            .namespace_selector
            .as_ref()
            .is_some_and(crate::LabelSelector::is_empty)
    );
    assert!(
        apart
            .label_selector
            .as_ref()
            .is_some_and(|selector| selector.match_labels.get("app") == Some("a"))
    );
    let spread = &pod.spec.topology_spread_constraints[0];
    assert_eq!(
        (spread.max_skew, spread.when_unsatisfiable),
        (2, WhenUnsatisfiable::ScheduleAnyway)
    );
    assert_eq!(spread.node_taints_policy, Some(NodeInclusionPolicy::Honor));
    assert_eq!(spread.label_selector, None);
}

#[test]
fn an_object_that_cannot_be_read_can_still_be_named() {
    let json = br#"{"metadata":{"namespace":"a","name":"b","uid":"c","resourceVersion":"7","labels":3},"spec":[]}"#;
    let error = decode_pod(json).unwrap_err();
    assert!(
        error.to_string().starts_with("cannot decode pod: invalid type"),
        "{error}"
    );
    let head = decode_metadata(json).unwrap();
    let expected = ObjectMetaHead {
        namespace: "a".into(),
        name: "b".into(),
        uid: Uid::from("c"),
        resource_version: ResourceVersion::new(7),
    };
    assert_eq!(head, expected);
}

#[test]
fn without_identity_or_version_there_is_no_object() {
    for metadata in [
        json!({"name": "a", "resourceVersion": "1"}),
        json!({"name": "a", "uid": "", "resourceVersion": "1"}),
        json!({"name": "a", "uid": "1"}),
        json!({"name": "a", "uid": "1", "resourceVersion": ""}),
        json!({"uid": "1", "resourceVersion": "1"}),
    ] {
        let json = json!({"metadata": metadata}).to_string();
        assert!(decode_pod(json.as_bytes()).is_err(), "{json}");
        assert!(decode_metadata(json.as_bytes()).is_err(), "{json}");
    }
    assert!(decode_node(b"{").is_err());
}

#[test]
fn builders_make_what_decoding_makes() {
    let decoded = pod_with(&json!({
        "metadata": {"namespace": "default", "name": "a", "uid": "uid-a", "resourceVersion": "1", "generation": 1,
            "labels": {"k": "v"}},
        "spec": {
            "priority": 5, "nodeName": "n1", "schedulerName": "x", "nodeSelector": {"disk": "ssd"},
            "schedulingGates": [{"name": "g"}], "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "c", "image": "image", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
                "ports": [{"hostPort": 8080}]}],
        },
    }));
    let built = testing::pod("a")
        .cpu("1")
        .memory("1Gi")
        .on("n1")
        .priority(5)
        .label("k", "v")
        .toleration(Toleration::exists("", None))
        .gate("g")
        .node_selector("disk", "ssd")
        .host_port(8080)
        .scheduler("x")
        .build();
    assert_eq!(built, decoded);
    let object = json!({
        "metadata": {"name": "n1", "uid": "uid-n1", "resourceVersion": "1", "labels": {"a": "b"}},
        "spec": {"unschedulable": true, "taints": [{"key": "t", "effect": "NoSchedule"}]},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
            "images": [{"names": ["i:1"], "sizeBytes": 7}]},
    });
    let built = testing::node("n1")
        .cpu("4")
        .memory("8Gi")
        .pods(110)
        .label("a", "b")
        .taint("t", "", Effect::NoSchedule)
        .unschedulable()
        .image("i:1", 7)
        .build();
    assert_eq!(built, decode_node(object.to_string().as_bytes()).unwrap());
}

#[test]
fn a_pod_knows_the_owner_that_controls_it() {
    let owned = |owners: Value| pod_with(&json!({"metadata": {"ownerReferences": owners}})).controller;
    let reference = |name: &str, controller: Value| json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": "u", "controller": controller});
    assert_eq!(owned(json!(null)), None);
    assert_eq!(
        owned(json!([reference("a", json!(false)), reference("b", json!(null))])),
        None
    );
    let expected = ControllerReference {
        api_version: "apps/v1".into(),
        kind: "ReplicaSet".into(),
        name: "b".into(),
        uid: "u".into(),
    };
    let owners = json!([
        reference("a", json!(false)),
        reference("b", json!(true)),
        reference("c", json!(true))
    ]);
    assert_eq!(owned(owners), Some(expected.into()));
}

#[test]
fn what_needs_declared_features_is_kept() {
    let rules = json!([{"action": "Restart"}, {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}]);
    let pod = pod_with(&json!({"spec": {
        "hostNetwork": true, "hostUsers": false,
        "containers": [{"name": "a", "restartPolicyRules": rules}, {"name": "b", "restartPolicyRules": [{"action": "Restart"}]}],
        "initContainers": [{"name": "i", "restartPolicyRules": rules}],
    }}));
    assert_eq!((pod.spec.host_network, pod.spec.host_users), (true, Some(false)));
    let restarts = |container: &crate::Container| container.restarts_all_containers;
    assert_eq!(
        pod.spec.containers.iter().map(restarts).collect::<Vec<_>>(),
        [true, false]
    );
    assert!(restarts(&pod.spec.init_containers[0]));
}
