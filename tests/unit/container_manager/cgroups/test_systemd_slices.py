"""What is asked of systemd."""

from __future__ import annotations

from typing import Any

import pytest

from actors.container_manager.cgroups.systemd_slices import SliceError, Slices
from actors.shared.linux.cgroup_limits import CgroupLimits
from actors.shared.linux.system_bus import BusError, BusObject, DBusReply

POD = ("kubepods", "pod1")
SYSTEMD = "org.freedesktop.systemd1"


def systemd(*answers: BusError | None) -> tuple[Slices, list[tuple[str, list[Any]]]]:
    calls, left = [], list(answers)

    async def call(target: BusObject, method: str, signature: str, body: list[Any]) -> DBusReply:
        calls.append((method, body))
        if left and (answer := left.pop(0)) is not None:
            raise answer
        return DBusReply([], [])

    return Slices(2, call), calls


async def test_a_slice_is_started_with_its_limits() -> None:
    slices, calls = systemd()

    await slices.start(POD, CgroupLimits(pids=5))

    ((method, (unit, mode, properties, others)),) = calls
    assert (method, unit, mode, others) == ("StartTransientUnit", "kubepods-pod1.slice", "fail", [])
    assert {name: (variant.signature, variant.value) for name, variant in properties} == {
        "Description": ("s", "pods: kubepods-pod1.slice"),
        "DefaultDependencies": ("b", False),
        "CPUAccounting": ("b", True),
        "MemoryAccounting": ("b", True),
        "TasksAccounting": ("b", True),
        "TasksMax": ("t", 5),
    }


async def test_a_slice_that_is_there_is_updated() -> None:
    slices, calls = systemd(BusError("was refused", f"{SYSTEMD}.UnitExists"))

    await slices.start(POD, CgroupLimits(pids=5))

    assert [method for method, _ in calls] == ["StartTransientUnit", "SetUnitProperties"]
    unit, runtime, properties = calls[1][1]
    assert (unit, runtime) == ("kubepods-pod1.slice", True)
    assert [(name, variant.value) for name, variant in properties] == [("TasksMax", 5)]


async def test_a_missing_slice_counts_as_stopped() -> None:
    slices, calls = systemd(BusError("was refused", f"{SYSTEMD}.NoSuchUnit"))

    await slices.stop(POD)

    assert calls == [("StopUnit", ["kubepods-pod1.slice", "replace"])]


@pytest.mark.parametrize("name", ["", "org.freedesktop.DBus.Error.AccessDenied"])
@pytest.mark.parametrize("method", ["start", "update", "stop"])
async def test_an_error_of_systemd_names_the_slice(method: str, name: str) -> None:
    slices, calls = systemd(BusError("Access denied", name))
    arguments: tuple[Any, ...] = (POD,) if method == "stop" else (POD, CgroupLimits(pids=1))

    with pytest.raises(SliceError, match=r"kubepods-pod1\.slice: Access denied"):
        await getattr(slices, method)(*arguments)
    assert len(calls) == 1
