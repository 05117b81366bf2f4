//! Starting, and starting again, what lives as long as the process.

use std::sync::Arc;

use plimsoll_client::{
    CsiDrivers, CsiNodes, CsiStorageCapacities, DisruptionBudgets, EventWriter, LeaseCandidateClient, LeaseClient,
    Listing, ListingTeller, Namespaces, Nodes, PersistentVolumeClaims, PersistentVolumes, Pods, RawDemand, RawPolicies,
    ReplicaSets, ReplicationControllers, Services, StatefulSets, StorageClasses, VolumeAttachments, Watch,
};
use plimsoll_config::Gate;
use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;

use super::{Restarts, SupervisorArguments, SupervisorMessage, SupervisorState, Terms, Warm};
use crate::assembled_config::AssembledConfig;
use crate::elector::{Elector, ElectorArguments, ElectorMessage};
use crate::event_recorder::{EventRecorder, EventRecorderArguments};
use crate::http_server::{HttpServer, HttpServerArguments};
use crate::informer_cache::{CacheMessage, CachedKind, InformerCache, InformerCacheArguments, WatchPulses};
use crate::mailbox::{Mailbox, Summary};
use crate::term::TermParts;
use crate::tracer::{Operation, Tracer, TracerArguments, TracerMessage, Tracing};
use crate::watch_feed;

/// The cells of warm actors, by which supervision events name them.
pub(super) struct Cells {
    /// None before it is needed, and from its end until another is started.
    pub(super) cache: Option<ActorCell>,
    /// Caches that were told to stop, by their number.
    pub(super) stopping: Vec<(u64, ActorCell)>,
    pub(super) recorder: ActorCell,
    pub(super) http: Option<ActorCell>,
    pub(super) tracer: Option<ActorCell>,
}

impl Cells {
    /// Whether this was a cache that was told to stop.
    pub(super) fn cache_stopped(&mut self, child: &ActorCell) -> bool {
        let before = self.stopping.len();
        self.stopping.retain(|(_, cache)| cache.get_id() != child.get_id());
        self.stopping.len() < before
    }

    /// Whether this was the cache, which is then no longer there.
    pub(super) fn cache_died(&mut self, child: &ActorCell) -> bool {
        self.cache.take_if(|cache| cache.get_id() == child.get_id()).is_some()
    }

    /// Whether this was the Tracer, which is then no longer there.
    pub(super) fn tracer_died(&mut self, child: &ActorCell) -> bool {
        self.tracer
            .take_if(|tracer| tracer.get_id() == child.get_id())
            .is_some()
    }

    pub(super) fn is_stopping(&self, number: u64) -> bool {
        self.stopping.iter().any(|(stopping, _)| *stopping == number)
    }
}

impl SupervisorState {
    pub(super) async fn start(
        myself: ActorRef<SupervisorMessage>,
        arguments: SupervisorArguments,
    ) -> Result<Self, ActorProcessingErr> {
        let SupervisorArguments {
            replica,
            mailbox,
            exit,
            cancelled,
        } = arguments;
        let tap = replica.tap.clone();
        let warm = Warm {
            cache: Mailbox::new("InformerCache", tap.clone()),
            elector: Mailbox::new("Elector", tap.clone()),
            recorder: Mailbox::new("EventRecorder", tap.clone()),
            http: Mailbox::new("HttpServer", tap.clone()),
            tracer: Mailbox::new("Tracer", tap.clone()),
        };
        let tracing = replica
            .traces
            .as_ref()
            .map(|(_, ratio)| Tracing::new(warm.tracer.clone(), Arc::clone(&replica.metrics), *ratio));
        let parts = TermParts {
            assembled: Arc::new(AssembledConfig {
                config: replica.config.clone(),
                profiles: replica.profiles.clone(),
            }),
            effects: replica.effects.clone(),
            permits: replica.permits.clone(),
            client: replica.connections.main.clone(),
            cache: warm.cache.clone(),
            raw: RawPolicies::nothing(),
            watches: WatchPulses::default(),
            recorder: warm.recorder.clone(),
            elector: warm.elector.clone(),
            supervisor: mailbox.clone(),
            seed: replica.seed,
            clock: Arc::clone(&replica.clock),
            metrics: Arc::clone(&replica.metrics),
            tracing,
            tap,
        };
        let placeholder = myself.get_cell();
        let mut state = Self {
            mailbox,
            exit: Some(exit),
            cells: Cells {
                cache: None,
                stopping: Vec::new(),
                recorder: placeholder,
                http: None,
                tracer: None,
            },
            parts,
            term: None,
            terms: Terms::default(),
            term_is_over: false,
            cache_is_distrusted: false,
            caches: 0,
            shutting_down: false,
            reloads: 0,
            ending: false,
            restarts: Restarts::default(),
            tasks: TaskTracker::new(),
            watching: cancelled.child_token(),
            cancelled,
            warm,
            replica,
        };
        state.watch_depths();
        state.start_tracer(&myself).await?;
        state.start_recorder(&myself).await?;
        state.start_http(&myself).await?;
        state.start_elector(&myself).await?;
        let config = &state.replica.config;
        if config.delay_cache_until_active || !config.leader_election.leader_elect {
            // A cold standby reads nothing until it leads, and stands for election at once; and who need not be elected leads at
            // once. Either has lists to begin with that are younger than its term.
            state.warm.elector.tell(ElectorMessage::Begin);
        } else {
            state.start_cache(&myself).await?;
        }
        Ok(state)
    }

