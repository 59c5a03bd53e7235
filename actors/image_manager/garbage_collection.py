"""Selects the images to remove when their disk fills up, or when they are unused for long. Pure.

The kubelet's constants: high 85 %, low 80 %, minimum age 2 min. Records of use are in memory, so the maximum age
applies only after the agent has run for longer than it.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class ImageRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An image. Times are seconds of a monotonic clock."""

    id: str
    size_bytes: int
    pinned: bool = False
    first_seen: float = 0.0
    last_used: float = 0.0
    """0: not since the agent started."""


class Disk(msgspec.Struct, frozen=True):
    capacity_bytes: int
    available_bytes: int

    @property
    def used_percent(self) -> int:
        """Whole percent, computed as in the kubelet."""
        return 100 - self.available_bytes * 100 // self.capacity_bytes if self.capacity_bytes > 0 else 0


class Thresholds(msgspec.Struct, frozen=True, kw_only=True):
    high_percent: int = 85
    low_percent: int = 80
    minimum_age: float = 120.0
    maximum_age: float = 0.0
    """0: none."""


class Collection(msgspec.Struct, frozen=True):
    """Images to remove, in order: those that are too old, then those for room."""

    remove: list[str]
    wanted_bytes: int
    """In addition to the bytes of the images that are too old."""
    freeable_bytes: int
    """As `wanted_bytes`."""
    aged: int = 0
    """How many of the images, counted from the first, are too old."""


def observe(
    known: dict[str, ImageRecord], listed: Iterable[tuple[str, int, bool]], in_use: set[str], now: float
) -> dict[str, ImageRecord]:
    """The records after a listing of (id, size, pinned); removed images are forgotten."""
    records = {}
    for image_id, size, pinned in listed:
        old = known.get(image_id)
        records[image_id] = ImageRecord(
            id=image_id,
            size_bytes=size,
            pinned=pinned,
            first_seen=old.first_seen if old else now,
            last_used=now if image_id in in_use else (old.last_used if old else 0.0),
        )
    return records


def plan(
    records: Iterable[ImageRecord], in_use: set[str], disk: Disk, thresholds: Thresholds, now: float, running_for: float
) -> Collection:
    """Plan the removal. Images in use, pinned, or younger than the minimum age are never removed."""
    removable = _removable(records, in_use, thresholds, now)
    expired = [image for image in removable if _is_expired(image, thresholds, now, running_for)]
    remove = dict.fromkeys(image.id for image in expired)
    freed = sum(image.size_bytes for image in expired)
    freeable = sum(image.size_bytes for image in removable) - freed
    wanted = 0
    if disk.capacity_bytes > 0 and thresholds.high_percent < 100 and disk.used_percent >= thresholds.high_percent:
        wanted = disk.capacity_bytes * (100 - thresholds.low_percent) // 100 - disk.available_bytes
    wanted = left = max(0, wanted - freed)
    for image in removable:
        if left <= 0:
            break
        if image.id not in remove:
            remove[image.id] = None
            left -= image.size_bytes
    return Collection(list(remove), wanted, freeable, len(expired))


def unused(records: Iterable[ImageRecord], in_use: set[str], thresholds: Thresholds, now: float) -> list[str]:
    """All images that may be removed when the disk is full."""
    return [image.id for image in _removable(records, in_use, thresholds, now)]


def _removable(
    records: Iterable[ImageRecord], in_use: set[str], thresholds: Thresholds, now: float
) -> list[ImageRecord]:
    """The removable images, least recently used first."""
    found = [
        image
        for image in records
        if image.id not in in_use and not image.pinned and now - image.first_seen >= thresholds.minimum_age
    ]
    return sorted(found, key=lambda image: (image.last_used, image.first_seen, image.id))


def shortfall(disk: Disk, collection: Collection) -> tuple[str, str] | None:
    """Reason and text of the node's event when the disk is wrong, or stays too full; in the kubelet's words."""
    if disk.capacity_bytes <= 0:
        return "InvalidDiskCapacity", f"invalid capacity {disk.capacity_bytes} on image filesystem"
    if collection.wanted_bytes > collection.freeable_bytes:
        text = (
            f"Insufficient free disk space on the node's image filesystem ({disk.used_percent}% of "
            f"{_size_text(disk.capacity_bytes)} used). Failed to free sufficient space by deleting unused images "
            f"(freed {collection.freeable_bytes} bytes). Investigate disk usage, as it could be used by active images, "
            "logs, volumes, or other data."
        )
        return "FreeDiskSpaceFailed", text
    return None


def _size_text(size: int) -> str:
    """`1.5 GiB`."""
    amount, unit = float(size), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{size} B" if unit == "B" else f"{amount:.1f} {unit}"


def _is_expired(image: ImageRecord, thresholds: Thresholds, now: float, running_for: float) -> bool:
    limit = thresholds.maximum_age
    return 0 < limit < running_for and now - max(image.last_used, image.first_seen) > limit
