"""Files that a pod's containers need on the host: log directory and links, /etc/hosts, termination messages.

All are below the agent's own directories and are created without following symlinks, which a pod may have planted.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import Literal

from actors.shared.cri.model import CriContainer
from actors.shared.kube.container import Container
from actors.shared.kube.pod import Pod
from actors.shared.linux.confined_paths import UnsafePathError, make_directories, opened_beneath
from actors.shared.linux.directories import make_path
from actors.shared.linux.removal import have_few_files, remove_tree
from actors.shared.linux.symlinks import replace_link

from .names import log_directory, log_directory_name, log_link, pod_log_directory

MESSAGE_BYTES = 4096
FALLBACK_BYTES, FALLBACK_LINES = 2048, 80
Mark = Literal["post-start-due", "pre-stop-ended", "startup-passed"]
"""`post-start-due` exists from before the start of an instance until its postStart hook has ended; each other mark from
the event that it names."""
_COUNT = re.compile("[0-9]{1,9}")
"""A restart count. Longer numbers are none: other programs may create files in the log directory too."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC


def make_log_directory(logs_dir: str, pod: Pod, container: str = "") -> None:
    """Make the directory of the pod's logs, and in it the container's, because not every runtime makes that. Raises
    OSError, also for a link in the place of either: the runtime would write to where it points."""
    remake_log_directory(logs_dir, f"{logs_dir}/{log_directory_name(pod)}/{container}")