    fn watch_depths(&self) {
        fn watch<M: ractor::Message + Summary>(metrics: &plimsoll_telemetry::Metrics, mailbox: &Mailbox<M>) {
            let depth = mailbox.depth().clone();
            metrics.watch_mailbox(mailbox.name(), move || depth.get());
        }
        let metrics = &self.replica.metrics;
        watch(metrics, &self.warm.cache);
        watch(metrics, &self.warm.elector);
        watch(metrics, &self.warm.recorder);
        watch(metrics, &self.mailbox);
        if self.replica.traces.is_some() {
            watch(metrics, &self.warm.tracer);
        }
    }

    /// Unless nobody wants spans.
    pub(super) async fn start_tracer(
        &mut self,
        myself: &ActorRef<SupervisorMessage>,
    ) -> Result<(), ActorProcessingErr> {
        let Some((sink, _)) = &self.replica.traces else {
            return Ok(());
        };
        let arguments = TracerArguments {
            mailbox: self.warm.tracer.clone(),
            sink: sink.clone(),
            identity: self.replica.identity.clone(),
            clock: Arc::clone(&self.replica.clock),
        };
        let (actor, _) = Actor::spawn_linked(None, Tracer, arguments, myself.get_cell()).await?;
        self.cells.tracer = Some(actor.get_cell());
        self.warm.tracer.bind(actor);
        Ok(())
    }

    pub(super) async fn start_recorder(
        &mut self,
        myself: &ActorRef<SupervisorMessage>,
    ) -> Result<(), ActorProcessingErr> {
        let arguments = EventRecorderArguments {
            mailbox: self.warm.recorder.clone(),
            writer: EventWriter::new(self.replica.connections.events.clone()),
            host: self.replica.host.clone(),
            clock: Arc::clone(&self.replica.clock),
            metrics: Arc::clone(&self.replica.metrics),
        };
        let (actor, _) = Actor::spawn_linked(None, EventRecorder, arguments, myself.get_cell()).await?;
        self.cells.recorder = actor.get_cell();
        self.warm.recorder.bind(actor);
        Ok(())
    }

    pub(super) async fn start_http(&mut self, myself: &ActorRef<SupervisorMessage>) -> Result<(), ActorProcessingErr> {
        let Some(listen) = &self.replica.listen else {
            return Ok(());
        };
        let arguments = HttpServerArguments {
            mailbox: self.warm.http.clone(),
            listen: listen.clone(),
            cache: self.warm.cache.clone(),
            elector: self.warm.elector.clone(),
            supervisor: self.mailbox.clone(),
            tracing: self.parts.tracing.clone(),
            leader_elect: self.replica.config.leader_election.leader_elect,
            debug: self.replica.config.enable_profiling,
            metrics: Arc::clone(&self.replica.metrics),
        };
        let (actor, _) = Actor::spawn_linked(None, HttpServer, arguments, myself.get_cell()).await?;
        self.cells.http = Some(actor.get_cell());
        self.warm.http.bind(actor);
        Ok(())
    }

    async fn start_elector(&mut self, myself: &ActorRef<SupervisorMessage>) -> Result<(), ActorProcessingErr> {
        let config = self.replica.config.leader_election.clone();
        let client = self.replica.connections.leader_election.clone();
        let controller = self
            .replica
            .profiles
            .first()
            .map(|profile| profile.scheduler_name.clone());
        let coordinated = self
            .replica
            .config
            .feature_gates
            .enabled(Gate::CoordinatedLeaderElection);
        let candidate = (config.leader_elect && coordinated).then(|| {
            LeaseCandidateClient::new(
                client.clone(),
                config.resource_namespace.clone(),
                config.resource_name.clone(),
                self.replica.identity.clone(),
            )
        });
        let arguments = ElectorArguments {
            candidate,
            identity: self.replica.identity.clone(),
            lease: LeaseClient::new(client, config.resource_namespace.clone(), config.resource_name.clone())
                .advertising(self.replica.advertised.clone()),
            config,
            random: ChaCha8Rng::seed_from_u64(self.replica.seed ^ 0x1ea5e),
            mailbox: self.warm.elector.clone(),
            supervisor: self.mailbox.clone(),
            cache: self.warm.cache.clone(),
            recorder: self.warm.recorder.clone(),
            controller: controller.unwrap_or_default(),
            clock: Arc::clone(&self.replica.clock),
            metrics: Arc::clone(&self.replica.metrics),
            tracing: self.parts.tracing.clone(),
        };
        let (actor, _) = Actor::spawn_linked(None, Elector, arguments, myself.get_cell()).await?;
        self.warm.elector.bind(actor);
        Ok(())
    }

