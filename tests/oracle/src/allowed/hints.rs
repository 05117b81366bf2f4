//! Where events and hints are meant to differ: mostly where kube-scheduler leaves pods waiting that could be placed.

use plimsoll_model::{Node, Pod, PodAffinityTerm, TopologySpreadConstraint, decode_node};
use serde_json::Value;

use super::{WHOLE_PODS, decoded, everything, resizes_whole_pods_behind_their_gate};
use crate::hints::{HintCase, HintDifference};

/// An intended difference in what changes mean to waiting pods.
#[derive(Debug, Clone, Copy)]
pub struct AllowedHint {
    /// What docs/differences.md says of it, word for word.
    pub line: &'static str,
    applies: fn(&Seen<'_>) -> bool,
}

const GONE_OR_GOING: &str = "A node that vanishes wakes pods that `InterPodAffinity` turned away; a pod on a node that is \
                             told to go wakes those that `PodTopologySpread` turned away.";

/// Every intended difference in what changes mean to waiting pods.
pub const ALLOWED_HINTS: [AllowedHint; 21] = [
    AllowedHint {
        line: GONE_OR_GOING,
        applies: |seen| {
            let vanished = seen.hears_of("InterPodAffinity", "NodeDelete")
                || (seen.wakes("InterPodAffinity") && seen.event() == Some("NodeDelete"));
            let goes = seen.hears_of("PodTopologySpread", "PodUpdate")
                || (seen.wakes("PodTopologySpread")
                    && seen.both_pods(|old, new| !old.is_terminating() && new.is_terminating()));
            vanished || goes
        },
    },
    AllowedHint {
        line: "Of several required anti-affinity terms of the waiting pod or of another, one is enough to wake the waiting pod \
               when the other goes, or is no longer meant.",
        applies: |seen| {
            let some_means = |terms: &[PodAffinityTerm], pod: Option<Pod>| {
                terms.len() > 1 && pod.is_some_and(|pod| terms.iter().any(|term| selects(term, &pod)))
            };
            let of_other = seen.old_pod().map(|pod| required(&pod).1).unwrap_or_default();
            let meant = some_means(&seen.anti_affinity(), seen.old_pod()) || some_means(&of_other, seen.waiting());
            seen.wakes("InterPodAffinity") && meant
        },
    },
    AllowedHint {
        line: "A pod that its own affinity terms mean is woken when a pod goes, or no longer is, that they mean.",
        applies: |seen| {
            let terms = seen.affinity();
            let all_mean = |pod: &Pod| terms.iter().all(|term| selects(term, pod));
            let was_meant = seen.old_pod().is_some_and(|old| all_mean(&old));
            seen.wakes("InterPodAffinity")
                && !terms.is_empty()
                && seen.waiting().is_some_and(|pod| all_mean(&pod))
                && was_meant
        },
    },
    AllowedHint {
        line: "Namespaces that a required pod affinity term means by their labels count as meant when it is asked whether a \
               change may help.",
        applies: |seen| {
            let of_others = seen.old_pod().map(|pod| required(&pod).1).unwrap_or_default();
            let mut terms = seen.affinity().into_iter().chain(seen.anti_affinity()).chain(of_others);
            seen.wakes("InterPodAffinity") && terms.any(|term| term.namespace_selector.is_some())
        },
    },
    AllowedHint {
        line: "A new node wakes pods without required affinity terms that `InterPodAffinity` turned away, and a node that \
               loses or changes a label wakes all that it turned away.",
        applies: |seen| {
            let changed =
                |old: &Node, new: &Node| old.labels.iter().any(|(key, value)| new.labels.get(key) != Some(value));
            let added = seen.event() == Some("NodeAdd") && seen.affinity().is_empty();
            seen.wakes("InterPodAffinity") && (added || seen.both_nodes(changed))
        },
    },
    AllowedHint {
        line: "Pods without spread constraints of their own count as spread by the default ones when it is asked whether a \
               change may help, and all pods of their namespace as selected, whatever the workloads.",
        applies: |seen| {
            let of_nodes = seen.event().is_some_and(|event| event.starts_with("Node")) && !seen.is_of_a_service();
            let own = seen.constraints().is_none_or(|own| !own.is_empty());
            !own && (seen.wakes("PodTopologySpread") || (of_nodes && seen.is_hint_of("PodTopologySpread")))
        },
    },
    AllowedHint {
        line: "A node that a pod may use only now, or no longer, wakes it if one of its spread constraints counts such nodes \
               alone.",
        applies: |seen| {
            let chooses = |pod: &Pod| {
                let affinity = pod
                    .spec
                    .affinity
                    .as_ref()
                    .and_then(|affinity| affinity.node_affinity.as_ref());
                pod.spec.node_selector.is_some() || affinity.is_some_and(|affinity| affinity.required.is_some())
            };
            let relabelled = seen.both_nodes(|old, new| old.labels != new.labels);
            seen.wakes("PodTopologySpread") && relabelled && seen.waiting().is_some_and(|pod| chooses(&pod))
        },
    },
    AllowedHint {
        line: "A pod is woken when a label of its own changes that one of its spread constraints takes over.",
        applies: |seen| {
            let constraints = seen.constraints().unwrap_or_default();
            let mut keys = constraints.iter().flat_map(|constraint| &constraint.match_label_keys);
            let own = |old: &Pod, new: &Pod| {
                keys.any(|key| old.labels.get(key) != new.labels.get(key)) && old.uid.as_str() == "pod"
            };
            seen.wakes("PodTopologySpread") && seen.both_pods(own)
        },
    },
    AllowedHint {
        line: "A node that the affinity of the profile allows only now wakes pods that `NodeAffinity` turned away.",
        applies: |seen| seen.wakes("NodeAffinity") && seen.args().contains("addedAffinity"),
    },
    AllowedHint {
        line: "A required node-affinity term that cannot be parsed means no node when it is asked whether a change may help.",
        applies: |seen| {
            matches!(seen.difference, HintDifference::Hint { plugin, upstream, .. }
                if plugin == "NodeAffinity" && upstream == "Error")
        },
    },
    AllowedHint {
        line: "What the arguments of `NodeResourcesFit` leave to others counts neither for nor against its waking pods.",
        applies: |seen| seen.is_hint_of("NodeResourcesFit") && seen.args().contains("ignoredResource"),
    },
    AllowedHint {
        line: "Sums of requests cannot wrap around.",
        applies: |seen| {
            let sums = seen.waiting().map(|pod| everything(&pod));
            seen.is_hint_of("NodeResourcesFit")
                && sums.is_some_and(|all| all.iter().any(|sum| *sum > i128::from(i64::MAX)))
        },
    },
    AllowedHint {
        line: "Quantities beyond 2⁶³−1 stay there when read as a number. `1000E` is shown as `1e21`.",
        applies: |seen| {
            // Whether a pod asks for less is seen in thousandths.
            let huge = |pod: &Option<Value>| {
                let amounts = pod.as_ref().and_then(decoded).map(|pod| everything(&pod));
                amounts.is_some_and(|all| all.iter().any(|amount| *amount > i128::from(i64::MAX / 1000)))
            };
            (huge(&seen.case.old_pod) || huge(&seen.case.new_pod)) && seen.is_about("UpdatePodScaleDown")
        },
    },
    AllowedHint {
        line: "Amounts that come to the same numbers have not changed: a request of 0 is the same as none, and so is 0 of \
               a node but for extended resources.",
        applies: |seen| {
            let same = seen.both_nodes(|old, new| old.status.allocatable == new.status.allocatable);
            let named_none = seen.case.old_pod.as_ref().is_some_and(|pod| {
                [r#":"0""#, r#":"0m""#]
                    .iter()
                    .any(|none| pod["spec"].to_string().contains(none))
            });
            // A fraction of a byte counts as one, of each container.
            let fraction = [&seen.case.old_pod, &seen.case.new_pod]
                .into_iter()
                .flatten()
                .any(has_fractions);
            (same && seen.is_about("UpdateNodeAllocatable"))
                || ((named_none || fraction) && seen.is_about("UpdatePodScaleDown"))
        },
    },
    AllowedHint {
        line: WHOLE_PODS,
        applies: |seen| {
            let pods = seen.case.old_pod.iter().chain(&seen.case.new_pod);
            resizes_whole_pods_behind_their_gate(&seen.case.cluster, pods) && seen.is_about("UpdatePodScaleDown")
        },
    },
    AllowedHint {
        line: "A condition of a node that stands twice is two: one of them that goes is an event.",
        applies: |seen| {
            let twice = |node: &Node| {
                let all = &node.status.conditions;
                all.iter()
                    .enumerate()
                    .any(|(at, one)| all[..at].iter().any(|earlier| earlier.kind == one.kind))
            };
            seen.both_nodes(|old, new| twice(old) || twice(new)) && seen.is_about("UpdateNodeCondition")
        },
    },
    AllowedHint {
        line: "Other declared features of a node are an event whatever the gate `NodeDeclaredFeatures` says.",
        applies: |seen| {
            seen.case.cluster.feature_gates.get("NodeDeclaredFeatures") == Some(&false)
                && seen.is_about("UpdateNodeDeclaredFeature")
        },
    },
    AllowedHint {
        line: "A change of `status.extendedResourceClaimStatus` stands for no event of its own.",
        applies: |seen| {
            let status = |pod: &Option<Value>| {
                pod.as_ref()
                    .map(|pod| pod["status"]["extendedResourceClaimStatus"].clone())
            };
            let changed = status(&seen.case.old_pod) != status(&seen.case.new_pod);
            changed && seen.is_about("UpdatePodGeneratedResourceClaim")
        },
    },
    AllowedHint {
        line: "Pods that `VolumeBinding` turned away are woken by the end of an attempt that may have reserved volumes (a pod with \
               claims that has not started), by a volume, a CSI driver that told what room it has, or a `CSINode` that goes, and, \
               if they have claims, by a CSI driver that no longer tells.",
        applies: |seen| {
            let ends = [
                "AssignedPodDelete",
                "PersistentVolumeDelete",
                "CSINodeDelete",
                "CSIDriverDelete",
                "CSIDriverUpdate",
            ];
            let hears = ends.iter().any(|event| seen.hears_of("VolumeBinding", event));
            let event = seen.event().unwrap_or_default();
            hears || (seen.wakes("VolumeBinding") && ends.iter().any(|end| event.ends_with(end)))
        },
    },
    AllowedHint {
        line: "Pods that `NodeVolumeLimits` turned away are also woken by new nodes, by a `CSINode` that goes, that names another \
               driver or that no longer limits one, by a claim of their own that gets another volume, by an attachment that goes \
               if they have ephemeral volumes, and, with `VolumeLimitScaling`, by a CSI driver that no longer insists on being on \
               the node; those that `VolumeRestrictions` turned away, by a pod of another namespace that had their disk.",
        applies: |seen| {
            let more = [
                "NodeAdd",
                "NodeUpdateNodeTaint",
                "CSINodeDelete",
                "CSINodeUpdate",
                "PersistentVolumeClaimUpdate",
                "VolumeAttachmentDelete",
                "CSIDriverUpdate",
                "CSIDriverDelete",
            ];
            let hears = more.iter().any(|event| seen.hears_of("NodeVolumeLimits", event));
            let event = seen.event().unwrap_or_default();
            let limits = seen.wakes("NodeVolumeLimits") && more.iter().any(|end| event.ends_with(end));
            let elsewhere = || {
                seen.old_pod()
                    .zip(seen.waiting())
                    .is_some_and(|(old, own)| old.name.namespace != own.name.namespace)
            };
            hears || limits || (seen.wakes("VolumeRestrictions") && elsewhere())
        },
    },
    AllowedHint {
        line: "A driver that newly has a limit on a node, and was there before, wakes nobody.",
        applies: |seen| {
            let skips = matches!(seen.difference, HintDifference::Hint { plugin, ours, upstream, .. }
                if plugin == "NodeVolumeLimits" && ours == "Skip" && upstream == "Queue");
            skips && seen.case.old_storage.as_ref().is_some_and(has_driver_without_limit)
        },
    },
];

/// Whether some driver of a `CSINode` does not say how many volumes the node takes.
fn has_driver_without_limit(node: &Value) -> bool {
    let mut drivers = node["spec"]["drivers"].as_array().into_iter().flatten();
    drivers.any(|driver| driver["allocatable"]["count"].is_null())
}

/// The line that a difference in what a change means falls under, if there is one. Of lists that differ in several events
/// each must have one; the first is named.
pub fn allowed_hint(case: &HintCase, difference: &HintDifference) -> Option<&'static AllowedHint> {
    let line = |difference: &HintDifference| {
        let seen = Seen { case, difference };
        ALLOWED_HINTS.iter().find(|allowed| (allowed.applies)(&seen))
    };
    let one_by_one = || {
        let mut lines = event_by_event(difference).into_iter().map(|part| line(&part));
        let first = lines.next()??;
        lines.all(|line| line.is_some()).then_some(first)
    };
    line(difference).or_else(one_by_one)
}

/// A list of events that differs from kube-scheduler's in several, as one difference for each of them.
fn event_by_event(difference: &HintDifference) -> Vec<HintDifference> {
    let HintDifference::Events { ours, upstream } = difference else {
        return Vec::new();
    };
    let only_in = |events: &[String], others: &[String]| -> Vec<String> {
        let missing = events
            .iter()
            .filter(|event| !others.contains(event) && !event.ends_with("PodUpdate"));
        missing.cloned().collect()
    };
    let here = only_in(ours, upstream).into_iter().map(|event| HintDifference::Events {
        ours: vec![event],
        upstream: Vec::new(),
    });
    let there = only_in(upstream, ours).into_iter().map(|event| HintDifference::Events {
        ours: Vec::new(),
        upstream: vec![event],
    });
    here.chain(there).collect()
}

/// Whether a request that is not of processors is written as a fraction.
fn has_fractions(pod: &Value) -> bool {
    match pod {
        Value::Object(fields) => fields.iter().any(|(name, value)| {
            let amounts = matches!(name.as_str(), "requests" | "limits")
                .then(|| value.as_object())
                .flatten();
            let fractions = |(resource, amount): (&String, &Value)| {
                let amount = amount.as_str().unwrap_or_default();
                resource != "cpu" && (amount.contains('.') || amount.ends_with(['m', 'u', 'n']))
            };
            amounts.is_some_and(|amounts| amounts.iter().any(fractions)) || has_fractions(value)
        }),
        Value::Array(items) => items.iter().any(has_fractions),
        _ => false,
    }
}

struct Seen<'a> {
    case: &'a HintCase,
    difference: &'a HintDifference,
}

