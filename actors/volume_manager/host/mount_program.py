"""Mounts by the node's mount program, which finds the helper of each file system (mount.nfs and so on).

Runs in a disposable process: it blocks while the server is away.
"""

from __future__ import annotations

import os
import signal
import subprocess
from typing import Final

from actors.shared.linux import mountinfo
from supervision.errors import error_text
from supervision.time_scale import scaled

PROGRAM: Final = "mount"
NOT_RUN, STILL_RUNNING = -1000, -1001
"""Replaces an exit status; the output says why there is none."""
_DIRECTORY_MODE: Final = 0o750
SHOWN_OUTPUT: Final = 2000
"""Characters of the program's output in the error."""


def command(source: str, target: str, kind: str, options: list[str], mounter: str) -> list[str]:
    """`mounter` (--experimental-mounter-path) is given the whole command, as the kubelet does for NFS."""
    by_options = ["-o", ",".join(options)] if options else []
    return [*([mounter] if mounter else []), PROGRAM, "-t", kind, *by_options, source, target]


def mount_by_program(source: str, target: str, kind: str, options: list[str], mounter: str, seconds: float) -> str:
    """Mount, unless something is mounted there. Returns '' or the error; after an error no directory is left. Raises
    OSError."""
    real = os.path.realpath(target)
    if mountinfo.at(real):
        return ""
    os.makedirs(target, _DIRECTORY_MODE, exist_ok=True)
    arguments = command(source, target, kind, options, mounter)
    error = mount_error(arguments, seconds)
    if error:
        os.rmdir(target)
    return error


def mount_error(arguments: list[str], seconds: float) -> str:
    """Run a mount command. Returns '' or the error, in the kubelet's words."""
    status, output = run(arguments, seconds)
    if status == 0:
        return ""
    ran = status not in (NOT_RUN, STILL_RUNNING)
    why, printed = (error_of(status, ""), output) if ran else (output, "")
    command = f"Mounting command: {arguments[0]}\nMounting arguments: {' '.join(arguments[1:])}"
    return f"mount failed: {why}\n{command}\nOutput: {printed}"


def run(arguments: list[str], seconds: float, keep: tuple[int, ...] = (), most: int = SHOWN_OUTPUT) -> tuple[int, str]:
    """Run a program; returns its exit status and output. After `seconds` it is killed with its children, because the
    helper of a file system may retry for minutes; the status is then STILL_RUNNING. It is NOT_RUN if the program cannot
    be started. `keep`: descriptors that the program inherits; `most`: characters of the output.
    """
    pipe = subprocess.PIPE
    try:
        program = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=pipe,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=keep,
        )
    except OSError as error:
        return NOT_RUN, error_text(error)
    try:
        output, _ = program.communicate(timeout=scaled(seconds))
    except subprocess.TimeoutExpired:
        os.killpg(program.pid, signal.SIGKILL)
        program.communicate()
        return STILL_RUNNING, f"still running after {seconds:g} s"
    return program.returncode, output.decode(errors="replace").strip()[:most]


def error_of(status: int, output: str) -> str:
    """'' or the error of a program that failed, from the result of `run`."""
    if status == 0:
        return ""
    if status in (NOT_RUN, STILL_RUNNING):
        return output
    return f"exit status {status}: {output}" if output else f"exit status {status}"
