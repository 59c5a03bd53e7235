"""Runs one request in `kubeconfig_process`, a process that is killed with all its children at its deadline.

It has a blocking interface, for the start and for processes that may wait, and a coroutine for actors.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from actors.shared.linux.program import PIPE, running
from supervision.errors import UNREADABLE
from supervision.time_scale import scaled

SCRIPT: Final = str(Path(__file__).with_name("kubeconfig_process.py"))
MOST_BYTES: Final = 16 << 20
"""The limit of an answer; one with three PEM files has some kilobytes."""
MAX_STDERR: Final = 400
"""The characters of stderr in an error."""
_IN_MEMORY: Final = ("/run", "/dev/shm")  # noqa: S108 - a directory in it that is ours alone
"""/run first: pods with hostIPC have the host's /dev/shm."""
_PREFIX: Final = "kubeconfig-"
_LEFT_SECONDS: Final = 300.0
"""An older directory belongs to a caller that was killed."""


class LoaderError(Exception):
    """The request failed. `kind` is the error's class in that process; `Timeout` and `Died` are made here."""

    def __init__(self, kind: str, text: str) -> None:
        self.kind, self.text = kind, text
        super().__init__(text)


@contextmanager
def scratch() -> Iterator[str]:
    """An empty in-memory directory, 0700, for the files that the package writes from a kubeconfig's data; removed at
    the end."""
    above = next((one for one in _IN_MEMORY if os.access(one, os.W_OK)), tempfile.gettempdir())
    for left in Path(above).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if left.stat().st_uid == os.getuid() and time.time() - left.stat().st_mtime > _LEFT_SECONDS:
                shutil.rmtree(left, ignore_errors=True)
    directory = tempfile.mkdtemp(prefix=_PREFIX, dir=above)
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


class LoaderProcess:
    """A process that starts up while the caller continues."""

    def __init__(self) -> None:
        """Raises OSError."""
        self._process = subprocess.Popen(
            _command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )

    def answer(self, request: Mapping[str, Any], seconds: float) -> Any:
        """Wait for the answer, at most `seconds`. Raises LoaderError, OSError."""
        process = self._process
        try:
            output, stderr = process.communicate(json.dumps(request).encode(), scaled(seconds))
        except subprocess.TimeoutExpired:
            raise LoaderError("Timeout", f"gave no answer within {scaled(seconds):g} s") from None
        finally:
            self.end()
        return _read_answer(output, stderr, process.returncode)

    def end(self) -> None:
        """Kill the process."""
        _end(self._process.pid, self._process.returncode)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()


async def answer_later(request: Mapping[str, Any], seconds: float) -> Any:
    """The same as a coroutine, for an actor. Raises LoaderError, OSError."""
    try:
        async with running(_command(), stdin=PIPE) as process:
            output, stderr = await asyncio.wait_for(process.communicate(json.dumps(request).encode()), scaled(seconds))
    except TimeoutError:
        raise LoaderError("Timeout", f"gave no answer within {scaled(seconds):g} s") from None
    return _read_answer(output, stderr, process.returncode)


def _command() -> list[str]:
    # isolated, so that neither the working directory nor the environment affects imports
    return [sys.executable, "-I", SCRIPT]


def _end(pid: int, code: int | None) -> None:
    if code is None:
        try:
            os.killpg(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it has ended meanwhile


def _read_answer(output: bytes, stderr: bytes, code: int | None) -> Any:
    if code != 0 or not output or len(output) > MOST_BYTES:
        text = stderr.decode(errors="replace").strip()[-MAX_STDERR:].rpartition("\n")[2]
        raise LoaderError("Died", f"the loader ended with {code}{f': {text}' if text else ''}")
    try:
        found = json.loads(output)
    except (*UNREADABLE, ValueError):
        raise LoaderError("Died", "the loader printed no answer") from None
    if "found" not in found:
        raise LoaderError(str(found.get("kind")), str(found.get("text")))
    return found["found"]
