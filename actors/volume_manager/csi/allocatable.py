"""The volume limit of each driver (CSINode allocatable.count). The driver is asked for it when it registers, every
nodeAllocatableUpdatePeriodSeconds of its CSIDriver, and when an attachment fails because the limit is exceeded."""

from __future__ import annotations

from supervision.actor import Actor, Timer

from .api_objects import ApiObjects
from .drivers import CsiDrivers
from .errors import CsiError


class AllocatableCounts:
    """A driver whose CSIDriver sets no period is asked only at registration."""

    def __init__(self, actor: Actor, drivers: CsiDrivers, api: ApiObjects) -> None:
        self._actor, self._drivers, self._api = actor, drivers, api
        self._periods: dict[str, tuple[int, Timer]] = {}
        """Seconds, by driver."""
        self._in_flight: set[str] = set()
        """The drivers that are being asked."""

    async def look(self) -> None:
        """Follow the periods: drivers come and go, and periods change."""
        present = self._drivers.names
        for name in self._periods.keys() - set(present):
            self._set(name, 0)
        for name in present:
            try:
                spec = await self._api.watched_driver(name)
            except CsiError as error:
                self._actor.log.warning("the period of the counts of %s is not known: %s", name, error)
                continue
            self._set(name, spec.nodeAllocatableUpdatePeriodSeconds or 0)

    def _set(self, name: str, seconds: int) -> None:
        known = self._periods.get(name)
        if known is not None and known[0] == seconds:
            return
        if known is not None:
            known[1].cancel()
            del self._periods[name]
        if seconds > 0:
            self._periods[name] = (seconds, self._actor.every(float(seconds), lambda: self.ask(name)))

    def ask(self, name: str) -> None:
        if name not in self._in_flight:
            self._in_flight.add(name)
            self._actor.start_task(self._ask(name), f"count volumes of {name}")

    async def _ask(self, name: str) -> None:
        try:
            await self._drivers.refresh(name)
        except CsiError as error:
            self._actor.log.warning("the count of volumes of %s is not known: %s", name, error)
        finally:
            self._in_flight.discard(name)
