"""Whether the process of the container runtime is short of open files, which `status` and `doctor` say."""

from __future__ import annotations

from typing import Final, NamedTuple

from actors.shared.config.endpoints import socket_of
from actors.shared.config.start.open_files import OF_POD
from actors.shared.linux.listener_pid import listener_pid
from supervision.resource_limits import open_files
from supervision.time_scale import scaled

_CONNECT_SECONDS: Final = 1.0


class FileShortage(NamedTuple):
    """What is wrong, and what mends it."""

    text: str
    remedy: str


def file_shortage(endpoint: str, *, managed: bool, pid: int = 0) -> FileShortage | None:
    """Whether the runtime has no open files left for one more pod; None: it has, or nothing listens there. Without any
    it no longer accepts a connection. `managed`: it has the hard limit of the agent, else of its own service. `pid`:
    its process if that is known; a socket with many connections that wait accepts no other one."""
    try:
        pid = pid or listener_pid(socket_of(endpoint), scaled(_CONNECT_SECONDS))
    except OSError:
        return None
    files = open_files(pid) if pid > 1 else None
    if files is None or not 0 <= files.most - files.opened < OF_POD:
        return None
    opened, most = files
    text = f"its process, pid {pid}, has {opened} of {most} files open, so no further pod starts"
    whose = "the agent" if managed else "the runtime"
    return FileShortage(text, f"start {whose} with a higher limit, LimitNOFILE or ulimit -n, or lower maxPods")
