"""Which dead containers and sandboxes of a pod are removed. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from actors.cri.model import Container as Ran
from actors.cri.model import ContainerState, PodRuntime, Sandbox


def kept(flags: Mapping[str, Any]) -> int:
    """How many dead instances of a container stay: at least the last one, whose log and exit code users want; -1 for
    all (--maximum-dead-containers-per-container)."""
    most = int(flags.get("maximum-dead-containers-per-container", 1))
    return most if most < 0 else max(1, most)


def dead_containers(runtime: PodRuntime, keep: int) -> list[Ran]:
    """Dead containers beyond the `keep` newest of each name (-1: none); `runtime.containers` is newest first."""
    if keep < 0:
        return []
    seen: dict[str, int] = {}
    found = []
    for ran in runtime.containers:
        if ran.state is not ContainerState.EXITED:
            continue
        seen[ran.name] = seen.get(ran.name, 0) + 1
        if seen[ran.name] > keep:
            found.append(ran)
    return found


def dead_sandboxes(runtime: PodRuntime, *, keep_newest: bool) -> list[Sandbox]:
    """Sandboxes that are not ready and hold no container any more; the newest is kept while the pod is wanted."""
    holding = {ran.sandbox_id for ran in runtime.containers}
    candidates = runtime.sandboxes[1:] if keep_newest else runtime.sandboxes
    return [sandbox for sandbox in candidates if not sandbox.ready and sandbox.id not in holding]
