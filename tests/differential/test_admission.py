"""Refused pods: reasons, messages, events. And pods on the host's network, in sandboxes, with static files."""

from __future__ import annotations

import json
import re
from typing import Any

from .row import (
    NAMESPACE,
    Row,
    Situation,
    Step,
    Wanted,
    asked,
    at_once,
    c,
    deleted,
    does,
    gone,
    holds,
    not_asked,
    pod,
    said,
    shows,
    waits,
)
from .table import documented

ADMISSION = "subsystems 30; kubelet lifecycle predicates"


def refused(reason: str, message: Wanted) -> tuple[Step, ...]:
    """Failed, with reason and message, an event, and nothing in the runtime."""
    text = (
        re.compile(f"Pod was rejected: {message.pattern}")
        if isinstance(message, re.Pattern)
        else f"Pod was rejected: {message}"
    )
    event = (
        re.compile(f"Warning {reason}: {message.pattern}")
        if isinstance(message, re.Pattern)
        else f"Warning {reason}: {message}"
    )
    wanted = {
        "phase": "Failed",
        "reason": reason,
        "message": text,
        "startTime": re.compile(r".+Z"),
        **dict.fromkeys(("conditions.Ready", "containerStatuses", "hostIP", "hostIPs", "podIP", "podIPs")),
    }
    return (shows(wanted), said(event), not_asked("RunPodSandbox"))


def requests(**amounts: str) -> dict[str, Any]:
    return c("a", resources={"requests": {name.replace("_", "-"): amount for name, amount in amounts.items()}})


def labelled(**labels: str) -> Step:
    """The Node object has these labels."""

    def change(on: Situation) -> None:
        on.store.node = {"metadata": {"name": "node-1", "uid": "n", "labels": labels}, "status": {}}

    return at_once(change)


def tainted(key: str, effect: str) -> Step:
    def change(on: Situation) -> None:
        on.store.node = {
            "metadata": {"name": "node-1", "uid": "n"},
            "spec": {"taints": [{"key": key, "effect": effect}]},
        }

    return at_once(change)


def other_pod(**more: Any) -> Step:
    """Another pod runs on the node."""

    def put(on: Situation) -> None:
        one = pod(c("o", **more))
        one["metadata"] |= {"name": "other", "uid": "o"}
        on.node.put(one)

    return does(put)


def manifest(name: str = "s", **spec: Any) -> Step:
    """A static pod's file."""

    def write(on: Situation) -> None:
        whole = {"containers": [c("a")], **spec}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": NAMESPACE}, "spec": whole}
        (on.node.manifests / f"{name}.json").write_text(json.dumps(body))

    return at_once(write)


def mirror(on: Situation) -> dict[str, Any]:
    return on.store.pods[NAMESPACE, "s-node-1"]


