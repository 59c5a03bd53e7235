"""The command, for a tree without eviction manager and device manager: the floor of `managers`."""

from __future__ import annotations

import sys

from msgspec.structs import replace

from actors import tree
from actors.agent import command
from actors.device_manager.messages import DEVICE_MANAGER
from actors.eviction_manager.messages import EVICTION_MANAGER

if __name__ == "__main__":
    kept = tuple(child for child in tree.TREE.children if child.name not in {DEVICE_MANAGER, EVICTION_MANAGER})
    tree.TREE = replace(tree.TREE, children=kept)  # type: ignore[misc]
    sys.exit(command.main())