impl Seen<'_> {
    /// Whether the plugin wakes the pod and kube-scheduler's does not.
    fn wakes(&self, name: &str) -> bool {
        matches!(self.difference, HintDifference::Hint { plugin, ours, upstream, .. }
            if plugin == name && ours == "Queue" && upstream == "Skip")
    }

    /// Whether the plugin hears of such an event and kube-scheduler's does not.
    fn hears_of(&self, name: &str, part: &str) -> bool {
        matches!(self.difference, HintDifference::Listens { plugin, event, here: true }
            if plugin == name && event.contains(part))
    }

    fn event(&self) -> Option<&str> {
        match self.difference {
            HintDifference::Hint { event, .. } => Some(event),
            _ => None,
        }
    }

    /// Whether the list of events differs, or a hint to one that stands in one of the lists only.
    fn is_about(&self, action: &str) -> bool {
        match self.difference {
            HintDifference::Events { ours, upstream } => {
                let others = |events: &[String]| -> Vec<String> {
                    events
                        .iter()
                        .filter(|event| !event.ends_with(action) && !event.ends_with("PodUpdate"))
                        .cloned()
                        .collect()
                };
                others(ours) == others(upstream)
            }
            HintDifference::Hint { event, .. } => event.ends_with(action) || event.ends_with("PodUpdate"),
            _ => false,
        }
    }

    fn is_hint_of(&self, name: &str) -> bool {
        matches!(self.difference, HintDifference::Hint { plugin, .. } if plugin == name)
    }

    /// Whether some service selects the waiting pod.
    fn is_of_a_service(&self) -> bool {
        let Some(pod) = self.waiting() else { return false };
        let selects = |service: &Value| {
            let labels = service["spec"]["selector"].as_object();
            let matches = |(key, value): (&String, &Value)| pod.labels.get(key) == value.as_str();
            service["metadata"]["namespace"] == *pod.name.namespace
                && labels.is_some_and(|labels| !labels.is_empty() && labels.iter().all(matches))
        };
        self.case.cluster.services.iter().any(selects)
    }

    fn args(&self) -> String {
        self.case.cluster.config.to_string()
    }

    fn waiting(&self) -> Option<Pod> {
        decoded(&self.case.cluster.pod)
    }

    fn old_pod(&self) -> Option<Pod> {
        self.case.old_pod.as_ref().and_then(decoded)
    }

    fn both_pods(&self, mut holds: impl FnMut(&Pod, &Pod) -> bool) -> bool {
        let new = self.case.new_pod.as_ref().and_then(decoded);
        self.old_pod().zip(new).is_some_and(|(old, new)| holds(&old, &new))
    }

    fn both_nodes(&self, holds: impl Fn(&Node, &Node) -> bool) -> bool {
        let node = |node: &Option<Value>| decode_node(node.as_ref()?.to_string().as_bytes()).ok();
        let both = node(&self.case.old_node).zip(node(&self.case.new_node));
        both.is_some_and(|(old, new)| holds(&old, &new))
    }

    fn affinity(&self) -> Vec<PodAffinityTerm> {
        self.waiting().map(|pod| required(&pod).0).unwrap_or_default()
    }

    fn anti_affinity(&self) -> Vec<PodAffinityTerm> {
        self.waiting().map(|pod| required(&pod).1).unwrap_or_default()
    }

    fn constraints(&self) -> Option<Vec<TopologySpreadConstraint>> {
        Some(self.waiting()?.spec.topology_spread_constraints.clone())
    }
}

/// The required terms of affinity and of anti-affinity.
fn required(pod: &Pod) -> (Vec<PodAffinityTerm>, Vec<PodAffinityTerm>) {
    let Some(affinity) = pod.spec.affinity.as_ref() else {
        return (Vec::new(), Vec::new());
    };
    let near = affinity.pod_affinity.as_ref().map(|affinity| affinity.required.clone());
    let far = affinity
        .pod_anti_affinity
        .as_ref()
        .map(|affinity| affinity.required.clone());
    (near.unwrap_or_default(), far.unwrap_or_default())
}

fn selects(term: &PodAffinityTerm, pod: &Pod) -> bool {
    term.label_selector
        .as_ref()
        .is_some_and(|selector| selector.matches(&pod.labels))
}
