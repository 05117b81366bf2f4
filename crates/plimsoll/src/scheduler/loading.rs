//! From the text of a configuration to profiles that are ready to be used.

use std::path::PathBuf;
use std::sync::Arc;

use plimsoll_client::{Access, SystemClock, connect, read_config_map};
use plimsoll_config::SchedulerConfig;
use plimsoll_framework::Profile;
use plimsoll_telemetry::logs::V2;

use super::config_file::{self, Content};
use super::{RunError, Scheduler, extenders, join, test_panic};
use crate::config_source::{ConfigOptions, ConfigSource, ConfigSourceError, LoadedConfig, POLICY_KEY};

/// All that a configuration depends on besides its text.
pub(super) struct Loader {
    pub(super) scheduler: Scheduler,
    pub(super) source: ConfigOptions,
    /// The defaults with all flags applied.
    pub(super) by_flags: SchedulerConfig,
}

impl Loader {
    /// Decodes, completes and checks a configuration as a whole, down to its plugins.
    pub(super) async fn load(&self, text: &str) -> Result<(LoadedConfig, Vec<Arc<Profile>>), RunError> {
        let is_plugin = |name: &str| self.scheduler.registry.names().any(|known| known == name);
        let mut loaded = self.source.complete(&self.by_flags, text, &is_plugin)?;
        if matches!(self.source.source, ConfigSource::File(_)) {
            // A file says itself what it wants; only the flag for tests goes beyond it.
            let joining = self.scheduler.joining.iter();
            let for_tests: Vec<_> = joining
                .filter(|plugin| plugin.name == test_panic::NAME)
                .cloned()
                .collect();
            join(&for_tests, &mut loaded.config.profiles);
        } else {
            self.scheduler.complete(&mut loaded.config.profiles);
        }
        let client = &loaded.config.client_connection;
        if client.burst == 0 && client.qps > 0.0 {
            return Err(RunError::NoBurst);
        }
        let election = &loaded.config.leader_election;
        if election.leader_elect {
            election.validate_lock().map_err(RunError::ResourceLock)?;
        }
        extenders::check(&loaded.config).await?;
        let profiles = self.scheduler.assemble(&loaded.config)?;
        Ok((loaded, profiles))
    }

    /// The file that the configuration is in, if it is in one.
    pub(super) fn file(&self) -> Option<PathBuf> {
        self.source.file().map(PathBuf::from)
    }

    /// Where the API server is: a configuration file says it itself, save for `--master`.
    pub(super) fn access(&self, by_flags: Access, config: &SchedulerConfig) -> Access {
        if !matches!(self.source.source, ConfigSource::File(_)) {
            return by_flags;
        }
        let kubeconfig = &config.client_connection.kubeconfig;
        Access {
            kubeconfig: (!kubeconfig.is_empty()).then(|| PathBuf::from(kubeconfig)),
            master: by_flags.master,
        }
    }

    /// The text that the configuration is made from; none when it is made from flags.
    pub(super) async fn read(&self, access: &Access, clock: SystemClock) -> Result<Content, RunError> {
        match &self.source.source {
            ConfigSource::Flags => Ok(Content::default()),
            ConfigSource::PolicyFile(path) if !path.exists() => {
                Err(ConfigSourceError::NoPolicyFile(path.clone()).into())
            }
            ConfigSource::File(path) => {
                let path = path.clone();
                let read = config_file::read(&path).await;
                read.map_err(|cause| ConfigSourceError::Read { path, cause }.into())
            }
            ConfigSource::PolicyFile(path) => {
                let path = path.clone();
                let read = config_file::read(&path).await;
                read.map_err(|cause| ConfigSourceError::ReadPolicy { path, cause }.into())
            }
            ConfigSource::PolicyConfigMap { namespace, name } => {
                let (connection, election) = (&self.by_flags.client_connection, &self.by_flags.leader_election);
                let connections = connect(access, connection, election, Arc::new(clock)).await?;
                let data = read_config_map(&connections.main, namespace, name)
                    .await
                    .map_err(|cause| ConfigSourceError::ConfigMap {
                        namespace: namespace.clone(),
                        name: name.clone(),
                        cause,
                    })?;
                let text = data.get(POLICY_KEY).ok_or(ConfigSourceError::NoPolicy)?;
                Ok(Content {
                    text: text.clone(),
                    hash: String::new(),
                })
            }
        }
    }

    /// Tells what is to be said of a configuration whenever it is taken.
    pub(super) fn tell_notes(&self, loaded: &LoadedConfig) {
        for note in &loaded.notes {
            tracing::warn!("{note}");
        }
        for plugin in &loaded.overridden_defaults {
            tracing::info!(plugin, "Default plugin is explicitly re-configured; overriding");
        }
        // What a Policy names it does not configure anew.
        if matches!(self.source.source, ConfigSource::File(_)) {
            for plugin in loaded
                .config
                .profiles
                .iter()
                .flat_map(|profile| profile.plugins.overridden())
            {
                tracing::info!(plugin, "MultiPoint plugin is explicitly re-configured; overriding");
            }
        }
    }

    /// Tells what an operator may want to know of the configuration and its flags.
    pub(super) fn tell(&self, loaded: &LoadedConfig) {
        for warning in &self.source.gate_warnings {
            tracing::warn!(
                featureGate = warning.gate.spec().name,
                value = warning.value,
                "{warning}"
            );
        }
        for flag in &self.source.ignored {
            tracing::warn!(flag, "This flag has no effect beside --config");
        }
        self.tell_notes(loaded);
        tracing::info!(name: V2, config = loaded.config.to_yaml(loaded.kind), "Using component config");
    }
}
