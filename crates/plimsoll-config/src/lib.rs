//! What an operator may set, with kube-scheduler's names, units and defaults.
//!
//! This crate holds plain values: nothing here reads a file, a clock or the environment.

mod election;
mod extender;
mod feature_gates;
mod go_duration;
mod plugin_args;
mod plugins;
mod profile;
mod scheduler;

pub use election::{ElectionConfig, ElectionConfigError, JITTER_FACTOR};
pub use extender::{ExtenderConfig, ExtenderTls, ManagedResource};
pub use feature_gates::{FeatureGates, Gate, GateSpec, Stage};
pub use go_duration::{GoDuration, GoDurationError, parse_go_duration};
pub use plugin_args::{
    DefaultPreemptionArgs, DefaultSpreadConstraint, DefaultingType, DynamicResourcesArgs, InterPodAffinityArgs,
    NodeAffinityArgs, NodeLabelArgs, NodeResourcesBalancedAllocationArgs, NodeResourcesFitArgs, PluginArgs,
    PodTopologySpreadArgs, ResourceWeight, ScoringStrategy, ScoringStrategyType, ServiceAffinityArgs,
    UtilizationShapePoint, VolumeBindingArgs, WeightedLabel,
};
pub use plugins::{PluginRef, PluginSet, Plugins};
pub use profile::{DEFAULT_SCHEDULER_NAME, MatchRule, PluginConfig, ProfileBackoff, ProfileConfig, ProfileExtras};
pub use scheduler::{ClientConnection, SchedulerConfig};
