//! Every feature gate that kube-scheduler 1.36 accepts: those of the component `kube` and of the libraries below it. Few
//! concern a scheduler; the others are known so that a command line that names them is accepted.

use super::{GateSpec, Setting, Stage};

macro_rules! gates {
    ($($gate:ident: $stage:ident $setting:ident $(needs $($need:ident)+)?;)*) => {
        /// The feature gates, by kube-scheduler's names.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[expect(missing_docs, reason = "the names are kube-scheduler's and its documentation explains them")]
        pub enum Gate { $($gate,)* }

        impl Gate {
            /// Every gate, in order of names.
            pub const ALL: &'static [Self] = &[$(Self::$gate,)*];

            /// What is known of it.
            pub fn spec(self) -> GateSpec {
                match self {
                    $(Self::$gate => GateSpec::new(stringify!($gate), Stage::$stage, Setting::$setting),)*
                }
            }

            /// The gates that must be on for this one to be on.
            pub fn needs(self) -> &'static [Self] {
                match self {
                    $($(Self::$gate => &[$(Self::$need),+],)?)*
                    _ => &[],
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
    APIResponseCompression: Beta On;
    APIServerIdentity: Beta On;
    APIServerTracing: Stable LockedOn;
    APIServingWithRoutine: Alpha Off;
    AggregatedDiscoveryRemoveBetaType: Deprecated LockedOn;
    AllowDNSOnlyNodeCSR: Deprecated Off;
    AllowInsecureKubeletCertificateSigningRequests: Deprecated Off;
    AllowOverwriteTerminationGracePeriodSeconds: Deprecated LockedOff;
    AllowParsingUserUIDFromCertAuth: Beta On;
    AllowServiceExternalIPs: Stable On;
    AllowUnsafeMalformedObjectDeletion: Alpha Off;
    AnonymousAuthConfigurableEndpoints: Stable LockedOn;
    AnyVolumeDataSource: Stable LockedOn;
    AtomicFIFO: Beta On;
    AuthorizeNodeWithSelectors: Stable LockedOn needs AuthorizeWithSelectors;
    AuthorizePodWebsocketUpgradeCreatePermission: Beta On;
    AuthorizeWithSelectors: Stable LockedOn;
    BtreeWatchCache: Stable LockedOn;
    CBORServingAndStorage: Alpha Off;
    CPUManagerPolicyAlphaOptions: Alpha Off;
    CPUManagerPolicyBetaOptions: Beta On;
    CPUManagerPolicyOptions: Stable LockedOn;
    CRDObservedGenerationTracking: Beta On;
    CRDValidationRatcheting: Stable LockedOn;
    CRIListStreaming: Alpha Off;
    CSIServiceAccountTokenSecrets: Stable LockedOn;
    CSIVolumeHealth: Alpha Off;
    ChangeContainerStatusOnKubeletRestart: Deprecated Off;
    ClearingNominatedNodeNameAfterBinding: Beta On;
    ClientsAllowCARotation: Beta On;
    ClientsAllowCBOR: Alpha Off;
    ClientsAllowTLSCacheGC: Beta On;
    ClientsPreferCBOR: Alpha Off;
    CloudControllerManagerWatchBasedRoutesReconciliation: Alpha Off;
    CloudControllerManagerWebhook: Alpha Off;
    ClusterTrustBundle: Beta Off;
    ClusterTrustBundleProjection: Beta Off needs ClusterTrustBundle;
    ComponentFlagz: Beta On;
    ComponentStatusz: Beta On;
    ConcurrentWatchObjectDecode: Beta Off;
    ConsistentListFromCache: Stable LockedOn;
    ConstrainedImpersonation: Beta On;
    ContainerCheckpoint: Beta On;
    ContainerRestartRules: Beta On;
    ContainerStopSignals: Alpha Off;
    ContextualLogging: Beta On;
    CoordinatedLeaderElection: Beta Off;
    CrossNamespaceVolumeDataSource: Alpha Off;
    CustomCPUCFSQuotaPeriod: Stable On;
    CustomResourceFieldSelectors: Stable LockedOn;
    DRAAdminAccess: Stable LockedOn needs DynamicResourceAllocation;
    DRAConsumableCapacity: Beta On needs DynamicResourceAllocation;
    DRADeviceBindingConditions: Beta On needs DRAResourceClaimDeviceStatus DynamicResourceAllocation;
    DRADeviceTaintRules: Beta Off needs DRADeviceTaints;
    DRADeviceTaints: Beta On needs DynamicResourceAllocation;
    DRAExtendedResource: Beta On needs DynamicResourceAllocation;
    DRAListTypeAttributes: Alpha Off needs DynamicResourceAllocation;
    DRANodeAllocatableResources: Alpha Off needs DynamicResourceAllocation;
    DRAPartitionableDevices: Beta On needs DynamicResourceAllocation;
    DRAPrioritizedList: Stable On needs DynamicResourceAllocation;
    DRAResourceClaimDeviceStatus: Beta On;
    DRAResourceClaimGranularStatusAuthorization: Beta On needs DRAResourceClaimDeviceStatus DynamicResourceAllocation;
    DRAResourcePoolStatus: Alpha Off needs DynamicResourceAllocation;
    DRASchedulerFilterTimeout: Beta On needs DynamicResourceAllocation;
    DRAWorkloadResourceClaims: Alpha Off needs DynamicResourceAllocation GenericWorkload;
    DeclarativeValidation: Stable LockedOn;
    DeclarativeValidationBeta: Beta On needs DeclarativeValidation;
    DeclarativeValidationTakeover: Deprecated Off needs DeclarativeValidation;
    DeploymentReplicaSetTerminatingReplicas: Beta On;
    DetectCacheInconsistency: Beta On;
    DisableAllocatorDualWrite: Stable LockedOn needs MultiCIDRServiceAllocator;
    DisableCPUQuotaWithExclusiveCPUs: Deprecated On;
    DisableNodeKubeProxyVersion: Deprecated LockedOn;
    DynamicResourceAllocation: Stable LockedOn;
    EnvFiles: Beta On;
    EventedPLEG: Alpha Off;
    ExecProbeTimeout: Stable LockedOn;
    ExtendWebSocketsToKubelet: Beta On needs NodeDeclaredFeatures;
    ExternalServiceAccountTokenSigner: Stable LockedOn;
    GangScheduling: Alpha Off needs GenericWorkload;
    GenericWorkload: Alpha Off;
    GitRepoVolumeDriver: Deprecated LockedOff;
    GracefulNodeShutdown: Beta On;
    GracefulNodeShutdownBasedOnPodPriority: Beta On needs GracefulNodeShutdown;
    HPAConfigurableTolerance: Beta On;
    HPAScaleToZero: Alpha Off;
    HostnameOverride: Beta On;
    ImageMaximumGCAge: Stable LockedOn;
    ImageVolume: Stable LockedOn;
    ImageVolumeWithDigest: Alpha Off needs ImageVolume;
    InOrderInformers: Stable LockedOn;
    InOrderInformersBatchProcess: Beta On;
    InPlacePodLevelResourcesVerticalScaling: Beta On needs InPlacePodVerticalScaling NodeDeclaredFeatures PodLevelResources;
    InPlacePodVerticalScaling: Stable LockedOn;
    InPlacePodVerticalScalingExclusiveCPUs: Alpha Off needs InPlacePodVerticalScaling;
    InPlacePodVerticalScalingExclusiveMemory: Alpha Off needs InPlacePodVerticalScaling;
    InPlacePodVerticalScalingInitContainers: Beta On needs InPlacePodVerticalScaling NodeDeclaredFeatures;
    InformerResourceVersion: Stable On;
    JobBackoffLimitPerIndex: Stable LockedOn;
    JobManagedBy: Stable LockedOn;
    JobPodReplacementPolicy: Stable LockedOn;
    JobSuccessPolicy: Stable LockedOn;
    KMSv1: Deprecated Off;
    KubeletCgroupDriverFromCRI: Stable LockedOn;
    KubeletCrashLoopBackOffMax: Beta On;
    KubeletEnsureSecretPulledImages: Beta On;
    KubeletFineGrainedAuthz: Stable LockedOn;
    KubeletInUserNamespace: Alpha Off;
    KubeletPSI: Stable LockedOn;
    KubeletPodResourcesDynamicResources: Stable LockedOn;
    KubeletPodResourcesGet: Stable LockedOn;
    KubeletPodResourcesListUseActivePods: Deprecated On;
    KubeletRegistrationGetOnExistsOnly: Deprecated Off;
    KubeletSeparateDiskGC: Beta On;
    KubeletServiceAccountTokenForCredentialProviders: Beta On;
    KubeletTracing: Stable LockedOn;
    ListFromCacheSnapshot: Beta On;
    LocalStorageCapacityIsolationFSQuotaMonitoring: Beta Off;
    LogarithmicScaleDown: Stable LockedOn;
    LoggingAlphaOptions: Alpha Off;
    LoggingBetaOptions: Beta On;
    ManifestBasedAdmissionControlConfig: Alpha Off;
    MatchLabelKeysInPodAffinity: Stable LockedOn;
    MatchLabelKeysInPodTopologySpread: Beta On;
    MatchLabelKeysInPodTopologySpreadSelectorMerge: Beta On needs MatchLabelKeysInPodTopologySpread;
    MaxUnavailableStatefulSet: Beta Off;
    MemoryQoS: Alpha Off;
    MultiCIDRServiceAllocator: Stable LockedOn;
    MutableCSINodeAllocatableCount: Stable LockedOn;
    MutablePVNodeAffinity: Alpha Off;
    MutablePodResourcesForSuspendedJobs: Beta On;
    MutableSchedulingDirectivesForSuspendedJobs: Beta On;
    MutatingAdmissionPolicy: Stable On;
    NFTablesProxyMode: Stable LockedOn;
    NativeHistograms: Alpha Off;
    NodeDeclaredFeatures: Beta On;
    NodeInclusionPolicyInPodTopologySpread: Stable LockedOn;
    NodeLogQuery: Stable LockedOn;
    NodeSwap: Stable LockedOn;
    NominatedNodeNameForExpectation: Beta On;
    OpenAPIEnums: Beta On;
    OpportunisticBatching: Beta On;
    OrderedNamespaceDeletion: Stable LockedOn;
    PLEGOnDemandRelist: Beta On;
    PersistentVolumeClaimUnusedSinceTime: Alpha Off;
    PodAndContainerStatsFromCRI: Alpha Off;
    PodCertificateRequest: Beta Off needs AuthorizeNodeWithSelectors;
    PodDeletionCost: Beta On;
    PodLevelResourceManagers: Alpha Off needs PodLevelResources;
    PodLevelResources: Beta On;
    PodLifecycleSleepAction: Stable LockedOn;
    PodLifecycleSleepActionAllowZero: Stable LockedOn needs PodLifecycleSleepAction;
    PodLogsQuerySplitStreams: Alpha Off;
    PodObservedGenerationTracking: Stable LockedOn;
    PodReadyToStartContainersCondition: Beta On;
    PodSchedulingReadiness: Stable LockedOn;
    PodTopologyLabelsAdmission: Beta On;
    PodsAPI: Alpha Off;
    PortForwardWebsockets: Beta On;
    PreferSameTrafficDistribution: Stable LockedOn;
    PreventStaticPodAPIReferences: Beta On;
    ProcMountType: Stable LockedOn needs UserNamespacesSupport;
    QOSReserved: Alpha Off;
    RecoverVolumeExpansionFailure: Stable LockedOn;
    RecursiveReadOnlyMounts: Stable LockedOn;
    ReduceDefaultCrashLoopBackOffDecay: Alpha Off;
    RelaxedDNSSearchValidation: Stable LockedOn;
    RelaxedEnvironmentVariableValidation: Stable LockedOn;
    RelaxedServiceNameValidation: Beta On;
    ReloadKubeletClientCAFile: Beta On;
    ReloadKubeletServerCertificateFile: Beta On;
    RemoteRequestHeaderUID: Beta On;
    ResilientWatchCacheInitialization: Stable LockedOn;
    ResourceHealthStatus: Beta On needs DynamicResourceAllocation;
    ResourceHealthStatusMessage: Beta On needs ResourceHealthStatus;
    RestartAllContainersOnContainerExits: Beta On needs ContainerRestartRules NodeDeclaredFeatures;
    RetryGenerateName: Stable LockedOn;
    RotateKubeletServerCertificate: Beta On;
    RuntimeClassInImageCriApi: Alpha Off;
    SELinuxChangePolicy: Stable LockedOn;
    SELinuxMount: Beta Off;
    SELinuxMountReadWriteOncePod: Stable LockedOn;
    SchedulerAsyncAPICalls: Beta Off;
    SchedulerAsyncPreemption: Beta On;
    SchedulerPopFromBackoffQ: Beta On;
    SchedulerQueueingHints: Stable LockedOn;
    SeparateCacheWatchRPC: Deprecated LockedOff;
    SeparateTaintEvictionController: Stable LockedOn;
    ServiceAccountNodeAudienceRestriction: Beta On;
    ServiceAccountTokenJTI: Stable LockedOn;
    ServiceAccountTokenNodeBinding: Stable LockedOn needs ServiceAccountTokenNodeBindingValidation;
    ServiceAccountTokenNodeBindingValidation: Stable LockedOn;
    ServiceAccountTokenPodNodeInfo: Stable LockedOn;
    ServiceCIDRStatusFieldWiping: Deprecated On;
    ShardedListAndWatch: Alpha Off;
    SidecarContainers: Stable LockedOn;
    SizeBasedListCostEstimate: Beta On;
    StaleControllerConsistencyDaemonSet: Beta On;
    StaleControllerConsistencyJob: Beta On;
    StaleControllerConsistencyReplicaSet: Beta On;
    StaleControllerConsistencyStatefulSet: Beta On;
    StatefulSetSemanticRevisionComparison: Beta On;
    StorageCapacityScoring: Alpha Off;
    StorageNamespaceIndex: Deprecated On;
    StorageVersionAPI: Alpha Off needs APIServerIdentity;
    StorageVersionHash: Beta On;
    StorageVersionMigrator: Beta Off;
    StreamingCollectionEncodingToJSON: Stable LockedOn;
    StreamingCollectionEncodingToProtobuf: Stable LockedOn;
    StrictIPCIDRValidation: Beta On;
    StructuredAuthenticationConfiguration: Stable LockedOn;
    StructuredAuthenticationConfigurationEgressSelector: Beta On needs StructuredAuthenticationConfiguration;
    StructuredAuthenticationConfigurationJWKSMetrics: Beta On needs StructuredAuthenticationConfiguration;
    SupplementalGroupsPolicy: Stable LockedOn;
    SystemdWatchdog: Stable LockedOn;
    TaintTolerationComparisonOperators: Alpha Off;
    TokenRequestServiceAccountUIDValidation: Beta On;
    TopologyAwareWorkloadScheduling: Alpha Off needs GenericWorkload;
    TopologyManagerPolicyAlphaOptions: Alpha Off;
    TopologyManagerPolicyBetaOptions: Beta On;
    TopologyManagerPolicyOptions: Stable LockedOn;
    TranslateStreamCloseWebsocketRequests: Beta On;
    UnauthenticatedHTTP2DOSMitigation: Beta On;
    UnknownVersionInteroperabilityProxy: Beta On needs APIServerIdentity;
    UnlockWhileProcessingFIFO: Beta On;
    UserNamespacesHostNetworkSupport: Alpha Off needs NodeDeclaredFeatures UserNamespacesSupport;
    UserNamespacesSupport: Stable LockedOn;
    VolumeAttributesClass: Stable LockedOn;
    VolumeLimitScaling: Alpha Off;
    WatchCacheInitializationPostStartHook: Beta On;
    WatchList: Beta On;
    WatchListClient: Beta On;
    WinDSR: Stable LockedOn;
    WinOverlay: Stable LockedOn;
    WindowsCPUAndMemoryAffinity: Alpha Off;
    WindowsGracefulNodeShutdown: Beta On needs GracefulNodeShutdown;
    WindowsHostNetwork: Deprecated Off;
    WorkloadAwarePreemption: Alpha Off needs GangScheduling;
    WorkloadWithJob: Alpha Off needs GenericWorkload;
}
