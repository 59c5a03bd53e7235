"""The end of a pod: grace, hooks, order, what is left at the API server."""

from __future__ import annotations

from .row import (
    Row,
    Situation,
    asked,
    asked_times,
    at_once,
    c,
    deleted,
    ends,
    fails,
    gone,
    holds,
    not_asked,
    not_said,
    pod,
    said,
    shows,
    waits,
    works,
)
from .table import documented

GRACE = "subsystems 8.5, 62; API, terminationGracePeriodSeconds"


def withdraw(on: Situation) -> None:
    """Deleted with grace 0: the server forgets it at once."""
    on.store.remove("p")
    on.node.tell_pod("u")


def sleep(seconds: int) -> dict[str, object]:
    return {"preStop": {"sleep": {"seconds": seconds}}}


def exec_hook(*argv: str) -> dict[str, object]:
    return {"preStop": {"exec": {"command": list(argv)}}}


ROWS = [
    Row(
        "a deleted pod is stopped, its sandbox too, and the server forgets it",
        GRACE,
        pod(),
        (
            deleted(),
            waits(2),
            said("Normal Killing a: Stopping container a"),
            asked("StopContainer a 30", "StopPodSandbox"),
            gone(),
        ),
    ),
    Row(
        "the grace is that of the deletion",
        GRACE,
        pod(),
        (deleted(7), asked("StopContainer a 7")),
    ),
    Row(
        "a grace of 1 s reaches the runtime as 2",
        "subsystems 8.5: the minimum passed to StopContainer is 2 s",
        pod(),
        (deleted(1), asked("StopContainer a 2")),
    ),
    Row(
        "a container that ignores SIGTERM is killed when its grace is over",
        GRACE,
        pod(c("a", "serve")),
        (
            deleted(10),
            shows({"phase": "Running", "containers.a": "running"}),
            waits(10),
            gone(),
            shows({"containers.a": "terminated 137 Error"}),
        ),
    ),
    Row(
        "a pod that ends is not ready",
        "subsystems 7: readiness goes on; endpoints go by deletionTimestamp",
        pod(c("a", "serve")),
        (deleted(10), shows({"phase": "Running", "containers.a": "running", "conditions.Ready": "True"})),
    ),
    Row(
        "the last status tells how each container ended",
        "subsystems 4.2: final status with exit codes",
        pod(c("a"), c("b", "serve")),
        (
            deleted(5),
            waits(6),
            gone(),
            shows(
                {"containers.a": "terminated 0 Completed", "containers.b": "terminated 137 Error", "phase": "Failed"}
            ),
        ),
    ),
    Row(
        "a pod that ends well on SIGTERM has succeeded",
        "subsystems 6.1: the pod is terminal, all exit 0",
        pod({"name": "a", "image": "busybox"}),
        (deleted(5), waits(2), gone(), shows({"containers.a": "terminated 0 Completed", "phase": "Succeeded"})),
    ),
    Row(
        "the time of a preStop hook is taken off the grace",
        GRACE,
        pod(c("a", lifecycle=sleep(5))),
        (deleted(), not_asked("StopContainer"), waits(4), asked("StopContainer a 25"), gone()),
    ),
    Row(
        "a preStop command runs in the container first",
        GRACE,
        pod(c("a", lifecycle=exec_hook("true"))),
        (deleted(), waits(1), asked("ExecSync a true", "StopContainer a 30"), not_said("FailedPreStopHook")),
    ),
    Row(
        "a preStop command that fails does not keep the pod, an event tells",
        "events.tsv FailedPreStopHook; no output in it",
        pod(c("a", lifecycle=exec_hook("false"))),
        (
            deleted(),
            waits(1),
            said("Normal Killing a", "Warning FailedPreStopHook a: PreStopHook failed"),
            asked("ExecSync a false", "StopContainer a 30"),
            gone(),
        ),
    ),
    Row(
        "a preStop hook that outlives the grace is left behind",
        GRACE,
        pod(c("a", lifecycle=sleep(60)), terminationGracePeriodSeconds=60),
        (
            deleted(4),
            not_asked("StopContainer"),
            waits(4),
            asked("StopContainer a 2"),
            not_said("FailedPreStopHook"),
            gone(),
        ),
    ),
    Row(
        "hooks of all containers run at the same time",
        "subsystems 62",
        pod(c("a", lifecycle=sleep(5)), c("b", lifecycle=sleep(5))),
        (deleted(), waits(4), asked_times("StopContainer", 2), gone()),
    ),
    Row(
        "a preStop hook does not run for a container that ended by itself",
        "API, Lifecycle.preStop",
        pod(c("a", lifecycle=exec_hook("true")), restartPolicy="Never"),
        (ends("a", 0), shows({"phase": "Succeeded"}), not_asked("ExecSync")),
    ),
    Row(
        "a deletion whose grace is shortened ends sooner",
        "subsystems 4: the grace can only shrink",
        pod(c("a", "serve")),
        (deleted(30), waits(2), deleted(5), waits(6), gone()),
    ),
    Row(
        "a deletion whose grace is made longer does not",
        "subsystems 4: the grace can only shrink",
        pod(c("a", "serve")),
        (deleted(5), deleted(60), waits(6), gone()),
    ),
    Row(
        "a pod that the server has forgotten is stopped with its own grace",
        "subsystems 3.1, 4: grace from the spec",
        pod(terminationGracePeriodSeconds=9),
        (at_once(withdraw), waits(3), asked("StopContainer a 9", "StopPodSandbox")),
    ),
    Row(
        "a pod that was never started is only forgotten",
        "subsystems 4.2",
        pod(nodeName="node-1"),
        (deleted(5), waits(3), gone()),
    ),
    Row(
        "a container in a crash loop needs no stop",
        GRACE,
        pod(),
        (ends("a", 1), ends("a", 1), deleted(), waits(1), not_asked("StopContainer"), asked("StopPodSandbox"), gone()),
    ),
    Row(
        "a deleted pod is not restarted",
        "subsystems 8.2: deleted pods never",
        pod(c("a", "serve"), c("b", "serve")),
        (deleted(20), ends("b", 1), asked_times("CreateContainer b", 1)),
    ),
    Row(
        "a runtime that cannot stop a container is told of, and asked again",
        "events.tsv FailedKillPod; subsystems 4.2",
        pod(),
        (
            fails("StopContainer", "shim is stuck", times=1),
            deleted(5),
            waits(20),
            said(
                'Warning FailedKillPod: error killing pod: failed to "KillContainer" for "a" with KillContainerError: '
                '"rpc error: code = Unknown desc = shim is stuck"'
            ),
            gone(),
        ),
    ),
    Row(
        "a runtime that cannot stop the sandbox is told of, and asked again",
        "events.tsv FailedKillPod",
        pod(),
        (
            fails("StopPodSandbox", "network is stuck", times=1),
            deleted(5),
            waits(20),
            said(
                'Warning FailedKillPod: error killing pod: failed to "KillPodSandbox" for "u" with '
                'KillPodSandboxError: "rpc error: code = Unknown desc = network is stuck"'
            ),
            gone(),
        ),
    ),
    Row(
        "the pod stays at the server while the runtime cannot stop it",
        "subsystems 6: deleted once the terminated step is done",
        pod(),
        (
            fails("StopContainer", "shim is stuck"),
            fails("StopPodSandbox", "shim is stuck"),
            deleted(5),
            waits(60),
            shows({"phase": "Running"}),
            works("StopContainer"),
            works("StopPodSandbox"),
            waits(20),
            gone(),
        ),
    ),
    Row(
        "a container that the runtime does not know any more counts as stopped",
        "subsystems 8.5: NotFound counts as stopped",
        pod(),
        (
            fails("StopContainer", "not found", error="NOT_FOUND", times=1),
            deleted(),
            waits(3),
            not_said("FailedKillPod"),
        ),
    ),
    Row(
        "the deletion's DELETE has grace 0 and the UID as precondition",
        "subsystems 6",
        pod(),
        (
            deleted(),
            waits(2),
            holds(
                "DELETE",
                lambda on: [body["preconditions"]["uid"] for body in on.store.sent("DELETE")] == ["u"],
            ),
        ),
    ),
    Row(
        "a terminated pod keeps its addresses in the last status",
        "subsystems 4.2",
        pod(restartPolicy="Never"),
        (ends("a", 0), shows({"phase": "Succeeded", "podIP": "10.88.0.3", "podIPs.0.ip": "10.88.0.3"})),
    ),
    Row(
        "a finished pod that is deleted goes at once",
        "subsystems 6",
        pod(restartPolicy="Never"),
        (ends("a", 0), waits(1), deleted(30), gone()),
    ),
    Row(
        "activeDeadlineSeconds fails the pod",
        "subsystems 6.1; events.tsv DeadlineExceeded",
        pod(activeDeadlineSeconds=10),
        (
            waits(5),
            shows({"phase": "Running"}),
            waits(5),
            shows(
                {
                    "phase": "Failed",
                    "reason": "DeadlineExceeded",
                    "message": "Pod was active on the node longer than the specified deadline",
                    "containers.a": "terminated 0 Completed",
                    "conditions.Ready.reason": "PodFailed",
                    "conditions.DisruptionTarget": None,
                }
            ),
            said(
                "Normal DeadlineExceeded: Pod was active on the node longer than the specified deadline",
                "Normal Killing a: Stopping container a",
            ),
        ),
    ),
    Row(
        "the deadline counts while init containers run",
        "subsystems 6.1: from status.startTime",
        pod(initContainers=[c("i")], activeDeadlineSeconds=8),
        (waits(8), shows({"phase": "Failed", "reason": "DeadlineExceeded"}), not_asked("CreateContainer a")),
    ),
    Row(
        "a pod that succeeds before its deadline has succeeded",
        "subsystems 6.1",
        pod(restartPolicy="Never", activeDeadlineSeconds=20),
        (ends("a", 0), waits(30), shows({"phase": "Succeeded", "reason": None})),
    ),
]

test_the_agent_does_what_the_kubelet_documents = documented(ROWS)
