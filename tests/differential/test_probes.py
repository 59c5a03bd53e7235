"""Probes of each kind, their answers, and what follows."""

from __future__ import annotations

import re
from typing import Any

from proto import cri_pb2 as cri

from .row import (
    Row,
    Situation,
    Step,
    asked,
    asked_times,
    at_once,
    c,
    ends,
    fails,
    not_asked,
    not_said,
    pod,
    said,
    shows,
    sidecar,
    waits,
)
from .table import documented

PROBES = "subsystems 7; API, Probe"
EVENTS = "events.tsv Unhealthy; prober texts"
CLOSED = 9  # nobody listens there


def probe(*argv: str, **more: Any) -> dict[str, Any]:
    return {"exec": {"command": list(argv)}, "periodSeconds": 1, "timeoutSeconds": 1, **more}


def tcp(port: int, **more: Any) -> dict[str, Any]:
    return {"tcpSocket": {"port": port, "host": "127.0.0.1"}, "periodSeconds": 1, **more}


def http(port: int, **more: Any) -> dict[str, Any]:
    return {"httpGet": {"port": port, "host": "127.0.0.1", "path": "/x"}, "periodSeconds": 1, **more}


def answers(code: int, output: str = "") -> Step:
    """Each command in a container ends like this from now on."""

    def change(on: Situation) -> None:
        async def do_ExecSync(request: cri.ExecSyncRequest) -> cri.ExecSyncResponse:
            return cri.ExecSyncResponse(stdout=output.encode(), exit_code=code)

        setattr(on.fake, "do_ExecSync", do_ExecSync)  # noqa: B010 - a method of the fake's

    return at_once(change)


