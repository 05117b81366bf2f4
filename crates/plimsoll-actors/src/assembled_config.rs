//! A configuration that is ready to be used.

use std::sync::Arc;

use plimsoll_config::SchedulerConfig;
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
        QueueConfig {
            initial_backoff: self.config.pod_initial_backoff,
            max_backoff: self.config.pod_max_backoff,
            max_in_unschedulable: self.config.pod_max_in_unschedulable_pods_duration,
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
