"""The health of devices: what users are told, when it is unknown, and its file."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.device_manager.dra.health import (
    COST_ASSURED,
    HEALTHY,
    MOST_COST,
    MOST_DEVICES,
    UNHEALTHY,
    UNKNOWN,
    DraDeviceHealth,
    DraHealth,
    HealthState,
    shortened,
)
from actors.device_manager.dra.health_file import decode, encode

DRIVER = "gpu.example.com"


def report(device: str, health: HealthState = HEALTHY, **more: object) -> DraDeviceHealth:
    return DraDeviceHealth(pool="p", device=device, health=health, **more)  # type: ignore[arg-type]


def test_only_user_visible_fields_count_as_a_change() -> None:
    health, changed = DraHealth().reported(DRIVER, [report("a"), report("b", UNHEALTHY)], 100.0)
    assert changed == {("p", "a"), ("p", "b")}
    health, changed = health.reported(DRIVER, [report("a"), report("b", UNHEALTHY, message="hot")], 110.0)
    assert changed == {("p", "b")}
    assert health.of(DRIVER, "p", "a", 110.0).updated == 110.0
    assert health.of(DRIVER, "p", "none", 110.0).health == UNKNOWN


def test_the_health_is_unknown_after_the_drivers_timeout_without_a_report() -> None:
    health, _ = DraHealth().reported(DRIVER, [report("a"), report("b", timeout=5.0, message="ok")], 100.0)
    assert health.next_expiry == 105.0
    assert health.of(DRIVER, "p", "b", 105.0).health == HEALTHY
    late = health.of(DRIVER, "p", "b", 105.1)
    assert (late.health, late.message) == (UNKNOWN, "")
    health, gone = health.expired(106.0)
    assert gone == {DRIVER: {("p", "b")}}
    assert health.next_expiry == 130.0
    assert health.expired(106.0) == (health, {})


def test_the_health_of_a_drivers_devices_is_forgotten_with_the_driver() -> None:
    health, _ = DraHealth().reported(DRIVER, [report("a")], 100.0)
    assert health.without(DRIVER) == (DraHealth(), frozenset({("p", "a")}))


def test_a_message_that_is_too_long_is_cut() -> None:
    assert shortened("x" * 1024) == "x" * 1024
    assert shortened("x" * 1025) == "x" * 1021 + "..."
    assert len(shortened("ä" * 1000).encode()) <= 1024


@given(
    st.dictionaries(
        st.tuples(st.text("ab", min_size=1), st.text("ab/", min_size=1)),
        st.tuples(st.sampled_from([HEALTHY, UNHEALTHY, UNKNOWN]), st.integers(1, 100), st.text(max_size=5)),
        max_size=3,
    ),
    st.integers(0, 2**31),
)
def test_encoded_data_is_decoded_unchanged(
    found: dict[tuple[str, str], tuple[HealthState, int, str]], now: int
) -> None:
    devices = [
        DraDeviceHealth(pool=pool, device=device, health=state, timeout=float(timeout), message=message)
        for (pool, device), (state, timeout, message) in found.items()
    ]
    health, _ = DraHealth().reported(DRIVER, devices, float(now))
    assert decode(encode(health)) == health


def test_a_file_of_the_kubelet_is_read() -> None:
    device = {
        "PoolName": "p",
        "DeviceName": "d",
        "Health": "Unhealthy",
        "LastUpdated": "2026-01-02T03:04:05.123456789+01:00",
        "HealthCheckTimeout": 30_000_000_000,
        "Message": "hot",
    }
    health = decode(json.dumps({DRIVER: {"Devices": {"p/d": device}}}).encode())
    one = health.drivers[DRIVER]["p", "d"]
    assert (one.health, one.timeout, one.message, int(one.updated)) == (UNHEALTHY, 30.0, "hot", 1767319445)


@pytest.mark.parametrize("raw", [b"", b"[]", b'{"d":{"Devices":{"p/d":{"Health":"Well"}}}}'])
def test_a_file_that_cannot_be_read_is_an_error(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode(raw)


def test_a_driver_that_invents_devices_has_the_oldest_reports_forgotten() -> None:
    def devices(first: int) -> list[DraDeviceHealth]:
        return [
            DraDeviceHealth(pool="p", device=str(first + number), health="Healthy") for number in range(MOST_DEVICES)
        ]

    health, _ = DraHealth().reported("d", devices(0), 1.0)
    health, changed = health.reported("d", devices(2), 2.0)
    assert len(health.drivers["d"]) == MOST_DEVICES
    assert changed == {("p", name) for name in ("0", "1", str(MOST_DEVICES), str(MOST_DEVICES + 1))}


@pytest.mark.parametrize(("pool", "device"), [("p" * 254, "d"), ("p", "d" * 2**20)])
def test_a_driver_with_names_that_no_device_can_have_fills_no_memory(pool: str, device: str) -> None:
    odd = DraDeviceHealth(pool=pool, device=device, health="Unhealthy")
    good = DraDeviceHealth(pool="p" * 253, device="d", health="Healthy")
    health, changed = DraHealth().reported("gpu", [odd, good], 5.0)
    assert set(health.drivers["gpu"]) == changed == {good.id}


def test_the_health_of_many_drivers_takes_only_so_much_memory_and_each_has_room() -> None:
    health = DraHealth()
    for number in range(8):
        devices = [report(f"{number}-{one}", message="m" * 1000) for one in range(2000)]
        health, _ = health.reported(f"driver{number}", devices, 100.0)
    costs = {name: sum(one.cost for one in of.values()) for name, of in health.drivers.items()}
    assert sum(costs.values()) <= MOST_COST + 8 * COST_ASSURED
    assert costs["driver0"] > 2_000_000
    assert costs["driver7"] > COST_ASSURED / 2
    assert health.of("driver7", "p", "7-1999", 100.0).health == HEALTHY
    assert health.of("driver7", "p", "7-0", 100.0).health == UNKNOWN, "the oldest are forgotten"


def test_a_report_from_a_time_that_is_yet_to_come_is_unknown() -> None:
    """The clock was set back while no device manager ran; the report would be in force until that time has come."""
    health, _ = DraHealth().reported(DRIVER, [report("a")], 1e6)
    assert health.of(DRIVER, "p", "a", 1e6 - 1).health == HEALTHY, "a slow correction"
    assert health.of(DRIVER, "p", "a", 1e5).health == UNKNOWN
    assert health.expired(1e5)[1] == {DRIVER: {("p", "a")}}
