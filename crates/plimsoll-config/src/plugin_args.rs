//! The arguments of the plugins that take any, one type for each `…Args` kind, with kube-scheduler's defaults.

use plimsoll_model::NodeAffinity;

use crate::{FeatureGates, Gate, GoDuration};

/// The arguments of one plugin.
#[derive(Debug, Clone, PartialEq)]
pub enum PluginArgs {
    /// Of `DefaultPreemption`.
    DefaultPreemption(DefaultPreemptionArgs),
    /// Of `DynamicResources`.
    DynamicResources(DynamicResourcesArgs),
    /// Of `InterPodAffinity`.
    InterPodAffinity(InterPodAffinityArgs),
    /// Of `NodeAffinity`.
    NodeAffinity(NodeAffinityArgs),
    /// Of `NodeResourcesBalancedAllocation`.
    NodeResourcesBalancedAllocation(NodeResourcesBalancedAllocationArgs),
    /// Of `NodeResourcesFit`.
    NodeResourcesFit(NodeResourcesFitArgs),
    /// Of `PodTopologySpread`.
    PodTopologySpread(PodTopologySpreadArgs),
    /// Of `VolumeBinding`.
    VolumeBinding(VolumeBindingArgs),
    /// Of `ServiceAffinity`, a plugin of the legacy Policy.
    ServiceAffinity(ServiceAffinityArgs),
    /// Of `NodeLabel`, a plugin of the legacy Policy.
    NodeLabel(NodeLabelArgs),
    /// Of a plugin that is not in the tree: as written, not defaulted.
    Raw(serde_json::Value),
}

impl PluginArgs {
    /// The defaults of a plugin that has a kind of arguments; none when it has not.
    pub fn default_of(plugin: &str, gates: &FeatureGates) -> Option<Self> {
        Some(match plugin {
            "DefaultPreemption" => Self::DefaultPreemption(DefaultPreemptionArgs::default()),
            "DynamicResources" => Self::DynamicResources(DynamicResourcesArgs::with_gates(gates)),
            "InterPodAffinity" => Self::InterPodAffinity(InterPodAffinityArgs::default()),
            "NodeAffinity" => Self::NodeAffinity(NodeAffinityArgs::default()),
            "NodeResourcesBalancedAllocation" => {
                Self::NodeResourcesBalancedAllocation(NodeResourcesBalancedAllocationArgs::default())
            }
            "NodeResourcesFit" => Self::NodeResourcesFit(NodeResourcesFitArgs::default()),
            "PodTopologySpread" => Self::PodTopologySpread(PodTopologySpreadArgs::default()),
            "VolumeBinding" => Self::VolumeBinding(VolumeBindingArgs::with_gates(gates)),
            "ServiceAffinity" => Self::ServiceAffinity(ServiceAffinityArgs::default()),
            "NodeLabel" => Self::NodeLabel(NodeLabelArgs::default()),
            _ => return None,
        })
    }
}

impl PluginArgs {
    /// Whether they are of the kind that a plugin of this name takes.
    pub(crate) fn are_of(&self, plugin: &str) -> bool {
        let wanted = Self::default_of(plugin, &FeatureGates::default());
        wanted.is_none_or(|wanted| std::mem::discriminant(&wanted) == std::mem::discriminant(self))
    }
}

/// Which nodes preemption looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefaultPreemptionArgs {
    /// Share of the nodes, in percent.
    pub min_candidate_nodes_percentage: i32,
    /// At least this many.
    pub min_candidate_nodes_absolute: i32,
}

impl Default for DefaultPreemptionArgs {
    fn default() -> Self {
        Self {
            min_candidate_nodes_percentage: 10,
            min_candidate_nodes_absolute: 100,
        }
    }
}

/// How long device allocation may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DynamicResourcesArgs {
    /// For one node; zero is no limit.
    pub filter_timeout: Option<GoDuration>,
    /// Until devices are ready for binding.
    pub binding_timeout: Option<GoDuration>,
}

