"""How a container is shown whose start failed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from actors.shared.cri.model import CriContainer, CriContainerState, PodRuntime, Sandbox
from actors.shared.kube import codec
from actors.shared.kube.pod import ContainerStatus, PodStatus
from actors.status_manager.containers.container_status_input import Readiness
from actors.status_manager.messages import PodObserved, Waiting
from actors.status_manager.status.pod_status import compute
from actors.status_manager.status.pod_status_input import PodStatusInput, PodStatusNode

NOW = 1_700_000_100 * 10**9
WAITING = {"a": Waiting("RunContainerError", "exec: no such file")}


def run(name: str, **more: Any) -> CriContainer:
    fields = {"id": f"id-{name}", "state": CriContainerState.RUNNING, "started_ns": NOW, **more}
    return CriContainer(name=name, pod_uid="u", image="i", **fields)


def failed(message: str) -> CriContainer:
    ended = {"state": CriContainerState.EXITED, "exit_code": 128, "reason": "StartError", "started_ns": 0}
    return run("a", message=message, **ended)


def look(kind: str, policy: str, message: str, waiting: dict[str, Waiting], *, over: bool = False) -> PodStatus:
    """The pod runs `b`; the start of `a`, of this kind, has failed."""
    beside = {"name": "b", "image": "i"}
    of_kind = [{"name": "a", "image": "i"}, *([beside] if kind == "containers" else [])]
    spec = {"restartPolicy": policy, "containers": [beside], kind: of_kind}
    pod = codec.decode_pod(json.dumps({"metadata": {"name": "p", "namespace": "n", "uid": "u"}, "spec": spec}).encode())
    sandbox = Sandbox(id="s", pod_uid="u", pod_name="p", pod_namespace="n", ready=True, ips=["10.1.0.2"])
    runtime = PodRuntime(uid="u", sandboxes=[sandbox], containers=[failed(message), run("b")])
    seen = PodObserved("u", codec.encode(pod), "terminated" if over else "running", runtime=runtime, waiting=waiting)
    return compute(PodStatusInput(seen, pod, lambda *_: Readiness(True, True), NOW), PodStatusNode(["10.0.0.1"]), None)


def status_of(status: PodStatus) -> ContainerStatus:
    lists = (*status.initContainerStatuses, *status.containerStatuses, *status.ephemeralContainerStatuses)
    return next(one for one in lists if one.name == "a")


def states(status: ContainerStatus) -> tuple[str, str]:
    """State and last state: running, waiting, terminated or none."""
    found = []
    for one in (status.state, status.lastState):
        kinds = [kind for kind in ("running", "waiting", "terminated") if getattr(one, kind) is not None]
        found.append(kinds[0] if kinds else "none")
    return found[0], found[1]


@pytest.mark.parametrize(
    ("policy", "code", "shown"),
    [
        ("Never", 3, ("terminated", "none")),
        ("OnFailure", 0, ("terminated", "none")),
        ("OnFailure", 3, ("waiting", "terminated")),
        ("Always", 0, ("waiting", "terminated")),
    ],
)
def test_a_container_whose_post_start_hook_failed_waits_if_its_policy_restarts_it(policy, code, shown):
    spec = {"restartPolicy": policy, "containers": [{"name": "a", "image": "i"}, {"name": "b", "image": "i"}]}
    pod = codec.decode_pod(json.dumps({"metadata": {"name": "p", "namespace": "n", "uid": "u"}, "spec": spec}).encode())
    ended = run("a", state=CriContainerState.EXITED, exit_code=code, finished_ns=NOW)
    runtime = PodRuntime(uid="u", sandboxes=[], containers=[ended, run("b")])
    waiting = {"a": Waiting("PostStartHookError", "the hook failed")}
    seen = PodObserved("u", codec.encode(pod), "running", runtime=runtime, waiting=waiting)
    observation = PodStatusInput(seen, pod, lambda *_: Readiness(True, True), NOW)
    assert states(status_of(compute(observation, PodStatusNode(["10.0.0.1"]), None))) == shown


@pytest.mark.parametrize("kind", ["containers", "ephemeralContainers"])
@pytest.mark.parametrize(
    ("policy", "shown"), [("Never", ("terminated", "none")), ("OnFailure", ("waiting", "terminated"))]
)
def test_a_container_whose_start_failed_waits_only_where_it_is_started_again(kind, policy, shown):
    assert states(status_of(look(kind, policy, "exec: no such file", WAITING))) == shown


@pytest.mark.parametrize("kind", ["containers", "initContainers", "ephemeralContainers"])
@pytest.mark.parametrize("waiting", [WAITING, {}])
def test_a_start_that_was_given_up_is_no_end_of_its_container(kind, waiting):
    status = look(kind, "Never", "failed to create containerd task: context canceled", waiting)
    assert states(status_of(status)) == ("waiting", "none")
    assert status.phase not in ("Failed", "Succeeded")
    over = look(kind, "Never", "failed to create containerd task: context canceled", {}, over=True)
    assert kind == "ephemeralContainers" or states(status_of(over)) == ("terminated", "none")
