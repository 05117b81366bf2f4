//! Small clusters at random, of few values, so that things coincide.

use plimsoll_model::columns::Columns;
use plimsoll_model::{
    Footprint, Labels, Namespace, Node, Pod, ResourceVersion, Uid, WorkloadKind, WorkloadSelector, decode_node,
    decode_pod, decode_workload_selector,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Value, json};

pub(crate) const NODES: [&str; 4] = ["n0", "n1", "n2", "n3"];
pub(crate) const PODS: [&str; 5] = ["p0", "p1", "p2", "p3", "p4"];
pub(crate) const NAMESPACES: [&str; 2] = ["default", "team"];

/// All that a plugin may read, and a pod that waits.
#[derive(Debug, Clone)]
pub(crate) struct Cluster {
    pub(crate) nodes: Vec<Option<Node>>,
    pub(crate) pods: Vec<Option<Pod>>,
    pub(crate) namespaces: Vec<Namespace>,
    pub(crate) service: Option<WorkloadSelector>,
    pub(crate) waiting: Pod,
}

impl Cluster {
    pub(crate) fn columns(&self) -> Columns {
        let mut columns = Columns::new();
        for namespace in &self.namespaces {
            columns.set_namespace(namespace);
        }
        if let Some(service) = &self.service {
            columns.set_workload_selector(service);
        }
        for node in self.nodes.iter().flatten() {
            columns.set_node(node);
        }
        for pod in self.pods.iter().flatten() {
            if let Some(node) = pod.node_name() {
                columns.add_pod(node, &Footprint::of(pod));
            }
        }
        columns
    }
}

fn one_of<T: Clone + std::fmt::Debug + 'static, const N: usize>(values: [T; N]) -> impl Strategy<Value = T> {
    select(Vec::from(values))
}

