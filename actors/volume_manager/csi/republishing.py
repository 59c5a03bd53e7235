"""Publishes volumes in use again: those whose driver has requiresRepublish, each syncFrequency, and those of an earlier
incarnation once their driver has registered."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from actors.api_clients.event_client.messages import EVENT_CLIENT, pod_event
from actors.shared.keyed_locks import KeyedLocks
from actors.shared.kube.pod import Pod
from supervision.actor import Actor

from ..failure_texts import MountError, event_of
from .drivers import CsiDrivers
from .errors import CsiError, mount_error
from .model import CsiMount

Publish = Callable[[Pod, CsiMount, Callable[[], None]], Awaitable[None]]
"""Publishes a volume that is in use; raises CsiError or OSError. Its last argument raises when the volume was unmounted
meanwhile."""
Mount = Callable[[Pod, CsiMount], Awaitable[MountError | None]]


class _UnmountedError(Exception):
    """The volume was unmounted while it was being published again."""


class _InUse(NamedTuple):
    pod: Pod
    step: CsiMount


class Republishing:
    """The volumes in use that are published again, by path. `pods`: locks of the volume manager, held while a pod's
    volumes are mounted or unmounted; `seconds`: the kubelet does this when it syncs the pods."""

    def __init__(
        self, actor: Actor, drivers: CsiDrivers, pods: KeyedLocks, seconds: float, publish: Publish, mount: Mount
    ) -> None:
        self._actor, self._drivers, self._pods, self._seconds = actor, drivers, pods, seconds
        self._publish, self._mount = publish, mount
        self._regular: dict[str, _InUse] = {}
        self._without_driver: dict[str, _InUse] = {}
        """Volumes of an earlier incarnation whose driver or CSIDriver did not exist yet."""

    def start(self) -> None:
        self._actor.every(self._seconds, self._round, jitter=0.1)

    def repeat(self, pod: Pod, step: CsiMount) -> None:
        """Publish the volume again from now on: its driver asks for it."""
        self._regular[step.path] = _InUse(pod, step)

    def await_driver(self, pod: Pod, step: CsiMount) -> None:
        """Mount the volume, which an earlier incarnation has published, when its driver is there."""
        self._without_driver[step.path] = _InUse(pod, step)

    def driver_is_known(self, path: str) -> None:
        self._without_driver.pop(path, None)

    def unused(self, path: str) -> None:
        self._regular.pop(path, None)
        self._without_driver.pop(path, None)

    async def _round(self) -> None:
        """All volumes concurrently: a pod whose lock is held for long delays no other pod."""
        regular = [(one.pod.metadata.uid, path) for path, one in self._regular.items()]
        back = [each for each in self._without_driver.items() if each[1].step.source.driver in self._drivers.names]
        await asyncio.gather(
            *(self._publish_again(uid, path) for uid, path in regular),
            *(self._mount_again(one.pod.metadata.uid, path) for path, one in back),
        )

    async def _mount_again(self, uid: str, path: str) -> None:
        """The driver has registered again."""
        async with self._pods.hold(uid):
            if path in self._without_driver:
                await self._mount(*self._without_driver[path])

    async def _publish_again(self, uid: str, path: str) -> None:
        """An error becomes an event of the pod, and the volume stays unchanged."""

        def check() -> None:
            if path not in self._regular:
                raise _UnmountedError

        async with self._pods.hold(uid):
            try:
                check()
                pod, step = self._regular[path]
                await self._publish(pod, step, check)
            except _UnmountedError:
                return
            except (CsiError, OSError) as error:
                event = event_of(step.source.name, mount_error(error, step))
                self._actor.log.warning("volume at %s is not published again: %s", path, event.text)
                message = pod_event(pod.metadata, "Warning", event.reason, event.text)
                self._actor.tell(EVENT_CLIENT, message, deadline=60.0)
