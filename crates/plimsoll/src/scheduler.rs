//! A scheduler process: from options and plugins to a running replica, and from its end to an exit code.

mod builder;
mod config_file;
mod description;
mod extenders;
mod identity;
mod loading;
mod reload;
mod restart;
mod signals;
mod test_panic;
mod tracing_setup;
mod watchdog;

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;

use futures::future::{Either, select};
use plimsoll_actors::effects::Effects;
use plimsoll_actors::http_server::Listen;
use plimsoll_actors::permits::Permits;
use plimsoll_actors::supervisor::{Exit, Replica, RunningReplica};
use plimsoll_client::{Access, Clock, ConnectError, SystemClock, connect};
use plimsoll_config::{ElectionConfigError, PluginRef, PluginSet, ProfileConfig, ResourceLockError, SchedulerConfig};
use plimsoll_framework::{Profile, Profiles, ProfilesError, Registry};
use plimsoll_telemetry::logs::V2;
use plimsoll_telemetry::{Metrics, MetricsPolicy};
use ractor::SpawnErr;

pub use self::builder::SchedulerBuilder;
use self::config_file::ConfigFile;
use self::identity::Identity;
use self::loading::Loader;
use self::reload::Reloads;
use self::signals::{Signal, Signals};
use self::tracing_setup::Traces;
use self::watchdog::Watchdog;
use crate::config_source::{ConfigOptions, ConfigSourceError, LoadedConfig, lower};
use crate::flags::GivenFlags;
use crate::logging::{self, Logging};
use crate::serving::{Serving, ServingError};
use crate::version;

/// What the command line says.
#[derive(Debug)]
pub struct Options {
    /// Where the API server is. A configuration file has a kubeconfig of its own.
    pub access: Access,
    /// The defaults with all flags applied: the configuration, when there is no file. Plugins that the builder was told to
    /// enable join its profiles.
    pub config: SchedulerConfig,
    /// Where the configuration comes from.
    pub source: ConfigOptions,
    /// Where to write the configuration, and nothing more is done.
    pub write_config_to: Option<PathBuf>,
    /// Where, how and to whom to serve health and metrics, if at all.
    pub serving: Option<Serving>,
    /// What metrics do not show.
    pub metrics: MetricsPolicy,
    /// What is logged; see [`crate::logging::install`].
    pub logging: Logging,
    /// The flags themselves, for the log and for whoever asks.
    pub flags: GivenFlags,
    /// What is reported as the version in place of the build's own: see [`version::check_reported`].
    pub version: Option<String>,
    /// Stands for the host's name.
    pub host: Option<String>,
    /// Pods with this label make a plugin panic. For tests of what happens then.
    pub test_panic_label: Option<String>,
}

impl Options {
    /// An API server at this address that wants no credentials, and defaults: kube-scheduler's default profile. Nothing is
    /// served, and there is no leader election: this is the only replica.
    pub fn of_server(url: impl Into<String>) -> Self {
        let mut config = SchedulerConfig::default();
        config.leader_election.leader_elect = false;
        Self {
            access: Access {
                kubeconfig: None,
                master: Some(url.into()),
            },
            config,
            source: ConfigOptions::default(),
            write_config_to: None,
            serving: None,
            metrics: MetricsPolicy::default(),
            logging: Logging::default(),
            flags: GivenFlags::default(),
            version: None,
            host: None,
            test_panic_label: None,
        }
    }
}