impl DynamicResourcesArgs {
    /// The defaults: what is behind a gate that is off stays unset.
    pub fn with_gates(gates: &FeatureGates) -> Self {
        let conditions = gates.enabled(Gate::DRADeviceBindingConditions);
        let status = gates.enabled(Gate::DRAResourceClaimDeviceStatus);
        let set = |on: bool, seconds| on.then(|| GoDuration::from_secs(seconds));
        Self {
            filter_timeout: set(gates.enabled(Gate::DRASchedulerFilterTimeout), 10),
            binding_timeout: set(conditions && status, 600),
        }
    }
}

impl Default for DynamicResourcesArgs {
    fn default() -> Self {
        Self::with_gates(&FeatureGates::default())
    }
}

/// How pods attract and repel each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterPodAffinityArgs {
    /// What a required affinity term of an existing pod adds to a node's score, 0 to 100.
    pub hard_pod_affinity_weight: i32,
    /// Whether a pod without preferred terms of its own ignores those of others.
    pub ignore_preferred_terms_of_existing_pods: bool,
}

impl Default for InterPodAffinityArgs {
    fn default() -> Self {
        Self {
            hard_pod_affinity_weight: 1,
            ignore_preferred_terms_of_existing_pods: false,
        }
    }
}

/// What every pod of the profile wants of nodes on top of its own wishes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodeAffinityArgs {
    /// Joined to each pod's node affinity.
    pub added_affinity: Option<NodeAffinity>,
    /// Lists in it that the file writes empty, by their path in errors: they are shown otherwise than lists that are left
    /// out, and mean the same.
    pub empty_lists: Vec<String>,
}

/// A resource and its weight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceWeight {
    /// The resource.
    pub name: String,
    /// 1 to 100.
    pub weight: i64,
}

impl ResourceWeight {
    /// A resource with a weight.
    pub fn new(name: impl Into<String>, weight: i64) -> Self {
        Self {
            name: name.into(),
            weight,
        }
    }

    /// `cpu` and `memory`, weight 1.
    pub fn cpu_and_memory() -> Vec<Self> {
        vec![Self::new("cpu", 1), Self::new("memory", 1)]
    }
}

/// Which resources should be used evenly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeResourcesBalancedAllocationArgs {
    /// Each with weight 1.
    pub resources: Vec<ResourceWeight>,
}

impl Default for NodeResourcesBalancedAllocationArgs {
    fn default() -> Self {
        Self {
            resources: ResourceWeight::cpu_and_memory(),
        }
    }
}

/// A point of a function from utilisation to score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UtilizationShapePoint {
    /// Percent, 0 to 100.
    pub utilization: i32,
    /// 0 to 10.
    pub score: i32,
}

/// How nodes are scored by their free resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScoringStrategyType {
    /// Empty nodes first.
    LeastAllocated,
    /// Full nodes first.
    MostAllocated,
    /// By a function of the utilisation.
    RequestedToCapacityRatio,
    /// None of these: as written. Validation refuses it.
    Other(String),
}

impl ScoringStrategyType {
    /// The strategy of that name.
    pub fn of(name: &str) -> Self {
        match name {
            "LeastAllocated" => Self::LeastAllocated,
            "MostAllocated" => Self::MostAllocated,
            "RequestedToCapacityRatio" => Self::RequestedToCapacityRatio,
            _ => Self::Other(name.to_owned()),
        }
    }

    /// Its name in a file.
    pub fn name(&self) -> &str {
        match self {
            Self::LeastAllocated => "LeastAllocated",
            Self::MostAllocated => "MostAllocated",
            Self::RequestedToCapacityRatio => "RequestedToCapacityRatio",
            Self::Other(name) => name,
        }
    }
}

/// How nodes are scored by their free resources, and by which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScoringStrategy {
    /// How.
    pub kind: ScoringStrategyType,
    /// By which resources.
    pub resources: Vec<ResourceWeight>,
    /// The function of [`ScoringStrategyType::RequestedToCapacityRatio`].
    pub requested_to_capacity_ratio: Option<Vec<UtilizationShapePoint>>,
}

/// Which resources must be free, and how the free ones are scored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeResourcesFitArgs {
    /// Extended resources that need not be free.
    pub ignored_resources: Vec<String>,
    /// Extended resources with these prefixes need not be free.
    pub ignored_resource_groups: Vec<String>,
    /// How nodes are scored. Without it the plugin cannot be made.
    pub scoring_strategy: Option<ScoringStrategy>,
}

