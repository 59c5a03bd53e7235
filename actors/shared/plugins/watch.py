"""Registers a plugin when its socket appears in the directory, and deregisters it when the socket disappears.

Each socket has a task while it exists, so a plugin that never answers delays no other. registration_permits.py limits
the concurrent registrations, so that thousands of sockets neither block the loop nor fill the memory. The answers
to plugins are the kubelet's texts.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TYPE_CHECKING, Final

from actors.shared.token_bucket import TokenBucket
from supervision.actor import Actor
from supervision.backoff import RetrySchedule
from supervision.errors import error_text
from supervision.readable_texts import readable
from supervision.repeated_warnings import RepeatedWarnings

from .identity import PluginIdentity
from .model import Plugin, PluginError, PluginHandler
from .registration_permits import SLOW_SECONDS, TOO_SLOW, RegistrationPermits
from .sockets import MOST_DIRECTORIES, MOST_ENTRIES, FolderWatch, Stamp, look, stamp_of

if TYPE_CHECKING:
    from .registrar import Registrar

DIRECTORY_MODE: Final = 0o750
POLL_SECONDS: Final = 1.0
"""Seconds between checks while the kernel does not report changes."""
WATCHED_POLL_SECONDS: Final = 60.0
SLOW_PAUSE_SECONDS: Final = 5.0
"""The pause of a slow socket between two looks for a free permit. It does not queue for one, so that a new socket at
its path is seen at once."""
RETRIES: Final = RetrySchedule(first=0.5, limit=122.0)
REGISTRATIONS_A_SECOND: Final = 1.0
BURST: Final = 10
"""The most registrations of one plugin without a pause; further ones fail, and are tried again with pauses, because
each may change objects of the API server."""
MOST_NAMES: Final = 1000
"""The most plugins of which the registrations are counted."""
DESIRED, ACTUAL = "desired_state_of_world", "actual_state_of_world"
_TOTAL: Final = "plugin_manager_total_plugins"
Identify = Callable[[str], Awaitable[Plugin | None]]
"""What the plugin at a path has said of itself; None: it is not known, or it has not answered."""


class _WatchedPath:
    """A path at which a socket is or was."""

    def __init__(self, stamp: Stamp | None) -> None:
        self.stamp = stamp
        self.identity = PluginIdentity(stamp)
        self.changed = asyncio.Event()
        self.slow = False
        """Its last registration failed, and took long."""
        self.plugin: Plugin | None = None
        """The plugin that is registered with its handler."""

    def replace(self, stamp: Stamp | None) -> None:
        """Another socket is at the path, or none."""
        self.stamp, self.slow = stamp, False
        self.identity.replace(stamp)
        self.changed.set()


class PluginWatch:
    """Registers the plugins of the types in `handlers`. It ignores the types in `elsewhere`, which another actor serves
    that watches the same directory, and refuses any other type. Exactly one watch of an agent refuses plugins and
    counts the sockets: with `elsewhere` None, a watch ignores all plugins that it does not serve.

    Only the watch that refuses plugins asks each plugin what it is (GetInfo); the other one asks that watch
    (`identify`)."""

    def __init__(
        self,
        actor: Actor,
        directory: str,
        handlers: Mapping[str, PluginHandler],
        elsewhere: Collection[str] | None,
        connect: Callable[[str], Registrar] | None = None,
        clock: Callable[[], float] = time.monotonic,
        learn: Identify | None = None,
    ) -> None:
        """`clock`: seconds, for how long registrations take. `learn` asks the other watch; this one asks a plugin
        itself only if it gets no answer, or tries again."""
        self._actor, self._directory, self._handlers, self._elsewhere = actor, directory, handlers, elsewhere
        self._connect, self._clock, self._learn = connect or _connect, clock, learn
        self._watched_paths: dict[str, _WatchedPath] = {}
        self._folders = FolderWatch(directory, self.look)
        self._watched = False
        self._warnings = RepeatedWarnings(actor.log)
        self._permits = RegistrationPermits(actor)
        self._pace: dict[tuple[str, str], TokenBucket] = {}
        """By type and name of the plugin, the oldest first."""

    def start(self) -> None:
        self.look()
        self._schedule_look()

    def close(self) -> None:
        self._folders.close()

    def _schedule_look(self) -> None:
        """Schedule the next check, earlier if changes are not noticed."""

        def tick() -> None:
            self.look()
            self._schedule_look()

        self._actor.after(WATCHED_POLL_SECONDS if self._watched else POLL_SECONDS, tick)

    def look(self) -> None:
        self._make_directory()
        self._watched = self._folders.follow()
        too_large, unseen = list[str](), list[str]()
        there = look(self._directory, lambda: too_large.append(self._directory), unseen.append)
        if too_large:
            text = "%s has more than %d directories or %d entries: plugins beyond that are not registered"
            self._warnings.warn("too large", text % (self._directory, MOST_DIRECTORIES, MOST_ENTRIES))
        else:
            self._warnings.resolved("too large")
        for path in self._watched_paths.keys() - there.keys():
            if not any(path == one or path.startswith(f"{one}/") for one in unseen):
                self._set(path, None)
        for path, stamp in there.items():
            self._set(path, stamp)

    def _make_directory(self) -> None:
        """Make it again if another program has removed it: no plugin could make a socket."""
        if os.path.isdir(self._directory):
            return
        try:
            os.makedirs(self._directory, mode=DIRECTORY_MODE)
        except FileExistsError:
            return  # the other watch was quicker, or something else is there
        except OSError as error:
            self._warnings.warn("directory", f"{self._directory} is missing: {error_text(error)}")
        else:
            self._warnings.resolved("directory")
            self._actor.log.warning("%s was missing: it is made again", self._directory)

    def _set(self, path: str, stamp: Stamp | None) -> None:
        watched = self._watched_paths.get(path)
        if watched is None:
            watched = self._watched_paths[path] = _WatchedPath(stamp)
            self._actor.start_task(self._serve(path, watched), f"register {path}")
        elif watched.stamp != stamp:
            watched.replace(stamp)
        else:
            return
        self._count(path, DESIRED, there=stamp is not None)

    async def identify(self, path: str) -> Plugin | None:
        """What the plugin at the path has said of itself. Waits until it was asked; None if it did not answer, or if
        no socket is there."""
        known = self._watched_paths.get(path)
        if known is None or not _is_current(known, path):
            self.look()
            known = self._watched_paths.get(path)
        return await known.identity.get() if known is not None else None

    # -- one socket ---------------------------------------------------------------------------------------------------
    async def _serve(self, path: str, watched: _WatchedPath) -> None:
        """Serve the plugin as long as a socket is at the path."""
        while watched.stamp is not None:
            watched.changed.clear()
            await self._follow(path, watched)
        watched.changed.clear()
        await self._release(path, watched)
        if watched.changed.is_set():  # a socket has come while the plugin went
            self._actor.start_task(self._serve(path, watched), f"register {path}")
        else:
            del self._watched_paths[path]

    async def _follow(self, path: str, watched: _WatchedPath) -> None:
        """Register the plugin, with retries, until something changes."""
        failures = 0
        while not watched.changed.is_set():
            if watched.slow and self._permits.slow_taken:
                await self._wait(watched, SLOW_PAUSE_SECONDS)
                continue
            error = await self._register(path, watched)
            if not error:
                await watched.changed.wait()
                return
            failures += 1
            pause = RETRIES.pause(failures)
            self._actor.log.warning("plugin at %s: %s; tried again in %g s", path, error, pause)
            await self._wait(watched, pause)

    async def _wait(self, watched: _WatchedPath, seconds: float) -> None:
        timer = self._actor.after(seconds, watched.changed.set)
        stamp = watched.stamp
        await watched.changed.wait()
        timer.cancel()
        if watched.stamp == stamp:
            watched.changed.clear()

    async def _register(self, path: str, watched: _WatchedPath) -> str:
        """Why the plugin is not registered; '' if it is registered, belongs to another actor, or has changed
        meanwhile."""
        started_at, stamp, error = self._clock(), watched.stamp, TOO_SLOW
        with contextlib.suppress(TimeoutError):
            async with self._permits.permit(slow=watched.slow):
                if watched.changed.is_set():
                    return ""
                started_at, stamp = self._clock(), watched.stamp
                error = await self._register_now(path, watched)
        took_long = error == TOO_SLOW or (bool(error) and self._clock() - started_at > SLOW_SECONDS)
        watched.slow = took_long and watched.stamp == stamp
        return error

    async def _register_now(self, path: str, watched: _WatchedPath) -> str:
        if readable(path) != path:  # gRPC takes no such address
            return f"RegisterPlugin error -- the name of the socket {path} is not UTF-8"
        plugin = await self._learn(path) if self._learn is not None and watched.identity.learn() else None
        if plugin is not None and self._is_elsewhere(plugin):
            await self._release(path, watched)
            return ""
        registrar = self._connect(path)
        try:
            plugin = plugin or await self._ask(registrar, watched)
            handler = self._handlers.get(plugin.kind)
            if handler is None:
                await self._release(path, watched)
                if self._is_elsewhere(plugin):
                    return ""
                error = f"no handler registered for plugin type: {plugin.kind} at socket {path}"
                return await self._refuse(registrar, error)
            if refusal := handler.refusal(plugin):
                await self._release(path, watched)
                return await self._refuse(registrar, f"plugin validation failed with err: {refusal}")
            if watched.plugin is not None and (watched.plugin.kind, watched.plugin.name) != (plugin.kind, plugin.name):
                await self._release(path, watched)
            try:
                self._take_turn(plugin)
                watched.plugin = plugin  # before registering, so that it is deregistered even after a partial failure
                await handler.register(plugin)
            except PluginError as error:
                self._count(path, ACTUAL, there=False)
                return await self._refuse(registrar, f"plugin registration failed with err: {error}")
            self._count(path, ACTUAL, there=True)
            await registrar.notify("")
        except PluginError as error:
            return str(error)
        finally:
            await registrar.close()
        return ""

    def _is_elsewhere(self, plugin: Plugin) -> bool:
        """Whether another actor serves or refuses it."""
        return plugin.kind not in self._handlers and (self._elsewhere is None or plugin.kind in self._elsewhere)

    async def _ask(self, registrar: Registrar, watched: _WatchedPath) -> Plugin:
        """Raises PluginError."""
        asked, found = watched.stamp, None
        try:
            found = await registrar.get_info()
            return found
        finally:
            watched.identity.set(asked, found)

    def _take_turn(self, plugin: Plugin) -> None:
        """Raises PluginError for a plugin that registers too often."""
        key = plugin.kind, plugin.name
        if key not in self._pace and len(self._pace) >= MOST_NAMES:
            del self._pace[next(iter(self._pace))]
        bucket = self._pace.setdefault(key, TokenBucket(REGISTRATIONS_A_SECOND, BURST))
        if not bucket.take(self._clock()):
            raise PluginError(f"{plugin.name} registers too often")

    async def _refuse(self, registrar: Registrar, reason: str) -> str:
        error = f"RegisterPlugin error -- {reason}"
        await registrar.notify(error)
        return error

    async def _release(self, path: str, watched: _WatchedPath) -> None:
        plugin, watched.plugin = watched.plugin, None
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


def _is_current(known: _WatchedPath, path: str) -> bool:
    """Whether the known socket is still at the path; also if that cannot be seen."""
    try:
        return known.stamp == stamp_of(path)
    except OSError:
        return True
