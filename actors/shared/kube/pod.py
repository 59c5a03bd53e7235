"""Pods: spec, status, and the object itself."""

from __future__ import annotations

import msgspec

from .container import Container, ContainerPort, ResourceRequirements, SeccompProfile, SELinuxOptions
from .meta import Api, IntOrString, LocalObjectReference, ObjectMeta, Quantity
from .volumes import Volume


class Sysctl(Api, frozen=True):
    name: str
    value: str = ""


class PodSecurityContext(Api, frozen=True):
    seLinuxOptions: SELinuxOptions | None = None
    windowsOptions: dict[str, str | bool] | None = None
    runAsUser: int | None = None
    runAsGroup: int | None = None
    runAsNonRoot: bool | None = None
    supplementalGroups: list[int] = []
    supplementalGroupsPolicy: str | None = None
    fsGroup: int | None = None
    fsGroupChangePolicy: str | None = None
    sysctls: list[Sysctl] = []
    seccompProfile: SeccompProfile | None = None
    appArmorProfile: SeccompProfile | None = None
    seLinuxChangePolicy: str | None = None


class Toleration(Api, frozen=True):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    tolerationSeconds: int | None = None


class HostAlias(Api, frozen=True):
    ip: str
    hostnames: list[str] = []


class PodDNSConfigOption(Api, frozen=True):
    name: str = ""
    value: str | None = None


class PodDNSConfig(Api, frozen=True):
    nameservers: list[str] = []
    searches: list[str] = []
    options: list[PodDNSConfigOption] = []


class PodReadinessGate(Api, frozen=True):
    conditionType: str


class PodOS(Api, frozen=True):
    name: str


class PodSpec(Api, frozen=True):
    containers: list[Container] = []
    initContainers: list[Container] = []
    ephemeralContainers: list[Container] = []
    volumes: list[Volume] = []
    restartPolicy: str = "Always"
    terminationGracePeriodSeconds: int | None = None
    activeDeadlineSeconds: int | None = None
    dnsPolicy: str = "ClusterFirst"
    nodeSelector: dict[str, str] = {}
    serviceAccountName: str = ""
    serviceAccount: str = ""
    automountServiceAccountToken: bool | None = None
    nodeName: str = ""
    hostNetwork: bool = False
    hostPID: bool = False
    hostIPC: bool = False
    shareProcessNamespace: bool | None = None
    securityContext: PodSecurityContext = PodSecurityContext()
    imagePullSecrets: list[LocalObjectReference] = []
    hostname: str = ""
    subdomain: str = ""
    hostnameOverride: str | None = None
    affinity: msgspec.Raw = msgspec.Raw()
    schedulerName: str = ""
    tolerations: list[Toleration] = []
    hostAliases: list[HostAlias] = []
    priorityClassName: str = ""
    priority: int | None = None
    dnsConfig: PodDNSConfig | None = None
    readinessGates: list[PodReadinessGate] = []
    runtimeClassName: str | None = None
    enableServiceLinks: bool | None = None
    preemptionPolicy: str | None = None
    overhead: dict[str, Quantity] = {}
    topologySpreadConstraints: msgspec.Raw = msgspec.Raw()
    setHostnameAsFQDN: bool | None = None
    os: PodOS | None = None
    hostUsers: bool | None = None
    schedulingGates: msgspec.Raw = msgspec.Raw()
    schedulingGroup: msgspec.Raw = msgspec.Raw()
    workloadRef: msgspec.Raw = msgspec.Raw()
    resourceClaims: msgspec.Raw = msgspec.Raw()
    resources: ResourceRequirements | None = None


class PodCondition(Api, frozen=True):
    type: str
    status: str
    observedGeneration: int = 0
    lastProbeTime: str | None = None
    lastTransitionTime: str | None = None
    reason: str = ""
    message: str = ""


class ContainerStateWaiting(Api, frozen=True):
    reason: str = ""
    message: str = ""


class ContainerStateRunning(Api, frozen=True):
    startedAt: str | None = None


class ContainerStateTerminated(Api, frozen=True, omit_defaults=True):
    # no default, so that an exit code of 0 is written
    exitCode: int
    signal: int = 0
    reason: str = ""
    message: str = ""
    startedAt: str | None = None
    finishedAt: str | None = None
    containerID: str = ""


class ContainerState(Api, frozen=True):
    waiting: ContainerStateWaiting | None = None
    running: ContainerStateRunning | None = None
    terminated: ContainerStateTerminated | None = None


class VolumeMountStatus(Api, frozen=True):
    name: str
    mountPath: str
    readOnly: bool = False
    recursiveReadOnly: str | None = None


class LinuxContainerUser(Api, frozen=True):
    uid: int
    gid: int
    supplementalGroups: list[int] = []


class ContainerUser(Api, frozen=True):
    linux: LinuxContainerUser | None = None


class ResourceHealth(Api, frozen=True):
    resourceID: str
    health: str = ""
    """Healthy, Unhealthy or Unknown."""
    message: str | None = None


class ResourceStatus(Api, frozen=True):
    """The health of a container's devices of one resource (KEP-4680)."""

    name: str
    """An extended resource, or `claim:<name>` or `claim:<name>/<request>`."""
    resources: list[ResourceHealth] = []


class ContainerStatus(Api, frozen=True):
    """Fields without a default are always written, as the kubelet does."""

    name: str
    state: ContainerState
    lastState: ContainerState
    ready: bool
    restartCount: int
    image: str
    imageID: str
    containerID: str = ""
    started: bool | None = None
    allocatedResources: dict[str, Quantity] = {}
    resources: ResourceRequirements | None = None
    volumeMounts: list[VolumeMountStatus] = []
    user: ContainerUser | None = None
    stopSignal: str | None = None
    allocatedResourcesStatus: list[ResourceStatus] = []


class PodIP(Api, frozen=True):
    ip: str


class PodStatus(Api, frozen=True):
    observedGeneration: int = 0
    phase: str = ""
    conditions: list[PodCondition] = []
    message: str = ""
    reason: str = ""
    nominatedNodeName: str = ""
    hostIP: str = ""
    hostIPs: list[PodIP] = []
    podIP: str = ""
    podIPs: list[PodIP] = []
    startTime: str | None = None
    initContainerStatuses: list[ContainerStatus] = []
    containerStatuses: list[ContainerStatus] = []
    ephemeralContainerStatuses: list[ContainerStatus] = []
    qosClass: str = ""
    resize: str = ""
    resourceClaimStatuses: msgspec.Raw = msgspec.Raw()
    extendedResourceClaimStatus: msgspec.Raw = msgspec.Raw()
    allocatedResources: dict[str, Quantity] = {}
    resources: ResourceRequirements | None = None


class Pod(Api, frozen=True):
    apiVersion: str = "v1"
    kind: str = "Pod"
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


HostPort = tuple[str, int, str]
"""(host IP, port, protocol)."""

__all__ = ["ContainerPort", "HostPort", "IntOrString", "Pod", "PodSpec", "PodStatus"]
