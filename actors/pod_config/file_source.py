"""The manifests under one path, a directory or a file: what each gave last, and what is wrong with it.

A file that goes bad keeps the pod that it gave before; one that goes away takes its pod with it.
"""

from __future__ import annotations

import math
import os
import re
import stat
import time
from collections.abc import Callable, Iterable

import msgspec

from supervision.quarantine import Journal

from .errors import ManifestError, whole
from .kept import Kept
from .limits import MAX_BYTES
from .manifest import Origin, StaticPod, read_manifest

LARGE_BYTES = 64 << 10
"""From here on a manifest takes longer than a handler may: read in a process of its own."""
READ_SECONDS = 0.03
"""A handler reads manifests for so long; the others wait for the next one."""
SETTLE_NS = 250_000_000
"""A file that changed this recently may still be being written, unless its writer is known to have closed it."""

_TEMPORARY = re.compile(r"\..*|.*~|#.*#|[0-9]+|.*\.sw[a-z]|sed[A-Za-z0-9]{6}|.*\.dpkg-(new|old|tmp)")
"""Hidden files, and what editors, sed and dpkg leave beside a file while they replace it."""


def is_ignored(name: str) -> bool:
    """Whether a file of that name is never a manifest."""
    return bool(_TEMPORARY.fullmatch(name))


class ManifestFile(msgspec.Struct):
    """One file as it was read last."""

    stamp: tuple[int, ...] = ()
    """Changes when the file does: device, inode, size, times."""
    changed_ns: int = 0
    """When it became what it is, in nanoseconds since 1970."""
    pod: StaticPod | None = None
    """The last good one."""
    errors: list[str] = []


