"""persistentVolumeClaim and ephemeral: the volume that the claim is bound to is planned by the type of its source."""

from __future__ import annotations

from typing import Final

from .base import VolumeType

TYPES: Final = (
    VolumeType(source="persistentVolumeClaim", needs_api="a PersistentVolumeClaim"),
    VolumeType(source="ephemeral", needs_api="a PersistentVolumeClaim made from its template"),
)
