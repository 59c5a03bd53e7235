"""The connection to systemd-logind over the system bus: org.freedesktop.login1(5), Inhibitor Locks.

Whether the machine shuts down is read from logind's property. The signal only prompts the reading, as anybody on the
bus may send one.
"""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from supervision.time_scale import scaled

if TYPE_CHECKING:
    from dbus_fast import Message
    from dbus_fast.aio import MessageBus

CALL_SECONDS: Final = 5.0
DROP_IN_DIR: Final = "/etc/systemd/logind.conf.d"
DROP_IN: Final = "99-kubelet.conf"
"""The kubelet's name for it, so that there is one such file, whichever agent runs."""
WHO: Final = "kubelet"
WHY: Final = "Kubelet needs time to handle node shutdown"
_BUS: Final = "org.freedesktop.DBus"
_LOGIN: Final = ("org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager")
_SYSTEMD: Final = ("org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager")
_SIGNAL: Final = "PrepareForShutdown"
_MATCH: Final = f"type='signal',sender='{_LOGIN[0]}',path='{_LOGIN[1]}',interface='{_LOGIN[2]}',member='{_SIGNAL}'"


class LogindError(Exception):
    """logind, or the bus, is not there or refuses."""


class Logind:
    """One connection. Every call raises LogindError."""

    def __init__(self, drop_in_dir: str = DROP_IN_DIR) -> None:
        self._drop_in_dir = drop_in_dir
        self._bus: MessageBus | None = None
        self._watching: asyncio.Task[None] | None = None
        self._signalled, self._lost = asyncio.Event(), False
        self._inhibiting = False

    async def connect(self) -> None:
        """By DBUS_SYSTEM_BUS_ADDRESS of the environment, else the usual address."""
        from dbus_fast import BusType
        from dbus_fast.aio import MessageBus

        try:
            bus = MessageBus(bus_type=BusType.SYSTEM, negotiate_unix_fd=True, auth_timeout=scaled(CALL_SECONDS))
            async with asyncio.timeout(scaled(CALL_SECONDS)):
                await bus.connect()
        except Exception as error:  # the library documents no narrower exception
            raise LogindError(f"the system bus does not answer: {_text(error)}") from error
        self._bus = bus
        bus.add_message_handler(self._heard)
        self._watching = asyncio.ensure_future(self._watch(bus))
        await self._call((_BUS, "/org/freedesktop/DBus", _BUS), "AddMatch", "s", [_MATCH])

    def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
        if self._bus is not None:
            self._bus.disconnect()
            self._bus = None

    async def _watch(self, bus: MessageBus) -> None:
        with suppress(Exception):  # however the connection was lost
            await bus.wait_for_disconnect()  # type: ignore[no-untyped-call]
        self._lost = True
        self._signalled.set()

    def _heard(self, message: Message) -> None:
        if not (self._inhibiting and message.reply_serial):  # descriptors that were not asked for, or too late
            for fd in message.unix_fds:
                os.close(fd)
        if message.member == _SIGNAL:
            self._signalled.set()

    async def wait_for_signal(self, seconds: float | None = None) -> None:
        """Wait for a signal, for so long at most. Raises LogindError when the connection is lost."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._signalled.wait()
        if self._lost:
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
        await self._call(_SYSTEMD, "KillUnit", "ssi", ["systemd-logind.service", "all", int(signal.SIGHUP)])

    async def inhibit(self) -> int:
        """Take a lock that delays a shutdown. Returns its descriptor; closing it releases the lock."""
        self._inhibiting = True
        try:
            reply = await self._call(_LOGIN, "Inhibit", "ssss", ["shutdown", WHO, WHY, "delay"])
        finally:
            self._inhibiting = False
        if not reply.unix_fds:
            raise LogindError("Inhibit was answered without a lock")
        return int(reply.unix_fds[0])

    # -- calls --------------------------------------------------------------------------------------------------------
    async def _property(self, name: str) -> Any:
        whom = (_LOGIN[0], _LOGIN[1], "org.freedesktop.DBus.Properties")
        reply = await self._call(whom, "Get", "ss", [_LOGIN[2], name])
        return reply.body[0].value

    async def _call(self, whom: tuple[str, str, str], member: str, signature: str, body: list[Any]) -> Message:
        from dbus_fast import Message, MessageType

        destination, path, interface = whom
        call = Message(
            destination=destination, path=path, interface=interface, member=member, signature=signature, body=body
        )
        try:
            async with asyncio.timeout(scaled(CALL_SECONDS)):
                reply = await self._connected().call(call)
        except Exception as error:
            raise LogindError(f"{member} was not answered: {_text(error)}") from error
        if reply is None or reply.message_type is MessageType.ERROR:
            why = f"{reply.error_name}: {reply.body}" if reply is not None else "no answer"
            raise LogindError(f"{member} was refused: {why}")
        return reply

    def _connected(self) -> MessageBus:
        if self._bus is None:
            raise LogindError("not connected")
        return self._bus


def _write_drop_in(directory: str, seconds: float) -> None:
    path = Path(directory, DROP_IN)
    try:
        os.makedirs(directory, 0o755, exist_ok=True)
        path.write_text(f"# Written by the node agent\n[Login]\nInhibitDelayMaxSec={ceil(seconds)}\n")
        path.chmod(0o644)
    except OSError as error:
        raise LogindError(f"{path} cannot be written: {error}") from error


def _text(error: BaseException) -> str:
    return str(error) or type(error).__name__
