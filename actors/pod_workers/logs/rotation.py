"""Rotates the logs of running containers by containerLogMaxSize and containerLogMaxFiles.

A log that has reached containerLogMaxSize is renamed, and the runtime is asked to open a new one. This is fast and
loses no line, because the runtime writes to the renamed file until then. If the agent dies between the two steps, the
next round repairs the missing live log. Older files are then compressed in a process of their own; never the newest, to
which the runtime may still write.
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
import shutil
import stat
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractContextManager

import msgspec

from actors.pod_workers.containers import files
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import CriError
from actors.shared.cri.model import CriContainer, CriContainerState, PodRuntime
from actors.shared.kube.quantity import quantity_value
from actors.shared.linux.confined_paths import opened_beneath
from supervision.errors import error_text

COMPRESS_SECONDS = 120.0
SUFFIX, TEMPORARY = ".gz", ".tmp"
_ROTATED = re.compile(r"\.(\d{8}-\d{6})(\.gz)?\Z")

Compress = Callable[[str], Awaitable[None]]
"""Compresses a file, in a separate process. Its path is below the directory of all logs."""


class LogRotationPolicy(msgspec.Struct, frozen=True, kw_only=True):
    size_bytes: int
    """The size in bytes from which on a log is rotated; negative: never."""
    files: int
    """Files of one container, the live one included."""
    at_once: int = 1


def limits_of(config: KubeletConfiguration) -> LogRotationPolicy:
    return LogRotationPolicy(
        size_bytes=quantity_value(config.containerLogMaxSize),
        files=config.containerLogMaxFiles,
        at_once=config.containerLogMaxWorkers,
    )


class RotationPlan(msgspec.Struct, frozen=True):
    """Files to remove and then to compress, by name."""

    remove: list[str]
    compress: list[str]


def rotation_plan(live: str, names: Iterable[str], files: int) -> RotationPlan:
    """The cleanup of the rotated files. Pure.

    A compressed file and its original count as one: the process died before it removed the original.
    """
    suffixes = [name[len(live) :] for name in names if name.startswith(f"{live}.")]
    remove = [f"{live}{ending}" for ending in suffixes if ending.endswith(TEMPORARY)]
    rotated: dict[str, set[str]] = {}
    for ending in suffixes:
        if match := _ROTATED.match(ending):
            rotated.setdefault(match[1], set()).add(match[2] or "")
    compress = []
    for age, when in enumerate(sorted(rotated, reverse=True)):
        forms = sorted(rotated[when])
        if age >= files - 1:
            remove += [f"{live}.{when}{form}" for form in forms]
        elif len(forms) == 2:
            remove.append(f"{live}.{when}")
        elif age > 0 and forms == [""]:
            compress.append(f"{live}.{when}")
    return RotationPlan(remove, compress)


def rotated_name(path: str, now: float) -> str:
    """The name has the node's local time, as in the kubelet, because it is compared with names that the kubelet has
    given."""
    return f"{path}.{time.strftime('%Y%m%d-%H%M%S', time.localtime(now))}"


class LogRotation:
    """Rotates the logs of a shard's containers."""

    def __init__(self, client: CriClient, logs_dir: str, limits: LogRotationPolicy, compress: Compress) -> None:
        self._client, self._logs_dir, self._limits, self._compress = client, logs_dir, limits, compress
        self._slots = asyncio.Semaphore(limits.at_once)

    async def round(self, pods: Iterable[PodRuntime], now: float) -> list[str]:
        """Check every running container's log. Returns the errors; all are retried in the next round."""
        if self._limits.size_bytes < 0:
            return []
        running = [
            instance for pod in pods for instance in pod.containers if instance.state is CriContainerState.RUNNING
        ]
        due = [
            instance for instance in running if self._is_own_log(instance.log_path) and self._is_due(instance.log_path)
        ]
        found = await asyncio.gather(*(self._rotate_log(instance, now) for instance in due))
        return [problem for problem in found if problem]

    def _is_own_log(self, path: str) -> bool:
        return path.startswith(f"{self._logs_dir}/") and ".." not in path.split("/")

    def _is_due(self, path: str) -> bool:
        """Whether the log is too large, or missing: after an interrupted rotation, or because somebody removed it."""
        try:
            with self._directory_of(path) as directory:
                about = os.lstat(f"{directory}/{os.path.basename(path)}")
                return stat.S_ISREG(about.st_mode) and about.st_size >= self._limits.size_bytes
        except FileNotFoundError:
            return True
        except OSError:
            return False

    def _directory_of(self, path: str) -> AbstractContextManager[str]:
        """The directory of a log. A link in its place, made by a container that can write to the logs, is refused: the
        files of another directory would be renamed and removed. Raises OSError."""
        return opened_beneath(self._logs_dir, os.path.dirname(path)[len(self._logs_dir) + 1 :])

    async def _rotate_log(self, instance: CriContainer, now: float) -> str:
        async with self._slots:
            try:
                await self._rotate(instance, now)
                await self._prune_rotated(instance.log_path)
            except (CriError, OSError) as error:
                where = f"{instance.pod_namespace}/{instance.pod_name}/{instance.name}"
                return f"log of container {where} is not rotated: {error_text(error)}"
        return ""

    async def _rotate(self, instance: CriContainer, now: float) -> None:
        files.remake_log_directory(self._logs_dir, os.path.dirname(instance.log_path))
        with self._directory_of(instance.log_path) as directory:
            path = f"{directory}/{os.path.basename(instance.log_path)}"
            rotated_path = rotated_name(path, now)
            renamed = _rename(path, rotated_path)
            try:
                await self._client.reopen_container_log(instance.id)
            except CriError:
                if renamed:
                    _rename(rotated_path, path)  # the runtime still writes to this file: restore its name
                raise

    async def _prune_rotated(self, path: str) -> None:
        directory, live = os.path.split(path[len(self._logs_dir) + 1 :])
        with self._directory_of(path) as opened:
            todo = rotation_plan(live, os.listdir(opened), self._limits.files)
            for name in todo.remove:
                os.unlink(f"{opened}/{name}")
        for name in todo.compress:
            await self._compress(os.path.join(directory, name))


def _rename(old: str, new: str) -> bool:
    """Rename without overwriting a file. Returns whether it was renamed."""
    if not os.path.lexists(old) or os.path.lexists(new):
        return False
    os.rename(old, new)
    return True


def compress(logs_dir: str, path: str) -> None:
    """Replace the file `path` below `logs_dir` by its compressed form, atomically, through no link. For a disposable
    process. Raises OSError."""
    folder, name = os.path.split(path)
    with opened_beneath(logs_dir, folder) as directory:
        _compress(f"{directory}/{name}")


def _compress(path: str) -> None:
    import gzip

    temporary, flags = f"{path}{TEMPORARY}", os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | flags)
    source, mode = os.fdopen(descriptor, "rb"), os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        source.close()
        raise OSError(errno.EINVAL, "is no regular file", path)  # reading a pipe may never end
    with source, os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | flags, 0o600), "wb") as target:
        os.fchmod(target.fileno(), stat.S_IMODE(mode))
        with gzip.GzipFile(fileobj=target, mode="wb") as packed:
            shutil.copyfileobj(source, packed, 1 << 20)
        target.flush()
        os.fsync(target.fileno())
    os.rename(temporary, f"{path}{SUFFIX}")
    os.unlink(path)
