//! A configuration that is ready to be used.

use std::sync::Arc;

use plimsoll_config::{Gate, SchedulerConfig};
use plimsoll_framework::Profile;
use plimsoll_queue::QueueConfig;

/// A configuration with its profiles put together, which nothing can go wrong with any more. It changes as a whole.
#[derive(Debug)]
pub struct AssembledConfig {
    /// The configuration.
    pub config: SchedulerConfig,
    /// Its profiles, assembled, in the same order.
    pub profiles: Vec<Arc<Profile>>,
}

impl AssembledConfig {
    pub(crate) fn queue(&self) -> QueueConfig {
        let gates = &self.config.feature_gates;
        QueueConfig {
            initial_backoff: self.config.pod_initial_backoff,
            max_backoff: self.config.pod_max_backoff,
            max_in_unschedulable: self.config.pod_max_in_unschedulable_pods_duration,
            pop_from_backoff: gates.enabled(Gate::SchedulerPopFromBackoffQ),
            generic_workload: gates.enabled(Gate::GenericWorkload),
            gang_scheduling: gates.enabled(Gate::GangScheduling),
        }
    }

    /// Names of the profiles, for logs.
    pub fn scheduler_names(&self) -> String {
        let names: Vec<_> = self
            .profiles
            .iter()
            .map(|profile| profile.scheduler_name.as_str())
            .collect();
        names.join(",")
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_config::FeatureGates;

    use super::*;

    #[test]
    fn the_queue_follows_the_feature_gates() {
        let queue = |gates: FeatureGates| {
            let config = SchedulerConfig {
                feature_gates: gates,
                ..SchedulerConfig::default()
            };
            let profiles = Vec::new();
            AssembledConfig { config, profiles }.queue()
        };
        assert_eq!(queue(FeatureGates::default()), QueueConfig::default());
        let off = queue(FeatureGates::default().with(Gate::SchedulerPopFromBackoffQ, false));
        assert!(!off.pop_from_backoff);
        let groups = FeatureGates::default()
            .with(Gate::GenericWorkload, true)
            .with(Gate::GangScheduling, true);
        let groups = queue(groups);
        assert!(groups.generic_workload && groups.gang_scheduling);
    }
}
