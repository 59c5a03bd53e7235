"""The specs of a running tree."""

from __future__ import annotations

from typing import Literal

from actors.config_controller.sources import spec_of
from supervision.addresses import ActorName
from supervision.protocol import FORK_SERVER, ROOT, ActorState, Tree
from supervision.spec import PolicySettings


def state(name: str, parent: str, kind: Literal["supervisor", "actor"] = "actor") -> ActorState:
    return ActorState(name=name, parent=parent, kind=kind, state="running", actor="m:C" if kind == "actor" else "m:S")


def test_a_running_tree_has_the_specs_of_its_actors_and_supervisors() -> None:
    actors = [
        state(ROOT, FORK_SERVER, "supervisor"),
        state("pod_workers", ROOT, "supervisor"),
        state("pod_workers/worker/0", "pod_workers"),
        state("pleg", ROOT),
    ]
    declared = PolicySettings(max_restarts=9)
    root = spec_of(Tree(pid=1, uptime=0.0, state="ready", actors=actors), {ActorName("pod_workers/worker/*"): declared})
    workers, pleg = root.children
    (worker,) = workers.children
    assert [(one.name, one.actor) for one in (root, workers, worker, pleg)] == [
        (ROOT, ""),
        ("pod_workers", ""),
        ("worker/0", "m:C"),
        ("pleg", "m:C"),
    ]
    assert [dict(one.policy) for one in (workers, worker, pleg)] == [{}, dict(declared), {}]
