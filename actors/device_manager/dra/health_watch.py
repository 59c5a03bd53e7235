"""Follows the health that drivers report, and reports changes (KEP-4680)."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from actors.device_manager.rate_limit import MessageRate, SharedTime
from actors.shared.kube.resource_claims import ResourceClaimError
from actors.shared.repeated_save import RepeatedSave
from supervision.actor import Actor, Timer
from supervision.state_file import read_private, write_private
from supervision.time_scale import scaled

from . import health_file
from .health import DeviceId, DraHealth, NoHealthService

if TYPE_CHECKING:
    from .connection import DraConnection

RETRY_SECONDS: Final = 5.0
Changed = Callable[[str, frozenset[DeviceId]], None]
"""Called with (driver, its devices whose health has changed)."""


class HealthWatch:
    def __init__(self, actor: Actor, root_dir: str, changed: Changed, clock: Callable[[], float]) -> None:
        """`clock`: seconds since 1970, steady."""
        self._actor, self._changed, self._clock = actor, changed, clock
        self._path = os.path.join(root_dir, "dra_health_state")
        self.health = DraHealth()
        self._streams: dict[DraConnection, tuple[str, asyncio.Future[None]]] = {}
        """The driver, and the cleanup for when its plugin is gone."""
        self._expiry: Timer | None = None
        self._time = SharedTime()
        self._save = RepeatedSave(actor, self._write, "the health of devices")

    def load(self) -> None:
        try:
            self.health = health_file.decode(read_private(self._path))
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:
            self._actor.log.warning("%s cannot be read, the drivers are asked again: %s", self._path, error)
        self._expire()

    def follow(self, driver: str, connection: DraConnection) -> None:
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._streams[connection] = (driver, ended)
        self._actor.start_task(self._watch(driver, connection, ended), f"health {driver}")

    def unfollow(self, connection: DraConnection) -> None:
        _, ended = self._streams.pop(connection, ("", None))
        if ended is not None:
            ended.set_result(None)

    async def _watch(self, driver: str, connection: DraConnection, ended: asyncio.Future[None]) -> None:
        """Watch until the plugin is gone, or turns out to report no health."""
        while not ended.done():
            reading = asyncio.ensure_future(self._read(driver, connection))
            await asyncio.wait({reading, ended}, return_when=asyncio.FIRST_COMPLETED)
            reading.cancel()
            await asyncio.wait({reading})
            error = None if reading.cancelled() else reading.exception()
            if error is not None and not isinstance(error, ResourceClaimError):
                raise error
            if not self._has_others(driver, connection):
                self._set(driver, *self.health.without(driver))
            if isinstance(error, NoHealthService):
                self._streams.pop(connection, None)
                return
            if error is not None:
                self._actor.log.info("DRA driver %s: %s; tried again in %g s", driver, error, RETRY_SECONDS)
            await asyncio.wait({ended}, timeout=scaled(RETRY_SECONDS))

    def _has_others(self, driver: str, connection: DraConnection) -> bool:
        """Whether another plugin of the driver reports: in a rolling update there are two for a while."""
        return any(name == driver and other is not connection for other, (name, _) in self._streams.items())

    async def _read(self, driver: str, connection: DraConnection) -> None:
        """Raises ResourceClaimError."""
        pace = MessageRate()
        async for devices in connection.watch_health():
            async with self._time.turn():
                self._set(driver, *self.health.reported(driver, devices, self._clock()))
            await pace.after(time.monotonic())

    def _set(self, driver: str, health: DraHealth, changed: frozenset[DeviceId]) -> None:
        self.health = health
        self._expire_later()
        if changed:
            self._save()
            self._changed(driver, changed)

    # -- expiry ------------------------------------------------------------------------------------------------------
    def _expire_later(self) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
        due = self.health.next_expiry
        wait = max(0.0, due - self._clock()) + 0.1 if due is not None else 0.0
        self._expiry = self._actor.after(wait, self._expire) if due is not None else None

    def _expire(self) -> None:
        self.health, gone = self.health.expired(self._clock())
        self._expire_later()
        if gone:
            self._save()
        for driver, devices in gone.items():
            self._changed(driver, devices)

    def _write(self) -> None:
        write_private(self._path, health_file.encode(self.health), sync=False)
