//! An API server, replicas, and time that a test lets pass.

mod edits;
mod machine;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use plimsoll_actors::assembled_config::AssembledConfig;
use plimsoll_actors::effects::Effects;
use plimsoll_actors::elector::progress::Resignation;
use plimsoll_actors::permits::Permits;
use plimsoll_actors::supervisor::{Replica, RunningReplica};
use plimsoll_apiserver::{ApiServer, Config, VirtualClock as ServerClock, resource};
use plimsoll_client::{ApiClient, Clock, VirtualClock, fenced, separate};
use plimsoll_config::{ClientConnection, ProfileConfig, SchedulerConfig};
use plimsoll_framework::{Profiles, Registry};
use plimsoll_telemetry::Metrics;
use plimsoll_telemetry::traces::ExportLimits;
use serde_json::Value;

pub use self::machine::{ClockFault, Machine};
use crate::collector::Collector;
use crate::invariants;
use crate::invariants::judge::Judge;
use crate::link::Linked;
use crate::storage;
use crate::terms::Terms;
use crate::trace::Trace;
use crate::wire::Wire;

/// Seed 0 of time: every run begins at the same wall-clock time.
const EPOCH: Timestamp = Timestamp::UNIX_EPOCH;

/// One run.
pub struct World {
    server: ApiServer,
    clock: Arc<dyn Clock>,
    trace: Trace,
    judge: Judge,
    terms: Terms,
    seed: u64,
    metrics: Mutex<BTreeMap<String, Arc<Metrics>>>,
    controllers: Mutex<Vec<Controller>>,
    /// Whether some replica places pods without the plugins that know volumes.
    are_volumes_ignored: AtomicBool,
}

/// What somebody beside the scheduler does in one look at the cluster.
type Controller = Box<dyn Fn() + Send>;

/// How a replica differs from the default.
pub struct Setup {
    /// The configuration.
    pub config: SchedulerConfig,
    /// Plugins, in-tree ones and the test's own.
    pub registry: Registry,
    /// The first profile.
    pub profile: ProfileConfig,
    /// Profiles of other scheduler names.
    pub others: Vec<ProfileConfig>,
    /// Who performs effects.
    pub effects: Effects,
    /// How the test reaches pods that wait at Permit.
    pub permits: Permits,
    /// Where spans go, if anywhere.
    pub traces: Option<Traces>,
}

/// Where spans go.
#[derive(Debug, Clone)]
pub struct Traces {
    /// Who is sent them.
    pub collector: Collector,
    /// How many may wait, and how long.
    pub limits: ExportLimits,
    /// The share of pods that are told of though nothing goes wrong with them.
    pub ratio: f64,
}

impl Default for Setup {
    fn default() -> Self {
        let config = SchedulerConfig {
            client_connection: ClientConnection {
                qps: -1.0,
                burst: 1,
                ..ClientConnection::default()
            },
            ..SchedulerConfig::default()
        };
        Self {
            config,
            registry: plimsoll_plugins::registry(),
            profile: ProfileConfig::default(),
            others: Vec::new(),
            effects: Effects::default(),
            permits: Permits::new(),
            traces: None,
        }
    }
}

impl Setup {
    /// The configuration with its profiles, to go on with.
    ///
    /// # Panics
    /// When a profile names plugins that do not exist.
    pub fn assembled(&self) -> AssembledConfig {
        let profiles: Vec<_> = std::iter::once(&self.profile).chain(&self.others).cloned().collect();
        let share = self.config.percentage_of_nodes_to_score;
        #[expect(clippy::expect_used, reason = "a set-up that does not fit is the test's fault")]
        let assembled = Profiles::assemble(
            &profiles,
            share,
            &self.config.extenders,
            &self.registry,
            &self.config.feature_gates,
        )
        .expect("profiles of the test");
        AssembledConfig {
            profiles: assembled,
            config: SchedulerConfig {
                profiles,
                ..self.config.clone()
            },
        }
    }
}

impl World {
    /// An empty cluster. Must be called on a paused runtime.
    pub fn new(seed: u64) -> Self {
        let config = Config {
            seed,
            clock: Arc::new(ServerClock::starting_at(EPOCH)),
            ..Config::default()
        };
        let server = ApiServer::new(config);
        Self {
            judge: Judge::new(server.clone()),
            terms: Terms::default(),
            server,
            clock: Arc::new(VirtualClock::new(EPOCH)),
            trace: Trace::start(),
            seed,
            metrics: Mutex::default(),
            controllers: Mutex::default(),
            are_volumes_ignored: AtomicBool::new(false),
        }
    }

    /// Has somebody look at the cluster at every beat of [`World::pass_with_kubelets`].
    pub fn add_controller(&self, look: impl Fn() + Send + 'static) {
        let mut controllers = self.controllers.lock().unwrap_or_else(PoisonError::into_inner);
        controllers.push(Box::new(look));
    }

