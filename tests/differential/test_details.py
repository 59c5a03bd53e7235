"""Calls to the runtime and texts of the status in detail, as the sources of the kubelet 1.36 have them."""

from __future__ import annotations

import re
from typing import Any

from proto import cri_pb2 as cri

from .row import (
    FOREVER,
    Row,
    Situation,
    asked,
    asked_times,
    boxed,
    c,
    changed,
    deleted,
    does,
    ends,
    fails,
    gone,
    holds,
    in_registry,
    made,
    not_asked,
    pod,
    said,
    shows,
    sidecar,
    waits,
    works,
)
from .table import documented

STATUS = "kubelet_pods.go, convertToAPIPodLevelResourcesStatus; API, PodStatus.allocatedResources"
PHASE = "kubelet_pods.go, getPhase"
ACTIONS = "kuberuntime_manager.go, computePodActions"
INIT = "kuberuntime_container.go, computeInitContainerActions"
SANDBOX = "kuberuntime_sandbox.go, generatePodSandboxConfig"
CONTAINER = "kuberuntime_container.go, generateContainerConfig"
IMAGES = "images/image_manager.go, EnsureImageExists"
MOUNTS = "kubelet_pods.go, makeMounts"
ENV = "kubelet_pods.go, makeEnvironmentVariables"
DNS = "network/dns/dns.go, GetPodDNS"
KILL = "kuberuntime_container.go, killContainer"
PROBES = "prober/prober.go, runProbe; prober/worker.go, doProbe"
RESTART_ALL = "container/helpers.go, ShouldAllContainersRestart; status/generate.go"
CONDITIONS = "status/generate.go"
DEADLINE = "active_deadline.go"
NEVER = [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}]
RULE_137 = [{"action": "Restart", "exitCodes": {"operator": "In", "values": [137, 143]}}]
IMAGE = {"name": "v", "image": {"reference": "vol:1", "pullPolicy": "IfNotPresent"}}
STUBBORN = "trap '' TERM; serve"


def sized(name: str, cpu: str, memory: str, **more: Any) -> dict[str, Any]:
    amounts = {"cpu": cpu, "memory": memory}
    return c(name, resources={"requests": amounts, "limits": amounts}, **more)


def probe(kind: str, script: str, **more: Any) -> dict[str, Any]:
    return {kind: {"exec": {"command": ["sh", "-c", script]}, "periodSeconds": 1, "failureThreshold": 1, **more}}


def debugs(**more: Any) -> Any:
    return changed(lambda pod: pod["spec"].update(ephemeralContainers=[{**c("d"), **more}]))


def unknown(name: str) -> Any:
    """The runtime does not know what became of it."""

    def lose(on: Situation) -> None:
        on.container(name).state = cri.CONTAINER_UNKNOWN

    return does(lose)


def field(name: str, path: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}


def _told_of_missing_dns(on: Situation) -> bool:
    told = [event.message for event in on.node.events if event.kind == "Node" and event.reason == "MissingClusterDNS"]
    text = 'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. '
    return bool(told) and set(told) == {text + 'Falling back to "Default" policy.'}


