//! The server as a whole: its settings, its state, and the ways in that need no HTTP.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::task::TaskTracker;

use crate::{
    admission,
    auth::Tokens,
    binding,
    clock::{Clock, SystemClock},
    create::create,
    delete::{DeleteOptions, delete},
    fault::Faults,
    history::Mutation,
    object::{Object, key},
    resource::{RESOURCES, Resource},
    service::ApiService,
    status::ApiError,
    store::{Store, Writer},
    strategy::Part,
    update::{Change, update},
};

/// Settings of an [`ApiServer`].
#[derive(Clone)]
pub struct Config {
    /// Seed of UIDs, generated names, watch time-outs and fault probabilities.
    pub seed: u64,
    /// Wall clock for timestamps.
    pub clock: Arc<dyn Clock>,
    /// Changes kept for watches to replay; older ones are compacted.
    pub log_capacity: usize,
    /// Whether [`ApiServer::history`] keeps every mutation. Costs memory for as long as the server lives.
    pub keep_history: bool,
    /// Bearer tokens; requests without one are anonymous.
    pub tokens: Tokens,
    /// Whether `/_faults` takes rules over HTTP.
    pub fault_endpoint: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            seed: 0,
            clock: Arc::new(SystemClock),
            log_capacity: 20_000,
            keep_history: true,
            tokens: Tokens::default(),
            fault_endpoint: false,
        }
    }
}

impl std::fmt::Debug for Config {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Config")
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}

/// What every request and watch shares.
pub(crate) struct Shared {
    store: Mutex<Store>,
    /// One per kind, by storage id: told when an object of it changed.
    changed: Vec<Notify>,
    /// Told when anything changed.
    advanced: Notify,
    clock: Arc<dyn Clock>,
    pub(crate) faults: Faults,
    pub(crate) fault_endpoint: bool,
    pub(crate) tokens: Tokens,
    /// Requests that go on after their client has given up.
    pub(crate) late: TaskTracker,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the store.
    pub(crate) fn read<R>(&self, read: impl FnOnce(&Store) -> R) -> R {
        read(&self.lock())
    }

    /// Changes the store and wakes the watches of every kind that changed.
    pub(crate) fn transact<R>(&self, act: impl FnOnce(&mut Store) -> R) -> R {
        let (result, touched) = {
            let mut store = self.lock();
            let result = act(&mut store);
            (result, store.take_touched())
        };
        if !touched.is_empty() {
            self.advanced.notify_waiters();
        }
        for id in touched {
            self.changed[id].notify_waiters();
        }
        result
    }

    pub(crate) fn changed(&self, resource: &Resource) -> &Notify {
        &self.changed[resource.storage_id]
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Waits until the store has reached a version, but no longer than `patience`.
    pub(crate) async fn reached(&self, version: u64, patience: Duration) {
        let wait = async {
            loop {
                let mut advanced = std::pin::pin!(self.advanced.notified());
                advanced.as_mut().enable();
                if self.read(Store::rv) >= version {
                    return;
                }
                advanced.await;
            }
        };
        // Whoever asked finds out from the store which of the two it was.
        let _ = tokio::time::timeout(patience, wait).await;
    }
}

/// An embedded Kubernetes API server. Clones share one state.
#[derive(Clone)]
pub struct ApiServer {
    pub(crate) shared: Arc<Shared>,
}

impl std::fmt::Debug for ApiServer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("ApiServer").finish_non_exhaustive()
    }
}

impl ApiServer {
    /// A server with the objects every cluster starts with: four namespaces and two priority classes.
    pub fn new(config: Config) -> Self {
        let shared = Shared {
            store: Mutex::new(Store::new(config.seed, config.log_capacity, config.keep_history)),
            changed: RESOURCES.iter().map(|_| Notify::new()).collect(),
            advanced: Notify::new(),
            clock: config.clock,
            // Another stream than the store's, so that drawing for faults shifts no UID.
            faults: Faults::new(config.seed.wrapping_add(1)),
            fault_endpoint: config.fault_endpoint,
            tokens: config.tokens,
            late: TaskTracker::new(),
        };
        let server = Self {
            shared: Arc::new(shared),
        };
        server.furnish();
        server
    }

