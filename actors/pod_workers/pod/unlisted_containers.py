"""Running containers of a pod that the runtime does not list, found by their processes. Pure. If containerd starts
while its disk is full, it does not list containers that keep running. Their last listed state is shown until the
runtime lists them again or their processes have ended.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

import msgspec

from actors.shared.cri.model import CriContainer, PodRuntime, Sandbox
from actors.shared.cri.pod_lookup import assemble

from .runtime import alive


class UnlistedContainers(msgspec.Struct, frozen=True):
    """The running containers that the runtime does not list."""

    running: frozenset[str] = frozenset()
    """Ids of the containers that have processes."""
    sandboxes: tuple[Sandbox, ...] = ()
    containers: tuple[CriContainer, ...] = ()
    """Their last listed state; empty if this incarnation of the worker has never seen them listed."""

    @property
    def unseen(self) -> bool:
        """Whether only the id of a running container is known."""
        return bool(self.running - {instance.id for instance in self.containers})


NOTHING = UnlistedContainers()


def needs_process_check(
    runtime: PodRuntime, before: PodRuntime | None, known: UnlistedContainers, *, lost: bool = False
) -> bool:
    """Whether the processes of the pod must be checked: the runtime lists no running sandbox or container and this
    worker has never seen one, or it no longer lists one that ran, or unlisted containers are known already. `lost`:
    containers of the pod count as lost."""
    if lost:
        return True
    if before is None and not known.running:
        return not alive(runtime)
    return bool(known.running) or any(_vanished_instances(runtime, before, known))


def find_unlisted(
    runtime: PodRuntime,
    before: PodRuntime | None,
    known: UnlistedContainers,
    running: AbstractSet[str],
    paused: AbstractSet[str],
) -> UnlistedContainers:
    """`running`, `paused`: ids of the pod's containers and sandboxes that have processes. `before` and `known`: from
    the previous look."""
    sandboxes, containers = _vanished_instances(runtime, before, known)
    running = running | (
        paused & {instance.id for instance in containers}
    )  # a container's program may be called pause, too
    known_ids = {instance.id for instance in runtime.containers} | {one.id for one in (*runtime.sandboxes, *sandboxes)}
    return UnlistedContainers(
        frozenset(running) - known_ids,  # the program of a sandbox may be called otherwise than pause
        tuple(sandbox for sandbox in sandboxes if sandbox.id in paused | running),
        tuple(instance for instance in containers if instance.id in running),
    )


def shown(runtime: PodRuntime, unlisted: UnlistedContainers) -> PodRuntime:
    """The real state of the pod: the listed and the unlisted containers."""
    if not (unlisted.sandboxes or unlisted.containers):
        return runtime
    listed = {sandbox.id for sandbox in runtime.sandboxes} | {instance.id for instance in runtime.containers}
    sandboxes = [sandbox for sandbox in unlisted.sandboxes if sandbox.id not in listed]
    containers = [instance for instance in unlisted.containers if instance.id not in listed]
    return assemble(runtime.uid, [*runtime.sandboxes, *sandboxes], [*runtime.containers, *containers], runtime.at)


def _vanished_instances(
    runtime: PodRuntime, before: PodRuntime | None, known: UnlistedContainers
) -> tuple[list[Sandbox], list[CriContainer]]:
    """The containers that ran at the previous look, listed or not, and are not listed now."""
    listed = {sandbox.id for sandbox in runtime.sandboxes} | {instance.id for instance in runtime.containers}
    last = before or PodRuntime(uid=runtime.uid)
    sandboxes = [*(sandbox for sandbox in last.sandboxes if sandbox.ready), *known.sandboxes]
    containers = [*alive(last), *known.containers]
    return (
        list({sandbox.id: sandbox for sandbox in sandboxes if sandbox.id not in listed}.values()),
        list({instance.id: instance for instance in containers if instance.id not in listed}.values()),
    )