class FileSource:
    """All files of the source. The caller says when to look; `defer(path)` is called for one too large to read here."""

    def __init__(self, path: str, origin: Callable[[str], Origin], defer: Callable[[str], None]) -> None:
        self.path = path
        self.files: dict[str, ManifestFile] = {}
        self.pending: set[str] = set()
        """Seen and not read yet: they wait, or are read elsewhere."""
        self.waiting: dict[str, None] = {}
        """Of the pending ones, those for which a handler had no time: for `read_waiting`, in order."""
        self.unsettled = False
        """Some file was passed over because it may still be being written: look again soon."""
        self.error = ""
        """Why the path itself cannot be read; what was there before is kept."""
        self.quarantine: Journal | None = None
        """Of files whose reading ends the actor, by path and stamp."""
        self.restored: dict[str, Kept] = {}
        """What bad files gave before this actor started."""
        self._origin, self._defer = origin, defer
        self._until = math.inf

    # -- looking --------------------------------------------------------------------------------------------------
    def scan(self, now_ns: int = 0) -> None:
        """Look at everything. Files that changed less than SETTLE_NS before `now_ns` wait."""
        self.unsettled = False
        self.allow(READ_SECONDS)
        try:
            paths = manifest_paths(self.path)
        except OSError as error:
            self.error = f"{self.path}: {error.strerror}"
            return
        self.error = ""
        for gone in set(self.files) - set(paths):
            self.drop(gone)
        for path in paths:
            self.look(path, now_ns)

    def allow(self, seconds: float) -> None:
        """Read for so long from now on; what is found after that waits."""
        self._until = time.monotonic() + seconds

    def read_waiting(self) -> None:
        """Read some of those that wait."""
        self.allow(READ_SECONDS)
        while self.waiting and time.monotonic() < self._until:
            path = next(iter(self.waiting))
            del self.waiting[path]
            self.pending.discard(path)
            self.files[path].stamp = ()
            self.look(path)

    def look(self, path: str, now_ns: int = 0) -> None:
        """Read the file if it is another than before; drop it if it is gone."""
        try:
            found = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            self.drop(path)
            return
        except OSError as error:
            self._fail(path, (), whole(str(error.strerror)))
            return
        stamp = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        known = self.files.get(path)
        if known is not None and known.stamp == stamp:
            return
        if 0 <= now_ns - found.st_mtime_ns < SETTLE_NS:
            self.unsettled = True
            return
        self._read(path, found, stamp)

    def drop(self, path: str) -> None:
        self.files.pop(path, None)
        self.pending.discard(path)
        self.waiting.pop(path, None)

    # -- reading --------------------------------------------------------------------------------------------------
    def _read(self, path: str, found: os.stat_result, stamp: tuple[int, ...]) -> None:
        if wrong := never_read(found):
            self._fail(path, stamp, whole(wrong))
        elif found.st_size > LARGE_BYTES:
            self._entry(path, stamp)
            self.pending.add(path)
            self._defer(path)
        elif time.monotonic() > self._until:
            self._entry(path, stamp)
            self.pending.add(path)
            self.waiting[path] = None
        elif self.quarantine is None:
            self._read_here(path, stamp)
        elif self.quarantine.is_quarantined(key := f"{path} {'.'.join(map(str, stamp))}"):
            text = (
                f"in quarantine until it changes: reading it ended the reader {self.quarantine.crashes_on(key)} times"
            )
            self._fail(path, stamp, whole(text))
        else:
            with self.quarantine.hand(key):
                self._read_here(path, stamp)

    def _read_here(self, path: str, stamp: tuple[int, ...]) -> None:
        try:
            pods = read_manifest(_content(path), self._origin(path))
        except OSError as error:
            self._fail(path, (), whole(str(error.strerror)))
        except ManifestError as error:
            self._fail(path, stamp, error)
        else:
            self.loaded(path, pods[0], stamp)

    def loaded(self, path: str, pod: StaticPod, stamp: tuple[int, ...] = ()) -> None:
        """The file gave this pod. Without `stamp`: as it was when it was deferred."""
        self.pending.discard(path)
        entry = self._entry(path, stamp)
        entry.pod, entry.errors = pod, []
        entry.changed_ns = max(entry.stamp[3:], default=0)

    def failed(self, path: str, error: ManifestError) -> None:
        """The deferred file is bad."""
        self._fail(path, (), error)

    def _fail(self, path: str, stamp: tuple[int, ...], error: ManifestError) -> None:
        self.pending.discard(path)
        entry = self._entry(path, stamp)
        entry.errors = [f"{path}: {text}" for text in error.texts()]
        known = self.restored.pop(path, None)
        if entry.pod is None and known is not None:
            entry.pod, entry.changed_ns = known.pod, known.changed_ns

    def _entry(self, path: str, stamp: tuple[int, ...]) -> ManifestFile:
        entry = self.files.setdefault(path, ManifestFile())
        if stamp:
            entry.stamp = stamp
        return entry

    # -- what there is --------------------------------------------------------------------------------------------
    def pods(self) -> list[tuple[str, ManifestFile]]:
        """Files that give a pod, sorted by path."""
        return [(path, file) for path, file in sorted(self.files.items()) if file.pod is not None]

    def kept(self) -> dict[str, Kept]:
        """Bad files that count with the pod they gave before, and those that are still to be read."""
        unread = {path: kept for path, kept in self.restored.items() if path in self.pending}
        bad = {path: file for path, file in self.files.items() if file.errors}
        return unread | {path: Kept(file.pod, file.changed_ns) for path, file in bad.items() if file.pod is not None}

    def errors(self) -> list[str]:
        texts: Iterable[str] = (text for _, file in sorted(self.files.items()) for text in file.errors)
        return [*([self.error] if self.error else []), *texts]


def never_read(found: os.stat_result) -> str:
    """Why a file is refused without a look into it; '' if it is read."""
    if not stat.S_ISREG(found.st_mode):
        return "not a regular file"
    return f"larger than {MAX_BYTES >> 20} MiB" if found.st_size > MAX_BYTES else ""


def manifest_paths(path: str) -> list[str]:
    """The files that may be manifests, sorted; none when there is no such path. Raises OSError."""
    try:
        found = os.stat(path)
        if not stat.S_ISDIR(found.st_mode):
            return [path]
        with os.scandir(path) as entries:
            return sorted(entry.path for entry in entries if not is_ignored(entry.name) and not entry.is_dir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def _content(path: str) -> bytes:
    # a name that became a FIFO since stat must not block
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    with os.fdopen(descriptor, "rb") as file:
        return file.read(LARGE_BYTES + 1)
