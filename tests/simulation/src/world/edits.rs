//! What users, controllers and kubelets do to a cluster, done in process and without faults.

use std::sync::Arc;

use plimsoll_apiserver::{Resource, resource};
use serde_json::Value;

use super::World;
use crate::invariants;

#[expect(
    clippy::expect_used,
    reason = "an edit that the server does not take is the test's fault"
)]
impl World {
    /// A pod of the namespace `default` as the server has it.
    pub fn pod(&self, name: &str) -> Option<Arc<Value>> {
        self.server.get(core("pods"), "default", name)
    }

    /// The node that a pod is bound to.
    pub fn node_of(&self, pod: &str) -> Option<String> {
        invariants::placements(&self.server).remove(pod)
    }

    /// Reason and message of a pod's `PodScheduled` condition while it is false.
    pub fn explanation(&self, pod: &str) -> Option<(String, String)> {
        let pod = self.pod(pod)?;
        let conditions = pod.pointer("/status/conditions")?.as_array()?;
        let told = conditions
            .iter()
            .find(|condition| condition["type"] == "PodScheduled" && condition["status"] == "False")?;
        let text = |key: &str| told[key].as_str().unwrap_or_default().to_owned();
        Some((text("reason"), text("message")))
    }

    /// Deletes a pod at once.
    ///
    /// # Panics
    /// When it is not there.
    pub fn delete_pod(&self, name: &str) {
        self.server
            .delete(core("pods"), "default", name)
            .expect("a pod to delete");
    }

    /// Changes a pod.
    ///
    /// # Panics
    /// When the server does not take the change.
    pub fn edit_pod(&self, name: &str, edit: impl FnOnce(&mut Value)) {
        self.server
            .modify(core("pods"), "default", name, edit)
            .expect("a change of a pod that the server takes");
    }

    /// A disruption controller says how many more pods may be disrupted.
    ///
    /// # Panics
    /// When the budget is not there.
    pub fn allow_disruptions(&self, budget: &str, allowed: i32) {
        let budgets = resource::find("policy", "v1", "poddisruptionbudgets").expect("budgets");
        let allow = |budget: &mut Value| {
            budget["status"]["observedGeneration"] = budget["metadata"]["generation"].clone();
            budget["status"]["disruptionsAllowed"] = Value::from(allowed);
        };
        self.server
            .modify_status(budgets, "default", budget, allow)
            .expect("a budget to change");
    }

    /// A kubelet says that the pod runs and is ready.
    ///
    /// # Panics
    /// When the pod is not there.
    pub fn run_pod(&self, name: &str) {
        let run = |pod: &mut Value| {
            pod["status"]["phase"] = Value::from("Running");
            pod["status"]["conditions"] = serde_json::json!([{ "type": "Ready", "status": "True" }]);
        };
        self.server
            .modify_status(core("pods"), "default", name, run)
            .expect("a pod to run");
    }

    /// A kubelet says that all containers of the pod have ended well.
    ///
    /// # Panics
    /// When the pod is not there.
    pub fn finish_pod(&self, name: &str) {
        let succeed = |pod: &mut Value| pod["status"]["phase"] = Value::from("Succeeded");
        self.server
            .modify_status(core("pods"), "default", name, succeed)
            .expect("a pod to finish");
    }

    /// Changes a node.
    ///
    /// # Panics
    /// When the server does not take the change.
    pub fn edit_node(&self, name: &str, edit: impl FnOnce(&mut Value)) {
        self.server
            .modify(core("nodes"), "", name, edit)
            .expect("a change of a node that the server takes");
    }

    /// A kubelet changes what it says of its node.
    ///
    /// # Panics
    /// When the server does not take the change.
    pub fn edit_node_status(&self, name: &str, edit: impl FnOnce(&mut Value)) {
        self.server
            .modify_status(core("nodes"), "", name, edit)
            .expect("a status of a node that the server takes");
    }

    /// Deletes a node.
    ///
    /// # Panics
    /// When it is not there.
    pub fn delete_node(&self, name: &str) {
        self.server.delete(core("nodes"), "", name).expect("a node to delete");
    }

    /// Types and texts of the core events with this reason, in the order of their names.
    ///
    /// # Panics
    /// Never: the server knows events.
    pub fn events(&self, reason: &str) -> Vec<(String, String)> {
        let events = self.server.snapshot(core("events"));
        let ours = events.iter().filter(|event| event["reason"] == reason);
        let text = |event: &Value, key: &str| event[key].as_str().unwrap_or_default().to_owned();
        ours.map(|event| (text(event, "type"), text(event, "message")))
            .collect()
    }

    /// Who holds the scheduler's lease; empty when nobody does.
    ///
    /// # Panics
    /// Never: the server knows leases.
    pub fn leader(&self) -> String {
        let leases = resource::find("coordination.k8s.io", "v1", "leases").expect("leases");
        let lease = self.server.get(leases, "kube-system", "kube-scheduler");
        let holder = lease.as_ref().and_then(|lease| lease.pointer("/spec/holderIdentity"));
        holder.and_then(Value::as_str).unwrap_or_default().to_owned()
    }
}

#[expect(clippy::expect_used, reason = "the names are written in this file")]
fn core(plural: &str) -> &'static Resource {
    resource::find("", "v1", plural).expect("a kind of the core group")
}
