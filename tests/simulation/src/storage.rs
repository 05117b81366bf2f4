//! What keeps volumes in a cluster beside the scheduler, in process: the volume controller of kube-controller-manager, and
//! the provisioner of a CSI driver, which may be slow, fail, or not answer.

mod binder;
mod objects;
mod provisioner;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plimsoll_apiserver::{ApiServer, Resource, resource};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use serde_json::Value;

pub use self::objects::{DRIVER, DYNAMIC, IMMEDIATE, LOCAL, LOCAL_PROVISIONER, claim, classes, csi_node, local_volume};
use self::provisioner::Provisioning;

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
    deeds: Deeds,
}

impl Storage {
    /// The controllers of one cluster; all is well.
    pub fn new(server: &ApiServer, seed: u64) -> Self {
        let state = State {
            random: ChaCha8Rng::seed_from_u64(seed ^ 0x57_0a),
            provisioning: Provisioning::default(),
            trouble: None,
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

    /// What has been done so far.
    pub fn deeds(&self) -> Deeds {
        self.lock().deeds
    }

    /// One look at all volumes and claims; what there is to do is done.
    pub fn look(&self) {
        let mut state = self.lock();
        let server = &self.0.server;
        binder::look(server, &mut state);
        provisioner::look(server, &mut state);
    }
}

impl State {
    fn below(&mut self, bound: u64) -> u64 {
        self.random.next_u64() % bound.max(1)
    }
}

/// A kind of storage, or a node.
///
/// # Panics
/// When the server does not know it.
pub fn kind(plural: &str) -> &'static Resource {
    let group = match plural {
        "persistentvolumes" | "persistentvolumeclaims" | "nodes" => "",
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
