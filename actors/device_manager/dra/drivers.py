"""The registered drivers. During a rolling update a driver has several plugins: the newest connected one serves."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Protocol

from actors.shared.kube.resource_claims import ResourceClaimError
from actors.shared.plugins.model import Plugin, PluginError
from supervision.actor import Actor

from .driver_services import DriverService, ServiceError, choose

if TYPE_CHECKING:
    from .connection import DraConnection

Connect = Callable[[str, str, DriverService], "DraConnection"]
"""Connects to (driver, endpoint, service)."""
MOST_PLUGINS: Final = 64
"""The most registered plugins. Each has a connection, and may have a report of health on its way."""
BROKEN: Final = "invalid supported gRPC versions of DRA driver plugin"


class DriverObserver(Protocol):
    """Is notified when a driver comes or goes."""

    def presence(self, driver: str, *, there: bool) -> None:
        """Whether any plugin of the driver is connected; may be called again without a change."""

    def plugin_registered(self, driver: str, connection: DraConnection) -> None:
        """A plugin has registered."""

    def plugin_deregistered(self, connection: DraConnection) -> None:
        """It has gone."""


class _Registered:
    """A plugin of a driver."""

    def __init__(self, plugin: Plugin, connection: DraConnection, following: Any) -> None:
        self.plugin, self.connection, self.following = plugin, connection, following
        self.connected = False


class DraDrivers:
    """The handler of plugins of type DRAPlugin."""

    def __init__(self, actor: Actor, followers: DriverObserver, connect: Connect | None = None) -> None:
        """`connect`: by default its module is imported with the first driver."""
        self._actor, self._followers = actor, followers
        self._connect = connect or self._connection
        self._plugins: dict[str, list[_Registered]] = {}
        """By driver, oldest first."""

    def get(self, driver: str) -> DraConnection:
        """Raises ResourceClaimError for a driver that is not registered."""
        plugins = self._plugins.get(driver, [])
        if not plugins:
            raise ResourceClaimError(f"DRA driver {driver} is not registered" if driver else "DRA driver name is empty")
        return next((one for one in reversed(plugins) if one.connected), plugins[-1]).connection

    def connected(self, driver: str) -> bool:
        return any(one.connected for one in self._plugins.get(driver, []))

    # -- registration ------------------------------------------------------------------------------------------------
    def refusal(self, plugin: Plugin) -> str:
        try:
            choose(plugin.versions)
        except ServiceError as error:
            return f"{BROKEN} {plugin.name} at endpoint {plugin.endpoint}: {error}"
        return "" if plugin.name else "DRA driver name is empty"

    async def register(self, plugin: Plugin) -> None:
        await self.deregister(plugin)
        plugins = self._plugins.get(plugin.name, [])
        if any(one.plugin.endpoint == plugin.endpoint for one in plugins):
            text = f"endpoint {plugin.endpoint} already registered for DRA driver plugin {plugin.name}"
            raise PluginError(text)
        if sum(map(len, self._plugins.values())) >= MOST_PLUGINS:
            raise PluginError(f"the node has {MOST_PLUGINS} plugins of DRA drivers, and takes no more")
        service = choose(plugin.versions)
        connection = self._connect(plugin.name, plugin.endpoint, service)
        one = _Registered(plugin, connection, None)
        self._plugins[plugin.name] = [*plugins, one]
        self._followers.presence(plugin.name, there=self.connected(plugin.name))
        self._actor.start_task(self._follow(one), f"connection {plugin.endpoint}")
        self._followers.plugin_registered(plugin.name, connection)
        text = "DRA driver %s is registered at %s, service %s"
        self._actor.log.info(text, plugin.name, plugin.endpoint, service.version)

    async def deregister(self, plugin: Plugin) -> None:
        plugins = self._plugins.get(plugin.name, [])
        gone = [one for one in plugins if one.plugin.socket == plugin.socket]
        if not gone:
            return
        rest = [one for one in plugins if one not in gone]
        if rest:
            self._plugins[plugin.name] = rest
        else:
            del self._plugins[plugin.name]
        for one in gone:
            self._followers.plugin_deregistered(one.connection)
            await one.connection.close()
        self._followers.presence(plugin.name, there=self.connected(plugin.name))
        self._actor.log.info("DRA driver %s is gone from %s", plugin.name, plugin.endpoint)

    async def _follow(self, one: _Registered) -> None:
        """Keep `connected` up to date until the plugin is gone."""

        def changed(there: bool) -> None:
            if one in self._plugins.get(one.plugin.name, []) and one.connected is not there:
                one.connected = there
                self._followers.presence(one.plugin.name, there=self.connected(one.plugin.name))

        await one.connection.follow(changed)

    def _connection(self, driver: str, endpoint: str, service: DriverService) -> DraConnection:
        from .connection import DraConnection  # gRPC, only where there is a driver

        return DraConnection(driver, endpoint, service, self._actor.metrics)
