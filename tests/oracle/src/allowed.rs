//! Differences that are meant to be; each is a line of docs/differences.md. Nothing else is let through.

use plimsoll_model::{Amounts, Pod, decode_pod};
use serde_json::Value;

use crate::answer::Answer;
use crate::case::Case;

/// An intended difference.
#[derive(Debug, Clone, Copy)]
pub struct Allowed {
    /// What docs/differences.md says of it, word for word.
    pub line: &'static str,
    applies: fn(&Case, &Answer) -> bool,
}

/// Every intended difference.
pub const ALLOWED: [Allowed; 2] = [
    Allowed {
        line: "Sums of requests cannot wrap around.",
        applies: |case, _| sums_wrap(case),
    },
    Allowed {
        line: "A preferred node-affinity term that cannot be parsed counts for nothing.",
        applies: |_, upstream| {
            upstream
                .failure
                .as_ref()
                .is_some_and(|failure| failure.starts_with("running PreScore plugin \"NodeAffinity\":"))
        },
    },
];

/// The intended difference that a case shows, if it does.
pub fn allowed(case: &Case, upstream: &Answer) -> Option<&'static Allowed> {
    ALLOWED.iter().find(|allowed| (allowed.applies)(case, upstream))
}

/// Whether amounts that are added up somewhere leave 64 bits: those of a node's pods, the pod and those nominated to the
/// node; or within one pod.
fn sums_wrap(case: &Case) -> bool {
    let pods: Vec<Pod> = case.pods.iter().chain([&case.pod]).filter_map(decoded).collect();
    let on_node = |name: Option<&str>| {
        let mut sums = [0_i128; 3];
        for pod in &pods {
            let elsewhere = pod.node_name().or(pod.status.nominated_node_name.as_deref()) != name;
            if pod.uid.as_str() != "pod" && elsewhere {
                continue;
            }
            for (sum, amount) in sums.iter_mut().zip(everything(pod)) {
                *sum += amount;
            }
        }
        sums.iter().any(|sum| *sum > i128::from(i64::MAX))
    };
    case.nodes.iter().any(|node| on_node(node["metadata"]["name"].as_str()))
}

/// Cpu, memory and storage of all that the pod names, whether or not it runs at once.
fn everything(pod: &Pod) -> [i128; 3] {
    let containers = pod.spec.containers.iter().chain(&pod.spec.init_containers);
    let statuses = pod.status.container_statuses.iter();
    let lists = containers
        .map(|container| &container.requests)
        .chain([&pod.spec.overhead]);
    let lists = lists.chain(statuses.flat_map(|status| [&status.requests, &status.allocated]));
    let whole = pod.status.pod_level.iter();
    let lists = lists.chain(whole.flat_map(|status| [&status.requests, &status.allocated]));
    let lists = lists.chain([&pod.spec.pod_level_requests]);
    let mut sums = [0; 3];
    for list in lists {
        let amounts = Amounts::of(list);
        for (sum, amount) in sums
            .iter_mut()
            .zip([amounts.milli_cpu, amounts.memory, amounts.ephemeral_storage])
        {
            *sum += i128::from(amount);
        }
    }
    // What a container counts for in scores that names nothing.
    let containers = pod.spec.containers.len() + pod.spec.init_containers.len();
    let containers = i128::try_from(containers).unwrap_or_default();
    sums[0] += 100 * containers;
    sums[1] += (200 << 20) * containers;
    sums
}

fn decoded(pod: &Value) -> Option<Pod> {
    decode_pod(pod.to_string().as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_intended_difference_is_documented() {
        let document = include_str!("../../../docs/differences.md");
        for allowed in &ALLOWED {
            assert!(document.contains(&format!("| {} |", allowed.line)), "{}", allowed.line);
        }
    }

    #[test]
    fn sums_wrap_only_where_they_meet() {
        let pod = |name: &str, node: &str| {
            serde_json::json!({
                "metadata": {"name": name, "uid": name, "resourceVersion": "1"},
                "spec": {"nodeName": node, "containers": [{"name": "c", "resources": {"requests": {"memory": "5Ei"}}}]},
            })
        };
        let case = |other: &str| Case {
            nodes: ["a", "b"]
                .map(|name| serde_json::json!({"metadata": {"name": name}}))
                .into(),
            pods: vec![pod("x", "a"), pod("y", other)],
            pod: serde_json::json!({"metadata": {"name": "pod", "uid": "pod", "resourceVersion": "1"}}),
            ..Case::default()
        };
        assert!(sums_wrap(&case("a")));
        assert!(!sums_wrap(&case("b")));
    }
}
