"""Every rule of the table: what just holds, and what just does not."""

import msgspec
import pytest

from actors.shared.config.errors import ConfigErrors
from actors.shared.config.fields.groups import MemoryReservation
from actors.shared.config.fields.kubelet_configuration import API_VERSION, KIND, KubeletConfiguration
from actors.shared.config.sources.documents import Document
from actors.shared.config.sources.effective import effective
from actors.shared.config.sources.merge_patch import put
from actors.shared.config.validation.memory_policy_checks import memory_policy
from actors.shared.config.validation.rule_kinds import ValidationContext
from actors.shared.config.validation.rules import RULES, validate

V1 = ValidationContext(online_cpus=frozenset(range(8)), cgroup_v2=False, memory=8 << 30)
V2 = ValidationContext(online_cpus=frozenset(range(8)), cgroup_v2=True, memory=8 << 30)


def problems(fields, context=V2):
    """The paths that are complained about; fields by path, set after zeros were dropped, as flags are."""
    data = {"apiVersion": API_VERSION, "kind": KIND}
    for path, value in fields.items():
        put(data, path, value)
    try:
        effective([Document("f", data, {})], {}, context)
    except ConfigErrors as error:
        return [problem.path for problem in error.problems]
    return []


GATES = "featureGates"
PINNED = {"memoryManagerPolicy": "Static", "evictionHard": {"memory.available": "100Mi"}}
HALF = {"evictionHard": {"memory.available": "50%"}}
STATIC = {"cpuManagerPolicy": "static", "kubeReserved": {"cpu": "500m"}}
HOLDS = [
    {"address": "::"}, {"healthzBindAddress": "127.0.0.2"},
    {**PINNED, **HALF, "reservedMemory": [{"numaNode": 0, "limits": {"memory": "4Gi"}}]},
    {"port": 1}, {"port": 65535}, {"readOnlyPort": 0}, {"readOnlyPort": 65535}, {"healthzPort": 0},
    {"tlsCipherSuites": ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256",
    "TLS_RSA_WITH_RC4_128_SHA"]},
    {"tlsCurvePreferences": [23, 29, 4588]}, {"tlsMinVersion": ""}, {"tlsMinVersion": "VersionTLS13"},
    {"serverTLSBootstrap": True}, {"authorization.mode": "AlwaysAllow"}, {"enableSystemLogQuery": True},
    {"staticPodURL": "https://h/p"}, {"registerWithTaints": [{"key": "a.b/c", "value": "v", "effect": "NoExecute"}]},
    {"podCIDR": "10.0.0.0/24,fd00::/64"}, {"nodeStatusMaxImages": -1}, {"kubeAPIQPS": 0}, {"eventRecordQPS": 0},
    {"configMapAndSecretChangeDetectionStrategy": "Get"}, {"containerRuntimeEndpoint": "/run/x.sock"},
    {"containerRuntimeEndpoint": "managed"}, {"imageServiceEndpoint": "unix:///x"}, {"registryPullQPS": 0},
    {"maxParallelImagePulls": 1}, {"maxParallelImagePulls": 5, "serializeImagePulls": False},
    {"imagePullCredentialsVerificationPolicy": "AlwaysVerify"},
    {"imagePullCredentialsVerificationPolicy": "NeverVerifyAllowlistedImages",
     "preloadedImagesVerificationAllowlist": ["registry:5000/a/b", "quay.io/*", "registry:5000/*"]},
    {GATES: {"KubeletEnsureSecretPulledImages": False}},
    {"imageMaximumGCAge": "2m1s"}, {"imageGCHighThresholdPercent": 100}, {"imageGCLowThresholdPercent": 0},
    {"podLogsDir": "/var/log/p"}, {"containerLogMaxSize": "-1"}, {"containerLogMaxFiles": 2},
    {"containerLogMonitorInterval": "3s"}, {"crashLoopBackOff.maxContainerRestartPeriod": "1s"},
    {GATES: {"KubeletCrashLoopBackOffMax": False}},
    {"allowedUnsafeSysctls": ["kernel.msg*", "net.core.somaxconn", "net.ipv4.*", "fs.mqueue.msg_max",
    "net/ipv4/tcp_rmem"]},
    {"userNamespaces.idsPerPod": 65536}, {"userNamespaces.idsPerPod": 4294901760},
    {"hairpinMode": "none"}, {"iptablesDropBit": 31}, {"podsPerCore": 0}, {"oomScoreAdj": -1000}, {"oomScoreAdj": 1000},
    {"cgroupDriver": "systemd"}, {"systemCgroups": "/system", "cgroupRoot": "/"}, {"cpuCFSQuotaPeriod": "1ms"},
    {"cpuCFSQuotaPeriod": "1s"}, {GATES: {"CustomCPUCFSQuotaPeriod": False}},
    {**STATIC, "cpuManagerPolicyOptions": {"full-pcpus-only": "true"}},
    {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0", "cpuManagerPolicyOptions": {"full-pcpus-only": "T",
    "strict-cpu-reservation": "0"}},
    {**PINNED, "kubeReserved": {"memory": "28Mi"}, "reservedMemory": [{"numaNode": 0, "limits": {"memory": "128Mi"}}]},
    {**STATIC, "systemReserved": {"cpu": "1m"}, "kubeReserved": {"memory": "1Gi"}},
    {**STATIC, "cpuManagerPolicyOptions": {"prefer-align-cpus-by-uncorecache": "true",
    "distribute-cpus-across-numa": "false"}, "topologyManagerPolicy": "single-numa-node"},
    {"topologyManagerPolicyOptions": {"prefer-closest-numa-nodes": "True", "max-allowable-numa-nodes": "+12"}},
    {**STATIC, "cpuManagerPolicyOptions": {"align-by-socket": "true", "distribute-cpus-across-numa": "true"},
     GATES: {"CPUManagerPolicyAlphaOptions": True}},
    {**STATIC, "cpuManagerPolicyOptions": {"align-by-socket": "true"}, GATES: {"CPUManagerPolicyAlphaOptions": True}},
    {"reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi",
    "hugepages-2Mi": 5}}]},
    {"topologyManagerPolicy": "single-numa-node"}, {"topologyManagerScope": "pod"},
    {"topologyManagerPolicyOptions": {"prefer-closest-numa-nodes": "true", "max-allowable-numa-nodes": "8"}},
    {"qosReserved": {"memory": "50%"}, GATES: {"QOSReserved": True}}, {"qosReserved": {"memory": "50%"}},
    {"memoryThrottlingFactor": 1},
    {"memoryReservationPolicy": "TieredReservation", GATES: {"MemoryQoS": True}},
    {"memorySwap.swapBehavior": "LimitedSwap"},
    {"systemReserved": {"cpu": "100m", "memory": "1Gi", "ephemeral-storage": 0, "pid": "1000"}},
    {"reservedSystemCPUs": "0-3,7"}, {"enforceNodeAllocatable": ["none"]}, {"enforceNodeAllocatable": []},
    {"enforceNodeAllocatable": ["none"], "cgroupsPerQOS": False},
    {"enforceNodeAllocatable": ["pods", "system-reserved"], "systemReservedCgroup": "/sys"},
    {"evictionHard": {"memory.available": "1", "nodefs.available": "0%", "pid.available": "100%"}},
    {"evictionSoft": {"memory.available": "5%"}, "evictionSoftGracePeriod": {"memory.available": "1m"}},
    {"evictionSoft": {"nodefs.available": "100%"}},
    {"evictionHard": {"allocatableMemory.available": "5%"}},
    {"evictionMinimumReclaim": {"nodefs.available": "0"}}, {"evictionHard": {}},
    {"shutdownGracePeriod": "30s", "shutdownGracePeriodCriticalPods": "30s"},
    {"shutdownGracePeriodByPodPriority": [{"priority": 0, "shutdownGracePeriodSeconds": 10}]},
    {GATES: {"SidecarContainers": True, "EventedPLEG": True, "AllAlpha": False}},
    {"logging.format": "json"}, {"logging.vmodule": [{"filePattern": "pleg", "verbosity": 5}]},
    {"logging.options.text.infoBufferSize": "1Mi", "logging.options.json.splitStream": True,
     GATES: {"LoggingAlphaOptions": True}},
    {"tracing": {}}, {"tracing.endpoint": "localhost:4317", "tracing.samplingRatePerMillion": 1_000_000},
    {"tracing.endpoint": "unix:///x"}, {"showHiddenMetricsForVersion": "1.35"}, {"singleProcessOOMKill": False},
]  # fmt: skip

