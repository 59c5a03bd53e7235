"""The size of a directory that others write to: files with several names once, and nothing on another file system (as
du -x). It is walked a part at a time, so that a directory of millions of files takes turns with others."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from actors.shared.linux.confined_paths import open_beneath

PART: Final = 2000
PART_SECONDS: Final = 0.01
"""The most entries, and seconds, of one step."""
BLOCK: Final = 512
_MOST_PATH: Final = 4000
"""Bytes of a path that the kernel takes at once; deeper directories are opened in several steps."""
_OPEN: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_DONE: Final = object()


class _Place(NamedTuple):
    """A directory below the path. Siblings share the path of their parent: a path of 100 KB for each of a million
    directories would fill the memory of the node."""

    above: _Place | None
    name: str


class DirectorySize:
    """The counted part of a tree. `path`: a directory, or a file."""

    def __init__(self, path: str) -> None:
        """Raises OSError."""
        top = os.lstat(path)
        self._path, self._device = path, top.st_dev
        self.used_bytes, self.inodes_used, self.seconds = top.st_blocks * BLOCK, 1, 0.0

    def parts(self) -> Iterator[None]:
        """Walk it, a part in each step."""
        started_at, entries = time.monotonic(), 0
        for at_entry in self._walk():
            entries += at_entry
            if entries % PART == 0 if at_entry else time.monotonic() - started_at >= PART_SECONDS:
                self.seconds += time.monotonic() - started_at
                yield
                started_at = time.monotonic()
        self.seconds += time.monotonic() - started_at

    def _walk(self) -> Iterator[bool]:
        """Count each entry. Yields False before each directory, True after each entry."""
        left, seen = list[_Place | None]([None]), set[int]()
        while left:
            yield False
            place = left.pop()
            try:
                directory = self._open(place)
            except OSError:
                continue  # a file, or it went away meanwhile
            for entry in _entries(directory):
                if self._count(entry, seen):
                    left.append(_Place(place, entry.name))
                yield True

    def _count(self, entry: os.DirEntry[str], seen: set[int]) -> bool:
        """Returns whether it is a directory to go into."""
        try:
            about = entry.stat(follow_symlinks=False)
            directory = entry.is_dir(follow_symlinks=False)
        except OSError:
            return False
        if about.st_dev != self._device or about.st_ino in seen:
            return False
        if about.st_nlink > 1 and not directory:
            seen.add(about.st_ino)
        self.used_bytes += about.st_blocks * BLOCK
        self.inodes_used += 1
        return directory

    def _open(self, place: _Place | None) -> int:
        """Open a directory below the path, through no link. Raises OSError."""
        fd = os.open(self._path, _OPEN)
        for step in _steps(_path_to(place)):
            try:
                below = open_beneath(fd, step, flags=_OPEN)
            finally:
                os.close(fd)
            fd = below
        return fd


def _path_to(place: _Place | None) -> str:
    names = []
    while place is not None:
        names.append(place.name)
        place = place.above
    return "/".join(reversed(names))


def _steps(place: str) -> Iterator[str]:
    """The path in pieces that the kernel takes."""
    path, start = os.fsencode(place), 0
    while len(path) - start > _MOST_PATH:
        cut = path.rindex(b"/", start, start + _MOST_PATH)
        yield os.fsdecode(path[start:cut])
        start = cut + 1
    if path:
        yield os.fsdecode(path[start:])


def round_robin(walks: Iterable[Iterator[None]]) -> Iterator[None]:
    """Take a step of each walk, then the next of each, until all have ended."""
    waiting = deque(walks)
    while waiting:
        walk = waiting.popleft()
        if next(walk, _DONE) is not _DONE:
            waiting.append(walk)
            yield


def _entries(directory: int) -> Iterator[os.DirEntry[str]]:
    """The entries of an open directory, as far as they can be read. Closes it."""
    try:
        with os.scandir(directory) as entries:
            yield from entries
    except OSError:
        return
    finally:
        os.close(directory)
