"""A system bus of the test's own, by the real dbus-daemon, with a stand-in for systemd-logind on it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from actors.shared.linux.parent_death import ends_with_parent
from tests.support.waiting import wait_for

ADDRESS = "DBUS_SYSTEM_BUS_ADDRESS"
_CONFIGURATION = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>system</type>
  <listen>unix:path={socket}</listen>
  <policy context="default">
    <allow own="*"/>
    <allow send_destination="*"/>
    <allow receive_sender="*"/>
    <allow user="*"/>
  </policy>
</busconfig>
"""


class SystemBus:
    """`folder` takes its socket, what logind is configured with, and what it has seen."""

    def __init__(self, folder: Path, delay: float = 5.0) -> None:
        """`delay`: seconds that logind waits at most."""
        self.drop_in_dir, self._folder, self._delay = folder / "logind.conf.d", folder, delay
        self.address = f"unix:path={folder}/bus"
        self._events = folder / "events.jsonl"
        self._daemon: subprocess.Popen[bytes] | None = None
        self._logind: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """The bus, then logind on it; after `stop` once more."""
        configuration = self._folder / "bus.conf"
        configuration.write_text(_CONFIGURATION.format(socket=self._folder / "bus"))
        (self._folder / "bus").unlink(missing_ok=True)
        log = (self._folder / "bus.log").open("ab")
        with log:
            self._daemon = subprocess.Popen(
                ends_with_parent(
                    ["dbus-daemon", f"--config-file={configuration}", "--nofork", "--nopidfile", "--nosyslog"]
                ),
                stdout=log,
                stderr=log,
            )
            wait_for((self._folder / "bus").exists)
            before = len(self.seen("ready"))
            self._logind = subprocess.Popen(
                ends_with_parent([
                    sys.executable, "-m", "tests.support.fake_logind", str(self.drop_in_dir), str(self._delay),
                    str(self._events),
                ]),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env={**os.environ, ADDRESS: self.address},
            )  # fmt: skip
        wait_for(lambda: len(self.seen("ready")) > before)

    def stop(self) -> None:
        for process in (self._logind, self._daemon):
            if process is not None:
                process.kill()
                process.wait()
                if process.stdin is not None:
                    process.stdin.close()
        self._logind = self._daemon = None

    def tell(self, word: str) -> None:
        """A word that fake_logind.py does something for."""
        assert self._logind is not None
        assert self._logind.stdin is not None
        self._logind.stdin.write(f"{word}\n".encode())
        self._logind.stdin.flush()

    def seen(self, event: str = "") -> list[dict[str, Any]]:
        """What logind has seen, oldest first."""
        if not self._events.exists():
            return []
        lines = self._events.read_text().split("\n")[:-1]
        return [one for one in map(json.loads, lines) if event in ("", one["event"])]

    def wait_seen(self, event: str, count: int = 1, seconds: float = 20.0) -> dict[str, Any]:
        """The count-th of them."""
        wait_for(lambda: len(self.seen(event)) >= count, seconds)
        return self.seen(event)[count - 1]

    @property
    def locks(self) -> int:
        """How many are held."""
        return len(self.seen("lock")) - len(self.seen("let go"))


@contextmanager
def system_bus(folder: Path, delay: float = 5.0) -> Iterator[SystemBus]:
    """It is the system's bus for this process, and for those that it starts meanwhile."""
    if shutil.which("dbus-daemon") is None:
        pytest.skip("NOT TESTED: there is no dbus-daemon")
    folder.mkdir(parents=True, exist_ok=True)
    bus, before = SystemBus(folder, delay), os.environ.get(ADDRESS)
    os.environ[ADDRESS] = bus.address
    try:
        bus.start()
        yield bus
    finally:
        bus.stop()
        os.environ.pop(ADDRESS)
        if before is not None:
            os.environ[ADDRESS] = before
