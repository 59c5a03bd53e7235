"""Restarts of the agent and of the machine, amid the lives of pods."""

from __future__ import annotations

import os
import re
from typing import Any

from proto import cri_pb2 as cri

from .row import (
    FIRST_SECONDS,
    FOREVER,
    Row,
    Situation,
    Step,
    asked,
    asked_times,
    at_once,
    c,
    deleted,
    ends,
    gone,
    holds,
    not_asked,
    pod,
    shows,
    sidecar,
    waits,
)
from .table import documented
from .test_field_reports import fallen, issue, other, probe

RESTART = "gate ChangeContainerStatusOnKubeletRestart (off): a restart of the kubelet changes no status"
CORES = len(os.sched_getaffinity(0))


def restarted() -> Step:
    """The agent is killed, and starts again."""

    async def step(on: Situation) -> None:
        await on.node.restart()
        await waits(FIRST_SECONDS)(on)

    return step


def removed() -> Step:
    """Another program removes container a; the agent does not see it before it is killed."""
    return at_once(lambda on: on.fake.world.containers.pop(on.container("a").id))


def rebooted() -> Step:
    """The machine starts again: the runtime knows the pod, of which nothing runs."""

    async def step(on: Situation) -> None:
        for container in list(on.fake.world.containers.values()):
            if container.state == cri.CONTAINER_RUNNING:
                on.fake.finish(container.id, 255, "Unknown")
        for sandbox in on.fake.world.sandboxes.values():
            sandbox.ready = False
        await restarted()(on)

    return step


def readiness(on: Situation) -> list[str]:
    """What Ready has been since it was True first."""
    found = [
        one["status"]
        for status in on.store.history["u"]
        for one in status.get("conditions", [])
        if one["type"] == "Ready"
    ]
    return found[found.index("True") :] if "True" in found else found


