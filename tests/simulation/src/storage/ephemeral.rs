//! The ephemeral volume controller of kube-controller-manager, with the part of the garbage collector that it needs: pods that
//! bring a claim along get it under their name, and it goes with them.

use std::collections::BTreeSet;

use plimsoll_apiserver::ApiServer;
use serde_json::{Value, json};

use super::{kind, text};

pub(super) fn look(server: &ApiServer) {
    let claims = kind("persistentvolumeclaims");
    let pods = server.snapshot(kind("pods"));
    for pod in &pods {
        let volumes = pod.pointer("/spec/volumes").and_then(Value::as_array);
        let brought = volumes.into_iter().flatten();
        for volume in brought.filter(|volume| volume["ephemeral"].is_object()) {
            let name = format!("{}-{}", text(pod, "/metadata/name"), text(volume, "/name"));
            if server.get(claims, "default", &name).is_none() {
                // One that goes meanwhile, or comes, is as well.
                let _ = server.create(claims, "default", claim_of(pod, volume, &name));
            }
        }
    }
    let living: BTreeSet<&str> = pods.iter().map(|pod| text(pod, "/metadata/uid")).collect();
    for claim in server.snapshot(claims) {
        let owner = text(&claim, "/metadata/ownerReferences/0/uid");
        if !owner.is_empty() && !living.contains(owner) {
            let _ = server.delete(claims, "default", text(&claim, "/metadata/name"));
        }
    }
}

fn claim_of(pod: &Value, volume: &Value, name: &str) -> Value {
    let owner = json!({
        "apiVersion": "v1", "kind": "Pod", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"],
        "controller": true, "blockOwnerDeletion": true,
    });
    json!({
        "metadata": { "name": name, "namespace": "default", "ownerReferences": [owner] },
        "spec": volume["ephemeral"]["volumeClaimTemplate"]["spec"],
    })
}
