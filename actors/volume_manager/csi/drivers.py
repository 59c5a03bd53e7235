"""The drivers of this node: their connections and their entries in the CSINode object."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from actors.shared.plugins.model import Plugin, PluginError
from supervision.actor import Actor
from supervision.backoff import RetrySchedule
from supervision.metrics import Metrics

from .errors import CsiError, UnknownDriverError
from .model import Driver
from .node_objects import NodeObjects

if TYPE_CHECKING:
    from .connection import CsiConnection


RETRIES: Final = RetrySchedule(first=0.1, limit=5.0)
"""The pauses between tries to create the CSINode: the Node may not be registered yet."""
FAILURES_TO_WARN: Final = 8
Version = tuple[int, ...]
_VERSION: Final = re.compile(r"\s*v?([0-9]{1,9}(?:\.[0-9]{1,9})+)(?![0-9])", re.ASCII)


class CsiDrivers:
    """Serves plugins of the type CSIPlugin (`Handler`). `connect` makes a connection; by default its module is imported
    with the first driver."""

    def __init__(
        self, actor: Actor, objects: NodeObjects, connect: Callable[[str], CsiConnection] | None = None
    ) -> None:
        self._actor, self._objects = actor, objects
        self._connect = connect or (lambda path: _connect(path, actor.metrics))
        self._names: dict[str, str] = {}
        """Driver by registration socket."""
        self._drivers: dict[str, tuple[Driver, CsiConnection]] = {}
        self._versions: dict[str, Version] = {}
        """The highest version that each driver offers."""
        self._changed = asyncio.Lock()

    def get(self, name: str) -> tuple[Driver, CsiConnection]:
        """Raises UnknownDriverError."""
        found = self._drivers.get(name)
        if found is None:
            raise UnknownDriverError(f"driver name {name} not found in the list of registered CSI drivers")
        return found

    @property
    def names(self) -> list[str]:
        return sorted(self._drivers)

    async def make_csi_node(self) -> None:
        """Create the CSINode, and retry until it exists. The registration of a driver creates it, too."""
        failures = 0
        while True:
            try:
                async with self._changed:
                    return await self._objects.ensure()
            except CsiError as error:
                failures += 1
                if failures == FAILURES_TO_WARN:
                    self._actor.log.warning("the CSINode object is not made yet: %s", error)
            await self._actor.pause(RETRIES.pause(failures))

    # -- registration -------------------------------------------------------------------------------------------------
    def refusal(self, plugin: Plugin) -> str:
        name = plugin.name
        if not name or "/" in name or name.startswith("."):
            return f"{name!r} is not the name of a driver"
        problem = self._problem(plugin)
        return f"validation failed for CSI Driver {name} at endpoint {plugin.endpoint}: {problem}" if problem else ""

    def _problem(self, plugin: Plugin) -> str:
        """The reason to refuse the driver, or ''. A second socket of a registered driver must offer a
        higher version.
        """
        failed = f'kubernetes.io/csi: ValidatePlugin for CSI driver "{plugin.name}" failed.'
        if not plugin.versions:
            return f"{failed} Plugin returned an empty list for supported versions"
        highest = highest_version(plugin.versions)
        if highest is None:
            given = " ".join(f'"{version}"' for version in plugin.versions)
            return f"{failed} None of the versions specified [{given}] are supported. err=it must be v1.x"
        others = [socket for socket, name in self._names.items() if name == plugin.name and socket != plugin.socket]
        there = self._versions.get(plugin.name, ())
        if others and highest <= there:
            text = "Another driver with the same name is already registered with a higher supported version"
            return f'{failed} {text}: "{".".join(map(str, there))}"'
        return ""

    async def register(self, plugin: Plugin) -> None:
        """Raises PluginError."""
        name, connection = plugin.name, self._connect(plugin.endpoint)
        try:
            driver = await connection.describe(name, plugin.endpoint)
            async with self._changed:
                if refusal := self.refusal(plugin):  # another socket was faster
                    raise CsiError(refusal)
                await self._objects.add(driver)
        except CsiError as error:
            await connection.close()
            raise PluginError(str(error)) from None
        except asyncio.CancelledError:  # it takes too long
            self._actor.start_task(connection.close(), f"close {plugin.endpoint}")
            raise
        before = self._drivers.get(name)
        self._drivers[name], self._names[plugin.socket] = (driver, connection), name
        self._versions[name] = highest_version(plugin.versions) or ()
        if before is not None:
            self._actor.start_task(before[1].close(), f"close {before[0].endpoint}")
        self._actor.log.info("CSI driver %s is registered, with node ID %s", name, driver.node_id)

    async def refresh(self, name: str) -> None:
        """Ask the driver again for the node's volume limit and topology. Raises CsiError."""
        driver, connection = self.get(name)
        fresh = await connection.describe(name, driver.endpoint)
        async with self._changed:
            if fresh == driver or self._drivers.get(name) != (driver, connection):
                return
            await self._objects.add(fresh)
            if self._drivers.get(name) != (driver, connection):
                return  # it has gone meanwhile
            self._drivers[name] = (fresh, connection)
        self._actor.log.info("CSI driver %s: at most %d volumes now", name, fresh.max_volumes)

    async def deregister(self, plugin: Plugin) -> None:
        name = self._names.pop(plugin.socket, "")
        if not name or name in self._names.values():
            return  # the driver has another socket
        driver, connection = self._drivers.pop(name)
        del self._versions[name]
        self._actor.start_task(connection.close(), f"close {driver.endpoint}")
        self._actor.log.info("CSI driver %s is gone", name)
        try:
            async with self._changed:
                if name not in self._drivers:  # another socket of it may have been registered meanwhile
                    await self._objects.remove(name)
        except CsiError as error:
            self._actor.log.warning("CSI driver %s stays in the CSINode object: %s", name, error)


def highest_version(versions: Iterable[str]) -> Version | None:
    """The highest version 1.x, the major version that this agent supports; None: there is none. Pure."""
    found = [_numbers(match[1]) for one in versions if (match := _VERSION.match(one))]
    return max((one for one in found if one[0] == 1), default=None)


def _numbers(text: str) -> Version:
    """The version as three numbers: 1.2 is 1.2.0."""
    parts = tuple(map(int, text.split(".")))
    return parts + (0,) * (3 - len(parts))


def _connect(path: str, metrics: Metrics) -> CsiConnection:
    from .connection import CsiConnection  # gRPC, only where there is a driver

    return CsiConnection(path, metrics)
