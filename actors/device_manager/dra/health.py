"""The health of devices as their drivers report it, as one immutable value. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Literal

import msgspec

from actors.shared.kube.resource_claims import ResourceClaimError

HealthState = Literal["Healthy", "Unhealthy", "Unknown"]
HEALTHY: Final[HealthState] = "Healthy"
UNHEALTHY: Final[HealthState] = "Unhealthy"
UNKNOWN: Final[HealthState] = "Unknown"
DEFAULT_TIMEOUT_SECONDS: Final = 30.0
MOST_DEVICES: Final = 16384
"""The most devices of one driver that are kept."""
MOST_NAME: Final = 253
"""Characters of the name of a pool, the longest that the API takes; those of devices are shorter. No claim has a device
with a longer one, and all names are kept, also in the file."""
MOST_COST: Final = 16 << 20
"""The most bytes for the health of all drivers' devices, besides COST_ASSURED of each driver."""
COST_ASSURED: Final = 64 << 10
"""Bytes that a driver may take, however much others take."""
_COST: Final = 500
"""Bytes of one device without its texts."""
MESSAGE_BYTES: Final = 1024
"""The longest message that the API takes."""

SKEW_SECONDS: Final = 5.0

DeviceId = tuple[str, str]
"""(pool, device)."""


class NoHealthService(ResourceClaimError):
    """The driver neither lists the service nor has it."""


class DraDeviceHealth(msgspec.Struct, frozen=True, kw_only=True):
    """The last report about one device."""

    pool: str
    device: str
    health: HealthState = UNKNOWN
    timeout: float = 0.0
    """Seconds without a report after which the health is unknown; 0.0: the default."""
    message: str = ""
    updated: float = 0.0
    """When it was reported, seconds since 1970."""

    @property
    def id(self) -> DeviceId:
        return self.pool, self.device

    @property
    def cost(self) -> int:
        """Bytes, roughly."""
        return _COST + len(self.pool) + len(self.device) + len(self.message)

    @property
    def expires(self) -> float:
        """When the report expires, seconds since 1970."""
        return self.updated + (self.timeout or DEFAULT_TIMEOUT_SECONDS)

    def is_over(self, now: float) -> bool:
        """Whether it has expired, or the clock was set back since, so that its age is unknown."""
        return now > self.expires or now < self.updated - SKEW_SECONDS

    def at(self, now: float) -> DraDeviceHealth:
        """The health at that time."""
        if not self.is_over(now):
            return self
        return msgspec.structs.replace(self, health=UNKNOWN, message="")

    def same(self, other: DraDeviceHealth | None) -> bool:
        """Whether users see no difference."""
        return other is not None and (self.health, self.message) == (other.health, other.message)


class DraHealth(msgspec.Struct, frozen=True):
    """The health of all devices that drivers report."""

    drivers: dict[str, dict[DeviceId, DraDeviceHealth]] = {}

    def of(self, driver: str, pool: str, device: str, now: float) -> DraDeviceHealth:
        known = self.drivers.get(driver, {}).get((pool, device))
        return known.at(now) if known is not None else DraDeviceHealth(pool=pool, device=device)

    def reported(
        self, driver: str, devices: Iterable[DraDeviceHealth], now: float
    ) -> tuple[DraHealth, frozenset[DeviceId]]:
        """Apply a report: devices that it does not name keep their health, but the oldest reports of those that are too
        many are forgotten, and names that no device can have are ignored. Also returns the changed ones."""
        known, changed = dict(self.drivers.get(driver, {})), set()
        for one in devices:
            if max(len(one.pool), len(one.device)) > MOST_NAME:
                continue
            new = msgspec.structs.replace(one, updated=now, message=shortened(one.message))
            before = known.get(one.id)
            if not new.same(before.at(now) if before is not None else None):
                changed.add(one.id)
            known.pop(one.id, None)
            known[one.id] = new
        for each in self._too_many(driver, known):
            del known[each]
            changed.add(each)
        return DraHealth({**self.drivers, driver: known}), frozenset(changed)

    def _too_many(self, driver: str, known: dict[DeviceId, DraDeviceHealth]) -> list[DeviceId]:
        """Those of the driver's devices for which there is no room beside those of others; `known`: oldest first."""
        others = sum(one.cost for name, of in self.drivers.items() if name != driver for one in of.values())
        excess = sum(one.cost for one in known.values()) - max(COST_ASSURED, MOST_COST - others)
        found = list(known)[: max(0, len(known) - MOST_DEVICES)]
        excess -= sum(known[each].cost for each in found)
        for each in list(known)[len(found) :]:
            if excess <= 0:
                break
            found.append(each)
            excess -= known[each].cost
        return found

    def expired(self, now: float) -> tuple[DraHealth, dict[str, frozenset[DeviceId]]]:
        """The health without expired reports. Returns their devices by driver, too."""
        gone = {
            driver: frozenset(key for key, one in devices.items() if one.is_over(now))
            for driver, devices in self.drivers.items()
        }
        kept = {
            driver: {key: one for key, one in devices.items() if key not in gone[driver]}
            for driver, devices in self.drivers.items()
        }
        return DraHealth(kept), {driver: devices for driver, devices in gone.items() if devices}

    def without(self, driver: str) -> tuple[DraHealth, frozenset[DeviceId]]:
        """The driver no longer reports. Also returns its devices."""
        rest = {name: devices for name, devices in self.drivers.items() if name != driver}
        return DraHealth(rest), frozenset(self.drivers.get(driver, {}))

    @property
    def next_expiry(self) -> float | None:
        """When the first report will hold no longer, seconds since 1970."""
        return min((one.expires for one in self._all_devices()), default=None)

    def _all_devices(self) -> Iterator[DraDeviceHealth]:
        for devices in self.drivers.values():
            yield from devices.values()


def shortened(message: str) -> str:
    """The message, shortened to what the API accepts."""
    data = message.encode()
    if len(data) <= MESSAGE_BYTES:
        return message
    return data[: MESSAGE_BYTES - 3].decode(errors="ignore") + "..."
