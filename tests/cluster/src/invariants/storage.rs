//! What must hold of pods with storage: each is where its volumes are, no volume has two claims, no node has more volumes
//! attached than it can take, and a claim that is for one pod alone has one pod.

use std::collections::BTreeSet;

use anyhow::bail;
use k8s_openapi::api::core::v1::{Node, NodeSelectorTerm, PersistentVolume, PersistentVolumeClaim, Pod, Volume};

use super::Verdict;
use crate::explain::PodFacts;
use crate::history::State;

/// The controller has written both sides of the bond.
const COMPLETED: &str = "pv.kubernetes.io/bind-completed";

/// Called for each claim that was written, with what there is then.
pub(super) fn one_claim_per_volume(revision: i64, claim: &PersistentVolumeClaim, state: &State, verdict: &mut Verdict) {
    let Some(volume) = volume_of(claim) else { return };
    let others = state.claims.values().filter(|other| volume_of(other) == Some(volume));
    let uids: BTreeSet<_> = others.filter_map(|other| other.metadata.uid.as_deref()).collect();
    if uids.len() > 1 {
        let violation = format!("revision {revision}: {volume} has {} claims", uids.len());
        verdict.violations.push(violation);
    }
}

/// Called for each pod at the revision that bound it.
pub(super) fn where_its_volumes_are(
    revision: i64,
    pod: &Pod,
    state: &State,
    verdict: &mut Verdict,
) -> anyhow::Result<()> {
    let Some(node) = pod.node().and_then(|name| state.nodes.get(name)) else {
        return Ok(());
    };
    let (key, on) = (pod.key(), pod.node().unwrap_or_default());
    let mut against = |what: String| {
        let violation = format!("revision {revision}: {key} was bound to {on}, but {what}");
        verdict.violations.push(violation);
    };
    for name in claims_of(pod) {
        let Some(claim) = state.claims.get(&name) else {
            against(format!("its claim {name} is gone"));
            continue;
        };
        let completed = claim
            .metadata
            .annotations
            .iter()
            .flatten()
            .any(|(key, _)| key == COMPLETED);
        let Some(volume) = volume_of(claim).filter(|_| completed) else {
            against(format!("its claim {name} is not bound"));
            continue;
        };
        match state.volumes.get(volume) {
            None => against(format!("its volume {volume} is gone")),
            Some(volume) if !reaches(node, volume)? => against(format!("its volume {volume:?} is elsewhere")),
            Some(_) => {}
        }
    }
    for (driver, most) in limits(on, state) {
        let attached = attached(&driver, on, state);
        // More than it takes may be there already: what runs is not driven away when the limit sinks.
        let adds = handles(&driver, pod, state).next().is_some();
        if adds && attached.len() > most {
            against(format!(
                "that makes {} volumes of {driver} where {most} go",
                attached.len()
            ));
        }
    }
    Ok(())
}

/// Called for each pod at the revision that bound it. The pods that name a claim of its that is for one pod alone, each with the
/// claim. As for the scheduler, one whose node is gone is as good as gone, and one that brought the claim along does not name it.
pub(super) fn sharers<'a>(pod: &'a Pod, state: &'a State) -> impl Iterator<Item = (String, &'a Pod)> {
    let is_for_one_pod = |name: &String| {
        let claim = state.claims.get(name).and_then(|claim| claim.spec.as_ref());
        let modes = claim.and_then(|claim| claim.access_modes.as_ref());
        modes.is_some_and(|modes| modes.iter().any(|mode| mode == "ReadWriteOncePod"))
    };
    claims_named_by(pod).filter(is_for_one_pod).flat_map(move |name| {
        let others = state.pods.values().filter(|other| other.uid() != pod.uid());
        let has_node = |other: &Pod| other.node().is_some_and(|node| state.nodes.contains_key(node));
        let living = others.filter(move |other| has_node(other) && !other.finished());
        let sharing: Vec<_> = living
            .filter(|other| claims_named_by(other).any(|claim| claim == name))
            .collect();
        sharing.into_iter().map(move |other| (name.clone(), other))
    })
}

/// The claims that volumes of a pod name themselves, each as `namespace/name`.
fn claims_named_by(pod: &Pod) -> impl Iterator<Item = String> {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    let sources = volumes.filter_map(|volume| volume.persistent_volume_claim.as_ref());
    sources.map(move |source| format!("{namespace}/{}", source.claim_name))
}

fn volume_of(claim: &PersistentVolumeClaim) -> Option<&str> {
    let volume = claim.spec.as_ref()?.volume_name.as_deref();
    volume.filter(|volume| !volume.is_empty())
}

/// The claims of a pod, each as `namespace/name`.
fn claims_of(pod: &Pod) -> impl Iterator<Item = String> {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    let of = move |volume: &Volume| match (&volume.persistent_volume_claim, &volume.ephemeral) {
        (Some(source), _) => Some(format!("{namespace}/{}", source.claim_name)),
        (None, Some(_)) => Some(format!("{namespace}/{name}-{}", volume.name)),
        (None, None) => None,
    };
    let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    volumes.filter_map(of)
}

/// The handles of the volumes of a driver that a pod uses.
fn handles<'a>(driver: &'a str, pod: &'a Pod, state: &'a State) -> impl Iterator<Item = &'a str> {
    let handle = move |claim: String| {
        let volume = state.volumes.get(volume_of(state.claims.get(&claim)?)?)?;
        let source = volume.spec.as_ref()?.csi.as_ref()?;
        (source.driver == driver).then_some(source.volume_handle.as_str())
    };
    claims_of(pod).filter_map(handle)
}

/// What of a driver's the pods on a node use.
fn attached<'a>(driver: &'a str, node: &'a str, state: &'a State) -> BTreeSet<&'a str> {
    let on_node = state
        .pods
        .values()
        .filter(|pod| pod.node() == Some(node) && !pod.finished());
    on_node.flat_map(|pod| handles(driver, pod, state)).collect()
}

/// How many volumes of each driver a node takes, of those that say so.
fn limits(node: &str, state: &State) -> Vec<(String, usize)> {
    let drivers = state.csi_nodes.get(node).map(|csi| csi.spec.drivers.as_slice());
    let limit = |driver: &k8s_openapi::api::storage::v1::CSINodeDriver| {
        let count = driver.allocatable.as_ref()?.count?;
        Some((driver.name.clone(), usize::try_from(count).ok()?))
    };
    drivers.unwrap_or_default().iter().filter_map(limit).collect()
}

/// Whether a node has what a volume asks of the nodes that reach it.
fn reaches(node: &Node, volume: &PersistentVolume) -> anyhow::Result<bool> {
    let affinity = volume.spec.as_ref().and_then(|spec| spec.node_affinity.as_ref());
    let Some(required) = affinity.and_then(|affinity| affinity.required.as_ref()) else {
        return Ok(true);
    };
    for term in &required.node_selector_terms {
        if satisfies(node, term)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn satisfies(node: &Node, term: &NodeSelectorTerm) -> anyhow::Result<bool> {
    for requirement in term.match_expressions.iter().flatten() {
        if requirement.operator != "In" {
            bail!("the judge does not know the operator {}", requirement.operator);
        }
        let labels = node.metadata.labels.as_ref();
        let Some(value) = labels.and_then(|labels| labels.get(&requirement.key)) else {
            return Ok(false);
        };
        if !requirement.values.iter().flatten().any(|wanted| wanted == value) {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests;
