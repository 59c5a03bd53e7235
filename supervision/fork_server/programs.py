"""A child that is another program: it is executed unchanged and is in service once its socket accepts."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, NoReturn

from ..process.blackbox import BlackBox
from ..resource_limits import allow_open_files
from ..spec import ChildSpec
from ..state_file import read_private, write_private
from . import core_dumps
from .signals import before_program

EXIT_NOT_EXECUTED = 127
KEPT_STACKS: Final = 5
_OWN_VARIABLES = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID")


def execute(spec: ChildSpec, blackbox: BlackBox) -> NoReturn:
    """In the child: execute the program. An error is written to the black box."""
    try:
        os.setsid()
        _redirect(spec.log_file)
        restore_files(spec.files)
        if spec.probe is not None and spec.probe.stacks_file:
            prepare_stacks(spec.probe.stacks_file)
        before_program()
        core_dumps.allow_as_before()
        allow_open_files(spec.open_files)
        os.execvpe(spec.program[0], spec.program, _environment(spec))  # noqa: S606 - argv, no shell
    except OSError as error:
        blackbox.record("", error)
    os._exit(EXIT_NOT_EXECUTED)


def restore_files(files: Mapping[str, str]) -> None:
    """Write each file that is missing, or has another text. `files`: as in ChildSpec. Raises OSError."""
    for path, text in files.items():
        content = text.encode()
        with suppress(OSError):
            if read_private(path) == content:
                continue
        write_private(path, content)


def prepare_stacks(file: str) -> None:
    """Make the directory of the program's stacks, and keep the newest ones. `file`: as in ProgramProbe. Raises
    OSError."""
    directory, _, name = file.rpartition("/")
    os.makedirs(directory, 0o700, exist_ok=True)
    pattern = re.compile("[0-9]+".join(re.escape(part) for part in name.split("{pid}")))
    paths = [entry.path for entry in os.scandir(directory) if pattern.fullmatch(entry.name)]
    for path in sorted(paths, key=_written_at)[:-KEPT_STACKS]:
        with suppress(FileNotFoundError):
            os.unlink(path)


def _written_at(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except FileNotFoundError:
        return 0.0


def _environment(spec: ChildSpec) -> dict[str, str]:
    # the service manager's variables are for the agent, not for the program
    inherited = {name: value for name, value in os.environ.items() if name not in _OWN_VARIABLES}
    return {**inherited, **spec.environment}


def _redirect(log_file: str) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    if log_file:
        log = os.open(log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o640)
        os.dup2(log, 1)
        os.dup2(log, 2)


def accepts(path: str) -> bool:
    """Whether a Unix socket accepts connections. Does not block; a full queue counts as accepting."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) as sock:
            sock.connect(path)
    except BlockingIOError:
        return True
    except OSError:  # nobody listens, or no descriptor is free here
        return False
    return True
