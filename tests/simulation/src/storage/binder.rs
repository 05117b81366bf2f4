//! The volume controller of kube-controller-manager: it completes what the scheduler or the provisioner has begun, takes
//! back what nobody needs any more, and binds claims that wait for nobody.

use plimsoll_apiserver::ApiServer;
use serde_json::{Value, json};

use super::objects::{DRIVER, IMMEDIATE, LOCAL};
use super::provisioner::SELECTED_NODE;
use super::{State, annotate, annotation, kind, text};

const BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
const COMPLETED: &str = "pv.kubernetes.io/bind-completed";
pub(super) const PROVISIONER: &str = "volume.kubernetes.io/storage-provisioner";

pub(super) fn look(server: &ApiServer, state: &mut State) {
    for volume in server.snapshot(kind("persistentvolumes")) {
        if volume.pointer("/spec/claimRef").is_some_and(Value::is_object) {
            look_at_claimed(server, state, &volume);
        } else if text(&volume, "/status/phase") != "Available" {
            let available = |volume: &mut Value| volume["status"]["phase"] = Value::from("Available");
            let _ = server.modify_status(
                kind("persistentvolumes"),
                "",
                text(&volume, "/metadata/name"),
                available,
            );
        }
    }
    for claim in server.snapshot(kind("persistentvolumeclaims")) {
        let class = text(&claim, "/spec/storageClassName");
        let is_wanted = class == IMMEDIATE || !annotation(&claim, SELECTED_NODE).is_empty();
        let is_bound = !text(&claim, "/spec/volumeName").is_empty();
        if class != LOCAL && is_wanted && !is_bound && annotation(&claim, PROVISIONER).is_empty() {
            change(server, &claim, |claim| annotate(claim, PROVISIONER, DRIVER));
        }
    }
}

fn look_at_claimed(server: &ApiServer, state: &mut State, volume: &Value) {
    let (namespace, name) = (
        text(volume, "/spec/claimRef/namespace"),
        text(volume, "/spec/claimRef/name"),
    );
    let claim = server.get(kind("persistentvolumeclaims"), namespace, name);
    let claim = claim.filter(|claim| text(claim, "/metadata/uid") == text(volume, "/spec/claimRef/uid"));
    let own = text(volume, "/metadata/name");
    match claim {
        None => reclaim(server, volume),
        Some(claim) if text(&claim, "/spec/volumeName").is_empty() || text(&claim, "/spec/volumeName") == own => {
            bind(server, state, &claim, volume);
        }
        // It has another one. Whoever wrote this reference is a controller, so it may be taken back.
        Some(_) => free(server, volume),
    }
}

/// The claim is gone. A volume that was made for it goes with it; one that is there by itself is there anew.
fn reclaim(server: &ApiServer, volume: &Value) {
    let volumes = kind("persistentvolumes");
    // Somebody else may have been faster, which is as well.
    let gone = server.delete(volumes, "", text(volume, "/metadata/name")).is_ok();
    if gone && text(volume, "/spec/storageClassName") == LOCAL {
        let mut anew = volume.clone();
        anew["metadata"] = json!({ "name": volume["metadata"]["name"] });
        if let Some(spec) = anew["spec"].as_object_mut() {
            spec.remove("claimRef");
        }
        anew["status"] = json!({});
        let _ = server.create(volumes, "", anew);
    }
}

fn free(server: &ApiServer, volume: &Value) {
    let forget = |volume: &mut Value| {
        if let Some(spec) = volume["spec"].as_object_mut() {
            spec.remove("claimRef");
        }
    };
    let _ = server.modify(kind("persistentvolumes"), "", text(volume, "/metadata/name"), forget);
}

/// The controller tells of the volume first, then writes to the claim, then tells of it. In a hurry it does all of it; else
/// what comes after one of these may be left to the next look, which begins where this one ended.
fn bind(server: &ApiServer, state: &mut State, claim: &Value, volume: &Value) {
    let bound = |object: &mut Value| object["status"]["phase"] = Value::from("Bound");
    let (namespace, name) = (text(claim, "/metadata/namespace"), text(claim, "/metadata/name"));
    let own = text(volume, "/metadata/name");
    if text(volume, "/status/phase") != "Bound" {
        let _ = server.modify_status(kind("persistentvolumes"), "", own, bound);
        if state.leaves_the_rest() {
            return;
        }
    }
    if text(claim, "/spec/volumeName").is_empty() {
        state.deeds.bound += 1;
        change(server, claim, |claim| {
            claim["spec"]["volumeName"] = Value::from(own);
            annotate(claim, COMPLETED, "yes");
            annotate(claim, BY_CONTROLLER, "yes");
        });
        if state.leaves_the_rest() {
            return;
        }
    }
    if text(claim, "/status/phase") != "Bound" {
        let _ = server.modify_status(kind("persistentvolumeclaims"), namespace, name, bound);
    }
}

/// Changes a claim; one that has gone meanwhile needs no change.
pub(super) fn change(server: &ApiServer, claim: &Value, change: impl FnOnce(&mut Value)) {
    let (namespace, name) = (text(claim, "/metadata/namespace"), text(claim, "/metadata/name"));
    let _ = server.modify(kind("persistentvolumeclaims"), namespace, name, change);
}
