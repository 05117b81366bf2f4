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
    let duplicate = matches!(error.kind, FieldErrorKind::Duplicate(_));
    let hint = match field {
        "schedulerName" if duplicate => {
            "give each profile its own name, or use plimsoll.dev/v1alpha1, where profiles with matchRules may share one"
        }
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
        "defaultingType" => "write `defaultingType: List` to use your own constraints",
        "labelSelector" => "remove it",
        "shape" => "remove it, or start with --feature-gates=StorageCapacityScoring=true",
        _ if duplicate => "remove one of them",
        _ => return None,
    };
    Some(hint.to_owned())
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
