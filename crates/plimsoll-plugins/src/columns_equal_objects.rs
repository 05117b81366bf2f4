//! On random small clusters, filters over columns say what a check of each node's objects says, and scores stay in range.

use plimsoll_framework::{Extensions, MAX_NODE_SCORE};
use plimsoll_model::{Amounts, Effect, Labels, Node, Pod, RequestOptions, Taint, pod_requests};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use crate::fixture::{self, Cluster, Rejection, resolvable, unresolvable};
use crate::{
    image_locality, node_affinity, node_name, node_ports, node_resources_balanced_allocation, node_resources_fit,
    node_unschedulable, taint_toleration,
};

const NODE_NAMES: [&str; 4] = ["n0", "n1", "n2", "n3"];

fn labels() -> impl Strategy<Value = serde_json::Value> {
    let value = || proptest::option::of(select(vec!["x", "y", "3", "12"]));
    (value(), value()).prop_map(|(a, b)| {
        let pairs = [("a", a), ("b", b)]
            .into_iter()
            .filter_map(|(key, value)| Some((key.to_owned(), value?.into())));
        serde_json::Value::Object(pairs.collect())
    })
}

fn taints() -> impl Strategy<Value = serde_json::Value> {
    let effect = select(vec!["NoSchedule", "PreferNoSchedule", "NoExecute"]);
    let taint = (select(vec!["k", "l"]), select(vec!["", "v"]), effect);
    vec(taint, 0..3).prop_map(|taints| {
        let taints = taints.into_iter();
        taints
            .map(|(key, value, effect)| serde_json::json!({"key": key, "value": value, "effect": effect}))
            .collect()
    })
}

fn requests() -> impl Strategy<Value = serde_json::Value> {
    let amounts = (0..5_u32, 0..5_u32, 0..3_u32, 0..4_u32);
    let all = vec!["cpu", "memory", "ephemeral-storage", "example.com/a"];
    (amounts, subsequence(all, 0..=4)).prop_map(|((cpu, memory, storage, extended), named)| {
        let amounts = [
            ("cpu", format!("{cpu}")),
            ("memory", format!("{}Mi", memory * 100)),
            ("ephemeral-storage", format!("{storage}")),
            ("example.com/a", format!("{extended}")),
        ];
        let named = amounts.into_iter().filter(|(name, _)| named.contains(name));
        serde_json::Value::Object(named.map(|(name, amount)| (name.to_owned(), amount.into())).collect())
    })
}

prop_compose! {
    fn any_node()(
        labels in labels(),
        taints in taints(),
        mut allocatable in requests(),
        pods in 0..4_u32,
        cordoned in proptest::bool::weighted(0.2),
        images in subsequence(vec!["i:latest", "j:latest"], 0..=2),
    ) -> String {
        allocatable["pods"] = pods.to_string().into();
        let images: Vec<_> =
            images.iter().map(|name| serde_json::json!({"names": [name], "sizeBytes": 700_000_000})).collect();
        serde_json::json!({
            "labels": labels,
            "spec": {"taints": taints, "unschedulable": cordoned},
            "status": {"allocatable": allocatable, "images": images},
        })
        .to_string()
    }
}

fn tolerations() -> impl Strategy<Value = serde_json::Value> {
    let operator = select(vec!["", "Equal", "Exists"]);
    let effect = select(vec!["", "NoSchedule", "PreferNoSchedule", "NoExecute"]);
    let toleration = (select(vec!["", "k", "l"]), operator, select(vec!["", "v"]), effect);
    vec(toleration, 0..3).prop_map(|tolerations| {
        let tolerations = tolerations.into_iter().map(|(key, operator, value, effect)| {
            serde_json::json!({"key": key, "operator": operator, "value": value, "effect": effect})
        });
        tolerations.collect()
    })
}

