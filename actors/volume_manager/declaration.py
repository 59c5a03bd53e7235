"""The declaration of the volume manager."""

from __future__ import annotations

from typing import Final

from actors.shared.config.agent import Agent
from actors.shared.declaration import Declaration
from supervision.own_code import own_code

from .messages import VOLUME_MANAGER
from .volume_paths import shared_paths

_IF_EMPTY: Final = """
pods=$0 plugins=$1
shift
for path in "$pods" "$plugins"; do
    [ ! -d "$path" ] || [ -n "$(ls -A -- "$path")" ] || "$@" "$path"
done
"""
_REMOVE_BIND: Final = "from actors.volume_manager.host.mount_propagation import remove_bind; remove_bind(sys.argv[1])"
DECLARATION: Final = Declaration(
    name=VOLUME_MANAGER,
    actor="actors.volume_manager.actor:VolumeManager",
    reads=("enableControllerAttachDetach", "syncFrequency", "volumePluginDir", "volumeStatsAggPeriod"),
    pod_inventory=True,
)


def when_killed(agent: Agent) -> tuple[str, ...]:
    """A program that does the same as `shared_directories.unshare`, for an agent that was killed."""
    return ("/bin/sh", "-c", _IF_EMPTY, *shared_paths(agent), *own_code(_REMOVE_BIND))
