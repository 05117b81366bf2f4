//! Claims and volumes that come and go, and what goes wrong with those who bind and make them.

use std::time::Duration;

use serde_json::{Value, json};

use super::Chaos;
use super::churn::NODES;
use crate::storage::{self, DYNAMIC, IMMEDIATE, LOCAL, Storage, Trouble};

/// Volumes that the driver attaches to a node at most.
const ATTACHED: u64 = 3;
/// Volumes that are there on each node.
const ON_EACH: u64 = 2;
/// The same, on each of the last ones: room for whatever waits.
const ON_THE_LAST: u64 = 60;

impl Chaos {
    /// What the driver says of nodes is there before them, so that no pod gets to a node whose limit is not known yet.
    pub(super) fn set_up_storage(&mut self) {
        if !self.climate.volumes {
            return;
        }
        for class in storage::classes() {
            self.world.add_storage("storageclasses", class);
        }
        let driver = json!({ "metadata": { "name": storage::DRIVER }, "spec": { "attachRequired": true } });
        self.world.add_storage("csidrivers", driver);
        for number in 0..NODES {
            self.add_volumes_on(&format!("n{number}"), ATTACHED, ON_EACH);
        }
        let storage = Storage::new(self.world.server(), self.seed);
        let controllers = storage.clone();
        self.world.add_controller(move || controllers.look());
        self.storage = Some(storage);
    }

    pub(super) fn add_last_volumes(&self, node: &str) {
        if self.storage.is_some() {
            self.add_volumes_on(node, 500, ON_THE_LAST);
        }
    }

    fn add_volumes_on(&self, node: &str, attached: u64, there: u64) {
        self.world.add_storage("csinodes", storage::csi_node(node, attached));
        for number in 0..there {
            let volume = storage::local_volume(&format!("on-{node}-{number}"), node);
            self.world.add_storage("persistentvolumes", volume);
        }
    }

    /// Some pods come with a claim of their own, some with one that others have, too.
    pub(super) fn with_volume(&mut self, name: &str, mut pod: Value) -> Value {
        if self.storage.is_none() || self.dice.percent(55) {
            return pod;
        }
        let claim = if self.dice.percent(20) { self.pick_claim() } else { None };
        let claim = claim.unwrap_or_else(|| {
            let class = self
                .dice
                .pick(&[LOCAL, DYNAMIC, DYNAMIC, IMMEDIATE])
                .copied()
                .unwrap_or(DYNAMIC);
            let alone = class != LOCAL && self.dice.percent(25);
            let mode = if alone { "ReadWriteOncePod" } else { "ReadWriteOnce" };
            self.note(&format!("create claim {name} of class {class} {mode}"));
            self.world
                .add_storage("persistentvolumeclaims", storage::claim(name, class, mode));
            name.to_owned()
        });
        pod["spec"]["volumes"] = json!([{ "name": "data", "persistentVolumeClaim": { "claimName": claim } }]);
        pod
    }

    fn pick_claim(&mut self) -> Option<String> {
        let claims = self.world.server().snapshot(storage::kind("persistentvolumeclaims"));
        let names: Vec<String> = claims
            .iter()
            .filter_map(|claim| claim["metadata"]["name"].as_str().map(str::to_owned))
            .collect();
        self.dice.pick(&names).cloned()
    }

    pub(super) async fn step_with_volumes(&mut self) {
        match self.dice.below(10) {
            0..3 => self.upset_provisioner(),
            3..6 => self.delete_claim(),
            6..8 => self.delete_claim_while_it_is_bound().await,
            _ => self.kill_while_volumes_are_bound().await,
        }
    }

    fn upset_provisioner(&mut self) {
        let trouble = match self.dice.below(4) {
            0 => None,
            1 => Some(Trouble::Slow(Duration::from_millis(self.dice.below(15_000)))),
            2 => Some(Trouble::Fails(30 + self.dice.below(71))),
            _ => Some(Trouble::Silent),
        };
        self.note(&format!("upset the provisioner {trouble:?}"));
        if let Some(storage) = &self.storage {
            storage.upset(trouble);
        }
    }

    fn delete_claim(&mut self) {
        if let Some(name) = self.pick_claim() {
            self.delete_claim_of(&name);
        }
    }

    fn delete_claim_of(&self, name: &str) {
        self.world.trace().note(&format!("* delete claim {name}"));
        // It may have gone meanwhile.
        let _ = self
            .world
            .server()
            .delete(storage::kind("persistentvolumeclaims"), "default", name);
    }

    /// Pods with claims come, and a claim goes while somebody binds it.
    async fn delete_claim_while_it_is_bound(&mut self) {
        self.add_pods();
        self.add_pods();
        self.pause(700).await;
        let newest = self.world.server().snapshot(storage::kind("persistentvolumeclaims"));
        let bound = newest.iter().filter(|claim| claim["spec"]["volumeName"].is_null());
        let names: Vec<String> = bound
            .filter_map(|claim| claim["metadata"]["name"].as_str().map(str::to_owned))
            .collect();
        if let Some(name) = self.dice.pick(&names).cloned() {
            self.note(&format!("a claim goes while it is bound: {name}"));
            self.delete_claim_of(&name);
        }
    }

    /// Pods with claims come, and the leader dies after it has written to some volumes or claims and before it binds.
    async fn kill_while_volumes_are_bound(&mut self) {
        self.add_pods();
        self.add_pods();
        self.pause(700).await;
        self.kill_leader();
    }
}
