"""What containers are created with: environment, resources, security."""

from __future__ import annotations

from typing import Any

from proto import cri_pb2 as cri

from .row import Row, c, has_object, made, pod, shows
from .table import documented

DOWN = "API, EnvVarSource; subsystems 51"
SECURITY = "API, SecurityContext; subsystems 50"


def field(path: str, name: str = "X") -> dict[str, Any]:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def resource(name: str, container: str = "a", divisor: str = "") -> dict[str, Any]:
    ref = {"containerName": container, "resource": name, **({"divisor": divisor} if divisor else {})}
    return {"name": "X", "valueFrom": {"resourceFieldRef": ref}}


def env(*variables: dict[str, Any], **more: Any) -> dict[str, Any]:
    return c("a", env=list(variables), **more)


def value(name: str, text: str) -> dict[str, Any]:
    return {"name": name, "value": text}


def downward(name: str, path: str, wanted: object, **more: Any) -> Row:
    return Row(f"downward API: {name}", DOWN, pod(env(field(path)), **more), (made("a", {"envs:X": wanted}),))


def limits(
    name: str, given: dict[str, Any], wanted: dict[str, Any], source: str = "subsystems 8.7", **more: Any
) -> Row:
    return Row(
        f"resources: {name}",
        source,
        pod(c("a", resources=given), **more),
        (made("a", {f"linux.resources.{key}": one for key, one in wanted.items()}),),
    )


def secured(name: str, own: dict[str, Any], wanted: dict[str, Any], **more: Any) -> Row:
    return Row(
        f"security: {name}",
        SECURITY,
        pod(c("a", securityContext=own), **more),
        (made("a", {f"linux.security_context.{key}": one for key, one in wanted.items()}),),
    )


