"""The mount table, /proc/<pid>/mountinfo (proc_pid_mountinfo(5)). Reading it never touches the mounts themselves."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

import msgspec

_OCTAL = re.compile(rb"\\([0-7]{3})")
_ESCAPED = re.compile(rb"[ \t\n\\]")
_POINT = 4
"""The field with the mount point."""
_FIELDS_BEFORE_DASH = 6
_FIELDS_AFTER_DASH = 3


class MountInfoError(ValueError):
    """A line of the mount table is invalid."""


class Mount(msgspec.Struct, frozen=True):
    """A line of the table."""

    id: int
    parent: int
    device: str
    """major:minor."""
    root: str
    """The mounted subtree of the file system, `/` for all of it."""
    point: str
    options: tuple[str, ...]
    """The options of this mount, not of its file system: ro, nosuid, ..."""
    tags: tuple[str, ...]
    """`shared:7`, `master:3`; none for a private mount."""
    kind: str
    """File system type."""
    source: str
    super_options: tuple[str, ...]

    @property
    def shared(self) -> bool:
        return any(tag.startswith("shared:") for tag in self.tags)


def parse(text: bytes) -> list[Mount]:
    """All mounts, in the order of the table: a later one at the same point lies on top. Raises MountInfoError."""
    return [_parse_line(line) for line in text.split(b"\n") if line]


def read(proc: str = "/proc") -> list[Mount]:
    """The mounts of this process. Raises OSError."""
    return parse(Path(proc, "self", "mountinfo").read_bytes())


def at(point: str, proc: str = "/proc") -> list[Mount]:
    """The mounts whose mount point is this clean absolute path without symlinks, the topmost last; no other line is
    parsed. Raises OSError, MountInfoError."""
    wanted = b" %b " % _escape(point)
    lines = (line for line in Path(proc, "self", "mountinfo").read_bytes().split(b"\n") if wanted in line)
    return [mount for mount in map(_parse_line, lines) if mount.point == point]


def read_below(directory: str, proc: str = "/proc") -> list[Mount]:
    """The same as `below(read(), directory)`, but lines of other mounts are read only as far as the mount point. Raises
    OSError, MountInfoError."""
    wanted, found = directory.rstrip("/") + "/", []
    for line in Path(proc, "self", "mountinfo").read_bytes().split(b"\n"):
        if line:
            fields = line.split(b" ", _POINT + 1)
            if len(fields) <= _POINT:
                raise MountInfoError(f"not a line of mountinfo: {line[:200]!r}")
            point = _unescape(fields[_POINT])
            if point == directory or point.startswith(wanted):
                found.append(_parse_line(line))
    return found[::-1]


def below(mounts: Iterable[Mount], directory: str) -> list[Mount]:
    """The mounts at or below `directory`, in the order in which they can be unmounted."""
    prefix = directory.rstrip("/") + "/"
    return [mount for mount in mounts if mount.point == directory or mount.point.startswith(prefix)][::-1]


def mount_at(mounts: Iterable[Mount], path: str) -> Mount | None:
    """The mount of a clean absolute path without symlinks; the topmost of several."""
    best: Mount | None = None
    for mount in mounts:
        inside = path == mount.point or path.startswith(mount.point.rstrip("/") + "/")
        if inside and (best is None or len(mount.point) >= len(best.point)):
            best = mount
    return best


def _parse_line(line: bytes) -> Mount:
    fields = line.split(b" ")
    try:
        dash = fields.index(b"-", _FIELDS_BEFORE_DASH)
        after = fields[dash + 1 :]
        if len(after) < _FIELDS_AFTER_DASH:
            raise ValueError("too few fields")
        return Mount(
            id=int(fields[0]),
            parent=int(fields[1]),
            device=fields[2].decode("ascii"),
            root=_unescape(fields[3]),
            point=_unescape(fields[4]),
            options=tuple(_unescape(fields[5]).split(",")),
            tags=tuple(_unescape(tag) for tag in fields[_FIELDS_BEFORE_DASH:dash]),
            kind=_unescape(after[0]),
            source=_unescape(after[1]),
            super_options=tuple(_unescape(b" ".join(after[2:])).split(",")),
        )
    except ValueError as error:
        raise MountInfoError(f"not a line of mountinfo ({error}): {line[:200]!r}") from None


def _escape(path: str) -> bytes:
    return _ESCAPED.sub(lambda match: b"\\%03o" % ord(match.group()), os.fsencode(path))


def _unescape(field: bytes) -> str:
    """The kernel writes space, tab, newline and backslash as three octal digits."""
    if b"\\" in field:
        field = _OCTAL.sub(lambda match: bytes([int(match.group(1), 8) & 0xFF]), field)
    return field.decode("utf-8", "surrogateescape")