BREAKS = [
    ("address", {"address": "10.0.0"}), ("healthzBindAddress", {"healthzBindAddress": "localhost"}),
    ("port", {"port": -1}), ("port", {"port": 65536}), ("readOnlyPort", {"readOnlyPort": -1}),
    ("healthzPort", {"healthzPort": 65536}),
    ("tlsCipherSuites[1]", {"tlsCipherSuites": ["TLS_AES_128_GCM_SHA256", "X"]}),
    ("tlsCurvePreferences[0]", {"tlsCurvePreferences": [1]}), ("tlsMinVersion", {"tlsMinVersion": "1.2"}),
    ("serverTLSBootstrap", {"serverTLSBootstrap": True, GATES: {"RotateKubeletServerCertificate": False}}),
    ("authentication.webhook.cacheTTL", {"authentication.webhook.cacheTTL": "-1s"}),
    ("authorization.mode", {"authorization.mode": "RBAC"}),
    ("authorization.webhook.cacheAuthorizedTTL", {"authorization.webhook.cacheAuthorizedTTL": "-1s"}),
    ("authorization.webhook.cacheUnauthorizedTTL", {"authorization.webhook.cacheUnauthorizedTTL": "-1s"}),
    ("enableSystemLogQuery", {"enableSystemLogQuery": True, "enableSystemLogHandler": False}),
    ("staticPodURL", {"staticPodURL": "ftp://x"}),
    ("fileCheckFrequency", {"fileCheckFrequency": "-1s"}), ("httpCheckFrequency", {"httpCheckFrequency": "-1s"}),
    ("syncFrequency", {"syncFrequency": "-1s"}),
    ("registerWithTaints[0]", {"registerWithTaints": [{"key": "", "effect": "NoExecute"}]}),
    ("registerWithTaints[0]", {"registerWithTaints": [{"key": "a", "value": "b c", "effect": "NoExecute"}]}),
    ("registerWithTaints[0]", {"registerWithTaints": [{"key": "a", "effect": "Never"}]}),
    ("registerWithTaints[0]", {"registerWithTaints": [{"key": "a", "effect": "NoExecute", "timeAdded": "x"}]}),
    ("registerWithTaints[1]", {"registerWithTaints": [{"key": "a", "effect": "NoExecute"}] * 2}),
    ("podCIDR", {"podCIDR": "10.0.0.1"}), ("nodeStatusUpdateFrequency", {"nodeStatusUpdateFrequency": "-1s"}),
    ("nodeStatusReportFrequency", {"nodeStatusReportFrequency": "-1s"}),
    ("nodeLeaseDurationSeconds", {"nodeLeaseDurationSeconds": -1}),
    ("nodeStatusMaxImages", {"nodeStatusMaxImages": -2}),
    ("kubeAPIQPS", {"kubeAPIQPS": -1}), ("kubeAPIBurst", {"kubeAPIBurst": -1}),
    ("eventRecordQPS", {"eventRecordQPS": -1}),
    ("eventBurst", {"eventBurst": -1}),
    ("configMapAndSecretChangeDetectionStrategy", {"configMapAndSecretChangeDetectionStrategy": "Poll"}),
    ("containerRuntimeEndpoint", {"containerRuntimeEndpoint": "tcp://1.2.3.4:5"}),
    ("containerRuntimeEndpoint", {"containerRuntimeEndpoint": f"unix:///{'x' * 107}"}),
    ("imageServiceEndpoint", {"imageServiceEndpoint": "managed"}),
    ("runtimeRequestTimeout", {"runtimeRequestTimeout": "-1s"}), ("registryPullQPS", {"registryPullQPS": -1}),
    ("registryBurst", {"registryBurst": -1}), ("maxParallelImagePulls", {"maxParallelImagePulls": 0}),
    ("maxParallelImagePulls", {"maxParallelImagePulls": 2, "serializeImagePulls": True}),
    ("imagePullCredentialsVerificationPolicy", {"imagePullCredentialsVerificationPolicy": "Sometimes"}),
    ("imagePullCredentialsVerificationPolicy",
     {"imagePullCredentialsVerificationPolicy": "NeverVerify", GATES: {"KubeletEnsureSecretPulledImages": False}}),
    ("preloadedImagesVerificationAllowlist", {"preloadedImagesVerificationAllowlist": ["a"]}),
    *(("preloadedImagesVerificationAllowlist[0]",
    {"imagePullCredentialsVerificationPolicy": "NeverVerifyAllowlistedImages",
      "preloadedImagesVerificationAllowlist": [name]})
      for name in ("a:tag", "a@sha256:x", "a b", "a*", "*/a", "/a", "a/", "A", "a//b", "./a", "/*")),
    ("imageMinimumGCAge", {"imageMinimumGCAge": "-1s"}), ("imageMaximumGCAge", {"imageMaximumGCAge": "-1s"}),
    ("imageMaximumGCAge", {"imageMaximumGCAge": "2m"}),
    ("imageGCHighThresholdPercent", {"imageGCHighThresholdPercent": 101}),
    ("imageGCLowThresholdPercent", {"imageGCLowThresholdPercent": -1}),
    ("imageGCLowThresholdPercent", {"imageGCLowThresholdPercent": 85}),
    ("podLogsDir", {"podLogsDir": "/var/log/../pods"}), ("podLogsDir", {"podLogsDir": "/p\u00e9"}),
    ("containerLogMaxSize", {"containerLogMaxSize": "1 Mi"}), ("containerLogMaxFiles", {"containerLogMaxFiles": 1}),
    ("containerLogMaxWorkers", {"containerLogMaxWorkers": 0}),
    ("containerLogMonitorInterval", {"containerLogMonitorInterval": "2.9s"}),
    ("crashLoopBackOff.maxContainerRestartPeriod", {"crashLoopBackOff.maxContainerRestartPeriod": "301s"}),
    ("crashLoopBackOff.maxContainerRestartPeriod", {"crashLoopBackOff.maxContainerRestartPeriod": "999ms"}),
    ("crashLoopBackOff.maxContainerRestartPeriod",
     {"crashLoopBackOff.maxContainerRestartPeriod": "5s", GATES: {"KubeletCrashLoopBackOffMax": False}}),
    *(("allowedUnsafeSysctls[0]", {"allowedUnsafeSysctls": [name]}) for name in ("kernel.pid_max", "*", "net.*.x",
    "NET.a")),
    ("userNamespaces.idsPerPod", {"userNamespaces.idsPerPod": 65537}),
    ("userNamespaces.idsPerPod", {"userNamespaces.idsPerPod": 0}), ("hairpinMode", {"hairpinMode": "x"}),
    ("iptablesMasqueradeBit", {"iptablesMasqueradeBit": -1}), ("iptablesDropBit", {"iptablesDropBit": 32}),
    ("maxPods", {"maxPods": -1}), ("podsPerCore", {"podsPerCore": -1}), ("maxOpenFiles", {"maxOpenFiles": -1}),
    ("oomScoreAdj", {"oomScoreAdj": -1001}), ("cgroupDriver", {"cgroupDriver": "openrc"}),
    ("cgroupRoot", {"cgroupRoot": "/a/../.."}), ("kubeletCgroups", {"kubeletCgroups": "../x"}),
    ("systemReservedCgroup", {"systemReservedCgroup": "a\nb"}), ("kubeReservedCgroup", {"kubeReservedCgroup": ".."}),
    ("systemCgroups", {"systemCgroups": "/system"}), ("systemCgroups", {"systemCgroups": "/", "cgroupRoot": "/"}),
    ("systemCgroups", {"systemCgroups": "//", "cgroupRoot": "/"}),
    ("systemCgroups", {"systemCgroups": "/./a", "cgroupRoot": "/"}),
    ("cpuCFSQuotaPeriod", {"cpuCFSQuotaPeriod": "1.1s"}), ("cpuCFSQuotaPeriod", {"cpuCFSQuotaPeriod": "0s"}),
    ("cpuCFSQuotaPeriod", {"cpuCFSQuotaPeriod": "50ms", GATES: {"CustomCPUCFSQuotaPeriod": False}}),
    ("cpuManagerPolicy", {"cpuManagerPolicy": "Static"}),
    ("memoryManagerPolicy", PINNED),
    ("memoryManagerPolicy", {**PINNED, "evictionHard": {"memory.available": "0%"}}),
    ("memoryManagerPolicy", {**PINNED, **HALF, "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}]}),
    ("memoryManagerPolicy", {**PINNED, "systemReserved": {"memory": "1Gi"}, "reservedMemory": [{"numaNode": 0,
     "limits": {"memory": "1Gi"}}]}),
    ("memoryManagerPolicy", {**PINNED, "reservedMemory": [{"numaNode": 0, "limits": {"memory": "100Mi",
     "hugepages-2Mi": "2Mi"}}]}),
    ("cpuManagerPolicy", {"cpuManagerPolicy": "static"}),
    ("cpuManagerPolicy", {**STATIC, "kubeReserved": {"cpu": "0", "memory": "1Gi"}}),
    ("cpuManagerPolicyOptions", {"cpuManagerPolicyOptions": {"full-pcpus-only": "false"}}),
    ("cpuManagerPolicyOptions", {**STATIC, "cpuManagerPolicyOptions": {"prefer-align-cpus-by-uncorecache": "true",
     "distribute-cpus-across-numa": "true"}}),
    ("cpuManagerPolicyOptions", {**STATIC, "cpuManagerPolicyOptions": {"align-by-socket": "true"},
     "topologyManagerPolicy": "single-numa-node", GATES: {"CPUManagerPolicyAlphaOptions": True}}),
    ("cpuManagerPolicyOptions.x", {**STATIC, "cpuManagerPolicyOptions": {"x": "true"}}),
    ("cpuManagerPolicyOptions.full-pcpus-only", {**STATIC, "cpuManagerPolicyOptions": {"full-pcpus-only": "yes"}}),
    ("cpuManagerPolicyOptions.align-by-socket", {**STATIC, "cpuManagerPolicyOptions": {"align-by-socket": "true"}}),
    ("cpuManagerReconcilePeriod", {"cpuManagerReconcilePeriod": "-1s"}),
    ("memoryManagerPolicy", {"memoryManagerPolicy": "x"}),
    ("reservedMemory[0]", {"reservedMemory": [{"numaNode": -1, "limits": {"memory": "1"}}]}),
    ("reservedMemory[0]", {"reservedMemory": [{"limits": {"cpu": "1"}}]}),
    ("reservedMemory[0]", {"reservedMemory": [{"limits": {"memory": "0"}}]}),
    ("reservedMemory[1]", {"reservedMemory": [{"limits": {"memory": "1"}}] * 2}),
    ("topologyManagerPolicy", {"topologyManagerPolicy": "x"}),
    ("topologyManagerScope", {"topologyManagerScope": "node"}),
    ("topologyManagerPolicyOptions.x", {"topologyManagerPolicyOptions": {"x": "1"}}),
    ("topologyManagerPolicyOptions.max-allowable-numa-nodes",
     {"topologyManagerPolicyOptions": {"max-allowable-numa-nodes": "7"}}),
    ("qosReserved.memory", {"qosReserved": {"memory": "101%"}}),
    ("qosReserved.cpu", {"qosReserved": {"cpu": "50%"}, GATES: {"QOSReserved": True}}),
    ("memoryThrottlingFactor", {"memoryThrottlingFactor": 0}),
    ("memoryThrottlingFactor", {"memoryThrottlingFactor": 1.1}),
    ("memoryReservationPolicy", {"memoryReservationPolicy": "x"}),
    ("memoryReservationPolicy", {"memoryReservationPolicy": "TieredReservation"}),
    ("memorySwap.swapBehavior", {"memorySwap.swapBehavior": "UnlimitedSwap"}),
    ("systemReserved.gpu", {"systemReserved": {"gpu": "1"}}), ("kubeReserved.cpu", {"kubeReserved": {"cpu": "-1"}}),
    ("kubeReserved.memory", {"kubeReserved": {"memory": "1 Gi"}}),
    ("reservedSystemCPUs", {"reservedSystemCPUs": "3-1"}),
    ("reservedSystemCPUs", {"reservedSystemCPUs": "0-8"}),
    ("reservedSystemCPUs", {"reservedSystemCPUs": "0", "kubeReservedCgroup": "/k"}),
    ("enforceNodeAllocatable[0]", {"enforceNodeAllocatable": ["Pods"]}),
    ("enforceNodeAllocatable[1]", {"enforceNodeAllocatable": ["pods", "none"]}),
    ("enforceNodeAllocatable[0]", {"enforceNodeAllocatable": ["pods"], "cgroupsPerQOS": False}),
    ("enforceNodeAllocatable[0]", {"enforceNodeAllocatable": ["system-reserved"]}),
    ("enforceNodeAllocatable[0]", {"enforceNodeAllocatable": ["kube-reserved-compressible"]}),
    ("enforceNodeAllocatable[1]", {"enforceNodeAllocatable": ["kube-reserved", "kube-reserved-compressible"],
     "kubeReservedCgroup": "/k"}),
    ("evictionHard.x", {"evictionHard": {"x": "1"}}),
    ("evictionHard[memory.available]", {"evictionHard": {"memory.available": "0"}}),
    ("evictionHard[nodefs.available]", {"evictionHard": {"nodefs.available": "101%"}}),
    ("evictionSoft[memory.available]", {"evictionSoft": {"memory.available": "5%"}}),
    ("evictionSoftGracePeriod[memory.available]", {"evictionSoftGracePeriod": {"memory.available": "-1s"}}),
    ("evictionMinimumReclaim[nodefs.available]", {"evictionMinimumReclaim": {"nodefs.available": "-1"}}),
    ("evictionMinimumReclaim[nodefs.available]", {"evictionMinimumReclaim": {"nodefs.available": "0%"}}),
    ("evictionPressureTransitionPeriod", {"evictionPressureTransitionPeriod": "-1s"}),
    ("shutdownGracePeriod", {"shutdownGracePeriod": "500ms"}),
    ("shutdownGracePeriodCriticalPods", {"shutdownGracePeriodCriticalPods": "5s"}),
    ("shutdownGracePeriod", {"shutdownGracePeriod": "5s", GATES: {"GracefulNodeShutdown": False}}),
    ("shutdownGracePeriodByPodPriority", {"shutdownGracePeriod": "5s", "shutdownGracePeriodByPodPriority": [{}]}),
    ("shutdownGracePeriodByPodPriority", {"shutdownGracePeriodByPodPriority": [{}],
     GATES: {"GracefulNodeShutdownBasedOnPodPriority": False}}),
    ("featureGates.Nope", {GATES: {"Nope": True}}),
    ("featureGates.SidecarContainers", {GATES: {"SidecarContainers": False}}),
    ("logging.format", {"logging.format": "xml"}), ("logging.flushFrequency", {"logging.flushFrequency": "-1s"}),
    ("logging.verbosity", {"logging.verbosity": -1}),
    ("logging.vmodule[0]", {"logging.vmodule": [{"filePattern": "a=b"}]}),
    ("logging.vmodule[0]", {"logging.vmodule": [{"filePattern": "a", "verbosity": -1}]}),
    ("logging.vmodule", {"logging.vmodule": [{"filePattern": "a"}], "logging.format": "json"}),
    ("logging.options.text.infoBufferSize", {"logging.options.text.infoBufferSize": "1Mi"}),
    ("logging.options.json.infoBufferSize", {"logging.options.json.infoBufferSize": "x"}),
    ("logging.options.json.infoBufferSize", {"logging.options.json.infoBufferSize": "-1"}),
    ("logging.options.json.splitStream", {"logging.options.json.splitStream": True}),
    ("tracing.endpoint", {"tracing.endpoint": "http://x"}),
    ("tracing.endpoint", {"tracing.endpoint": "collector 4317"}),
    ("tracing.samplingRatePerMillion", {"tracing.samplingRatePerMillion": 1_000_001}),
    ("showHiddenMetricsForVersion", {"showHiddenMetricsForVersion": "1.34"}), ("runOnce", {"runOnce": True}),
]  # fmt: skip


@pytest.mark.parametrize("fields", HOLDS, ids=str)
def test_a_value_just_within_its_rule_is_accepted(fields):
    assert problems(fields) == []


@pytest.mark.parametrize(("path", "fields"), BREAKS, ids=str)
def test_a_value_just_outside_its_rule_is_refused_at_its_path(path, fields):
    assert path in problems(fields)


@pytest.mark.parametrize("field", sorted({rule.field for rule in RULES} - {"apiVersion", "kind", "logging.options"}))
def test_every_rule_is_broken_by_some_case_above(field):
    assert any(path == field or path.startswith((f"{field}[", f"{field}.")) for path, _ in BREAKS) or field in {
        "memoryThrottlingFactor",
        "singleProcessOOMKill",
    }


def test_rules_on_cgroups_apply_to_the_version_that_the_host_has():
    assert problems({"singleProcessOOMKill": False}, V1) == ["singleProcessOOMKill"]
    assert problems({"memorySwap.swapBehavior": "LimitedSwap"}, V1) == ["memorySwap.swapBehavior"]
    assert (
        problems({"singleProcessOOMKill": False, "memorySwap.swapBehavior": "LimitedSwap"}, ValidationContext()) == []
    )


def test_the_memory_factor_is_needed_with_its_gate():
    config = KubeletConfiguration(memoryThrottlingFactor=None, featureGates={"MemoryQoS": True})
    assert [problem.path for problem in validate(config, V2)] == ["memoryThrottlingFactor"]


def test_anonymous_callers_with_webhook_are_refused_without_an_api_server_to_ask():
    fields = {"authentication.anonymous.enabled": True, "authorization.mode": "Webhook"}
    standalone = msgspec.structs.replace(V2, standalone=True)
    assert problems(fields, standalone) == ["authorization.mode"]
    assert problems(fields, msgspec.structs.replace(V2, standalone=False)) == []
    assert problems({**fields, "authorization.mode": "AlwaysAllow"}, standalone) == []
    assert problems({**fields, "authentication.anonymous.enabled": False}, standalone) == []


def test_a_gate_that_is_on_by_default_needs_the_gate_it_depends_on():
    off = {GATES: {"GracefulNodeShutdown": False, "WindowsGracefulNodeShutdown": False}}
    assert problems(off) == ["featureGates.GracefulNodeShutdownBasedOnPodPriority"]


def test_gates_of_other_components_are_accepted():
    assert problems({GATES: {"GangScheduling": True, "GenericWorkload": True, "MutatingAdmissionPolicy": False}}) == []


def test_the_defaults_obey_every_rule():
    assert list(validate(KubeletConfiguration(), V2)) == []


def test_all_problems_come_at_once_with_path_value_rule_and_source():
    data = {
        "maxPods": -1,
        "port": "x",
        "maxPod": 5,
        "authentication": {"webhook": {"cacheTTL": "5"}},
        "clusterDNS": "10",
    }
    with pytest.raises(ConfigErrors) as caught:
        effective([Document("/etc/k.yaml", data, {"port": 7})], {"sync-frequency": "-1s"}, V2)
    said = [str(problem) for problem in caught.value.problems]
    assert said == [
        'port = "x": must be a whole number (from /etc/k.yaml:7)',
        "maxPod: unknown field, did you mean maxPods? (from /etc/k.yaml)",
        "authentication.webhook.cacheTTL = \"5\": invalid duration '5': write it as 300ms, "
        "1.5h or 2h45m (from /etc/k.yaml)",
        'clusterDNS = "10": must be a list (from /etc/k.yaml)',
        'syncFrequency = "-1s": must be more than 0s (from --sync-frequency)',
        "maxPods = -1: must be 0 or more (from /etc/k.yaml)",
    ]


def test_a_secret_is_not_shown_in_a_problem():
    with pytest.raises(ConfigErrors) as caught:
        effective([Document("f", {"staticPodURLHeader": {"Authorization": "Bearer x"}}, {})], {}, V2)
    assert "Bearer" not in str(caught.value)


def refused_of(fields):
    """The problems of a document with these fields."""
    with pytest.raises(ConfigErrors) as caught:
        effective([Document("/etc/k.yaml", fields, {})], {}, V2)
    return caught.value.problems


def test_a_taint_is_told_all_that_is_wrong_with_it():
    taint = {"key": "a b", "value": "c d", "effect": "NoSchedul"}
    (problem,) = refused_of({"registerWithTaints": [taint]})
    assert [part.split()[0] for part in problem.rule.split("; ")] == ["key", "value", "effect"]


@pytest.mark.parametrize("amount", ["5%%", "10 %", "1Gb", ""])
def test_an_amount_that_is_none_is_told_what_amounts_look_like(amount):
    (problem,) = refused_of({"evictionHard": {"memory.available": amount}})
    assert problem.rule == "must be a quantity, like 100Mi, or a percentage, like 10%"


@pytest.mark.parametrize("wrong", [10, "5 minutes", ["1s"]])
def test_a_wrong_update_frequency_is_one_problem(wrong):
    found = refused_of({"nodeStatusUpdateFrequency": wrong})
    assert "nodeStatusReportFrequency" not in [problem.path for problem in found]


def test_a_reservation_of_memory_beside_a_share_is_checked_where_the_memory_is_known():
    reserved = [MemoryReservation(0, {"memory": "1Gi"})]
    config = KubeletConfiguration(
        memoryManagerPolicy="Static", reservedMemory=reserved, evictionHard={"memory.available": "50%"}
    )
    assert list(memory_policy(config, ValidationContext())) == []
    ((field, _, text),) = memory_policy(config, V2)
    assert field == "memoryManagerPolicy"
    assert text == (
        'the total amount "1Gi" of type "memory" is not equal to the value "4Gi" determined by Node Allocatable feature'
        " (reservedMemory; kubeReserved, systemReserved and the memory.available of evictionHard together)"
    )