ROWS = [
    Row(
        "a container with a readiness probe is not ready before it has passed",
        PROBES,
        pod(c("a", readinessProbe=probe("false"))),
        (
            shows(
                {
                    "phase": "Running",
                    "containers.a": "running",
                    "containers.a.ready": False,
                    "containers.a.started": True,
                    "conditions.Ready": "False",
                    "conditions.Ready.reason": "ContainersNotReady",
                    "conditions.Ready.message": "containers with unready status: [a]",
                    "conditions.ContainersReady.message": "containers with unready status: [a]",
                }
            ),
            said("Warning Unhealthy a: Readiness probe failed: "),
            not_asked("StopContainer"),
        ),
    ),
    Row(
        "a readiness probe that passes makes the pod ready",
        PROBES,
        pod(c("a", readinessProbe=probe("true"))),
        (shows({"containers.a.ready": True, "conditions.Ready": "True"}), not_said("Unhealthy")),
    ),
    Row(
        "readiness is lost after failureThreshold failures, and comes back",
        PROBES,
        pod(c("a", readinessProbe=probe("true", failureThreshold=3))),
        (
            answers(1, "no"),
            waits(1.5),
            shows({"conditions.Ready": "True"}),
            waits(3),
            shows({"conditions.Ready": "False", "containers.a.restartCount": 0}),
            said("Warning Unhealthy a: Readiness probe failed: no"),
            answers(0),
            waits(2.5),
            shows({"conditions.Ready": "True"}),
        ),
    ),
    Row(
        "readiness needs successThreshold successes in a row",
        PROBES,
        pod(c("a", readinessProbe=probe("true", successThreshold=6))),
        (shows({"conditions.Ready": "False"}), waits(4), shows({"conditions.Ready": "True"})),
    ),
    Row(
        "no probe runs before initialDelaySeconds",
        PROBES,
        pod(c("a", readinessProbe=probe("true", initialDelaySeconds=6))),
        (
            not_asked("ExecSync"),
            shows({"containers.a.ready": False}),
            waits(6),
            asked("ExecSync a true"),
            shows({"containers.a.ready": True}),
        ),
    ),
    Row(
        "each failure has an event with the output",
        EVENTS,
        pod(c("a", readinessProbe=probe("sh", "-c", "echo down; exit 1"))),
        (
            said(
                re.compile(r"Warning Unhealthy a: Readiness probe failed: down\n?"),
                re.compile(r"Warning Unhealthy a: Readiness probe failed: down\n?"),
            ),
        ),
    ),
    Row(
        "a liveness probe that fails has the container restarted",
        PROBES,
        pod(c("a", livenessProbe=probe("true", failureThreshold=2))),
        (
            answers(1, "dead"),
            waits(3),
            said(
                "Warning Unhealthy a: Liveness probe failed: dead",
                "Warning Unhealthy a: Liveness probe failed: dead",
                "Normal Killing a: Container a failed liveness probe, will be restarted",
                "Normal Started a",
            ),
            asked("StopContainer a 30", "CreateContainer a"),
            shows({"containers.a.restartCount": frozenset([1, 2])}),
        ),
    ),
    Row(
        "a liveness probe is not to blame before its threshold",
        PROBES,
        pod(c("a", livenessProbe=probe("true", failureThreshold=5))),
        (
            answers(1),
            waits(3),
            answers(0),
            waits(6),
            not_asked("StopContainer"),
            shows({"containers.a.restartCount": 0}),
        ),
    ),
    Row(
        "with Never a container that fails its liveness probe is stopped for good",
        "subsystems 8.2",
        pod(c("a", livenessProbe=probe("false", failureThreshold=1)), restartPolicy="Never"),
        (
            waits(3),
            said("Normal Killing a: Container a failed liveness probe"),
            shows({"phase": "Succeeded", "containers.a": "terminated 0 Completed"}),
            asked_times("CreateContainer a", 1),
        ),
    ),
    Row(
        "a probe's own grace replaces the pod's for its kill",
        "API, Probe.terminationGracePeriodSeconds",
        pod(c("a", livenessProbe=probe("false", failureThreshold=1, terminationGracePeriodSeconds=4))),
        (waits(2), asked("StopContainer a 4")),
    ),
    Row(
        "the first restarts after a liveness probe are immediate, as the pause counts from the end before",
        "kuberuntime doBackOff: the newest instance that had ended before the kill; P25",
        pod(c("a", livenessProbe=probe("false", failureThreshold=1, initialDelaySeconds=11))),
        (waits(30), shows({"containers.a.restartCount": frozenset([2, 3])}), not_said("BackOff")),
    ),
    Row(
        "a liveness loop backs off once runs are shorter than the pause",
        "kuberuntime doBackOff; P25",
        pod(c("a", livenessProbe=probe("false", failureThreshold=1, initialDelaySeconds=11))),
        (waits(52), shows({"containers.a": "waiting CrashLoopBackOff"}), said("Warning BackOff a")),
    ),
    Row(
        "a startup probe holds back the others",
        PROBES,
        pod(
            c(
                "a",
                startupProbe=probe("false", failureThreshold=100),
                livenessProbe=probe("sh", "-c", "exit 1", failureThreshold=1),
                readinessProbe=probe("true"),
            )
        ),
        (
            waits(5),
            shows({"containers.a.started": False, "containers.a.ready": False, "phase": "Running"}),
            said("Warning Unhealthy a: Startup probe failed: "),
            not_asked("ExecSync a true", "ExecSync a sh", "StopContainer"),
        ),
    ),
    Row(
        "a startup probe that passes is not run again",
        PROBES,
        pod(c("a", startupProbe=probe("true"), readinessProbe=probe("sh", "-c", "exit 0"))),
        (
            waits(5),
            asked_times("ExecSync a true", 1),
            shows({"containers.a.started": True, "containers.a.ready": True}),
        ),
    ),
    Row(
        "a startup probe that fails for good has the container restarted",
        PROBES,
        pod(c("a", startupProbe=probe("false", failureThreshold=2))),
        (
            waits(3),
            said(
                "Warning Unhealthy a: Startup probe failed: ",
                "Normal Killing a: Container a failed startup probe, will be restarted",
            ),
            shows({"containers.a.started": False}),
        ),
    ),
    Row(
        "a container is started at once when it has no startup probe",
        PROBES,
        pod(c("a", livenessProbe=probe("true", initialDelaySeconds=60))),
        (shows({"containers.a.started": True, "containers.a.ready": True}),),
    ),
    Row(
        "a command that outlives its timeout is a failure",
        EVENTS,
        pod(c("a", readinessProbe=probe("sleep", "30"))),
        (
            waits(2),
            shows({"containers.a.ready": False}),
            said('Warning Unhealthy a: Readiness probe failed: command timed out: "sleep 30" timed out after 1s'),
        ),
    ),
    Row(
        "a command that cannot be run says nothing of the container",
        "subsystems 7: an error in all tries leaves the result as it is; P10",
        pod(c("a", livenessProbe=probe("/missing", failureThreshold=1))),
        (
            waits(5),
            not_asked("StopContainer"),
            said(
                re.compile(
                    "Warning Unhealthy a: Liveness probe errored and resulted in unknown state: rpc error: "
                    "code = Unknown desc = failed to exec.*"
                )
            ),
            shows({"containers.a.restartCount": 0, "containers.a.ready": True}),
        ),
    ),
    Row(
        "a probe that errs is tried three times at once",
        "subsystems 7",
        pod(c("a", livenessProbe=probe("true", periodSeconds=60))),
        (waits(60), asked_times("ExecSync", 3), not_said("Unhealthy")),
        before=(fails("ExecSync", "shim is gone", times=2),),
    ),
    Row(
        "liveness begins at the next tick of its period, readiness with the container",
        "subsystems 7: each probe ticks from the time that its pod is added",
        pod(
            c(
                "a",
                livenessProbe=probe("true", periodSeconds=60),
                readinessProbe=probe("sh", "-c", "exit 0", periodSeconds=60),
            )
        ),
        (
            asked("ExecSync a sh -c exit 0"),
            not_asked("ExecSync a true"),
            shows({"containers.a.ready": True}),
            waits(60),
            asked("ExecSync a true"),
        ),
    ),
    Row(
        "a tcpSocket probe whose port is closed fails",
        EVENTS,
        pod(c("a", readinessProbe=tcp(CLOSED))),
        (
            shows({"containers.a.ready": False}),
            said(
                f"Warning Unhealthy a: Readiness probe failed: dial tcp 127.0.0.1:{CLOSED}: connect: connection refused"
            ),
        ),
    ),
    Row(
        "an httpGet probe whose port is closed fails",
        EVENTS,
        pod(c("a", readinessProbe=http(CLOSED))),
        (
            shows({"containers.a.ready": False}),
            said(
                f'Warning Unhealthy a: Readiness probe failed: Get "http://127.0.0.1:{CLOSED}/x": dial tcp '
                f"127.0.0.1:{CLOSED}: connect: connection refused"
            ),
        ),
    ),
    Row(
        "an httpGet probe by a port's name finds it",
        "API, HTTPGetAction.port",
        pod(
            c(
                "a",
                ports=[{"name": "web", "containerPort": CLOSED}],
                readinessProbe={"httpGet": {"port": "web", "host": "127.0.0.1", "path": "/"}, "periodSeconds": 1},
            )
        ),
        (said(re.compile(f'Warning Unhealthy a: Readiness probe failed: Get "http://127.0.0.1:{CLOSED}/".*')),),
    ),
    Row(
        "a restarted container is probed again",
        PROBES,
        pod(c("a", readinessProbe=probe("true", initialDelaySeconds=2))),
        (
            waits(3),
            shows({"conditions.Ready": "True"}),
            ends("a", 1),
            shows({"containers.a": "running"}),
            waits(4),
            shows({"conditions.Ready": "True"}),
        ),
    ),
    Row(
        "readiness gates count",
        "KEP-580; subsystems 6.2",
        pod(readinessGates=[{"conditionType": "example.com/ready"}]),
        (
            shows(
                {
                    "conditions.ContainersReady": "True",
                    "conditions.Ready": "False",
                    "conditions.Ready.reason": "ReadinessGatesNotReady",
                    "conditions.Ready.message": 'corresponding condition of pod readiness gate "example.com/ready" '
                    "does not exist.",
                }
            ),
        ),
    ),
    Row(
        "plain init containers have no probes",
        PROBES,
        pod(initContainers=[c("i"), sidecar("s", livenessProbe=probe("true"))]),
        (ends("i"), waits(2), asked("ExecSync s true")),
    ),
]

test_the_agent_does_what_the_kubelet_documents = documented(ROWS)
