//! Every predicate that a release of Kubernetes ever had a name for.

use std::fmt;

/// What became of a predicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// These plugins filter in its place.
    Plugins(&'static [&'static str]),
    /// As [`Meaning::Plugins`], and not quite the same: why.
    Roughly(&'static [&'static str], &'static str),
    /// Conditions of nodes have become taints, which `TaintToleration` looks at in every profile of a Policy.
    Taint(&'static str),
    /// Works by its argument alone.
    ByArgument,
}

impl fmt::Display for Meaning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plugins(plugins) | Self::Roughly(plugins, _) => f.write_str(&plugins.join(", ")),
            Self::Taint(taint) => write!(f, "the taint {taint}"),
            Self::ByArgument => f.write_str("that of its argument"),
        }
    }
}

const IN_TREE_VOLUMES: &str = "in-tree volumes of cloud providers are counted as the CSI volumes they have become";

/// Names in the order in which kube-scheduler 1.22 checked them, older names beside those that replaced them.
pub(super) const KNOWN: &[(&str, Meaning)] = &[
    ("CheckNodeUnschedulable", Meaning::Plugins(&["NodeUnschedulable"])),
    (
        "CheckNodeCondition",
        Meaning::Roughly(
            &["NodeUnschedulable"],
            "nodes that are not ready have a taint, which TaintToleration looks at",
        ),
    ),
    (
        "GeneralPredicates",
        Meaning::Plugins(&["NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity"]),
    ),
    ("HostName", Meaning::Plugins(&["NodeName"])),
    ("PodFitsHostPorts", Meaning::Plugins(&["NodePorts"])),
    ("PodFitsPorts", Meaning::Plugins(&["NodePorts"])),
    ("MatchNodeSelector", Meaning::Plugins(&["NodeAffinity"])),
    ("PodFitsResources", Meaning::Plugins(&["NodeResourcesFit"])),
    ("NoDiskConflict", Meaning::Plugins(&["VolumeRestrictions"])),
    ("PodToleratesNodeTaints", Meaning::Plugins(&["TaintToleration"])),
    (
        "PodToleratesNodeNoExecuteTaints",
        Meaning::Roughly(&["TaintToleration"], "taints with the effect NoSchedule count too"),
    ),
    (
        "CheckNodeMemoryPressure",
        Meaning::Taint("node.kubernetes.io/memory-pressure"),
    ),
    (
        "CheckNodeDiskPressure",
        Meaning::Taint("node.kubernetes.io/disk-pressure"),
    ),
    (
        "CheckNodePIDPressure",
        Meaning::Taint("node.kubernetes.io/pid-pressure"),
    ),
    ("CheckNodeLabelPresence", Meaning::ByArgument),
    ("NewNodeLabelPredicate", Meaning::ByArgument),
    ("CheckServiceAffinity", Meaning::ByArgument),
    (
        "MaxEBSVolumeCount",
        Meaning::Roughly(&["NodeVolumeLimits"], IN_TREE_VOLUMES),
    ),
    (
        "MaxGCEPDVolumeCount",
        Meaning::Roughly(&["NodeVolumeLimits"], IN_TREE_VOLUMES),
    ),
    ("MaxCSIVolumeCountPred", Meaning::Plugins(&["NodeVolumeLimits"])),
    (
        "MaxAzureDiskVolumeCount",
        Meaning::Roughly(&["NodeVolumeLimits"], IN_TREE_VOLUMES),
    ),
    (
        "MaxCinderVolumeCount",
        Meaning::Roughly(&["NodeVolumeLimits"], IN_TREE_VOLUMES),
    ),
    ("CheckVolumeBinding", Meaning::Plugins(&["VolumeBinding"])),
    ("NoVolumeNodeConflict", Meaning::Plugins(&["VolumeBinding"])),
    ("NoVolumeZoneConflict", Meaning::Plugins(&["VolumeZone"])),
    ("EvenPodsSpread", Meaning::Plugins(&["PodTopologySpread"])),
    ("MatchInterPodAffinity", Meaning::Plugins(&["InterPodAffinity"])),
];

/// What kube-scheduler 1.22 checked when a Policy named no predicates.
pub(super) const DEFAULTS: [&str; 12] = [
    "CheckNodeUnschedulable",
    "GeneralPredicates",
    "NoDiskConflict",
    "PodToleratesNodeTaints",
    "MaxEBSVolumeCount",
    "MaxGCEPDVolumeCount",
    "MaxCSIVolumeCountPred",
    "MaxAzureDiskVolumeCount",
    "CheckVolumeBinding",
    "NoVolumeZoneConflict",
    "EvenPodsSpread",
    "MatchInterPodAffinity",
];

/// What was checked whether a Policy named it or not.
pub(super) const MANDATORY: [&str; 2] = ["CheckNodeUnschedulable", "PodToleratesNodeTaints"];

/// What became of the predicate of that name, and its place in the order of checking.
pub(super) fn find(name: &str) -> Option<(usize, Meaning)> {
    let place = KNOWN.iter().position(|(known, _)| *known == name)?;
    Some((place, KNOWN[place].1))
}
