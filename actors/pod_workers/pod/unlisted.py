"""What runs of a pod though the runtime does not list it: by their processes, not by the runtime. Pure.

containerd that starts on a full disk denies containers that go on. They are shown as they were last listed, until the
runtime lists them again or their processes have ended.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

import msgspec

from actors.shared.cri.model import CriContainer, PodRuntime, Sandbox
from actors.shared.cri.pod_lookup import assemble

from .runtime import alive


class UnlistedContainers(msgspec.Struct, frozen=True):
    """What the runtime denies."""

    running: frozenset[str] = frozenset()
    """Ids of the containers that have processes."""
    sandboxes: tuple[Sandbox, ...] = ()
    containers: tuple[CriContainer, ...] = ()
    """As they were last listed. An incarnation of the worker that has never seen them listed has none."""

    @property
    def unseen(self) -> bool:
        """Whether a container runs of which only the id is known."""
        return bool(self.running - {ran.id for ran in self.containers})


NOTHING = UnlistedContainers()


def may_be_denied(runtime: PodRuntime, before: PodRuntime | None, known: UnlistedContainers) -> bool:
    """Whether the processes of the pod must be looked at: the runtime lists no running sandbox or container and this
    worker has never seen one, or it does not list what ran, or it has left something out before."""
    if before is None and not known.running:
        return not alive(runtime)
    return bool(known.running) or any(_vanished_instances(runtime, before, known))


def denied(
    runtime: PodRuntime,
    before: PodRuntime | None,
    known: UnlistedContainers,
    running: AbstractSet[str],
    paused: AbstractSet[str],
) -> UnlistedContainers:
    """`running`, `paused`: ids of the pod's containers and sandboxes that have processes. `before` and `known`: of the
    look before."""
    sandboxes, containers = _vanished_instances(runtime, before, known)
    running = running | (paused & {ran.id for ran in containers})  # a container's program may be called pause, too
    known_ids = {ran.id for ran in runtime.containers} | {one.id for one in (*runtime.sandboxes, *sandboxes)}
    return UnlistedContainers(
        frozenset(running) - known_ids,  # the program of a sandbox may be called otherwise than pause
        tuple(sandbox for sandbox in sandboxes if sandbox.id in paused | running),
        tuple(ran for ran in containers if ran.id in running),
    )


def shown(runtime: PodRuntime, unlisted: UnlistedContainers) -> PodRuntime:
    """The pod as it is: what is listed, and what is not."""
    if not (unlisted.sandboxes or unlisted.containers):
        return runtime
    listed = {sandbox.id for sandbox in runtime.sandboxes} | {ran.id for ran in runtime.containers}
    sandboxes = [sandbox for sandbox in unlisted.sandboxes if sandbox.id not in listed]
    containers = [ran for ran in unlisted.containers if ran.id not in listed]
    return assemble(runtime.uid, [*runtime.sandboxes, *sandboxes], [*runtime.containers, *containers], runtime.at)


def _vanished_instances(
    runtime: PodRuntime, before: PodRuntime | None, known: UnlistedContainers
) -> tuple[list[Sandbox], list[CriContainer]]:
    """What was there, or denied, at the look before, and is not listed."""
    listed = {sandbox.id for sandbox in runtime.sandboxes} | {ran.id for ran in runtime.containers}
    last = before or PodRuntime(uid=runtime.uid)
    sandboxes = [*(sandbox for sandbox in last.sandboxes if sandbox.ready), *known.sandboxes]
    containers = [*alive(last), *known.containers]
    return (
        list({sandbox.id: sandbox for sandbox in sandboxes if sandbox.id not in listed}.values()),
        list({ran.id: ran for ran in containers if ran.id not in listed}.values()),
    )
