/// How far a gated feature has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Off unless asked for.
    Alpha,
    /// Mostly on.
    Beta,
    /// On.
    Stable,
}

/// A feature gate as kube-scheduler 1.36 knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GateSpec {
    /// Its name on the command line.
    pub name: &'static str,
    /// How far it has come.
    pub stage: Stage,
    /// Whether it is on unless set.
    pub default: bool,
    /// Whether it cannot be set to anything but its default.
    pub locked: bool,
}

macro_rules! gates {
    ($($gate:ident: $stage:ident $default:literal $locked:literal;)*) => {
        /// The feature gates that concern a scheduler, by kube-scheduler's names.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[expect(missing_docs, reason = "the names are kube-scheduler's and its documentation explains them")]
        pub enum Gate { $($gate,)* }

        impl Gate {
            /// Every gate, in order of names.
            pub const ALL: &'static [Self] = &[$(Self::$gate,)*];

            /// What is known of it.
            pub fn spec(self) -> GateSpec {
                match self {
                    $(Self::$gate => GateSpec {
                        name: stringify!($gate),
                        stage: Stage::$stage,
                        default: $default,
                        locked: $locked,
                    },)*
                }
            }

            /// The gate of that name.
            pub fn by_name(name: &str) -> Option<Self> {
                match name {
                    $(stringify!($gate) => Some(Self::$gate),)*
                    _ => None,
                }
            }
        }
    };
}

gates! {
    ClearingNominatedNodeNameAfterBinding: Beta true false;
    ComponentFlagz: Beta true false;
    ComponentStatusz: Beta true false;
    CoordinatedLeaderElection: Beta false false;
    DRAAdminAccess: Stable true true;
    DRAConsumableCapacity: Beta true false;
    DRADeviceBindingConditions: Beta true false;
    DRADeviceTaintRules: Beta false false;
    DRADeviceTaints: Beta true false;
    DRAExtendedResource: Beta true false;
    DRAListTypeAttributes: Alpha false false;
    DRANodeAllocatableResources: Alpha false false;
    DRAPartitionableDevices: Beta true false;
    DRAPrioritizedList: Stable true false;
    DRAResourceClaimDeviceStatus: Beta true false;
    DRAResourceClaimGranularStatusAuthorization: Beta true false;
    DRAResourcePoolStatus: Alpha false false;
    DRASchedulerFilterTimeout: Beta true false;
    DRAWorkloadResourceClaims: Alpha false false;
    DynamicResourceAllocation: Stable true true;
    GangScheduling: Alpha false false;
    GenericWorkload: Alpha false false;
    ImageVolume: Stable true true;
    InOrderInformers: Stable true true;
    InPlacePodLevelResourcesVerticalScaling: Beta true false;
    InPlacePodVerticalScaling: Stable true true;
    MatchLabelKeysInPodAffinity: Stable true true;
    MatchLabelKeysInPodTopologySpread: Beta true false;
    MatchLabelKeysInPodTopologySpreadSelectorMerge: Beta true false;
    MutableCSINodeAllocatableCount: Stable true true;
    NodeDeclaredFeatures: Beta true false;
    NodeInclusionPolicyInPodTopologySpread: Stable true true;
    NominatedNodeNameForExpectation: Beta true false;
    OpportunisticBatching: Beta true false;
    PodLevelResources: Beta true false;
    PodObservedGenerationTracking: Stable true true;
    PodSchedulingReadiness: Stable true true;
    SchedulerAsyncAPICalls: Beta false false;
    SchedulerAsyncPreemption: Beta true false;
    SchedulerPopFromBackoffQ: Beta true false;
    SchedulerQueueingHints: Stable true true;
    SidecarContainers: Stable true true;
    StorageCapacityScoring: Alpha false false;
    TaintTolerationComparisonOperators: Alpha false false;
    TopologyAwareWorkloadScheduling: Alpha false false;
    VolumeAttributesClass: Stable true true;
    VolumeLimitScaling: Alpha false false;
    WatchListClient: Beta true false;
    WorkloadAwarePreemption: Alpha false false;
}

/// Which gates are on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureGates {
    on: Vec<bool>,
}

impl Default for FeatureGates {
    fn default() -> Self {
        Self {
            on: Gate::ALL.iter().map(|gate| gate.spec().default).collect(),
        }
    }
}

impl FeatureGates {
    /// Whether a gate is on.
    pub fn enabled(&self, gate: Gate) -> bool {
        self.on.get(gate as usize).copied().unwrap_or(false)
    }

    /// Switches a gate, locked or not: for tests, and for a caller that has checked.
    #[must_use]
    pub fn with(mut self, gate: Gate, on: bool) -> Self {
        if let Some(slot) = self.on.get_mut(gate as usize) {
            *slot = on;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_found_by_name_and_stand_in_order() {
        let names: Vec<_> = Gate::ALL.iter().map(|gate| gate.spec().name).collect();
        assert!(names.is_sorted());
        for gate in Gate::ALL {
            assert_eq!(Gate::by_name(gate.spec().name), Some(*gate));
        }
        assert_eq!(Gate::by_name("Nothing"), None);
    }

    #[test]
    fn a_gate_can_be_switched() {
        let gates = FeatureGates::default();
        assert!(!gates.enabled(Gate::GangScheduling));
        assert!(gates.with(Gate::GangScheduling, true).enabled(Gate::GangScheduling));
    }
}
