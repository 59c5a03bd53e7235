"""KubeletConfiguration, kubelet.config.k8s.io/v1beta1, as of Kubernetes 1.36: the object a config file describes.

Every default is the 1.36 default with a config file, whichever way the agent is started: the insecure defaults that the
kubelet keeps for starts without one (anonymous users, AlwaysAllow, port 10255, no hard eviction) must be asked for.

A duration is a Duration (seconds as float). A quantity stays as written; `resources.py` reads it. The text under a
field is its documentation: `supervise config explain FIELD` prints it.
"""

from __future__ import annotations

from typing import Final

import msgspec

from .duration import Duration
from .groups import (
    Authentication,
    Authorization,
    CrashLoopBackOff,
    Group,
    Logging,
    MemoryReservation,
    MemorySwap,
    PriorityGracePeriod,
    Taint,
    Tracing,
    UserNamespaces,
)

API_VERSION: Final = "kubelet.config.k8s.io/v1beta1"
KIND: Final = "KubeletConfiguration"

DEFAULT_EVICTION_HARD: Final = {
    "memory.available": "100Mi",
    "nodefs.available": "10%",
    "nodefs.inodesFree": "5%",
    "imagefs.available": "15%",
    "imagefs.inodesFree": "5%",
}
DEFAULT_VOLUME_PLUGIN_DIR: Final = "/usr/libexec/kubernetes/kubelet-plugins/volume/exec/"


