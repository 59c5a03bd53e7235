"""Opens a container's log. Only two kinds of symlinks are followed, because whoever can write to the log directory must
not make this root process read another file (KHV047)."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from typing import BinaryIO, Final

from actors.shared.linux.confined_paths import open_beneath
from supervision.errors import error_text

DOCKER_DIRECTORY: Final = "/var/lib/docker/containers"
"""cri-dockerd makes each log a symlink to Docker's log, which is below this directory."""
_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class LogUnavailable(Exception):
    """The log does not exist, or must not be read."""


def open_log(
    directory: str, relative: str, container_id: str = "", docker_directory: str = DOCKER_DIRECTORY
) -> BinaryIO:
    """Open a log below the directory of pod logs. Raises LogUnavailable.

    The log may be a link to a file in its pod's own directory, or to Docker's log of this very container.
    """
    try:
        try:
            file = _open(directory, relative, _READ)
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.EXDEV):
                raise
            file = _open(*_target(directory, relative, container_id, docker_directory), _READ)
    except (OSError, ValueError) as error:
        raise LogUnavailable(error_text(error)) from None
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise LogUnavailable(f"{relative}: not a regular file")
    return os.fdopen(file, "rb", buffering=0)


def read_beginning(directory: str, relative: str, container_id: str) -> None:
    """In a disposable process. A log that cannot be read is an answer: who reads it reports that."""
    with suppress(LogUnavailable, OSError), open_log(directory, relative, container_id) as file:
        file.read(1)


def _open(directory: str, relative: str, flags: int) -> int:
    """Open without following any symlink in `relative`. Raises OSError, ValueError."""
    top = os.open(directory, _DIRECTORY)
    try:
        return open_beneath(top, relative, flags=flags)
    finally:
        os.close(top)


def _target(directory: str, relative: str, container_id: str, docker_directory: str) -> tuple[str, str]:
    """Directory and path of the file that a log is a symlink to. Raises OSError."""
    folder, _, name = relative.rpartition("/")
    parent = _open(directory, folder, os.O_PATH | os.O_DIRECTORY)
    try:
        target = os.path.normpath(os.path.join(directory, folder, os.readlink(name, dir_fd=parent)))
    finally:
        os.close(parent)
    pod = f"{os.path.normpath(directory)}/{relative.partition('/')[0]}"
    if target.startswith(f"{pod}/"):
        return pod, target.removeprefix(f"{pod}/")
    name = container_id.rpartition("/")[2]
    own = f"{name}/{name}-json.log"
    if name and target == f"{docker_directory}/{own}":
        return docker_directory, own
    raise PermissionError(errno.EPERM, "a link out of the pod's log directory is not followed", relative)
