"""What the guest does when it is told: commands and files, over the socket of QEMU's guest agent.

The protocol is a JSON object a line, and knows no event for the end of a command: that is asked for.
"""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import time
from pathlib import Path
from typing import Any, NamedTuple

ENVIRONMENT = ["PATH=/opt/troupelet/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C.UTF-8"]
ANSWER_SECONDS = 120.0
ASK_AGAIN_SECONDS = 0.2
SYNC = 7001
"""Any number: its echo is the first answer that belongs to this connection."""


class Done(NamedTuple):
    code: int
    """Exit code, or minus the signal."""
    out: str
    err: str


class GuestAgent:
    """Raises OSError while nobody in the guest answers."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def run(self, command: str, seconds: float, data: str = "") -> Done:
        """By a shell. Raises AssertionError when it has not ended by then."""
        with contextlib.closing(self._connected()) as connection:
            pid = connection.ask(
                "guest-exec",
                {
                    "path": "/bin/bash",
                    "arg": ["-c", command],
                    "env": ENVIRONMENT,
                    "input-data": base64.b64encode(data.encode()).decode(),
                    "capture-output": True,
                },
            )["pid"]
            end = time.monotonic() + seconds
            while not (found := connection.ask("guest-exec-status", {"pid": pid}))["exited"]:
                assert time.monotonic() < end, f"in the guest, not within {seconds:g} s: {command}"
                time.sleep(ASK_AGAIN_SECONDS)
        texts = [base64.b64decode(found.get(name, "")).decode(errors="replace") for name in ("out-data", "err-data")]
        return Done(found.get("exitcode", -found.get("signal", 0)), *texts)

    def _connected(self) -> _Connection:
        return _Connection(self._path)


class _Connection:
    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.settimeout(ANSWER_SECONDS)
            self._socket.connect(str(path))
            self._lines = self._socket.makefile("rb")
            self._send("guest-sync", {"id": SYNC})
            while self._answer() != {"return": SYNC}:
                pass  # an answer to one who was here before
        except BaseException:
            self._socket.close()
            raise

    def ask(self, what: str, arguments: dict[str, Any]) -> Any:
        self._send(what, arguments)
        answer = self._answer()
        assert "return" in answer, f"{what}: {answer}"
        return answer["return"]

    def close(self) -> None:
        self._lines.close()
        self._socket.close()

    def _send(self, what: str, arguments: dict[str, Any]) -> None:
        self._socket.sendall(json.dumps({"execute": what, "arguments": arguments}).encode() + b"\n")

    def _answer(self) -> Any:
        line = self._lines.readline()
        if not line:
            raise ConnectionError("the guest agent is gone")
        return json.loads(line)
