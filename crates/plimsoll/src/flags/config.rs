//! Which flags have a say in the configuration: all without `--config`, and with it those of leader election alone.

use std::path::PathBuf;

use clap::ArgMatches;
use clap::parser::ValueSource;
use plimsoll_config::{ClientConnection, ElectionOverrides, FeatureGates, ParsedGates, SchedulerConfig, load};

use super::{FlagError, Flags, given};
use crate::config_source::{ConfigOptions, ConfigSource};

/// kube-scheduler's default configuration as a file. Gates have a say in it.
const NOTHING_SET: &str = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

/// Flags that a configuration file replaces.
const DEPRECATED: [(&str, &str); 6] = [
    ("kubeconfig", "--kubeconfig"),
    ("kube_api_content_type", "--kube-api-content-type"),
    ("kube_api_qps", "--kube-api-qps"),
    ("kube_api_burst", "--kube-api-burst"),
    ("profiling", "--profiling"),
    ("contention_profiling", "--contention-profiling"),
];

fn is_set(matches: &ArgMatches, id: &str) -> bool {
    matches.value_source(id) == Some(ValueSource::CommandLine)
}

impl Flags {
    /// Where the configuration comes from, and the defaults with all flags applied.
    pub(super) fn configuration(&self, matches: &ArgMatches) -> Result<(ConfigOptions, SchedulerConfig), FlagError> {
        let ParsedGates { gates, warnings } = FeatureGates::parse(self.feature_gates.iter().map(String::as_str))?;
        let source = self.source()?;
        let ignored = DEPRECATED
            .iter()
            .filter(|(id, _)| matches!(source, ConfigSource::File(_)) && is_set(matches, id));
        let options = ConfigOptions {
            ignored: ignored.map(|(_, flag)| *flag).collect(),
            election: self.election_overrides(matches),
            gate_warnings: warnings,
            source,
        };
        Ok((options, self.by_flags(&gates, matches)?))
    }

    fn source(&self) -> Result<ConfigSource, FlagError> {
        let path = |text: &str| given(text.to_owned()).map(PathBuf::from);
        let policy = &self.policy;
        let source = match (path(&self.config), path(&policy.policy_config_file)) {
            (Some(_), _) if !policy.policy_configmap.is_empty() => {
                return Err(FlagError::PolicyWithConfig("policy-configmap"));
            }
            (Some(_), Some(_)) => return Err(FlagError::PolicyWithConfig("policy-config-file")),
            (Some(file), None) => ConfigSource::File(file),
            _ if !policy.policy_configmap.is_empty() => ConfigSource::PolicyConfigMap {
                namespace: policy.policy_configmap_namespace.clone(),
                name: policy.policy_configmap.clone(),
            },
            (None, Some(file)) => ConfigSource::PolicyFile(file),
            (None, None) => ConfigSource::Flags,
        };
        Ok(source)
    }

    /// The defaults with what flags say.
    fn by_flags(&self, gates: &FeatureGates, matches: &ArgMatches) -> Result<SchedulerConfig, FlagError> {
        let defaults = load(NOTHING_SET, gates).map_err(|error| FlagError::Usage(error.to_string()))?;
        let contention = if is_set(matches, "contention_profiling") {
            self.contention_profiling
        } else {
            defaults.enable_contention_profiling
        };
        Ok(SchedulerConfig {
            leader_election: self.election.config(),
            client_connection: ClientConnection {
                kubeconfig: self.kubeconfig.clone(),
                content_type: self.kube_api_content_type.clone(),
                qps: self.kube_api_qps,
                burst: self.kube_api_burst,
                ..defaults.client_connection
            },
            enable_profiling: self.profiling,
            enable_contention_profiling: contention,
            bind_pods_qps: self.bind_pods_qps,
            bind_pods_burst: self.bind_pods_burst,
            pod_max_in_unschedulable_pods_duration: self.pod_max_in_unschedulable_pods_duration,
            ..defaults
        })
    }

    fn election_overrides(&self, matches: &ArgMatches) -> ElectionOverrides {
        fn set<T>(matches: &ArgMatches, id: &str, value: T) -> Option<T> {
            is_set(matches, id).then_some(value)
        }
        let flags = &self.election;
        ElectionOverrides {
            leader_elect: set(matches, "leader_elect", flags.leader_elect),
            lease_duration: set(
                matches,
                "leader_elect_lease_duration",
                flags.leader_elect_lease_duration.into(),
            ),
            renew_deadline: set(
                matches,
                "leader_elect_renew_deadline",
                flags.leader_elect_renew_deadline.into(),
            ),
            retry_period: set(
                matches,
                "leader_elect_retry_period",
                flags.leader_elect_retry_period.into(),
            ),
            resource_lock: set(
                matches,
                "leader_elect_resource_lock",
                flags.leader_elect_resource_lock.clone(),
            ),
            resource_name: set(
                matches,
                "leader_elect_resource_name",
                flags.leader_elect_resource_name.clone(),
            ),
            resource_namespace: set(
                matches,
                "leader_elect_resource_namespace",
                flags.leader_elect_resource_namespace.clone(),
            ),
        }
    }
}
