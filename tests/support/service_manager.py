"""In the place of systemd, for what an agent tells it by sd_notify(3)."""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path
from typing import Any

from tests.support.waiting import wait_for


class ServiceManager:
    """Hears what is told on its socket, at once: a few datagrams fill that, and what comes then is lost."""

    def __init__(self, path: Path) -> None:
        self.environment: dict[str, Any] = {"NOTIFY_SOCKET": str(path)}
        self._heard: list[tuple[float, str]] = []
        self._sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._sock.bind(str(path))
        self._sock.settimeout(0.1)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def _listen(self) -> None:
        while not self._ended.is_set():
            try:
                lines = self._sock.recv(4096).decode().splitlines()
            except TimeoutError:
                continue
            self._heard += [(time.monotonic(), line) for line in lines]

    def __enter__(self) -> ServiceManager:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._sock.close()

    def count(self, line: str, since: float = 0.0) -> int:
        """How often it has heard that, since then by CLOCK_MONOTONIC."""
        return sum(said == line and when > since for when, said in list(self._heard))

    def wait_for(self, line: str, count: int = 1, within: float = 20.0) -> None:
        """Until it hears from now on so many of what is told again and again, in so many seconds."""
        started_at = time.monotonic()
        wait_for(lambda: self.count(line, max(started_at, time.monotonic() - within)) >= count)
