//! Zones and regions of in-tree volumes under the keys of CSI drivers.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{BETA_ZONE, PersistentVolume, ZONE, ZONES_SEPARATOR};
use crate::{NodeSelectorTerm, Operator, Requirement};

const BETA_REGION: &str = "failure-domain.beta.kubernetes.io/region";
const REGION: &str = "topology.kubernetes.io/region";
const VSPHERE_ZONE: &str = "topology.csi.vmware.com/zone";
const VSPHERE_REGION: &str = "topology.csi.vmware.com/region";

/// Zones under the driver's key: those of the affinity, else of the label. Regions by their old key get today's.
pub(super) fn translated(volume: &PersistentVolume, zone_key: &str) -> Option<Arc<[NodeSelectorTerm]>> {
    let (zone, region) = topology_keys(volume);
    let mut affinity = Affinity::of(volume);
    if affinity.names_values(zone) {
        affinity.rename(zone, zone_key);
    } else if let Some(zones) = volume.labels.get(zone) {
        affinity.add(zone_key, zones.split(ZONES_SEPARATOR));
    }
    if region == BETA_REGION && affinity.names_values(BETA_REGION) {
        affinity.rename(BETA_REGION, REGION);
    }
    affinity.done()
}

/// Zones and regions under the driver's keys: those of the affinity, else of the labels, each of which is one value.
pub(super) fn of_vsphere(volume: &PersistentVolume) -> Option<Arc<[NodeSelectorTerm]>> {
    let (zone, region) = topology_keys(volume);
    let mut affinity = Affinity::of(volume);
    for (key, driver_key) in [(zone, VSPHERE_ZONE), (region, VSPHERE_REGION)] {
        if affinity.names_values(key) {
            affinity.rename(key, driver_key);
        } else if let Some(value) = volume.labels.get(key) {
            affinity.add(driver_key, [value]);
        }
    }
    affinity.done()
}

/// Whether the volume says zone and region by today's keys or by the old ones: the affinity counts before the labels, and
/// today's keys before the old ones.
fn topology_keys(volume: &PersistentVolume) -> (&'static str, &'static str) {
    let affinity = Affinity::of(volume);
    let labelled = |key: &str| volume.labels.get(key).is_some();
    let is_old = !affinity.has(ZONE) && (affinity.has(BETA_ZONE) || (!labelled(ZONE) && labelled(BETA_ZONE)));
    if is_old {
        (BETA_ZONE, BETA_REGION)
    } else {
        (ZONE, REGION)
    }
}

/// A volume's affinity on its way; copied only when it changes.
struct Affinity {
    given: Option<Arc<[NodeSelectorTerm]>>,
    changed: Option<Vec<NodeSelectorTerm>>,
}

impl Affinity {
    fn of(volume: &PersistentVolume) -> Self {
        Self {
            given: volume.node_affinity.clone(),
            changed: None,
        }
    }

    fn done(self) -> Option<Arc<[NodeSelectorTerm]>> {
        self.changed.map(Arc::from).or(self.given)
    }

    fn expressions(&self) -> impl Iterator<Item = &Requirement> {
        let terms = self.changed.as_deref().or(self.given.as_deref()).unwrap_or_default();
        terms.iter().flat_map(|term| &term.match_expressions)
    }

    fn has(&self, key: &str) -> bool {
        self.expressions().any(|expression| expression.key == key)
    }

    fn names_values(&self, key: &str) -> bool {
        self.expressions()
            .any(|expression| expression.key == key && !expression.values.is_empty())
    }

    fn terms_mut(&mut self) -> &mut Vec<NodeSelectorTerm> {
        let given = self.given.as_deref().unwrap_or_default();
        self.changed.get_or_insert_with(|| given.to_vec())
    }

    fn rename(&mut self, old: &str, new: &str) {
        let expressions = self.terms_mut().iter_mut().flat_map(|term| &mut term.match_expressions);
        for expression in expressions.filter(|expression| expression.key == old) {
            expression.key = new.into();
        }
    }

    /// Wants one of the values in every term; without terms, in one of its own. Nothing happens if there is no value.
    fn add<'v>(&mut self, key: &str, values: impl IntoIterator<Item = &'v str>) {
        let values = values.into_iter().map(str::trim).filter(|value| !value.is_empty());
        let values: BTreeSet<&str> = values.collect();
        if values.is_empty() {
            return;
        }
        let terms = self.terms_mut();
        if terms.is_empty() {
            terms.push(NodeSelectorTerm::default());
        }
        for term in terms {
            let wanted = Requirement::new(key, Operator::In, values.iter().copied());
            term.match_expressions.push(wanted);
        }
    }
}
