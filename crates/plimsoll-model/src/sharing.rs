use std::hash::{Hash, Hasher};
use std::sync::Arc;

use compact_str::CompactString;
use foldhash::fast::FixedState;
use hashbrown::HashMap;

use crate::shared::{Pool, Share, Shared};
use crate::{Container, ControllerReference, Footprint, Labels, Node, Pod, PodSpec, Toleration};

/// So many new values at least between two looks at which are still held.
const SWEEP_AFTER: usize = 4096;

/// What pods have alike: those of a replica set all but their names, and where they are.
///
/// In a large cluster hardly any pod is the only one of its kind, so what is kept of each is little; and what is held together
/// is known to be equal without a look.
#[derive(Debug, Default)]
pub struct PodSharing {
    specs: Pool<Shared<PodSpec>>,
    containers: Pool<Shared<Vec<Container>>>,
    tolerations: Pool<Shared<Vec<Toleration>>>,
    labels: Pool<Labels>,
    controllers: Pool<Shared<ControllerReference>>,
    footprints: HashMap<Look, Arc<Footprint>, FixedState>,
    /// New values since the last sweep.
    new: usize,
    /// How many were left by the last sweep.
    left: usize,
}

/// What a footprint follows from, of most pods. Found by where it is, since that is known to be the same for equal ones.
#[derive(Debug, Clone)]
struct Look {
    spec: Shared<PodSpec>,
    labels: Labels,
    namespace: CompactString,
    terminating: bool,
}

impl Look {
    /// None where more than this counts: what the kubelet says of requests, and volumes, which know whose they are.
    fn of(pod: &Pod) -> Option<Self> {
        let status = &pod.status;
        let counts = !status.container_statuses.is_empty()
            || status.pod_level.is_some()
            || status.resize_pending_reason.is_some()
            || !pod.spec.volumes.is_empty();
        (!counts).then(|| Self {
            spec: pod.spec.clone(),
            labels: pod.labels.clone(),
            namespace: pod.name.namespace.clone(),
            terminating: pod.is_terminating(),
        })
    }
}

impl PartialEq for Look {
    fn eq(&self, other: &Self) -> bool {
        self.spec.is_one_with(&other.spec)
            && self.labels.is_one_with(&other.labels)
            && self.terminating == other.terminating
            && self.namespace == other.namespace
    }
}

impl Eq for Look {}

impl Hash for Look {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.spec.place(), self.labels.place()).hash(state);
    }
}

impl PodSharing {
    /// Lets a pod that was just read hold what others hold already. Of one that is on a node the footprint is worked out with
    /// it: many pods at once are what a term begins with.
    pub fn share(&mut self, pod: &mut Pod) {
        let spec = &mut *pod.spec;
        let mut new = usize::from(self.containers.share(&mut spec.containers));
        new += usize::from(self.containers.share(&mut spec.init_containers));
        new += usize::from(self.tolerations.share(&mut spec.tolerations));
        new += usize::from(self.specs.share(&mut pod.spec));
        new += usize::from(self.labels.share(&mut pod.labels));
        if let Some(controller) = &mut pod.controller {
            new += usize::from(self.controllers.share(controller));
        }
        if pod.node_name().is_some() {
            new += usize::from(self.share_footprint(pod));
        }
        self.new += new;
        if self.new > SWEEP_AFTER.max(self.left) {
            self.sweep();
        }
    }

    fn share_footprint(&mut self, pod: &mut Pod) -> bool {
        let Some(look) = Look::of(pod) else {
            pod.footprint();
            return false;
        };
        if let Some(known) = self.footprints.get(&look) {
            pod.footprint = Arc::clone(known).into();
            return false;
        }
        self.footprints.insert(look, Arc::clone(pod.footprint()));
        true
    }

    /// Footprints first: they hold specs and labels.
    fn sweep(&mut self) {
        self.footprints.retain(|_, footprint| Arc::strong_count(footprint) > 1);
        self.specs.sweep();
        self.containers.sweep();
        self.tolerations.sweep();
        self.labels.sweep();
        self.controllers.sweep();
        self.new = 0;
        self.left = self.len();
    }

    fn len(&self) -> usize {
        self.footprints.len()
            + self.specs.len()
            + self.containers.len()
            + self.tolerations.len()
            + self.labels.len()
            + self.controllers.len()
    }
}

/// What nodes have alike: the names of images.
#[derive(Debug, Default)]
pub struct NodeSharing {
    image_names: Pool<Shared<Vec<CompactString>>>,
    new: usize,
    left: usize,
}

impl NodeSharing {
    /// Lets a node that was just read hold what others hold already.
    pub fn share(&mut self, node: &mut Node) {
        for image in &mut node.status.images {
            self.new += usize::from(self.image_names.share(&mut image.names));
        }
        if self.new > SWEEP_AFTER.max(self.left) {
            self.image_names.sweep();
            self.new = 0;
            self.left = self.image_names.len();
        }
    }
}

impl Share for Labels {
    fn is_alone(&self) -> bool {
        self.holders() == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{node, pod};

    fn shared(sharing: &mut PodSharing, mut pod: Pod) -> Pod {
        sharing.share(&mut pod);
        pod
    }

    #[test]
    fn pods_of_one_kind_hold_all_but_names_and_nodes_together() {
        let mut sharing = PodSharing::default();
        let one = |name: &str, node: &str| pod(name).cpu("1").label("app", "web").on(node).build();
        let first = shared(&mut sharing, one("a", "n1"));
        let second = shared(&mut sharing, one("b", "n2"));
        assert!(first.spec.is_one_with(&second.spec) && first.labels.is_one_with(&second.labels));
        assert!(Arc::ptr_eq(first.footprint(), second.footprint()));
        assert_eq!(second, one("b", "n2"));
        assert_eq!(**second.footprint(), Footprint::of(&one("b", "n2")));
    }

    #[test]
    fn footprints_differ_with_whatever_they_follow_from() {
        let mut sharing = PodSharing::default();
        let plain = || pod("p").cpu("1").label("app", "web").on("n");
        let others = [
            plain().build(),
            plain().cpu("2").build(),
            plain().label("app", "db").build(),
            plain().namespace("other").build(),
            plain().terminating().build(),
            plain().priority(7).build(),
            plain().host_port(80).build(),
            plain()
                .volume(crate::VolumeKind::PersistentVolumeClaim { claim: "c".into() })
                .build(),
        ];
        for round in 0..2 {
            for other in &others {
                let seen = shared(&mut sharing, other.clone());
                assert_eq!(**seen.footprint(), Footprint::of(other), "{round}");
            }
        }
    }

    #[test]
    fn what_no_pod_has_any_more_is_forgotten() {
        let mut sharing = PodSharing::default();
        let kept = shared(&mut sharing, pod("kept").label("own", "kept").on("n").build());
        for number in 0..3 * SWEEP_AFTER {
            let name = format!("p{number}");
            shared(&mut sharing, pod(&name).label("own", &name).on("n").build());
        }
        assert!(sharing.len() <= 2 * SWEEP_AFTER, "{}", sharing.len());
        let again = shared(&mut sharing, pod("again").label("own", "kept").on("m").build());
        assert!(Arc::ptr_eq(kept.footprint(), again.footprint()));
    }

    #[test]
    fn nodes_hold_the_names_of_images_together() {
        let mut sharing = NodeSharing::default();
        let mut nodes = ["a", "b"].map(|name| node(name).image("x:1", 7).build());
        for node in &mut nodes {
            sharing.share(node);
        }
        let [first, second] = nodes.map(|node| node.status.images[0].names.clone());
        assert!(first.is_one_with(&second));
    }
}
