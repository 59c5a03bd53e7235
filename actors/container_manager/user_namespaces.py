"""Gives each pod with a user namespace IDs of its own (KEP-127).

The files `pods/<uid>/userns`, in the kubelet's format, are authoritative: they are read before the first IDs are given,
and written before a worker gets its pod's IDs. IDs are free again once the file is gone and no worker has the pod.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

import msgspec

from actors.shared.config.agent import Agent
from actors.shared.linux.presence import is_there
from actors.shared.linux.subordinate_ids import IdRange, SubordinateIdsError, assigned, check, default_range, program
from actors.shared.pod_inventory import PodInventory
from supervision.errors import UNREADABLE, error_reason
from supervision.state_file import read_private, write_private

from .messages import UserNamespaceGiven, UserNamespaceRefused

FILE: Final = "userns"
IDS_PER_POD: Final = 65536
FULL: Final = "could not find an empty slot to allocate a user namespace"


class _Mapping(msgspec.Struct, frozen=True, rename="camel"):
    host_id: int
    container_id: int
    length: int


class _File(msgspec.Struct, frozen=True, rename="camel"):
    uid_mappings: list[_Mapping]
    gid_mappings: list[_Mapping]


class UserNamespaceError(Exception):
    """No IDs can be given."""


def encode(ids: IdRange) -> bytes:
    """The file's content."""
    mapping = [_Mapping(ids.first, 0, ids.length)]
    return msgspec.json.encode(_File(mapping, mapping))


def decode(data: bytes) -> IdRange:
    """Raises UserNamespaceError."""
    try:
        file = msgspec.json.decode(data, type=_File)
    except UNREADABLE as error:
        raise UserNamespaceError(str(error)) from None
    if len(file.uid_mappings) != 1 or file.uid_mappings != file.gid_mappings:
        raise UserNamespaceError("it must have one mapping, the same for users and groups")
    (mapping,) = file.uid_mappings
    if mapping.container_id or mapping.length <= 0 or mapping.host_id < mapping.length:
        raise UserNamespaceError("its mapping must begin at 0 in the container, and beyond the host's own IDs")
    return IdRange(mapping.host_id, mapping.length)


def free_slot(whole: IdRange, size: int, taken: Iterable[IdRange]) -> IdRange | None:
    """The first `size` IDs of the range that are free; None if there are none. Pure."""
    start = whole.first
    for ids in sorted(taken, key=lambda one: one.first):
        if ids.first >= start + size:
            break
        after = max(start, ids.first + ids.length)
        start = whole.first + -(-(after - whole.first) // size) * size
    return IdRange(start, size) if start + size <= whole.first + whole.length else None


class PodUserNamespaces:
    """The IDs of all pods of the node."""

    def __init__(
        self,
        agent: Agent,
        inventory: PodInventory,
        max_pods: int,
        ask: Callable[[str], Awaitable[IdRange]] = assigned,
        find: Callable[[], str] = program,
    ) -> None:
        """`ask`, `find`: getsubids."""
        self._agent, self._inventory, self._max_pods, self._ask, self._find = agent, inventory, max_pods, ask, find
        settings = agent.config.userNamespaces
        self._size = (settings.idsPerPod if settings is not None else None) or IDS_PER_POD
        self._range: IdRange | None = None
        self._ranges: dict[str, IdRange] | None = None
        """By pod; None: not read yet."""

    async def give(self, uid: str) -> UserNamespaceGiven | UserNamespaceRefused:
        """The pod's IDs, the same each time."""
        try:
            whole = await self._whole_range()
            ids = self._give(uid, whole)
        except (UserNamespaceError, SubordinateIdsError) as error:
            return UserNamespaceRefused(uid, str(error))
        except OSError as error:
            return UserNamespaceRefused(uid, f"{error.filename}: {error.strerror}")
        return UserNamespaceGiven(uid, ids.first, ids.length)

    async def _whole_range(self) -> IdRange:
        """Raises SubordinateIdsError."""
        if self._range is None:
            path = self._find()
            found = await self._ask(path) if path else default_range(self._size)
            check(found, self._size, self._max_pods)
            self._range = found
        return self._range

    def _give(self, uid: str, whole: IdRange) -> IdRange:
        """Raises UserNamespaceError, OSError."""
        ranges = self._without_removed_pods(self._ranges if self._ranges is not None else self._read())
        self._ranges = ranges
        if uid not in ranges:
            found = free_slot(whole, self._size, ranges.values())
            if found is None:
                raise UserNamespaceError(FULL)
            ranges[uid] = found
        if not is_there(path := self._path(uid)):
            try:
                os.makedirs(os.path.dirname(path), 0o750, exist_ok=True)
                write_private(path, encode(ranges[uid]))
            except OSError:
                del ranges[uid]
                raise
        return ranges[uid]

    def _path(self, uid: str) -> str:
        return f"{self._agent.pod_dir(uid)}/{FILE}"

    def _without_removed_pods(self, ranges: dict[str, IdRange]) -> dict[str, IdRange]:
        """Raises OSError: the IDs of a pod that cannot be seen are not given to another one."""
        return {uid: ids for uid, ids in ranges.items() if uid in self._inventory or is_there(self._path(uid))}

    def _pods(self) -> list[str]:
        """The UIDs of pods with a directory. Raises OSError."""
        try:
            return os.listdir(self._agent.pods_dir)
        except FileNotFoundError:
            return []

    def _read(self) -> dict[str, IdRange]:
        """Read all files. Raises UserNamespaceError if one cannot be read, because its IDs are then unknown; OSError if
        the directory of pods cannot be listed."""
        ranges = {}
        for uid in self._pods():
            path = self._path(uid)
            try:
                ranges[uid] = decode(read_private(path))
            except FileNotFoundError:
                continue
            except NotADirectoryError:
                continue
            except (OSError, UserNamespaceError) as error:
                text = f"no IDs are given before {path} can be read, or is removed once its pod has ended"
                raise UserNamespaceError(f"{text}: {error_reason(error)}") from None
        return ranges
