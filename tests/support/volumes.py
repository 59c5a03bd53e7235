"""Containers that use volumes: only volumes that some container uses are mounted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def user_of(volumes: Iterable[dict[str, Any]], name: str = "user") -> dict[str, Any]:
    """A container that mounts each."""
    mounts = [{"name": volume["name"], "mountPath": f"/{volume['name']}"} for volume in volumes]
    return {"name": name, "volumeMounts": mounts}
