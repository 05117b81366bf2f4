//! What a pod says about itself, in the words tests ask for.

use k8s_openapi::api::core::v1::{Pod, PodCondition};

/// Questions about a pod.
pub trait PodFacts {
    /// `namespace/name`.
    fn key(&self) -> String;
    /// The UID, empty when it has none yet.
    fn uid(&self) -> &str;
    /// The node it is bound to.
    fn node(&self) -> Option<&str>;
    /// Its `PodScheduled` condition.
    fn scheduled(&self) -> Option<&PodCondition>;
    /// Why it is pending: the message of a false `PodScheduled`.
    fn why_pending(&self) -> Option<&str>;
    /// The node whose room it is promised.
    fn nominated(&self) -> Option<&str>;
    /// True when a scheduler has marked it as a victim of preemption.
    fn marked_as_victim(&self) -> bool;
    /// True when it is Ready and nobody has asked it to go: what a disruption budget counts.
    fn healthy(&self) -> bool;
    /// True when it no longer uses its node.
    fn finished(&self) -> bool;
    /// True when scheduling gates hold it.
    fn gated(&self) -> bool;
}

impl PodFacts for Pod {
    fn key(&self) -> String {
        let part = |part: &Option<String>| part.clone().unwrap_or_default();
        format!("{}/{}", part(&self.metadata.namespace), part(&self.metadata.name))
    }

    fn uid(&self) -> &str {
        self.metadata.uid.as_deref().unwrap_or_default()
    }

    fn node(&self) -> Option<&str> {
        self.spec.as_ref()?.node_name.as_deref().filter(|node| !node.is_empty())
    }

    fn scheduled(&self) -> Option<&PodCondition> {
        condition(self, "PodScheduled")
    }

    fn why_pending(&self) -> Option<&str> {
        let condition = self.scheduled().filter(|condition| condition.status == "False")?;
        condition.message.as_deref().filter(|message| !message.is_empty())
    }

    fn nominated(&self) -> Option<&str> {
        let nominated = self.status.as_ref()?.nominated_node_name.as_deref();
        nominated.filter(|node| !node.is_empty())
    }

    fn marked_as_victim(&self) -> bool {
        condition(self, "DisruptionTarget")
            .is_some_and(|found| found.status == "True" && found.reason.as_deref() == Some("PreemptionByScheduler"))
    }

    fn healthy(&self) -> bool {
        self.metadata.deletion_timestamp.is_none()
            && condition(self, "Ready").is_some_and(|ready| ready.status == "True")
    }

    fn finished(&self) -> bool {
        let phase = self.status.as_ref().and_then(|status| status.phase.as_deref());
        matches!(phase, Some("Succeeded" | "Failed"))
    }

    fn gated(&self) -> bool {
        self.spec
            .as_ref()
            .and_then(|spec| spec.scheduling_gates.as_ref())
            .is_some_and(|gates| !gates.is_empty())
    }
}

fn condition<'a>(pod: &'a Pod, kind: &str) -> Option<&'a PodCondition> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|condition| condition.type_ == kind)
}

/// What preemption adds to the message of a pod that fits nowhere, without its name; `None` when it says nothing.
pub fn preemption_part(message: &str) -> Option<&str> {
    Some(message.split_once(" preemption: ")?.1)
}

/// The message up to what the `PostFilter` plugins add to it: kube-scheduler tries to free devices and to preempt for every
/// pod that fits nowhere. Where no node was looked at, the first of the two says that what it needs is not there.
pub fn without_preemption(message: &str) -> &str {
    let additions = [" no new claims to deallocate", " preemption: "];
    let end = additions.iter().filter_map(|addition| message.find(addition)).min();
    let message = &message[..end.unwrap_or(message.len())];
    let without = message.strip_suffix(" not found");
    without.filter(|without| without.ends_with('.')).unwrap_or(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_preemption_adds_is_cut_off() {
        let message = "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No victims.";
        assert_eq!(
            without_preemption(message),
            "0/1 nodes are available: 1 Insufficient cpu."
        );
        assert_eq!(without_preemption("no nodes"), "no nodes");
        let claim = "0/1 nodes are available: persistentvolumeclaim \"a\" not found. not found";
        assert_eq!(without_preemption(claim), claim.strip_suffix(" not found").unwrap());
        assert_eq!(without_preemption("a claim not found"), "a claim not found");
        let part = "0/1 nodes are available: 1 No victims.";
        assert_eq!(preemption_part(message), Some(part));
        assert_eq!(preemption_part("no nodes"), None);
    }
}