    /// An empty cluster with one replica, `replica-a`, which leads.
    ///
    /// # Panics
    /// When it does not within a few seconds.
    pub async fn led(seed: u64) -> (Self, RunningReplica) {
        let world = Self::new(seed);
        let replica = world.start("replica-a", Setup::default()).await;
        world.pass(Duration::from_secs(5)).await;
        assert_eq!(world.leader(), "replica-a");
        (world, replica)
    }

    /// The API server.
    pub fn server(&self) -> &ApiServer {
        &self.server
    }

    /// What was said so far.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Who judges each write and each binding.
    pub fn judge(&self) -> &Judge {
        &self.judge
    }

    /// The tokens of all terms.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// What the replica of this name counts.
    ///
    /// # Panics
    /// When none was started.
    pub fn metrics(&self, name: &str) -> Arc<Metrics> {
        let metrics = self.metrics.lock().unwrap_or_else(PoisonError::into_inner);
        #[expect(clippy::expect_used, reason = "a replica that was never started is the test's fault")]
        let of_replica = metrics.get(name).expect("a replica that was started");
        Arc::clone(of_replica)
    }

    /// The names of all replicas that were started.
    pub fn replicas(&self) -> Vec<String> {
        let metrics = self.metrics.lock().unwrap_or_else(PoisonError::into_inner);
        metrics.keys().cloned().collect()
    }

    /// A machine for a replica of this name.
    pub fn machine(&self, name: &str) -> Machine {
        self.machine_with(name, ClockFault::default())
    }

    /// A machine whose clock is not as the others'.
    pub fn machine_with(&self, name: &str, fault: ClockFault) -> Machine {
        Machine::new(name, self.seed_of(name), self.clock.wall(), fault, &self.judge)
    }

    fn seed_of(&self, name: &str) -> u64 {
        let number = name.bytes().map(u64::from).sum::<u64>();
        self.seed.wrapping_mul(1_000_003).wrapping_add(number)
    }

    /// Starts a replica on a machine of its own; its name is its identity.
    ///
    /// # Panics
    /// When the set-up names plugins that do not exist.
    pub async fn start(&self, name: &str, setup: Setup) -> RunningReplica {
        self.start_on(&self.machine(name), setup).await
    }

    /// Starts a replica on a machine. Its requests carry the machine's name at the end of their `User-Agent`.
    ///
    /// # Panics
    /// When the set-up names plugins that do not exist.
    pub async fn start_on(&self, machine: &Machine, setup: Setup) -> RunningReplica {
        let name = machine.name();
        let clock = machine.time();
        let plugins = &setup.profile.plugins.multi_point.enabled;
        if !plugins.iter().any(|plugin| plugin.name == "VolumeBinding") {
            self.are_volumes_ignored.store(true, Ordering::Relaxed);
        }
        let client = || {
            let link = machine.link.clone();
            let wire = Wire::new(self.server.service(), link.clone(), name, self.judge.clone());
            let service = Linked::new(fenced(wire), link, name);
            ApiClient::new(kube::Client::new(service, "default"), Arc::clone(&clock))
        };
        let election = &setup.config.leader_election;
        let connections = separate(client(), client(), &setup.config.client_connection, election);
        let AssembledConfig { config, profiles } = setup.assembled();
        let metrics = Arc::new(Metrics::new());
        self.keep(name, &metrics);
        let traces = setup.traces.as_ref().map(|traces| {
            let sink = traces.collector.way_of(name, traces.limits, &metrics);
            (sink, traces.ratio)
        });
        let replica = Replica {
            identity: name.to_owned(),
            host: name.to_owned(),
            config,
            profiles,
            effects: setup.effects,
            permits: setup.permits,
            connections,
            listen: None,
            advertised: Some(format!("https://{name}:10259")),
            seed: self.seed_of(name),
            clock,
            metrics,
            traces,
            tap: Some(machine.tap(&self.trace, &self.terms, &self.judge)),
        };
        #[expect(clippy::expect_used, reason = "a replica that does not start fails the test")]
        Box::pin(replica.start()).await.expect("a replica")
    }

    /// How often replicas have given their leadership up, all in all.
    pub fn resignations(&self) -> u64 {
        let metrics = self.metrics.lock().unwrap_or_else(PoisonError::into_inner);
        let of = |metrics: &Arc<Metrics>| {
            let reasons = Resignation::ALL.into_iter().map(Resignation::as_str);
            reasons
                .map(|reason| metrics.resignations().counted(reason))
                .sum::<u64>()
        };
        metrics.values().map(of).sum()
    }

    fn keep(&self, name: &str, metrics: &Arc<Metrics>) {
        let mut kept = self.metrics.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(name.to_owned(), Arc::clone(metrics));
    }

    /// Creates a node.
    ///
    /// # Panics
    /// When the server does not take it.
    pub fn add_node(&self, node: Value) {
        self.add("nodes", "", node);
    }

    /// Creates a pod in the namespace `default`.
    ///
    /// # Panics
    /// When the server does not take it.
    pub fn add_pod(&self, pod: Value) {
        self.add("pods", "default", pod);
    }

