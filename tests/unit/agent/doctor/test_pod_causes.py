"""The doctor finds in a pod's status and events why it does not run, and says what mends it."""

from __future__ import annotations

from typing import Any

import pytest

from actors.agent.doctor.pod_causes import MOST, cause, shortened
from actors.api_clients.event_client.messages import RecentEvent


def pod(**status: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "web", "namespace": "shop", "uid": "u1"},
        "spec": {"containers": [{"name": "main", "image": "nginx:9"}]},
        "status": status,
    }


def waiting(why: str, said: str = "", /, **last: Any) -> dict[str, Any]:
    container: dict[str, Any] = {"name": "main", "state": {"waiting": {"reason": why, "message": said}}}
    if last:
        container["lastState"] = {"terminated": last}
    return pod(phase="Pending", containerStatuses=[container])


def event(reason: str, message: str, last: float = 1.0, uid: str = "u1", field: str = "") -> RecentEvent:
    return RecentEvent(
        kind="Pod", namespace="shop", name="web", uid=uid, field=field, type="Warning",
        reason=reason, message=message, count=1, first=last, last=last,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("reason", "message", "remedy"),
    [
        (
            "FailedMount",
            'failed to fetch PVC from API server: persistentvolumeclaims "nope" not found',
            "kubectl -n shop get pvc: make the one that is named",
        ),
        (
            "NodeAffinity",
            "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
            "kubectl get nodes --show-labels: label the node, or correct nodeSelector; create a rejected pod again",
        ),
        (
            "ErrImagePull",
            "docker.io/library/nginx:9: not found: image",
            "correct the image in the pod, or push it: nginx:9",
        ),
        ("ErrImagePull", "pull access denied, repository does not exist", "imagePullSecrets of the pod"),
        (
            "ErrImagePull",
            'Head "http://r.example:5000/v2/nginx/manifests/9": dial tcp: lookup r.example: no such host',
            "curl -v http://r.example:5000/v2/",
        ),
        ("ErrImagePull", "dial tcp: i/o timeout", "curl -v https://registry-1.docker.io/v2/"),
        ("ErrImagePull", "tls: x509: certificate signed by unknown authority", "the registry's CA"),
        ("CreateError", 'failed to find plugin "bridge" in path [/opt/cni/bin]', "containernetworking-plugins"),
        (
            "CreateError",
            'failed to find plugin "calico" in path [/opt/cni/bin]',
            "install the cluster's network plugin",
        ),
        ("InvalidImageName", "invalid reference format", "correct the image in the pod: nginx:9"),
        (
            "ErrImageNeverPull",
            'Container image "nginx:9" is not present with pull policy of Never',
            "put nginx:9 on the node, or set imagePullPolicy: IfNotPresent",
        ),
        ("CreateContainerConfigError", 'secret "db" not found', "kubectl -n shop get secrets,configmaps"),
        ("RunContainerError", 'exec: "x": executable file not found in $PATH', "correct command in the pod"),
        ("CreateContainerError", "write /var/lib/x: no space left on device", "df -h"),
        ("FailedMount", "hostPath type check failed: /x is not a directory", "make it on this node"),
        ("NodePorts", "node(s) didn't have free ports for the requested pod ports", "take another hostPort"),
        ("Something", "never heard of", "supervise describe pod shop/web"),
    ],
)
def test_each_reason_of_a_waiting_container_has_a_remedy(reason: str, message: str, remedy: str) -> None:
    found = cause(waiting(reason, message), [])
    assert message in found.text
    assert remedy in found.remedy


def test_the_registry_of_the_image_is_queried_where_the_runtime_names_no_address() -> None:
    found = waiting("ErrImagePull", "dial tcp: i/o timeout")
    found["spec"]["containers"][0]["image"] = "registry.example:5000/team/nginx:9"
    assert cause(found, []).remedy.endswith("curl -v https://registry.example:5000/v2/")


