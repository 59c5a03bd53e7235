"""The client of the D-Bus system bus: calls of systemd and systemd-logind.

dbus-fast is imported at the first call: it takes 2 MB, and a host without systemd needs none of it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from supervision.time_scale import scaled

if TYPE_CHECKING:
    from dbus_fast import Message
    from dbus_fast.aio import MessageBus

CALL_SECONDS: Final = 5.0
"""Seconds for a call, including a new connection; scaled for the machine."""


class BusObject(NamedTuple):
    """An object of a service, seen through one interface."""

    service: str
    path: str
    interface: str


BUS: Final = BusObject("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
SYSTEMD: Final = BusObject("org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager")
"""org.freedesktop.systemd1(5)."""


class BusError(Exception):
    """The bus or the called service does not answer, or refuses."""

    def __init__(self, text: str, name: str = "") -> None:
        """`name`: D-Bus' name of the error that was answered; '' without an answer."""
        super().__init__(text)
        self.name = name


class DBusReply(NamedTuple):
    body: list[Any]
    descriptors: list[int]
    """Files of the answer, if they were requested. The receiver closes them."""


class Call(Protocol):
    """Calls a method of an object. Raises BusError."""

    async def __call__(self, target: BusObject, method: str, signature: str, body: list[Any]) -> DBusReply: ...


class SystemBus:
    """A connection, opened by the first call, and reopened by the first call after it was lost."""

    def __init__(
        self,
        *,
        on_signal: Callable[[str], None] = lambda signal: None,
        lost: Callable[[], None] = lambda: None,
        takes_descriptors: bool = False,
    ) -> None:
        """`on_signal` is called with the name of each signal, `lost` when a connection ends that was not closed. Only
        `call_for_descriptors` takes files from the bus."""
        self._on_signal, self._on_lost, self._takes_descriptors = on_signal, lost, takes_descriptors
        self._bus: MessageBus | None = None
        self._watching: asyncio.Task[None] | None = None
        self._connecting = asyncio.Lock()
        self._awaiting_descriptors = False

    def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
        if self._bus is not None:
            self._bus.disconnect()
            self._bus = None

    async def call(self, target: BusObject, method: str, signature: str, body: list[Any]) -> DBusReply:
        """Call a method with arguments of this signature. Raises BusError."""
        from dbus_fast import Message, MessageType

        service, path, interface = target
        message = Message(
            destination=service, path=path, interface=interface, member=method, signature=signature, body=body
        )
        try:
            async with asyncio.timeout(scaled(CALL_SECONDS)):
                bus = await self._connect()
                reply = await bus.call(message)
        except BusError:
            raise
        except TimeoutError as error:
            raise BusError(f"{method} was not answered within {scaled(CALL_SECONDS):g} s") from error
        except Exception as error:  # the library documents no narrower exception
            raise BusError(f"{method} was not answered: {_text(error)}") from error
        if reply is None:
            raise BusError(f"{method} was not answered")
        if reply.message_type is MessageType.ERROR:
            text = str(reply.body[0]) if reply.body else ""
            raise BusError(f"{method} was refused: {reply.error_name}: {text}", str(reply.error_name))
        return DBusReply(reply.body, reply.unix_fds if self._awaiting_descriptors else [])

    async def call_for_descriptors(self, target: BusObject, method: str, signature: str, body: list[Any]) -> DBusReply:
        """Like `call`, and the files of the answer come with it. One such call at a time."""
        self._awaiting_descriptors = True
        try:
            return await self.call(target, method, signature, body)
        finally:
            self._awaiting_descriptors = False

    async def get(self, target: BusObject, name: str) -> Any:
        """The value of a property. Raises BusError."""
        properties = target._replace(interface="org.freedesktop.DBus.Properties")
        reply = await self.call(properties, "Get", "ss", [target.interface, name])
        return reply.body[0].value

    # -- the connection -----------------------------------------------------------------------------------------------
    async def _connect(self) -> MessageBus:
        """Connect to DBUS_SYSTEM_BUS_ADDRESS of the environment, else to the usual address. Raises BusError."""
        from dbus_fast import BusType
        from dbus_fast.aio import MessageBus

        async with self._connecting:
            if self._bus is not None and self._bus.connected:
                return self._bus
            try:
                bus = MessageBus(bus_type=BusType.SYSTEM, negotiate_unix_fd=self._takes_descriptors)
                await bus.connect()
            except Exception as error:  # the library documents no narrower exception
                raise BusError(f"the system bus does not answer: {_text(error)}") from error
            bus.add_message_handler(self._handle_signal)
            self._bus, self._watching = bus, asyncio.ensure_future(self._watch(bus))
            return bus

    async def _watch(self, bus: MessageBus) -> None:
        with suppress(Exception):  # any cause of the lost connection
            await bus.wait_for_disconnect()  # type: ignore[no-untyped-call]
        if self._bus is bus:
            self._bus = None
        self._on_lost()

    def _handle_signal(self, message: Message) -> None:
        if not (self._awaiting_descriptors and message.reply_serial):  # files that were not requested, or too late
            for fd in message.unix_fds:
                os.close(fd)
        if message.member:
            self._on_signal(message.member)


def variants(properties: Mapping[str, tuple[str, Any]]) -> list[list[Any]]:
    """Properties, name to (D-Bus type, value), as an argument of signature a(sv)."""
    from dbus_fast import Variant

    return [[name, Variant(kind, value)] for name, (kind, value) in properties.items()]


def _text(error: BaseException) -> str:
    return str(error) or type(error).__name__
