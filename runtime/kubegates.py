"""
What the machine knows of Kubernetes' own feature gates.

Seven of them steer behaviour here, with the default of the connected server's version. The other names are
accepted, since a command line that sets one works with any program that links Kubernetes; they change nothing.
The facts are those of Kubernetes 1.36.
"""

from __future__ import annotations

from runtime.features import Gate, Stage

_ALPHA, _BETA, _GA = Stage.ALPHA, Stage.BETA, Stage.GA

HONOURED = (
    Gate("DynamicResourceAllocation")
    .since((1, 26), _ALPHA, default=False)
    .since((1, 32), _BETA, default=False)
    .since((1, 34), _GA, default=True)
    .since((1, 35), _GA, default=True, locked=True),
    Gate("DRAConsumableCapacity", requires=("DynamicResourceAllocation",))
    .since((1, 34), _ALPHA, default=False)
    .since((1, 36), _BETA, default=True),
    Gate("DRADeviceTaints", requires=("DynamicResourceAllocation",))
    .since((1, 33), _ALPHA, default=False)
    .since((1, 36), _BETA, default=True),
    Gate("DRADeviceTaintRules", requires=("DRADeviceTaints",))
    .since((1, 35), _ALPHA, default=False)
    .since((1, 36), _BETA, default=False),
    Gate("InPlacePodVerticalScaling")
    .since((1, 27), _ALPHA, default=False)
    .since((1, 33), _BETA, default=True)
    .since((1, 35), _GA, default=True, locked=True),
    Gate("PodLevelResources").since((1, 32), _ALPHA, default=False).since((1, 34), _BETA, default=True),
    Gate("PodSchedulingReadiness")
    .since((1, 26), _ALPHA, default=False)
    .since((1, 27), _BETA, default=True)
    .since((1, 30), _GA, default=True, locked=True),
)

