use std::time::Duration;

use crate::{
    ClientConnection, ConfigError, ElectionConfig, ExtenderConfig, FeatureGates, GoDuration, PluginArgs, ProfileConfig,
    SchedulerConfig, TracingConfig,
};

/// A configuration as its file says it, defaults applied: with values that are still to be refused.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Draft {
    pub(crate) parallelism: i32,
    pub(crate) election: DraftElection,
    pub(crate) client: DraftClient,
    pub(crate) enable_profiling: bool,
    pub(crate) enable_contention_profiling: bool,
    pub(crate) percentage_of_nodes_to_score: Option<i32>,
    pub(crate) pod_initial_backoff_seconds: i64,
    pub(crate) pod_max_backoff_seconds: i64,
    pub(crate) profiles: Vec<ProfileConfig>,
    pub(crate) extenders: Vec<ExtenderConfig>,
    pub(crate) delay_cache_until_active: bool,
    pub(crate) tracing: TracingConfig,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DraftElection {
    pub(crate) leader_elect: bool,
    pub(crate) lease_duration: GoDuration,
    pub(crate) renew_deadline: GoDuration,
    pub(crate) retry_period: GoDuration,
    pub(crate) resource_lock: String,
    pub(crate) resource_name: String,
    pub(crate) resource_namespace: String,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DraftClient {
    pub(crate) kubeconfig: String,
    pub(crate) accept_content_types: String,
    pub(crate) content_type: String,
    pub(crate) qps: f32,
    pub(crate) burst: i32,
}

impl Default for Draft {
    fn default() -> Self {
        Self::of(&SchedulerConfig::default())
    }
}

impl Default for DraftElection {
    fn default() -> Self {
        Self::of(&ElectionConfig::default())
    }
}

impl Default for DraftClient {
    fn default() -> Self {
        Self::of(&ClientConnection::default())
    }
}

impl Draft {
    /// The file that would say this.
    pub(crate) fn of(config: &SchedulerConfig) -> Self {
        Self {
            parallelism: config.parallelism,
            election: DraftElection::of(&config.leader_election),
            client: DraftClient::of(&config.client_connection),
            enable_profiling: config.enable_profiling,
            enable_contention_profiling: config.enable_contention_profiling,
            percentage_of_nodes_to_score: config.percentage_of_nodes_to_score,
            pod_initial_backoff_seconds: seconds(config.pod_initial_backoff),
            pod_max_backoff_seconds: seconds(config.pod_max_backoff),
            profiles: config.profiles.clone(),
            extenders: config.extenders.clone(),
            delay_cache_until_active: config.delay_cache_until_active,
            tracing: config.tracing.clone(),
        }
    }

    /// The configuration it means once it has been validated. What no file says keeps its default.
    pub(crate) fn into_config(self, feature_gates: FeatureGates) -> SchedulerConfig {
        let seconds = |seconds: i64| Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
        SchedulerConfig {
            parallelism: self.parallelism,
            leader_election: ElectionConfig {
                leader_elect: self.election.leader_elect,
                negative: self.election.negative(),
                lease_duration: self.election.lease_duration.or_zero(),
                renew_deadline: self.election.renew_deadline.or_zero(),
                retry_period: self.election.retry_period.or_zero(),
                resource_lock: self.election.resource_lock,
                resource_name: self.election.resource_name,
                resource_namespace: self.election.resource_namespace,
            },
            client_connection: ClientConnection {
                kubeconfig: self.client.kubeconfig,
                accept_content_types: self.client.accept_content_types,
                content_type: self.client.content_type,
                qps: self.client.qps,
                burst: u32::try_from(self.client.burst).unwrap_or_default(),
            },
            enable_profiling: self.enable_profiling,
            enable_contention_profiling: self.enable_contention_profiling,
            percentage_of_nodes_to_score: self.percentage_of_nodes_to_score,
            pod_initial_backoff: seconds(self.pod_initial_backoff_seconds),
            pod_max_backoff: seconds(self.pod_max_backoff_seconds),
            profiles: self.profiles,
            extenders: self.extenders,
            delay_cache_until_active: self.delay_cache_until_active,
            tracing: self.tracing,
            feature_gates,
            ..SchedulerConfig::default()
        }
    }
}

fn seconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_secs()).unwrap_or(i64::MAX)
}

impl DraftElection {
    /// The three durations, if any is negative.
    fn negative(&self) -> Option<[GoDuration; 3]> {
        let durations = [self.lease_duration, self.renew_deadline, self.retry_period];
        durations
            .iter()
            .any(|duration| *duration < GoDuration::ZERO)
            .then_some(durations)
    }

    fn of(config: &ElectionConfig) -> Self {
        let durations = [config.lease_duration, config.renew_deadline, config.retry_period];
        let [lease_duration, renew_deadline, retry_period] =
            config.negative.unwrap_or_else(|| durations.map(GoDuration::from));
        Self {
            leader_elect: config.leader_elect,
            lease_duration,
            renew_deadline,
            retry_period,
            resource_lock: config.resource_lock.clone(),
            resource_name: config.resource_name.clone(),
            resource_namespace: config.resource_namespace.clone(),
        }
    }
}

impl DraftClient {
    fn of(config: &ClientConnection) -> Self {
        Self {
            kubeconfig: config.kubeconfig.clone(),
            accept_content_types: config.accept_content_types.clone(),
            content_type: config.content_type.clone(),
            qps: config.qps,
            burst: i32::try_from(config.burst).unwrap_or(i32::MAX),
        }
    }
}

impl SchedulerConfig {
    /// Lets extenders that check resources themselves take them out of the fit check of the profiles that call them. The
    /// names replace those that the profile's `NodeResourcesFit` had.
    ///
    /// # Errors
    /// When such a profile has no `NodeResourcesFit`.
    pub(crate) fn ignore_managed_resources(&mut self) -> Result<(), ConfigError> {
        for profile in &mut self.profiles {
            let extenders = self.extenders.iter().chain(&profile.extras.extenders);
            let managed = extenders.flat_map(|extender| &extender.managed_resources);
            let ignored = managed.filter(|resource| resource.ignored_by_scheduler);
            let ignored: Vec<String> = ignored.map(|resource| resource.name.clone()).collect();
            if ignored.is_empty() {
                continue;
            }
            let mut entries = profile.plugin_config.iter_mut();
            let fit = entries.find_map(|entry| match &mut entry.args {
                PluginArgs::NodeResourcesFit(args) => Some(args),
                _ => None,
            });
            fit.ok_or(ConfigError::NoFitArgs)?.ignored_resources = ignored;
        }
        Ok(())
    }
}
