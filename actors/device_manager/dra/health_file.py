"""The file dra_health_state, in the kubelet's format: JSON without a checksum. Pure.

After a start the reports of the file expire as if they had just arrived.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from supervision.errors import UNREADABLE

from .health import DEFAULT_TIMEOUT_SECONDS, UNKNOWN, DraDeviceHealth, DraHealth, HealthState

_SECOND: Final = 10**9


class _Device(msgspec.Struct, frozen=True):
    PoolName: str = ""
    DeviceName: str = ""
    Health: HealthState = UNKNOWN
    LastUpdated: datetime = datetime.fromtimestamp(0, UTC)
    HealthCheckTimeout: int = 0
    """Nanoseconds."""
    Message: str = ""


class _Driver(msgspec.Struct, frozen=True):
    Devices: dict[str, _Device] | None = None


def encode(health: DraHealth) -> bytes:
    found = {
        driver: _Driver({"/".join(key): _encode_device(one) for key, one in sorted(devices.items())})
        for driver, devices in sorted(health.drivers.items())
    }
    return msgspec.json.encode(found)


def decode(raw: bytes) -> DraHealth:
    """Raises ValueError."""
    try:
        drivers: dict[str, Any] = msgspec.json.decode(raw, type=dict[str, _Driver])
        return DraHealth(
            {
                name: {one.id: one for one in map(_decode_device, (of.Devices or {}).values())}
                for name, of in drivers.items()
            }
        )
    except UNREADABLE as error:
        raise ValueError(str(error)) from None


def _encode_device(one: DraDeviceHealth) -> _Device:
    updated = datetime.fromtimestamp(one.updated, UTC)
    timeout = round((one.timeout or DEFAULT_TIMEOUT_SECONDS) * _SECOND)
    return _Device(one.pool, one.device, one.health, updated, timeout, one.message)


def _decode_device(one: _Device) -> DraDeviceHealth:
    return DraDeviceHealth(
        pool=one.PoolName,
        device=one.DeviceName,
        health=one.Health,
        updated=one.LastUpdated.timestamp(),
        timeout=one.HealthCheckTimeout / _SECOND,
        message=one.Message,
    )
