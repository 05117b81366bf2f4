use std::hash::{Hash, Hasher};

use plimsoll_model::{ControllerReference, Labels, Pod, VolumeKind};

/// All that hints may read of a waiting pod, so that pods that are equal in it get the same answers: those of one replica
/// set or job, for example. Of who a pod is they read only whether an event is its own, and its own events go to it alone.
///
/// The name counts where claims of volumes are named after it, and labels and controller where a hint may read them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Likeness<'a> {
    pod: &'a Pod,
    with_labels: bool,
}

impl<'a> Likeness<'a> {
    /// Of a pod to plugins of which some read labels, or none does.
    pub(crate) fn of(pod: &'a Pod, with_labels: bool) -> Self {
        Self { pod, with_labels }
    }

    fn name(&self) -> Option<&str> {
        let named_after = |volume: &VolumeKind| matches!(volume, VolumeKind::Ephemeral { .. });
        let name = self.pod.name.name.as_str();
        self.pod.spec.volumes.iter().any(named_after).then_some(name)
    }

    fn labels(&self) -> Option<(&Labels, Option<&ControllerReference>)> {
        self.with_labels
            .then_some((&self.pod.labels, self.pod.controller.as_deref()))
    }
}

impl PartialEq for Likeness<'_> {
    fn eq(&self, other: &Self) -> bool {
        let (one, two) = (self.pod, other.pod);
        one.name.namespace == two.name.namespace
            && self.labels() == other.labels()
            && one.spec == two.spec
            && one.node_name == two.node_name
            && one.status.resource_claim_statuses == two.status.resource_claim_statuses
            && self.name() == other.name()
    }
}

impl Eq for Likeness<'_> {}

impl Hash for Likeness<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.pod.name.namespace.hash(state);
        self.labels().hash(state);
        self.pod.spec.hash(state);
        self.pod.status.resource_claim_statuses.hash(state);
        self.name().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use std::hash::BuildHasher;

    use foldhash::fast::FixedState;
    use plimsoll_model::Shared;
    use plimsoll_model::testing::{PodBuilder, pod};

    use super::*;

    #[test]
    fn pods_of_one_template_are_alike_and_others_are_not_but_for_labels_that_nobody_reads() {
        let one = |name: &str| pod(name).label("app", "web").cpu("2").node_selector("zone", "a");
        let cases: [(&str, PodBuilder, bool); 8] = [
            ("replica", one("b").uid("other").resource_version(7), true),
            (
                "condition",
                one("b").with(|pod| pod.status.pod_scheduled = Some(Box::default())),
                true,
            ),
            ("namespace", one("b").namespace("other"), false),
            ("label", one("b").label("app", "db"), false),
            ("request", one("b").cpu("3"), false),
            ("selector", one("b").node_selector("zone", "b"), false),
            ("priority", one("b").priority(5), false),
            (
                "owner",
                one("b").with(|pod| pod.controller = Some(Shared::default())),
                false,
            ),
        ];
        let first = one("a").build();
        let cases = cases.map(|(what, other, alike)| (what, other.build(), alike));
        for (what, other, alike) in &cases {
            for with_labels in [true, false] {
                let alike = *alike || (!with_labels && matches!(*what, "label" | "owner"));
                let [one, two] = [&first, other].map(|pod| Likeness::of(pod, with_labels));
                assert_eq!(one == two, alike, "{what}");
                let [one, two] = [one, two].map(|likeness| FixedState::default().hash_one(likeness));
                assert_eq!(one == two, alike, "{what}");
            }
        }
    }

    #[test]
    fn pods_whose_claims_are_named_after_them_are_not_alike() {
        let volume = VolumeKind::Ephemeral { volume: "data".into() };
        let claiming = |name: &str| pod(name).with(|pod| pod.spec.volumes = vec![volume.clone()]).build();
        let (a, b) = (claiming("a"), claiming("b"));
        for with_labels in [true, false] {
            let of = |pod| Likeness::of(pod, with_labels);
            assert!(of(&a) != of(&b));
            assert!(of(&a) == of(&claiming("a")));
        }
    }
}
