"""Pods, what their workers see of them, and the status that follows."""

from __future__ import annotations

import json
from typing import Any

from msgspec.structs import replace

from actors.shared.cri.model import CriContainer, CriContainerState, PodRuntime, Sandbox
from actors.shared.kube import codec
from actors.shared.kube.pod import Pod, PodStatus
from actors.status_manager.containers.claim_health import Devices
from actors.status_manager.containers.container_status_input import Readiness
from actors.status_manager.messages import PodObserved, Waiting
from actors.status_manager.status.pod_status import compute
from actors.status_manager.status.pod_status_input import PodStatusInput, PodStatusNode

S = 1_000_000_000
NOW = 1_700_000_100 * S
NODE = PodStatusNode(["10.0.0.1", "fd00::1"])
CRASHED = {"a": Waiting("CrashLoopBackOff", "back-off 10s")}
INIT = {"initContainers": [{"name": "i", "image": "x"}]}
SIDECAR = {"initContainers": [{"name": "i", "image": "x", "restartPolicy": "Always"}]}
TWO = [{"name": "a", "image": "i"}, {"name": "b", "image": "i"}]
NEVER, FAILURE = {"restartPolicy": "Never"}, {"restartPolicy": "OnFailure"}


def pod_of(spec: dict[str, Any] | None = None, status: PodStatus | None = None, **meta: Any) -> Pod:
    """`status`: what the API server has."""
    spec = {"containers": [{"name": "a", "image": "i"}], **(spec or {})}
    meta = {"name": "p", "namespace": "n", "uid": "u", **meta}
    return replace(
        codec.decode_pod(json.dumps({"metadata": meta, "spec": spec}).encode()), status=status or PodStatus()
    )


def ran(name: str = "a", code: int | None = None, **more: Any) -> CriContainer:
    """A container that runs, or ended with that code."""
    state = CriContainerState.RUNNING if code is None else CriContainerState.EXITED
    known: dict[str, Any] = {
        "id": f"id-{name}",
        "started_ns": NOW - 50 * S,
        "finished_ns": 0 if code is None else NOW - 9 * S,
    }
    return CriContainer(
        name=name, pod_uid="u", state=state, exit_code=code or 0, image="i", image_ref="sha256:1", **{**known, **more}
    )


def look(
    pod: Pod,
    *found: CriContainer,
    before: PodStatus | None = None,
    ready: bool = True,
    now: int = NOW,
    devices: dict[str, Devices] | None = None,
    **seen: Any,
) -> PodStatus:
    """`devices`: of plugins, as the device manager has reported them."""
    sandbox = Sandbox(id="s", pod_uid="u", pod_name="p", pod_namespace="n", ready=True, ips=["10.1.0.2"])
    runtime = PodRuntime(uid="u", sandboxes=[sandbox], containers=list(found))
    fields: dict[str, Any] = {"worker_phase": "running", "runtime": runtime, **seen}
    message = PodObserved("u", codec.encode(pod), **fields)
    observation = PodStatusInput(message, pod, lambda *_: Readiness(ready, ready), now, devices=devices)
    return compute(observation, NODE, before)


def of(status: PodStatus, kind: str) -> tuple[str, str]:
    return next((c.status, c.reason) for c in status.conditions if c.type == kind)