TOLERATED = frozenset(
    """
    APIResponseCompression APIServerIdentity APIServerTracing APIServingWithRoutine
    AggregatedDiscoveryRemoveBetaType AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests
    AllowOverwriteTerminationGracePeriodSeconds AllowParsingUserUIDFromCertAuth AllowServiceExternalIPs
    AllowUnsafeMalformedObjectDeletion AnonymousAuthConfigurableEndpoints AnyVolumeDataSource
    AuthorizeNodeWithSelectors AuthorizePodWebsocketUpgradeCreatePermission AuthorizeWithSelectors BtreeWatchCache
    CBORServingAndStorage CPUManagerPolicyAlphaOptions CPUManagerPolicyBetaOptions CPUManagerPolicyOptions
    CRDObservedGenerationTracking CRDValidationRatcheting CRIListStreaming CSIServiceAccountTokenSecrets
    CSIVolumeHealth ChangeContainerStatusOnKubeletRestart ClearingNominatedNodeNameAfterBinding
    CloudControllerManagerWebhook ClusterTrustBundle ClusterTrustBundleProjection ComponentFlagz ComponentSLIs
    ComponentStatusz ConcurrentWatchObjectDecode ConsistentListFromCache ConstrainedImpersonation
    ContainerCheckpoint ContainerRestartRules ContainerStopSignals ContextualLogging CoordinatedLeaderElection
    CrossNamespaceVolumeDataSource CustomCPUCFSQuotaPeriod CustomResourceFieldSelectors DRAAdminAccess
    DRADeviceBindingConditions DRAExtendedResource DRAListTypeAttributes DRANodeAllocatableResources
    DRAPartitionableDevices DRAPrioritizedList DRAResourceClaimDeviceStatus
    DRAResourceClaimGranularStatusAuthorization DRAResourcePoolStatus DRASchedulerFilterTimeout
    DRAWorkloadResourceClaims DeclarativeValidation DeclarativeValidationBeta DeclarativeValidationTakeover
    DeploymentReplicaSetTerminatingReplicas DetectCacheInconsistency DisableAllocatorDualWrite
    DisableCPUQuotaWithExclusiveCPUs DisableNodeKubeProxyVersion EnvFiles EventedPLEG ExecProbeTimeout
    ExtendWebSocketsToKubelet ExternalServiceAccountTokenSigner GangScheduling GenericWorkload GitRepoVolumeDriver
    GracefulNodeShutdown GracefulNodeShutdownBasedOnPodPriority HPAConfigurableTolerance HPAScaleToZero
    HostnameOverride ImageMaximumGCAge ImageVolume ImageVolumeWithDigest InPlacePodLevelResourcesVerticalScaling
    InPlacePodVerticalScalingExclusiveCPUs InPlacePodVerticalScalingExclusiveMemory
    InPlacePodVerticalScalingInitContainers JobBackoffLimitPerIndex JobManagedBy JobPodReplacementPolicy
    JobSuccessPolicy KMSv1 KubeletCgroupDriverFromCRI KubeletCrashLoopBackOffMax KubeletEnsureSecretPulledImages
    KubeletFineGrainedAuthz KubeletInUserNamespace KubeletPSI KubeletPodResourcesDynamicResources
    KubeletPodResourcesGet KubeletPodResourcesListUseActivePods KubeletRegistrationGetOnExistsOnly
    KubeletSeparateDiskGC KubeletServiceAccountTokenForCredentialProviders KubeletTracing ListFromCacheSnapshot
    LocalStorageCapacityIsolationFSQuotaMonitoring LogarithmicScaleDown LoggingAlphaOptions LoggingBetaOptions
    ManifestBasedAdmissionControlConfig MatchLabelKeysInPodAffinity MatchLabelKeysInPodTopologySpread
    MatchLabelKeysInPodTopologySpreadSelectorMerge MaxUnavailableStatefulSet MemoryQoS MultiCIDRServiceAllocator
    MutableCSINodeAllocatableCount MutablePVNodeAffinity MutablePodResourcesForSuspendedJobs
    MutableSchedulingDirectivesForSuspendedJobs MutatingAdmissionPolicy NFTablesProxyMode NodeDeclaredFeatures
    NodeInclusionPolicyInPodTopologySpread NodeLogQuery NodeSwap NominatedNodeNameForExpectation OpenAPIEnums
    OpportunisticBatching OrderedNamespaceDeletion PLEGOnDemandRelist PersistentVolumeClaimUnusedSinceTime
    PodAndContainerStatsFromCRI PodCertificateRequest PodDeletionCost PodLevelResourceManagers
    PodLifecycleSleepAction PodLifecycleSleepActionAllowZero PodLogsQuerySplitStreams PodObservedGenerationTracking
    PodReadyToStartContainersCondition PodTopologyLabelsAdmission PodsAPI PortForwardWebsockets
    PreferSameTrafficDistribution PreventStaticPodAPIReferences ProcMountType QOSReserved
    RecoverVolumeExpansionFailure RecursiveReadOnlyMounts ReduceDefaultCrashLoopBackOffDecay
    RelaxedDNSSearchValidation RelaxedEnvironmentVariableValidation RelaxedServiceNameValidation
    ReloadKubeletServerCertificateFile RemoteRequestHeaderUID ResilientWatchCacheInitialization ResourceHealthStatus
    ResourceHealthStatusMessage RestartAllContainersOnContainerExits RetryGenerateName
    RotateKubeletServerCertificate RuntimeClassInImageCriApi SELinuxChangePolicy SELinuxMount
    SELinuxMountReadWriteOncePod SchedulerAsyncAPICalls SchedulerAsyncPreemption SchedulerPopFromBackoffQ
    SchedulerQueueingHints SeparateCacheWatchRPC SeparateTaintEvictionController
    ServiceAccountNodeAudienceRestriction ServiceAccountTokenJTI ServiceAccountTokenNodeBinding
    ServiceAccountTokenNodeBindingValidation ServiceAccountTokenPodNodeInfo ServiceCIDRStatusFieldWiping
    ShardedListAndWatch SidecarContainers SizeBasedListCostEstimate StaleControllerConsistencyDaemonSet
    StaleControllerConsistencyJob StaleControllerConsistencyReplicaSet StaleControllerConsistencyStatefulSet
    StatefulSetSemanticRevisionComparison StorageCapacityScoring StorageNamespaceIndex StorageVersionAPI
    StorageVersionHash StorageVersionMigrator StreamingCollectionEncodingToJSON
    StreamingCollectionEncodingToProtobuf StrictIPCIDRValidation StructuredAuthenticationConfiguration
    StructuredAuthenticationConfigurationEgressSelector StructuredAuthenticationConfigurationJWKSMetrics
    SupplementalGroupsPolicy TaintTolerationComparisonOperators TokenRequestServiceAccountUIDValidation
    TopologyAwareWorkloadScheduling TopologyManagerPolicyAlphaOptions TopologyManagerPolicyBetaOptions
    TopologyManagerPolicyOptions TranslateStreamCloseWebsocketRequests UnauthenticatedHTTP2DOSMitigation
    UnknownVersionInteroperabilityProxy UserNamespacesHostNetworkSupport UserNamespacesSupport VolumeAttributesClass
    VolumeLimitScaling WatchCacheInitializationPostStartHook WatchList WinDSR WinOverlay WindowsCPUAndMemoryAffinity
    WindowsGracefulNodeShutdown WindowsHostNetwork WorkloadAwarePreemption WorkloadWithJob
    """.split()  # noqa: SIM905  # two hundred names read better as words
)
