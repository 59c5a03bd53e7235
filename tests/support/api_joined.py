"""A status manager that is joined to an API server in memory, and what its workers would tell it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from actors.shared.config.agent import Agent
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.cri.model import CriContainer, CriContainerState, PodRuntime, Sandbox
from actors.status_manager.actor import StatusManager
from actors.status_manager.messages import PodObserved
from actors.status_manager.times import PodStatusClocks
from supervision.testing.harness import Harness
from supervision.testing.virtual_clock import VirtualClock
from tests.support.api_neighbour import ApiNeighbour

S = 1_000_000_000
BORN = 1_700_000_000 * S
BOUND = "2023-11-14T22:13:00Z"


def joined(tmp_path: Path, store: ApiNeighbour, incarnation: int = 1, *, later: int = 0, **gates: bool) -> Harness:
    """`later`: seconds after BORN at which this one begins; `gates` are set on its configuration."""
    clock = VirtualClock()
    wall_ns = lambda: BORN + round((later + clock() - 1000) * S)  # noqa: E731
    clocks = PodStatusClocks(wall_ns, clock, lambda: 0.0)
    config = KubeletConfiguration(featureGates=gates)
    context = Agent(
        config=config, root_dir=str(tmp_path), node_ip="10.0.0.1", workers=1, standalone=False, node_name="node-1"
    )
    arguments = {"clocks": clocks}
    harness = Harness(
        StatusManager, name="status_manager", context=context, arguments=arguments, incarnation=incarnation, clock=clock
    )
    store.serve(harness)
    return harness


def pod(uid: str = "u", name: str = "p", *, meta: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """A pod that the scheduler has just bound to this node."""
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": BOUND}
    return {
        "metadata": {"name": name, "namespace": "n", "uid": uid, "generation": 1, **(meta or {})},
        "spec": {"containers": [{"name": "a", "image": "i"}], **spec},
        "status": {"phase": "Pending", "conditions": [scheduled], "qosClass": "BestEffort"},
    }


def seen(of: dict[str, Any], *, code: int | None = None, at: float = 1.0, run: bool = True, **more: Any) -> PodObserved:
    """What its worker tells: a running container, or one that ended with that code."""
    uid = of["metadata"]["uid"]
    state = CriContainerState.RUNNING if code is None else CriContainerState.EXITED
    ran = CriContainer(
        id="c1", name="a", pod_uid=uid, state=state, exit_code=code or 0, started_ns=BORN - 5 * S, finished_ns=BORN
    )
    sandbox = Sandbox(id="s", pod_uid=uid, pod_name="p", pod_namespace="n", ready=code is None, ips=["10.1.0.2"])
    runtime = PodRuntime(uid=uid, sandboxes=[sandbox], containers=[ran] if run else [], at=at)
    source = {key: value for key, value in of.items() if key != "status"}
    fields = {"worker_phase": "running", "runtime": runtime, "sandbox_ready": code is None, **more}
    return PodObserved(uid, json.dumps(source).encode(), **fields)


def begun(of: dict[str, Any]) -> PodObserved:
    return seen(of, worker_phase="admitting", runtime=None, sandbox_ready=False)


def conditions(of: dict[str, Any]) -> dict[str, str]:
    """Status of each condition by its type."""
    return {each["type"]: each["status"] for each in of["status"]["conditions"]}


def deleted(of: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The pod with its deletion asked for, grace ended at BORN."""
    of["metadata"].update(deletionTimestamp="2023-11-14T22:13:20Z", deletionGracePeriodSeconds=5, **more)
    return of
