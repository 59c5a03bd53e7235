"""The images that the agent has built for its managed runtime. They are never collected: no registry has them, and a
start builds them once."""

from __future__ import annotations

import msgspec

from actors.shared.config.paths import IMAGES_FILE
from supervision.errors import UNREADABLE
from supervision.state_file import read_private


def built_images(managed_root: str) -> frozenset[str]:
    """Their IDs. `managed_root`: the directory of the managed runtime. None where its record cannot be read."""
    try:
        built = msgspec.json.decode(read_private(f"{managed_root}/{IMAGES_FILE}"), type=dict[str, str])
    except (OSError, *UNREADABLE):
        return frozenset()
    return frozenset(built.values())
