"""Situations that users of kubelets 1.28 to 1.36 have reported."""

from __future__ import annotations

import copy
import os
import re
from typing import Any

from proto import cri_pb2 as cri
from tests.support.fake_cri import Fault

from .row import (
    FOREVER,
    Row,
    Situation,
    Step,
    asked,
    asked_times,
    at_once,
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
    not_said,
    pod,
    said,
    shows,
    sidecar,
    waits,
)
from .table import documented

INITIALIZED = "pod-lifecycle, termination: what never started is told as ContainerStatusUnknown"
CORES = len(os.sched_getaffinity(0))


def issue(number: int) -> str:
    return f"kubernetes/kubernetes #{number}"


def probe(*command: str, **more: Any) -> dict[str, Any]:
    return {"exec": {"command": list(command)}, "periodSeconds": 1, **more}


def with_debug(name: str = "d", **more: Any) -> Step:
    return changed(lambda found: found["spec"].update(ephemeralContainers=[c(name, "serve", **more)]))


def removed_by_force() -> Step:
    """Somebody deletes it with a grace of 0: the API server has it no more."""

    def remove(on: Situation) -> None:
        on.store.remove("p")
        on.node.tell_pod("u")

    return does(remove)


def fallen() -> Step:
    """Container a ends with 1, and is not to be waited for."""
    return at_once(lambda on: on.fake.finish(on.container("a").id, 1))


def rule(action: str, *codes: int) -> dict[str, Any]:
    return {"action": action, "exitCodes": {"operator": "In", "values": list(codes)}}


def other(cpu: str) -> Step:
    def put(on: Situation) -> None:
        one = pod(c("o", resources={"requests": {"cpu": cpu}}))
        one["metadata"] |= {"name": "other", "uid": "o"}
        on.node.put(one)

    return does(put)


def edited_status(change: Any) -> Step:
    def put(on: Situation) -> None:
        found = copy.deepcopy(on.pod())
        change(found["status"])
        on.node.put(found)

    return does(put)