def test_a_container_that_crashes_is_reported_by_its_last_end() -> None:
    found = cause(waiting("CrashLoopBackOff", "back-off 10s restarting", exitCode=3, reason="Error"), [])
    assert (found.text, found.remedy) == ("main ended with exit code 3", "supervise logs shop/web -c main --previous")
    killed = cause(waiting("CrashLoopBackOff", "back-off", exitCode=137, reason="OOMKilled"), [])
    assert killed.remedy == "raise resources.limits.memory of the container"


def test_the_log_of_a_container_that_is_not_restarted_is_not_that_of_one_before_it() -> None:
    ended = {"name": "main", "state": {"terminated": {"exitCode": 1, "reason": "Error"}}}
    assert cause(pod(phase="Failed", containerStatuses=[ended]), []).remedy == "supervise logs shop/web -c main"


@pytest.mark.parametrize(
    "said", ["dial tcp 10.0.0.9:5432: connect: connection refused", "401 unauthorized", "insufficient funds"]
)
def test_output_of_a_program_is_not_mistaken_for_a_problem_of_the_node(said: str) -> None:
    found = cause(waiting("CrashLoopBackOff", "back-off", exitCode=1, reason="Error", message=said), [])
    assert said in found.text
    assert found.remedy == "supervise logs shop/web -c main --previous"


def test_a_container_that_cannot_be_started_has_its_command_corrected_as_it_has_no_log() -> None:
    message = 'runc create failed: exec: "/no/such": stat /no/such: no such file or directory: unknown'
    found = cause(waiting("CrashLoopBackOff", "back-off", exitCode=128, reason="StartError", message=message), [])
    assert found.remedy.startswith("correct command in the pod")
    strange = cause(waiting("CrashLoopBackOff", "back-off", exitCode=128, reason="StartError", message="why"), [])
    assert strange.remedy == "supervise describe pod shop/web"


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        ("Unhealthy", 'Readiness probe failed: Get "http://10.0.0.9:81/": dial tcp 10.0.0.9:81: connection refused'),
        ("FailedMount", "mount.nfs: connection refused"),
        ("FailedMount", "the volume pvc-401-ab is not there"),
    ],
)
def test_a_registry_is_named_only_where_an_image_is_missing(reason: str, message: str) -> None:
    found = cause(waiting("ContainerCreating"), [event(reason, message)])
    assert (found.text, found.remedy) == (f"{reason}: {message}", "supervise describe pod shop/web")


def test_an_image_that_the_runtime_needs_for_the_sandbox_names_its_registry() -> None:
    message = 'failed to get sandbox image "registry.k8s.io/pause:3.9": dial tcp: i/o timeout'
    found = cause(waiting("ContainerCreating"), [event("FailedCreatePodSandBox", message)])
    assert "the registry is not reached" in found.remedy


def test_a_pod_that_runs_again_is_reported_by_its_last_end_and_not_by_an_old_warning() -> None:
    again = {"name": "main", "ready": True, "state": {"running": {}}, "lastState": {"terminated": {"exitCode": 3}}}
    found = cause(pod(phase="Running", containerStatuses=[again]), [event("FailedMount", "long ago")])
    assert found.text == "main ended with exit code 3"
    unready = cause(pod(phase="Running", containerStatuses=[again | {"ready": False}]), [event("Unhealthy", "no")])
    assert unready.text == "Unhealthy: no"


def test_a_container_that_its_probe_ended_is_reported_with_what_the_probe_found() -> None:
    last = {"exitCode": 137, "reason": "Error", "startedAt": "2027-01-15T08:00:00Z"}
    started_at, field = 1_800_000_000, "spec.containers{main}"
    killed = "Container main failed liveness probe, will be restarted"
    events = [
        event("Killing", killed, started_at + 9.0, field=field),
        event("Unhealthy", "Liveness probe failed: connection refused", started_at + 8.0, field=field),
        event("Unhealthy", "Readiness probe failed: other", started_at + 8.5, field=field),
    ]
    found = cause(waiting("CrashLoopBackOff", "back-off", **last), events)
    assert found.text == "main ended with exit code 137: Liveness probe failed: connection refused"
    assert found.remedy == "supervise describe pod shop/web"
    before = [event("Killing", killed, started_at + 0.5, field=field), *events[1:]]
    assert cause(waiting("CrashLoopBackOff", "back-off", **last), before).text == "main ended with exit code 137"


