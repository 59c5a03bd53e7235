"""Restart policies and exit codes, of pods and of containers."""

from __future__ import annotations

from typing import Any

from .row import (
    FOREVER,
    Row,
    asked,
    asked_times,
    c,
    changed,
    does,
    ends,
    not_asked,
    not_said,
    pod,
    said,
    said_times,
    shows,
    waits,
)
from .table import documented

POLICY = "API, PodSpec.restartPolicy; subsystems 8.2"
PHASE = "subsystems 6.1; pod-lifecycle, pod phase"
BACKOFF = "subsystems 8.4; kuberuntime doBackOff"
RULES = "KEP-5307; subsystems 60"


def rules(action: str, operator: str, *values: int) -> list[dict[str, Any]]:
    return [{"action": action, "exitCodes": {"operator": operator, "values": list(values)}}]


ROWS = [
    Row(
        "a pod comes up",
        "subsystems 6.2, 8.3; events.tsv",
        pod(),
        (
            shows(
                {
                    "phase": "Running",
                    "containers.a": "running",
                    "containers.a.ready": True,
                    "containers.a.started": True,
                    "containers.a.restartCount": 0,
                    "conditions.Ready": "True",
                    "conditions.ContainersReady": "True",
                    "conditions.Initialized": "True",
                    "conditions.PodScheduled": "True",
                    "conditions.PodReadyToStartContainers": "True",
                    "conditions.Ready.observedGeneration": 1,
                    "qosClass": "BestEffort",
                    "hostIP": "192.0.2.1",
                    "observedGeneration": 1,
                }
            ),
            said(
                'Normal Pulled a: Container image "busybox" already present on machine and can be accessed by the pod',
                "Normal Created a: Container created",
                "Normal Started a: Container started",
            ),
            asked("RunPodSandbox 0", "CreateContainer a", "StartContainer a"),
        ),
    ),
    Row(
        "Always restarts a container that ended with 0",
        POLICY,
        pod(),
        (
            ends("a", 0),
            shows(
                {
                    "phase": "Running",
                    "containers.a": "running",
                    "containers.a.restartCount": 1,
                    "containers.a.lastState": "terminated 0 Completed",
                }
            ),
            asked_times("CreateContainer a", 2),
        ),
    ),
    Row(
        "Always restarts a container that failed, the first time at once",
        BACKOFF,
        pod(),
        (
            ends("a", 1),
            shows({"containers.a": "running", "containers.a.lastState": "terminated 1 Error", "phase": "Running"}),
            not_said("BackOff"),
        ),
    ),
    Row(
        "the second crash in a row waits 10 s",
        BACKOFF,
        pod(),
        (
            ends("a", 1),
            ends("a", 1),
            shows(
                {
                    "phase": "Running",
                    "containers.a": "waiting CrashLoopBackOff",
                    "containers.a.state.waiting.message": "back-off 10s restarting failed container=a pod=p_n(u)",
                    "containers.a.lastState": "terminated 1 Error",
                    "containers.a.restartCount": 1,
                    "containers.a.ready": False,
                    "conditions.Ready": "False",
                    "conditions.Ready.reason": "ContainersNotReady",
                    "conditions.Ready.message": "containers with unready status: [a]",
                }
            ),
            said("Warning BackOff a: Back-off restarting failed container a in pod p_n(u)"),
            waits(9),
            shows({"containers.a": "running", "containers.a.restartCount": 2}),
        ),
    ),
    Row(
        "a crash loop that ends with 0 backs off as well",
        BACKOFF,
        pod(),
        (ends("a", 0), ends("a", 0), shows({"containers.a": "waiting CrashLoopBackOff"})),
    ),
    Row(
        "backoffs of minutes are told as Go durations",
        BACKOFF,
        pod(),
        (
            ends("a", 1),
            ends("a", 1),
            waits(10),
            ends("a", 1),
            waits(20),
            ends("a", 1),
            waits(40),
            ends("a", 1),
            shows({"containers.a.state.waiting.message": "back-off 1m20s restarting failed container=a pod=p_n(u)"}),
        ),
    ),
    Row(
        "the longest backoff is 5m0s",
        BACKOFF,
        pod(),
        (
            ends("a", 1),
            ends("a", 1),
            waits(10),
            ends("a", 1),
            waits(20),
            ends("a", 1),
            waits(40),
            ends("a", 1),
            waits(80),
            ends("a", 1),
            waits(160),
            ends("a", 1),
            shows(
                {
                    "containers.a.state.waiting.message": "back-off 5m0s restarting failed container=a pod=p_n(u)",
                    "containers.a.restartCount": 6,
                }
            ),
        ),
    ),
    Row(
        "a long run forgets the crashes before it",
        "subsystems 8.4: reset after 600 s",
        pod(),
        (ends("a", 1), waits(620), ends("a", 1), shows({"containers.a": "running", "containers.a.restartCount": 2})),
    ),
    Row(
        "a container is told of each time that it begins to wait, for the correlation to count",
        "subsystems 8.4; kuberuntime doBackOff; docs/differences.md: not with each sync",
        pod(c("a"), c("b")),
        (
            ends("a", 1),
            ends("a", 1),
            ends("b", 0),
            waits(10),
            ends("a", 1),
            said("Warning BackOff a", "Warning BackOff a"),
        ),
    ),
    Row(
        "Never leaves a container that failed, and the pod fails",
        PHASE,
        pod(restartPolicy="Never"),
        (
            ends("a", 3),
            shows(
                {
                    "phase": "Failed",
                    "containers.a": "terminated 3 Error",
                    "containers.a.restartCount": 0,
                    "containers.a.ready": False,
                    "conditions.Ready": "False",
                    "conditions.Ready.reason": "PodFailed",
                    "conditions.ContainersReady.reason": "PodFailed",
                    "conditions.Initialized": "True",
                    "conditions.PodReadyToStartContainers": "False",
                    "reason": None,
                }
            ),
            asked("StopPodSandbox"),
            asked_times("CreateContainer a", 1),
        ),
    ),
    Row(
        "Never and 0 succeeds",
        PHASE,
        pod(restartPolicy="Never"),
        (
            ends("a", 0),
            shows(
                {
                    "phase": "Succeeded",
                    "containers.a": "terminated 0 Completed",
                    "containers.a.started": False,
                    "conditions.Ready": "False",
                    "conditions.Ready.reason": "PodCompleted",
                    "conditions.ContainersReady": "False",
                    "conditions.ContainersReady.reason": "PodCompleted",
                    "conditions.Initialized": "True",
                    "conditions.Initialized.reason": "PodCompleted",
                }
            ),
        ),
    ),
    Row(
        "Never with one of two ended still runs",
        PHASE,
        pod(c("a"), c("b"), restartPolicy="Never"),
        (
            ends("a", 1),
            shows(
                {
                    "phase": "Running",
                    "containers.a": "terminated 1 Error",
                    "containers.b": "running",
                    "conditions.Ready": "False",
                    "conditions.Ready.message": "containers with unready status: [a]",
                }
            ),
            not_asked("StopPodSandbox"),
        ),
    ),
    Row(
        "Never: one that failed fails the pod, whatever the other does",
        PHASE,
        pod(c("a"), c("b"), restartPolicy="Never"),
        (ends("a", 1), ends("b", 0), shows({"phase": "Failed", "containers.b": "terminated 0 Completed"})),
    ),
    Row(
        "OnFailure leaves a container that ended with 0",
        POLICY,
        pod(c("a"), c("b"), restartPolicy="OnFailure"),
        (
            ends("a", 0),
            shows({"phase": "Running", "containers.a": "terminated 0 Completed", "containers.b": "running"}),
            asked_times("CreateContainer a", 1),
        ),
    ),
    Row(
        "OnFailure restarts a container that failed",
        POLICY,
        pod(restartPolicy="OnFailure"),
        (ends("a", 1), shows({"phase": "Running", "containers.a": "running", "containers.a.restartCount": 1})),
    ),
    Row(
        "OnFailure succeeds once all have",
        PHASE,
        pod(c("a"), c("b"), restartPolicy="OnFailure"),
        (ends("a", 0), ends("b", 1), ends("b", 0), shows({"phase": "Succeeded", "containers.b.restartCount": 1})),
    ),
    Row(
        "a container that was killed for memory says so",
        "subsystems 55",
        pod(restartPolicy="Never"),
        (ends("a", 137, "OOMKilled"), shows({"containers.a": "terminated 137 OOMKilled", "phase": "Failed"})),
    ),
    Row(
        "a crash loop keeps the reason of the last end",
        "subsystems 6.3",
        pod(),
        (
            ends("a", 1),
            ends("a", 137, "OOMKilled"),
            shows({"containers.a": "waiting CrashLoopBackOff", "containers.a.lastState": "terminated 137 OOMKilled"}),
        ),
    ),
    Row(
        "another image ends the container, and no backoff delays the new one",
        "subsystems 8.2 definition change; P9",
        pod(),
        (
            changed(lambda pod: pod["spec"]["containers"][0].update(image="docker.io/library/busybox:latest")),
            said("Normal Killing a: Container a definition changed, will be restarted"),
            shows({"containers.a": "running", "containers.a.restartCount": 1, "observedGeneration": 2}),
            asked("StopContainer a 30", "CreateContainer a"),
        ),
    ),
    Row(
        "an image that is mended in a crash loop starts at once",
        "subsystems 8.4: the key has the image",
        pod(),
        (
            ends("a", 1),
            ends("a", 1),
            waits(10),
            ends("a", 1),
            shows({"containers.a": "waiting CrashLoopBackOff"}),
            changed(lambda pod: pod["spec"]["containers"][0].update(image="docker.io/library/busybox:latest")),
            shows({"containers.a": "running"}),
        ),
    ),
    Row(
        "another label changes nothing in the runtime",
        "subsystems 8.2: the hash covers name and image",
        pod(),
        (
            changed(lambda pod: pod["metadata"].update(labels={"x": "y"})),
            not_asked("StopContainer"),
            asked_times("CreateContainer", 1),
            shows({"observedGeneration": 2, "conditions.Ready.observedGeneration": 2}),
        ),
    ),
    Row(
        "a container's own policy Never wins over the pod's Always",
        RULES,
        pod(c("a", FOREVER, restartPolicy="Never"), c("b")),
        (
            ends("a", 1),
            shows({"phase": "Running", "containers.a": "terminated 1 Error"}),
            asked_times("CreateContainer a", 1),
        ),
    ),
    Row(
        "a container's own policy OnFailure wins over the pod's Never",
        RULES,
        pod(c("a", FOREVER, restartPolicy="OnFailure"), restartPolicy="Never"),
        (
            ends("a", 1),
            shows({"phase": "Running", "containers.a": "running", "containers.a.restartCount": 1}),
            ends("a", 0),
            shows({"phase": "Succeeded"}),
        ),
    ),
    Row(
        "a rule restarts on an exit code that it lists",
        RULES,
        pod(
            c("a", FOREVER, restartPolicy="Never", restartPolicyRules=rules("Restart", "In", 42)),
            restartPolicy="Never",
        ),
        (ends("a", 42), shows({"phase": "Running", "containers.a": "running", "containers.a.restartCount": 1})),
    ),
    Row(
        "an exit code that no rule lists falls back on the container's policy",
        RULES,
        pod(
            c("a", FOREVER, restartPolicy="Never", restartPolicyRules=rules("Restart", "In", 42)),
            restartPolicy="Never",
        ),
        (ends("a", 1), shows({"phase": "Failed", "containers.a": "terminated 1 Error"})),
    ),
    Row(
        "NotIn restarts on any other exit code",
        RULES,
        pod(
            c("a", FOREVER, restartPolicy="Never", restartPolicyRules=rules("Restart", "NotIn", 42)),
            restartPolicy="Never",
        ),
        (
            ends("a", 1),
            shows({"containers.a": "running", "containers.a.restartCount": 1}),
            ends("a", 42),
            shows({"phase": "Failed"}),
        ),
    ),
    Row(
        "a restart by a rule backs off as any other",
        RULES,
        pod(
            c("a", FOREVER, restartPolicy="Never", restartPolicyRules=rules("Restart", "In", 42)),
            restartPolicy="Never",
        ),
        (ends("a", 42), ends("a", 42), shows({"phase": "Running", "containers.a": "waiting CrashLoopBackOff"})),
    ),
    Row(
        "a container that ended outside of any policy is not told of as backed off",
        POLICY,
        pod(restartPolicy="Never"),
        (ends("a", 1), waits(30), not_said("BackOff"), asked_times("StartContainer", 1)),
    ),
    Row(
        "a pod that is over stays as it is",
        "subsystems 6.1: a terminal phase never changes back",
        pod(restartPolicy="Never"),
        (ends("a", 0), waits(200), shows({"phase": "Succeeded"}), asked_times("RunPodSandbox", 1)),
    ),
    Row(
        "a sandbox that was lost is made again, with its containers",
        "subsystems 8.1",
        pod(),
        (
            does(lambda on: on.fake.lose_sandbox(on.sandbox().id)),
            said(
                "Normal SandboxChanged: Pod sandbox changed, it will be killed and re-created.",
                "Normal Killing a: Stopping container a",
                "Normal Created a",
                "Normal Started a",
            ),
            asked("StopContainer a 30", "StopPodSandbox", "RunPodSandbox 1", "CreateContainer a"),
            shows({"phase": "Running", "containers.a": "running", "containers.a.restartCount": 1}),
        ),
    ),
    Row(
        "with Never a lost sandbox ends the pod",
        "subsystems 8.1: no container may restart",
        pod(restartPolicy="Never"),
        (
            does(lambda on: on.fake.lose_sandbox(on.sandbox().id)),
            waits(30),
            asked_times("RunPodSandbox", 1),
            shows({"phase": frozenset(["Failed", "Succeeded"])}),
        ),
    ),
    Row(
        "a container that must run once does not run again beside one that its own policy restarts",
        "the API server: a terminated container may not leave that state where no policy restarts it",
        pod(c("a"), c("b", restartPolicy="Always"), restartPolicy="Never"),
        (
            does(lambda on: on.fake.lose_sandbox(on.sandbox().id)),
            waits(30),
            asked_times("CreateContainer a", 1),
            asked_times("CreateContainer b", 2),
            shows({"phase": "Running", "containers.a": "terminated 0 Completed", "containers.b": "running"}),
        ),
        known="the kubelet leaves the pod without a sandbox",
    ),
    Row(
        "with OnFailure, containers that succeeded before a lost sandbox do not run again",
        "subsystems 8.1",
        pod(c("a"), c("b"), restartPolicy="OnFailure"),
        (
            ends("a", 0),
            does(lambda on: on.fake.lose_sandbox(on.sandbox().id)),
            asked_times("CreateContainer a", 1),
            asked_times("CreateContainer b", 2),
            shows({"containers.a": "terminated 0 Completed", "containers.b": "running"}),
        ),
    ),
    Row(
        "a container that has succeeded does not run again when another program removes its records",
        "the API server: a terminated container may not leave that state where no policy restarts it",
        pod(c("a"), c("b"), restartPolicy="OnFailure"),
        (
            ends("a", 0),
            shows({"containers.a": "terminated 0 Completed"}),
            does(lambda on: on.fake.world.containers.pop(on.container("a").id)),
            waits(30),
            asked_times("CreateContainer a", 1),
            shows({"containers.a": "terminated 0 Completed", "containers.b": "running"}),
        ),
        known="the kubelet starts it again, and the API server refuses its status",
    ),
    Row(
        "two containers back off apart",
        BACKOFF,
        pod(c("a"), c("b")),
        (
            ends("a", 1),
            ends("a", 1),
            ends("b", 1),
            shows({"containers.a": "waiting CrashLoopBackOff", "containers.b": "running"}),
            said_times("Warning BackOff b", 0),
        ),
    ),
]

test_the_agent_does_what_the_kubelet_documents = documented(ROWS)
