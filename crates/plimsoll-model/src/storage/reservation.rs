use compact_str::CompactString;

use crate::{ObjectName, ResourceVersion, Uid};

/// What a pod that has got a node holds of storage, until the API server's own objects say so.
///
/// It lives with the pod's claim on the node: no other pod is given these volumes meanwhile, and nobody has it once the
/// claim is released.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VolumeReservation {
    /// Volumes by name, each with the claim that is to get it.
    pub volumes: Vec<(CompactString, ObjectName)>,
    /// Claims whose volumes are to be made for the node.
    pub provisioned: Vec<ObjectName>,
    /// The node that the pod has got.
    pub node: CompactString,
}

impl VolumeReservation {
    /// Whether there is nothing to hold.
    pub fn is_empty(&self) -> bool {
        self.volumes.is_empty() && self.provisioned.is_empty()
    }
}

/// One write to an object of storage that has to happen before a pod can be bound. It carries the version that was seen, so
/// that it does nothing to an object that has changed since, however late it arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VolumeWrite {
    /// Makes a volume over to a claim: `spec.claimRef` of the volume, as kube-scheduler fills it.
    BindVolume {
        /// Name of the volume.
        volume: CompactString,
        /// Identity of the volume.
        uid: Uid,
        /// Version of the volume that was seen.
        version: ResourceVersion,
        /// The claim that gets it.
        claim: ObjectName,
        /// Identity of the claim.
        claim_uid: Uid,
        /// Version of the claim that was seen.
        claim_version: ResourceVersion,
        /// Whether the annotation `pv.kubernetes.io/bound-by-controller: "yes"` is set too: not on a volume that somebody has
        /// bound to the claim beforehand.
        by_controller: bool,
    },
    /// Asks the claim's provisioner to make a volume for a node: the claim's annotation `volume.kubernetes.io/selected-node`.
    SelectNode {
        /// Namespace and name of the claim.
        claim: ObjectName,
        /// Identity of the claim.
        uid: Uid,
        /// Version of the claim that was seen.
        version: ResourceVersion,
        /// The node.
        node: CompactString,
    },
}

/// What became of a [`VolumeWrite`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VolumeWritten {
    /// The object has this version now.
    Done(ResourceVersion),
    /// The API server has not done it, and says why.
    Refused(String),
    /// Nobody knows whether it was done; the text says what went wrong.
    Unknown(String),
    /// The API server was busy or out of reach and has certainly done nothing. Now it can be tried again: whoever wanted it
    /// says anew what is to be written.
    PutOff,
    /// It was not sent, because the term had ended.
    TermOver,
}