PULLED = {"image": "example.com/x:1"}
ROWS = [
    # -- init containers and sidecars ----------------------------------------------------------------------------------
    Row(
        "an init container that ran out of memory has failed, whatever its exit code",
        issue(104454),
        pod(initContainers=[c("i")], restartPolicy="Never"),
        (
            ends("i", 0, "OOMKilled"),
            not_asked("CreateContainer a"),
            shows({"phase": "Failed", "init.i": "terminated 0 OOMKilled"}),
        ),
    ),
    Row(
        "an init container that ran out of memory runs again",
        issue(104454),
        pod(initContainers=[c("i")]),
        (
            ends("i", 0, "OOMKilled"),
            not_asked("CreateContainer a"),
            shows({"init.i": "running", "init.i.restartCount": 1, "init.i.lastState": "terminated 0 OOMKilled"}),
        ),
    ),
    Row(
        "an app that ran out of memory and ended with 0 has succeeded",
        issue(131530),
        pod(restartPolicy="Never"),
        (ends("a", 0, "OOMKilled"), shows({"phase": "Succeeded", "containers.a": "terminated 0 OOMKilled"})),
    ),
    Row(
        "with Never the state of a sidecar goes from terminated back to running",
        issue(123323),
        pod(initContainers=[sidecar()], restartPolicy="Never"),
        (
            ends("s", 1),
            shows({"init.s": "running", "init.s.restartCount": 1, "init.s.lastState": "terminated 1 Error"}),
            ends("s", 1),
            shows({"init.s": "waiting CrashLoopBackOff", "phase": "Running", "containers.a": "running"}),
            waits(15),
            shows({"init.s": "running"}),
        ),
    ),
    Row(
        "a sidecar whose startup probe fails is started again, and the app does not begin",
        "KEP-753",
        pod(initContainers=[sidecar("s", FOREVER, startupProbe=probe("false", failureThreshold=2))]),
        (
            waits(5),
            said("Normal Killing s: Init container s failed startup probe"),
            not_asked("CreateContainer a"),
            shows({"phase": "Pending", "containers.a": "waiting PodInitializing"}),
        ),
    ),
    Row(
        "sidecars of a pod that is to end keep their liveness probes, which regular containers lose",
        "prober_manager.go, StopLivenessAndStartup",
        pod(
            c("a", lifecycle={"preStop": {"sleep": {"seconds": 20}}}, livenessProbe=probe("true")),
            initContainers=[sidecar("s", FOREVER, livenessProbe=probe("true"))],
        ),
        (
            deleted(),
            at_once(lambda on: setattr(on, "before", (probed(on, "a"), probed(on, "s")))),
            waits(8),
            holds("no further one of a", lambda on: probed(on, "a") == getattr(on, "before")[0]),  # noqa: B009
            holds("further ones of s", lambda on: probed(on, "s") > getattr(on, "before")[1]),  # noqa: B009
        ),
    ),
    Row(
        "readiness is probed until the end",
        "pod-lifecycle, termination of pods: readiness tells that it is to be left out",
        pod(c("a", lifecycle={"preStop": {"sleep": {"seconds": 20}}}, readinessProbe=probe("true"))),
        (
            deleted(),
            at_once(lambda on: setattr(on, "before", probed(on, "a"))),
            waits(8),
            holds("it is probed", lambda on: probed(on, "a") > getattr(on, "before")),  # noqa: B009
        ),
    ),
    Row(
        "the grace of a startup probe is that of its kill",
        "KEP-2238",
        pod(c("a", startupProbe=probe("false", failureThreshold=1, terminationGracePeriodSeconds=7))),
        (
            waits(3),
            said("Normal Killing a: Container a failed startup probe, will be restarted"),
            asked("StopContainer a 7"),
        ),
    ),
    Row(
        "a sidecar whose image is changed starts again, and the app goes on",
        "KEP-753; API, PodSpec: images may be changed",
        pod(initContainers=[sidecar()]),
        (
            in_registry("docker.io/library/busybox:2"),
            changed(lambda found: found["spec"]["initContainers"][0].update(image="busybox:2")),
            waits(5),
            said("Normal Killing s: Init container s definition changed"),
            asked_times("StartContainer s", 2),
            asked_times("StartContainer a", 1),
        ),
    ),
    Row(
        "an init container whose image is changed after it has ended does not run again",
        "concepts/workloads/pods/init-containers: changes of its image restart the pod no more",
        pod(initContainers=[c("i")]),
        (
            ends("i"),
            changed(lambda found: found["spec"]["initContainers"][0].update(image="busybox:2")),
            waits(5),
            asked_times("StartContainer i", 1),
            asked_times("StartContainer a", 1),
        ),
    ),
    Row(
        "an init container that cannot be pulled holds up the pod, by name",
        issue(46743),
        pod(initContainers=[c("i", **PULLED)]),
        (
            shows({"phase": "Pending", "init.i": re.compile("waiting (ErrImagePull|ImagePullBackOff)")}),
            shows({"containers.a": "waiting PodInitializing"}),
        ),
    ),
    # -- pods that are to end ---------------------------------------------------------------------------------------
    Row(
        "a pod that is deleted amid a pull goes, and nothing of it is made",
        "pod-lifecycle, termination of pods",
        pod(c("a", **PULLED)),
        (deleted(), waits(3), not_asked("CreateContainer"), gone()),
        before=(
            in_registry("example.com/x:1"),
            at_once(lambda on: on.fake.faults.add("PullImage", Fault(hang=True))),
        ),
    ),
    Row(
        "what never started is told as unknown in the last status",
        INITIALIZED,
        pod(c("a", **PULLED)),
        (
            deleted(),
            waits(3),
            shows({"containers.a": "terminated 137 ContainerStatusUnknown"}),
            shows(
                {
                    "containers.a.state.terminated.message": "The container could not be located when the pod was terminated"
                }
            ),
        ),
    ),
    Row(
        "a container behind an init container that never ended still waits in the last status",
        INITIALIZED,
        pod(initContainers=[c("i", **PULLED)]),
        (deleted(), waits(3), shows({"containers.a": "waiting PodInitializing"})),
    ),
    Row(
        "a pod that is deleted while its image pull backs off goes at once",
        "pod-lifecycle, termination of pods",
        pod(c("a", **PULLED)),
        (waits(20), deleted(), waits(2), gone()),
    ),
    Row(
        "a pod that is deleted by force is stopped without its grace",
        issue(113145),
        pod(),
        (removed_by_force(), waits(3), asked(re.compile(r"StopContainer a \d+"), "StopPodSandbox")),
    ),
    Row(
        "a runtime that errs while a pod by force deleted is stopped is asked again",
        issue(113145),
        pod(),
        (
            fails("StopContainer", times=3),
            removed_by_force(),
            waits(20),
            holds("nothing runs", lambda on: not on.fake.world.containers or not runs(on)),
        ),
    ),
    Row(
        "a container that is started while the pod is to end is none",
        "pod-lifecycle, termination of pods",
        pod(c("a", lifecycle={"preStop": {"sleep": {"seconds": 15}}})),
        (deleted(), with_debug(), waits(5), not_asked("CreateContainer d")),
    ),
    Row(
        "an ephemeral container of a pod that is over does not start",
        "API, EphemeralContainer",
        pod(restartPolicy="Never"),
        (ends("a"), with_debug(), waits(5), not_asked("CreateContainer d"), shows({"phase": "Succeeded"})),
    ),
    Row(
        "an ephemeral container shares the processes of its target",
        "API, EphemeralContainer.targetContainerName",
        pod(),
        (
            with_debug(targetContainerName="a"),
            made("d", {"linux.security_context.namespace_options.pid": cri.TARGET}),
            holds(
                "the target is a",
                lambda on: (
                    on.container("d").config.linux.security_context.namespace_options.target_id == on.container("a").id
                ),
            ),
        ),
    ),
    Row(
        "two ephemeral containers after each other both run",
        "API, EphemeralContainer",
        pod(),
        (
            with_debug("d"),
            changed(lambda found: found["spec"]["ephemeralContainers"].append(c("e", "serve"))),
            shows({"ephemeral.d": "running", "ephemeral.e": "running"}),
        ),
    ),
    Row(
        "a preStop hook that sleeps 0 s ends at once",
        "KEP-3960, gate PodLifecycleSleepActionAllowZero",
        pod(c("a", lifecycle={"preStop": {"sleep": {"seconds": 0}}})),
        (deleted(), waits(2), not_said("FailedPreStopHook"), asked("StopContainer a 30"), gone()),
    ),
    Row(
        "a preStop hook of a container that backs off does not run",
        "pod-lifecycle, container hooks",
        pod(c("a", lifecycle={"preStop": {"exec": {"command": ["true"]}}})),
        (ends("a", 1), ends("a", 1), deleted(), waits(2), not_asked("ExecSync"), gone()),
    ),
    # -- what is changed in place -----------------------------------------------------------------------------------
    Row(
        "another generation is observed in status and conditions",
        "KEP-5067",
        pod(),
        (
            changed(lambda found: found["spec"].update(tolerations=[{"key": "x", "operator": "Exists"}])),
            shows({"observedGeneration": 2, "conditions.Ready.observedGeneration": 2, "containers.a.restartCount": 0}),
            asked_times("StartContainer a", 1),
        ),
    ),
    Row(
        "a toleration that is added restarts nothing",
        "API, PodSpec: tolerations may be added",
        pod(),
        (
            changed(lambda found: found["spec"].update(tolerations=[{"operator": "Exists"}])),
            not_asked("StopContainer"),
            shows({"conditions.Ready": "True"}),
        ),
    ),
    Row(
        "a condition that a controller sets stays",
        "API, PodStatus.conditions; KEP-580",
        pod(),
        (
            edited_status(lambda status: status["conditions"].append({"type": "Mine", "status": "True"})),
            ends("a", 1),
            shows({"conditions.Mine": "True", "containers.a.restartCount": 1}),
        ),
    ),
    Row(
        "a grace that is changed before the deletion counts",
        "API, PodSpec.terminationGracePeriodSeconds: negative values may be set to 1",
        pod(terminationGracePeriodSeconds=-1),
        (
            changed(lambda found: found["spec"].update(terminationGracePeriodSeconds=1)),
            deleted(1),
            asked("StopContainer a 2"),
        ),
    ),
    # -- newer fields -----------------------------------------------------------------------------------------------
    Row(
        "sandbox: hostnameOverride is the hostname, whatever hostname and subdomain say",
        "KEP-4762",
        pod(hostname="h", subdomain="s", hostnameOverride="my.own.name"),
        (boxed({"hostname": "my.own.name"}),),
        config={"clusterDomain": "cluster.local"},
    ),
    Row(
        "a stop signal reaches the runtime and the status",
        "KEP-4960",
        pod(c("a", lifecycle={"stopSignal": "SIGUSR1"}), os={"name": "linux"}),
        (made("a", {"stop_signal": cri.SIGNAL_SIGUSR1}), shows({"containers.a.stopSignal": "SIGUSR1"})),
        config={"featureGates": {"ContainerStopSignals": True}},
    ),
    Row(
        "a stop signal is not looked at while its gate is off",
        "KEP-4960, gate ContainerStopSignals (alpha)",
        pod(c("a", lifecycle={"stopSignal": "SIGUSR1"}), os={"name": "linux"}),
        (made("a", {"stop_signal": cri.SIGNAL_RUNTIME_DEFAULT}), shows({"phase": "Running"})),
    ),
    Row(
        "container: an image volume is pulled and mounted by the runtime",
        "KEP-4639",
        pod(
            c("a", volumeMounts=[{"name": "v", "mountPath": "/data"}]),
            volumes=[{"name": "v", "image": {"reference": "example.com/data:1", "pullPolicy": "IfNotPresent"}}],
        ),
        (
            asked("PullImage example.com/data:1", "CreateContainer a"),
            holds(
                "the mount is of an image", lambda on: any(one.image.image for one in on.container("a").config.mounts)
            ),
            shows({"phase": "Running"}),
        ),
        before=(in_registry("example.com/data:1"),),
    ),
    Row(
        "container: an image volume that cannot be pulled holds up its container",
        "KEP-4639",
        pod(
            c("a", volumeMounts=[{"name": "v", "mountPath": "/data"}]),
            volumes=[{"name": "v", "image": {"reference": "example.com/data:1", "pullPolicy": "IfNotPresent"}}],
        ),
        (
            shows({"containers.a": re.compile("waiting (ErrImagePull|ImagePullBackOff)")}),
            not_asked("CreateContainer a"),
            not_said("Pulled"),
        ),
    ),
    Row(
        "container: an image volume is pulled before its container's own image",
        "KEP-4639",
        pod(
            c("a", image="example.com/app:1", volumeMounts=[{"name": "v", "mountPath": "/data"}]),
            volumes=[{"name": "v", "image": {"reference": "example.com/data:1", "pullPolicy": "IfNotPresent"}}],
        ),
        (asked("PullImage example.com/data:1", "PullImage example.com/app:1", "CreateContainer a"),),
        before=(in_registry("example.com/data:1"), in_registry("example.com/app:1")),
    ),
    Row(
        "a rule of an init container starts it again on its exit code only",
        "KEP-5307",
        pod(
            initContainers=[c("i", restartPolicy="Never", restartPolicyRules=[rule("Restart", 42)])],
            restartPolicy="Never",
        ),
        (
            ends("i", 42),
            shows({"init.i": "running", "init.i.restartCount": 1, "phase": "Pending"}),
            ends("i", 1),
            shows({"phase": "Failed", "init.i": "terminated 1 Error"}),
        ),
    ),
    Row(
        "a container whose rule restarts it keeps a pod with Never running",
        "KEP-5307",
        pod(c("a", restartPolicy="Never", restartPolicyRules=[rule("Restart", 42)]), c("b"), restartPolicy="Never"),
        (
            ends("b", 0),
            ends("a", 42),
            shows({"phase": "Running", "containers.a": "running", "containers.a.restartCount": 1}),
            ends("a", 42),
            shows({"phase": "Running", "containers.a": "waiting CrashLoopBackOff"}),
            waits(15),
            ends("a", 0),
            shows({"phase": "Succeeded"}),
        ),
    ),
    # -- readiness and phases ---------------------------------------------------------------------------------------
    Row(
        "a pod whose app ends with 0 under Always goes on running",
        "pod-lifecycle, pod phase",
        pod(),
        (ends("a", 0), ends("a", 0), shows({"phase": "Running", "containers.a": "waiting CrashLoopBackOff"})),
    ),
    Row(
        "containers that completed say so in the conditions of a pod that is over",
        "API, PodCondition: reason PodCompleted",
        pod(restartPolicy="Never"),
        (
            ends("a", 0),
            shows(
                {
                    "conditions.Ready": "False",
                    "conditions.Ready.reason": "PodCompleted",
                    "conditions.ContainersReady.reason": "PodCompleted",
                    "conditions.Initialized": "True",
                    "conditions.Initialized.reason": "PodCompleted",
                    "conditions.PodReadyToStartContainers": "False",
                }
            ),
        ),
    ),
]


def probed(on: Situation, name: str = "s") -> int:
    return sum(line.startswith(f"ExecSync {name} ") for line in on.calls())


def runs(on: Situation) -> bool:
    return any(one.state == cri.CONTAINER_RUNNING for one in on.fake.world.containers.values())


test_the_agent_does_what_the_kubelet_documents = documented(ROWS)