class KubeletConfiguration(Group, frozen=True):
    """The shareable configuration of a node agent."""

    apiVersion: str = API_VERSION
    """kubelet.config.k8s.io/v1beta1, the only version."""
    kind: str = KIND
    """What the file is: KubeletConfiguration."""

    # -- servers ------------------------------------------------------------------------------------------------------
    enableServer: bool = True
    """Run the authenticated HTTPS server."""
    address: str = "0.0.0.0"  # noqa: S104 - the API's default; every caller is authenticated
    """IP address the main and the read-only server listen on."""
    port: int = 10250
    """TCP port of the main server."""
    readOnlyPort: int = 0
    """TCP port of a server without any authentication or authorization; 0 turns it off."""
    healthzPort: int = 10248
    """TCP port of the plain HTTP health server; 0 turns it off."""
    healthzBindAddress: str = "127.0.0.1"
    """IP address the health server listens on."""
    tlsCertFile: str = ""
    """Serving certificate, PEM. Empty with tlsPrivateKeyFile: <cert-dir>/kubelet.crt, made when missing."""
    tlsPrivateKeyFile: str = ""
    """Key of the serving certificate, PEM. Empty with tlsCertFile: <cert-dir>/kubelet.key."""
    tlsCipherSuites: list[str] = []
    """Cipher suites allowed up to TLS 1.2, by their IANA names as in Go. Empty: the library's secure ones."""
    tlsCurvePreferences: list[int] = []
    """Key exchange groups allowed, by their TLS numbers (23, 24, 25, 29, 4588). Empty: the library's."""
    tlsMinVersion: str = ""
    """Lowest TLS version accepted, VersionTLS10 to VersionTLS13. Empty: VersionTLS12."""
    rotateCertificates: bool = False
    """Obtain and renew the client certificate by certificate signing requests."""
    serverTLSBootstrap: bool = False
    """Obtain and renew the serving certificate by certificate signing requests."""
    authentication: Authentication = Authentication()
    """How callers of the main server are authenticated."""
    authorization: Authorization = Authorization()
    """What a caller of the main server may do."""
    streamingConnectionIdleTimeout: Duration = Duration(4 * 3600)
    """Deprecated and unused in 1.36: idle exec, attach and port-forward streams were closed after this time."""
    enableDebuggingHandlers: bool = True
    """Serve exec, attach, logs, port-forward, run, configz and the like."""
    enableContentionProfiling: bool = False
    """Profile blocking, when profiling is served."""
    enableProfilingHandler: bool = True
    """Serve /debug/pprof/."""
    enableDebugFlagsHandler: bool = True
    """Serve PUT /debug/flags/v, which sets the log verbosity."""
    enableSystemLogHandler: bool = True
    """Serve /var/log at /logs/."""
    enableSystemLogQuery: bool = False
    """Serve queries of the journal and log files at /logs/."""

    # -- pod sources --------------------------------------------------------------------------------------------------
    staticPodPath: str = ""
    """Directory with static pod manifests, or one manifest. Empty: none."""
    staticPodURL: str = ""
    """URL that serves one pod or a pod list. Empty: none."""
    staticPodURLHeader: dict[str, list[str]] = {}
    """HTTP headers sent with requests to staticPodURL; masked in logs."""
    fileCheckFrequency: Duration = Duration(20)
    """Time between two lists of the static pod path (changes are seen at once besides)."""
    httpCheckFrequency: Duration = Duration(20)
    """Time between two requests to staticPodURL."""
    syncFrequency: Duration = Duration(60)
    """Maximum time between two reconciliations of a pod."""

    # -- node and API server ------------------------------------------------------------------------------------------
    registerNode: bool = True
    """Create the Node object in the API server."""
    registerWithTaints: list[Taint] = []
    """Taints the node is registered with."""
    providerID: str = ""
    """Identity of the machine at its provider, written to the node's spec."""
    podCIDR: str = ""
    """CIDR of the pod network in standalone mode; in a cluster, the control plane sets it."""
    nodeStatusUpdateFrequency: Duration = Duration(10)
    """Time between two computations of the node's status."""
    nodeStatusReportFrequency: Duration = Duration(300)
    """Time between two posts of an unchanged status. Default: nodeStatusUpdateFrequency if only that is given."""
    nodeLeaseDurationSeconds: int = 40
    """Duration of the node lease in seconds; it is renewed every quarter of that time."""
    nodeStatusMaxImages: int = 50
    """Maximum number of images in the node's status; -1 is all, 0 none."""
    contentType: str = "application/json"
    """Media type spoken with the API server: application/json, or application/vnd.kubernetes.protobuf, which costs this
    agent more processor time and memory and is the kubelet's default."""
    kubeAPIQPS: int = 50
    """Maximum requests a second to the API server; 0 is the client library's default."""
    kubeAPIBurst: int = 100
    """Requests allowed in a burst above kubeAPIQPS."""
    eventRecordQPS: int = 50
    """Maximum events created a second; 0 is the client library's default."""
    eventBurst: int = 100
    """Events allowed in a burst above eventRecordQPS."""
    configMapAndSecretChangeDetectionStrategy: str = "Watch"
    """How config maps and secrets in use are refreshed: Watch, Cache (with a time to live) or Get (each time)."""
    enableControllerAttachDetach: bool = True
    """Let the control plane attach and detach volumes."""

    # -- runtime and images -------------------------------------------------------------------------------------------
    containerRuntimeEndpoint: str = "unix:///run/containerd/containerd.sock"
    """Socket of the container runtime; `managed` runs a containerd of our own."""
    imageServiceEndpoint: str = ""
    """Socket of the image service; empty: the socket of the runtime."""
    runtimeRequestTimeout: Duration = Duration(120)
    """Deadline of calls to the runtime, except pull, logs, exec and attach."""
    registryPullQPS: int = 5
    """Maximum image pulls started a second; 0 is no limit."""
    registryBurst: int = 10
    """Image pulls allowed in a burst above registryPullQPS."""
    serializeImagePulls: bool = True
    """Pull one image at a time; false by default where maxParallelImagePulls is above 1."""
    maxParallelImagePulls: int | None = None
    """Maximum number of parallel pulls; unset is no limit."""
    imagePullCredentialsVerificationPolicy: str = "NeverVerifyPreloadedImages"
    """Which images already on the node need their pull credentials checked before a pod may use them."""
    preloadedImagesVerificationAllowlist: list[str] = []
    """Images that imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages exempts; a trailing /* matches
    what follows."""
    imageMinimumGCAge: Duration = Duration(120)
    """Minimum age of an unused image before it may be deleted."""
    imageMaximumGCAge: Duration = Duration(0)
    """Images unused for longer are deleted; 0 is never."""
    imageGCHighThresholdPercent: int = 85
    """Usage of the image disk, in percent, at which unused images are deleted; 100 is never."""
    imageGCLowThresholdPercent: int = 80
    """Usage of the image disk, in percent, down to which unused images are deleted."""
    podLogsDir: str = "/var/log/pods"
    """Directory that contains the log directory of each pod."""
    containerLogMaxSize: str = "10Mi"
    """Size, as a quantity, at which a container's log is rotated; negative is never."""
    containerLogMaxFiles: int = 5
    """Log files kept for a container, the live one included."""
    containerLogMaxWorkers: int = 1
    """Maximum number of concurrent log rotations."""
    containerLogMonitorInterval: Duration = Duration(10)
    """Time between two checks of the sizes of logs."""
    crashLoopBackOff: CrashLoopBackOff = CrashLoopBackOff()
    """Delays of a container that keeps crashing."""
    seccompDefault: bool = False
    """Use the RuntimeDefault seccomp profile for containers that name none."""
    allowedUnsafeSysctls: list[str] = []
    """Unsafe sysctls that pods may set; a trailing * matches what follows."""
    defaultPodSysctls: dict[str, str] = {}
    """Sysctls of every pod that does not set them itself (newer than 1.36)."""
    userNamespaces: UserNamespaces | None = None
    """User namespaces of pods."""
    hairpinMode: str = "promiscuous-bridge"
    """Kept for compatibility and unused: the runtime does the networking."""
    makeIPTablesUtilChains: bool = True
    """Maintain the iptables chains KUBE-IPTABLES-HINT, which shows other programs the iptables variant in use, and
    KUBE-FIREWALL, which blocks outside access to services on localhost."""
    iptablesMasqueradeBit: int = 14
    """Deprecated, unused."""
    iptablesDropBit: int = 15
    """Deprecated, unused."""
    clusterDomain: str = ""
    """DNS domain put into the search path of pods."""
    clusterDNS: list[str] = []
    """IP addresses of the DNS servers of ClusterFirst pods."""
    resolvConf: str = "/etc/resolv.conf"
    """Resolver configuration that pods inherit; empty is none."""

    # -- resources of the node ----------------------------------------------------------------------------------------
    maxPods: int = 110
    """Maximum number of pods on the node."""
    podsPerCore: int = 0
    """Maximum number of pods for each core, within maxPods; 0 is no such limit."""
    podPidsLimit: int = -1
    """Maximum number of process IDs in a pod; -1 is the node's limit."""
    maxOpenFiles: int = 1_000_000
    """Maximum number of files that the agent may have open."""
    oomScoreAdj: int = -999
    """oom_score_adj of the agent's processes."""
    cgroupDriver: str = "cgroupfs"
    """cgroupfs or systemd; the driver that the runtime reports takes precedence."""
    cgroupRoot: str = ""
    """Parent cgroup of the pods' tree, made where it is missing; empty is the root of the hierarchy."""
    cgroupsPerQOS: bool = True
    """Give each QoS class and pod a cgroup."""
    kubeletCgroups: str = ""
    """Cgroup the agent moves into. Empty: it stays where it was started."""
    systemCgroups: str = ""
    """Cgroup that other processes of the host are moved into. Empty: they stay."""
    failCgroupV1: bool = True
    """Refuse to start on a host with cgroup v1."""
    cpuCFSQuota: bool = True
    """Enforce CPU limits by CFS quota."""
    cpuCFSQuotaPeriod: Duration = Duration(0.1)
    """Period of the CFS quota."""
    cpuManagerPolicy: str = "none"
    """none, or static: exclusive CPUs for containers of Guaranteed pods that request whole CPUs."""
    cpuManagerPolicyOptions: dict[str, str] = {}
    """Options of the static policy, each true or false."""
    cpuManagerReconcilePeriod: Duration = Duration(10)
    """Time between two checks that containers have their CPUs."""
    memoryManagerPolicy: str = "None"
    """None, or Static: memory of NUMA nodes for Guaranteed pods."""
    reservedMemory: list[MemoryReservation] = []
    """Memory of each NUMA node that is reserved from pods under the Static policy."""
    topologyManagerPolicy: str = "none"
    """none, best-effort, restricted or single-numa-node."""
    topologyManagerScope: str = "container"
    """Unit that is aligned: container or pod."""
    topologyManagerPolicyOptions: dict[str, str] = {}
    """prefer-closest-numa-nodes and max-allowable-numa-nodes."""
    singleProcessOOMKill: bool | None = None
    """false: the kernel kills all of a container on OOM (cgroup v2). Unset: true on v1, false on v2."""
    qosReserved: dict[str, str] = {}
    """Share of memory requests kept from lower QoS classes: memory to a percentage."""
    memoryThrottlingFactor: float | None = 0.9
    """Part of the memory limit at which memory.high throttles, above 0 up to 1 (cgroup v2)."""
    memoryReservationPolicy: str = "None"
    """None, or TieredReservation: memory.min for Guaranteed, memory.low for Burstable pods."""
    memorySwap: MemorySwap = MemorySwap()
    """Swap for workloads."""
    failSwapOn: bool = True
    """Refuse to start while swap is on."""
    protectKernelDefaults: bool = False
    """Refuse to start if kernel tunables differ, instead of changing them."""
    kernelMemcgNotification: bool = False
    """Use kernel notifications for memory thresholds in addition to polling."""
    localStorageCapacityIsolation: bool = True
    """Account for ephemeral storage, and evict pods by their use of it."""
    systemReserved: dict[str, str | int] = {}
    """Quantities of cpu, memory, ephemeral-storage and pid kept for daemons of the host."""
    kubeReserved: dict[str, str | int] = {}
    """Quantities of cpu, memory, ephemeral-storage and pid kept for daemons of the cluster."""
    reservedSystemCPUs: str = ""
    """CPUs kept for the host, a list such as 0-3,7; replaces the reserved amounts of cpu."""
    systemReservedCgroup: str = ""
    """Cgroup that gets the limits of systemReserved."""
    kubeReservedCgroup: str = ""
    """Cgroup that gets the limits of kubeReserved."""
    enforceNodeAllocatable: list[str] = msgspec.field(default_factory=lambda: ["pods"])
    """Limits to enforce by cgroup: pods, system-reserved, kube-reserved, the last two also with -compressible; or
    none."""

    # -- eviction and shutdown ----------------------------------------------------------------------------------------
    evictionHard: dict[str, str] = msgspec.field(default_factory=lambda: dict(DEFAULT_EVICTION_HARD))
    """Signal to quantity or percentage below which pods are evicted at once."""
    evictionSoft: dict[str, str] = {}
    """Signal to quantity or percentage below which pods are evicted after a grace period."""
    evictionSoftGracePeriod: dict[str, str] = {}
    """Signal to the duration for which a soft threshold must be crossed."""
    evictionPressureTransitionPeriod: Duration = Duration(300)
    """How long a pressure condition stays true after the pressure was last seen."""
    evictionMaxPodGracePeriod: int = 0
    """Maximum termination grace period, in seconds, of a pod on soft eviction."""
    evictionMinimumReclaim: dict[str, str] = {}
    """Signal to quantity or percentage that must be free beyond the threshold."""
    mergeDefaultEvictionSettings: bool = False
    """Add the default to evictionHard for each signal it does not name."""
    volumeStatsAggPeriod: Duration = Duration(60)
    """Time between two walks over the pods' volumes; negative is never."""
    volumePluginDir: str = DEFAULT_VOLUME_PLUGIN_DIR
    """Directory of FlexVolume drivers."""
    shutdownGracePeriod: Duration = Duration(0)
    """Total time that pods have to end when the node shuts down; 0 is none."""
    shutdownGracePeriodCriticalPods: Duration = Duration(0)
    """Part of shutdownGracePeriod, at its end, for critical pods."""
    shutdownGracePeriodByPodPriority: list[PriorityGracePeriod] = []
    """Time by priority of the pods, in place of shutdownGracePeriod and shutdownGracePeriodCriticalPods."""

    # -- the agent itself ---------------------------------------------------------------------------------------------
    featureGates: dict[str, bool] = {}
    """Features switched on or off against their default."""
    logging: Logging = Logging()
    """What is logged, and how."""
    tracing: Tracing | None = None
    """Export of OpenTelemetry spans; unset is none."""
    showHiddenMetricsForVersion: str = ""
    """Show metrics hidden since this version: the previous minor, as X.Y. Empty: none."""
    runOnce: bool = False
    """Removed: must be false; `supervise run-once` does it."""
