//! What to do about values that are not allowed.

use crate::document::Node;
use crate::suggest::closest;
use crate::validate::REMOVED_PLUGINS;
use crate::{FieldError, FieldErrorKind, Invalid};

/// An error with its place in the file and a way out.
pub(crate) fn explain(error: FieldError, root: Option<&Node>) -> Invalid {
    Invalid {
        at: root.map(|root| root.locate(&error.field)),
        hint: hint(&error),
        error,
    }
}

fn hint(error: &FieldError) -> Option<String> {
    match &error.kind {
        FieldErrorKind::NotSupported(value) => supported(value.trim_matches('"'), &error.detail),
        FieldErrorKind::Invalid(value) if REMOVED_PLUGINS.contains(&value.trim_matches('"')) => Some(
            "remove it: NodeVolumeLimits, which is enabled by default, counts the volumes of every driver".to_owned(),
        ),
        _ => by_field(error),
    }
}

/// What to do about a plugin that does not exist: the plugin that replaced it, or the one that may have been meant.
/// `known` are the names of those that exist.
pub fn plugin_hint(name: &str, known: &[&str]) -> Option<String> {
    let replacement = match name {
        name if REMOVED_PLUGINS.contains(&name) => "NodeVolumeLimits, which is enabled by default",
        "SelectorSpread" | "DefaultPodTopologySpread" => {
            "PodTopologySpread, whose default constraints spread pods alike"
        }
        "NodeResourcesLeastAllocated" => "NodeResourcesFit with scoringStrategy.type LeastAllocated",
        "NodeResourcesMostAllocated" => "NodeResourcesFit with scoringStrategy.type MostAllocated",
        "RequestedToCapacityRatio" => "NodeResourcesFit with scoringStrategy.type RequestedToCapacityRatio",
        "NodePreferAvoidPods" => "taints with effect PreferNoSchedule",
        "CSILimits" => "NodeVolumeLimits",
        "Coscheduling" => "GangScheduling, behind the feature gate of that name",
        _ => return closest(name, known).map(|near| format!("did you mean {near:?}?")),
    };
    Some(format!("remove it: its place was taken by {replacement}"))
}

fn supported(value: &str, detail: &str) -> Option<String> {
    let names: Vec<&str> = detail.split('"').skip(1).step_by(2).collect();
    let near = closest(value, &names);
    near.map(|near| format!("did you mean {near:?}?"))
        .or_else(|| Some(format!("write one of {}", names.join(", "))))
}

fn by_field(error: &FieldError) -> Option<String> {
    let (parent, field) = error.field.rsplit_once('.').unwrap_or(("", &error.field));
    let field = field.split('[').next().unwrap_or(field);
    let hint = match &error.kind {
        FieldErrorKind::Duplicate(_) => Some(duplicate(field)),
        _ => top_level(parent, field).or_else(|| argument(field, error)),
    };
    let hint = hint.or(match error.kind {
        FieldErrorKind::Required => Some("write it"),
        FieldErrorKind::Forbidden => Some("remove it"),
        _ => None,
    });
    hint.map(str::to_owned)
}

fn duplicate(field: &str) -> &'static str {
    match field {
        "schedulerName" => {
            "give each profile its own name, or use plimsoll.dev/v1alpha1, where profiles with matchRules may share one"
        }
        _ => "remove one of them",
    }
}

fn top_level(parent: &str, field: &str) -> Option<&'static str> {
    Some(match field {
        "schedulerName" => "give the profile a name; only a profile that stands alone may do without one",
        "percentageOfNodesToScore" => "write a number from 0 to 100, or leave it out to look at all nodes",
        "leaseDuration" | "renewDeadline" | "retryPeriod" => {
            "leaseDuration must be above renewDeadline, and that above retryPeriod times 1.2; the defaults are 15s, 10s and 2s"
        }
        "resourceLock" => "write leases, or leave it out",
        "parallelism" => "leave it out for 16",
        "podInitialBackoffSeconds" | "podMaxBackoffSeconds" => "the defaults are 1 and 10",
        "burst" => "leave it out for 100; a negative qps switches the limit off",
        "queueSort" | "Enabled" => {
            "the profiles share one queue: name the same queue sort plugin in all of them, or in none"
        }
        "weight" if parent.starts_with("extenders") => "set weight to 1 or more, or leave prioritizeVerb out",
        "extenders" => "leave bindVerb to one of the extenders",
        "name" if parent.contains("managedResources") => {
            "write an extended resource, such as example.com/gpu, and each in one extender only"
        }
        "initial" | "max" => "max must be at least initial, and that above 0s",
        "preemptionLoopWindow" => "write a duration such as 10m, above 0s and 24h at most, or leave it out",
        "samplingRatio" => "write a number from 0 to 1",
        _ => return None,
    })
}

/// Of arguments of plugins and of selectors.
fn argument(field: &str, error: &FieldError) -> Option<&'static str> {
    const SHAPE: &str = "write points such as [{utilization: 0, score: 0}, {utilization: 100, score: 10}]";
    let required = error.kind == FieldErrorKind::Required;
    Some(match field {
        "defaultingType" => "write `defaultingType: List` to use your own constraints",
        "labelSelector" => "remove it",
        "maxSkew" => "write a number of 1 or more",
        "topologyKey" => "write the key of a node label, such as topology.kubernetes.io/zone",
        "whenUnsatisfiable" => "write DoNotSchedule or ScheduleAnyway",
        "minCandidateNodesPercentage" | "minCandidateNodesAbsolute" => "leave both out for 10 percent and 100 nodes",
        "hardPodAffinityWeight" | "hardPodAffinitySymmetricWeight" => {
            "write a number from 0 to 100, or leave it out for 1"
        }
        "weight" if error.detail == "must be 1" => "leave it out",
        "weight" => "write a number from 1 to 100, or leave it out for 1",
        "scoringStrategy" => "leave it out for LeastAllocated over cpu and memory",
        "requestedToCapacityRatio" | "shape" if required => SHAPE,
        "requestedToCapacityRatio" => "remove it, or write `type: RequestedToCapacityRatio`",
        "shape" => "remove it, or start with --feature-gates=StorageCapacityScoring=true",
        "utilization" => "write numbers from 0 to 100, each above the one before",
        "score" => "write a number from 0 to 10",
        "bindTimeoutSeconds" => "leave it out for 600",
        "filterTimeout" => "leave it out for 10s, or write 0s for no time-out",
        "bindingTimeout" => "leave it out for 10m",
        "values" => "In and NotIn take values, Exists and DoesNotExist none, Gt and Lt one whole number",
        "key"
        | "label"
        | "affinityLabels"
        | "presentLabels"
        | "absentLabels"
        | "matchLabels"
        | "ignoredResources"
        | "ignoredResourceGroups" => {
            "write letters, digits, '-', '_' and '.', 63 at most, with or without a domain and '/' in front"
        }
        "matchRules" => "add a selector, or remove the rule",
        "args" => "write the arguments of this plugin, or leave them out",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugins_that_are_gone_are_told_with_what_took_their_place() {
        let known = ["NodeResourcesFit", "NodeAffinity"];
        let hint = |name: &str| plugin_hint(name, &known).unwrap_or_default();
        assert!(
            hint("NodeResourcesMostAllocated").ends_with("NodeResourcesFit with scoringStrategy.type MostAllocated")
        );
        assert_eq!(hint("NodeAfinity"), "did you mean \"NodeAffinity\"?");
        assert_eq!(hint("Something"), "");
    }
}