impl Default for NodeResourcesFitArgs {
    fn default() -> Self {
        Self {
            ignored_resources: Vec::new(),
            ignored_resource_groups: Vec::new(),
            scoring_strategy: Some(ScoringStrategy {
                kind: ScoringStrategyType::LeastAllocated,
                resources: ResourceWeight::cpu_and_memory(),
                requested_to_capacity_ratio: None,
            }),
        }
    }
}

/// Where the constraints of pods without any come from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum DefaultingType {
    /// kube-scheduler's own: over hosts and zones, as a wish.
    #[default]
    System,
    /// The configured list.
    List,
    /// None of these: as written. Validation refuses it.
    Other(String),
}

impl DefaultingType {
    /// The one of that name.
    pub fn of(name: &str) -> Self {
        match name {
            "System" => Self::System,
            "List" => Self::List,
            _ => Self::Other(name.to_owned()),
        }
    }

    /// Its name in a file.
    pub fn name(&self) -> &str {
        match self {
            Self::System => "System",
            Self::List => "List",
            Self::Other(name) => name,
        }
    }
}

/// A spread constraint for pods without any.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DefaultSpreadConstraint {
    /// Largest allowed difference between domains.
    pub max_skew: i32,
    /// Node label whose values are the domains.
    pub topology_key: String,
    /// `DoNotSchedule` or `ScheduleAnyway`; as written.
    pub when_unsatisfiable: String,
    /// Fewer domains than this count as if one were empty.
    pub min_domains: Option<i32>,
    /// `Honor` or `Ignore`; as written.
    pub node_affinity_policy: Option<String>,
    /// `Honor` or `Ignore`; as written.
    pub node_taints_policy: Option<String>,
    /// Labels of the pod whose values narrow the selector.
    pub match_label_keys: Vec<String>,
    /// Forbidden: selectors are deduced for each pod. Kept to be refused.
    pub has_selector: bool,
}

/// How pods without spread constraints are spread.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PodTopologySpreadArgs {
    /// Used with [`DefaultingType::List`].
    pub default_constraints: Vec<DefaultSpreadConstraint>,
    /// Where the constraints come from.
    pub defaulting_type: DefaultingType,
}

/// How volumes are bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeBindingArgs {
    /// How long binding may take, in seconds.
    pub bind_timeout_seconds: i64,
    /// Function from utilisation to score, behind the gate `StorageCapacityScoring`; without the gate there must be none.
    pub shape: Option<Vec<UtilizationShapePoint>>,
}

impl VolumeBindingArgs {
    /// The defaults: without the gate there is no shape.
    pub fn with_gates(gates: &FeatureGates) -> Self {
        let point = |utilization, score| UtilizationShapePoint { utilization, score };
        let with_gate = gates.enabled(Gate::StorageCapacityScoring);
        let shape = with_gate.then(|| vec![point(0, 10), point(100, 0)]);
        Self {
            bind_timeout_seconds: 600,
            shape,
        }
    }
}

impl Default for VolumeBindingArgs {
    fn default() -> Self {
        Self::with_gates(&FeatureGates::default())
    }
}

/// A label of nodes and how much it counts among those beside it. A file may write the label alone, which weighs 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeightedLabel {
    /// Key of the label.
    pub label: String,
    /// At least 1.
    pub weight: i32,
}

impl WeightedLabel {
    /// A label with a weight.
    pub fn new(label: impl Into<String>, weight: i32) -> Self {
        Self {
            label: label.into(),
            weight,
        }
    }
}

/// Which labels keep the pods of one service together, or apart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServiceAffinityArgs {
    /// Pods of one service go to nodes with the same values of these labels.
    pub affinity_labels: Vec<String>,
    /// Pods of one service are spread over the values of these labels.
    pub anti_affinity_labels_preference: Vec<WeightedLabel>,
}

/// Which labels nodes must, must not, should and should not have, whatever their values.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodeLabelArgs {
    /// Must be there.
    pub present_labels: Vec<String>,
    /// Must not be there.
    pub absent_labels: Vec<String>,
    /// Should be there.
    pub present_labels_preference: Vec<WeightedLabel>,
    /// Should not be there.
    pub absent_labels_preference: Vec<WeightedLabel>,
}