SIDECAR_UP: dict[str, Any] = {"initContainers": [sidecar("s", FOREVER, startupProbe=probe("true"))]}
ROWS = [
    # -- restarts of the agent --------------------------------------------------------------------------------------
    Row(
        "a restart of the agent restarts nothing and shows no change",
        RESTART,
        pod(c("a", readinessProbe=probe("true"))),
        (
            shows({"conditions.Ready": "True"}),
            restarted(),
            shows({"phase": "Running", "conditions.Ready": "True", "containers.a.restartCount": 0}),
            holds("Ready never was lost", lambda on: "False" not in readiness(on)),
            asked_times("StartContainer a", 1),
            not_asked("StopContainer"),
        ),
    ),
    Row(
        "a startup probe that has passed does not run again after a restart of the agent",
        RESTART,
        pod(c("a", startupProbe=probe("true"))),
        (
            asked_times("ExecSync a true", 1),
            restarted(),
            waits(5),
            asked_times("ExecSync a true", 1),
            shows({"containers.a.started": True, "conditions.Ready": "True"}),
        ),
    ),
    Row(
        "with a sidecar whose startup probe has passed, an app that ends after a restart of the agent starts again",
        issue(137146),
        pod(**SIDECAR_UP),
        (
            shows({"containers.a": "running"}),
            restarted(),
            ends("a", 1),
            shows({"containers.a": "running", "containers.a.restartCount": 1, "init.s.restartCount": 0}),
        ),
    ),
    Row(
        "an app that ended while the agent was away starts again beside its sidecar",
        issue(137146),
        pod(**SIDECAR_UP),
        (
            fallen(),
            restarted(),
            shows({"containers.a": "running", "containers.a.restartCount": 1, "init.s": "running"}),
            asked_times("StartContainer s", 1),
        ),
    ),
    Row(
        "all app containers crash while the sidecar runs, and all start again",
        issue(136969),
        pod(c("a"), c("b"), initContainers=[sidecar()]),
        (
            fallen(),
            ends("b", 1),
            shows({"containers.a": "running", "containers.b": "running", "containers.a.restartCount": 1}),
            asked_times("StartContainer s", 1),
        ),
    ),
    Row(
        "a restart of the agent does not admit a pod again that has ended",
        issue(126343),
        pod(restartPolicy="Never", meta={"finalizers": ["example.com/keep"]}),
        (
            ends("a", 0),
            shows({"phase": "Succeeded"}),
            other(f"{CORES}"),
            restarted(),
            shows({"phase": "Succeeded", "reason": None}),
            asked_times("StartContainer a", 1),
        ),
    ),
    Row(
        "a restart of the agent goes on with the count of restarts",
        RESTART,
        pod(),
        (
            ends("a", 1),
            restarted(),
            shows({"containers.a.restartCount": 1, "containers.a.lastState": "terminated 1 Error"}),
            waits(700),
            ends("a", 1),
            shows({"containers.a.restartCount": 2}),
        ),
    ),
    Row(
        "a deletion while the agent is away is carried out",
        RESTART,
        pod(),
        (
            at_once(lambda on: setattr(on.node.actors["pod_workers/worker/0"]._myRef, "dead", True)),
            deleted(10),
            restarted(),
            waits(5),
            asked("StopContainer a 10", "StopPodSandbox"),
            gone(),
        ),
    ),
    Row(
        "a pod that was deleted by force while the agent was away is stopped",
        issue(113145),
        pod(),
        (
            at_once(lambda on: on.store.remove("p")),
            restarted(),
            waits(5),
            asked(re.compile(r"StopContainer a \d+"), "StopPodSandbox"),
        ),
    ),
    Row(
        "a container with Never that another program removes while the agent is away has run once",
        "kubelet_pods.go, convertToAPIContainerStatuses: it was running, so that it ended with 137",
        pod(restartPolicy="Never"),
        (
            removed(),
            restarted(),
            shows({"phase": "Failed", "containers.a": "terminated 137 ContainerStatusUnknown"}),
            asked_times("StartContainer a", 1),
        ),
    ),
    Row(
        "a container with OnFailure that another program removes while the agent is away runs again",
        "kubelet_pods.go, convertToAPIContainerStatuses: it was running, so that it ended with 137",
        pod(restartPolicy="OnFailure"),
        (
            removed(),
            restarted(),
            shows({"phase": "Running", "containers.a": "running"}),
            asked_times("StartContainer a", 2),
        ),
    ),
    Row(
        "a restart of the agent amid a postStart hook runs the hook again, and the next container waits for it",
        "concepts/containers/container-lifecycle-hooks, hook delivery guarantees: at least once",
        pod(c("a", lifecycle={"postStart": {"sleep": {"seconds": 8}}}), c("b")),
        (
            restarted(),
            waits(12),
            shows({"phase": "Running", "containers.b": "running", "containers.a.restartCount": 0}),
            not_asked("StopContainer"),
        ),
    ),
    # -- reboots ----------------------------------------------------------------------------------------------------
    Row(
        "after a reboot the init containers run again before the app",
        issue(120247),
        pod(initContainers=[c("i")]),
        (
            ends("i"),
            shows({"containers.a": "running"}),
            rebooted(),
            shows({"init.i": "running", "phase": "Pending"}),
            asked_times("StartContainer a", 1),
            ends("i"),
            shows({"containers.a": "running", "containers.a.restartCount": 1, "phase": "Running"}),
        ),
    ),
    Row(
        "after a reboot a pod with Never ends",
        "API, PodSpec.restartPolicy",
        pod(restartPolicy="Never"),
        (rebooted(), shows({"phase": "Failed"}), asked_times("StartContainer a", 1)),
    ),
    Row(
        "after a reboot sidecars start before the app",
        "KEP-753",
        pod(initContainers=[sidecar()]),
        (
            rebooted(),
            shows({"init.s": "running", "containers.a": "running", "init.s.restartCount": 1}),
            asked("StartContainer s", "StartContainer a", "RunPodSandbox 1", "StartContainer s", "StartContainer a"),
        ),
    ),
    Row(
        "an eviction outlives a restart of the agent: the pod does not begin again",
        issue(105358),
        pod(c("a", lifecycle={"preStop": {"sleep": {"seconds": 5}}}), activeDeadlineSeconds=5),
        (
            waits(6),
            restarted(),
            waits(15),
            shows({"phase": "Failed", "reason": "DeadlineExceeded"}),
            asked_times("StartContainer a", 1),
        ),
    ),
]

test_the_agent_does_what_the_kubelet_documents = documented(ROWS)