fn term() -> impl Strategy<Value = serde_json::Value> {
    let operator = select(vec!["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]);
    let values = vec(select(vec!["x", "y", "3", "7"]), 0..3);
    let expression = (select(vec!["a", "b", "c"]), operator, values)
        .prop_map(|(key, operator, values)| serde_json::json!({"key": key, "operator": operator, "values": values}));
    let field = (select(vec!["In", "NotIn"]), select(NODE_NAMES.to_vec())).prop_map(
        |(operator, name)| serde_json::json!({"key": "metadata.name", "operator": operator, "values": [name]}),
    );
    (vec(expression, 0..3), vec(field, 0..2))
        .prop_map(|(expressions, fields)| serde_json::json!({"matchExpressions": expressions, "matchFields": fields}))
}

fn affinity() -> impl Strategy<Value = serde_json::Value> {
    let preferred = vec((0..4_i32, term()), 0..3);
    (proptest::option::of(vec(term(), 0..3)), preferred).prop_map(|(required, preferred)| {
        let preferred: Vec<_> = preferred
            .into_iter()
            .map(|(weight, preference)| serde_json::json!({"weight": weight, "preference": preference}))
            .collect();
        let required = required.map(|terms| serde_json::json!({"nodeSelectorTerms": terms}));
        serde_json::json!({"nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": required,
            "preferredDuringSchedulingIgnoredDuringExecution": preferred,
        }})
    })
}

fn ports() -> impl Strategy<Value = serde_json::Value> {
    let port = (
        select(vec![0, 80, 81]),
        select(vec!["", "10.0.0.1", "10.0.0.2"]),
        select(vec!["", "TCP", "UDP"]),
    );
    vec(port, 0..2).prop_map(|ports| {
        let ports = ports.into_iter().map(|(port, ip, protocol)| {
            serde_json::json!({"containerPort": 1, "hostPort": port, "hostIP": ip, "protocol": protocol})
        });
        ports.collect()
    })
}

prop_compose! {
    fn any_pod()(
        tolerations in tolerations(),
        affinity in affinity(),
        selector in labels(),
        has_selector in proptest::bool::weighted(0.3),
        node_name in proptest::option::weighted(0.2, select(vec!["n0", "n1", "gone"])),
        ports in ports(),
        requests in requests(),
        image in select(vec!["i", "j", "other"]),
    ) -> Pod {
        let mut spec = serde_json::json!({
            "tolerations": tolerations,
            "affinity": affinity,
            "containers": [{"name": "c", "image": image, "ports": ports, "resources": {"requests": requests}}],
        });
        if has_selector {
            spec["nodeSelector"] = selector;
        }
        if let Some(name) = node_name {
            spec["nodeName"] = name.into();
        }
        fixture::pod(&spec.to_string())
    }
}

/// The same cluster twice: as columns and as objects.
#[derive(Debug)]
struct Both {
    cluster: Cluster,
    objects: Vec<(Node, Vec<Pod>)>,
}

prop_compose! {
    fn any_cluster()(nodes in vec((any_node(), vec(any_pod(), 0..3)), 1..=NODE_NAMES.len())) -> Both {
        let mut cluster = Cluster::default();
        let mut objects = Vec::new();
        for (name, (parts, pods)) in NODE_NAMES.into_iter().zip(nodes) {
            let node = fixture::node(name, &parts);
            cluster.columns.set_node(&node);
            for pod in &pods {
                cluster.add_pod(name, pod);
            }
            objects.push((node, pods));
        }
        Both { cluster, objects }
    }
}

fn tolerated(pod: &Pod, taint: &Taint) -> bool {
    pod.spec
        .tolerations
        .iter()
        .any(|toleration| toleration.tolerates(taint))
}

fn check_node_name(pod: &Pod, node: &Node, _: &[Pod]) -> Option<Rejection> {
    let matches = pod.node_name().is_none_or(|name| name == node.name);
    (!matches).then(|| unresolvable([node_name::REASON]))
}

fn check_unschedulable(pod: &Pod, node: &Node, _: &[Pod]) -> Option<Rejection> {
    let taint = Taint::new("node.kubernetes.io/unschedulable", "", Effect::NoSchedule);
    (node.spec.unschedulable && !tolerated(pod, &taint)).then(|| unresolvable([node_unschedulable::REASON]))
}

fn check_taints(pod: &Pod, node: &Node, _: &[Pod]) -> Option<Rejection> {
    let mut hard = node
        .spec
        .taints
        .iter()
        .filter(|taint| taint.effect != Effect::PreferNoSchedule);
    hard.any(|taint| !tolerated(pod, taint))
        .then(|| unresolvable([taint_toleration::REASON]))
}

fn check_affinity(pod: &Pod, node: &Node, _: &[Pod]) -> Option<Rejection> {
    let selected = pod.spec.node_selector.iter().flat_map(Labels::iter);
    let selected = selected
        .into_iter()
        .all(|(key, value)| node.labels.get(key) == Some(value));
    let affinity = pod
        .spec
        .affinity
        .as_ref()
        .and_then(|affinity| affinity.node_affinity.as_ref());
    let required = affinity.and_then(|affinity| affinity.required.as_ref());
    let matches = required.is_none_or(|terms| terms.iter().any(|term| term.matches(&node.name, &node.labels)));
    (!selected || !matches).then(|| unresolvable([node_affinity::REASON]))
}

fn check_ports(pod: &Pod, _: &Node, running: &[Pod]) -> Option<Rejection> {
    let mut taken = running.iter().flat_map(Pod::host_ports);
    let conflict = taken.any(|taken| pod.host_ports().any(|wanted| wanted.conflicts_with(taken)));
    conflict.then(|| resolvable([node_ports::REASON]))
}

type AmountOf = fn(&Amounts) -> i64;

fn check_fit(pod: &Pod, node: &Node, running: &[Pod]) -> Option<Rejection> {
    let asked = pod_requests(pod, RequestOptions::INCOMING);
    let used: Vec<_> = running
        .iter()
        .map(|pod| pod_requests(pod, RequestOptions::ON_NODE))
        .collect();
    let allocatable = &node.status.allocatable.amounts;
    let mut reasons = Vec::new();
    let mut hopeless = false;
    if running.len() + 1 > usize::try_from(node.status.allocatable.pods).unwrap() {
        reasons.push("Too many pods".to_owned());
    }
    let resources: [(&str, AmountOf); 4] = [
        ("cpu", |amounts| amounts.milli_cpu),
        ("memory", |amounts| amounts.memory),
        ("ephemeral-storage", |amounts| amounts.ephemeral_storage),
        ("example.com/a", |amounts| amounts.scalar("example.com/a")),
    ];
    for (name, of) in resources {
        let used: i64 = used.iter().map(of).sum();
        if of(&asked) > 0 && of(&asked) > of(allocatable) - used {
            reasons.push(format!("Insufficient {name}"));
            hopeless |= of(&asked) > of(allocatable);
        }
    }
    let rejection = if hopeless { unresolvable([]) } else { resolvable([]) };
    (!reasons.is_empty()).then_some(Rejection { reasons, ..rejection })
}

type Check = fn(&Pod, &Node, &[Pod]) -> Option<Rejection>;

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn filters_over_columns_say_what_a_check_of_each_node_says(both in any_cluster(), pod in any_pod()) {
        let plugins: [(&str, Extensions, Check); 6] = [
            (node_name::NAME, node_name::extensions(), check_node_name),
            (node_unschedulable::NAME, node_unschedulable::extensions(), check_unschedulable),
            (taint_toleration::NAME, fixture::made(taint_toleration::construct), check_taints),
            (node_affinity::NAME, fixture::made(node_affinity::construct), check_affinity),
            (node_ports::NAME, node_ports::extensions(), check_ports),
            (node_resources_fit::NAME, fixture::made(node_resources_fit::construct), check_fit),
        ];
        for (name, plugin, check) in plugins {
            let filtered = both.cluster.filter(&plugin, &pod);
            for (node, running) in &both.objects {
                let expected = check(&pod, node, running);
                prop_assert_eq!(filtered.of(&node.name), expected.clone(), "{} {}", name, &node.name);
                if let Some(allowed) = filtered.restricted_to() {
                    prop_assert!(expected.is_some() || allowed.iter().any(|allowed| *allowed == node.name.as_str()));
                }
            }
        }
    }

    #[test]
    fn normalised_scores_are_between_zero_and_a_hundred(both in any_cluster(), pod in any_pod()) {
        let plugins = [
            (taint_toleration::NAME, fixture::made(taint_toleration::construct)),
            (node_affinity::NAME, fixture::made(node_affinity::construct)),
            (node_resources_fit::NAME, fixture::made(node_resources_fit::construct)),
            (node_resources_balanced_allocation::NAME, fixture::made(node_resources_balanced_allocation::construct)),
            (image_locality::NAME, image_locality::extensions()),
        ];
        for (name, plugin) in plugins {
            let Some(scores) = both.cluster.score(&plugin, &pod) else { continue };
            for (node, _) in &both.objects {
                let score = scores.normalised(&node.name);
                prop_assert!((0..=MAX_NODE_SCORE).contains(&score), "{} {} {}", name, &node.name, score);
            }
        }
    }
}
