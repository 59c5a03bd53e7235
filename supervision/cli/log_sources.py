"""Where the log of an agent is: its log file, the file that takes its stderr, or the journal of systemd."""

from __future__ import annotations

import os
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TextIO

_POLL_SECONDS: Final = 0.1


def stderr_file(pid: int) -> str:
    """The regular file that is the stderr of the process; '' if that is a terminal or a pipe, or may not be read."""
    link = f"/proc/{pid}/fd/2"
    try:
        return os.readlink(link) if stat.S_ISREG(os.stat(link).st_mode) else ""
    except OSError:
        return ""


def journal_unit(pid: int) -> str:
    """The unit of systemd whose journal takes the stderr of the process (systemd.exec(5), JOURNAL_STREAM), else ''."""
    try:
        stream = os.stat(f"/proc/{pid}/fd/2")
        environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        groups = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    except OSError:
        return ""
    if f"JOURNAL_STREAM={stream.st_dev}:{stream.st_ino}".encode() not in environment:
        return ""
    parts = [part for group in groups for part in group.split("/")]
    return next((part for part in parts if part.endswith(".service")), "")


@contextmanager
def of_file(path: Path, *, follow: bool) -> Iterator[tuple[Iterator[str], Iterator[str]]]:
    """(the present lines, the lines appended later). Raises OSError."""
    with path.open(errors="replace") as file:
        yield iter(file), appended(file, path) if follow else iter(())


@contextmanager
def of_journal(unit: str, *, follow: bool, since: float) -> Iterator[tuple[Iterator[str], Iterator[str]]]:
    """The same for a unit's journal; with `follow` all lines are in the second. Raises OSError."""
    command = ["journalctl", f"--unit={unit}", "--output=cat", "--no-pager", "--quiet", "--lines=all"]
    command += [f"--since=@{since:.6f}"] * bool(since) + ["--follow"] * follow
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as process:
        lines = iter(process.stdout or ())
        try:
            yield (iter(()), lines) if follow else (lines, iter(()))
        finally:
            with suppress(ProcessLookupError):
                process.terminate()


def appended(file: TextIO, path: Path) -> Iterator[str]:
    """Complete lines as they are appended; after a rotation from the start of the new file."""
    partial = ""
    while True:
        partial += file.readline()
        if partial.endswith("\n"):
            yield partial
            partial = ""
            continue
        time.sleep(_POLL_SECONDS)
        try:
            found = os.stat(path)
        except FileNotFoundError:
            continue
        if found.st_size < file.tell():
            file.seek(0)
        elif found.st_ino != os.fstat(file.fileno()).st_ino:
            with path.open(errors="replace") as newer:
                yield from appended(newer, path)
