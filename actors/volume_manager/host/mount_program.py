"""Mounting by the node's mount program, which knows how to find the helper of each file system (mount.nfs and so on).

Runs in a disposable process: it blocks while the server is away.
"""

from __future__ import annotations

import os
import signal
import subprocess
from typing import Final

from actors.shared.linux import mountinfo
from supervision.time_scale import scaled

PROGRAM: Final = "mount"
_DIRECTORY_MODE: Final = 0o750
_OUTPUT: Final = 2000
"""Characters of the program's output in the error."""


def command(source: str, target: str, kind: str, options: list[str], mounter: str) -> list[str]:
    """`mounter` (--experimental-mounter-path) is given the whole command, as the reference does for NFS."""
    by_options = ["-o", ",".join(options)] if options else []
    return [*([mounter] if mounter else []), PROGRAM, "-t", kind, *by_options, source, target]


def mount_by_program(source: str, target: str, kind: str, options: list[str], mounter: str, seconds: float) -> str:
    """Mount, unless something is mounted there. '' or why not; then no directory is left. Raises OSError."""
    real = os.path.realpath(target)
    if any(mount.point == real for mount in mountinfo.read()):
        return ""
    os.makedirs(target, _DIRECTORY_MODE, exist_ok=True)
    arguments = command(source, target, kind, options, mounter)
    error = _run(arguments, seconds)
    if error:
        os.rmdir(target)
        return f"mount failed: {error}\nMounting command: {arguments[0]}\nMounting arguments: {' '.join(arguments[1:])}"
    return ""


def _run(arguments: list[str], seconds: float) -> str:
    """Killed with its children after `seconds`: the helper of a file system may retry for minutes."""
    pipe = subprocess.PIPE
    try:
        program = subprocess.Popen(
            arguments, stdin=subprocess.DEVNULL, stdout=pipe, stderr=subprocess.STDOUT, start_new_session=True
        )
    except OSError as error:
        return str(error)
    try:
        output, _ = program.communicate(timeout=scaled(seconds))
    except subprocess.TimeoutExpired:
        os.killpg(program.pid, signal.SIGKILL)
        program.communicate()
        return f"still running after {seconds:g} s"
    if program.returncode == 0:
        return ""
    text = output.decode(errors="replace").strip()[:_OUTPUT]
    return f"exit status {program.returncode}: {text}" if text else f"exit status {program.returncode}"