ROWS = [
    downward("name", "metadata.name", b"p"),
    downward("namespace", "metadata.namespace", b"n"),
    downward("uid", "metadata.uid", b"u"),
    downward("node", "spec.nodeName", b"node-1"),
    downward("service account", "spec.serviceAccountName", b"sa", serviceAccountName="sa"),
    downward("host IP", "status.hostIP", b"192.0.2.1"),
    downward("host IPs", "status.hostIPs", b"192.0.2.1"),
    downward("pod IP", "status.podIP", b"10.88.0.3"),
    downward("pod IPs", "status.podIPs", b"10.88.0.3"),
    downward("pod IP on the host's network", "status.podIP", b"192.0.2.1", hostNetwork=True),
    downward("a label", "metadata.labels['app']", b"web", meta={"labels": {"app": "web"}}),
    downward("a label that is missing", "metadata.labels['app']", b""),
    downward("an annotation", "metadata.annotations['note']", b"x y", meta={"annotations": {"note": "x y"}}),
    Row(
        "downward API: cpu limit rounds up",
        DOWN,
        pod(env(resource("limits.cpu"), resources={"limits": {"cpu": "1500m"}})),
        (made("a", {"envs:X": b"2"}),),
    ),
    Row(
        "downward API: cpu limit with a divisor",
        DOWN,
        pod(env(resource("limits.cpu", divisor="1m"), resources={"limits": {"cpu": "1500m"}})),
        (made("a", {"envs:X": b"1500"}),),
    ),
    Row(
        "downward API: memory request in Mi",
        DOWN,
        pod(env(resource("requests.memory", divisor="1Mi"), resources={"requests": {"memory": "64Mi"}})),
        (made("a", {"envs:X": b"64"}),),
    ),
    Row(
        "downward API: memory limit in bytes",
        DOWN,
        pod(env(resource("limits.memory"), resources={"limits": {"memory": "64Mi"}})),
        (made("a", {"envs:X": b"67108864"}),),
    ),
    Row(
        "downward API: a missing limit is the node's allocatable",
        DOWN,
        pod(env(resource("limits.memory"))),
        (made("a", {"envs:X": b"4294967296"}),),
    ),
    Row(
        "downward API: a missing request is 0", DOWN, pod(env(resource("requests.cpu"))), (made("a", {"envs:X": b"0"}),)
    ),
    Row(
        "env: references are expanded",
        "API, EnvVar.value",
        pod(env(value("A", "1"), value("B", "$(A)-$(A)"))),
        (made("a", {"envs:B": b"1-1"}),),
    ),
    Row(
        "env: an unknown reference stays",
        "API, EnvVar.value",
        pod(env(value("B", "$(NOPE)"))),
        (made("a", {"envs:B": b"$(NOPE)"}),),
    ),
    Row(
        "env: $$ escapes",
        "API, EnvVar.value",
        pod(env(value("A", "1"), value("B", "$$(A)"))),
        (made("a", {"envs:B": b"$(A)"}),),
    ),
    Row(
        "env: a later value wins",
        "API, Container.env",
        pod(env(value("A", "1"), value("A", "2"))),
        (made("a", {"envs:A": b"2"}),),
    ),
    Row(
        "env: env wins over envFrom",
        "API, Container.envFrom",
        pod(env(value("K", "own"), envFrom=[{"configMapRef": {"name": "m"}}])),
        (made("a", {"envs:K": b"own", "envs:L": b"l"}),),
        before=(has_object("ConfigMap", "m", data={"K": "map", "L": "l"}),),
    ),
    Row(
        "env: a prefix",
        "API, EnvFromSource.prefix",
        pod(c("a", envFrom=[{"prefix": "P_", "configMapRef": {"name": "m"}}])),
        (made("a", {"envs:P_K": b"v"}),),
        before=(has_object("ConfigMap", "m", data={"K": "v"}),),
    ),
    Row(
        "env: a Secret's value",
        "API, SecretKeySelector",
        pod(env({"name": "X", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}})),
        (made("a", {"envs:X": b"hello"}),),
        before=(has_object("Secret", "s", data={"k": "aGVsbG8="}),),
    ),
    Row(
        "env: args and command are expanded",
        "API, Container.command",
        pod(c("a", command=["sh", "-c", "serve $(A)"], args=["$(A)", "$(B)"], env=[value("A", "1")])),
        (made("a", {"command": ["sh", "-c", "serve 1"], "args": ["1", "$(B)"]}),),
    ),
    # -- resources ------------------------------------------------------------------------------------------------------
    limits(
        "nothing asked for", {}, {"cpu_shares": 2, "cpu_quota": 0, "memory_limit_in_bytes": 0, "oom_score_adj": 1000}
    ),
    limits("a cpu request", {"requests": {"cpu": "250m"}}, {"cpu_shares": 256, "cpu_quota": 0}),
    limits(
        "a cpu limit is the request, too",
        {"limits": {"cpu": "500m"}},
        {"cpu_shares": 512, "cpu_quota": 50000, "cpu_period": 100000},
    ),
    limits("the least quota is 1 ms", {"limits": {"cpu": "1m"}}, {"cpu_quota": 1000, "cpu_shares": 2}),
    limits(
        "a memory limit",
        {"limits": {"memory": "64Mi"}, "requests": {"memory": "64Mi"}},
        {"memory_limit_in_bytes": 67108864},
    ),
    limits(
        "Guaranteed",
        {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}},
        {"oom_score_adj": -997, "cpu_shares": 1024, "cpu_quota": 100000},
    ),
    limits("a small request is next to last", {"requests": {"memory": "1Ki"}}, {"oom_score_adj": 999}),
    limits("critical", {}, {"oom_score_adj": -997}, priority=2000001000, priorityClassName="system-node-critical"),
    Row(
        "resources: the QoS class is in the status",
        "subsystems 6.2",
        pod(c("a", resources={"requests": {"cpu": "100m"}})),
        (
            shows(
                {
                    "qosClass": "Burstable",
                    "containers.a.resources.requests.cpu": "100m",
                    "containers.a.allocatedResources.cpu": "100m",
                }
            ),
        ),
    ),
    Row(
        "resources: no quota where it is off",
        "config, cpuCFSQuota",
        pod(c("a", resources={"limits": {"cpu": "1"}})),
        (made("a", {"linux.resources.cpu_quota": frozenset([0, -1])}),),
        config={"cpuCFSQuota": False},
    ),
    Row(
        "resources: the pod's limit is the container's where it has none",
        "KEP-2837",
        pod(resources={"limits": {"memory": "64Mi", "cpu": "1"}, "requests": {"memory": "64Mi", "cpu": "1"}}),
        (
            made("a", {"linux.resources.memory_limit_in_bytes": 67108864}),
            shows({"qosClass": "Guaranteed", "resources.limits.memory": "64Mi"}),
        ),
    ),
    # -- security -------------------------------------------------------------------------------------------------------
    secured(
        "the container's user wins over the pod's",
        {"runAsUser": 5},
        {"run_as_user.value": 5},
        securityContext={"runAsUser": 7},
    ),
    secured(
        "the pod's user",
        {},
        {"run_as_user.value": 7, "run_as_group.value": 8},
        securityContext={"runAsUser": 7, "runAsGroup": 8},
    ),
    secured("privileged", {"privileged": True}, {"privileged": True}),
    secured("no new privileges", {"allowPrivilegeEscalation": False}, {"no_new_privs": True}),
    secured("read-only root", {"readOnlyRootFilesystem": True}, {"readonly_rootfs": True}),
    secured(
        "capabilities",
        {"capabilities": {"add": ["NET_ADMIN"], "drop": ["ALL"]}},
        {"capabilities.add_capabilities": ["NET_ADMIN"], "capabilities.drop_capabilities": ["ALL"]},
    ),
    secured("seccomp by default is unconfined", {}, {"seccomp.profile_type": cri.SecurityProfile.Unconfined}),
    secured(
        "seccomp RuntimeDefault",
        {"seccompProfile": {"type": "RuntimeDefault"}},
        {"seccomp.profile_type": cri.SecurityProfile.RuntimeDefault},
    ),
    secured(
        "the pod's seccomp profile",
        {},
        {"seccomp.profile_type": cri.SecurityProfile.RuntimeDefault},
        securityContext={"seccompProfile": {"type": "RuntimeDefault"}},
    ),
    secured(
        "fsGroup and supplemental groups",
        {},
        {"supplemental_groups": [9, 3, 4]},
        securityContext={"fsGroup": 9, "supplementalGroups": [3, 4]},
    ),
    secured(
        "procMount Unmasked", {"procMount": "Unmasked"}, {"masked_paths": [], "readonly_paths": []}, hostUsers=True
    ),
    secured("SELinux options", {"seLinuxOptions": {"level": "s0:c1"}}, {"selinux_options.level": "s0:c1"}),
    Row(
        "security: the masked paths",
        SECURITY,
        pod(),
        (
            made(
                "a",
                {
                    "linux.security_context.readonly_paths": [
                        "/proc/bus",
                        "/proc/fs",
                        "/proc/irq",
                        "/proc/sys",
                        "/proc/sysrq-trigger",
                    ]
                },
            ),
        ),
    ),
    Row(
        "security: seccompDefault",
        "subsystems 30.2",
        pod(),
        (made("a", {"linux.security_context.seccomp.profile_type": cri.SecurityProfile.RuntimeDefault}),),
        config={"seccompDefault": True},
    ),
]

test_the_agent_does_what_the_kubelet_documents = documented(ROWS)