@pytest.mark.parametrize("policy", ["Always", "IfNotPresent"])
def test_an_image_that_is_always_pulled_may_be_on_the_node(policy: str) -> None:
    found = waiting("ErrImagePull", 'Back-off pulling image "nginx:9": dial tcp: lookup r.example: no such host')
    found["spec"]["containers"][0]["imagePullPolicy"] = policy
    assert ("imagePullPolicy: IfNotPresent" in cause(found, []).remedy) == (policy == "Always")


def test_a_container_whose_hook_failed_is_reported_with_that_and_not_with_its_log() -> None:
    crashed = waiting("CrashLoopBackOff", "back-off", exitCode=137, reason="Error", startedAt="1970-01-01T00:00:10Z")
    failed = event("FailedPostStartHook", "PostStartHook failed", last=11.0, field="spec.containers{main}")
    found = cause(crashed, [failed])
    assert found.text == "main ended with exit code 137: its postStart hook failed"
    assert found.remedy.startswith("correct lifecycle.postStart")
    assert "hook" not in cause(crashed, [event("FailedPostStartHook", "x", 9.0, field="spec.containers{main}")]).text


def test_a_pod_without_container_reasons_is_reported_by_its_newest_explanatory_warning() -> None:
    events = [
        event("FailedMount", "no such driver", 1.0),
        event("FailedCreatePodSandBox", "cni plugin not initialized", 2.0),
        event("BackOff", "again", 3.0),
        event("FailedMount", "of another pod of that name", 4.0, uid="u2"),
    ]
    found = cause(waiting("ContainerCreating"), events)
    assert found.text == "FailedCreatePodSandBox: cni plugin not initialized"
    assert "what mends the pod network" in found.remedy
    assert cause(waiting("ContainerCreating"), []).text == ""


def test_a_pod_is_reported_by_the_failure_of_the_work_on_it_where_nothing_says_more() -> None:
    unlisted = event("FailedSync", "error determining status: containers run that the runtime does not list", 9.0)
    found = cause(waiting("ContainerCreating"), [event("BackOff", "again", 10.0), unlisted])
    assert found.text.startswith("FailedSync: error determining status")
    assert "another runtime or root directory" in found.remedy
    assert cause(waiting("ContainerCreating"), [unlisted, event("FailedMount", "x", 1.0)]).text == "FailedMount: x"


def test_a_pod_that_was_refused_is_reported_by_its_message() -> None:
    found = cause(pod(phase="Failed", reason="OutOfcpu", message="Node didn't have enough resource: cpu"), [])
    assert found.text == "OutOfcpu: Node didn't have enough resource: cpu"
    assert "ask for less" in found.remedy


def test_a_long_reason_keeps_its_begin_and_its_end() -> None:
    text = shortened("begin " + "x " * 500 + "the cause")
    assert len(text) <= MOST
    assert text.startswith("begin")
    assert text.endswith("the cause")


def test_a_pod_that_does_not_end_is_reported_by_its_newest_warning_and_not_by_how_its_containers_ended() -> None:
    ended = {"name": "main", "state": {"terminated": {"exitCode": 137, "reason": "Error"}}}
    going = pod(phase="Running", containerStatuses=[ended])
    going["metadata"]["deletionTimestamp"] = "2026-11-26T18:14:45Z"
    events = [event("FailedKillPod", 'failed to destroy network: failed to find plugin "calico" in path [/x]')]
    found = cause(going, events)
    assert found.text.startswith("FailedKillPod: failed to destroy network")
    assert "network plugin" in found.remedy
    assert cause(going, []).text == ""


def test_a_pod_that_the_node_has_ended_is_reported_by_that_and_not_by_the_end_of_its_containers() -> None:
    ended = {"name": "main", "state": {"terminated": {"reason": "Error", "exitCode": 137}}}
    late = pod(phase="Failed", reason="DeadlineExceeded", message="Pod was active too long", containerStatuses=[ended])
    assert cause(late, []).text == "DeadlineExceeded: Pod was active too long"
    assert "exit code 137" in cause(pod(phase="Failed", containerStatuses=[ended]), []).text
