"""All flags in one table: the kubelet 1.36's, removed ones, and Troupelet's own.

A flag with a `field` sets that field of the configuration and has its default and text. The others have their own.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from actors.shared.config.paths import DEFAULT_ROOT_DIR, ROOT_DIR_VARIABLE

Kind = Literal[
    "bool", "int32", "int64", "uint32", "string", "duration", "ip", "quantity", "list", "map", "labels", "less_map",
    "gates", "headers", "taints", "reserved_memory", "vmodule", "version",
]  # fmt: skip


class Flag(NamedTuple):
    """A flag."""

    name: str
    """Without dashes, words joined by `-` (`_` is read as `-`)."""
    kind: Kind
    field: str = ""
    """Path of the field it sets; empty: it sets none."""
    default: str = ""
    """The default in command-line form, for a flag without a field."""
    text: str = ""
    group: str = ""
    """Heading in --help, for a flag without a field."""
    deprecated: bool = False
    missing: str = ""
    """For a flag that is accepted but has no effect: the missing feature."""
    secret: bool = False
    environment: str = ""
    """Environment variable that takes the place of the default."""


FIELD_FLAGS: Final[tuple[Flag, ...]] = (
    Flag("address", "ip", "address", deprecated=True),
    Flag("allowed-unsafe-sysctls", "list", "allowedUnsafeSysctls", deprecated=True),
    Flag("anonymous-auth", "bool", "authentication.anonymous.enabled", deprecated=True),
    Flag("authentication-token-webhook", "bool", "authentication.webhook.enabled", deprecated=True),
    Flag("authentication-token-webhook-cache-ttl", "duration", "authentication.webhook.cacheTTL", deprecated=True),
    Flag("authorization-mode", "string", "authorization.mode", deprecated=True),
    Flag(
        "authorization-webhook-cache-authorized-ttl",
        "duration",
        "authorization.webhook.cacheAuthorizedTTL",
        deprecated=True,
    ),
    Flag(
        "authorization-webhook-cache-unauthorized-ttl",
        "duration",
        "authorization.webhook.cacheUnauthorizedTTL",
        deprecated=True,
    ),
    Flag("cgroup-driver", "string", "cgroupDriver", deprecated=True),
    Flag("cgroup-root", "string", "cgroupRoot", deprecated=True),
    Flag("cgroups-per-qos", "bool", "cgroupsPerQOS", deprecated=True),
    Flag("client-ca-file", "string", "authentication.x509.clientCAFile", deprecated=True),
    Flag("cluster-dns", "list", "clusterDNS", deprecated=True),
    Flag("cluster-domain", "string", "clusterDomain", deprecated=True),
    Flag("container-log-max-files", "int32", "containerLogMaxFiles", deprecated=True),
    Flag("container-log-max-size", "string", "containerLogMaxSize", deprecated=True),
    Flag("container-runtime-endpoint", "string", "containerRuntimeEndpoint", deprecated=True),
    Flag("contention-profiling", "bool", "enableContentionProfiling", deprecated=True),
    Flag("cpu-cfs-quota", "bool", "cpuCFSQuota", deprecated=True),
    Flag("cpu-cfs-quota-period", "duration", "cpuCFSQuotaPeriod", deprecated=True),
    Flag("cpu-manager-policy", "string", "cpuManagerPolicy", deprecated=True),
    Flag("cpu-manager-policy-options", "map", "cpuManagerPolicyOptions", deprecated=True),
    Flag("cpu-manager-reconcile-period", "duration", "cpuManagerReconcilePeriod", deprecated=True),
    Flag("enable-controller-attach-detach", "bool", "enableControllerAttachDetach", deprecated=True),
    Flag("enable-debugging-handlers", "bool", "enableDebuggingHandlers", deprecated=True),
    Flag("enable-server", "bool", "enableServer", deprecated=True),
    Flag("enforce-node-allocatable", "list", "enforceNodeAllocatable", deprecated=True),
    Flag("event-burst", "int32", "eventBurst", deprecated=True),
    Flag("event-qps", "int32", "eventRecordQPS", deprecated=True),
    Flag("eviction-hard", "less_map", "evictionHard", deprecated=True),
    Flag("eviction-max-pod-grace-period", "int32", "evictionMaxPodGracePeriod", deprecated=True),
    Flag("eviction-minimum-reclaim", "map", "evictionMinimumReclaim", deprecated=True),
    Flag("eviction-pressure-transition-period", "duration", "evictionPressureTransitionPeriod", deprecated=True),
    Flag("eviction-soft", "less_map", "evictionSoft", deprecated=True),
    Flag("eviction-soft-grace-period", "map", "evictionSoftGracePeriod", deprecated=True),
    Flag("fail-cgroupv1", "bool", "failCgroupV1"),
    Flag("fail-swap-on", "bool", "failSwapOn", deprecated=True),
    Flag("feature-gates", "gates", "featureGates", deprecated=True),
    Flag("file-check-frequency", "duration", "fileCheckFrequency", deprecated=True),
    Flag("hairpin-mode", "string", "hairpinMode", deprecated=True),
    Flag("healthz-bind-address", "ip", "healthzBindAddress", deprecated=True),
    Flag("healthz-port", "int32", "healthzPort", deprecated=True),
    Flag("http-check-frequency", "duration", "httpCheckFrequency", deprecated=True),
    Flag("image-gc-high-threshold", "int32", "imageGCHighThresholdPercent", deprecated=True),
    Flag("image-gc-low-threshold", "int32", "imageGCLowThresholdPercent", deprecated=True),
    Flag("image-service-endpoint", "string", "imageServiceEndpoint", deprecated=True),
    Flag("kernel-memcg-notification", "bool", "kernelMemcgNotification", deprecated=True),
    Flag("kube-api-burst", "int32", "kubeAPIBurst", deprecated=True),
    Flag("kube-api-content-type", "string", "contentType", deprecated=True),
    Flag("kube-api-qps", "int32", "kubeAPIQPS", deprecated=True),
    Flag("kube-reserved", "map", "kubeReserved", deprecated=True),
    Flag("kube-reserved-cgroup", "string", "kubeReservedCgroup", deprecated=True),
    Flag("kubelet-cgroups", "string", "kubeletCgroups", deprecated=True),
    Flag("local-storage-capacity-isolation", "bool", "localStorageCapacityIsolation", deprecated=True),
    Flag("log-flush-frequency", "duration", "logging.flushFrequency"),
    Flag("log-json-info-buffer-size", "quantity", "logging.options.json.infoBufferSize", deprecated=True),
    Flag("log-json-split-stream", "bool", "logging.options.json.splitStream", deprecated=True),
    Flag("log-text-info-buffer-size", "quantity", "logging.options.text.infoBufferSize", deprecated=True),
    Flag("log-text-split-stream", "bool", "logging.options.text.splitStream", deprecated=True),
    Flag("logging-format", "string", "logging.format", deprecated=True),
    Flag("make-iptables-util-chains", "bool", "makeIPTablesUtilChains", deprecated=True),
    Flag("manifest-url", "string", "staticPodURL", deprecated=True),
    Flag("manifest-url-header", "headers", "staticPodURLHeader", deprecated=True),
    Flag("max-open-files", "int64", "maxOpenFiles", deprecated=True),
    Flag("max-pods", "int32", "maxPods", deprecated=True),
    Flag("memory-manager-policy", "string", "memoryManagerPolicy", deprecated=True),
    Flag("minimum-image-ttl-duration", "duration", "imageMinimumGCAge", deprecated=True),
    Flag("node-status-max-images", "int32", "nodeStatusMaxImages", deprecated=True),
    Flag("node-status-update-frequency", "duration", "nodeStatusUpdateFrequency", deprecated=True),
    Flag("oom-score-adj", "int32", "oomScoreAdj", deprecated=True),
    Flag("pod-cidr", "string", "podCIDR", deprecated=True),
    Flag("pod-manifest-path", "string", "staticPodPath", deprecated=True),
    Flag("pod-max-pids", "int64", "podPidsLimit", deprecated=True),
    Flag("pods-per-core", "int32", "podsPerCore", deprecated=True),
    Flag("port", "int32", "port", deprecated=True),
    Flag("protect-kernel-defaults", "bool", "protectKernelDefaults", deprecated=True),
    Flag("provider-id", "string", "providerID"),
    Flag("qos-reserved", "map", "qosReserved", deprecated=True),
    Flag("read-only-port", "int32", "readOnlyPort", deprecated=True),
    Flag("register-node", "bool", "registerNode", deprecated=True),
    Flag("register-with-taints", "taints", "registerWithTaints", deprecated=True),
    Flag("registry-burst", "int32", "registryBurst", deprecated=True),
    Flag("registry-qps", "int32", "registryPullQPS", deprecated=True),
    Flag("reserved-cpus", "string", "reservedSystemCPUs", deprecated=True),
    Flag("reserved-memory", "reserved_memory", "reservedMemory", deprecated=True),
    Flag("resolv-conf", "string", "resolvConf", deprecated=True),
    Flag("rotate-certificates", "bool", "rotateCertificates", deprecated=True),
    Flag("rotate-server-certificates", "bool", "serverTLSBootstrap", deprecated=True),
    Flag("runonce", "bool", "runOnce", deprecated=True),
    Flag("runtime-request-timeout", "duration", "runtimeRequestTimeout", deprecated=True),
    Flag("serialize-image-pulls", "bool", "serializeImagePulls", deprecated=True),
    Flag("streaming-connection-idle-timeout", "duration", "streamingConnectionIdleTimeout", deprecated=True),
    Flag("sync-frequency", "duration", "syncFrequency", deprecated=True),
    Flag("system-cgroups", "string", "systemCgroups", deprecated=True),
    Flag("system-reserved", "map", "systemReserved", deprecated=True),
    Flag("system-reserved-cgroup", "string", "systemReservedCgroup", deprecated=True),
    Flag("tls-cert-file", "string", "tlsCertFile", deprecated=True),
    Flag("tls-cipher-suites", "list", "tlsCipherSuites", deprecated=True),
    Flag("tls-min-version", "string", "tlsMinVersion", deprecated=True),
    Flag("tls-private-key-file", "string", "tlsPrivateKeyFile", deprecated=True),
    Flag("topology-manager-policy", "string", "topologyManagerPolicy", deprecated=True),
    Flag("topology-manager-policy-options", "map", "topologyManagerPolicyOptions", deprecated=True),
    Flag("topology-manager-scope", "string", "topologyManagerScope", deprecated=True),
    Flag("v", "uint32", "logging.verbosity"),
    Flag("vmodule", "vmodule", "logging.vmodule"),
    Flag("volume-plugin-dir", "string", "volumePluginDir", deprecated=True),
    Flag("volume-stats-agg-period", "duration", "volumeStatsAggPeriod", deprecated=True),
)

NODE: Final = "Node and directories"
SERVER: Final = "API server"
FILES: Final = "Configuration files"
IMAGES: Final = "Images and containers"
OWN: Final = "Troupelet's own"
GENERAL: Final = "General"
CADVISOR: Final = "Accepted for cAdvisor, without effect"

_CADVISOR = "cAdvisor: statistics are read from the runtime and from cgroups"

OTHER_FLAGS: Final[tuple[Flag, ...]] = (
    Flag("help", "bool", default="false", text="Print this text and exit (-h).", group=GENERAL),
    Flag("version", "version", default="false", text="Print the version and exit; raw: all of it.", group=GENERAL),
    Flag("config", "string", text="KubeletConfiguration file, YAML or JSON.", group=FILES),
    Flag("config-dir", "string", text="Directory of drop-ins, *.conf, merged over --config in order.", group=FILES),
    Flag("hostname-override", "string", text="Node name to use instead of the host name.", group=NODE),
    Flag("node-ip", "string", text="Address of the node, or two separated by a comma for dual stack.", group=NODE),
    Flag("node-labels", "labels", text="Labels the node is registered with.", group=NODE),
    Flag(
        "root-dir",
        "string",
        default=DEFAULT_ROOT_DIR,
        text=f"Directory of pods, plug-ins and state (also by ${ROOT_DIR_VARIABLE}).",
        group=NODE,
        environment=ROOT_DIR_VARIABLE,
    ),
    Flag("cert-dir", "string", default="/var/lib/kubelet/pki", text="Directory of certificates.", group=NODE),
    Flag("lock-file", "string", text="Lock file, so that only one agent runs.", group=NODE),
    Flag("exit-on-lock-contention", "bool", default="false", text="End when another opens --lock-file.", group=NODE),
    Flag("runtime-cgroups", "string", text="Cgroup of the container runtime, for its statistics.", group=NODE),
    Flag("cloud-provider", "string", text="Empty, or external for an external cloud controller.", group=SERVER),
    Flag("kubeconfig", "string", text="How to reach the API server; absent: standalone.", group=SERVER),
    Flag("bootstrap-kubeconfig", "string", text="How to obtain the first client certificate.", group=SERVER),
    Flag("image-credential-provider-config", "string", text="Credential plug-ins: file or directory.", group=IMAGES),
    Flag("image-credential-provider-bin-dir", "string", text="Directory of credential plug-ins.", group=IMAGES),
    Flag("seccomp-default", "bool", default="false", text="Same as the field seccompDefault.", group=IMAGES),
    Flag("minimum-container-ttl-duration", "duration", default="0s", group=IMAGES, deprecated=True,
         text="Minimum age of a dead container before it is removed."),
    Flag("maximum-dead-containers-per-container", "int32", default="1", group=IMAGES, deprecated=True,
         text="Dead instances to keep of each container, at least the last one; negative: no limit."),
    Flag("maximum-dead-containers", "int32", default="-1", group=IMAGES, deprecated=True,
         text="Dead containers to keep on the node; the last instance of each is always kept; negative: no limit."),
    Flag("experimental-mounter-path", "string", group=NODE, deprecated=True,
         text="Program that runs the mount command of NFS volumes."),
    Flag("experimental-allocatable-ignore-eviction", "bool", default="false", group=NODE, deprecated=True,
         text="Do not subtract hard eviction thresholds from allocatable."),
    Flag("housekeeping-interval", "duration", default="10s", group=CADVISOR, missing=_CADVISOR),
    Flag("max-housekeeping-interval", "duration", default="15s", group=CADVISOR, missing=_CADVISOR),
    Flag("global-housekeeping-interval", "duration", default="1m0s", group=CADVISOR, missing=_CADVISOR),
    Flag("application-metrics-count-limit", "int32", default="100", group=CADVISOR, missing=_CADVISOR),
    Flag("boot-id-file", "string", default="/proc/sys/kernel/random/boot_id", group=CADVISOR, missing=_CADVISOR),
    Flag("machine-id-file", "string", default="/etc/machine-id", group=CADVISOR, missing=_CADVISOR),
    Flag("container-hints", "string", default="/etc/cadvisor/container_hints.json", group=CADVISOR, missing=_CADVISOR),
    Flag("containerd", "string", default="/run/containerd/containerd.sock", group=CADVISOR, missing=_CADVISOR),
    Flag("containerd-namespace", "string", default="k8s.io", group=CADVISOR, missing=_CADVISOR),
    Flag("enable-load-reader", "bool", default="false", group=CADVISOR, missing=_CADVISOR),
    Flag("event-storage-age-limit", "string", default="default=0", group=CADVISOR, missing=_CADVISOR),
    Flag("event-storage-event-limit", "string", default="default=0", group=CADVISOR, missing=_CADVISOR),
    Flag("log-cadvisor-usage", "bool", default="false", group=CADVISOR, missing=_CADVISOR),
    Flag("storage-driver-buffer-duration", "duration", default="1m0s", group=CADVISOR, missing=_CADVISOR),
    Flag("storage-driver-db", "string", default="cadvisor", group=CADVISOR, missing=_CADVISOR),
    Flag("storage-driver-host", "string", default="localhost:8086", group=CADVISOR, missing=_CADVISOR),
    Flag("storage-driver-password", "string", default="root", group=CADVISOR, missing=_CADVISOR, secret=True),
    Flag("storage-driver-secure", "bool", default="false", group=CADVISOR, missing=_CADVISOR),
    Flag("storage-driver-table", "string", default="stats", group=CADVISOR, missing=_CADVISOR),
    Flag("storage-driver-user", "string", default="root", group=CADVISOR, missing=_CADVISOR),
    Flag("windows-service", "bool", default="false", text="Refused: this agent runs on Linux.", group=GENERAL),
    Flag("windows-priorityclass", "string", default="NORMAL_PRIORITY_CLASS", group=GENERAL,
         text="Refused: this agent runs on Linux."),
)  # fmt: skip

OWN_FLAGS: Final[tuple[Flag, ...]] = (
    Flag("policy", "string", text="Supervision policy file; absent: the default policy.", group=OWN),
    Flag("workers", "int32", default="0", text="Number of pod worker shards; 0: one per core, from 2 to 8.", group=OWN),
    Flag("log-file", "string", text="Log file, in addition to stderr.", group=OWN),
    Flag("run-dir", "string", text="Directory of the actors' sockets; absent: one for each --root-dir.", group=OWN),
    Flag("dynamic-config-dir", "string", group=OWN,
         text="Directory of configuration checkpoints; absent: below --root-dir. With the gate "
         "DynamicKubeletConfig the configuration may also come from a ConfigMap."),
    Flag("lenient-config", "bool", default="false", group=OWN,
         text="Warn about unknown fields of the configuration; otherwise they are errors."),
    Flag("set-kernel-tunables", "bool", default="true", group=OWN,
         text="Set vm.overcommit_memory, kernel.panic and similar sysctls, unless protectKernelDefaults is on."),
    Flag("keep-terminated-pod-volumes", "bool", default="false", group=OWN, deprecated=True,
         text="Leave the volumes of terminated pods mounted until they are deleted (removed from the kubelet)."),
)  # fmt: skip


class RemovedFlag(NamedTuple):
    """A flag that the kubelet has removed, and what happens when it is given."""

    name: str
    kind: Kind
    text: str
    accepted: tuple[str, ...] | None = None
    """Values that are accepted with a warning; None: any; (): refused."""


_DOCKERSHIM = "dockershim was removed: the runtime handles networking and images"
_KLOG = "logs go to stderr and to --log-file; use --logging-format, -v and --vmodule"
_FAULTS = "use `supervise inject`"

REMOVED_FLAGS: Final[tuple[RemovedFlag, ...]] = (
    RemovedFlag("container-runtime", "string", "only remote exists: give a CRI socket to --container-runtime-endpoint",
                ("remote",)),
    RemovedFlag("experimental-dockershim", "bool", "dockershim was removed: run cri-dockerd and give its socket to "
                "--container-runtime-endpoint", ()),
    RemovedFlag("pod-infra-container-image", "string", "the runtime chooses and keeps its own sandbox image"),
    RemovedFlag("network-plugin", "string", _DOCKERSHIM),
    RemovedFlag("network-plugin-mtu", "int32", _DOCKERSHIM),
    RemovedFlag("network-plugin-dir", "string", _DOCKERSHIM),
    RemovedFlag("cni-bin-dir", "string", _DOCKERSHIM),
    RemovedFlag("cni-conf-dir", "string", _DOCKERSHIM),
    RemovedFlag("cni-cache-dir", "string", _DOCKERSHIM),
    RemovedFlag("non-masquerade-cidr", "string", _DOCKERSHIM),
    RemovedFlag("image-pull-progress-deadline", "duration", _DOCKERSHIM),
    RemovedFlag("docker-endpoint", "string", _DOCKERSHIM),
    RemovedFlag("docker-root", "string", _DOCKERSHIM),
    RemovedFlag("docker-only", "bool", _DOCKERSHIM),
    RemovedFlag("docker-env-metadata-whitelist", "string", _DOCKERSHIM),
    RemovedFlag("docker-tls", "bool", _DOCKERSHIM),
    RemovedFlag("docker-tls-ca", "string", _DOCKERSHIM),
    RemovedFlag("docker-tls-cert", "string", _DOCKERSHIM),
    RemovedFlag("docker-tls-key", "string", _DOCKERSHIM),
    RemovedFlag("allow-privileged", "bool", "privileged pods are always allowed", ("true",)),
    RemovedFlag("host-network-sources", "list", "every source may use the host's network"),
    RemovedFlag("host-pid-sources", "list", "every source may use the host's process IDs"),
    RemovedFlag("host-ipc-sources", "list", "every source may use the host's IPC"),
    RemovedFlag("register-schedulable", "bool",
                "use --register-with-taints=node.kubernetes.io/unschedulable:NoSchedule", ("true",)),
    RemovedFlag("cloud-config", "string", "there are no cloud providers inside the agent"),
    RemovedFlag("really-crash-for-testing", "bool", _FAULTS),
    RemovedFlag("chaos-chance", "string", _FAULTS),
    RemovedFlag("add-dir-header", "bool", _KLOG),
    RemovedFlag("alsologtostderr", "bool", _KLOG),
    RemovedFlag("log-backtrace-at", "string", _KLOG),
    RemovedFlag("log-dir", "string", _KLOG),
    RemovedFlag("log-file-max-size", "string", _KLOG),
    RemovedFlag("logtostderr", "bool", _KLOG),
    RemovedFlag("one-output", "bool", _KLOG),
    RemovedFlag("skip-headers", "bool", _KLOG),
    RemovedFlag("skip-log-headers", "bool", _KLOG),
    RemovedFlag("stderrthreshold", "string", _KLOG),
)  # fmt: skip

ALIASES: Final = {"experimental-kernel-memcg-notification": "kernel-memcg-notification"}
"""Old names of existing flags."""

FLAGS: Final[dict[str, Flag]] = {flag.name: flag for flag in (*FIELD_FLAGS, *OTHER_FLAGS, *OWN_FLAGS)}
REMOVED: Final[dict[str, RemovedFlag]] = {flag.name: flag for flag in REMOVED_FLAGS}
FLAG_OF_FIELD: Final[dict[str, Flag]] = {flag.field: flag for flag in FIELD_FLAGS}