    /// Starts the cache empty, with watches of its own.
    pub(super) async fn start_cache(&mut self, myself: &ActorRef<SupervisorMessage>) -> Result<(), ActorProcessingErr> {
        self.watching.cancel();
        self.watching = self.cancelled.child_token();
        self.caches += 1;
        self.cache_is_distrusted = false;
        let watches = WatchPulses::default();
        let demand = RawDemand::new(self.parts.assembled.raw_policy());
        self.parts.raw = demand.policies();
        self.parts.watches = watches.clone();
        let arguments = InformerCacheArguments {
            mailbox: self.warm.cache.clone(),
            elector: self.warm.elector.clone(),
            raw: demand,
            watches: watches.clone(),
            metrics: Arc::clone(&self.replica.metrics),
        };
        let (actor, _) = Actor::spawn_linked(None, InformerCache, arguments, myself.get_cell()).await?;
        self.cells.cache = Some(actor.get_cell());
        self.warm.cache.bind(actor);
        self.watch::<Pods>(1, &watches);
        self.watch::<Nodes>(2, &watches);
        self.watch::<Namespaces>(3, &watches);
        self.watch::<Services>(4, &watches);
        self.watch::<ReplicationControllers>(5, &watches);
        self.watch::<ReplicaSets>(6, &watches);
        self.watch::<StatefulSets>(7, &watches);
        self.watch::<DisruptionBudgets>(8, &watches);
        self.watch::<StorageClasses>(9, &watches);
        self.watch::<CsiDrivers>(10, &watches);
        self.watch::<CsiNodes>(11, &watches);
        self.watch::<CsiStorageCapacities>(12, &watches);
        self.watch::<VolumeAttachments>(13, &watches);
        self.watch::<PersistentVolumes>(14, &watches);
        self.watch::<PersistentVolumeClaims>(15, &watches);
        let synced = self.warm.cache.ask("Supervisor", CacheMessage::AwaitSynced);
        let mailbox = self.mailbox.clone();
        let watching = self.watching.clone();
        self.tasks.spawn(async move {
            if let Some(Ok(())) = watching.run_until_cancelled(synced).await {
                mailbox.tell(SupervisorMessage::Synced);
            }
        });
        Ok(())
    }

    /// What a watch that has listed everything tells, if anybody wants to know.
    fn tells_of_lists(&self) -> Option<ListingTeller> {
        let tracing = self.parts.tracing.clone()?;
        Some(ListingTeller::new(move |listing: Listing| {
            tracing.tell(TracerMessage::Operation(Box::new(Operation {
                name: if listing.again { "relist" } else { "list" },
                begun: listing.begun,
                ended: listing.ended,
                attributes: vec![
                    ("plimsoll.kind", listing.kind.to_owned()),
                    ("plimsoll.objects", listing.objects.to_string()),
                    ("plimsoll.streaming", listing.streaming.to_string()),
                ],
                whole: true,
                steps: Vec::new(),
                error: None,
            })));
        }))
    }

    /// `stream` tells the watches' random numbers apart.
    fn watch<K: CachedKind>(&self, stream: u64, watches: &WatchPulses) {
        let (sink, batches) = mpsc::channel(watch_feed::CHANNEL);
        let mut random = ChaCha8Rng::seed_from_u64(self.replica.seed);
        random.set_stream(stream);
        let watching = Watch::<K>::new(self.replica.connections.main.clone(), random)
            .keeping(self.parts.raw.clone())
            .with_pulse(watches.of(K::KIND).clone())
            .telling(self.tells_of_lists());
        self.tasks.spawn(watching.run(sink, self.watching.clone()));
        let feeding = watch_feed::feed(batches, self.warm.cache.pinned(), K::message);
        let cancelled = self.watching.clone();
        let mailbox = self.mailbox.clone();
        let cache = self.caches;
        self.tasks.spawn(async move {
            // It ends by itself only when the watch has died.
            if cancelled.run_until_cancelled(feeding).await.is_some() && !cancelled.is_cancelled() {
                let kind = K::KIND;
                mailbox.tell(SupervisorMessage::WatchEnded { cache, kind });
            }
        });
    }
}