/// Some of these, as an object.
fn some(fields: Vec<(&'static str, Value)>) -> impl Strategy<Value = Value> {
    let most = fields.len();
    subsequence(fields, 0..=most).prop_map(object)
}

fn object(fields: Vec<(&'static str, Value)>) -> Value {
    Value::Object(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn taints() -> impl Strategy<Value = Vec<Value>> {
    let taint = (
        one_of(["k", "l"]),
        one_of(["1", "5"]),
        one_of(["NoSchedule", "PreferNoSchedule", "NoExecute"]),
    );
    vec(taint, 0..3).prop_map(|taints| {
        let taints = taints.into_iter();
        taints
            .map(|(key, value, effect)| json!({"key": key, "value": value, "effect": effect}))
            .collect()
    })
}

pub(crate) fn nodes(name: &'static str) -> impl Strategy<Value = Node> {
    let labels = (
        option::weighted(0.8, one_of(["x", "y"])),
        option::of(one_of(["h", "i"])),
        option::of(one_of(["ssd", "hdd"])),
    );
    let allocatable = (0..4_u32, 0..3_u32, option::of(0..3_u32), 0..4_u32);
    let features = subsequence(
        vec![
            "RestartAllContainersOnContainerExits",
            "UserNamespacesHostNetworkSupport",
        ],
        0..=2,
    );
    let cordoned = proptest::bool::weighted(0.2);
    (labels, taints(), cordoned, allocatable, features).prop_map(
        move |((zone, host, disk), taints, cordoned, (cpu, memory, extended, pods), features)| {
            let labels = [("zone", zone), ("host", host), ("disk", disk)];
            let labels = labels.into_iter().filter_map(|(key, value)| Some((key, json!(value?))));
            let mut allocatable =
                json!({"cpu": cpu.to_string(), "memory": memory.to_string(), "pods": pods.to_string()});
            if let Some(extended) = extended {
                allocatable["example.com/a"] = extended.to_string().into();
            }
            let node = json!({
                "metadata": {"name": name, "uid": name, "resourceVersion": "1", "labels": object(labels.collect())},
                "spec": {"taints": taints, "unschedulable": cordoned},
                "status": {"allocatable": allocatable, "declaredFeatures": features},
            });
            decode_node(node.to_string().as_bytes()).unwrap()
        },
    )
}

pub(crate) fn pod_labels() -> impl Strategy<Value = Value> {
    let values = (
        option::weighted(0.8, one_of(["web", "db"])),
        option::of(one_of(["1", "2"])),
    );
    values.prop_map(|(app, rev)| {
        let labels = [("app", app), ("rev", rev)];
        object(
            labels
                .into_iter()
                .filter_map(|(key, value)| Some((key, json!(value?))))
                .collect(),
        )
    })
}

fn selector() -> impl Strategy<Value = Value> {
    let by_label = pod_labels().prop_map(|labels| json!({"matchLabels": labels}));
    let expression = (one_of(["app", "rev"]), one_of(["Exists", "DoesNotExist"]))
        .prop_map(|(key, operator)| json!({"matchExpressions": [{"key": key, "operator": operator}]}));
    prop_oneof![4 => by_label, 1 => expression, 1 => Just(Value::Null)]
}

/// Mostly one, so that pods come together.
fn usual_selector() -> impl Strategy<Value = Value> {
    prop_oneof![5 => Just(json!({"matchLabels": {"app": "web"}})), 2 => selector()]
}

fn namespace_selector() -> impl Strategy<Value = Value> {
    let team = one_of(["a", "b"]).prop_map(|team| json!({"matchLabels": {"team": team}}));
    let without = Just(json!({"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}));
    prop_oneof![3 => Just(Value::Null), 3 => team, 1 => Just(json!({})), 1 => without]
}

fn pod_terms(most: usize) -> impl Strategy<Value = Value> {
    let namespaces = subsequence(NAMESPACES.to_vec(), 0..=1);
    let term = (
        usual_selector(),
        one_of(["zone", "host"]),
        namespaces,
        namespace_selector(),
    );
    vec(term, 0..=most).prop_map(|terms| {
        let terms = terms
            .into_iter()
            .map(|(selector, key, namespaces, namespace_selector)| {
                json!({"labelSelector": selector, "topologyKey": key, "namespaces": namespaces,
                "namespaceSelector": namespace_selector})
            });
        json!({"requiredDuringSchedulingIgnoredDuringExecution": terms.collect::<Vec<_>>()})
    })
}

fn node_terms() -> impl Strategy<Value = Value> {
    let expression = (one_of(["zone", "disk"]), one_of(["In", "NotIn"]), one_of(["x", "ssd"]));
    let by_label = expression.prop_map(
        |(key, operator, value)| json!({"matchExpressions": [{"key": key, "operator": operator, "values": [value]}]}),
    );
    let by_name = one_of(NODES)
        .prop_map(|name| json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}));
    let terms = vec(prop_oneof![3 => by_label, 1 => by_name], 1..3);
    option::weighted(0.3, terms).prop_map(|terms| match terms {
        Some(terms) => json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}),
        None => Value::Null,
    })
}

fn constraints() -> impl Strategy<Value = Vec<Value>> {
    let policies = (one_of(["Honor", "Ignore"]), one_of(["Honor", "Ignore"]));
    let over = (
        one_of(["zone", "host"]),
        usual_selector(),
        subsequence(vec!["rev"], 0..=1),
    );
    let constraint = (
        1..3_i32,
        over,
        option::of(1..4_i32),
        policies,
        proptest::bool::weighted(0.8),
    );
    vec(constraint, 0..3).prop_map(|constraints| {
        let constraints = constraints.into_iter();
        constraints
            .map(|(skew, (key, selector, keys), domains, (affinity, taints), hard)| {
                let when = if hard { "DoNotSchedule" } else { "ScheduleAnyway" };
                json!({"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": when, "labelSelector": selector,
                    "minDomains": domains, "nodeAffinityPolicy": affinity, "nodeTaintsPolicy": taints,
                    "matchLabelKeys": keys})
            })
            .collect()
    })
}

pub(crate) fn tolerations() -> impl Strategy<Value = Vec<Value>> {
    let key = one_of(["k", "l", "node.kubernetes.io/unschedulable"]);
    let toleration = (
        key,
        one_of(["Exists", "Equal", "Lt"]),
        one_of(["", "NoSchedule", "NoExecute"]),
    );
    vec(toleration, 0..2).prop_map(|tolerations| {
        let tolerations = tolerations.into_iter();
        tolerations
            .map(|(key, operator, effect)| {
                let value = if operator == "Exists" { "" } else { "4" };
                json!({"key": key, "operator": operator, "value": value, "effect": effect})
            })
            .collect()
    })
}

pub(crate) fn requests() -> impl Strategy<Value = Value> {
    some(vec![
        ("cpu", json!("1")),
        ("memory", json!("1")),
        ("example.com/a", json!("1")),
    ])
}

fn ports() -> impl Strategy<Value = Value> {
    let port = (one_of([80, 81]), one_of(["", "10.0.0.1"]));
    vec(port, 0..2).prop_map(|ports| {
        let ports = ports.into_iter();
        ports
            .map(|(port, ip)| json!({"containerPort": 1, "hostPort": port, "hostIP": ip}))
            .collect()
    })
}

fn decoded(name: &str, namespace: &str, labels: &Value, spec: &Value) -> Pod {
    let metadata = json!({"namespace": namespace, "name": name, "uid": name, "resourceVersion": "1", "labels": labels});
    decode_pod(json!({"metadata": metadata, "spec": spec}).to_string().as_bytes()).unwrap()
}

/// Pods on nodes, which may not be there.
pub(crate) fn pods(name: &'static str) -> impl Strategy<Value = Pod> {
    let all = (
        one_of(NAMESPACES),
        pod_labels(),
        one_of(NODES),
        pod_terms(2),
        requests(),
        ports(),
    );
    all.prop_map(move |(namespace, labels, node, terms, requests, ports)| {
        let spec = json!({
            "nodeName": node,
            "affinity": {"podAntiAffinity": terms},
            "containers": [{"name": "c", "ports": ports, "resources": {"requests": requests}}],
        });
        decoded(name, namespace, &labels, &spec)
    })
}

pub(crate) fn waiting_pods() -> impl Strategy<Value = Pod> {
    let affinity = (node_terms(), pod_terms(2), pod_terms(2));
    let node_selector = some(vec![("disk", json!("ssd"))]);
    let wishes = (requests(), ports(), any::<bool>(), proptest::bool::weighted(0.3));
    let all = (
        pod_labels(),
        affinity,
        node_selector,
        constraints(),
        tolerations(),
        wishes,
    );
    all.prop_map(
        |(labels, (node, near, far), node_selector, constraints, tolerations, wishes)| {
            let (requests, ports, rules, isolated) = wishes;
            let mut container = json!({"name": "c", "ports": ports, "resources": {"requests": requests}});
            if rules {
                container["restartPolicyRules"] = json!([{"action": "RestartAllContainers"}]);
            }
            let mut spec = json!({
                "affinity": {"nodeAffinity": node, "podAffinity": near, "podAntiAffinity": far},
                "nodeSelector": node_selector,
                "topologySpreadConstraints": constraints,
                "tolerations": tolerations,
                "containers": [container],
            });
            if isolated {
                spec["hostNetwork"] = true.into();
                spec["hostUsers"] = false.into();
            }
            decoded("waiting", "default", &labels, &spec)
        },
    )
}

pub(crate) fn namespaces(name: &'static str) -> impl Strategy<Value = Namespace> {
    option::of(one_of(["a", "b"])).prop_map(move |team| Namespace {
        name: name.into(),
        uid: Uid::from(name),
        resource_version: ResourceVersion::new(1),
        labels: team.into_iter().map(|team| ("team", team)).collect::<Labels>(),
    })
}

pub(crate) fn services() -> impl Strategy<Value = Option<WorkloadSelector>> {
    option::of(pod_labels()).prop_map(|selector| {
        let metadata = json!({"namespace": "default", "name": "s", "uid": "s", "resourceVersion": "1"});
        let service = json!({"metadata": metadata, "spec": {"selector": selector?}});
        Some(decode_workload_selector(WorkloadKind::Service, service.to_string().as_bytes()).unwrap())
    })
}

/// Clusters in which anything may keep a pod from a node.
pub(crate) fn clusters() -> impl Strategy<Value = Cluster> {
    let all_nodes = NODES.map(|name| option::weighted(0.7, nodes(name)).boxed()).to_vec();
    let all_pods = PODS.map(|name| option::weighted(0.6, pods(name)).boxed()).to_vec();
    whole(all_nodes, all_pods, waiting_pods())
}

/// Clusters in which only other pods keep a pod from a node, mostly.
pub(crate) fn clusters_of_domains() -> impl Strategy<Value = Cluster> {
    let roomy = |name| nodes(name).prop_map(make_roomy);
    let all_nodes = NODES.map(|name| option::weighted(0.9, roomy(name)).boxed()).to_vec();
    let all_pods = PODS.map(|name| option::weighted(0.6, beside(name)).boxed()).to_vec();
    whole(all_nodes, all_pods, waiting_for_others())
}

fn whole(
    nodes: Vec<BoxedStrategy<Option<Node>>>,
    pods: Vec<BoxedStrategy<Option<Pod>>>,
    waiting: impl Strategy<Value = Pod>,
) -> impl Strategy<Value = Cluster> {
    let all_namespaces = NAMESPACES.map(|name| namespaces(name).boxed()).to_vec();
    (nodes, pods, all_namespaces, services(), waiting).prop_map(|(nodes, pods, namespaces, service, waiting)| Cluster {
        nodes,
        pods,
        namespaces,
        service,
        waiting,
    })
}

pub(crate) fn make_roomy(mut node: Node) -> Node {
    node.spec.taints.truncate(1);
    node.spec.unschedulable = false;
    node.status.allocatable.pods = 10;
    node
}

/// Pods that mostly are of one app, in the namespace of the waiting pod.
pub(crate) fn beside(name: &'static str) -> impl Strategy<Value = Pod> {
    let labels = prop_oneof![3 => Just(json!({"app": "web"})), 2 => pod_labels()];
    let terms = prop_oneof![3 => Just(Value::Null), 1 => pod_terms(1)];
    let namespace = prop_oneof![2 => Just(NAMESPACES[0]), 1 => Just(NAMESPACES[1])];
    (namespace, labels, one_of(NODES), terms).prop_map(move |(namespace, labels, node, terms)| {
        let spec = json!({
            "nodeName": node,
            "affinity": {"podAntiAffinity": terms},
            "containers": [{"name": "c"}],
        });
        decoded(name, namespace, &labels, &spec)
    })
}

/// Pods that ask for others to be near or far or spread, for one of these at a time.
fn waiting_for_others() -> impl Strategy<Value = Pod> {
    let demand = prop_oneof![
        3 => constraints().prop_map(|constraints| json!({"topologySpreadConstraints": constraints})),
        2 => pod_terms(2).prop_map(|terms| json!({"affinity": {"podAffinity": terms}})),
        2 => pod_terms(2).prop_map(|terms| json!({"affinity": {"podAntiAffinity": terms}})),
        1 => Just(json!({})),
    ];
    let labels = prop_oneof![3 => Just(json!({"app": "web"})), 2 => pod_labels()];
    let node_selector = option::weighted(0.5, Just(json!({"disk": "ssd"})));
    (labels, demand, node_selector).prop_map(|(labels, mut spec, node_selector)| {
        spec["nodeSelector"] = node_selector.unwrap_or_default();
        spec["containers"] = json!([{"name": "c"}]);
        decoded("waiting", "default", &labels, &spec)
    })
}
