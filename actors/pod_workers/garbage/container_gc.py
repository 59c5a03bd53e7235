"""Selects the dead containers and sandboxes of a pod to remove. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from actors.shared.cri.model import CriContainer, CriContainerState, PodRuntime, Sandbox


class ContainerGcPolicy(msgspec.Struct, frozen=True):
    """The numbers of dead containers to keep, by the kubelet's flags. Negative: all."""

    of_each: int = 1
    """--maximum-dead-containers-per-container, but at least the last one, for its log and exit code."""
    on_node: int = -1
    """--maximum-dead-containers."""
    min_age: float = 0.0
    """--minimum-container-ttl-duration: the minimum age in seconds."""


def policy_of(flags: Mapping[str, Any]) -> ContainerGcPolicy:
    of_each = int(flags.get("maximum-dead-containers-per-container", 1))
    return ContainerGcPolicy(
        of_each if of_each < 0 else max(1, of_each),
        int(flags.get("maximum-dead-containers", -1)),
        float(flags.get("minimum-container-ttl-duration", 0.0)),
    )


def dead_containers(runtime: PodRuntime, policy: ContainerGcPolicy, now: float) -> list[CriContainer]:
    """Dead containers beyond the newest of each name; `runtime.containers` is newest first. `now`: since 1970."""
    return _surplus_containers([runtime], policy.of_each, policy, now) if policy.of_each >= 0 else []


def surplus(pods: Iterable[PodRuntime], policy: ContainerGcPolicy, now: float) -> list[CriContainer]:
    """The dead containers over --maximum-dead-containers, of all containers in the runtime.

    As in the kubelet, each container first keeps its share, then the oldest are removed. Unlike there, the newest
    instance of a container always stays, because it carries the restart count and the fact that it need not run again.
    """
    pods = list(pods)
    dead = [instance for runtime in pods for instance in runtime.containers if _is_removable(instance, policy, now)]
    if not 0 <= policy.on_node < len(dead):
        return []
    share = max(1, policy.on_node // len({(instance.pod_uid, instance.name) for instance in dead}))
    going = _surplus_containers(pods, share, policy, now)
    gone, newest = (
        {instance.id for instance in going},
        {instance.id for runtime in pods for instance in _newest(runtime)},
    )
    rest = [instance for instance in dead if instance.id not in gone | newest]
    rest.sort(key=lambda instance: instance.created_ns)
    return going + rest[: max(0, len(dead) - len(going) - policy.on_node)]


def _surplus_containers(
    pods: Iterable[PodRuntime], keep: int, policy: ContainerGcPolicy, now: float
) -> list[CriContainer]:
    """The removable containers beyond `keep` of each name."""
    found = []
    for runtime in pods:
        seen: dict[str, int] = {}
        for instance in runtime.containers:
            if _is_removable(instance, policy, now):
                seen[instance.name] = seen.get(instance.name, 0) + 1
                if seen[instance.name] > keep:
                    found.append(instance)
    return found


def _newest(runtime: PodRuntime) -> Iterable[CriContainer]:
    """The newest container of each name."""
    return {instance.name: instance for instance in reversed(runtime.containers)}.values()


def _is_removable(instance: CriContainer, policy: ContainerGcPolicy, now: float) -> bool:
    """Whether it is dead and old enough. As in the kubelet, no limit counts one that is too young."""
    if instance.state is not CriContainerState.EXITED:
        return False
    return policy.min_age <= 0 or now - instance.created_ns / 1e9 >= policy.min_age


def dead_sandboxes(runtime: PodRuntime, *, keep_newest: bool) -> list[Sandbox]:
    """Sandboxes that are not ready and have no container; the newest is kept while the pod is wanted."""
    holding = {instance.sandbox_id for instance in runtime.containers}
    candidates = runtime.sandboxes[1:] if keep_newest else runtime.sandboxes
    return [sandbox for sandbox in candidates if not sandbox.ready and sandbox.id not in holding]
