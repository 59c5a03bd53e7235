"""Ephemeral containers, resizes in place, orphans of the runtime, cgroups, hooks after the start."""

from __future__ import annotations

import re
from typing import Any

from actors.container_manager.admission.pod_admission import PodAdmission
from actors.container_manager.messages import AdmissionFailed

from .row import (
    Row,
    Situation,
    asked,
    asked_times,
    at_once,
    c,
    changed,
    deleted,
    ends,
    fails,
    gone,
    not_said,
    pod,
    said,
    shows,
    sidecar,
    waits,
    works,
)
from .table import documented

EPHEMERAL = "API, EphemeralContainer; subsystems 8.2"
RESIZE = "KEP-1287; subsystems 9"
HOOKS = "subsystems 8.3, 8.5; API, Lifecycle.postStart"


def debug(script: str = "serve") -> dict[str, Any]:
    return c("d", script)


def with_debug(script: str = "serve") -> Any:
    return changed(lambda pod: pod["spec"].update(ephemeralContainers=[debug(script)]))


def sized(cpu: str, memory: str = "64Mi") -> dict[str, Any]:
    return c("a", resources={"requests": {"cpu": cpu, "memory": memory}, "limits": {"cpu": cpu, "memory": memory}})


def resized(cpu: str, memory: str = "64Mi") -> Any:
    return changed(lambda pod: pod["spec"]["containers"].__setitem__(0, sized(cpu, memory)))


def without_cgroups(on: Situation) -> None:
    """The pod's cgroup cannot be made."""
    manager: Any = on.node.actors["container_manager"]
    admission: PodAdmission = manager._admission

    async def admit(message: Any) -> AdmissionFailed:
        return AdmissionFailed(
            message.uid, f"failed to ensure that the pod: {message.uid} cgroups exist: EBUSY", cgroup=True
        )

    setattr(admission, "admit", admit)  # noqa: B010 - a method


def hook(*argv: str, kind: str = "postStart") -> dict[str, Any]:
    return {kind: {"exec": {"command": list(argv)}}}


