//! Differences that are meant to be; each is a line of docs/differences.md. Nothing else is let through.

use plimsoll_model::{Amounts, Pod, decode_pod};
use serde_json::Value;

use crate::answer::Answer;
use crate::case::Case;
use crate::generate::claims_of;
use crate::search::{SearchAnswer, SearchCase};

mod hints;
mod preemptions;

pub use hints::{ALLOWED_HINTS, AllowedHint, allowed_hint};
pub use preemptions::{ALLOWED_PREEMPTIONS, AllowedPreemption, allowed_preemption};

/// An intended difference.
#[derive(Debug, Clone, Copy)]
pub struct Allowed {
    /// What docs/differences.md says of it, word for word.
    pub line: &'static str,
    applies: fn(&Case, &Answer) -> bool,
}

/// Every intended difference.
pub const ALLOWED: [Allowed; 6] = [
    Allowed {
        line: "Sums of requests cannot wrap around.",
        applies: |case, _| sums_wrap(case),
    },
    Allowed {
        line: "A preferred node-affinity term that cannot be parsed counts for nothing.",
        applies: |_, upstream| upstream.failure.as_deref().is_some_and(preferred_term_fails),
    },
    Allowed {
        line: WHOLE_PODS,
        applies: |case, _| resizes_whole_pods_behind_their_gate(case, &case.pods),
    },
    Allowed {
        line: "Overhead counts once, also on top of a request of the pod as a whole of 10¹⁸ or more.",
        applies: |case, _| overhead_adds_up(case),
    },
    Allowed {
        line: "A claim that a pod mounts twice is one claim.",
        applies: |case, _| mounts_twice(&case.pod),
    },
    Allowed {
        line: "A pod on a node whose volume can't be told (an ephemeral volume's claim that was made for another pod, an in-line \
               disk that no CSI driver can take over) counts as one without it.",
        applies: |case, upstream| {
            let mut failures = upstream.failure.iter().chain(&upstream.other_failures);
            failures.any(|failure| fails_to_count_volumes(failure)) && has_untold_volumes(case)
        },
    },
];

/// Whether two of a pod's volumes are of one claim.
fn mounts_twice(pod: &Value) -> bool {
    let claims = claims_of(pod);
    claims
        .iter()
        .enumerate()
        .any(|(at, claim)| claims[..at].contains(claim))
}

fn fails_to_count_volumes(failure: &str) -> bool {
    failure.starts_with("running \"NodeVolumeLimits\" filter plugin:")
}

/// Whether a pod on a node has a volume of which nobody can tell what it is.
fn has_untold_volumes(case: &Case) -> bool {
    case.pods.iter().any(|pod| {
        let mut volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
        volumes.any(|volume| is_untold(case, pod, volume))
    })
}

fn is_untold(case: &Case, pod: &Value, volume: &Value) -> bool {
    let ephemeral = volume["ephemeral"].is_object() && {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let name = format!("{}-{}", text(&pod["metadata"]["name"]), text(&volume["name"]));
        let mut claims = case.persistent_volume_claims.iter();
        let claim = claims.find(|claim| {
            claim["metadata"]["name"] == *name && claim["metadata"]["namespace"] == pod["metadata"]["namespace"]
        });
        claim.is_some_and(|claim| claim["metadata"]["ownerReferences"][0]["uid"] != pod["metadata"]["uid"])
    };
    let azure = volume["azureDisk"]["kind"]
        .as_str()
        .is_some_and(|kind| kind != "Managed");
    let amazon = volume["awsElasticBlockStore"]["volumeID"].as_str();
    ephemeral || azure || amazon.is_some_and(|id| id.starts_with("aws://") && !id.contains("/vol-"))
}

const WHOLE_PODS: &str = "Requests of a pod as a whole count whatever the gates `PodLevelResources` and \
                          `InPlacePodLevelResourcesVerticalScaling` say.";

