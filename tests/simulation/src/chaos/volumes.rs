//! Claims and volumes that come and go, and what goes wrong with those who bind and make them.

use std::time::Duration;

use serde_json::{Value, json};

use super::Chaos;
use super::churn::NODES;
use crate::link::Link;
use crate::storage::{self, DYNAMIC, IMMEDIATE, LOCAL, Storage, Trouble, ZONES};

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
        let tells_capacity = self.dice.percent(50);
        self.world
            .add_storage("csidrivers", storage::csi_driver(tells_capacity));
        for number in 0..NODES {
            self.add_volumes_on(&format!("n{number}"), ATTACHED, ON_EACH);
        }
        let storage = Storage::new(self.world.server(), self.seed);
        let controllers = storage.clone();
        storage.dawdle(true);
        if tells_capacity {
            storage.tell_capacity();
        }
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

    /// Some pods come with a claim of their own, some with one that others have, too, some bring one along, and some have two.
    pub(super) fn with_volume(&mut self, name: &str, mut pod: Value) -> Value {
        if self.storage.is_none() || self.dice.percent(55) {
            return pod;
        }
        let mut sources = vec![self.source_for(name)];
        if self.dice.percent(15) {
            let another = self.source_for(&format!("{name}-too"));
            // A volume that is mounted twice is no second one.
            if another != sources[0] || another.get("ephemeral").is_some() {
                sources.push(another);
            }
        }
        let volumes = ["data", "more"].into_iter().zip(sources).map(|(volume, mut source)| {
            source["name"] = json!(volume);
            source
        });
        pod["spec"]["volumes"] = volumes.collect();
        pod
    }

    /// A volume without its name in the pod: a new claim of this name, one that is there, or one that the pod brings along.
    fn source_for(&mut self, name: &str) -> Value {
        let claim = if self.dice.percent(20) { self.pick_claim() } else { None };
        if let Some(claim) = claim {
            return json!({ "persistentVolumeClaim": { "claimName": claim } });
        }
        let class = self.dice.pick(&[LOCAL, DYNAMIC, DYNAMIC, IMMEDIATE]).copied();
        let class = class.unwrap_or(DYNAMIC);
        let alone = class != LOCAL && self.dice.percent(25);
        let claim = storage::claim(name, class, if alone { "ReadWriteOncePod" } else { "ReadWriteOnce" });
        if self.dice.percent(15) {
            return json!({ "ephemeral": { "volumeClaimTemplate": { "spec": claim["spec"] } } });
        }
        self.note(&format!("create claim {name} {}", claim["spec"]));
        self.world.add_storage("persistentvolumeclaims", claim);
        json!({ "persistentVolumeClaim": { "claimName": name } })
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
        match self.dice.below(21) {
            0..4 => self.upset_provisioner(),
            4..7 => self.delete_claim(),
            7..9 => self.delete_claim_while_it_is_bound().await,
            9..11 => self.bind_volumes_unheard().await,
            11..13 => self.hand_over_volumes_unseen().await,
            13..15 => self.kill_while_volumes_are_bound().await,
            _ => self.bind_volumes_amid_faults().await,
        }
    }

    fn upset_provisioner(&mut self) {
        if self.dice.percent(40) {
            return self.change_capacity();
        }
        let trouble = match self.dice.below(6) {
            0 => None,
            1 => Some(Trouble::Slow(Duration::from_millis(self.dice.below(15_000)))),
            2..5 => Some(Trouble::Fails(30 + self.dice.below(71))),
            _ => Some(Trouble::Silent),
        };
        self.note(&format!("upset the provisioner {trouble:?}"));
        if let Some(storage) = &self.storage {
            storage.upset(trouble);
        }
    }

    /// There is no room any more for volumes in a zone, or there is some again; where nobody tells of it, there is enough.
    fn change_capacity(&mut self) {
        let (zone, is_short) = (
            self.dice.pick(&ZONES).copied().unwrap_or_default(),
            self.dice.percent(70),
        );
        self.note(&format!("tell of room for volumes in {zone}: {}", !is_short));
        if let Some(storage) = &self.storage {
            storage.exhaust(zone, is_short);
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
        self.succeed().await;
    }

    /// Pods with claims come while writes to volumes or claims fail, or come late, or their answers are lost. The leader may die of
    /// it, as it were.
    async fn bind_volumes_amid_faults(&mut self) {
        self.add_rule_for_volumes();
        self.add_pods();
        self.add_pods();
        self.pause(5_000).await;
        if self.dice.percent(25) {
            self.kill_leader();
            self.succeed().await;
        }
    }

    /// Mostly a replica comes for the one that went, so that somebody is there to find what it left.
    async fn succeed(&mut self) {
        if self.dice.percent(75) {
            self.start_replica().await;
        }
    }

    /// A replica, the leader rather, hears nothing of volumes and claims while pods with such come.
    async fn bind_volumes_unheard(&mut self) {
        let Some(at) = self.pick_leader_rather() else { return };
        let (name, link) = (
            self.replicas[at].0.name().to_owned(),
            self.replicas[at].0.link().clone(),
        );
        self.note(&format!("{name} hears nothing of volumes"));
        link.hold_volumes();
        self.add_pods();
        self.add_pods();
        self.pause(8_000).await;
        if self.dice.percent(70) {
            self.note(&format!("{name} hears of volumes again"));
            link.release_volumes();
        }
    }

    /// Pods with claims come, and the leader goes after it has written to some volumes or claims, of which the others have heard
    /// nothing. They may hear of it late.
    async fn hand_over_volumes_unseen(&mut self) {
        let leader = self.world.leader();
        let others = self.replicas.iter().filter(|(machine, _)| machine.name() != leader);
        let others: Vec<_> = others.map(|(machine, _)| machine.link().clone()).collect();
        self.note("the others hear nothing of volumes");
        others.iter().for_each(Link::hold_volumes);
        self.add_pods();
        self.add_pods();
        self.pause(1_500).await;
        if self.dice.percent(50) {
            self.kill_replica_named(&leader);
        } else {
            self.shut_down_replica_named(&leader);
        }
        self.succeed().await;
        self.pause(15_000).await;
        if self.dice.percent(80) {
            self.note("the others hear of volumes again");
            others.iter().for_each(Link::release_volumes);
        }
    }
}
