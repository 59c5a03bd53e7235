"""When and as which instance a container starts next. Pure."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import NamedTuple

from actors.pod_workers.containers import allocation
from actors.pod_workers.containers.spec_hash import container_hash
from actors.shared.cri.crash_loop import (
    consecutive_restarts,
    is_delayed_after_kill,
    next_consecutive_restarts,
    start_not_before,
)
from actors.shared.cri.model import START_ERROR, CriContainer, CriContainerState, PodRuntime
from actors.shared.kube.container import Container
from actors.shared.kube.names import CONTAINER_HASH

from .actions import ContainerBackoff, Start

END_UNSEEN = "Unknown"
"""containerd's reason for the end of a container that ended while containerd did not run."""


def next_start(container: Container, runtime: PodRuntime, *, first_kill: bool = False) -> Start:
    """The next instance. The restart count continues across sandboxes. `first_kill`: the last instance was killed for a
    restart and none had ended before it, so it counts as no crash. A start that was given up counts not at all: it has
    run nothing, and is removed before its number is used again."""
    last = runtime.newest(container.name)
    if last is None:
        return Start(container, 0)
    if last.start_given_up:
        return Start(container, last.restart_count, consecutive_restarts(last))
    if first_kill:
        return Start(container, last.restart_count + 1, consecutive_restarts(last))
    consecutive = next_consecutive_restarts(last, changed=_has_changed(container, last))
    return Start(container, last.restart_count + 1, consecutive)


def _has_changed(container: Container, last: CriContainer) -> bool:
    """Whether image or resources differ from the last instance's, so that its crashes do not count for the next one."""
    made_with = allocation.made_with(last)
    return has_other_image(container, last) or (
        made_with is not None and bool(allocation.resized(made_with, container.resources))
    )


def has_other_image(container: Container, last: CriContainer) -> bool:
    created_hash = last.annotations.get(CONTAINER_HASH, "")
    return bool(created_hash) and created_hash != container_hash(container)


class NextStarts(NamedTuple):
    """The next starts of a pod's containers."""

    runtime: PodRuntime
    sandbox_id: str
    """The ID of the current sandbox; '' if there is none yet."""
    sandbox_empty: bool
    """The current sandbox has no containers."""
    restarting: AbstractSet[str]
    """IDs of the containers that are stopped for a restart."""
    now: float
    """Seconds since 1970."""
    maximum_backoff: float

    def of(self, container: Container) -> Start | ContainerBackoff:
        """The next start of the container, if it may start now, else its backoff."""
        last = self.runtime.newest(container.name)
        if last is not None and not self._at_once(container, last):
            until = start_not_before(last, self.maximum_backoff, self.now)
            if until > self.now:
                return ContainerBackoff(container.name, until, last)
        first_kill = last is not None and last.id in self.restarting and not last.restart_count
        return next_start(container, self.runtime, first_kill=first_kill)

    def _at_once(self, container: Container, last: CriContainer) -> bool:
        """Whether the next start has no backoff."""
        if last.start_given_up or _has_changed(container, last) or self._is_lost(last):
            return True
        return last.id in self.restarting and not is_delayed_after_kill(
            last, self._previous(last), self.maximum_backoff
        )

    def _is_lost(self, last: CriContainer) -> bool:
        """Whether it was lost with its sandbox: that counts as no crash. It ended unseen, for example at a reboot, or
        its restart failed, because its sandbox was being stopped. Only the first such failure counts so: a container
        may end its sandbox each time."""
        if last.reason == START_ERROR:
            return last.sandbox_id != self.sandbox_id and consecutive_restarts(last) <= 1
        return self.sandbox_empty and last.reason == END_UNSEEN

    def _previous(self, last: CriContainer) -> CriContainer | None:
        """The instance before this one, if it has ended."""
        same = [
            instance for instance in self.runtime.containers if instance.name == last.name and instance.id != last.id
        ]
        return same[0] if same and same[0].state is CriContainerState.EXITED else None
