"""The managed containerd to other actors: its name in the tree, and the repair of its files. It takes no messages."""

from __future__ import annotations

from typing import Final

from supervision.addresses import ActorName

CONTAINER_RUNTIME: Final = ActorName("container_runtime")
RESTORE_FILES: Final = "actors.container_runtime.host_setup:restore"
"""For a disposable process: make again what is missing of the files that containerd reads."""
