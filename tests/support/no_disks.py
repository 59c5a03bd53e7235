"""An agent without directories: no disk of its own can hang."""

from __future__ import annotations

from typing import Any

from supervision.application import OwnDirectories
from supervision.fork_server.own_disks import OwnDisks


def no_disks() -> OwnDisks:
    unused: Any = None
    return OwnDisks(unused, unused, OwnDirectories())
