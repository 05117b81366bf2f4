//! A configuration that is ready to be used.

use std::sync::Arc;

use plimsoll_config::{ExtenderConfig, Gate, SchedulerConfig};
use plimsoll_framework::Profile;
use plimsoll_model::RawPolicy;
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

    /// Of which objects extenders are sent the whole.
    pub fn raw_policy(&self) -> RawPolicy {
        let own = self
            .config
            .profiles
            .iter()
            .flat_map(|profile| &profile.extras.extenders);
        let extenders = self.config.extenders.iter().chain(own);
        extenders.fold(RawPolicy::NOTHING, |policy, extender| policy.or(sent_to(extender)))
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

/// Every call but a bind carries the pod. One that does not know nodes itself is sent nodes and victims whole, too.
fn sent_to(extender: &ExtenderConfig) -> RawPolicy {
    let narrows = !extender.filter_verb.is_empty() || !extender.prioritize_verb.is_empty();
    let preempts = !extender.preempt_verb.is_empty();
    RawPolicy {
        pending_pods: narrows || preempts,
        assigned_pods: preempts && !extender.node_cache_capable,
        nodes: narrows && !extender.node_cache_capable,
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

    type Set = fn(&mut ExtenderConfig);

    #[test]
    fn only_what_extenders_are_sent_is_kept_whole() {
        let verbs = |set: Set| {
            let mut extender = ExtenderConfig::default();
            set(&mut extender);
            extender
        };
        let policy = |pending_pods, assigned_pods, nodes| RawPolicy {
            pending_pods,
            assigned_pods,
            nodes,
        };
        let cases: [(Set, RawPolicy, RawPolicy); 4] = [
            (
                |extender| extender.bind_verb = "b".to_owned(),
                RawPolicy::NOTHING,
                RawPolicy::NOTHING,
            ),
            (
                |extender| extender.filter_verb = "f".to_owned(),
                policy(true, false, true),
                policy(true, false, false),
            ),
            (
                |extender| extender.prioritize_verb = "p".to_owned(),
                policy(true, false, true),
                policy(true, false, false),
            ),
            (
                |extender| extender.preempt_verb = "e".to_owned(),
                policy(true, true, false),
                policy(true, false, false),
            ),
        ];
        for (set, whole, names) in cases {
            let mut extender = verbs(set);
            assert_eq!(of(vec![extender.clone()], Vec::new()), whole, "{extender:?}");
            assert_eq!(of(Vec::new(), vec![extender.clone()]), whole, "{extender:?}");
            extender.node_cache_capable = true;
            assert_eq!(of(vec![extender.clone()], Vec::new()), names, "{extender:?}");
        }
        let (filter, preempt) = (verbs(cases[1].0), verbs(cases[3].0));
        assert_eq!(of(vec![filter], vec![preempt]), policy(true, true, true));
        assert_eq!(of(Vec::new(), Vec::new()), RawPolicy::NOTHING);
    }

    fn of(shared: Vec<ExtenderConfig>, own: Vec<ExtenderConfig>) -> RawPolicy {
        let mut config = SchedulerConfig {
            extenders: shared,
            ..SchedulerConfig::default()
        };
        config.profiles[0].extras.extenders = own;
        let profiles = Vec::new();
        AssembledConfig { config, profiles }.raw_policy()
    }
}
