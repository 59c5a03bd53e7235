"""Images: policies, pulls, failures; and starts that fail."""

from __future__ import annotations

import re
from typing import Any

from .row import (
    Row,
    asked,
    asked_times,
    at_once,
    c,
    changed,
    fails,
    has_object,
    in_registry,
    made,
    not_asked,
    not_said,
    pod,
    said,
    shows,
    waits,
    works,
)
from .table import documented

PULLS = "subsystems 10; images texts"
ERRORS = "subsystems 8.3, 55"
X = "docker.io/library/x:1"
NOT_FOUND = f'rpc error: code = NotFound desc = failed to pull and unpack image "{X}": {X}: not found'


def of(image: str, policy: str = "IfNotPresent", name: str = "a") -> dict[str, Any]:
    return {**c(name), "image": image, "imagePullPolicy": policy}


ROWS = [
    Row(
        "an image that is there is not pulled",
        PULLS,
        pod(),
        (
            not_asked("PullImage"),
            said(
                'Normal Pulled a: Container image "busybox" already present on machine and can be accessed by the pod'
            ),
        ),
    ),
    Row(
        "an absent image is pulled",
        PULLS,
        pod(of("x:1")),
        (
            asked("PullImage x:1", "CreateContainer a"),
            said(
                'Normal Pulling a: Pulling image "x:1"',
                re.compile(
                    r'Normal Pulled a: Successfully pulled image "x:1" in \S+ \(\S+ including waiting\)\. '
                    r"Image size: 1000 bytes\."
                ),
                "Normal Created a: Container created",
            ),
            shows({"phase": "Running", "containers.a.image": X}),
        ),
        before=(in_registry(X),),
    ),
    Row(
        "Always pulls an image that is there",
        PULLS,
        pod(of("busybox", "Always")),
        (
            asked("PullImage busybox:latest"),
            said('Normal Pulling a: Pulling image "busybox"'),
            shows({"phase": "Running"}),
        ),
    ),
    Row(
        "without a policy, the tag latest means Always",
        "API, Container.imagePullPolicy",
        pod({"name": "a", "image": "busybox:latest"}),
        (asked("PullImage busybox:latest"),),
    ),
    Row(
        "Never with an absent image waits",
        PULLS,
        pod(of("x:1", "Never")),
        (
            shows(
                {
                    "phase": "Pending",
                    "containers.a": "waiting ErrImageNeverPull",
                    "containers.a.state.waiting.message": 'Container image "x:1" is not present with pull policy of Never',
                }
            ),
            said(
                'Warning ErrImageNeverPull a: Container image "x:1" is not present with pull policy of Never',
                "Warning Failed a: Error: ErrImageNeverPull",
            ),
            not_asked("PullImage", "CreateContainer"),
        ),
    ),
    Row(
        "Never with a present image starts",
        PULLS,
        pod(of("busybox", "Never")),
        (shows({"phase": "Running"}), not_asked("PullImage")),
    ),
    Row(
        "a pull that fails is told with the runtime's words",
        PULLS,
        pod(of("x:1")),
        (
            said(
                'Normal Pulling a: Pulling image "x:1"',
                f'Warning Failed a: Failed to pull image "x:1": {NOT_FOUND}',
                "Warning Failed a: Error: ErrImagePull",
            ),
            shows(
                {
                    "phase": "Pending",
                    "containers.a": "waiting ErrImagePull",
                    "containers.a.state.waiting.message": NOT_FOUND,
                    "conditions.Ready": "False",
                    "conditions.PodReadyToStartContainers": "True",
                }
            ),
        ),
    ),
    Row(
        "an error of code Unknown is told without its code",
        "remote image service: unknown codes are stripped",
        pod(of("x:1")),
        (
            said('Warning Failed a: Failed to pull image "x:1": no basic auth'),
            shows({"containers.a.state.waiting.message": "no basic auth"}),
        ),
        before=(fails("PullImage", "no basic auth"),),
    ),
    Row(
        "a failed pull waits 10 s, then longer",
        PULLS,
        pod(of("x:1")),
        (
            waits(4),
            shows(
                {
                    "containers.a": "waiting ImagePullBackOff",
                    "containers.a.state.waiting.message": f'Back-off pulling image "x:1": ErrImagePull: {NOT_FOUND}',
                }
            ),
            said(
                'Normal BackOff a: Back-off pulling image "x:1"',
                "Warning Failed a: Error: ImagePullBackOff",
            ),
            asked_times("PullImage", 1),
            waits(6),
            asked_times("PullImage", 2),
            waits(16),
            asked_times("PullImage", 2),
            waits(6),
            asked_times("PullImage", 3),
        ),
    ),
    Row(
        "a pull that works at last starts the container",
        PULLS,
        pod(of("x:1")),
        (at_once(lambda on: on.fake.images.registry.__setitem__(X, 5)), waits(12), shows({"phase": "Running"})),
    ),
    Row(
        "another image is pulled at once, the backoff is the old one's",
        "subsystems 10: key <pod uid>_<image>",
        pod(of("y:1")),
        (
            waits(6),
            changed(lambda pod: pod["spec"]["containers"][0].update(image="busybox")),
            shows({"phase": "Running", "containers.a": "running"}),
        ),
    ),
    Row(
        "a name that is none",
        PULLS,
        pod(of("BAD")),
        (
            shows(
                {
                    "containers.a": "waiting InvalidImageName",
                    "containers.a.state.waiting.message": 'Failed to apply default image tag "BAD": couldn\'t parse '
                    'image name "BAD": invalid reference format: repository name (library/BAD) must be lowercase',
                }
            ),
            said(
                re.compile('Warning InspectFailed a: Failed to apply default image tag "BAD": couldn.*'),
                "Warning Failed a: Error: InvalidImageName",
            ),
        ),
    ),
    Row(
        "a name with characters that are not allowed",
        PULLS,
        pod(of("a b")),
        (
            shows(
                {
                    "containers.a.state.waiting.message": 'Failed to apply default image tag "a b": couldn\'t parse '
                    'image name "a b": invalid reference format'
                }
            ),
        ),
    ),
    Row(
        "a registry that is not available has its own reason",
        "cri-api errors; subsystems 10",
        pod(of("x:1")),
        (
            shows(
                {
                    "containers.a": "waiting RegistryUnavailable",
                    "containers.a.state.waiting.message": "image pull failed for x:1 because the registry is "
                    "unavailable: down",
                }
            ),
        ),
        before=(fails("PullImage", "RegistryUnavailable: down"),),
    ),
    Row(
        "a signature that is not good has its own reason",
        "cri-api errors; subsystems 10",
        pod(of("x:1")),
        (shows({"containers.a": "waiting SignatureValidationFailed"}),),
        before=(fails("PullImage", "SignatureValidationFailed: bad"),),
    ),
    Row(
        "an image whose state cannot be read",
        PULLS,
        pod(),
        (
            shows(
                {
                    "containers.a": "waiting ImageInspectError",
                    "containers.a.state.waiting.message": 'Failed to inspect image "busybox:latest": rpc error: '
                    "code = Unknown desc = store broken",
                }
            ),
            said("Warning InspectFailed a", "Warning Failed a: Error: ImageInspectError"),
            works("ImageStatus"),
            waits(15),
            shows({"phase": "Running"}),
        ),
        before=(fails("ImageStatus", "store broken"),),
    ),
    Row(
        "a pull secret that is missing is told, and the pull is tried",
        "subsystems 4.1; events.tsv FailedToRetrieveImagePullSecret",
        pod(of("x:1"), imagePullSecrets=[{"name": "key"}]),
        (
            said(
                "Warning FailedToRetrieveImagePullSecret: Unable to retrieve some image pull secrets (key); attempting to "
                "pull the image may not succeed."
            ),
            shows({"phase": "Running"}),
        ),
        before=(in_registry(X),),
    ),
    Row(
        "one container's image does not hold up the other",
        "subsystems 8.2: a start failure does not stop other regular ones",
        pod(of("x:1"), c("b")),
        (shows({"phase": "Pending", "containers.a": "waiting ErrImagePull", "containers.b": "running"}),),
    ),
    Row(
        "an init container's image holds up the pod",
        "subsystems 8.2: an init container start failure ends the sync",
        pod(initContainers=[of("x:1", name="i")]),
        (
            shows({"phase": "Pending", "init.i": "waiting ErrImagePull", "containers.a": "waiting PodInitializing"}),
            not_asked("CreateContainer a"),
        ),
    ),
    # -- starts that fail ---------------------------------------------------------------------------------------------
    Row(
        "a sandbox that cannot be made is told, and tried again",
        "events.tsv FailedCreatePodSandBox",
        pod(),
        (
            shows(
                {
                    "phase": "Pending",
                    "containers.a": "waiting ContainerCreating",
                    "containers.a.state.waiting.message": None,
                    "conditions.PodReadyToStartContainers": "False",
                    "conditions.Initialized": "True",
                }
            ),
            said(
                "Warning FailedCreatePodSandBox: Failed to create pod sandbox: rpc error: code = Unknown desc = no CNI"
            ),
            works("RunPodSandbox"),
            waits(15),
            shows({"phase": "Running"}),
        ),
        before=(fails("RunPodSandbox", "no CNI"),),
    ),
    Row(
        "each try of a sandbox is told",
        "events.tsv; correlation counts",
        pod(),
        (waits(8), said("Warning FailedCreatePodSandBox", "Warning FailedCreatePodSandBox")),
        before=(fails("RunPodSandbox", "no CNI"),),
    ),
    Row(
        "a container that cannot be created",
        ERRORS,
        pod(),
        (
            shows(
                {
                    "phase": "Pending",
                    "containers.a": "waiting CreateContainerError",
                    "containers.a.state.waiting.message": "no space left",
                    "containers.a.restartCount": 0,
                }
            ),
            said("Warning Failed a: Error: no space left"),
            not_asked("StartContainer"),
        ),
        before=(fails("CreateContainer", "no space left"),),
    ),
    Row(
        "a container whose program is missing",
        ERRORS,
        pod(c("a", command=["/missing"])),
        (
            said(
                "Normal Created a: Container created",
                'Warning Failed a: Error: failed to create containerd task: exec: "/missing": executable file not found '
                "in $PATH",
            ),
            shows({"phase": frozenset(["Running", "Pending"]), "containers.a.lastState": "terminated 128 StartError"}),
            asked("CreateContainer a", "StartContainer a"),
        ),
    ),
    Row(
        "a container whose program is missing, in a pod that starts none again and goes on",
        ERRORS,
        pod(c("a", command=["/missing"]), c("b"), restartPolicy="Never"),
        (
            shows({"phase": "Running", "containers.a": "terminated 128 StartError", "containers.b": "running"}),
            asked("CreateContainer a", "StartContainer a", "CreateContainer b", "StartContainer b"),
        ),
    ),
    Row(
        "a container that cannot be started, and of which the runtime knows no more",
        ERRORS,
        pod(restartPolicy="Never"),
        (
            shows(
                {
                    "containers.a": "waiting RunContainerError",
                    "containers.a.state.waiting.message": "shim did not answer",
                }
            ),
            said("Warning Failed a: Error: shim did not answer"),
        ),
        before=(fails("StartContainer", "shim did not answer"),),
    ),
    Row(
        "a Secret that is missing",
        ERRORS,
        pod(c("a", env=[{"name": "X", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}])),
        (
            shows(
                {
                    "phase": "Pending",
                    "containers.a": "waiting CreateContainerConfigError",
                    "containers.a.state.waiting.message": 'secret "s" not found',
                }
            ),
            said('Warning Failed a: Error: secret "s" not found'),
            not_asked("CreateContainer"),
        ),
    ),
    Row(
        "a ConfigMap that is missing",
        ERRORS,
        pod(c("a", envFrom=[{"configMapRef": {"name": "m"}}])),
        (
            shows(
                {
                    "containers.a": "waiting CreateContainerConfigError",
                    "containers.a.state.waiting.message": 'configmap "m" not found',
                }
            ),
        ),
    ),
    Row(
        "a ConfigMap that comes later",
        ERRORS,
        pod(c("a", envFrom=[{"configMapRef": {"name": "m"}}])),
        (
            has_object("ConfigMap", "m", data={"K": "v"}),
            waits(15),
            shows({"phase": "Running"}),
            made("a", {"envs:K": b"v"}),
        ),
    ),
    Row(
        "a key that the Secret does not have",
        ERRORS,
        pod(c("a", env=[{"name": "X", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}])),
        (shows({"containers.a.state.waiting.message": "couldn't find key k in Secret n/s"}),),
        before=(has_object("Secret", "s", data={}),),
    ),
    Row(
        "a key that the ConfigMap does not have",
        ERRORS,
        pod(c("a", env=[{"name": "X", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "k"}}}])),
        (shows({"containers.a.state.waiting.message": "couldn't find key k in ConfigMap n/m"}),),
        before=(has_object("ConfigMap", "m", data={}),),
    ),
    Row(
        "optional objects may be missing",
        "API, SecretKeySelector.optional",
        pod(
            c(
                "a",
                env=[{"name": "X", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": True}}}],
                envFrom=[{"configMapRef": {"name": "m", "optional": True}}],
            )
        ),
        (shows({"phase": "Running"}), made("a", {"envs:X": None})),
    ),
    Row(
        "runAsNonRoot and user 0",
        "subsystems 8.3; kuberuntime verifyRunAsNonRoot",
        pod(c("a", securityContext={"runAsNonRoot": True, "runAsUser": 0})),
        (
            shows(
                {
                    "containers.a": "waiting CreateContainerConfigError",
                    "containers.a.state.waiting.message": re.compile(
                        r"container's runAsUser breaks non-root policy \(pod: \"p_n\(u\)\", container: a\)"
                    ),
                }
            ),
        ),
    ),
    Row(
        "runAsNonRoot and an image that runs as root",
        "subsystems 8.3; kuberuntime verifyRunAsNonRoot",
        pod(c("a", securityContext={"runAsNonRoot": True})),
        (
            shows(
                {
                    "containers.a": "waiting CreateContainerConfigError",
                    "containers.a.state.waiting.message": "container has runAsNonRoot and image will run as root "
                    '(pod: "p_n(u)", container: a)',
                }
            ),
        ),
    ),
    Row(
        "a network that is not ready",
        "events.tsv NetworkNotReady; subsystems 4",
        pod(),
        (
            shows({"phase": "Pending", "containers.a": "waiting ContainerCreating"}),
            said(
                "Warning NetworkNotReady: network is not ready: container runtime network not ready: NetworkReady=false "
                "reason:NetworkPluginNotReady message:cni plugin not initialized"
            ),
            not_asked("RunPodSandbox"),
            at_once(lambda on: setattr(on.fake, "network_ready", True)),
            waits(9),
            shows({"phase": "Running"}),
        ),
        before=(at_once(lambda on: setattr(on.fake, "network_ready", False)), waits(6)),
    ),
    Row(
        "a network that is not ready does not hold up a pod on the host's",
        "subsystems 4.1",
        pod(hostNetwork=True),
        (shows({"phase": "Running", "podIP": "192.0.2.1", "hostIP": "192.0.2.1"}), not_said("NetworkNotReady")),
        before=(at_once(lambda on: setattr(on.fake, "network_ready", False)), waits(6)),
    ),
    Row(
        "a RuntimeClass that is missing",
        "subsystems 29",
        pod(runtimeClassName="gvisor"),
        (
            said(re.compile('Warning FailedCreatePodSandBox: Failed to create pod sandbox: .*"gvisor" not found.*')),
            shows({"phase": "Pending"}),
        ),
    ),
]

test_the_agent_does_what_the_kubelet_documents = documented(ROWS)