ROWS = [
    Row(
        "more cpu than the node has",
        ADMISSION,
        pod(requests(cpu="1000")),
        refused(
            "OutOfcpu", re.compile(r"Node didn't have enough resource: cpu, requested: 1000000, used: 0, capacity: \d+")
        ),
    ),
    Row(
        "more memory than the node has",
        ADMISSION,
        pod(requests(memory="1Ti")),
        refused(
            "OutOfmemory",
            re.compile(r"Node didn't have enough resource: memory, requested: 1099511627776, used: 0, capacity: \d+"),
        ),
    ),
    Row(
        "more pods than the node takes",
        ADMISSION,
        pod(),
        refused("OutOfpods", "Node didn't have enough resource: pods, requested: 1, used: 1, capacity: 1"),
        before=(other_pod(),),
        config={"maxPods": 1},
    ),
    Row(
        "a host port that is taken",
        ADMISSION,
        pod(c("a", ports=[{"containerPort": 80, "hostPort": 80}])),
        refused("NodePorts", "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"),
        before=(other_pod(ports=[{"containerPort": 80, "hostPort": 80}]),),
    ),
    Row(
        "a node selector that does not match",
        ADMISSION,
        pod(nodeSelector={"disk": "ssd"}),
        refused("NodeAffinity", "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"),
        before=(labelled(disk="hdd"),),
    ),
    Row(
        "a node selector that matches",
        ADMISSION,
        pod(nodeSelector={"disk": "ssd"}),
        (shows({"phase": "Running"}),),
        before=(labelled(disk="ssd"),),
    ),
    Row(
        "a taint NoExecute that is not tolerated",
        ADMISSION,
        pod(),
        refused("TaintToleration", "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"),
        before=(tainted("k", "NoExecute"),),
    ),
    Row(
        "a taint NoSchedule does not matter to the node",
        ADMISSION,
        pod(),
        (shows({"phase": "Running"}),),
        before=(tainted("k", "NoSchedule"),),
    ),
    Row(
        "a tolerated taint",
        ADMISSION,
        pod(tolerations=[{"operator": "Exists"}]),
        (shows({"phase": "Running"}),),
        before=(tainted("k", "NoExecute"),),
    ),
    Row(
        "too large and not tolerated: the resources are checked first",
        "predicates: resources, then node name, ports, affinity, taints; P23",
        pod(requests(cpu="1000")),
        (shows({"phase": "Failed", "reason": "OutOfcpu"}),),
        before=(tainted("k", "NoExecute"),),
    ),
    Row(
        "too large and the wrong node: the resources are checked first",
        "predicates: P23",
        pod(requests(cpu="1000"), nodeSelector={"disk": "ssd"}),
        (shows({"phase": "Failed", "reason": "OutOfcpu"}),),
        before=(labelled(disk="hdd"),),
    ),
    Row(
        "a port that is taken and the wrong node: the ports come after the affinity",
        "noderesources, nodeaffinity in generalFilter: resources, affinity, name, ports",
        pod(c("a", ports=[{"containerPort": 80, "hostPort": 80}]), nodeSelector={"disk": "ssd"}),
        (shows({"phase": "Failed", "reason": "NodeAffinity"}),),
        before=(other_pod(ports=[{"containerPort": 80, "hostPort": 80}]), labelled(disk="hdd")),
    ),
    Row(
        "a sysctl that is not allowed",
        "subsystems 30.1",
        pod(securityContext={"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}),
        refused("SysctlForbidden", 'forbidden sysctl: "kernel.msgmax" not allowlisted'),
    ),
    Row(
        "a sysctl that is not allowed, with slashes: it is named with dots",
        "sysctl.validateSysctl",
        pod(securityContext={"sysctls": [{"name": "kernel/msgmax", "value": "1"}]}),
        refused("SysctlForbidden", 'forbidden sysctl: "kernel.msgmax" not allowlisted'),
    ),
    Row(
        "a sysctl of the node's network",
        "sysctl.validateSysctl: the names of namespaces are Net and IPC",
        pod(hostNetwork=True, securityContext={"sysctls": [{"name": "net.ipv4.tcp_syncookies", "value": "1"}]}),
        refused("SysctlForbidden", 'forbidden sysctl: "net.ipv4.tcp_syncookies" not allowed with host Net enabled'),
    ),
    Row(
        "a sysctl that is safe",
        "subsystems 30.1",
        pod(securityContext={"sysctls": [{"name": "net.ipv4.tcp_syncookies", "value": "1"}]}),
        (shows({"phase": "Running"}),),
    ),
    Row(
        "another operating system",
        "subsystems 30: spec.os must match",
        pod(os={"name": "windows"}),
        refused("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS"),
    ),
    Row(
        "the label of another operating system",
        "subsystems 30: by the Node's label; P23",
        pod(meta={"labels": {"kubernetes.io/os": "windows"}}),
        (
            shows(
                {
                    "phase": "Failed",
                    "reason": "PodOSSelectorNodeLabelDoesNotMatch",
                    "message": "Pod was rejected: Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
                }
            ),
        ),
        before=(labelled(**{"kubernetes.io/os": "linux"}),),
    ),
    Row(
        "an extended resource that the node does not list",
        "subsystems 30: ignored",
        pod(requests(**{"example.com/gpu": "1"})),
        (shows({"phase": "Running"}),),
    ),
    Row(
        "a refused pod stays refused",
        "subsystems 6.1",
        pod(requests(cpu="1000")),
        (waits(120), shows({"phase": "Failed", "reason": "OutOfcpu"}), not_asked("RunPodSandbox")),
    ),
    Row(
        "a refused pod with a deletion goes",
        "subsystems 6",
        pod(requests(cpu="1000")),
        (deleted(), waits(3), gone()),
    ),
    # -- static pods ------------------------------------------------------------------------------------------------
    Row(
        "a static pod has a mirror",
        "subsystems 33",
        {},
        (
            manifest(),
            waits(25),
            holds("mirror", lambda on: mirror(on)["metadata"]["annotations"]["kubernetes.io/config.source"] == "file"),
            holds(
                "hash",
                lambda on: (
                    mirror(on)["metadata"]["annotations"]["kubernetes.io/config.mirror"]
                    == mirror(on)["metadata"]["annotations"]["kubernetes.io/config.hash"]
                ),
            ),
            holds(
                "owner",
                lambda on: (
                    [(one["kind"], one["name"], one["controller"]) for one in mirror(on)["metadata"]["ownerReferences"]]
                    == [("Node", "node-1", True)]
                ),
            ),
            holds("running", lambda on: mirror(on)["status"]["phase"] == "Running"),
            holds(
                "toleration",
                lambda on: {"operator": "Exists", "effect": "NoExecute"} in mirror(on)["spec"]["tolerations"],
            ),
            asked("RunPodSandbox 0", "CreateContainer a"),
        ),
    ),
    Row(
        "a mirror that somebody deletes comes back, the pod goes on",
        "subsystems 33",
        {},
        (
            manifest(),
            waits(25),
            at_once(lambda on: on.store.pods.pop((NAMESPACE, "s-node-1"))),
            at_once(lambda on: on.node.tell_pods()),
            waits(25),
            holds("mirror", lambda on: mirror(on)["status"]["phase"] == "Running"),
            not_asked("StopContainer"),
        ),
    ),
    Row(
        "a static pod whose file goes is ended, and its mirror deleted",
        "subsystems 33",
        {},
        (
            manifest(terminationGracePeriodSeconds=8),
            waits(25),
            at_once(lambda on: (on.node.manifests / "s.json").unlink()),
            waits(40),
            asked("StopContainer a 8", "StopPodSandbox"),
            holds("no mirror", lambda on: (NAMESPACE, "s-node-1") not in on.store.pods),
        ),
    ),
    Row(
        "a static pod that is edited ends before the new one starts",
        "subsystems 4: never two of one name",
        {},
        (
            manifest(),
            waits(25),
            manifest(terminationGracePeriodSeconds=9),
            waits(60),
            asked("CreateContainer a", "StopContainer a 30", "StopPodSandbox", "RunPodSandbox 0", "CreateContainer a"),
            holds("running", lambda on: mirror(on)["status"]["phase"] == "Running"),
        ),
    ),
    Row(
        "a static pod with restartPolicy Never that is put back runs again",
        "subsystems 4: a create for a terminating UID starts again",
        {},
        (
            manifest(restartPolicy="Never", terminationGracePeriodSeconds=2),
            waits(25),
            at_once(lambda on: (on.node.manifests / "s.json").unlink()),
            waits(30),
            manifest(restartPolicy="Never", terminationGracePeriodSeconds=2),
            waits(30),
            holds("running", lambda on: mirror(on)["status"]["phase"] == "Running"),
        ),
    ),
    Row(
        "a static Never pod that is withdrawn and put back while it ends runs again",
        "subsystems 4: restartRequested",
        {},
        (
            manifest(restartPolicy="Never", terminationGracePeriodSeconds=8, containers=[c("a", "serve")]),
            waits(25),
            at_once(lambda on: (on.node.manifests / "s.json").unlink()),
            waits(21),
            manifest(restartPolicy="Never", terminationGracePeriodSeconds=8, containers=[c("a", "serve")]),
            waits(60),
            holds("running", lambda on: mirror(on)["status"]["phase"] == "Running"),
            holds("one that runs", lambda on: sum(one.state == 1 for one in on.fake.world.containers.values()) == 1),
        ),
    ),
    Row(
        "the start of a static pod is when the node began it",
        "subsystems 6: startTime is set once, at the first status",
        {},
        (manifest(), waits(25), holds("startTime", lambda on: mirror(on)["status"]["startTime"] >= on.node.started_at)),
    ),
]

test_the_agent_does_what_the_kubelet_documents = documented(ROWS)
