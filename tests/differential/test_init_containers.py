"""Init containers and sidecars."""

from __future__ import annotations

from .row import (
    Row,
    asked,
    asked_times,
    c,
    deleted,
    does,
    ends,
    gone,
    holds,
    not_asked,
    pod,
    said,
    shows,
    sidecar,
    waits,
)
from .table import documented

INIT = "pod-lifecycle, init containers; subsystems 8.2"
SIDECARS = "KEP-753; subsystems 61"
STATUS = "subsystems 6.1, 6.2, 6.3"

ROWS = [
    Row(
        "an init container runs alone",
        INIT,
        pod(initContainers=[c("i")]),
        (
            shows(
                {
                    "phase": "Pending",
                    "init.i": "running",
                    "init.i.ready": False,
                    "init.i.started": True,
                    "containers.a": "waiting PodInitializing",
                    "containers.a.ready": False,
                    "containers.a.started": False,
                    "conditions.Initialized": "False",
                    "conditions.Initialized.reason": "ContainersNotInitialized",
                    "conditions.Initialized.message": "containers with incomplete status: [i]",
                    "conditions.Ready.reason": "ContainersNotReady",
                    "conditions.PodReadyToStartContainers": "True",
                }
            ),
            not_asked("CreateContainer a"),
        ),
    ),
    Row(
        "the pod goes on once its init container has succeeded",
        INIT,
        pod(initContainers=[c("i")]),
        (
            ends("i", 0),
            shows(
                {
                    "phase": "Running",
                    "init.i": "terminated 0 Completed",
                    "init.i.ready": True,
                    "init.i.started": False,
                    "containers.a": "running",
                    "conditions.Initialized": "True",
                }
            ),
            asked("CreateContainer i", "StartContainer i", "CreateContainer a"),
        ),
    ),
    Row(
        "init containers run one after the other, in their order",
        INIT,
        pod(initContainers=[c("i1"), c("i2")]),
        (
            not_asked("CreateContainer i2"),
            shows(
                {
                    "init.i2": "waiting PodInitializing",
                    "conditions.Initialized.message": "containers with incomplete status: [i1 i2]",
                }
            ),
            ends("i1"),
            not_asked("CreateContainer a"),
            shows({"conditions.Initialized.message": "containers with incomplete status: [i2]"}),
            ends("i2"),
            asked("StartContainer i1", "StartContainer i2", "StartContainer a"),
        ),
    ),
    Row(
        "an init container that fails is run again",
        INIT,
        pod(initContainers=[c("i")]),
        (
            ends("i", 1),
            shows(
                {
                    "phase": "Pending",
                    "init.i": "running",
                    "init.i.restartCount": 1,
                    "init.i.lastState": "terminated 1 Error",
                }
            ),
            ends("i", 1),
            shows(
                {
                    "phase": "Pending",
                    "init.i": "waiting CrashLoopBackOff",
                    "init.i.state.waiting.message": "back-off 10s restarting failed container=i pod=p_n(u)",
                    "containers.a": "waiting PodInitializing",
                }
            ),
            said("Warning BackOff i: Back-off restarting failed container i in pod p_n(u)"),
        ),
    ),
    Row(
        "with OnFailure an init container that fails is run again",
        INIT,
        pod(initContainers=[c("i")], restartPolicy="OnFailure"),
        (ends("i", 1), shows({"init.i": "running", "init.i.restartCount": 1, "phase": "Pending"})),
    ),
    Row(
        "with Never an init container that fails ends the pod",
        INIT,
        pod(initContainers=[c("i")], restartPolicy="Never"),
        (
            ends("i", 2),
            shows(
                {
                    "phase": "Failed",
                    "init.i": "terminated 2 Error",
                    "containers.a": "waiting PodInitializing",
                    "conditions.Initialized": "False",
                    "conditions.Initialized.reason": "ContainersNotInitialized",
                    "conditions.Initialized.message": "containers with incomplete status: [i]",
                    "conditions.Ready.reason": "PodFailed",
                }
            ),
            asked("StopPodSandbox"),
            not_asked("CreateContainer a"),
        ),
    ),
    Row(
        "with Never the second init container is not begun after the first has failed",
        INIT,
        pod(initContainers=[c("i1"), c("i2")], restartPolicy="Never"),
        (
            ends("i1", 1),
            shows({"phase": "Failed", "init.i2": "waiting PodInitializing"}),
            not_asked("CreateContainer i2"),
        ),
    ),
    Row(
        "an init container is not run again when an app container is",
        INIT,
        pod(initContainers=[c("i")]),
        (ends("i"), ends("a", 1), shows({"containers.a": "running"}), asked_times("CreateContainer i", 1)),
    ),
    Row(
        "an init container that ended stays ended for a day",
        "subsystems 6.3: reported Completed when its container is gone",
        pod(initContainers=[c("i")]),
        (
            ends("i"),
            does(lambda on: on.fake.world.containers.pop(on.container("i").id)),
            shows({"init.i": "terminated 0 Completed", "init.i.ready": True, "phase": "Running"}),
            holds("its end is the reported one", lambda on: "containerID" in on.status()["initContainerStatuses"][0]),
            asked_times("CreateContainer i", 1),
        ),
    ),
    Row(
        "init containers run again in a new sandbox",
        "subsystems 8.2",
        pod(initContainers=[c("i", "exit 0")]),
        (
            does(lambda on: on.fake.lose_sandbox(on.sandbox().id)),
            waits(3),
            asked("StartContainer a", "RunPodSandbox 1", "StartContainer i", "StartContainer a"),
            shows({"phase": "Running", "init.i.restartCount": 1, "containers.a.restartCount": 1}),
        ),
    ),
    Row(
        "an init container's own policy OnFailure wins over the pod's Never",
        "KEP-5307",
        pod(initContainers=[c("i", restartPolicy="OnFailure")], restartPolicy="Never"),
        (ends("i", 1), shows({"phase": "Pending", "init.i": "running", "init.i.restartCount": 1})),
    ),
    Row(
        "an init container's own policy Never wins over the pod's Always",
        "KEP-5307",
        pod(initContainers=[c("i", restartPolicy="Never")]),
        (ends("i", 1), shows({"phase": "Failed", "init.i": "terminated 1 Error"})),
    ),
    # -- sidecars -----------------------------------------------------------------------------------------------------
    Row(
        "a sidecar starts before the app, which does not wait for its end",
        SIDECARS,
        pod(initContainers=[sidecar()]),
        (
            asked("StartContainer s", "StartContainer a"),
            shows(
                {
                    "phase": "Running",
                    "init.s": "running",
                    "init.s.started": True,
                    "init.s.ready": True,
                    "containers.a": "running",
                    "conditions.Initialized": "True",
                    "conditions.Ready": "True",
                }
            ),
        ),
    ),
    Row(
        "an init container behind a sidecar runs beside it",
        SIDECARS,
        pod(initContainers=[sidecar(), c("i")]),
        (
            shows(
                {
                    "phase": "Pending",
                    "init.s": "running",
                    "init.i": "running",
                    "conditions.Initialized.message": "containers with incomplete status: [i]",
                }
            ),
            ends("i"),
            asked("StartContainer s", "StartContainer i", "StartContainer a"),
        ),
    ),
    Row(
        "a sidecar that ends is started again, with any policy of the pod",
        SIDECARS,
        pod(initContainers=[sidecar()], restartPolicy="Never"),
        (ends("s", 0), shows({"phase": "Running", "init.s": "running", "init.s.restartCount": 1})),
    ),
    Row(
        "a sidecar that ends before the app has begun is started again",
        SIDECARS,
        pod(initContainers=[sidecar(), c("i")]),
        (ends("s", 1), shows({"init.s": "running", "init.s.restartCount": 1, "init.i": "running", "phase": "Pending"})),
    ),
    Row(
        "a sidecar in backoff does not hold up what comes after it",
        "KEP-753; P11",
        pod(initContainers=[sidecar(), c("i")]),
        (
            ends("s", 1),
            ends("s", 1),
            shows({"init.s": "waiting CrashLoopBackOff"}),
            ends("i"),
            shows(
                {
                    "containers.a": "running",
                    "init.s": "waiting CrashLoopBackOff",
                    "phase": "Running",
                    "conditions.Ready": "False",
                    "conditions.Ready.message": "containers with unready status: [s]",
                }
            ),
        ),
    ),
    Row(
        "a pod whose app has ended is over, though its sidecar runs",
        SIDECARS,
        pod(initContainers=[sidecar()], restartPolicy="Never"),
        (
            ends("a", 0),
            shows({"phase": "Succeeded", "containers.a": "terminated 0 Completed"}),
            asked("StopContainer s 30", "StopPodSandbox"),
            said("Normal Killing s: Stopping container s"),
        ),
    ),
    Row(
        "how a sidecar ended does not count for the phase",
        SIDECARS,
        pod(initContainers=[sidecar("s", "serve")], restartPolicy="Never", terminationGracePeriodSeconds=3),
        (ends("a", 0), waits(5), shows({"phase": "Succeeded", "init.s": "terminated 137 Error"})),
    ),
    Row(
        "a sidecar is ready as its probe says, and counts for the pod",
        SIDECARS,
        pod(initContainers=[sidecar(readinessProbe={"exec": {"command": ["false"]}, "periodSeconds": 1})]),
        (
            shows(
                {
                    "phase": "Running",
                    "init.s.ready": False,
                    "containers.a.ready": True,
                    "conditions.Ready": "False",
                    "conditions.ContainersReady.message": "containers with unready status: [s]",
                }
            ),
        ),
    ),
    Row(
        "the app waits for the startup probe of a sidecar",
        SIDECARS,
        pod(
            initContainers=[
                sidecar(startupProbe={"exec": {"command": ["false"]}, "periodSeconds": 1, "failureThreshold": 100})
            ]
        ),
        (
            shows(
                {
                    "phase": "Pending",
                    "init.s": "running",
                    "init.s.started": False,
                    "containers.a": "waiting PodInitializing",
                    "conditions.Initialized.message": "containers with incomplete status: [s]",
                }
            ),
            not_asked("CreateContainer a"),
        ),
    ),
    Row(
        "the app starts once the startup probe of its sidecar has passed",
        SIDECARS,
        pod(initContainers=[sidecar(startupProbe={"exec": {"command": ["true"]}, "periodSeconds": 1})]),
        (shows({"init.s.started": True, "containers.a": "running"}),),
    ),
    Row(
        "a sidecar whose liveness probe fails is restarted, the app goes on",
        SIDECARS,
        pod(
            initContainers=[
                sidecar(livenessProbe={"exec": {"command": ["false"]}, "periodSeconds": 1, "failureThreshold": 1})
            ]
        ),
        (
            said("Normal Killing s: Init container s failed liveness probe"),
            asked_times("CreateContainer a", 1),
        ),
    ),
    Row(
        "sidecars are stopped after the app, the last first",
        "subsystems 61, 62",
        pod(initContainers=[sidecar("s1"), sidecar("s2")]),
        (
            deleted(),
            waits(3),
            asked("StopContainer a 30", "StopContainer s2 30", "StopContainer s1 30", "StopPodSandbox"),
            said("Normal Killing a: Stopping container a"),
            gone(),
        ),
    ),
    Row(
        "the grace of sidecars is what the app has left of it",
        "subsystems 62",
        pod(c("a", "serve"), initContainers=[sidecar()], terminationGracePeriodSeconds=10),
        (deleted(10), waits(12), asked("StopContainer a 10", "StopContainer s 2"), gone()),
    ),
    Row(
        "a sidecar waits for the app no longer than its own grace",
        "kuberuntime, terminationOrdering.waitForTurn; subsystems 8.5",
        pod(
            c("a", "serve", lifecycle={"preStop": {"sleep": {"seconds": 60}}}),
            initContainers=[sidecar("s", "serve")],
            terminationGracePeriodSeconds=5,
        ),
        (deleted(5), waits(3.5), asked("StopContainer s 2"), asked("StopContainer a 2"), waits(4), gone()),
    ),
    Row(
        "hooks of sidecars that do not return cost all containers the same grace, and 2 s more",
        "subsystems 61: minimum 2 s; kuberuntime killContainer",
        pod(
            c("a", "serve", lifecycle={"preStop": {"exec": {"command": ["sleep", "60"]}}}),
            initContainers=[sidecar("s", "serve", lifecycle={"preStop": {"exec": {"command": ["sleep", "60"]}}})],
            terminationGracePeriodSeconds=5,
        ),
        (
            deleted(5),
            waits(3.2),
            asked_times("StopContainer", 2),
            asked_times("StopPodSandbox", 0),
            waits(3),
            asked("StopPodSandbox"),
            gone(),
        ),
    ),
    Row(
        "OnFailure: a pod with a sidecar succeeds when its app does",
        SIDECARS,
        pod(initContainers=[sidecar()], restartPolicy="OnFailure"),
        (ends("a", 0), shows({"phase": "Succeeded"})),
    ),
    Row(
        "a sidecar's postStart is waited for before the next one starts",
        SIDECARS,
        pod(initContainers=[sidecar(lifecycle={"postStart": {"exec": {"command": ["sleep", "4"]}}}), c("i")]),
        (not_asked("CreateContainer i"), waits(2), asked("StartContainer s", "StartContainer i")),
    ),
]

test_the_agent_does_what_the_kubelet_documents = documented(ROWS)
