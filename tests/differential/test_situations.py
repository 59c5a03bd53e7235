"""Hooks, termination messages, deadlines, gates, resizes and restarts of all containers, in situations that mix them."""

from __future__ import annotations

import copy
import os
import re
from pathlib import Path
from typing import Any

from actors.status_manager.times import time_of_ns

from .row import (
    FOREVER,
    NAMESPACE,
    Row,
    Situation,
    asked,
    asked_times,
    at_once,
    c,
    changed,
    deleted,
    does,
    ends,
    fails,
    gone,
    made,
    not_asked,
    not_said,
    pod,
    said,
    shows,
    sidecar,
    waits,
    works,
)
from .table import documented

HOOKS = "subsystems 8.3, 8.5; API, Lifecycle"
MESSAGES = "API, Container.terminationMessagePolicy; subsystems 6.3"
DEADLINE = "API, PodSpec.activeDeadlineSeconds"
GATES = "KEP-580; subsystems 6.2"
RESIZE = "KEP-1287; subsystems 9"
ALL = "KEP-5532 RestartAllContainers"
ORDER = "KEP-753; subsystems 8.2"
CORES = len(os.sched_getaffinity(0))


def hook(kind: str, **action: Any) -> dict[str, Any]:
    return {kind: action}


def http(port: int | str) -> dict[str, Any]:
    return {"host": "127.0.0.1", "port": port, "path": "/x"}


def sized(cpu: str, memory: str = "64Mi", **more: Any) -> dict[str, Any]:
    amounts = {"cpu": cpu, "memory": memory}
    return c("a", resources={"requests": amounts, "limits": amounts}, **more)


def resized(cpu: str, memory: str = "64Mi") -> Any:
    amounts = {"cpu": cpu, "memory": memory}
    return changed(lambda pod: pod["spec"]["containers"][0].update(resources={"requests": amounts, "limits": amounts}))


def leaves(text: str) -> Any:
    """Its process writes this to /dev/termination-log."""

    def write(on: Situation) -> None:
        (mount,) = [one for one in on.container("a").config.mounts if one.container_path == "/dev/termination-log"]
        Path(mount.host_path).write_text(text)

    return at_once(write)


def other(cpu: str, **spec: Any) -> Any:
    """Another pod of this size runs on the node."""

    def put(on: Situation) -> None:
        one = pod(c("o", resources={"requests": {"cpu": cpu}}), **spec)
        one["metadata"] |= {"name": "other", "uid": "o"}
        on.node.put(one)

    return does(put)


def without_other() -> Any:
    """The other pod is deleted, and ends."""

    def delete(on: Situation) -> None:
        found = copy.deepcopy(on.store.pods[NAMESPACE, "other"])
        when = time_of_ns(round((on.node.loop.wall() + 5) * 1e9))
        found["metadata"] |= {"deletionTimestamp": when, "deletionGracePeriodSeconds": 5}
        on.node.put(found)

    return does(delete)


def other_ends() -> Any:
    """The other pod's process ends."""
    return does(lambda on: on.fake.finish(on.container("o").id, 0))


