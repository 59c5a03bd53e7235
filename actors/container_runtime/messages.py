"""How the managed containerd is called in the tree. It is a program: it takes no messages."""

from __future__ import annotations

from typing import Final

from supervision.addresses import ActorName

CONTAINER_RUNTIME: Final = ActorName("container_runtime")
