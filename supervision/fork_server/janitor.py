"""Cleans up after a fork server that is killed: a process that waits for its end, removes the sockets and releases the
lock.

It holds the fork server's lock, so a new agent on the same directory starts only after the cleanup. It is a shell,
which takes a tenth of the memory of a Python interpreter."""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NoReturn

from .lock import JANITOR
from .signals import before_janitor

_SHELL: Final = "/bin/sh"
_SCRIPT: Final = """
printf %s "$0" > /proc/$$/comm
fork_server=$1
when_killed=$2
shift 2
read -r end
tries=0
while [ -d "/proc/$fork_server" ] && [ $tries -lt 200 ]; do
    sleep 0.005
    tries=$((tries + 1))
done
[ -z "$when_killed" ] || eval "$when_killed" </dev/null >/dev/null 2>&1
rm -rf -- "$@"
"""
"""The kernel kills the actors with the fork server. The loop waits a moment for them to end."""
_EXIT_NOT_EXECUTED: Final = 127


class Janitor:
    """The fork server's side."""

    def __init__(self, remove: Sequence[Path], locks: Sequence[int], when_killed: Sequence[str] = ()) -> None:
        """Start it. Once the fork server is gone it runs the program `when_killed`, then removes the paths `remove`.
        Raises OSError, also if there is no shell."""
        os.stat(_SHELL)
        paths = [str(path.absolute()) for path in remove]
        self._locks, self._arguments = locks, [str(os.getpid()), shlex.join(when_killed), *paths]
        self.fd, self.pid = -1, 0
        self.start()

    def start(self) -> None:
        """Start it again after it was dismissed. Raises OSError if the fork fails."""
        reader, writer = os.pipe2(os.O_CLOEXEC)
        # a signal in the child before its exec would be counted here too: both have the pipe of the event loop
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            pid = os.fork()
            if pid == 0:
                _become(reader, self._locks, self._arguments)
        except OSError:
            os.close(writer)
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            os.close(reader)
        self.fd, self.pid = writer, pid

    def stop(self) -> None:
        """End it: the fork server cleans up by itself."""
        if not self.pid:
            return
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.ended()

    def ended(self) -> None:
        """It has been reaped; its PID may be another process's by now."""
        os.close(self.fd)
        self.fd, self.pid = -1, 0


def _become(reader: int, locks: Sequence[int], arguments: list[str]) -> NoReturn:
    """In the child: execute the shell, with the pipe to the fork server as its input. The open lock files keep
    the locks."""
    try:
        os.setsid()
        before_janitor()
        os.dup2(reader, 0)
        for lock in locks:
            os.set_inheritable(lock, True)
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        os.execve(_SHELL, [JANITOR, "-c", _SCRIPT, JANITOR, *arguments], environment)  # noqa: S606 - nothing is pasted into the script
    finally:
        os._exit(_EXIT_NOT_EXECUTED)
