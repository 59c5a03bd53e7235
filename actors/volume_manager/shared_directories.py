"""The directories of pods and of plugins as shared mounts, so that mounts below them propagate between containers and
host: a CSI driver in a container mounts its volumes below both."""

from __future__ import annotations

import logging
from typing import Final

from actors.shared.config.agent import Agent
from supervision.actor import Actor, DisposableError
from supervision.errors import error_text

from .host import mount_propagation, unmounts
from .messages import VOLUME_MANAGER
from .tools.system_calls import MOUNT_SECONDS
from .volume_paths import shared_paths

_MAKE_SHARED: Final = "actors.volume_manager.host.mount_propagation:make_shared"


async def share(actor: Actor, path: str) -> None:
    """Make a directory that is there a shared mount, bind mounted to itself if necessary. A restart does not mount it
    again. `path`: as in the mount table.

    If there are mounts below it, which may hang when they are opened, this runs in a disposable process.
    """
    try:
        if not unmounts.mounts_below(path):
            mount_propagation.make_shared(path)
        elif not mount_propagation.is_shared(path):
            await actor.disposable(_MAKE_SHARED, {"path": path}, deadline=MOUNT_SECONDS)
    except (OSError, DisposableError) as error:
        actor.log.warning("mounts below %s will not propagate to or from containers: %s", path, error)


def unshare(agent: Agent) -> None:
    """Remove the bind mounts of empty directories at the end of the agent; an administrator's own mounts stay."""
    for path in shared_paths(agent):
        try:
            mount_propagation.remove_bind(path)
        except OSError as error:
            logging.getLogger(VOLUME_MANAGER).warning("%s stays mounted: %s", path, error_text(error))