ROWS = [
    Row(
        "the requests of all containers are what a pod was allocated",
        STATUS,
        pod(sized("a", "100m", "16Mi"), sized("b", "200m", "16Mi")),
        (
            shows({"allocatedResources.cpu": "300m", "allocatedResources.memory": "32Mi"}),
            shows({"resources.limits.cpu": "300m", "resources.requests.memory": "32Mi"}),
        ),
    ),
    Row(
        "a sidecar and the overhead count for what a pod was allocated",
        STATUS,
        pod(
            sized("a", "100m", "16Mi"),
            initContainers=[{**sized("s", "50m", "8Mi"), "restartPolicy": "Always"}],
            overhead={"cpu": "10m", "memory": "8Mi"},
        ),
        (shows({"allocatedResources.cpu": "160m", "allocatedResources.memory": "32Mi"}),),
    ),
    Row(
        "a container without a limit leaves its pod the limits of the others",
        STATUS,
        pod(sized("a", "100m", "16Mi"), c("b")),
        (shows({"resources.requests.cpu": "100m", "resources.limits.cpu": "100m", "resources.limits.memory": "16Mi"}),),
    ),
    Row(
        "without the gate no pod says what it was allocated as a whole",
        STATUS,
        pod(sized("a", "100m", "16Mi")),
        (shows({"allocatedResources": None, "resources": None, "containers.a.allocatedResources.cpu": "100m"}),),
        config={"featureGates": {"InPlacePodLevelResourcesVerticalScaling": False}},
    ),
    Row(
        "a pod that asks for nothing was allocated nothing",
        STATUS,
        pod(),
        (shows({"allocatedResources": None, "qosClass": "BestEffort"}),),
    ),
    Row(
        "a pod that is over still says what it was allocated",
        STATUS,
        pod(sized("a", "100m", "16Mi"), restartPolicy="Never"),
        (ends("a", 0), waits(3), shows({"phase": "Succeeded", "allocatedResources.cpu": "100m"})),
    ),
    Row(
        "a sandbox is as large as its containers together",
        SANDBOX,
        pod(sized("a", "1", "16Mi"), initContainers=[{**sized("s", "1", "8Mi"), "restartPolicy": "Always"}]),
        (boxed({"linux.resources.cpu_quota": 200000, "linux.resources.memory_limit_in_bytes": 24 << 20}),),
    ),
    Row(
        "an init container that is larger than what runs after it sizes the sandbox",
        SANDBOX,
        pod(sized("a", "1", "16Mi"), initContainers=[{**sized("i", "2", "8Mi"), "command": ["sh", "-c", "exit 0"]}]),
        (boxed({"linux.resources.cpu_quota": 200000, "linux.resources.memory_limit_in_bytes": 16 << 20}),),
    ),
    Row(
        "the resources of the pod size its sandbox",
        SANDBOX,
        pod(resources={"requests": {"cpu": "1", "memory": "64Mi"}, "limits": {"cpu": "2", "memory": "64Mi"}}),
        (
            boxed({"linux.resources.cpu_shares": 1024, "linux.resources.cpu_quota": 200000}),
            boxed({"linux.resources.memory_limit_in_bytes": 64 << 20}),
        ),
    ),
    Row(
        "without quotas neither sandbox nor container has a period",
        "kuberuntime_container_linux.go, calculateLinuxResources",
        pod(sized("a", "1", "16Mi")),
        (
            boxed({"linux.resources.cpu_quota": 0, "linux.resources.cpu_period": 0}),
            made("a", {"linux.resources.cpu_quota": 0, "linux.resources.cpu_period": 0}),
        ),
        config={"cpuCFSQuota": False},
    ),
    Row(
        "ports of sidecars are none of the sandbox",
        SANDBOX,
        pod(c("a"), initContainers=[sidecar("s", FOREVER, ports=[{"containerPort": 1, "hostPort": 9001}])]),
        (boxed({"port_mappings": []}),),
    ),
    Row(
        "a host port keeps its address and protocol",
        SANDBOX,
        pod(c("a", ports=[{"containerPort": 53, "hostPort": 9053, "protocol": "UDP", "hostIP": "127.0.0.1"}])),
        (
            boxed({"port_mappings.0.host_ip": "127.0.0.1", "port_mappings.0.protocol": cri.UDP}),
            boxed({"port_mappings.0.host_port": 9053, "port_mappings.0.container_port": 53}),
        ),
    ),
    Row(
        "the group of files comes before the other groups of a sandbox",
        SANDBOX,
        pod(securityContext={"fsGroup": 7, "supplementalGroups": [8, 9]}),
        (boxed({"linux.security_context.supplemental_groups": [7, 8, 9]}),),
    ),
    Row(
        "the sandbox is confined by the runtime's profile, whatever the pod says",
        SANDBOX,
        pod(securityContext={"seccompProfile": {"type": "Unconfined"}}),
        (boxed({"linux.security_context.seccomp.profile_type": cri.SecurityProfile.RuntimeDefault}),),
    ),
    Row(
        "the target of an ephemeral container is named to the runtime",
        "kuberuntime_container_linux.go, generateLinuxContainerConfig",
        pod(),
        (
            debugs(targetContainerName="a"),
            made("d", {"linux.security_context.namespace_options.pid": cri.TARGET}),
        ),
    ),
    Row(
        "where containers share processes an ephemeral container shares those of the pod",
        "kuberuntime_container_linux.go, generateLinuxContainerConfig",
        pod(shareProcessNamespace=True),
        (
            debugs(targetContainerName="a"),
            made("d", {"linux.security_context.namespace_options.pid": cri.POD}),
            made("d", {"linux.security_context.namespace_options.target_id": ""}),
        ),
    ),
    Row(
        "an ephemeral container whose target is not there waits",
        "kuberuntime_container.go, getTargetID",
        pod(),
        (
            debugs(targetContainerName="x"),
            shows({"ephemeral.d": "waiting CreateContainerConfigError"}),
            shows({"ephemeral.d.state.waiting.message": "unable to find target container x"}),
            said("Warning Failed d: Error: unable to find target container x"),
        ),
    ),
    Row(
        "a container of which the runtime knows nothing is killed before it starts again",
        ACTIONS,
        pod(),
        (
            unknown("a"),
            waits(3),
            said('Normal Killing a: Container is in "unknown" state, try killing it before restart'),
            asked("CreateContainer a", re.compile(r"StopContainer a \d+"), "CreateContainer a"),
            shows({"containers.a": "running", "containers.a.restartCount": 1}),
        ),
    ),
    Row(
        "of such a container no other instance starts while it cannot be killed",
        ACTIONS,
        pod(),
        (
            fails("StopContainer"),
            unknown("a"),
            waits(30),
            asked_times("CreateContainer a", 1),
            works("StopContainer"),
            waits(30),
            asked("CreateContainer a", *[re.compile(r"StopContainer a \d+")] * 3, "CreateContainer a"),
            shows({"containers.a": "running", "containers.a.restartCount": 1}),
        ),
    ),
    Row(
        "of such a sidecar the event says that it is an init container",
        INIT,
        pod(initContainers=[sidecar()]),
        (
            unknown("s"),
            waits(3),
            said('Normal Killing s: Init container is in "unknown" state, try killing it before restart'),
            shows({"init.s": "running", "containers.a.restartCount": 0}),
        ),
    ),
    Row(
        "with Never such an init container ends the pod",
        INIT,
        pod(initContainers=[c("i")], restartPolicy="Never"),
        (unknown("i"), waits(5), asked_times("CreateContainer i", 1), not_asked("CreateContainer a")),
    ),
    Row(
        "a liveness probe that fails is no exit: no rule says that it is started again",
        ACTIONS,
        pod(
            c("a", FOREVER, restartPolicy="Never", restartPolicyRules=RULE_137, **probe("livenessProbe", "exit 1")),
            c("b"),
        ),
        (waits(4), said("Normal Killing a: Container a failed liveness probe")),
    ),
    Row(
        "Never in a pod with Always: a liveness probe that fails ends the container for good",
        ACTIONS,
        pod(c("a", FOREVER, restartPolicy="Never", **probe("livenessProbe", "exit 1")), c("b")),
        (
            waits(6),
            said("Normal Killing a: Container a failed liveness probe"),
            shows({"phase": "Running", "containers.b": "running", "containers.a.restartCount": 0}),
            asked_times("CreateContainer a", 1),
        ),
    ),
    Row(
        "all containers are restarted without grace, and the condition says why",
        RESTART_ALL,
        pod(c("a", FOREVER, restartPolicy="Never", restartPolicyRules=NEVER), c("b", STUBBORN)),
        (
            ends("a", 42),
            asked("StopContainer b 2"),
            waits(4),
            shows(
                {"containers.a": "running", "containers.b": "running", "conditions.AllContainersRestarting": "False"}
            ),
        ),
    ),
    Row(
        "while all containers are restarted the condition has its reason",
        RESTART_ALL,
        pod(c("a", FOREVER, restartPolicy="Never", restartPolicyRules=NEVER), c("b")),
        (
            fails("StopContainer", times=3),
            ends("a", 42),
            shows({"conditions.AllContainersRestarting": "True"}),
            shows({"conditions.AllContainersRestarting.reason": "RestartAllContainersStarted"}),
            shows({"conditions.AllContainersRestarting.message": "container exited with restart policy rule"}),
        ),
    ),
    Row(
        "a pod without such a rule has no such condition",
        RESTART_ALL,
        pod(c("a", FOREVER, restartPolicy="Never", restartPolicyRules=RULE_137)),
        (shows({"conditions.AllContainersRestarting": None}),),
    ),
    Row(
        "Never: an image that another pod's credentials brought is as absent",
        IMAGES,
        pod({**c("a"), "image": "gone:1", "imagePullPolicy": "Never"}),
        (
            said('Warning ErrImageNeverPull a: Container image "gone:1" is not present with pull policy of Never'),
            said("Warning Failed a: Error: ErrImageNeverPull"),
            shows({"containers.a": "waiting ErrImageNeverPull"}),
        ),
    ),
    Row(
        "without verification of pulls the event says less",
        IMAGES,
        pod(),
        (said('Normal Pulled a: Container image "busybox" already present on machine'),),
        config={"featureGates": {"KubeletEnsureSecretPulledImages": False}},
    ),
    Row(
        "a registry that is not available is told with the image as the pod names it",
        IMAGES,
        pod({**c("a"), "image": "x", "imagePullPolicy": "IfNotPresent"}),
        (
            waits(2),
            shows(
                {"containers.a.state.waiting.message": re.compile("image pull failed for x because the registry .*")}
            ),
        ),
        before=(fails("PullImage", "RegistryUnavailable: no route"),),
    ),
    Row(
        "the sub path of an image volume is expanded",
        MOUNTS,
        pod(
            c("a", FOREVER, env=[{"name": "D", "value": "dir"}])
            | {"volumeMounts": [{"name": "v", "mountPath": "/v", "subPathExpr": "$(D)/x"}]},
            volumes=[IMAGE],
        ),
        (made("a", {"mounts:/v:image_sub_path": "dir/x", "mounts:/v:readonly": True}),),
        before=(in_registry("docker.io/library/vol:1"),),
    ),
    Row(
        "a container that mounts /etc/hosts has its own",
        MOUNTS,
        pod(
            c("a", volumeMounts=[{"name": "e", "mountPath": "/etc/hosts"}]),
            volumes=[{"name": "e", "emptyDir": {}}],
        ),
        (made("a", {"mounts:/etc/hosts:host_path": re.compile(".*/volumes/kubernetes.io~empty-dir/e")}),),
    ),
    Row(
        "a variable of a service may be referred to",
        ENV,
        pod(c("a", env=[{"name": "X", "value": "$(Y)-$(Z)"}, {"name": "Y", "value": "1"}])),
        (made("a", {"envs:X": b"$(Y)-$(Z)", "envs:Y": b"1"}),),
    ),
    Row(
        "a value that is given wins over where it would come from",
        ENV,
        pod(c("a", env=[{**field("X", "metadata.name"), "value": ""}])),
        (made("a", {"envs:X": b"p"}),),
    ),
    Row(
        "a command of a probe: a variable that is no literal is empty",
        PROBES,
        pod(
            c("a", env=[field("X", "metadata.name"), {"name": "Y", "value": "$(X)"}])
            | {"readinessProbe": {"exec": {"command": ["echo", "-$(X)-$(Y)-$(Z)"]}, "periodSeconds": 1}}
        ),
        (waits(3), asked("ExecSync a echo --$(X)-$(Z)")),
    ),
    Row(
        "without a DNS of the cluster the node has an event, too",
        DNS,
        pod(dnsPolicy="ClusterFirst"),
        (holds("an event of the node", _told_of_missing_dns),),
    ),
    Row(
        "resolvConf is empty: pods ask the node itself",
        DNS,
        pod(dnsPolicy="Default"),
        (boxed({"dns_config.servers": ["127.0.0.1"], "dns_config.searches": ["."]}),),
        config={"resolvConf": ""},
    ),
    Row(
        "resolvConf is empty and there is no DNS of the cluster: the same",
        DNS,
        pod(dnsPolicy="ClusterFirst"),
        (boxed({"dns_config.servers": ["127.0.0.1"], "dns_config.searches": ["."]}),),
        config={"resolvConf": ""},
    ),
    Row(
        "a pod's options of the resolver replace those of the cluster",
        DNS,
        pod(dnsPolicy="ClusterFirst", dnsConfig={"options": [{"name": "ndots", "value": "1"}, {"name": "edns0"}]}),
        (boxed({"dns_config.options": ["ndots:1", "edns0"]}),),
        config={"clusterDNS": ["10.96.0.10"], "clusterDomain": "cluster.local"},
    ),
    Row(
        "one container that cannot be configured keeps a pod Pending, whatever the others do",
        PHASE,
        pod(
            c("a"),
            c("b", env=[{"name": "X", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]),
        ),
        (shows({"phase": "Pending", "containers.a": "running", "containers.b": "waiting CreateContainerConfigError"}),),
    ),
    Row(
        "a sidecar that has started is ready for the condition Initialized only with all init containers",
        CONDITIONS,
        pod(initContainers=[sidecar(), c("i")]),
        (
            shows({"conditions.Initialized": "False", "conditions.Initialized.reason": "ContainersNotInitialized"}),
            shows({"conditions.Initialized.message": "containers with incomplete status: [i]"}),
        ),
    ),
    Row(
        "unready containers are named with the sidecars first",
        CONDITIONS,
        pod(
            c("b", FOREVER, **probe("readinessProbe", "exit 1")),
            c("a", FOREVER, **probe("readinessProbe", "exit 1")),
            initContainers=[sidecar("z", FOREVER, **probe("readinessProbe", "exit 1"))],
        ),
        (
            waits(2),
            shows({"conditions.Ready.message": "containers with unready status: [z b a]"}),
            shows({"conditions.Ready.reason": "ContainersNotReady"}),
        ),
    ),
    Row(
        "a pod that failed is initialized no longer or still as it was",
        CONDITIONS,
        pod(initContainers=[c("i")], restartPolicy="Never"),
        (
            ends("i", 3),
            waits(5),
            shows({"phase": "Failed", "conditions.Initialized": "False"}),
            shows({"conditions.Ready.reason": "PodFailed", "conditions.ContainersReady.reason": "PodFailed"}),
        ),
    ),
    Row(
        "a deadline has an event of its own words",
        DEADLINE,
        pod(activeDeadlineSeconds=5),
        (
            waits(8),
            said("Normal DeadlineExceeded: Pod was active on the node longer than the specified deadline"),
            shows({"phase": "Failed", "reason": "DeadlineExceeded"}),
            shows({"message": "Pod was active on the node longer than the specified deadline"}),
        ),
    ),
    Row(
        "a preStop hook that sleeps longer than the grace ends with it",
        KILL,
        pod(c("a", lifecycle={"preStop": {"sleep": {"seconds": 20}}}), terminationGracePeriodSeconds=5),
        (deleted(5), waits(8), asked("StopContainer a 2"), gone()),
    ),
    Row(
        "a sandbox of which the network is gone is made again",
        "util.go, PodSandboxChanged",
        pod(),
        (
            does(lambda on: setattr(on.sandbox(), "ip", "")),
            ends("a", 1),
            waits(4),
            said("Normal SandboxChanged: Pod sandbox changed, it will be killed and re-created."),
            asked("RunPodSandbox 0", "StopPodSandbox", "RunPodSandbox 1"),
        ),
    ),
    Row(
        "a container is created again with the number of its logs",
        "kuberuntime_container.go, calcRestartCountByLogDir",
        pod(),
        (made("a", {"log_path": "a/0.log", "metadata.attempt": 0}), ends("a", 1), made("a", {"log_path": "a/1.log"})),
    ),
]

test_the_agent_does_what_the_kubelet_documents = documented(ROWS)
