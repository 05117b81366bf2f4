//! What keeps volumes in a cluster beside the scheduler, in process: the volume controllers of kube-controller-manager, and
//! the provisioner of a CSI driver, which may be slow, fail, or not answer.

mod binder;
mod ephemeral;
mod objects;
mod provisioner;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plimsoll_apiserver::{ApiServer, Resource, resource};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use serde_json::Value;

pub use self::objects::{
    DRIVER, DYNAMIC, IMMEDIATE, LOCAL, LOCAL_PROVISIONER, claim, classes, csi_driver, csi_node, local_volume,
};
use self::provisioner::Provisioning;

/// Where volumes are made.
pub const ZONES: [&str; 3] = ["a", "b", "c"];
/// What the driver says of its room.
const CAPACITIES: &str = "csistoragecapacities";
/// Room in a zone for more volumes than a run has.
const ENOUGH: &str = "10Ti";

/// What goes wrong with the provisioner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// It takes up to so long for a volume.
    Slow(Duration),
    /// Of a hundred tries so many fail, and the scheduler is asked for another node.
    Fails(u64),
    /// It answers nothing.
    Silent,
}

/// What has been done for claims.
#[derive(Debug, Clone, Copy, Default)]
pub struct Deeds {
    /// Claims bound to a volume.
    pub bound: u64,
    /// Volumes made.
    pub provisioned: u64,
    /// Claims whose node was given back.
    pub given_back: u64,
    /// Looks at a claim that left the rest of what binds it to the next look.
    pub half_bound: u64,
}

/// The controllers. Clones share one state.
#[derive(Clone)]
pub struct Storage(Arc<Shared>);

struct Shared {
    server: ApiServer,
    state: Mutex<State>,
}

struct State {
    random: ChaCha8Rng,
    provisioning: Provisioning,
    trouble: Option<Trouble>,
    /// Whether the volume controller takes its time.
    dawdles: bool,
    /// Looks that the volume controller still leaves out.
    idle: u64,
    deeds: Deeds,
}

impl Storage {
    /// The controllers of one cluster; all is well.
    pub fn new(server: &ApiServer, seed: u64) -> Self {
        let state = State {
            random: ChaCha8Rng::seed_from_u64(seed ^ 0x57_0a),
            provisioning: Provisioning::default(),
            trouble: None,
            dawdles: false,
            idle: 0,
            deeds: Deeds::default(),
        };
        Self(Arc::new(Shared {
            server: server.clone(),
            state: Mutex::new(state),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on this goes wrong with the provisioner, or nothing.
    pub fn upset(&self, trouble: Option<Trouble>) {
        self.lock().trouble = trouble;
    }

    /// From now on the volume controller takes its time, as one does whose queue is long: it leaves looks out, and the rest of
    /// what binds a claim to the next one. Or it does everything at once.
    pub fn dawdle(&self, dawdles: bool) {
        let mut state = self.lock();
        (state.dawdles, state.idle) = (dawdles, 0);
    }

    /// From now on the driver tells how much room it has for volumes that are made where a pod goes: enough, in each zone.
    pub fn tell_capacity(&self) {
        for zone in ZONES {
            // It may have been told already.
            let _ = self
                .0
                .server
                .create(kind(CAPACITIES), "default", objects::capacity(zone, ENOUGH));
        }
    }

    /// From now on there is no room for such volumes in a zone, or enough again. Nothing happens where nobody tells.
    pub fn exhaust(&self, zone: &str, is_short: bool) {
        let amount = if is_short { "0" } else { ENOUGH };
        let server = &self.0.server;
        for told in server.snapshot(kind(CAPACITIES)) {
            let is_of_zone = text(&told, "/nodeTopology/matchLabels/zone") == zone;
            if is_of_zone && text(&told, "/capacity") != amount {
                let tell = |capacity: &mut Value| capacity["capacity"] = Value::from(amount);
                let _ = server.modify(kind(CAPACITIES), "default", text(&told, "/metadata/name"), tell);
            }
        }
    }

    /// From now on all is well.
    pub fn recover(&self) {
        self.upset(None);
        self.dawdle(false);
        for zone in &ZONES {
            self.exhaust(zone, false);
        }
    }

    /// What has been done so far.
    pub fn deeds(&self) -> Deeds {
        self.lock().deeds
    }

    /// One look at all volumes and claims; what there is to do is done.
    pub fn look(&self) {
        let mut state = self.lock();
        let server = &self.0.server;
        ephemeral::look(server);
        if !state.idles() {
            binder::look(server, &mut state);
        }
        provisioner::look(server, &mut state);
    }
}

impl State {
    /// Whether the volume controller leaves this look out: now and then up to twenty of them.
    fn idles(&mut self) -> bool {
        if self.dawdles && self.idle == 0 && self.below(100) < 3 {
            self.idle = 1 + self.below(20);
        }
        let idles = self.idle > 0;
        self.idle = self.idle.saturating_sub(1);
        idles
    }

    /// Whether what comes next of several writes that belong together is left to the next look.
    fn leaves_the_rest(&mut self) -> bool {
        let leaves = self.dawdles && self.below(100) < 25;
        self.deeds.half_bound += u64::from(leaves);
        leaves
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.next_u64() % bound.max(1)
    }
}

/// A kind of storage, a node or a pod.
///
/// # Panics
/// When the server does not know it.
pub fn kind(plural: &str) -> &'static Resource {
    let group = match plural {
        "persistentvolumes" | "persistentvolumeclaims" | "nodes" | "pods" => "",
        _ => "storage.k8s.io",
    };
    #[expect(clippy::expect_used, reason = "the names are written in the simulation")]
    resource::find(group, "v1", plural).expect("a kind that the server knows")
}

/// The names of the claims of a pod, those that are made for it among them, in its order.
pub fn claim_names(pod: &Value) -> Vec<String> {
    let volumes = pod.pointer("/spec/volumes").and_then(Value::as_array);
    let name = |volume: &Value| {
        if volume.get("ephemeral").is_some_and(Value::is_object) {
            return format!("{}-{}", text(pod, "/metadata/name"), text(volume, "/name"));
        }
        text(volume, "/persistentVolumeClaim/claimName").to_owned()
    };
    let names = volumes.into_iter().flatten().map(name);
    names.filter(|name| !name.is_empty()).collect()
}

/// The names of the claims that the volumes of a pod name themselves, in its order: by these alone kube-scheduler tells whether a
/// claim is in use that is for one pod alone.
pub fn claims_named(pod: &Value) -> Vec<String> {
    let volumes = pod.pointer("/spec/volumes").and_then(Value::as_array);
    let names = volumes.into_iter().flatten();
    let names = names.map(|volume| text(volume, "/persistentVolumeClaim/claimName").to_owned());
    names.filter(|name| !name.is_empty()).collect()
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn annotation<'a>(object: &'a Value, key: &str) -> &'a str {
    object["metadata"]["annotations"][key].as_str().unwrap_or_default()
}

fn annotate(object: &mut Value, key: &str, value: &str) {
    if !object["metadata"]["annotations"].is_object() {
        object["metadata"]["annotations"] = serde_json::json!({});
    }
    object["metadata"]["annotations"][key] = Value::from(value);
}

fn take_annotation(object: &mut Value, key: &str) {
    if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
        annotations.remove(key);
    }
}