    /// Creates a namespace.
    ///
    /// # Panics
    /// When the server does not take it.
    pub fn add_namespace(&self, namespace: Value) {
        self.add("namespaces", "", namespace);
    }

    /// Creates a priority class.
    ///
    /// # Panics
    /// When the server does not take it.
    pub fn add_priority_class(&self, name: &str, value: i32) {
        let class = serde_json::json!({ "metadata": { "name": name }, "value": value });
        self.add_of("scheduling.k8s.io", "priorityclasses", "", class);
    }

    /// Creates a disruption budget in the namespace `default` that allows so many disruptions of pods with the label `app`.
    ///
    /// # Panics
    /// When the server does not take it.
    pub fn add_budget(&self, app: &str, allowed: i32) {
        let selector = serde_json::json!({ "matchLabels": { "app": app } });
        let budget = serde_json::json!({
            "metadata": { "name": app }, "spec": { "minAvailable": 1, "selector": selector },
        });
        self.add_of("policy", "poddisruptionbudgets", "default", budget);
        self.allow_disruptions(app, allowed);
    }

    /// Creates an object of a kind of storage: a claim in the namespace `default`, everything else in none.
    ///
    /// # Panics
    /// When the server does not take it.
    pub fn add_storage(&self, plural: &str, object: Value) {
        let namespace = if plural == "persistentvolumeclaims" {
            "default"
        } else {
            ""
        };
        #[expect(
            clippy::expect_used,
            reason = "an object that the server does not take is the test's fault"
        )]
        self.server
            .create(storage::kind(plural), namespace, object)
            .expect("an object of storage");
    }

    fn add(&self, plural: &str, namespace: &str, object: Value) {
        self.add_of("", plural, namespace, object);
    }

    #[expect(
        clippy::expect_used,
        reason = "an object that the server does not take is the test's fault"
    )]
    fn add_of(&self, group: &str, plural: &str, namespace: &str, object: Value) {
        let resource = resource::find(group, "v1", plural).expect("a kind that the server knows");
        self.server
            .create(resource, namespace, object)
            .expect("an object the server takes");
    }

    /// Lets time pass until so many pods are bound, or fails with what is missing.
    ///
    /// # Panics
    /// When they are not bound within `limit`.
    pub async fn until_bound(&self, pods: usize, limit: Duration) {
        let enough = || invariants::placements(&self.server).len() >= pods;
        let reached = self.reaches(limit, enough).await;
        let bound = invariants::placements(&self.server).len();
        assert!(
            reached,
            "{bound} of {pods} pods are bound after {limit:?}:\n{}",
            self.tail()
        );
    }

    /// Lets time pass until something holds, or fails with the end of the trace.
    ///
    /// # Panics
    /// When it does not hold within `limit`.
    pub async fn until(&self, what: &str, limit: Duration, holds: impl Fn() -> bool) {
        let reached = self.reaches(limit, holds).await;
        assert!(reached, "after {limit:?} not yet: {what}\n{}", self.tail());
    }

    async fn reaches(&self, limit: Duration, holds: impl Fn() -> bool) -> bool {
        let waiting = async {
            while !holds() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(limit, waiting).await.is_ok()
    }

    /// Lets time pass.
    pub async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    /// Lets time pass, with kubelets and controllers at work: pods whose grace is over go.
    pub async fn pass_with_kubelets(&self, time: Duration) {
        const BEAT: Duration = Duration::from_millis(500);
        let mut left = time;
        while !left.is_zero() {
            let beat = left.min(BEAT);
            tokio::time::sleep(beat).await;
            self.server.reap_terminated_pods();
            let controllers = self.controllers.lock().unwrap_or_else(PoisonError::into_inner);
            controllers.iter().for_each(|look| look());
            drop(controllers);
            left -= beat;
        }
    }

    /// Fails when anything that must always hold did not.
    ///
    /// # Panics
    /// Then.
    pub fn check(&self) {
        let violations = if self.are_volumes_ignored.load(Ordering::Relaxed) {
            invariants::violations_but_of_volumes(&self.server)
        } else {
            invariants::violations(&self.server)
        };
        assert!(violations.is_empty(), "{violations:#?}\n{}", self.tail());
    }

    /// Fails when a pod is neither bound nor told why not.
    ///
    /// # Panics
    /// Then.
    pub fn check_nothing_forgotten(&self) {
        let forgotten = invariants::forgotten(&self.server);
        assert!(forgotten.is_empty(), "forgotten: {forgotten:?}\n{}", self.tail());
    }

    /// The end of the trace, without what goes on all the time.
    pub fn tail(&self) -> String {
        let heartbeat = [
            ": Probe",
            "Elector: Alive",
            "Elector: Tick",
            "Elector: Answered",
            "EventRecorder: Tick",
            "Auditor: ",
            ": Audit",
        ];
        let mut lines = self.trace.lines();
        lines.retain(|line| !heartbeat.iter().any(|part| line.contains(part)));
        lines[lines.len().saturating_sub(60)..].join("\n")
    }
}
