"""Registers the drivers of this node by their sockets, and keeps their connections and the CSINode object."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from supervision.actor import Actor
from supervision.backoff import RetrySchedule
from supervision.metrics import Metrics

from .errors import CsiError
from .model import Driver
from .node_objects import NodeObjects
from .sockets import Stamp, look

if TYPE_CHECKING:
    from .connection import Connection

LOOK_SECONDS: Final = 1.0
RETRIES: Final = RetrySchedule(first=0.5, limit=122.0)
CSI_PLUGIN: Final = "CSIPlugin"


class Drivers:
    """`connect` makes a connection; by default its module is imported with the first socket."""

    def __init__(
        self,
        actor: Actor,
        registry: str,
        objects: NodeObjects,
        connect: Callable[[str], Connection] | None = None,
    ) -> None:
        self._actor, self._registry, self._objects = actor, registry, objects
        self._connect = connect or (lambda path: _connect(path, actor.metrics))
        self._seen: dict[str, Stamp] = {}
        self._names: dict[str, str] = {}
        """Driver by registration socket."""
        self._known: dict[str, tuple[Driver, Connection]] = {}
        self._changed = asyncio.Lock()

    def start(self) -> None:
        self._actor.every(LOOK_SECONDS, self.look)

    def get(self, name: str) -> tuple[Driver, Connection]:
        """Raises CsiError for a driver that is not registered."""
        found = self._known.get(name)
        if found is None:
            raise CsiError(f"driver name {name} not found in the list of registered CSI drivers")
        return found

    @property
    def names(self) -> list[str]:
        return sorted(self._known)

    def look(self) -> None:
        """Register sockets that are new or made again; deregister those that are gone."""
        there = look(self._registry)
        for path in self._seen.keys() - there.keys():
            self._actor.start_task(self._gone(path), f"deregister {path}")
        for path, stamp in there.items():
            if self._seen.get(path) != stamp:
                self._actor.start_task(self._come(path, stamp), f"register {path}")
        self._seen = there

    async def _come(self, path: str, stamp: Stamp) -> None:
        """Try until the driver is registered or its socket changes."""
        failures = 0
        while self._seen.get(path) == stamp:
            try:
                await self._register(path)
                return
            except CsiError as error:
                failures += 1
                pause = RETRIES.pause(failures)
                self._actor.log.warning("plugin at %s: %s; tried again in %g s", path, error, pause)
            await asyncio.sleep(pause)

    async def _register(self, path: str) -> None:
        """Raises CsiError."""
        registrar = self._connect(path)
        try:
            info = await registrar.who()
            error = _refused(info.type, info.name, list(info.supported_versions), path)
            if error:
                await registrar.notify(error)
                self._actor.log.warning("plugin at %s is not taken: %s", path, error)
                return
            try:
                await self._take(path, info.name, info.endpoint or path)
            except CsiError as problem:
                await registrar.notify(str(problem))
                raise
            await registrar.notify("")
        finally:
            await registrar.close()

    async def _take(self, path: str, name: str, endpoint: str) -> None:
        connection = self._connect(endpoint)
        try:
            driver = await connection.describe(name, endpoint)
            async with self._changed:
                await self._objects.add(driver)
        except CsiError:
            await connection.close()
            raise
        before = self._known.get(name)
        self._known[name], self._names[path] = (driver, connection), name
        if before is not None:
            self._actor.start_task(before[1].close(), f"close {before[0].endpoint}")
        self._actor.log.info("CSI driver %s is registered, with node ID %s", name, driver.node_id)

    async def _gone(self, path: str) -> None:
        name = self._names.pop(path, "")
        if not name or name in self._names.values():
            return  # the driver has another socket
        driver, connection = self._known.pop(name)
        self._actor.start_task(connection.close(), f"close {driver.endpoint}")
        self._actor.log.info("CSI driver %s is gone", name)
        try:
            async with self._changed:
                await self._objects.remove(name)
        except CsiError as error:
            self._actor.log.warning("CSI driver %s stays in the CSINode object: %s", name, error)


def _refused(kind: str, name: str, versions: list[str], path: str) -> str:
    """Why such a plugin is not taken; '' when it is."""
    if kind != CSI_PLUGIN:
        return f"no handler registered for plugin type: {kind} at socket {path}"
    if not name or "/" in name or name.startswith("."):
        return f"{name!r} is not the name of a driver"
    if not any(version.lstrip("v").partition(".")[0] == "1" for version in versions):
        return f"validation failed for CSI Driver {name}: versions {versions} are not supported, only 1.x"
    return ""


def _connect(path: str, metrics: Metrics) -> Connection:
    from .connection import Connection  # gRPC, only where there is a driver

    return Connection(path, metrics)
