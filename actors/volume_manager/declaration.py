"""The declaration of the volume manager."""

from __future__ import annotations

import os
from typing import Final

from actors.shared.config.agent import Agent
from actors.shared.declaration import Declaration
from supervision.own_code import own_code

from .messages import VOLUME_MANAGER

_IF_EMPTY: Final = """[ -n "$(ls -A -- "$0")" ] || exec "$@" "$0\""""
_REMOVE_BIND: Final = "from actors.volume_manager.host.mount_propagation import remove_bind; remove_bind(sys.argv[1])"
DECLARATION: Final = Declaration(
    name=VOLUME_MANAGER,
    actor="actors.volume_manager.actor:VolumeManager",
    reads=("enableControllerAttachDetach", "syncFrequency", "volumePluginDir", "volumeStatsAggPeriod"),
    pod_inventory=True,
)


def when_killed(agent: Agent) -> tuple[str, ...]:
    """A program that does the same as `pods_directory.unshare`, for an agent that was killed."""
    path = os.path.realpath(agent.pods_dir)
    return ("/bin/sh", "-c", _IF_EMPTY, path, *own_code(_REMOVE_BIND))
