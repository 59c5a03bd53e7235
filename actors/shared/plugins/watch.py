"""Registers the plugins whose sockets come into the directory, and deregisters those whose sockets go.

Each socket has a task while it is there, so a plugin that never answers costs no other. What the plugin is told are the
kubelet's texts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Final

from supervision.actor import Actor
from supervision.backoff import RetrySchedule

from .model import Plugin, PluginError, PluginHandler
from .sockets import FolderWatch, Stamp, look

if TYPE_CHECKING:
    from .registrar import Registrar

LOOK_SECONDS: Final = 1.0
"""Between two looks while the kernel does not tell of changes."""
WATCHED_LOOK_SECONDS: Final = 60.0
RETRIES: Final = RetrySchedule(first=0.5, limit=122.0)
DESIRED, ACTUAL = "desired_state_of_world", "actual_state_of_world"
_TOTAL: Final = "plugin_manager_total_plugins"


class _Place:
    """A path at which a socket is or was."""

    def __init__(self, stamp: Stamp | None) -> None:
        self.stamp = stamp
        self.changed = asyncio.Event()
        self.plugin: Plugin | None = None
        """The plugin that its handler has."""


class PluginWatch:
    """`handlers` by type. Types in `elsewhere` are served by another actor, which watches the same directory: they are
    left alone. A plugin of any other type is refused. Exactly one watch of an agent refuses: `elsewhere` is None for
    those that leave alone whatever they do not serve, and these do not count the sockets."""

    def __init__(
        self,
        actor: Actor,
        directory: str,
        handlers: Mapping[str, PluginHandler],
        elsewhere: Collection[str] | None,
        connect: Callable[[str], Registrar] | None = None,
    ) -> None:
        self._actor, self._directory, self._handlers, self._elsewhere = actor, directory, handlers, elsewhere
        self._connect = connect or _connect
        self._places: dict[str, _Place] = {}
        self._folders = FolderWatch(directory, self.look)
        self._watched = False

    def start(self) -> None:
        self.look()
        self._again()

    def close(self) -> None:
        self._folders.close()

    def _again(self) -> None:
        """Look again after a time that depends on whether changes are seen."""

        def tick() -> None:
            self.look()
            self._again()

        self._actor.after(WATCHED_LOOK_SECONDS if self._watched else LOOK_SECONDS, tick)

    def look(self) -> None:
        self._watched = self._folders.follow()
        there = look(self._directory)
        for path in self._places.keys() - there.keys():
            self._set(path, None)
        for path, stamp in there.items():
            self._set(path, stamp)

    def _set(self, path: str, stamp: Stamp | None) -> None:
        place = self._places.get(path)
        if place is None:
            place = self._places[path] = _Place(stamp)
            self._actor.start_task(self._serve(path, place), f"register {path}")
        elif place.stamp != stamp:
            place.stamp = stamp
            place.changed.set()
        else:
            return
        self._count(path, DESIRED, there=stamp is not None)

    # -- one socket ---------------------------------------------------------------------------------------------------
    async def _serve(self, path: str, place: _Place) -> None:
        """As long as a socket is at the path."""
        while place.stamp is not None:
            place.changed.clear()
            await self._follow(path, place)
        place.changed.clear()
        await self._release(path, place)
        if place.changed.is_set():  # a socket has come while the plugin went
            self._actor.start_task(self._serve(path, place), f"register {path}")
        else:
            del self._places[path]

    async def _follow(self, path: str, place: _Place) -> None:
        """Register, again where that fails, until something changes."""
        failures = 0
        while not place.changed.is_set():
            error = await self._register(path, place)
            if not error:
                await place.changed.wait()
                return
            failures += 1
            pause = RETRIES.pause(failures)
            self._actor.log.warning("plugin at %s: %s; tried again in %g s", path, error, pause)
            await self._wait(place, pause)

    async def _wait(self, place: _Place, seconds: float) -> None:
        timer = self._actor.after(seconds, place.changed.set)
        stamp = place.stamp
        await place.changed.wait()
        timer.cancel()
        if place.stamp == stamp:
            place.changed.clear()

    async def _register(self, path: str, place: _Place) -> str:
        """Why the plugin is not registered; '' if it is, or another actor's."""
        registrar = self._connect(path)
        try:
            plugin = await registrar.who()
            handler = self._handlers.get(plugin.kind)
            if handler is None:
                await self._release(path, place)
                if self._elsewhere is None or plugin.kind in self._elsewhere:
                    return ""
                error = f"no handler registered for plugin type: {plugin.kind} at socket {path}"
                return await self._refuse(registrar, error)
            if refusal := handler.refusal(plugin):
                await self._release(path, place)
                return await self._refuse(registrar, f"plugin validation failed with err: {refusal}")
            if place.plugin is not None and (place.plugin.kind, place.plugin.name) != (plugin.kind, plugin.name):
                await self._release(path, place)
            place.plugin = plugin  # before it is taken, so that it is given back even if that fails half way
            self._count(path, ACTUAL, there=True)
            try:
                await handler.register(plugin)
            except PluginError as error:
                return await self._refuse(registrar, f"plugin registration failed with err: {error}")
            await registrar.notify("")
        except PluginError as error:
            return str(error)
        finally:
            await registrar.close()
        return ""

    async def _refuse(self, registrar: Registrar, reason: str) -> str:
        error = f"RegisterPlugin error -- {reason}"
        await registrar.notify(error)
        return error

    async def _release(self, path: str, place: _Place) -> None:
        plugin, place.plugin = place.plugin, None
        if plugin is not None:
            self._count(path, ACTUAL, there=False)
            await self._handlers[plugin.kind].deregister(plugin)

    def _count(self, path: str, state: str, *, there: bool) -> None:
        if state == DESIRED and self._elsewhere is None:
            return
        if there:
            self._actor.metrics.gauge(_TOTAL, 1, socket_path=path, state=state)
        else:
            self._actor.metrics.drop(_TOTAL, socket_path=path, state=state)


def _connect(path: str) -> Registrar:
    from .registrar import Registrar  # gRPC, only where there is a plugin

    return Registrar(path)
