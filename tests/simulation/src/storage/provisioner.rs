//! The provisioner of the CSI driver. A volume is made where the scheduler wants it; when that fails the scheduler is told so
//! by the annotation that goes, as external-provisioner does.

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_apiserver::ApiServer;
use serde_json::Value;
use tokio::time::Instant;

use super::binder::{PROVISIONER, change};
use super::objects::{DRIVER, IMMEDIATE, made_volume};
use super::{CAPACITIES, State, Trouble, ZONES, annotation, kind, take_annotation, text};

/// Where the scheduler wants the volume of a claim.
pub(super) const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

/// When all is well a volume takes up to so long.
const USUAL: Duration = Duration::from_millis(800);

/// Volumes that are being made: when each is due, by the claim's UID.
#[derive(Default)]
pub(super) struct Provisioning(BTreeMap<String, Instant>);

pub(super) fn look(server: &ApiServer, state: &mut State) {
    let claims = server.snapshot(kind("persistentvolumeclaims"));
    let waiting: Vec<_> = claims.iter().filter(|claim| waits(claim)).collect();
    let wanted = |uid: &String| waiting.iter().any(|claim| text(claim, "/metadata/uid") == uid);
    state.provisioning.0.retain(|uid, _| wanted(uid));
    for claim in waiting {
        if state.trouble != Some(Trouble::Silent) {
            work_on(server, state, claim);
        }
    }
}

fn waits(claim: &Value) -> bool {
    let is_placed = text(claim, "/spec/storageClassName") == IMMEDIATE || !annotation(claim, SELECTED_NODE).is_empty();
    annotation(claim, PROVISIONER) == DRIVER && text(claim, "/spec/volumeName").is_empty() && is_placed
}

fn work_on(server: &ApiServer, state: &mut State, claim: &Value) {
    let (uid, now) = (text(claim, "/metadata/uid").to_owned(), Instant::now());
    let Some(due) = state.provisioning.0.get(&uid).copied() else {
        let most = match state.trouble {
            Some(Trouble::Slow(most)) => most,
            _ => USUAL,
        };
        let takes = state.below(u64::try_from(most.as_millis()).unwrap_or(1));
        state.provisioning.0.insert(uid, now + Duration::from_millis(takes));
        return;
    };
    let volume = format!("pvc-{uid}");
    if due > now || server.get(kind("persistentvolumes"), "", &volume).is_some() {
        return;
    }
    state.provisioning.0.remove(&uid);
    let fails = match state.trouble {
        Some(Trouble::Fails(percent)) => state.below(100) < percent,
        _ => false,
    };
    let zone = zone(server, state, claim).filter(|_| !fails);
    let Some(zone) = zone else {
        if text(claim, "/spec/storageClassName") != IMMEDIATE {
            state.deeds.given_back += 1;
            change(server, claim, |claim| take_annotation(claim, SELECTED_NODE));
        }
        return;
    };
    let volume = made_volume(&volume, &zone, claim);
    if server.create(kind("persistentvolumes"), "", volume).is_ok() {
        state.deeds.provisioned += 1;
    }
}

/// Where the volume is to be; nowhere when the node is gone, or there is no room where it is.
fn zone(server: &ApiServer, state: &mut State, claim: &Value) -> Option<String> {
    let node = annotation(claim, SELECTED_NODE);
    if node.is_empty() {
        let at = usize::try_from(state.below(3)).unwrap_or(0);
        return Some(ZONES[at % ZONES.len()].to_owned());
    }
    let node = server.get(kind("nodes"), "", node)?;
    let zone = text(&node, "/metadata/labels/zone");
    let is_short = server
        .snapshot(kind(CAPACITIES))
        .iter()
        .any(|told| text(told, "/nodeTopology/matchLabels/zone") == zone && text(told, "/capacity") == "0");
    (!is_short).then(|| zone.to_owned())
}
