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
        self.status
            .as_ref()?
            .conditions
            .as_ref()?
            .iter()
            .find(|condition| condition.type_ == "PodScheduled")
    }

    fn why_pending(&self) -> Option<&str> {
        let condition = self.scheduled().filter(|condition| condition.status == "False")?;
        condition.message.as_deref().filter(|message| !message.is_empty())
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

/// The message up to what the `PostFilter` plugins add to it: kube-scheduler tries to free devices and to preempt for every
/// pod that fits nowhere.
pub fn without_preemption(message: &str) -> &str {
    let additions = [" no new claims to deallocate", " preemption: "];
    let end = additions.iter().filter_map(|addition| message.find(addition)).min();
    &message[..end.unwrap_or(message.len())]
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
    }
}
