//! Where the configuration comes from, and how it becomes one: from flags, from a file, or from a legacy Policy.

use std::io;
use std::path::{Path, PathBuf};

use plimsoll_config::{
    ConfigError, ConfigKind, ElectionOverrides, GateWarning, PolicyErrors, SchedulerConfig, decode, decode_policy,
};

/// The key of a legacy Policy in its `ConfigMap`.
pub const POLICY_KEY: &str = "policy.cfg";

/// Where the configuration comes from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ConfigSource {
    /// From the flags alone.
    #[default]
    Flags,
    /// From the file of `--config`.
    File(PathBuf),
    /// From the Policy of `--policy-config-file`.
    PolicyFile(PathBuf),
    /// From the Policy of `--policy-configmap`; it is read once.
    PolicyConfigMap {
        /// `--policy-configmap-namespace`
        namespace: String,
        /// `--policy-configmap`
        name: String,
    },
}

/// What the command line says about where the configuration comes from.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ConfigOptions {
    /// Where it comes from.
    pub source: ConfigSource,
    /// Flags of leader election that were set; they go before the file.
    pub election: ElectionOverrides,
    /// Flags that were set and count for nothing beside a file.
    pub ignored: Vec<&'static str>,
    /// What to say about feature gates.
    pub gate_warnings: Vec<GateWarning>,
}

/// A configuration and what is to be said about it.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedConfig {
    /// The configuration, complete and valid.
    pub config: SchedulerConfig,
    /// The kind of file that can say all of it.
    pub kind: ConfigKind,
    /// What is no error and still better known.
    pub notes: Vec<String>,
    /// Default plugins of which the file says something of its own, in the order of the defaults.
    pub overridden_defaults: Vec<String>,
}

/// Why there is no configuration. Texts are kube-scheduler's, those about Policies from the releases that read them.
#[derive(Debug, thiserror::Error)]
pub enum ConfigSourceError {
    /// The file cannot be read.
    #[error("{} {}: {}", attempted(cause), path.display(), lower(cause))]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// The file is no configuration, or not a valid one.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The file of a Policy is not there.
    #[error("missing policy config file {}", .0.display())]
    NoPolicyFile(PathBuf),
    /// The file of a Policy cannot be read.
    #[error("couldn't read policy config: {} {}: {}", attempted(cause), path.display(), lower(cause))]
    ReadPolicy {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// The Policy cannot be decoded.
    #[error("invalid policy: {0}")]
    Policy(ConfigError),
    /// The Policy cannot be used.
    #[error("{0}")]
    PolicyConversion(PolicyErrors),
    /// The `ConfigMap` cannot be read.
    #[error("couldn't get policy config map {namespace}/{name}: {cause}")]
    ConfigMap {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// Why.
        cause: String,
    },
    /// The `ConfigMap` has no Policy.
    #[error("missing policy config map value at key {POLICY_KEY:?}")]
    NoPolicy,
}

/// What Go says was attempted.
fn attempted(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::IsADirectory | io::ErrorKind::InvalidData => "read",
        _ => "open",
    }
}

/// As Go words errors of the operating system.
pub(crate) fn lower(cause: &io::Error) -> String {
    let text = cause.to_string();
    match text.split_once(" (os error") {
        Some((by_system, _)) => by_system.to_lowercase(),
        None => text,
    }
}

impl ConfigOptions {
    /// The file to read, and to read again when it changes.
    pub fn file(&self) -> Option<&Path> {
        match &self.source {
            ConfigSource::File(path) | ConfigSource::PolicyFile(path) => Some(path),
            ConfigSource::Flags | ConfigSource::PolicyConfigMap { .. } => None,
        }
    }

    /// The configuration that a text from the source means. `by_flags` are the defaults with all flags applied;
    /// `is_plugin` knows the names of the registry.
    ///
    /// # Errors
    /// When the text is none, with all its faults.
    pub fn complete(
        &self,
        by_flags: &SchedulerConfig,
        text: &str,
        is_plugin: &dyn Fn(&str) -> bool,
    ) -> Result<LoadedConfig, ConfigSourceError> {
        match &self.source {
            ConfigSource::Flags => Ok(LoadedConfig {
                config: by_flags.clone(),
                kind: ConfigKind::KubeScheduler,
                notes: Vec::new(),
                overridden_defaults: Vec::new(),
            }),
            ConfigSource::File(_) => self.read_file(by_flags, text),
            ConfigSource::PolicyFile(_) | ConfigSource::PolicyConfigMap { .. } => {
                from_policy(by_flags, text, is_plugin)
            }
        }
    }

    fn read_file(&self, by_flags: &SchedulerConfig, text: &str) -> Result<LoadedConfig, ConfigSourceError> {
        let mut loaded = decode(text, &by_flags.feature_gates)?;
        let (kind, notes) = (loaded.kind(), loaded.warnings().to_vec());
        let overridden_defaults = loaded.overridden_defaults();
        loaded.override_election(&self.election);
        let config = SchedulerConfig {
            // No file can say these, so the flags count.
            pod_max_in_unschedulable_pods_duration: by_flags.pod_max_in_unschedulable_pods_duration,
            bind_pods_qps: by_flags.bind_pods_qps,
            bind_pods_burst: by_flags.bind_pods_burst,
            ..loaded.validate()?
        };
        Ok(LoadedConfig {
            config,
            kind,
            notes,
            overridden_defaults,
        })
    }
}

/// The configuration that a legacy Policy means.
///
/// # Errors
/// When the text is no Policy, or names what nobody knows.
pub fn from_policy(
    by_flags: &SchedulerConfig,
    text: &str,
    is_plugin: &dyn Fn(&str) -> bool,
) -> Result<LoadedConfig, ConfigSourceError> {
    let (policy, mut notes) = decode_policy(text).map_err(ConfigSourceError::Policy)?;
    let converted = policy
        .convert(by_flags, is_plugin)
        .map_err(ConfigSourceError::PolicyConversion)?;
    notes.extend(converted.notes.iter().map(ToString::to_string));
    Ok(LoadedConfig {
        config: converted.config,
        kind: ConfigKind::KubeScheduler,
        notes,
        overridden_defaults: Vec::new(),
    })
}