/// Why a scheduler did not start, or ended with something amiss. The process ends with code 1.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// There is no valid configuration.
    #[error(transparent)]
    Config(#[from] ConfigSourceError),
    /// An extender could not be called as it is configured: most often, a certificate is missing.
    #[error("couldn't build extenders: {0}")]
    Extenders(String),
    /// The configuration cannot be written where it should be.
    #[error("open {}: {}", path.display(), lower(cause))]
    WriteConfig {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// No request could be sent; the text is client-go's.
    #[error("burst is required to be greater than 0 when RateLimiter is not set and QPS is set to greater than 0")]
    NoBurst,
    /// The lock of leader election is of a kind that there is not.
    #[error("couldn't create resource lock: {0}")]
    ResourceLock(ResourceLockError),
    /// The durations of leader election do not fit together.
    #[error("couldn't create leader elector: {0}")]
    Election(ElectionConfigError),
    /// The API server's address or our credentials are unusable.
    #[error("cannot connect to the API server")]
    Connect(#[from] ConnectError),
    /// The profiles name plugins that cannot be put together.
    #[error("initializing profiles: {0}")]
    Profiles(ProfilesError),
    /// There is no profile.
    #[error("{}", ProfilesError::None)]
    NoProfile,
    /// Traces are wanted, and cannot be sent as it is said.
    #[error("couldn't set up tracing: {0}")]
    Tracing(String),
    /// No signals can be received.
    #[error("cannot listen for signals")]
    Signals(#[source] std::io::Error),
    /// The thread that watches the others does not start.
    #[error("cannot start the watchdog")]
    Watchdog(#[source] std::io::Error),
    /// Nothing can be served as asked for.
    #[error(transparent)]
    Serving(#[from] ServingError),
    /// An actor did not start: most often, the port is taken.
    #[error("cannot start: {0}")]
    Start(String),
    /// Something broke that the replica cannot mend.
    #[error("{0}")]
    Failed(String),
    /// Without leader election there is no orderly end: kube-scheduler's word and exit code.
    #[error("finished without leader elect")]
    WithoutElection,
}

impl From<ProfilesError> for RunError {
    fn from(error: ProfilesError) -> Self {
        match error {
            ProfilesError::None => Self::NoProfile,
            other => Self::Profiles(other),
        }
    }
}

/// A scheduler with its plugins, ready to run.
pub struct Scheduler {
    registry: Registry,
    /// Plugins that join the default profile, with their weights.
    joining: Vec<PluginRef>,
    effects: Effects,
    permits: Permits,
}

impl Scheduler {
    /// Starts from the plugins of kube-scheduler.
    pub fn builder() -> SchedulerBuilder {
        SchedulerBuilder::new()
    }

    /// Runs until SIGTERM or SIGINT, or until something is beyond repair. `Ok` is exit code 0, `Err` is 1.
    ///
    /// A second signal ends the process at once with code 1. So does a thread of its own when nothing in it answers for half a
    /// minute, or when the replica has failed and the process is still there after ten seconds: a plugin that does not return
    /// keeps the runtime from being dropped.
    ///
    /// # Errors
    /// When the scheduler does not start, or does not end in order.
    pub async fn run(self, options: Options) -> Result<(), RunError> {
        let mut signals = Signals::listen().map_err(RunError::Signals)?;
        let Some(Started {
            mut replica,
            reloads,
            leader_elect,
            traces,
        }) = Box::pin(self.start(options)).await?
        else {
            return Ok(());
        };
        let watchdog = Watchdog::start(replica.lifeline(), watchdog::end_process).map_err(RunError::Watchdog)?;
        let exit = beside(reloads, until_ended(&mut replica, &mut signals)).await;
        if let Some(traces) = traces {
            traces.finish().await;
        }
        match exit {
            Exit::Terminated if leader_elect => Ok(()),
            Exit::Terminated => Err(RunError::WithoutElection),
            Exit::Failed(why) => {
                tracing::error!("{why}");
                watchdog.has_failed();
                Err(RunError::Failed(why))
            }
        }
    }

    /// Runs until `stop` is done, or until something is beyond repair: for programs that are more than a scheduler. Signals
    /// are left alone.
    ///
    /// # Errors
    /// When the scheduler does not start, or does not end in order.
    pub async fn run_until(self, options: Options, stop: impl Future<Output = ()>) -> Result<(), RunError> {
        let Some(Started {
            replica: mut running,
            reloads,
            traces,
            ..
        }) = Box::pin(self.start(options)).await?
        else {
            return Ok(());
        };
        let ending = async {
            if let Either::Left((exit, _)) = select(pin!(running.ended()), pin!(stop)).await {
                return exit;
            }
            running.shutdown();
            running.ended().await
        };
        let exit = beside(reloads, ending).await;
        if let Some(traces) = traces {
            traces.finish().await;
        }
        match exit {
            Exit::Terminated => Ok(()),
            Exit::Failed(why) => Err(RunError::Failed(why)),
        }
    }

    /// Puts the plugins that join into profiles that nobody has written.
    fn complete(&self, profiles: &mut [ProfileConfig]) {
        join(&self.joining, profiles);
    }

    fn assemble(&self, config: &SchedulerConfig) -> Result<Vec<Arc<Profile>>, RunError> {
        let share = config.percentage_of_nodes_to_score;
        let profiles = Profiles::assemble(
            &config.profiles,
            share,
            &config.extenders,
            &self.registry,
            &config.feature_gates,
        )?;
        for profile in &config.profiles {
            tracing::info!(
                name: V2, profile = profile.scheduler_name, Plugins = names(&profile.plugins.multi_point),
                "the scheduler starts to work with those plugins"
            );
        }
        for extender in &config.extenders {
            tracing::info!(name: V2, extender = extender.url_prefix, "Creating extender");
        }
        for missing in plimsoll_plugins::missing() {
            let kept = |profile: &Arc<Profile>| profile.not_there_yet.iter().any(|name| name == missing.plugin);
            if profiles.iter().any(kept) {
                tracing::warn!(plugin = missing.plugin, "Not there yet: {}", missing.what);
            }
        }
        Ok(profiles)
    }

    /// Nothing is started when the configuration was to be written only.
    async fn start(mut self, options: Options) -> Result<Option<Started>, RunError> {
        crate::install_crypto_provider();
        options.flags.tell();
        let Identity { host, lease, seed } = Identity::new(options.host);
        let version = options.version.as_deref().unwrap_or(version::VERSION);
        tracing::info!(version, identity = lease, "Starting Kubernetes Scheduler");
        if let Some(label) = options.test_panic_label {
            tracing::warn!(label, "A plugin for tests is on: it panics on pods with this label");
            let extensions = test_panic::extensions(label);
            self.registry.add(test_panic::NAME, move |_| Ok(extensions.clone()));
            self.joining.push(PluginRef::new(test_panic::NAME, 0));
        }
        extenders::add_to(&mut self.effects);
        let (effects, permits) = (self.effects.clone(), self.permits.clone());
        let loader = Loader {
            scheduler: self,
            source: options.source,
            by_flags: options.config,
        };
        let clock = SystemClock;
        let content = loader.read(&options.access, clock).await?;
        let (complete, profiles) = loader.load(&content.text).await?;
        loader.tell(&complete);
        let LoadedConfig { config, kind, .. } = complete;
        if let Some(path) = options.write_config_to {
            return write_config(path, &config.to_yaml(kind)).await.map(|()| None);
        }
        if config.leader_election.leader_elect {
            config.leader_election.validate().map_err(RunError::Election)?;
        }
        let access = loader.access(options.access, &config);
        let (connection, election) = (&config.client_connection, &config.leader_election);
        let metrics = Arc::new(Metrics::with(&options.metrics));
        description::tell_build(metrics.build(), version, &config.feature_gates);
        let connections = connect(&access, connection, election, Arc::new(clock)).await?;
        let connections = connections.measured_by(metrics.rest_client());
        let traces = Traces::start(&config.tracing, (&lease, &host, version), &metrics)?;
        let listen = match options.serving {
            Some(serving) => {
                let about = description::about(&config, version, options.flags, clock);
                Some(serving.listen(about, metrics.rest_client(), Arc::new(clock)).await?)
            }
            None => None,
        };
        let leader_elect = election.leader_elect;
        let started_with = config.clone();
        let replica = Replica {
            identity: lease,
            host,
            config,
            profiles,
            effects,
            permits,
            connections,
            advertised: listen.as_ref().and_then(Listen::url),
            listen,
            seed,
            clock: Arc::new(clock),
            metrics: Arc::clone(&metrics),
            traces: traces.as_ref().map(|traces| (traces.sink.clone(), traces.ratio)),
            tap: None,
        };
        let replica = Box::pin(replica.start())
            .await
            .map_err(|error| RunError::Start(reason(error)))?;
        let reloads = loader.file().map(|path| ConfigFile::new(path, &content));
        let reloads = reloads.map(|file| {
            metrics
                .config()
                .loaded(&content.hash, clock.wall().as_duration().as_secs_f64());
            Reloads {
                file,
                loader,
                started: started_with,
                replica: replica.reconfigurer(),
                clock: Arc::new(clock),
                metrics,
            }
        });
        Ok(Some(Started {
            replica,
            reloads,
            leader_elect,
            traces,
        }))
    }
}

/// The plugins of a set, in order.
fn names(set: &PluginSet) -> String {
    let names: Vec<_> = set.enabled.iter().map(|plugin| plugin.name.as_str()).collect();
    names.join(",")
}

/// A replica that runs.
struct Started {
    replica: RunningReplica,
    /// Takes changes of the configuration file over, if there is one.
    reloads: Option<Reloads>,
    leader_elect: bool,
    traces: Option<Traces>,
}

/// Takes reloads over until something else is done.
async fn beside<T>(reloads: Option<Reloads>, done: impl Future<Output = T>) -> T {
    let Some(reloads) = reloads else { return done.await };
    match select(pin!(done), pin!(reloads.run())).await {
        Either::Left((done, _)) => done,
        Either::Right((never, _)) => match never {},
    }
}

/// Puts plugins into profiles, behind the others. One that takes the place of an in-tree plugin keeps that one's place and
/// weight.
fn join(joining: &[PluginRef], profiles: &mut [ProfileConfig]) {
    for profile in profiles {
        let enabled = &mut profile.plugins.multi_point.enabled;
        for joining in joining {
            if !enabled.iter().any(|plugin| plugin.name == joining.name) {
                enabled.push(joining.clone());
            }
        }
    }
}

async fn write_config(path: PathBuf, yaml: &str) -> Result<(), RunError> {
    if let Err(cause) = tokio::fs::write(&path, yaml).await {
        return Err(RunError::WriteConfig { path, cause });
    }
    tracing::info!(file = %path.display(), "Wrote configuration");
    Ok(())
}

impl std::fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scheduler")
            .field("registry", &self.registry)
            .field("effects", &self.effects)
            .finish_non_exhaustive()
    }
}

/// What went wrong in an actor that did not start, without the words of the actors above it.
fn reason(error: SpawnErr) -> String {
    match error {
        SpawnErr::StartupFailed(inner) => match inner.downcast::<SpawnErr>() {
            Ok(inner) => reason(*inner),
            Err(inner) => inner.to_string(),
        },
        other => other.to_string(),
    }
}

async fn until_ended(running: &mut RunningReplica, signals: &mut Signals) -> Exit {
    let mut asked_to_end = false;
    loop {
        let signal = match select(pin!(running.ended()), pin!(signals.next())).await {
            Either::Left((exit, _)) => return exit,
            Either::Right((signal, _)) => signal,
        };
        match signal {
            Signal::Debug => running.dump(),
            Signal::End if std::mem::replace(&mut asked_to_end, true) => {
                tracing::error!("A second signal: ending at once");
                logging::flush();
                std::process::exit(1)
            }
            Signal::End => running.shutdown(),
        }
    }
}

#[cfg(test)]
mod tests;
