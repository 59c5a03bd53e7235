"""The manifests at the static pod path, a directory or a file: the last good pod of each, and its errors.

A file that becomes invalid keeps its last good pod. When a file is deleted, its pod is removed.
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

from ..manifests.manifest import Origin, StaticPod, read_manifest
from ..validation.errors import ManifestError, document_error
from ..validation.limits import MAX_BYTES
from .last_good import LastGoodPod

LARGE_BYTES = 64 << 10
"""Larger manifests block a handler for too long: a disposable process reads them."""
READ_SECONDS = 0.03
"""Seconds for which one handler reads manifests; the next handler reads the rest."""
SETTLE_NS = 250_000_000
"""A file that changed this recently may be incomplete, unless its writer has closed it."""

_TEMPORARY = re.compile(r"\..*|.*~|#.*#|[0-9]+|.*\.sw[a-z]|sed[A-Za-z0-9]{6}|.*\.dpkg-(new|old|tmp)")
"""Hidden files, and what editors, sed and dpkg leave beside a file while they replace it."""


def is_ignored(name: str) -> bool:
    """Whether a file of that name is never a manifest."""
    return bool(_TEMPORARY.fullmatch(name))


class ManifestFile(msgspec.Struct):
    """A file, as of its last read."""

    stamp: tuple[int, ...] = ()
    """Changes when the file does: device, inode, size, times."""
    changed_ns: int = 0
    """When its content last changed, in nanoseconds since 1970."""
    pod: StaticPod | None = None
    """The last good one."""
    errors: list[str] = []


class FileSource:
    """All files of the source. The caller decides when to look; `defer(path)` is called for a large file."""

    def __init__(
        self,
        path: str,
        origin: Callable[[str], Origin],
        defer: Callable[[str], None],
        quarantine: Journal | None = None,
    ) -> None:
        """`quarantine`: of files on which the actor died, by path and stamp."""
        self.path = path
        self.files: dict[str, ManifestFile] = {}
        self.pending: set[str] = set()
        """Files that are not read yet: they wait, or a disposable process reads them."""
        self.waiting: dict[str, None] = {}
        """Pending files that the last handler had no time for, in order; `read_waiting` reads them."""
        self.unsettled = False
        """Some file may be incomplete and was skipped: look again soon."""
        self.error = ""
        """Why the path itself cannot be read; the pods stay."""
        self._quarantine = quarantine
        self._restored: dict[str, LastGoodPod] = {}
        """The last good pods of bad files, from before this incarnation."""
        self._origin, self._defer = origin, defer
        self._read_until = math.inf

    def restore(self, last_good: dict[str, LastGoodPod]) -> None:
        """The last good pods that an earlier incarnation has stored; before the first look."""
        self._restored = last_good

    def drop_restored(self) -> None:
        """Forget the files that have been read."""
        self._restored = {path: pod for path, pod in self._restored.items() if path in self.pending}

    # -- looking --------------------------------------------------------------------------------------------------
    def scan(self, now_ns: int = 0) -> None:
        """Look at all files. Skip those that changed less than SETTLE_NS before `now_ns`."""
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
        """Read files for this time from now on; later ones wait."""
        self._read_until = time.monotonic() + seconds

    def read_waiting(self) -> None:
        """Read some of the waiting files."""
        self.allow(READ_SECONDS)
        while self.waiting and time.monotonic() < self._read_until:
            path = next(iter(self.waiting))
            del self.waiting[path]
            self.pending.discard(path)
            self.files[path].stamp = ()
            self.look(path)

    def look(self, path: str, now_ns: int = 0) -> None:
        """Read the file if it has changed; drop it if it is gone. A link to nowhere is an error, without a pod."""
        try:
            info = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            self.drop(path)
            if target := _target(path):
                self._entry(path, ()).errors = [f"{path}: a link to {target}, which is not there"]
            return
        except OSError as error:
            self._fail(path, (), document_error(str(error.strerror)))
            return
        stamp = (info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)
        known = self.files.get(path)
        if known is not None and known.stamp == stamp:
            return
        if 0 <= now_ns - info.st_mtime_ns < SETTLE_NS:
            self.unsettled = True
            return
        self._read(path, info, stamp)

    def drop(self, path: str) -> None:
        self.files.pop(path, None)
        self.pending.discard(path)
        self.waiting.pop(path, None)

    # -- reading --------------------------------------------------------------------------------------------------
    def _read(self, path: str, info: os.stat_result, stamp: tuple[int, ...]) -> None:
        if wrong := never_read(info):
            self._fail(path, stamp, document_error(wrong))
        elif info.st_size > LARGE_BYTES:
            self._entry(path, stamp)
            self.pending.add(path)
            self._defer(path)
        elif time.monotonic() > self._read_until:
            self._entry(path, stamp)
            self.pending.add(path)
            self.waiting[path] = None
        elif self._quarantine is None:
            self._read_here(path, stamp)
        elif self._quarantine.is_quarantined(key := f"{path} {'.'.join(map(str, stamp))}"):
            text = (
                f"in quarantine until it changes: reading it ended the reader {self._quarantine.crashes_on(key)} times"
            )
            self._fail(path, stamp, document_error(text))
        else:
            with self._quarantine.handling(key):
                self._read_here(path, stamp)

    def _read_here(self, path: str, stamp: tuple[int, ...]) -> None:
        try:
            pods = read_manifest(_content(path), self._origin(path))
        except OSError as error:
            self._fail(path, (), document_error(str(error.strerror)))
        except ManifestError as error:
            self._fail(path, stamp, error)
        else:
            self.loaded(path, pods[0], stamp)

    def loaded(self, path: str, pod: StaticPod, stamp: tuple[int, ...] = ()) -> None:
        """The file has this pod. Without `stamp`, the file's stamp from when it was deferred stays."""
        self.pending.discard(path)
        entry = self._entry(path, stamp)
        entry.pod, entry.errors = pod, []
        entry.changed_ns = max(entry.stamp[3:], default=0)

    def failed(self, path: str, error: ManifestError) -> None:
        """The deferred file is invalid."""
        self._fail(path, (), error)

    def _fail(self, path: str, stamp: tuple[int, ...], error: ManifestError) -> None:
        self.pending.discard(path)
        entry = self._entry(path, stamp)
        entry.errors = [f"{path}: {text}" for text in error.texts()]
        last_good = self._restored.pop(path, None)
        if entry.pod is None and last_good is not None:
            entry.pod, entry.changed_ns = last_good.pod, last_good.changed_ns

    def _entry(self, path: str, stamp: tuple[int, ...]) -> ManifestFile:
        entry = self.files.setdefault(path, ManifestFile())
        if stamp:
            entry.stamp = stamp
        return entry

    # -- contents --------------------------------------------------------------------------------------------------
    def pods(self) -> list[tuple[str, ManifestFile]]:
        """Files with a pod, sorted by path."""
        return [(path, file) for path, file in sorted(self.files.items()) if file.pod is not None]

    def last_good(self) -> dict[str, LastGoodPod]:
        """The last good pods of bad files, and of files that are not read yet."""
        unread = {path: pod for path, pod in self._restored.items() if path in self.pending}
        bad = {path: file for path, file in self.files.items() if file.errors}
        return unread | {
            path: LastGoodPod(file.pod, file.changed_ns) for path, file in bad.items() if file.pod is not None
        }

    def errors(self) -> list[str]:
        texts: Iterable[str] = (text for _, file in sorted(self.files.items()) for text in file.errors)
        return [*([self.error] if self.error else []), *texts]


def never_read(info: os.stat_result) -> str:
    """Why a file is refused without reading it; '' if it is read."""
    if not stat.S_ISREG(info.st_mode):
        return "not a regular file"
    return f"larger than {MAX_BYTES >> 20} MiB" if info.st_size > MAX_BYTES else ""


def manifest_paths(path: str) -> list[str]:
    """The files that may be manifests, sorted; none when there is no such path. Raises OSError."""
    try:
        info = os.stat(path)
        if not stat.S_ISDIR(info.st_mode):
            return [path]
        with os.scandir(path) as entries:
            return sorted(entry.path for entry in entries if not is_ignored(entry.name) and not _is_directory(entry))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a loop of links, or a failing file system, concerns only this name; `look` reports it
        return False


def _target(path: str) -> str:
    """What the link names; '' if it is no link."""
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _content(path: str) -> bytes:
    # a name that became a FIFO since stat must not block
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    with os.fdopen(descriptor, "rb") as file:
        return file.read(LARGE_BYTES + 1)
