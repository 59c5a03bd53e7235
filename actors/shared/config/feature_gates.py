"""The feature gates that a 1.36 node agent knows: stage, default, and whether the default may be changed.

A locked gate may be named with its default only. AllAlpha and AllBeta switch every gate of their stage that is not
named itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

Stage = Literal["Alpha", "Beta", "GA", "Deprecated"]


class Gate(NamedTuple):
    stage: Stage
    default: bool
    locked: bool = False

    @property
    def metric_stage(self) -> str:
        """As the metric kubernetes_feature_enabled has it: upper case, and nothing for GA."""
        return "" if self.stage == "GA" else self.stage.upper()


GATES: Final[Mapping[str, Gate]] = {
    "AllAlpha": Gate("Alpha", False),
    "AllBeta": Gate("Beta", False),
    "AllowDNSOnlyNodeCSR": Gate("Deprecated", False),
    "AllowInsecureKubeletCertificateSigningRequests": Gate("Deprecated", False),
    "AllowOverwriteTerminationGracePeriodSeconds": Gate("Deprecated", False, locked=True),
    "AtomicFIFO": Gate("Beta", True),
    "AuthorizeNodeWithSelectors": Gate("GA", True, locked=True),
    "ChangeContainerStatusOnKubeletRestart": Gate("Deprecated", False),
    "ClientsAllowCARotation": Gate("Beta", True),
    "ClientsAllowCBOR": Gate("Alpha", False),
    "ClientsAllowTLSCacheGC": Gate("Beta", True),
    "ClientsPreferCBOR": Gate("Alpha", False),
    "ClusterTrustBundle": Gate("Beta", False),
    "ClusterTrustBundleProjection": Gate("Beta", False),
    "ComponentFlagz": Gate("Beta", True),
    "ComponentStatusz": Gate("Beta", True),
    "ContainerCheckpoint": Gate("Beta", True),
    "ContainerRestartRules": Gate("Beta", True),
    "ContainerStopSignals": Gate("Alpha", False),
    "ContextualLogging": Gate("Beta", True),
    "CPUManagerPolicyAlphaOptions": Gate("Alpha", False),
    "CPUManagerPolicyBetaOptions": Gate("Beta", True),
    "CPUManagerPolicyOptions": Gate("GA", True, locked=True),
    "CRIListStreaming": Gate("Alpha", False),
    "CSIServiceAccountTokenSecrets": Gate("GA", True, locked=True),
    "CSIVolumeHealth": Gate("Alpha", False),
    "CustomCPUCFSQuotaPeriod": Gate("GA", True),
    "DisableCPUQuotaWithExclusiveCPUs": Gate("Deprecated", True),
    "DisableNodeKubeProxyVersion": Gate("Deprecated", True, locked=True),
    "DRAAdminAccess": Gate("GA", True, locked=True),
    "DRAConsumableCapacity": Gate("Beta", True),
    "DRADeviceTaints": Gate("Beta", True),
    "DRAExtendedResource": Gate("Beta", True),
    "DRANodeAllocatableResources": Gate("Alpha", False),
    "DRAPartitionableDevices": Gate("Beta", True),
    "DRAPrioritizedList": Gate("GA", True),
    "DRAResourceClaimDeviceStatus": Gate("Beta", True),
    "DRAWorkloadResourceClaims": Gate("Alpha", False),
    "DynamicKubeletConfig": Gate("Alpha", False),  # gone from the kubelet since 1.24, kept here
    "DynamicResourceAllocation": Gate("GA", True, locked=True),
    "EnvFiles": Gate("Beta", True),
    "EventedPLEG": Gate("Alpha", False),
    "ExecProbeTimeout": Gate("GA", True, locked=True),
    "ExtendWebSocketsToKubelet": Gate("Beta", True),
    "GitRepoVolumeDriver": Gate("Deprecated", False, locked=True),
    "GracefulNodeShutdown": Gate("Beta", True),
    "GracefulNodeShutdownBasedOnPodPriority": Gate("Beta", True),
    "HostnameOverride": Gate("Beta", True),
    "ImageMaximumGCAge": Gate("GA", True, locked=True),
    "ImageVolume": Gate("GA", True, locked=True),
    "ImageVolumeWithDigest": Gate("Alpha", False),
    "InformerResourceVersion": Gate("GA", True),
    "InOrderInformers": Gate("GA", True, locked=True),
    "InOrderInformersBatchProcess": Gate("Beta", True),
    "InPlacePodLevelResourcesVerticalScaling": Gate("Beta", True),
    "InPlacePodVerticalScaling": Gate("GA", True, locked=True),
    "InPlacePodVerticalScalingExclusiveCPUs": Gate("Alpha", False),
    "InPlacePodVerticalScalingExclusiveMemory": Gate("Alpha", False),
    "InPlacePodVerticalScalingInitContainers": Gate("Beta", True),
    "KubeletCgroupDriverFromCRI": Gate("GA", True, locked=True),
    "KubeletCrashLoopBackOffMax": Gate("Beta", True),
    "KubeletEnsureSecretPulledImages": Gate("Beta", True),
    "KubeletFineGrainedAuthz": Gate("GA", True, locked=True),
    "KubeletInUserNamespace": Gate("Alpha", False),
    "KubeletPodResourcesDynamicResources": Gate("GA", True, locked=True),
    "KubeletPodResourcesGet": Gate("GA", True, locked=True),
    "KubeletPodResourcesListUseActivePods": Gate("Deprecated", True),
    "KubeletPSI": Gate("GA", True, locked=True),
    "KubeletRegistrationGetOnExistsOnly": Gate("Deprecated", False),
    "KubeletSeparateDiskGC": Gate("Beta", True),
    "KubeletServiceAccountTokenForCredentialProviders": Gate("Beta", True),
    "KubeletTracing": Gate("GA", True, locked=True),
    "LocalStorageCapacityIsolationFSQuotaMonitoring": Gate("Beta", False),
    "LoggingAlphaOptions": Gate("Alpha", False),
    "LoggingBetaOptions": Gate("Beta", True),
    "MemoryQoS": Gate("Alpha", False),
    "MutableCSINodeAllocatableCount": Gate("GA", True, locked=True),
    "NativeHistograms": Gate("Alpha", False),
    "NodeDeclaredFeatures": Gate("Beta", True),
    "NodeLogQuery": Gate("GA", True, locked=True),
    "NodeSwap": Gate("GA", True, locked=True),
    "PLEGOnDemandRelist": Gate("Beta", True),
    "PodAndContainerStatsFromCRI": Gate("Alpha", False),
    "PodCertificateRequest": Gate("Beta", False),
    "PodLevelResourceManagers": Gate("Alpha", False),
    "PodLevelResources": Gate("Beta", True),
    "PodLifecycleSleepAction": Gate("GA", True, locked=True),
    "PodLifecycleSleepActionAllowZero": Gate("GA", True, locked=True),
    "PodLogsQuerySplitStreams": Gate("Alpha", False),
    "PodObservedGenerationTracking": Gate("GA", True, locked=True),
    "PodReadyToStartContainersCondition": Gate("Beta", True),
    "PodsAPI": Gate("Alpha", False),
    "PortForwardWebsockets": Gate("Beta", True),
    "PreventStaticPodAPIReferences": Gate("Beta", True),
    "ProcMountType": Gate("GA", True, locked=True),
    "QOSReserved": Gate("Alpha", False),
    "RecoverVolumeExpansionFailure": Gate("GA", True, locked=True),
    "RecursiveReadOnlyMounts": Gate("GA", True, locked=True),
    "ReduceDefaultCrashLoopBackOffDecay": Gate("Alpha", False),
    "RelaxedDNSSearchValidation": Gate("GA", True, locked=True),
    "RelaxedEnvironmentVariableValidation": Gate("GA", True, locked=True),
    "ReloadKubeletClientCAFile": Gate("Beta", True),
    "ReloadKubeletServerCertificateFile": Gate("Beta", True),
    "ResourceHealthStatus": Gate("Beta", True),
    "ResourceHealthStatusMessage": Gate("Beta", True),
    "RestartAllContainersOnContainerExits": Gate("Beta", True),
    "RotateKubeletServerCertificate": Gate("Beta", True),
    "RuntimeClassInImageCriApi": Gate("Alpha", False),
    "SELinuxChangePolicy": Gate("GA", True, locked=True),
    "SELinuxMount": Gate("Beta", False),
    "SELinuxMountReadWriteOncePod": Gate("GA", True, locked=True),
    "ServiceAccountNodeAudienceRestriction": Gate("Beta", True),
    "ServiceAccountTokenNodeBinding": Gate("GA", True, locked=True),
    "SidecarContainers": Gate("GA", True, locked=True),
    "SupplementalGroupsPolicy": Gate("GA", True, locked=True),
    "SystemdWatchdog": Gate("GA", True, locked=True),
    "TaintTolerationComparisonOperators": Gate("Alpha", False),
    "TopologyManagerPolicyAlphaOptions": Gate("Alpha", False),
    "TopologyManagerPolicyBetaOptions": Gate("Beta", True),
    "TopologyManagerPolicyOptions": Gate("GA", True, locked=True),
    "TranslateStreamCloseWebsocketRequests": Gate("Beta", True),
    "UnlockWhileProcessingFIFO": Gate("Beta", True),
    "UserNamespacesHostNetworkSupport": Gate("Alpha", False),
    "UserNamespacesSupport": Gate("GA", True, locked=True),
    "VolumeLimitScaling": Gate("Alpha", False),
    "WatchList": Gate("Beta", True),
    "WatchListClient": Gate("Beta", True),
    "WindowsCPUAndMemoryAffinity": Gate("Alpha", False),
    "WindowsGracefulNodeShutdown": Gate("Beta", True),
    "WindowsHostNetwork": Gate("Deprecated", False),
}

_GROUPS: Final[Mapping[str, Stage]] = {"AllAlpha": "Alpha", "AllBeta": "Beta"}


def enabled(name: str, overrides: Mapping[str, bool]) -> bool:
    """Whether the gate is on. Raises KeyError for an unknown name."""
    gate = GATES[name]
    if name in overrides:
        return overrides[name]
    for group, stage in _GROUPS.items():
        if gate.stage == stage and not gate.locked and group in overrides and name not in _GROUPS:
            return overrides[group]
    return gate.default


def all_states(overrides: Mapping[str, bool]) -> dict[str, bool]:
    """Every known gate with its effective value."""
    return {name: enabled(name, overrides) for name in GATES}
