"""A stand-in for systemd-logind, and for systemd as far as slices and signals go: a process of its own on a bus.

Run as `python -m tests.support.fake_logind DROP_IN_DIR DELAY_SECONDS EVENTS_FILE`, with the bus in
DBUS_SYSTEM_BUS_ADDRESS. It does what a line on its standard input says: `begin` a shutdown, `cancel` it, `forget` it as
one that is replaced does, `refuse` locks, `lie`: give the signal of a shutdown without one, `litter`: send that with a
descriptor.
What happens goes to the file of events, a line of JSON each. As logind does, it gives no lock while it shuts down, and
goes on when all locks are let go, or after the delay at most.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import time
from pathlib import Path
from typing import Annotated, Any

from dbus_fast import BusType, DBusError, Message, MessageType, PropertyAccess
from dbus_fast.aio import MessageBus
from dbus_fast.annotations import DBusBool, DBusInt32, DBusObjectPath, DBusSignature, DBusStr, DBusUnixFd
from dbus_fast.service import ServiceInterface, dbus_method, dbus_property, dbus_signal

DBusUInt64 = Annotated[int, DBusSignature("t")]
DBusNothing = Annotated[None, DBusSignature("")]
DBusProperties = Annotated[list[Any], DBusSignature("a(sv)")]
DBusOtherUnits = Annotated[list[Any], DBusSignature("a(sa(sv))")]


class Logind(ServiceInterface):
    """org.freedesktop.login1.Manager, as far as inhibitors go."""

    def __init__(self, drop_in_dir: str, delay: float, events: str) -> None:
        super().__init__("org.freedesktop.login1.Manager")
        self._drop_in_dir, self._delay, self._events = Path(drop_in_dir), delay, Path(events)
        self._preparing = self._refusing = False
        self._locks: set[int] = set()
        self._over = asyncio.Event()

    def say(self, event: str, **more: object) -> None:
        with self._events.open("a") as file:
            file.write(json.dumps({"event": event, "at": time.monotonic(), **more}) + "\n")

    @dbus_method()
    def Inhibit(self, what: DBusStr, who: DBusStr, why: DBusStr, mode: DBusStr) -> DBusUnixFd:
        if self._refusing:
            raise DBusError("org.freedesktop.DBus.Error.LimitsExceeded", "too many locks")
        if self._preparing:
            raise DBusError("org.freedesktop.login1.OperationInProgress", "the operation is already running")
        ours, passed = os.pipe()
        self._locks.add(ours)
        loop = asyncio.get_running_loop()
        loop.add_reader(ours, self._let_go, ours)
        loop.call_later(0.1, os.close, passed)  # once it is sent
        self.say("lock", what=what, who=who, why=why, mode=mode)
        return passed

    def _let_go(self, lock: int) -> None:
        asyncio.get_running_loop().remove_reader(lock)
        os.close(lock)
        self._locks.discard(lock)
        self.say("let go")
        if not self._locks:
            self._over.set()

    @dbus_property(access=PropertyAccess.READ)
    def PreparingForShutdown(self) -> DBusBool:
        self.say("asked")
        return self._preparing

    @dbus_property(access=PropertyAccess.READ)
    def InhibitDelayMaxUSec(self) -> DBusUInt64:
        return int(self._delay * 1e6)

    @dbus_signal()
    def PrepareForShutdown(self, start: DBusBool) -> DBusBool:
        return start

    def read_drop_ins(self) -> None:
        """As after SIGHUP."""
        for path in sorted(self._drop_in_dir.glob("*.conf")):
            found = re.search(r"^InhibitDelayMaxSec=([0-9.]+)$", path.read_text(), re.MULTILINE)
            if found is not None:
                self._delay = float(found[1])
        self.say("configuration", delay=self._delay)

    async def start(self) -> None:
        self._preparing = True
        self.say("begin")
        self._over.clear()
        self.PrepareForShutdown(True)
        try:
            async with asyncio.timeout(self._delay if self._locks else 0.0):
                await self._over.wait()
        except TimeoutError:
            self.say("overdue")
        if self._preparing:
            self.say("down")

    def litter(self, bus: MessageBus) -> None:
        ours, passed = os.pipe()
        loop = asyncio.get_running_loop()
        loop.add_reader(ours, self._swept, ours)
        loop.call_later(0.1, os.close, passed)  # once it is sent
        place: dict[str, Any] = {
            "path": "/org/freedesktop/login1",
            "interface": self.name,
            "member": "PrepareForShutdown",
        }
        bus.send(Message(message_type=MessageType.SIGNAL, signature="h", body=[0], unix_fds=[passed], **place))

    def _swept(self, fd: int) -> None:
        asyncio.get_running_loop().remove_reader(fd)
        os.close(fd)
        self.say("swept")

    def refuse(self) -> None:
        self._refusing = True

    def forget(self) -> None:
        self._preparing = False
        self.say("forget")

    def cancel(self) -> None:
        self._preparing = False
        self.say("cancel")
        self.PrepareForShutdown(False)


class Systemd(ServiceInterface):
    """org.freedesktop.systemd1.Manager, as far as signals to units and slices go."""

    def __init__(self, logind: Logind) -> None:
        super().__init__("org.freedesktop.systemd1.Manager")
        self._logind = logind
        self._units: set[str] = set()

    @dbus_method()
    def KillUnit(self, name: DBusStr, who: DBusStr, number: DBusInt32) -> DBusNothing:
        assert (name, who, number) == ("systemd-logind.service", "all", 1)
        asyncio.get_running_loop().call_later(0.3, self._logind.read_drop_ins)

    @dbus_method()
    def StartTransientUnit(
        self, name: DBusStr, mode: DBusStr, properties: DBusProperties, others: DBusOtherUnits
    ) -> DBusObjectPath:
        if name in self._units:
            raise DBusError(f"{self.name.removesuffix('.Manager')}.UnitExists", f"Unit {name} was already loaded.")
        if not name.endswith(".slice"):
            raise DBusError("org.freedesktop.DBus.Error.InvalidArgs", f"Unit name {name} is not valid.")
        self._units.add(name)
        self._tell("start", name, properties)
        return "/org/freedesktop/systemd1/job/1"

    @dbus_method()
    def SetUnitProperties(self, name: DBusStr, runtime: DBusBool, properties: DBusProperties) -> DBusNothing:
        assert runtime
        self._tell("set", name, properties)

    @dbus_method()
    def StopUnit(self, name: DBusStr, mode: DBusStr) -> DBusObjectPath:
        if name not in self._units:
            raise DBusError(f"{self.name.removesuffix('.Manager')}.NoSuchUnit", f"Unit {name} not loaded.")
        self._units.discard(name)
        self._tell("stop", name, [])
        return "/org/freedesktop/systemd1/job/2"

    def _tell(self, event: str, name: str, properties: list[Any]) -> None:
        written = {key: [variant.signature, variant.value] for key, variant in properties}
        self._logind.say(event, unit=name, properties=written)


async def main(drop_in_dir: str, delay: str, events: str) -> None:
    bus = await MessageBus(bus_type=BusType.SYSTEM, negotiate_unix_fd=True).connect()
    logind = Logind(drop_in_dir, float(delay), events)
    bus.export("/org/freedesktop/login1", logind)
    bus.export("/org/freedesktop/systemd1", Systemd(logind))
    await bus.request_name("org.freedesktop.systemd1")
    await bus.request_name("org.freedesktop.login1")
    logind.say("ready")
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    running = set()
    while line := (await reader.readline()).decode().strip():
        if line == "begin":
            running.add(asyncio.ensure_future(logind.start()))
        elif line == "cancel":
            logind.cancel()
        elif line == "refuse":
            logind.refuse()
        elif line == "forget":
            logind.forget()
        elif line == "litter":
            logind.litter(bus)
        elif line == "lie":
            logind.PrepareForShutdown(True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
