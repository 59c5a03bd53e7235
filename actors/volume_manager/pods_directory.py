"""The directory of all pods as a shared mount, so that mounts below it propagate between pods and host."""

from __future__ import annotations

import os
from typing import Final

from supervision.actor import Actor, DisposableError

from .host import propagation, teardown
from .tools.disposable_calls import MOUNT_SECONDS

_MAKE_SHARED: Final = "actors.volume_manager.host.propagation:make_shared"


class PodsDirectory:
    def __init__(self, actor: Actor, path: str) -> None:
        """`path` as in the mount table."""
        self._actor, self._path = actor, path
        self._bind_mounted = False

    async def share(self) -> None:
        """Make the directory a shared mount, bind mounted to itself if necessary. A restart does not mount it again.

        If there are mounts below it, which may hang when they are opened, this runs in a disposable process.
        """
        path = self._path
        mounts = teardown.mounts_below(path)
        self._bind_mounted = path in mounts
        try:
            if not mounts:
                self._bind_mounted = propagation.make_shared(path)
            elif not propagation.is_shared(path):
                made = await self._actor.disposable(_MAKE_SHARED, {"path": path}, deadline=MOUNT_SECONDS)
                self._bind_mounted = made or path in mounts
        except (OSError, DisposableError) as error:
            self._actor.log.warning("mounts below %s will not propagate to or from containers: %s", path, error)

    def unshare(self) -> None:
        """Remove the bind mount, when no pod is left."""
        if self._bind_mounted and not os.listdir(self._path):
            try:
                teardown.unmount_all([self._path], lazy=False)
            except OSError as error:
                self._actor.log.warning("%s stays mounted: %s", self._path, error)
