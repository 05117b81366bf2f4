use std::hash::{Hash, Hasher};

use plimsoll_model::{Pod, VolumeKind};

/// All that hints may read of a waiting pod, so that pods that are equal in it get the same answers: those of one replica
/// set or job, for example. Of who a pod is they read only whether an event is its own, and its own events go to it alone.
///
/// The name counts where claims of volumes are named after it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Likeness<'a>(pub(crate) &'a Pod);

impl Likeness<'_> {
    fn name(&self) -> Option<&str> {
        let named_after = |volume: &VolumeKind| matches!(volume, VolumeKind::Ephemeral { .. });
        let name = self.0.name.name.as_str();
        self.0.spec.volumes.iter().any(named_after).then_some(name)
    }
}

impl PartialEq for Likeness<'_> {
    fn eq(&self, other: &Self) -> bool {
        let (one, two) = (self.0, other.0);
        one.name.namespace == two.name.namespace
            && one.labels == two.labels
            && one.controller == two.controller
            && one.spec == two.spec
            && one.status.resource_claim_statuses == two.status.resource_claim_statuses
            && self.name() == other.name()
    }
}

impl Eq for Likeness<'_> {}

impl Hash for Likeness<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.name.namespace.hash(state);
        self.0.labels.hash(state);
        self.0.controller.hash(state);
        self.0.spec.hash(state);
        self.0.status.resource_claim_statuses.hash(state);
        self.name().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use std::hash::BuildHasher;

    use foldhash::fast::FixedState;
    use plimsoll_model::testing::{PodBuilder, pod};

    use super::*;

    #[test]
    fn pods_of_one_template_are_alike_and_others_are_not() {
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
                one("b").with(|pod| pod.controller = Some(Box::default())),
                false,
            ),
        ];
        let first = one("a").build();
        let hash = |pod: &Pod| FixedState::default().hash_one(Likeness(pod));
        for (what, other, alike) in cases {
            let other = other.build();
            assert_eq!(Likeness(&first) == Likeness(&other), alike, "{what}");
            assert_eq!(hash(&first) == hash(&other), alike, "{what}");
        }
    }

    #[test]
    fn pods_whose_claims_are_named_after_them_are_not_alike() {
        let volume = VolumeKind::Ephemeral { volume: "data".into() };
        let claiming = |name: &str| pod(name).with(|pod| pod.spec.volumes = vec![volume.clone()]).build();
        assert!(Likeness(&claiming("a")) != Likeness(&claiming("b")));
        assert!(Likeness(&claiming("a")) == Likeness(&claiming("a")));
    }
}
