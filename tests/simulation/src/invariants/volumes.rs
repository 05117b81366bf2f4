//! What must hold of volumes and claims.

use std::collections::BTreeMap;

use plimsoll_apiserver::{ApiServer, Mutation};
use serde_json::Value;

use super::cluster::{replica, text};

const VOLUMES: &str = "persistentvolumes";
const CLAIMS: &str = "persistentvolumeclaims";

fn is_of(write: &Mutation, plural: &str) -> bool {
    write.resource.plural == plural
}

/// How many writes to volumes and claims replicas made.
pub fn volume_writes(server: &ApiServer) -> u64 {
    let history = server.history();
    let ours = history
        .iter()
        .filter(|write| (is_of(write, VOLUMES) || is_of(write, CLAIMS)) && replica(write).is_some());
    u64::try_from(ours.count()).unwrap_or(u64::MAX)
}

/// Volumes that were ever bound to two claims at a time, or that a replica took from one claim and gave to another, and
/// claims that got a second volume.
pub fn volumes_of_two(server: &ApiServer) -> Vec<String> {
    let mut bound: BTreeMap<String, (String, String)> = BTreeMap::new();
    let mut kept: BTreeMap<String, String> = BTreeMap::new();
    let mut found = Vec::new();
    for write in &server.history() {
        if is_of(write, CLAIMS) {
            take_claim(write, &mut bound, &mut found);
        } else if is_of(write, VOLUMES) {
            take_volume(write, &mut kept, &mut found);
        }
    }
    found
}

/// By volume: which claim, by UID and name, has it.
fn take_claim(write: &Mutation, bound: &mut BTreeMap<String, (String, String)>, found: &mut Vec<String>) {
    let claim = &write.object;
    let (uid, name) = (text(claim, "/metadata/uid"), text(claim, "/metadata/name"));
    let before = bound
        .iter()
        .find(|(_, (other, _))| *other == uid)
        .map(|(volume, _)| volume.clone());
    if write.deleted {
        bound.retain(|_, (other, _)| *other != uid);
        return;
    }
    let volume = text(claim, "/spec/volumeName");
    if volume.is_empty() {
        return;
    }
    if let Some(before) = before
        && before != volume
    {
        found.push(format!(
            "claim {name} had volume {before} and got {volume} at version {}",
            write.rv
        ));
    }
    if let Some((other, of)) = bound.get(&volume)
        && *other != uid
    {
        found.push(format!(
            "volume {volume} of claim {of} was bound to {name}, too, at version {}",
            write.rv
        ));
    }
    bound.insert(volume, (uid, name));
}

/// By volume, and by its UID: which claim it is kept for.
fn take_volume(write: &Mutation, kept: &mut BTreeMap<String, String>, found: &mut Vec<String>) {
    let (uid, name) = (
        text(&write.object, "/metadata/uid"),
        text(&write.object, "/metadata/name"),
    );
    if write.deleted {
        kept.remove(&uid);
        return;
    }
    let claim = text(&write.object, "/spec/claimRef/uid");
    let before = kept.insert(uid, claim.clone()).unwrap_or_default();
    if !before.is_empty() && before != claim && replica(write).is_some() {
        found.push(format!(
            "{} took volume {name} from claim {before} and gave it to {claim:?} at version {}",
            write.user_agent, write.rv
        ));
    }
}

/// How often a replica made a volume over to a claim that another one was made over to. A pod's attempt may end while its write
/// is under way, and a pod that shares its claim choose another volume meanwhile: the claim is then bound to either, and the
/// other is taken back. What must hold is that no pod is bound where it does not reach the volume that its claim got, and that
/// nothing is kept in the end.
pub fn second_volumes(history: &[Mutation]) -> u64 {
    let mut kept: BTreeMap<String, String> = BTreeMap::new();
    let mut second = 0;
    for write in history.iter().filter(|write| is_of(write, VOLUMES)) {
        let uid = text(&write.object, "/metadata/uid");
        if write.deleted {
            kept.remove(&uid);
            continue;
        }
        let claim = text(&write.object, "/spec/claimRef/uid");
        let before = kept.insert(uid, claim.clone()).unwrap_or_default();
        let others = kept.values().filter(|other| **other == claim).count() > 1;
        second += u64::from(others && !claim.is_empty() && before != claim && replica(write).is_some());
    }
    second
}

/// Volumes that are kept for a claim which does not use them, when everything has come to rest: nobody will let go of them.
pub fn volumes_kept_for_nobody(server: &ApiServer) -> Vec<String> {
    let volumes = server.snapshot(crate::storage::kind(VOLUMES));
    let claims = server.snapshot(crate::storage::kind(CLAIMS));
    let uses = |claim: &Value, volume: &Value| {
        text(claim, "/metadata/uid") == text(volume, "/spec/claimRef/uid")
            && text(claim, "/spec/volumeName") == text(volume, "/metadata/name")
    };
    volumes
        .iter()
        .filter(|volume| !text(volume, "/spec/claimRef/uid").is_empty())
        .filter(|volume| !claims.iter().any(|claim| uses(claim, volume)))
        .map(|volume| {
            let (name, claim) = (text(volume, "/metadata/name"), text(volume, "/spec/claimRef/name"));
            format!("volume {name} is kept for claim {claim} and is not bound to it")
        })
        .collect()
}