    fn furnish(&self) {
        for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
            let namespace = json!({ "metadata": { "name": name, "labels": { "kubernetes.io/metadata.name": name } } });
            if let Err(error) = self.create(admission::namespaces(), "", namespace) {
                tracing::error!(%error, name, "cannot create a namespace at start");
            }
        }
        for (name, value, what) in [
            ("system-node-critical", 2_000_001_000_i64, "node"),
            ("system-cluster-critical", 2_000_000_000, "cluster"),
        ] {
            let description = match what {
                "node" => "Used for system critical pods that must not be moved from their current node.",
                _ => {
                    "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."
                }
            };
            let class = json!({ "metadata": { "name": name }, "value": value, "description": description });
            if let Err(error) = self.create(admission::priority_classes(), "", class) {
                tracing::error!(%error, name, "cannot create a priority class at start");
            }
        }
    }

    /// The server as a tower service, for `kube::Client::new` and for tests. Clones are cheap.
    pub fn service(&self) -> ApiService {
        ApiService::new(Arc::clone(&self.shared))
    }

    /// The handle for injecting faults.
    pub fn faults(&self) -> &Faults {
        &self.shared.faults
    }

    /// The version of the last change.
    pub fn resource_version(&self) -> u64 {
        self.shared.read(Store::rv)
    }

    /// Forgets the changes up to and including a version, as etcd's compaction does: watches and lists from before it
    /// are answered 410.
    pub fn compact(&self, resource_version: u64) {
        self.shared.transact(|store| store.compact(resource_version));
    }

    /// Goes back to what was at a version, as after etcd was restored from a backup and the API server started anew: open
    /// watches end, later writes have never happened, and their versions are given out again.
    ///
    /// # Errors
    /// When the version is compacted.
    pub fn restore(&self, resource_version: u64) -> Result<(), ApiError> {
        self.shared
            .transact(|store| store.restore(resource_version))
            .map_err(|expired| ApiError::expired(format!("version {} is the oldest one known", expired.oldest)))
    }

    /// All objects of a kind, ordered by namespace and name.
    pub fn snapshot(&self, resource: &'static Resource) -> Vec<Arc<Value>> {
        self.shared
            .read(|store| store.table(resource).values().map(|o| o.view(resource)).collect())
    }

    /// One object; cluster-wide kinds have the empty namespace.
    pub fn get(&self, resource: &'static Resource, namespace: &str, name: &str) -> Option<Arc<Value>> {
        self.shared
            .read(|store| store.get(resource, &key(namespace, name)).map(|o| o.view(resource)))
    }

    /// Every mutation so far, oldest first; empty when history is not kept.
    pub fn history(&self) -> Vec<Mutation> {
        self.shared.read(|store| store.history().to_vec())
    }

    /// The mutations after the first so many.
    pub fn history_after(&self, first: usize) -> Vec<Mutation> {
        self.shared
            .read(|store| store.history().get(first..).map_or_else(Vec::new, <[Mutation]>::to_vec))
    }

    fn writer(&self, verb: &'static str) -> Writer {
        Writer {
            verb,
            user_agent: Arc::from(""),
            now: self.shared.now(),
            dry_run: false,
        }
    }

    /// Creates an object, with the same checks and admission as over HTTP, and no faults.
    ///
    /// # Errors
    /// As the same request would be answered.
    pub fn create(&self, resource: &'static Resource, namespace: &str, object: Value) -> Result<Arc<Value>, ApiError> {
        let writer = self.writer("create");
        let created = self
            .shared
            .transact(|store| create(store, &writer, resource, namespace, object))?;
        Ok(created.view(resource))
    }

    /// Replaces an object. With a `metadata.resourceVersion` it must be the current one.
    ///
    /// # Errors
    /// As the same request would be answered.
    pub fn update(&self, resource: &'static Resource, namespace: &str, object: Value) -> Result<Arc<Value>, ApiError> {
        self.put(resource, Part::Main, "update", namespace, object)
    }

    /// Replaces the status of an object.
    ///
    /// # Errors
    /// As the same request would be answered.
    pub fn update_status(
        &self,
        resource: &'static Resource,
        namespace: &str,
        object: Value,
    ) -> Result<Arc<Value>, ApiError> {
        self.put(resource, Part::Status, "status", namespace, object)
    }

    fn put(
        &self,
        resource: &'static Resource,
        part: Part,
        verb: &'static str,
        namespace: &str,
        object: Value,
    ) -> Result<Arc<Value>, ApiError> {
        let name = crate::object::meta_str(&object, "name").to_owned();
        let change = Change {
            resource,
            part,
            namespace,
            name: &name,
            may_create: false,
            uid_is_precondition: true,
        };
        let writer = self.writer(verb);
        let updated = self
            .shared
            .transact(|store| update(store, &writer, change, |_, _| Ok(object)))?;
        Ok(updated.object.view(resource))
    }

    /// Changes an object in place, whatever its version.
    ///
    /// # Errors
    /// As a PUT of the changed object would be answered.
    pub fn modify(
        &self,
        resource: &'static Resource,
        namespace: &str,
        name: &str,
        modify: impl FnOnce(&mut Value),
    ) -> Result<Arc<Value>, ApiError> {
        self.modify_part(resource, Part::Main, "update", namespace, name, modify)
    }

    /// Changes the status of an object in place, whatever its version.
    ///
    /// # Errors
    /// As a PUT of the changed status would be answered.
    pub fn modify_status(
        &self,
        resource: &'static Resource,
        namespace: &str,
        name: &str,
        modify: impl FnOnce(&mut Value),
    ) -> Result<Arc<Value>, ApiError> {
        self.modify_part(resource, Part::Status, "status", namespace, name, modify)
    }

    /// Resizes the containers of a pod in place, as through its `resize` subresource.
    ///
    /// # Errors
    /// As a PUT of the changed pod to the subresource would be answered.
    pub fn resize(&self, namespace: &str, pod: &str, resize: impl FnOnce(&mut Value)) -> Result<Arc<Value>, ApiError> {
        self.modify_part(admission::pods(), Part::Resize, "update", namespace, pod, resize)
    }

    fn modify_part(
        &self,
        resource: &'static Resource,
        part: Part,
        verb: &'static str,
        namespace: &str,
        name: &str,
        modify: impl FnOnce(&mut Value),
    ) -> Result<Arc<Value>, ApiError> {
        let change = Change {
            resource,
            part,
            namespace,
            name,
            may_create: false,
            uid_is_precondition: true,
        };
        let writer = self.writer(verb);
        let updated = self.shared.transact(|store| {
            update(store, &writer, change, |_, current| {
                let mut object = current.cloned().unwrap_or_default();
                modify(&mut object);
                Ok(object)
            })
        })?;
        Ok(updated.object.view(resource))
    }

    /// Deletes an object at once (no grace), as a kubelet does with a pod that has stopped; finalizers still hold it.
    ///
    /// # Errors
    /// As the same request would be answered.
    pub fn delete(&self, resource: &'static Resource, namespace: &str, name: &str) -> Result<Arc<Value>, ApiError> {
        let writer = self.writer("delete");
        let options = DeleteOptions::now();
        let deleted = self
            .shared
            .transact(|store| delete(store, &writer, resource, namespace, name, &options))?;
        Ok(deleted.object.view(resource))
    }

    /// Binds a pod to a node, as a foreign scheduler would.
    ///
    /// # Errors
    /// As the same request would be answered.
    pub fn bind(&self, namespace: &str, pod: &str, node: &str) -> Result<(), ApiError> {
        let binding = json!({ "metadata": { "name": pod }, "target": { "kind": "Node", "name": node } });
        let writer = self.writer("bind");
        self.shared
            .transact(|store| binding::bind(store, &writer, namespace, pod, binding))
    }

    /// Binds the pod with this UID, signed with this `User-Agent` in the history: an extender does so for a scheduler.
    ///
    /// # Errors
    /// As the same request would be answered.
    pub fn bind_as(&self, user_agent: &str, namespace: &str, pod: &str, uid: &str, node: &str) -> Result<(), ApiError> {
        let binding = json!({
            "metadata": { "name": pod, "uid": uid }, "target": { "kind": "Node", "name": node },
        });
        let writer = Writer {
            user_agent: Arc::from(user_agent),
            ..self.writer("bind")
        };
        self.shared
            .transact(|store| binding::bind(store, &writer, namespace, pod, binding))
    }

    /// Plays the kubelets: removes every pod whose grace has run out by the server's clock, and says how many.
    pub fn reap_terminated_pods(&self) -> usize {
        let now = self.shared.now();
        let due = |pod: &Object| {
            let until = crate::object::meta_str(pod.selectable(), "deletionTimestamp");
            until.parse::<Timestamp>().is_ok_and(|until| until <= now)
        };
        let writer = self.writer("delete");
        self.shared.transact(|store| {
            let keys: Vec<String> = store
                .terminating(admission::pods())
                .filter(|(_, pod)| due(pod))
                .map(|(key, _)| key.to_owned())
                .collect();
            let options = DeleteOptions::now();
            let reap = |key: &String| {
                let (namespace, name) = key.split_once('/')?;
                delete(store, &writer, admission::pods(), namespace, name, &options)
                    .ok()
                    .filter(|d| d.gone)
            };
            keys.iter().filter_map(reap).count()
        })
    }
}
