"""Which dead containers and sandboxes of a pod are removed. Pure."""

from __future__ import annotations

from actors.cri.model import Container as Ran
from actors.cri.model import ContainerState, PodRuntime, Sandbox


def dead_containers(runtime: PodRuntime, keep: int) -> list[Ran]:
    """Dead containers beyond the `keep` newest dead ones of each name; `runtime.containers` is newest first."""
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
