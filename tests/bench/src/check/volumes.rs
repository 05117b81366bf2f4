//! Volumes: how many a node takes, and claims that are one pod's alone.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};

use super::cluster::{Placed, View, text};

/// The driver that takes over what was described before there was CSI, with the plug-in's name.
const MIGRATED: (&str, &str) = ("kubernetes.io/aws-ebs", "ebs.csi.aws.com");

/// Where a `CSINode` says which plug-ins' volumes are its drivers'.
const ANNOTATION: &str = "storage.alpha.kubernetes.io/migrated-plugins";

/// Nodes with more volumes of a driver than they take.
pub(super) fn limits(view: &View<'_>, broken: &mut Vec<String>) {
    for (name, pods) in view.by_node() {
        let Some(csi_node) = view.csi_nodes.get(name) else {
            continue;
        };
        let annotations = csi_node.metadata.annotations.as_ref();
        let migrated = annotations.and_then(|annotations| annotations.get(ANNOTATION));
        let migrated = migrated.is_some_and(|plugins| plugins.split(',').any(|plugin| plugin == MIGRATED.0));
        let mut attached: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for placed in pods {
            for claim in claims(view, placed) {
                let volume = claim
                    .spec
                    .as_ref()
                    .and_then(|spec| view.volumes.get(text(spec.volume_name.as_ref())));
                if let Some((driver, handle)) = volume.and_then(|volume| handle(volume, migrated)) {
                    attached.entry(driver).or_default().insert(handle);
                }
            }
        }
        for driver in &csi_node.spec.drivers {
            let line = driver.allocatable.as_ref().and_then(|allocatable| allocatable.count);
            let Some(line) = line.and_then(|line| usize::try_from(line).ok()) else {
                continue;
            };
            let count = attached.get(driver.name.as_str()).map_or(0, BTreeSet::len);
            if count > line {
                broken.push(format!(
                    "{name} has {count} volumes of {}, and takes {line}",
                    driver.name
                ));
            }
        }
    }
}

/// Claims for one pod alone that several placed pods have.
pub(super) fn claims_for_one_pod(view: &View<'_>, broken: &mut Vec<String>) {
    let mut holders: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    // Who is told to go and has a node still holds what it has.
    for placed in &view.placed {
        for claim in claims(view, placed) {
            let modes = claim
                .spec
                .as_ref()
                .and_then(|spec| spec.access_modes.as_deref())
                .unwrap_or_default();
            if modes.iter().any(|mode| mode == "ReadWriteOncePod") {
                let key = (
                    text(claim.metadata.namespace.as_ref()),
                    text(claim.metadata.name.as_ref()),
                );
                holders.entry(key).or_default().push(&placed.key);
            }
        }
    }
    for ((namespace, name), pods) in holders.iter().filter(|(_, pods)| pods.len() > 1) {
        broken.push(format!(
            "the claim {namespace}/{name} is one pod's alone, and {} have it",
            pods.join(", ")
        ));
    }
}

fn claims<'a>(view: &View<'a>, placed: &Placed<'a>) -> Vec<&'a PersistentVolumeClaim> {
    let volumes = placed.pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    let names = volumes.filter_map(|volume| volume.persistent_volume_claim.as_ref());
    names
        .filter_map(|source| {
            view.claims
                .get(&(placed.namespace, source.claim_name.as_str()))
                .copied()
        })
        .collect()
}

/// The driver that attaches the volume, and what it calls it.
fn handle(volume: &PersistentVolume, migrated: bool) -> Option<(&str, &str)> {
    let spec = volume.spec.as_ref()?;
    if let Some(csi) = &spec.csi {
        return Some((&csi.driver, &csi.volume_handle));
    }
    let disk = spec.aws_elastic_block_store.as_ref().filter(|_| migrated)?;
    Some((MIGRATED.1, &disk.volume_id))
}
