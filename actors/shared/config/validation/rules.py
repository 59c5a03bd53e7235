"""All rules for a configuration in one table. `validate` applies it, `explain` prints it.

They are the rules of the kubelet 1.36, including those that it checks later during its start; in addition, periods must
not be so short that the agent would spin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from actors.shared.config import feature_gates
from actors.shared.config.errors import ConfigProblem, shown_at
from actors.shared.config.fields import names, tls
from actors.shared.config.fields.kubelet_configuration import API_VERSION, KIND, KubeletConfiguration
from actors.shared.config.version import PREVIOUS_MINOR

from . import cpu_policy_checks, memory_policy_checks, node_checks, resource_checks
from .rule_kinds import Rule, ValidationContext, across, at_least, between, check, each, gate, one_of, positive

RULES: Final[tuple[Rule, ...]] = (
    one_of("apiVersion", API_VERSION),
    one_of("kind", KIND),
    # -- servers
    check("address", "must be an IP address", names.is_ip),
    check("healthzBindAddress", "must be an IP address", names.is_ip),
    between("port", 1, 65535),
    between("readOnlyPort", 0, 65535),
    between("healthzPort", 0, 65535),
    each("tlsCipherSuites", "must be cipher suites by their Go names",
         lambda _, __, name: "" if name in tls.SUITES else "unknown cipher suite"),
    each("tlsCurvePreferences", f"must be of {', '.join(map(str, tls.CURVES))}",
         lambda _, __, curve: "" if curve in tls.CURVES else "unknown key exchange group"),
    one_of("tlsMinVersion", "", *tls.VERSIONS),
    across("serverTLSBootstrap", "needs the feature gate RotateKubeletServerCertificate",
           lambda c, _: not c.serverTLSBootstrap or gate(c, "RotateKubeletServerCertificate")),
    at_least("authentication.webhook.cacheTTL", 0),
    one_of("authorization.mode", "Webhook", "AlwaysAllow"),
    across("authorization.mode", "must not be Webhook together with authentication.anonymous.enabled without "
           "--kubeconfig: there is no API server to ask", lambda c, s: not s.standalone or not _anonymous_webhook(c)),
    at_least("authorization.webhook.cacheAuthorizedTTL", 0),
    at_least("authorization.webhook.cacheUnauthorizedTTL", 0),
    across("enableSystemLogQuery", "needs the feature gate NodeLogQuery and enableSystemLogHandler",
           lambda c, _: not c.enableSystemLogQuery or (gate(c, "NodeLogQuery") and c.enableSystemLogHandler)),
    # -- pod sources
    check("staticPodURL", "must be an http or https URL", lambda url: not url or node_checks.is_url(url)),
    positive("fileCheckFrequency", "s"),
    positive("httpCheckFrequency", "s"),
    positive("syncFrequency", "s"),
    # -- node and API server
    each("registerWithTaints", "must be valid taints without timeAdded, each key and effect once",
         node_checks.wrong_taint),
    check("podCIDR", "must be a CIDR, or two by comma",
          lambda text: not text or all(map(names.is_cidr, text.split(",")))),
    positive("nodeStatusUpdateFrequency", "s"),
    positive("nodeStatusReportFrequency", "s"),
    positive("nodeLeaseDurationSeconds"),
    at_least("nodeStatusMaxImages", -1),
    at_least("kubeAPIQPS", 0),
    at_least("kubeAPIBurst", 0),
    at_least("eventRecordQPS", 0),
    at_least("eventBurst", 0),
    one_of("configMapAndSecretChangeDetectionStrategy", "Get", "Cache", "Watch"),
    # -- runtime and images
    check("containerRuntimeEndpoint", "must be the path of a Unix socket (at most 107 bytes), unix:///..., or managed",
          node_checks.is_socket),
    check("imageServiceEndpoint", "must be the path of a Unix socket (at most 107 bytes), unix:///...",
          lambda text: not text or (node_checks.is_socket(text) and text != "managed")),
    positive("runtimeRequestTimeout", "s"),
    at_least("registryPullQPS", 0),
    at_least("registryBurst", 0),
    at_least("maxParallelImagePulls", 1),
    across("maxParallelImagePulls", "more than 1 needs serializeImagePulls: false",
           lambda c, _: (c.maxParallelImagePulls or 1) <= 1 or not c.serializeImagePulls),
    Rule("imagePullCredentialsVerificationPolicy",
         f"must be one of {', '.join(node_checks.PULL_POLICIES)}, or empty without its gate",
         node_checks.pull_verification),
    each("preloadedImagesVerificationAllowlist", "must be image names without tag and digest, * only as a trailing /*",
         node_checks.wrong_allowlisted),
    at_least("imageMinimumGCAge", 0),
    at_least("imageMaximumGCAge", 0),
    across("imageMaximumGCAge", "must be 0s or more than imageMinimumGCAge",
           lambda c, _: c.imageMaximumGCAge <= 0 or c.imageMaximumGCAge > c.imageMinimumGCAge),
    between("imageGCHighThresholdPercent", 0, 100),
    between("imageGCLowThresholdPercent", 0, 100),
    across("imageGCLowThresholdPercent", "must be less than imageGCHighThresholdPercent",
           lambda c, _: c.imageGCLowThresholdPercent < c.imageGCHighThresholdPercent),
    check("podLogsDir", "must be an absolute, clean path of ASCII characters", node_checks.is_clean_absolute),
    check("containerLogMaxSize", "must be a quantity", resource_checks.is_quantity),
    at_least("containerLogMaxFiles", 2),
    at_least("containerLogMaxWorkers", 1),
    at_least("containerLogMonitorInterval", 3),
    across("crashLoopBackOff.maxContainerRestartPeriod", "must be from 1s to 300s, and unset without its feature gate "
           "KubeletCrashLoopBackOffMax", lambda c, _: _restart_period_holds(c)),
    each("allowedUnsafeSysctls", "must be sysctls with a namespace, or prefixes with a trailing *",
         node_checks.wrong_sysctl),
    check("userNamespaces.idsPerPod", "must be a multiple of 65536 from 65536 to 4294967295",
          lambda ids: ids % 65536 == 0 and 65536 <= ids < 1 << 32),
    one_of("hairpinMode", "promiscuous-bridge", "hairpin-veth", "none"),
    between("iptablesMasqueradeBit", 0, 31),
    between("iptablesDropBit", 0, 31),
    # -- resources of the node
    at_least("maxPods", 0),
    at_least("podsPerCore", 0),
    at_least("maxOpenFiles", 0),
    between("oomScoreAdj", -1000, 1000),
    one_of("cgroupDriver", "cgroupfs", "systemd"),
    *(check(field, "must be the name of a cgroup, without ..", node_checks.is_cgroup_name)
      for field in ("cgroupRoot", "kubeletCgroups", "systemCgroups", "systemReservedCgroup", "kubeReservedCgroup")),
    across("systemCgroups", "needs cgroupRoot and must not be /",
           lambda c, _: not c.systemCgroups or (bool(c.cgroupRoot) and bool(c.systemCgroups.strip("/")))),
    between("cpuCFSQuotaPeriod", 0.001, 1),
    across("cpuCFSQuotaPeriod", "must be 100ms without the feature gate CustomCPUCFSQuotaPeriod",
           lambda c, _: c.cpuCFSQuotaPeriod == 0.1 or gate(c, "CustomCPUCFSQuotaPeriod")),
    one_of("cpuManagerPolicy", "none", "static"),
    Rule("cpuManagerPolicy", "static needs reserved CPUs, and options that do not exclude each other; none takes no "
         "options", cpu_policy_checks.cpu_policy),
    each("cpuManagerPolicyOptions", "must be options of the static policy, each true or false",
         resource_checks.wrong_cpu_option),
    positive("cpuManagerReconcilePeriod", "s"),
    one_of("memoryManagerPolicy", "None", "Static"),
    Rule("memoryManagerPolicy", "Static needs a reservedMemory that is kubeReserved, systemReserved and the hard "
         "threshold memory.available together", memory_policy_checks.memory_policy),
    each("reservedMemory", "must be quantities above 0 of memory and hugepages-<size>, once for each NUMA node",
         resource_checks.wrong_memory_reservation),
    one_of("topologyManagerPolicy", "none", "best-effort", "restricted", "single-numa-node"),
    one_of("topologyManagerScope", "container", "pod"),
    each("topologyManagerPolicyOptions", "must be prefer-closest-numa-nodes or max-allowable-numa-nodes",
         resource_checks.wrong_topology_option),
    across("singleProcessOOMKill", "must not be false on cgroup v1",
           lambda c, s: c.singleProcessOOMKill is not False or s.cgroup_v2 is not False),
    each("qosReserved", "must be memory with a percentage; has no effect without the feature gate QOSReserved",
         resource_checks.wrong_qos_reserved),
    check("memoryThrottlingFactor", "must be more than 0 and at most 1", lambda factor: 0 < factor <= 1),
    across("memoryThrottlingFactor", "must be set with the feature gate MemoryQoS",
           lambda c, _: c.memoryThrottlingFactor is not None or not gate(c, "MemoryQoS")),
    one_of("memoryReservationPolicy", "None", "TieredReservation"),
    across("memoryReservationPolicy", "TieredReservation needs the feature gate MemoryQoS",
           lambda c, _: c.memoryReservationPolicy != "TieredReservation" or gate(c, "MemoryQoS")),
    one_of("memorySwap.swapBehavior", "", "NoSwap", "LimitedSwap"),
    across("memorySwap.swapBehavior", "LimitedSwap needs cgroup v2",
           lambda c, s: c.memorySwap.swapBehavior != "LimitedSwap" or s.cgroup_v2 is not False),
    each("systemReserved", "must be quantities of cpu, memory, ephemeral-storage and pid, not negative",
         resource_checks.wrong_reservation),
    each("kubeReserved", "must be quantities of cpu, memory, ephemeral-storage and pid, not negative",
         resource_checks.wrong_reservation),
    Rule("reservedSystemCPUs", "must be a list of CPUs that are online, without cgroups for the reservations",
         resource_checks.reserved_cpus),
    each("enforceNodeAllocatable", f"must be of {', '.join(resource_checks.ENFORCEABLE)}, each once; needs "
         "cgroupsPerQOS and the cgroups it names", resource_checks.wrong_enforcement),
    # -- eviction and shutdown
    each("evictionHard", "must be signals with a quantity above 0 or a percentage", resource_checks.wrong_threshold),
    each("evictionSoft", "must be signals with a quantity above 0 or a percentage, each with a grace period",
         resource_checks.wrong_soft_threshold),
    each("evictionSoftGracePeriod", "must be signals with a duration above 0s", resource_checks.wrong_grace),
    each("evictionMinimumReclaim", "must be signals with a quantity or a percentage", resource_checks.wrong_reclaim),
    positive("evictionPressureTransitionPeriod", "s"),
    Rule("shutdownGracePeriod", "must be 0s, or 1s or more; the part for critical pods within it; not with priorities",
         node_checks.shutdown),
    # -- the agent itself
    each("featureGates", "must be feature gates of 1.36; locked ones cannot be changed", node_checks.wrong_gate),
    Rule("featureGates", "a gate that is on needs the gates that it depends on", node_checks.gate_dependencies),
    Rule("featureGates", "must not be an alpha gate that pods rely on and that is missing", node_checks.refused_gate),
    one_of("logging.format", "text", "json"),
    positive("logging.flushFrequency", "s"),
    between("logging.verbosity", 0, 2147483647),
    each("logging.vmodule", "must be patterns with a verbosity", node_checks.wrong_vmodule),
    across("logging.vmodule", "needs logging.format: text",
           lambda c, _: not c.logging.vmodule or c.logging.format == "text"),
    Rule("logging.options", "alpha options need the feature gate LoggingAlphaOptions", node_checks.log_options),
    check("tracing.endpoint", "must be host:port, or an address of dns, unix or unix-abstract",
          node_checks.is_trace_endpoint),
    between("tracing.samplingRatePerMillion", 0, 1_000_000),
    one_of("showHiddenMetricsForVersion", "", PREVIOUS_MINOR),
    check("runOnce", "was removed and must be false: use `supervise run-once`", lambda once: not once),
)  # fmt: skip


def _anonymous_webhook(config: KubeletConfiguration) -> bool:
    return config.authorization.mode == "Webhook" and config.authentication.anonymous.enabled


def _restart_period_holds(config: KubeletConfiguration) -> bool:
    period = config.crashLoopBackOff.maxContainerRestartPeriod
    if not gate(config, "KubeletCrashLoopBackOffMax"):
        return period is None
    return period is not None and 1 <= period <= 300


def validate(
    config: KubeletConfiguration, context: ValidationContext, source_of: Callable[[str], str] = lambda path: ""
) -> Iterator[ConfigProblem]:
    """Every broken rule."""
    for rule in RULES:
        for path, value, text in rule.broken(config, context):
            yield ConfigProblem(path, shown_at(path, value), text or rule.text, source_of(path))


def rules_of(field: str) -> list[str]:
    """The rules for a field, for its parents and for its children."""
    own = [rule.text for rule in RULES if f"{field}.".startswith(f"{rule.field}.")]
    return own + [f"{rule.field} {rule.text}" for rule in RULES if rule.field.startswith(f"{field}.")]


def warnings(config: KubeletConfiguration, *, standalone: bool = False) -> list[str]:
    """Warnings about settings that are allowed."""
    found = [
        f"clusterDNS: {address} is not an IP address and is ignored"
        for address in config.clusterDNS
        if not names.is_ip(address)
    ]
    found += [f"tlsCipherSuites: {name} is insecure" for name in config.tlsCipherSuites if name in tls.INSECURE_SUITES]
    if config.tlsCipherSuites and config.tlsMinVersion == "VersionTLS13":
        found.append("tlsCipherSuites: has no effect, as TLS 1.3 (tlsMinVersion) has suites of its own, all on")
    if config.tlsMinVersion in {"VersionTLS10", "VersionTLS11"}:
        found.append(f"tlsMinVersion: {config.tlsMinVersion} is insecure")
    if config.authentication.anonymous.enabled:
        found.append("authentication.anonymous.enabled: callers without credentials are accepted")
    if config.authorization.mode == "AlwaysAllow":
        found.append("authorization.mode: AlwaysAllow lets every authenticated caller do everything")
    if config.readOnlyPort:
        found.append(f"readOnlyPort: port {config.readOnlyPort} answers everybody")
    if config.serverTLSBootstrap and standalone:
        found.append("serverTLSBootstrap: without --kubeconfig nobody signs a certificate; a self-signed one serves")
    if config.qosReserved and not gate(config, "QOSReserved"):
        found.append("qosReserved: has no effect without the feature gate QOSReserved")
    if not config.enableControllerAttachDetach:
        found.append(
            "enableControllerAttachDetach: the agent attaches no volumes itself, so that pods wait for those of CSI "
            "drivers that must be attached"
        )
    owner, inside = config.kubeReservedCgroup, config.kubeletCgroups
    if owner and inside and not f"{inside}/".startswith(f"{owner.rstrip('/')}/"):
        found.append(f"kubeletCgroups: {inside} is not below kubeReservedCgroup")
    found += [
        f"featureGates: {name} is deprecated"
        for name in config.featureGates
        if name in feature_gates.GATES and feature_gates.GATES[name].stage == "Deprecated"
    ]
    return found
