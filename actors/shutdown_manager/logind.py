"""The connection to systemd-logind over the system bus: org.freedesktop.login1(5), Inhibitor Locks.

Whether the machine shuts down is read from logind's property. The signal only triggers the reading, because anyone on
the bus may send one.
"""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from math import ceil
from pathlib import Path
from typing import Any, Final

from actors.shared.linux.system_bus import BUS, SYSTEMD, BusError, BusObject, SystemBus
from supervision.errors import error_reason

DROP_IN_DIR: Final = "/etc/systemd/logind.conf.d"
DROP_IN: Final = "99-kubelet.conf"
"""The kubelet's name for it, so that there is one such file, whichever agent runs."""
WHO: Final = "kubelet"
WHY: Final = "Kubelet needs time to handle node shutdown"
_LOGIN: Final = BusObject("org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager")
_SIGNAL: Final = "PrepareForShutdown"
_MATCH: Final = (
    f"type='signal',sender='{_LOGIN.service}',path='{_LOGIN.path}',interface='{_LOGIN.interface}',member='{_SIGNAL}'"
)


class LogindError(Exception):
    """logind, or the bus, is missing or refuses."""


class Logind:
    """A connection. Every call raises LogindError."""

    def __init__(self, drop_in_dir: str = DROP_IN_DIR) -> None:
        self._drop_in_dir = drop_in_dir
        self._bus = SystemBus(on_signal=self._handle_signal, lost=self._lose, takes_descriptors=True)
        self._signalled, self._is_lost = asyncio.Event(), False

    async def connect(self) -> None:
        """Raises LogindError."""
        await self._call(BUS, "AddMatch", "s", [_MATCH])

    def close(self) -> None:
        self._bus.close()

    def _lose(self) -> None:
        self._is_lost = True
        self._signalled.set()

    def _handle_signal(self, name: str) -> None:
        if name == _SIGNAL:
            self._signalled.set()

    async def wait_for_signal(self, seconds: float | None = None) -> None:
        """Wait for a signal, at most `seconds`. Raises LogindError when the connection is lost."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._signalled.wait()
        if self._is_lost:
            raise LogindError("the connection to the system bus was lost")
        self._signalled.clear()

    async def preparing(self) -> bool:
        """Whether the machine shuts down."""
        return bool(await self._property("PreparingForShutdown"))

    async def delay(self) -> float:
        """The longest delay in seconds that logind allows (InhibitDelayMaxSec)."""
        return int(await self._property("InhibitDelayMaxUSec")) / 1e6

    async def raise_delay(self, seconds: float) -> None:
        """Configure logind to allow this delay. It reads the configuration some time later."""
        _write_drop_in(self._drop_in_dir, seconds)
        await self._call(SYSTEMD, "KillUnit", "ssi", ["systemd-logind.service", "all", int(signal.SIGHUP)])

    async def inhibit(self) -> int:
        """Take a lock that delays a shutdown. Returns its descriptor; closing it releases the lock."""
        try:
            reply = await self._bus.call_for_descriptors(_LOGIN, "Inhibit", "ssss", ["shutdown", WHO, WHY, "delay"])
        except BusError as error:
            raise LogindError(str(error)) from error
        if not reply.descriptors:
            raise LogindError("Inhibit was answered without a lock")
        return reply.descriptors[0]

    # -- calls --------------------------------------------------------------------------------------------------------
    async def _property(self, name: str) -> Any:
        try:
            return await self._bus.get(_LOGIN, name)
        except BusError as error:
            raise LogindError(str(error)) from error

    async def _call(self, whom: BusObject, method: str, signature: str, body: list[Any]) -> None:
        try:
            await self._bus.call(whom, method, signature, body)
        except BusError as error:
            raise LogindError(str(error)) from error


def _write_drop_in(directory: str, seconds: float) -> None:
    path = Path(directory, DROP_IN)
    try:
        os.makedirs(directory, 0o755, exist_ok=True)
        path.write_text(f"# Written by the node agent\n[Login]\nInhibitDelayMaxSec={ceil(seconds)}\n")
        path.chmod(0o644)
    except OSError as error:
        raise LogindError(f"{path} cannot be written: {error_reason(error)}") from error
