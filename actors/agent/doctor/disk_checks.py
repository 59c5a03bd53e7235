"""The file systems of this host: room for pods, images and writable layers."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from actors.agent.read_only_disk import mount_of, read_only_mount
from actors.eviction_manager.eviction_signals import layout_of, read_disks
from actors.eviction_manager.resources import NODE_DISK
from actors.eviction_manager.thresholds import for_layout, watched
from actors.shared.config.agent import Agent
from actors.shared.config.fields.eviction import Amount
from actors.shared.linux.directories import nearest_directory

from .finding import Finding, failure, ok, warning

LOW_SHARE: Final = 0.10
"""The default of evictionHard nodefs.available; inodes 5 %."""
LOW_INODE_SHARE: Final = 0.05
_DEFAULTS: Final = MappingProxyType(
    {"nodefs.available": Amount(percent=10.0), "nodefs.inodesFree": Amount(percent=5.0)}
)


def disks(agent: Agent, images: Mapping[str, str]) -> Iterator[Finding]:
    """Each file system whose space decides on DiskPressure. `images`: the directories of `imagefs` and `containerfs`,
    as far as the runtime tells them."""
    places = {name: nearest_directory(path) for name, path in {NODE_DISK: agent.root_dir, **images}.items()}
    read = read_disks([*places.values()])
    figures = {name: read[place] for name, place in places.items() if place in read}
    limits = for_layout(watched(agent.config), layout_of(figures))
    hard = {limit.signal: limit.amount for limit in limits if not limit.grace_seconds}
    together: dict[int, tuple[str, list[str]]] = {}
    for name, (device, *_) in figures.items():
        together.setdefault(device, (places[name], []))[1].append(name)
    for path, names in together.values():
        yield from disk(path, hard, names=names)


def disk(
    path: str, evicts: Mapping[str, Amount] = _DEFAULTS, proc: str = "/proc", names: Sequence[str] = (NODE_DISK,)
) -> Iterator[Finding]:
    """The file system of a directory, or of the nearest directory above it that exists. `evicts`: the amounts of
    evictionHard, by signal; `names`: those of this file system in signals."""
    place = nearest_directory(path)
    found = os.statvfs(place)
    space = found.f_bavail / found.f_blocks if found.f_blocks else 1.0
    inodes = found.f_favail / found.f_files if found.f_files else 1.0
    mount = mount_of(place, proc)
    top = shlex.quote(mount.point if mount is not None else place)
    text = f"{place} has {found.f_bavail * found.f_frsize >> 20} MiB free ({space:.0%}), {inodes:.0%} of its inodes"
    if wrong := read_only_mount(place, mount, found.f_flag):
        yield failure("disk", wrong.text, wrong.remedy)
    elif below := _below(evicts, names, "available", found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize):
        yield failure("disk", f"{text}: DiskPressure, {below}", f"free space: du -xah {top} | sort -h | tail")
    elif below := _below(evicts, names, "inodesFree", found.f_favail, found.f_files):
        yield failure("disk", f"{text}: DiskPressure, {below}", f"remove files: du --inodes -x {top} | sort -n | tail")
    elif space < LOW_SHARE:
        yield warning("disk", f"{text}: nearly full", f"free space: du -xah {top} | sort -h | tail")
    elif inodes < LOW_INODE_SHARE:
        yield warning("disk", f"{text}: nearly full", f"remove files: du --inodes -x {top} | sort -n | tail")
    else:
        yield ok("disk", text)


def _below(evicts: Mapping[str, Amount], names: Sequence[str], what: str, available: int, capacity: int) -> str:
    """The threshold that is met: the largest, as that of images where they share a disk; '' for none. A file system
    without a capacity, as btrfs for inodes, counts none."""
    limits = {f"{name}.{what}": evicts[f"{name}.{what}"] for name in names if f"{name}.{what}" in evicts}
    met = {signal: amount for signal, amount in limits.items() if capacity > 0 and available < amount.of(capacity)}
    if not met:
        return ""
    signal = max(met, key=lambda one: met[one].of(capacity))
    return f"evictionHard {signal} {met[signal].text()}"
