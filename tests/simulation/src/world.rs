//! An API server, replicas, and time that a test lets pass.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use plimsoll_actors::effects::Effects;
use plimsoll_actors::supervisor::{Replica, RunningReplica};
use plimsoll_apiserver::{ApiServer, Config, VirtualClock as ServerClock, resource};
use plimsoll_client::{ApiClient, Clock, VirtualClock, fenced, separate};
use plimsoll_config::{ClientConnection, ProfileConfig, SchedulerConfig};
use plimsoll_framework::{Profile, Registry};
use plimsoll_telemetry::Metrics;
use serde_json::Value;

use crate::invariants;
use crate::trace::Trace;

/// Seed 0 of time: every run begins at the same wall-clock time.
const EPOCH: Timestamp = Timestamp::UNIX_EPOCH;

/// One run.
pub struct World {
    server: ApiServer,
    clock: Arc<dyn Clock>,
    trace: Trace,
    seed: u64,
}

/// How a replica differs from the default.
pub struct Setup {
    /// The configuration.
    pub config: SchedulerConfig,
    /// Plugins, in-tree ones and the test's own.
    pub registry: Registry,
    /// The profile's plugins.
    pub profile: ProfileConfig,
    /// Who performs effects.
    pub effects: Effects,
}

impl Default for Setup {
    fn default() -> Self {
        let config = SchedulerConfig {
            client_connection: ClientConnection { qps: -1.0, burst: 1 },
            ..SchedulerConfig::default()
        };
        Self {
            config,
            registry: plimsoll_plugins::registry(),
            profile: ProfileConfig::default(),
            effects: Effects::default(),
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
        Self {
            server: ApiServer::new(config),
            clock: Arc::new(VirtualClock::new(EPOCH)),
            trace: Trace::start(),
            seed,
        }
    }

    /// The API server.
    pub fn server(&self) -> &ApiServer {
        &self.server
    }

    /// What was said so far.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Starts a replica; its name is its identity.
    ///
    /// # Panics
    /// When the set-up names plugins that do not exist.
    pub async fn start(&self, name: &str, setup: Setup) -> RunningReplica {
        let client = || {
            let client = kube::Client::new(fenced(self.server.service()), "default");
            ApiClient::new(client, Arc::clone(&self.clock))
        };
        let election = &setup.config.leader_election;
        let connections = separate(client(), client(), &setup.config.client_connection, election);
        #[expect(clippy::expect_used, reason = "a set-up that does not fit is the test's fault")]
        let profile = Profile::assemble(&setup.profile, &setup.registry).expect("the profile of the test");
        let number = name.bytes().map(u64::from).sum::<u64>();
        let replica = Replica {
            identity: name.to_owned(),
            host: name.to_owned(),
            config: setup.config,
            profiles: vec![Arc::new(profile)],
            effects: setup.effects,
            connections,
            listen: None,
            seed: self.seed.wrapping_mul(1_000_003).wrapping_add(number),
            clock: Arc::clone(&self.clock),
            metrics: Arc::new(Metrics::new()),
            tap: Some(self.trace.tap(name)),
        };
        #[expect(clippy::expect_used, reason = "a replica that does not start fails the test")]
        replica.start().await.expect("a replica")
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

    #[expect(
        clippy::expect_used,
        reason = "an object that the server does not take is the test's fault"
    )]
    fn add(&self, plural: &str, namespace: &str, object: Value) {
        let resource = resource::find("", "v1", plural).expect("a kind of the core group");
        self.server
            .create(resource, namespace, object)
            .expect("an object the server takes");
    }

    /// Lets time pass until so many pods are bound, or fails with what is missing.
    ///
    /// # Panics
    /// When they are not bound within `limit`.
    pub async fn until_bound(&self, pods: usize, limit: Duration) {
        let waiting = async {
            while invariants::placements(&self.server).len() < pods {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let reached = tokio::time::timeout(limit, waiting).await.is_ok();
        let bound = invariants::placements(&self.server).len();
        assert!(
            reached,
            "{bound} of {pods} pods are bound after {limit:?}:\n{}",
            self.tail()
        );
    }

    /// Lets time pass.
    pub async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    /// Fails when anything that must always hold did not.
    ///
    /// # Panics
    /// Then.
    pub fn check(&self) {
        let violations = invariants::violations(&self.server);
        assert!(violations.is_empty(), "{violations:#?}\n{}", self.tail());
    }

    fn tail(&self) -> String {
        let lines = self.trace.lines();
        lines[lines.len().saturating_sub(60)..].join("\n")
    }
}