def other_shrinks(cpu: str) -> Any:
    """Somebody resizes the other pod."""

    def change(on: Situation) -> None:
        found = copy.deepcopy(on.store.pods[NAMESPACE, "other"])
        found["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
        found["metadata"]["generation"] += 1
        on.node.put(found)

    return does(change)


def gate(status: str) -> Any:
    """A controller sets the condition of the gate."""

    def change(on: Situation) -> None:
        found = on.pod()
        found["status"]["conditions"].append({"type": "example.com/g", "status": status})
        on.node.put(found)

    return does(change)


RULE = [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}]
GATED: dict[str, Any] = {"readinessGates": [{"conditionType": "example.com/g"}]}
ROWS = [
    Row(
        "a preStop hook by http whose port is closed keeps nobody, an event tells",
        HOOKS,
        pod(c("a", lifecycle=hook("preStop", httpGet=http(9)))),
        (deleted(), said("Warning FailedPreStopHook a: PreStopHook failed"), waits(5), gone()),
    ),
    Row(
        "a preStop hook by http to a port that has no such name",
        HOOKS,
        pod(c("a", lifecycle=hook("preStop", httpGet=http("web")))),
        (deleted(), said("Warning FailedPreStopHook a: PreStopHook failed"), waits(5), gone()),
    ),
    Row(
        "a postStart hook by http whose port is closed has the container killed",
        HOOKS,
        pod(c("a", lifecycle=hook("postStart", httpGet=http(9)))),
        (
            said("Warning FailedPostStartHook a: PostStartHook failed", "Normal Killing a: FailedPostStartHook"),
            asked("StartContainer a", "StopContainer a 30"),
        ),
    ),
    Row(
        "a postStart hook to a port that has no such name has the container killed",
        HOOKS,
        pod(c("a", lifecycle=hook("postStart", httpGet=http("web")))),
        (said("Warning FailedPostStartHook a: PostStartHook failed", "Normal Killing a: FailedPostStartHook"),),
    ),
    Row(
        "a postStart hook that sleeps holds up the next container",
        HOOKS,
        pod(c("a", lifecycle=hook("postStart", sleep={"seconds": 8})), c("b")),
        (
            not_asked("StartContainer b"),
            shows({"phase": "Pending"}),
            waits(8),
            asked("StartContainer a", "StartContainer b"),
            shows({"phase": "Running", "containers.b": "running"}),
        ),
    ),
    Row(
        "a pod that is deleted during a postStart hook ends",
        HOOKS,
        pod(c("a", lifecycle=hook("postStart", sleep={"seconds": 100}))),
        (deleted(5), waits(10), gone()),
    ),
    Row(
        "a preStop hook runs before a liveness kill, too",
        HOOKS,
        pod(
            c(
                "a",
                lifecycle=hook("preStop", exec={"command": ["true"]}),
                livenessProbe={"exec": {"command": ["false"]}, "periodSeconds": 1, "failureThreshold": 1},
            )
        ),
        (asked("ExecSync a false", "ExecSync a true", "StopContainer a 30"),),
    ),
    Row(
        "the message that the process left is in the status",
        MESSAGES,
        pod(restartPolicy="Never"),
        (leaves("why"), ends("a", 1), shows({"containers.a.state.terminated.message": "why"})),
    ),
    Row(
        "a message is cut to 4096 bytes",
        MESSAGES,
        pod(restartPolicy="Never"),
        (leaves("x" * 5000), ends("a", 1), shows({"containers.a.state.terminated.message": "x" * 4096})),
    ),
    Row(
        "a message after a success is told as well",
        MESSAGES,
        pod(restartPolicy="Never"),
        (leaves("done"), ends("a", 0), shows({"containers.a.state.terminated.message": "done"})),
    ),
    Row(
        "with FallbackToLogsOnError the end of the log is the message of a failure",
        MESSAGES,
        pod(c("a", "echo lost; serve", terminationMessagePolicy="FallbackToLogsOnError"), restartPolicy="Never"),
        (ends("a", 1), shows({"containers.a.state.terminated.message": "lost\n"})),
    ),
    Row(
        "with FallbackToLogsOnError a success has no message",
        MESSAGES,
        pod(c("a", "echo well; serve", terminationMessagePolicy="FallbackToLogsOnError"), restartPolicy="Never"),
        (ends("a", 0), shows({"containers.a.state.terminated.message": None})),
    ),
    Row(
        "with FallbackToLogsOnError a message that was left comes before the log",
        MESSAGES,
        pod(c("a", "echo lost; serve", terminationMessagePolicy="FallbackToLogsOnError"), restartPolicy="Never"),
        (leaves("why"), ends("a", 1), shows({"containers.a.state.terminated.message": "why"})),
    ),
    Row(
        "with File the log is no message",
        MESSAGES,
        pod(c("a", "echo lost; serve"), restartPolicy="Never"),
        (ends("a", 1), shows({"containers.a.state.terminated.message": None})),
    ),
    Row(
        "the message of a restarted container stays in lastState",
        MESSAGES,
        pod(),
        (leaves("why"), ends("a", 1), shows({"containers.a.lastState.terminated.message": "why"})),
    ),
    Row(
        "another path for the message",
        MESSAGES,
        pod(c("a", terminationMessagePath="/tmp/m")),
        (made("a", {"mounts:/tmp/m": True, "mounts:/dev/termination-log": False}),),
    ),
    Row(
        "no path, no file for the message",
        MESSAGES,
        pod(c("a", terminationMessagePath="")),
        (shows({"containers.a": "running"}),),
    ),
    Row(
        "a sidecar does not keep a pod from its deadline",
        DEADLINE,
        pod(initContainers=[sidecar()], activeDeadlineSeconds=10),
        (
            waits(15),
            shows({"phase": "Failed", "reason": "DeadlineExceeded"}),
            asked("StopContainer a 30", re.compile(r"StopContainer s \d+")),
        ),
    ),
    Row(
        "the deadline ends a pod in a crash loop",
        DEADLINE,
        pod(activeDeadlineSeconds=20),
        (ends("a", 1), ends("a", 1), waits(25), shows({"phase": "Failed", "reason": "DeadlineExceeded"})),
    ),
    Row(
        "a deadline that is set later counts from the start",
        DEADLINE,
        pod(),
        (
            waits(20),
            changed(lambda pod: pod["spec"].update(activeDeadlineSeconds=10)),
            waits(3),
            shows({"phase": "Failed", "reason": "DeadlineExceeded"}),
            said(re.compile(r"Normal DeadlineExceeded: Pod was active on the node longer than the specified deadline")),
        ),
    ),
    Row(
        "a gate whose condition is True lets the pod be ready",
        GATES,
        pod(**GATED),
        (gate("True"), shows({"conditions.Ready": "True"})),
    ),
    Row(
        "a gate whose condition is False is named",
        GATES,
        pod(**GATED),
        (
            gate("False"),
            shows(
                {
                    "conditions.Ready": "False",
                    "conditions.Ready.reason": "ReadinessGatesNotReady",
                    "conditions.Ready.message": 'the status of pod readiness gate "example.com/g" is not "True", but False',
                }
            ),
        ),
    ),
    Row(
        "containers that are not ready come before gates",
        GATES,
        pod(c("a", readinessProbe={"exec": {"command": ["false"]}, "periodSeconds": 1}), **GATED),
        (shows({"conditions.Ready": "False", "conditions.Ready.reason": "ContainersNotReady"}),),
    ),
    Row(
        "a resize for which there is no room now is deferred",
        RESIZE,
        pod(sized("100m")),
        (
            resized(f"{CORES * 1000 - 500}m"),
            waits(3),
            shows(
                {
                    "conditions.PodResizePending": "True",
                    "conditions.PodResizePending.reason": "Deferred",
                    "conditions.PodResizePending.message": re.compile(
                        r"Node didn't have enough resource: cpu, requested: \d+, used: 1000, capacity: \d+"
                    ),
                    "containers.a.resources.requests.cpu": "100m",
                }
            ),
            said(re.compile(r"Warning ResizeDeferred: Pod resize OutOfcpu: .*")),
            not_asked("UpdateContainerResources"),
        ),
        before=(other("1"),),
    ),
    Row(
        "a deferred resize is carried out once another pod has ended",
        RESIZE,
        pod(sized("100m")),
        (
            resized(f"{CORES * 1000 - 500}m"),
            shows({"conditions.PodResizePending.reason": "Deferred"}),
            without_other(),
            waits(30),
            asked("UpdateContainerResources a"),
            shows({"conditions.PodResizePending": None, "conditions.PodResizeInProgress": None}),
            asked_times("CreateContainer a", 1),
        ),
        before=(other("1"),),
    ),
    Row(
        "a deferred resize is carried out once another pod has run to its end",
        RESIZE,
        pod(sized("100m")),
        (
            resized(f"{CORES * 1000 - 500}m"),
            shows({"conditions.PodResizePending.reason": "Deferred"}),
            other_ends(),
            waits(30),
            asked("UpdateContainerResources a"),
            shows({"conditions.PodResizePending": None, "conditions.PodResizeInProgress": None}),
        ),
        before=(other("1", restartPolicy="Never"),),
    ),
    Row(
        "a deferred resize is carried out once another pod has shrunk",
        RESIZE,
        pod(sized("100m")),
        (
            resized(f"{CORES * 1000 - 500}m"),
            shows({"conditions.PodResizePending.reason": "Deferred"}),
            other_shrinks("100m"),
            waits(30),
            asked("UpdateContainerResources a"),
            shows({"conditions.PodResizePending": None, "conditions.PodResizeInProgress": None}),
        ),
        before=(other("1"),),
    ),
    Row(
        "a resize that is taken back while it waits is none any more",
        RESIZE,
        pod(sized("100m")),
        (
            resized("100"),
            waits(3),
            shows({"conditions.PodResizePending.reason": "Deferred"}),
            resized("100m"),
            waits(3),
            shows({"conditions.PodResizePending": None}),
            not_asked("UpdateContainerResources"),
        ),
    ),
    Row(
        "a resize that the runtime refuses is in progress with an error, until it works",
        RESIZE,
        pod(sized("100m")),
        (
            fails("UpdateContainerResources", "no"),
            resized("200m"),
            waits(3),
            shows({"conditions.PodResizeInProgress": "True", "conditions.PodResizeInProgress.reason": "Error"}),
            said(re.compile(r"Warning ResizeError: Pod resize error: .*")),
            works("UpdateContainerResources"),
            waits(120),
            shows({"conditions.PodResizeInProgress": None, "containers.a.resources.requests.cpu": "200m"}),
            asked_times("CreateContainer a", 1),
        ),
    ),
    Row(
        "pod-level resources are in the status",
        "KEP-2837, KEP-5419",
        pod(resources={"requests": {"cpu": "200m"}, "limits": {"cpu": "400m"}}),
        (shows({"resources.limits.cpu": "400m", "allocatedResources.cpu": "200m", "qosClass": "Burstable"}),),
    ),
    Row(
        "a resize of the pod's own resources reaches its containers",
        "KEP-5419",
        pod(resources={"requests": {"cpu": "200m"}, "limits": {"cpu": "400m"}}),
        (
            changed(lambda pod: pod["spec"]["resources"].update(limits={"cpu": "600m"})),
            waits(3),
            asked("UpdateContainerResources a"),
            shows({"resources.limits.cpu": "600m"}),
            asked_times("CreateContainer a", 1),
        ),
    ),
    Row(
        "an exit that a rule names restarts all containers, the init containers too",
        ALL,
        pod(
            c("a", FOREVER, restartPolicy="Never", restartPolicyRules=RULE),
            c("b"),
            initContainers=[c("i", "exit 0")],
        ),
        (
            waits(3),
            ends("a", 42),
            waits(5),
            shows({"phase": "Running", "containers.a": "running", "containers.b": "running"}),
            shows({"containers.a.restartCount": 1, "containers.b.restartCount": 1, "init.i.restartCount": 1}),
            asked_times("CreateContainer i", 2),
            asked_times("RunPodSandbox", 1),
        ),
        config={"featureGates": {"RestartAllContainersOnContainerExits": True}},
    ),
    Row(
        "an exit that no rule names restarts nobody else",
        ALL,
        pod(c("a", FOREVER, restartPolicy="Always", restartPolicyRules=RULE), c("b")),
        (ends("a", 1), shows({"containers.a.restartCount": 1, "containers.b.restartCount": 0})),
        config={"featureGates": {"RestartAllContainersOnContainerExits": True}},
    ),
    Row(
        "an init container that fails after a sidecar has begun: the sidecar goes on",
        ORDER,
        pod(initContainers=[sidecar(), c("i")]),
        (
            ends("i", 1),
            shows({"init.s": "running", "init.s.restartCount": 0, "init.i.restartCount": 1, "phase": "Pending"}),
            not_asked("StartContainer a"),
        ),
    ),
    Row(
        "with Never an init container that fails takes its sidecar along",
        ORDER,
        pod(initContainers=[sidecar(), c("i")], restartPolicy="Never"),
        (
            ends("i", 1),
            waits(5),
            asked(re.compile(r"StopContainer s \d+")),
            shows({"phase": "Failed"}),
            not_asked("StartContainer a"),
        ),
    ),
    Row(
        "a sidecar that fails while an init container runs is started again beside it",
        ORDER,
        pod(initContainers=[sidecar(), c("i")]),
        (ends("s", 1), shows({"init.s": "running", "init.s.restartCount": 1, "init.i.restartCount": 0})),
    ),
    Row(
        "a container whose image is mended after ErrImagePull starts",
        "subsystems 20; API, imagePullPolicy",
        pod(c("a", image="missing.example/x:1")),
        (
            shows({"containers.a": re.compile(r"waiting (ErrImagePull|ImagePullBackOff)")}),
            changed(lambda pod: pod["spec"]["containers"][0].update(image="busybox")),
            waits(3),
            shows({"containers.a": "running", "containers.a.restartCount": 0}),
            not_said("Killing"),
        ),
    ),
]

test_the_agent_does_what_the_kubelet_documents = documented(ROWS)