ROWS = [
    Row(
        "an ephemeral container is started in a pod that runs",
        EPHEMERAL,
        pod(),
        (
            with_debug(),
            asked("StartContainer a", "CreateContainer d", "StartContainer d"),
            shows({"ephemeral.d": "running", "phase": "Running", "conditions.Ready": "True"}),
            said("Normal Created d: Container created", "Normal Started d: Container started"),
        ),
    ),
    Row(
        "an ephemeral container that ended is not restarted",
        EPHEMERAL,
        pod(),
        (
            with_debug(),
            ends("d", 1),
            waits(20),
            asked_times("CreateContainer d", 1),
            shows({"ephemeral.d": "terminated 1 Error"}),
        ),
    ),
    Row(
        "an ephemeral container does not count for the phase",
        EPHEMERAL,
        pod(restartPolicy="Never"),
        (with_debug(), ends("a", 0), waits(35), shows({"phase": "Succeeded"})),
    ),
    Row(
        "a sidecar does not wait for an ephemeral container",
        "kuberuntime terminationOrdering; P23",
        pod(initContainers=[sidecar()], terminationGracePeriodSeconds=20),
        (with_debug(), deleted(20), asked("StopContainer s 20"), waits(20), gone()),
    ),
    Row(
        "a resize in place reaches the container",
        RESIZE,
        pod(sized("100m")),
        (
            resized("200m"),
            waits(3),
            asked("UpdateContainerResources a"),
            asked_times("CreateContainer a", 1),
            shows(
                {
                    "containers.a.resources.requests.cpu": "200m",
                    "containers.a.allocatedResources.cpu": "200m",
                    "containers.a.restartCount": 0,
                    "conditions.PodResizeInProgress": None,
                    "conditions.PodResizePending": None,
                }
            ),
            said(
                'Normal ResizeStarted: Pod resize started: {"containers":[{"name":"a","resources":{"limits":{"cpu":"200m",'
                '"memory":"64Mi"},"requests":{"cpu":"200m","memory":"64Mi"}}}],"generation":2}',
                'Normal ResizeCompleted: Pod resize completed: {"containers":[{"name":"a","resources":{"limits":{"cpu":"200m",'
                '"memory":"64Mi"},"requests":{"cpu":"200m","memory":"64Mi"}}}],"generation":2}',
            ),
        ),
    ),
    Row(
        "a resize beyond the node waits",
        RESIZE,
        pod(sized("100m")),
        (
            resized("100"),
            waits(3),
            shows(
                {
                    "conditions.PodResizePending": "True",
                    "conditions.PodResizePending.reason": "Deferred",
                    "containers.a.resources.requests.cpu": "100m",
                }
            ),
            said(re.compile(r'Warning ResizeDeferred: Pod resize OutOfcpu: \{"containers":.*"error":".*"\}')),
        ),
    ),
    Row(
        "a resize with RestartContainer restarts, and no backoff delays it",
        RESIZE,
        pod({**sized("100m"), "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]}),
        (
            changed(lambda pod: pod["spec"]["containers"][0].update(resources=sized("200m")["resources"])),
            waits(3),
            said("Normal Killing a: Container a resize requires restart"),
            shows(
                {
                    "containers.a": "running",
                    "containers.a.restartCount": 1,
                    "containers.a.resources.requests.cpu": "200m",
                }
            ),
        ),
    ),
    Row(
        "a cgroup that cannot be made is told at once",
        "events.tsv FailedCreatePodContainer; P19",
        pod(),
        (
            said(
                "Warning FailedCreatePodContainer: unable to ensure pod container exists: failed to ensure that the pod: u "
                "cgroups exist: EBUSY"
            ),
            shows({"phase": "Pending"}),
        ),
        before=(at_once(without_cgroups),),
    ),
    Row(
        "a pod that fails at its deadline still says why an init container could not start",
        "kubelet_pods.go, convertToAPIContainerStatuses",
        pod(initContainers=[c("i"), c("j", image="example.com/x:1")], activeDeadlineSeconds=20),
        (ends("i", 0), waits(25), shows({"phase": "Failed", "init.j": "waiting ImagePullBackOff"})),
    ),
    Row(
        "a postStart hook runs once the container does",
        HOOKS,
        pod(c("a", lifecycle=hook("true"))),
        (asked("StartContainer a", "ExecSync a true"), shows({"phase": "Running"}), not_said("FailedPostStartHook")),
    ),
    Row(
        "a postStart hook that fails has the container killed",
        HOOKS,
        pod(c("a", lifecycle=hook("false")), restartPolicy="Never"),
        (
            said(
                "Normal Started a",
                "Warning FailedPostStartHook a: PostStartHook failed",
                "Normal Killing a: FailedPostStartHook",
            ),
            asked("ExecSync a false", "StopContainer a 30"),
        ),
    ),
    Row(
        "a pod of which the runtime does not tell the state goes on as it was, and an event says so",
        "pod_workers.go, podWorkerLoop; pleg/generic.go, updateCache",
        pod(),
        (
            fails("ContainerStatus", "no such snapshot"),
            at_once(lambda on: on.fake.finish(on.container("a").id, 1)),
            waits(8),
            not_said("FailedSync"),
            waits(30),
            said(
                "Warning FailedSync: error determining status: rpc error: code = Unknown desc = no such snapshot",
                "Warning FailedSync",
            ),
            shows({"phase": "Running", "containers.a": "running"}),
            asked_times("CreateContainer a", 1),
            works("ContainerStatus"),
            waits(5),
            shows({"phase": "Running", "containers.a.lastState": "terminated 1 Error"}),
            asked_times("CreateContainer a", 2),
        ),
    ),
]

test_the_agent_does_what_the_kubelet_documents = documented(ROWS)
