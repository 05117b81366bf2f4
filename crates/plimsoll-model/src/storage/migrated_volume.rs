use super::{PersistentVolume, Topology, VolumeSource};
use crate::{NodeSelectorTerm, Operator, Requirement};

const ZONE: &str = "topology.kubernetes.io/zone";
const REGION: &str = "topology.kubernetes.io/region";
const BETA_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
const BETA_REGION: &str = "failure-domain.beta.kubernetes.io/region";
/// Between the zones of a volume that is in several.
const BETWEEN_ZONES: &str = "__";

/// An in-tree volume as nodes see it where its plugin has moved to a CSI driver.
///
/// Of the plugins that have, only those are looked at that kube-scheduler asks about when it binds volumes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigratedVolume {
    /// The in-tree plugin, as nodes list it among those that have moved.
    pub plugin: &'static str,
    /// From where it is reached in the driver's terms; or why it cannot be translated.
    pub topology: Result<Topology, String>,
}

impl MigratedVolume {
    /// The volume as nodes see it; none when it is the same everywhere, as it is if no plugin has to do with it.
    pub fn of(volume: &PersistentVolume) -> Option<Self> {
        let (plugin, zone_key) = match &volume.source {
            VolumeSource::AwsElasticBlockStore { .. } => ("kubernetes.io/aws-ebs", "topology.ebs.csi.aws.com/zone"),
            VolumeSource::GcePersistentDisk { .. } => ("kubernetes.io/gce-pd", "topology.gke.io/zone"),
            VolumeSource::Cinder { .. } => ("kubernetes.io/cinder", "topology.cinder.csi.openstack.org/zone"),
            _ => return None,
        };
        let terms = in_terms_of(volume, zone_key);
        let topology = Topology::of_affinity(terms.as_deref());
        let unchanged = topology == Topology::of_affinity(volume.node_affinity.as_deref());
        (!unchanged).then_some(Self {
            plugin,
            topology: Ok(topology),
        })
    }
}

/// Its required node affinity with the driver's own key for zones. The volume's label counts if the affinity names no zone.
fn in_terms_of(volume: &PersistentVolume, zone_key: &str) -> Option<Vec<NodeSelectorTerm>> {
    let mut terms = volume.node_affinity.as_deref().map(<[_]>::to_vec);
    let (zone, region) = labels_of(volume, terms.as_deref().unwrap_or_default());
    if has_values(terms.as_deref().unwrap_or_default(), zone) {
        rename(terms.as_deref_mut().unwrap_or_default(), zone, zone_key);
    } else if let Some(label) = volume.labels.get(zone) {
        let mut zones: Vec<&str> = label.split(BETWEEN_ZONES).map(str::trim).collect();
        zones.retain(|zone| !zone.is_empty());
        zones.sort_unstable();
        zones.dedup();
        if !zones.is_empty() {
            let terms = terms.get_or_insert_default();
            if terms.is_empty() {
                terms.push(NodeSelectorTerm::default());
            }
            for term in terms {
                let requirement = Requirement::new(zone_key, Operator::In, zones.iter().copied());
                term.match_expressions.push(requirement);
            }
        }
    }
    if region == BETA_REGION && has_values(terms.as_deref().unwrap_or_default(), region) {
        rename(terms.as_deref_mut().unwrap_or_default(), region, REGION);
    }
    terms
}

/// Whether the volume speaks of zones and regions by today's labels or by those of old.
fn labels_of(volume: &PersistentVolume, terms: &[NodeSelectorTerm]) -> (&'static str, &'static str) {
    let names = |key: &str| {
        let mut requirements = terms.iter().flat_map(|term| &term.match_expressions);
        requirements.any(|requirement| requirement.key == key)
    };
    let is_beta = if names(ZONE) {
        false
    } else if names(BETA_ZONE) {
        true
    } else {
        volume.labels.get(ZONE).is_none() && volume.labels.get(BETA_ZONE).is_some()
    };
    if is_beta {
        (BETA_ZONE, BETA_REGION)
    } else {
        (ZONE, REGION)
    }
}

fn has_values(terms: &[NodeSelectorTerm], key: &str) -> bool {
    let mut requirements = terms.iter().flat_map(|term| &term.match_expressions);
    requirements.any(|requirement| requirement.key == key && !requirement.values.is_empty())
}

fn rename(terms: &mut [NodeSelectorTerm], old: &str, new: &str) {
    for requirement in terms.iter_mut().flat_map(|term| &mut term.match_expressions) {
        if requirement.key == old {
            requirement.key = new.into();
        }
    }
}