def remake_log_directory(logs_dir: str, directory: str) -> None:
    """Make a directory below `logs_dir`, if it is missing. Raises as `make_log_directory`."""
    make_path(logs_dir, 0o750)
    wanted = directory[len(logs_dir) + 1 :]
    top = os.open(logs_dir, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.close(make_directories(top, wanted, 0o755))
    finally:
        os.close(top)
    with opened_beneath(logs_dir, wanted):
        pass


def clear_log_place(logs_dir: str, pod: Pod, container: str, restart_count: int) -> None:
    """Remove a link, a pipe, or a second name of another file from the place of an instance's log. A container that can
    write to the logs may have put it there, and the runtime would append to where it leads. Raises OSError."""
    folder = f"{log_directory_name(pod)}/{container}"
    with suppress(FileNotFoundError), opened_beneath(logs_dir, folder) as opened:
        log = f"{opened}/{restart_count}.log"
        about = os.lstat(log)
        if not stat.S_ISREG(about.st_mode) or about.st_nlink > 1:
            os.unlink(log)


def write_hosts(pod_dir: str, text: str) -> str:
    """Write the pod's /etc/hosts; its path. The file keeps its inode, as it is bind-mounted."""
    path = f"{pod_dir}/etc-hosts"
    make_path(pod_dir, 0o750)
    if _tail(path, len(text.encode()) + 1) == text:
        return path  # never truncated first, because containers use it
    # overwritten, then cut: on a full disk the containers keep the old content
    descriptor = os.open(path, _NEW & ~os.O_TRUNC, 0o644)
    try:
        whole = text.encode()
        if os.pwrite(descriptor, whole, 0) < len(whole):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        os.ftruncate(descriptor, len(whole))
        os.fchmod(descriptor, 0o644)
    finally:
        os.close(descriptor)
    return path


def termination_log(pod_dir: str, container: str, restart_count: int) -> str:
    """The file name of an instance's termination message: eight hexadecimal digits, derived from the count."""
    return f"{pod_dir}/containers/{container}/{restart_count:08x}"


def make_termination_log(pod_dir: str, container: Container, restart_count: int) -> str:
    """An empty file for the termination message; a new one for each instance."""
    path = termination_log(pod_dir, container.name, restart_count)
    make_path(os.path.dirname(path), 0o750)
    Path(path).unlink(missing_ok=True)
    os.close(os.open(path, _NEW | os.O_EXCL, 0o666))
    os.chmod(path, 0o666)  # the container may run as any user # noqa: S103
    return path


def mark_path(pod_dir: str, container: str, restart_count: int, mark: Mark) -> str:
    """The path of a mark of an instance, a file for the worker's next incarnation."""
    return f"{termination_log(pod_dir, container, restart_count)}.{mark}"


def set_mark(pod_dir: str, container: str, restart_count: int, mark: Mark) -> None:
    """Raises OSError."""
    path = mark_path(pod_dir, container, restart_count, mark)
    make_path(os.path.dirname(path), 0o750)
    os.close(os.open(path, _NEW, 0o640))


def clear_mark(pod_dir: str, container: str, restart_count: int, mark: Mark) -> None:
    """Raises OSError, but not when there is none."""
    Path(mark_path(pod_dir, container, restart_count, mark)).unlink(missing_ok=True)


def has_mark(pod_dir: str, container: str, restart_count: int, mark: Mark) -> bool:
    return os.path.lexists(mark_path(pod_dir, container, restart_count, mark))


def make_log_link(links_dir: str, logs_dir: str, pod: Pod, container: str, container_id: str, log: str) -> None:
    """Create the link for log collectors, replacing an existing one."""
    make_path(links_dir, 0o755)
    link, target = log_link(links_dir, pod, container, container_id), f"{pod_log_directory(logs_dir, pod)}/{log}"
    replace_link(link, target, f".{container_id}.new")  # the link's own name may have the maximum length already


def remove_log(links_dir: str, logs_dir: str, pod: Pod, instance: CriContainer) -> None:
    """Remove the log of a container, its rotated files and its link."""
    Path(log_link(links_dir, pod, instance.name, instance.id)).unlink(missing_ok=True)
    folder = f"{log_directory_name(pod)}/{instance.name}"
    # through no link in the place of a directory, or a container that can write to the logs has others' files removed
    with suppress(FileNotFoundError, NotADirectoryError, UnsafePathError), opened_beneath(logs_dir, folder) as opened:
        for name in _names(Path(opened)):
            if name.startswith(f"{instance.restart_count}.log"):
                Path(opened, name).unlink(missing_ok=True)


def remove_pod_logs(links_dir: str, logs_dir: str, namespace: str, name: str, uid: str) -> None:
    """Remove all logs of a pod, and the links to them."""
    directory = Path(log_directory(logs_dir, namespace, name, uid))
    prefix = f"{name}_{namespace}_"
    for link in _names(Path(links_dir)):
        if link.startswith(prefix):
            with suppress(OSError):
                if os.readlink(f"{links_dir}/{link}").startswith(f"{directory}/"):
                    os.unlink(f"{links_dir}/{link}")
    try:
        remove_tree(str(directory))
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:  # a pod with such a name never had a log directory
            raise


def remove_traces(links_dir: str, logs_dir: str, namespace: str, name: str, uid: str, pod_dir: str) -> None:
    """Remove all logs of a pod, whose `name` is '' if it is not known, and its directory. Runs in a disposable process
    unless `has_few_traces`. Raises OSError."""
    if name:
        remove_pod_logs(links_dir, logs_dir, namespace, name, uid)
    remove_tree(pod_dir)


def has_few_traces(logs_dir: str, namespace: str, name: str, uid: str, pod_dir: str) -> bool:
    """Whether `remove_traces` takes only milliseconds."""
    return have_few_files([pod_dir, *([log_directory(logs_dir, namespace, name, uid)] if name else [])])


def highest_log_number(logs_dir: str, pod: Pod, container: str) -> int:
    """The highest restart count with a log, -1 for none, so that the count continues even if the runtime forgot the
    container."""
    folder = f"{log_directory_name(pod)}/{container}"
    names: list[str] = []
    with suppress(OSError), opened_beneath(logs_dir, folder) as opened:
        names = _names(Path(opened))
    numbers = [name.partition(".")[0] for name in names if ".log" in name]
    return max((int(number) for number in numbers if _COUNT.fullmatch(number)), default=-1)


def remove_empty_log(logs_dir: str, pod: Pod, container: str, restart_count: int) -> None:
    """Remove the log of an instance that has written nothing, so that it does not count as one that ran."""
    with suppress(OSError), opened_beneath(logs_dir, f"{log_directory_name(pod)}/{container}") as opened:
        log = Path(opened, f"{restart_count}.log")
        if log.stat(follow_symlinks=False).st_size == 0:
            log.unlink()


def _names(directory: Path) -> list[str]:
    """The entries of a directory; none if it cannot be read. glob is not used, as it caches every pattern."""
    try:
        return os.listdir(directory)
    except OSError:
        return []


def termination_message(file: str, logs_dir: str, log: str, *, fallback: bool) -> str:
    """The end of the file, else (with `fallback`) the last lines of the log; '' if neither is readable. `log`: below
    `logs_dir`, and read through no link: who can write to the logs must not see another file in the pod's status."""
    text = _tail(file, MESSAGE_BYTES)
    if text or not fallback:
        return text
    raw, (folder, name) = "", os.path.split(log)
    with suppress(OSError), opened_beneath(logs_dir, folder) as opened:
        raw = _tail(f"{opened}/{name}", 16 * FALLBACK_BYTES)
    lines = []
    for line in raw.removesuffix("\n").split("\n")[-FALLBACK_LINES:]:  # splitlines would split at other characters too
        parts = line.split(" ", 3)
        if len(parts) == 4:
            lines.append(parts[3] + ("" if parts[2].startswith("P") else "\n"))
    return "".join(lines).encode()[-FALLBACK_BYTES:].decode(errors="ignore")


def _tail(path: str, most: int) -> str:
    """The end of a regular file; '' for anything else and for an unreadable file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb"):
            about = os.fstat(descriptor)
            if not stat.S_ISREG(about.st_mode):
                return ""
            return os.pread(descriptor, most, max(0, about.st_size - most)).decode(errors="replace")
    except OSError:
        return ""