/// Whether some of the pods is resized as a whole though the gate for that is off.
fn resizes_whole_pods_behind_their_gate<'a>(case: &Case, pods: impl IntoIterator<Item = &'a Value>) -> bool {
    let resized =
        |pod: &Value| pod["status"]["resources"].is_object() || pod["status"]["allocatedResources"].is_object();
    case.feature_gates.get("InPlacePodLevelResourcesVerticalScaling") == Some(&false) && pods.into_iter().any(resized)
}

/// Whether some pod has overhead and asks as a whole for so much that the sum of both is written over what it asks for,
/// each time that they are added up.
fn overhead_adds_up(case: &Case) -> bool {
    let huge = |amount: &Value| {
        amount
            .as_str()
            .is_some_and(|amount| amount.trim_end_matches('m').len() > 18)
    };
    case.pods.iter().chain([&case.pod]).any(|pod| {
        let whole = pod["spec"]["resources"]["requests"].as_object();
        pod["spec"]["overhead"].is_object() && whole.is_some_and(|whole| whole.values().any(huge))
    })
}

/// The intended difference that a case shows, if it does.
pub fn allowed(case: &Case, upstream: &Answer) -> Option<&'static Allowed> {
    ALLOWED.iter().find(|allowed| (allowed.applies)(case, upstream))
}

fn preferred_term_fails(failure: &str) -> bool {
    failure.starts_with("running PreScore plugin \"NodeAffinity\":")
}

/// An intended difference in which nodes are found.
#[derive(Debug, Clone, Copy)]
pub struct AllowedSearch {
    /// What docs/differences.md says of it, word for word.
    pub line: &'static str,
    applies: fn(&SearchCase, &SearchAnswer) -> bool,
}

/// Every intended difference in which nodes are found.
pub const ALLOWED_SEARCHES: [AllowedSearch; 4] = [
    AllowedSearch {
        line: ALLOWED[0].line,
        applies: |case, _| {
            case.pods.iter().any(|pod| {
                sums_wrap(&Case {
                    pod: pod.clone(),
                    ..case.cluster.clone()
                })
            })
        },
    },
    AllowedSearch {
        line: ALLOWED[1].line,
        applies: |_, upstream| {
            let mut searches = upstream.searches.iter().flatten();
            searches.any(|search| search.failure.as_deref().is_some_and(preferred_term_fails))
        },
    },
    AllowedSearch {
        line: WHOLE_PODS,
        applies: |case, _| resizes_whole_pods_behind_their_gate(&case.cluster, &case.cluster.pods),
    },
    AllowedSearch {
        line: "All nodes are looked at, whatever the size of the cluster, unless `percentageOfNodesToScore` is written in \
               the configuration; a written 0 is kube-scheduler's adaptive share.",
        applies: |case, _| !case.cluster.config.to_string().contains("percentageOfNodesToScore"),
    },
];

/// The intended difference that a search shows, if it does.
pub fn allowed_search(case: &SearchCase, upstream: &SearchAnswer) -> Option<&'static AllowedSearch> {
    ALLOWED_SEARCHES
        .iter()
        .find(|allowed| (allowed.applies)(case, upstream))
}

/// Whether amounts that are added up somewhere leave 64 bits: those of a node's pods, the pod and those nominated to the
/// node; or within one pod.
fn sums_wrap(case: &Case) -> bool {
    let pods: Vec<Pod> = case.pods.iter().filter_map(decoded).collect();
    let new = decoded(&case.pod);
    let on_node = |name: Option<&str>| {
        let there = |pod: &&Pod| pod.node_name().or(pod.status.nominated_node_name.as_deref()) == name;
        let mut sums = [0_i128; 3];
        for pod in pods.iter().filter(there).chain(&new) {
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
        let lines = ALLOWED.iter().map(|allowed| allowed.line);
        let lines = lines.chain(ALLOWED_SEARCHES.iter().map(|allowed| allowed.line));
        let lines = lines.chain(ALLOWED_PREEMPTIONS.iter().map(|allowed| allowed.line));
        for line in lines.chain(ALLOWED_HINTS.iter().map(|allowed| allowed.line)) {
            assert!(document.contains(&format!("| {line} |")), "{line}");
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
