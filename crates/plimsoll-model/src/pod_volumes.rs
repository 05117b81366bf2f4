use crate::{ObjectName, Pod, Uid, VolumeKind};

/// The volumes of a pod that other pods may not be able to share, or that count towards what a node can attach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodVolumes {
    /// Namespace and name of the pod.
    pub pod: ObjectName,
    /// Identity of the pod: claims of ephemeral volumes must be controlled by it.
    pub uid: Uid,
    /// The volumes, in the pod's order.
    pub volumes: Box<[VolumeKind]>,
}

impl PodVolumes {
    /// Those of a pod, if there are any.
    pub fn of(pod: &Pod) -> Option<Self> {
        let matter = |volume: &&VolumeKind| !matches!(volume, VolumeKind::Image { .. } | VolumeKind::Csi { .. });
        let volumes: Box<[VolumeKind]> = pod.spec.volumes.iter().filter(matter).cloned().collect();
        (!volumes.is_empty()).then(|| Self {
            pod: pod.name.clone(),
            uid: pod.uid.clone(),
            volumes,
        })
    }

    /// The claim that one of the volumes comes from, if it comes from one.
    pub fn claim(&self, volume: &VolumeKind) -> Option<ObjectName> {
        let name = volume.claim_name(&self.pod.name)?;
        Some(ObjectName::new(self.pod.namespace.clone(), name))
    }
}
