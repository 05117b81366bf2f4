//! What an operator may set, with kube-scheduler's names, units and defaults.
//!
//! This crate holds plain values: nothing here reads a file, a clock or the environment.
//! [`load`] turns the text of a configuration file into a [`SchedulerConfig`]; [`SchedulerConfig::to_yaml`] turns it back.

mod decode;
mod difference;
mod document;
mod draft;
mod election;
mod error;
mod extender;
mod feature_gates;
mod field_error;
mod go_duration;
mod hints;
mod listing;
mod plugin_args;
mod plugins;
mod policy;
mod position;
mod profile;
mod scheduler;
mod schema;
mod suggest;
mod tracing;
mod validate;
mod write;

pub use decode::{
    API_VERSION, ConfigKind, ElectionOverrides, KIND, Loaded, PLIMSOLL_API_VERSION, PLIMSOLL_KIND, decode,
    decode_policy, load,
};
pub use difference::{Difference, diff};
pub use election::{ElectionConfig, ElectionConfigError, JITTER_FACTOR, ResourceLockError};
pub use error::{ConfigError, Fault, FaultKind, Invalid, Problem};
pub use extender::{ExtenderConfig, ExtenderTls, ManagedResource};
pub use feature_gates::{FeatureGateError, FeatureGates, Gate, GateSpec, GateWarning, ParsedGates, Stage};
pub use field_error::{FieldError, FieldErrorKind, FieldErrors};
pub use go_duration::{GoDuration, GoDurationError, parse_go_duration};
pub use hints::plugin_hint;
pub use listing::{MOST_FAULTS, first_of, shortened};
pub use plugin_args::{
    DefaultPreemptionArgs, DefaultSpreadConstraint, DefaultingType, DynamicResourcesArgs, InterPodAffinityArgs,
    NodeAffinityArgs, NodeLabelArgs, NodeResourcesBalancedAllocationArgs, NodeResourcesFitArgs, PluginArgs,
    PodTopologySpreadArgs, ResourceWeight, ScoringStrategy, ScoringStrategyType, ServiceAffinityArgs,
    UtilizationShapePoint, VolumeBindingArgs, WeightedLabel,
};
pub use plugins::{PluginRef, PluginSet, Plugins};
pub use policy::{
    Converted, LabelPreference, LabelsPresence, Policy, PolicyError, PolicyErrors, PolicyNote, PredicateArgument,
    PredicatePolicy, PriorityArgument, PriorityPolicy, RequestedToCapacityRatio,
};
pub use position::Position;
pub use profile::{
    DEFAULT_SCHEDULER_NAME, MAX_PREEMPTION_LOOP_WINDOW, MatchRule, PluginConfig, PodDisruptionBudgetPolicy,
    ProfileBackoff, ProfileConfig, ProfileExtras,
};
pub use scheduler::{ClientConnection, DEFAULT_BIND_PODS_BURST, SchedulerConfig};
pub use schema::schema;
pub use tracing::TracingConfig;
