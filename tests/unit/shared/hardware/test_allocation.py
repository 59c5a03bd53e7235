"""Parts of several managers make one allocation."""

from __future__ import annotations

from actors.shared.hardware.allocation import (
    NOTHING,
    AllocatedMount,
    ContainerAllocation,
    DeviceSpec,
    combined,
)

NULL, ZERO = DeviceSpec("/dev/null", "/dev/a", "rw"), DeviceSpec("/dev/zero", "/dev/b", "r")


def test_no_parts_are_nothing():
    assert combined([]) == combined([NOTHING, NOTHING]) == NOTHING


def test_an_allocation_that_is_cdi_only_in_one_part_is_cdi_only():
    parts = [ContainerAllocation(devices=(NULL,)), ContainerAllocation(cdi_devices=("x=1",), only_cdi=True)]
    assert combined(parts).only_cdi
    assert not combined(parts[:1]).only_cdi


def test_each_manager_gives_its_own_fields():
    parts = [ContainerAllocation(devices=(NULL,)), ContainerAllocation(cpuset_cpus="1,3", exclusive_cpus=True)]
    parts.append(ContainerAllocation(cpuset_mems="0"))
    assert combined(parts) == ContainerAllocation(
        devices=(NULL,), cpuset_cpus="1,3", exclusive_cpus=True, cpuset_mems="0"
    )


def test_lists_follow_each_other_and_what_is_given_twice_counts_once_as_the_first_gave_it():
    mount = AllocatedMount("/lib/a", "/usr/lib/a", read_only=True)
    one = ContainerAllocation(
        devices=(NULL, ZERO),
        mounts=(mount,),
        environment={"A": "1"},
        annotations={"a": "1"},
        cdi_devices=("x=1", "x=2"),
    )
    other = ContainerAllocation(
        devices=(DeviceSpec("/dev/full", "/dev/b", "rwm"), DeviceSpec("/dev/full", "/dev/c", "rwm")),
        mounts=(AllocatedMount("/lib/b", "/usr/lib/a"), AllocatedMount("/lib/b", "/usr/lib/b")),
        environment={"A": "2", "B": "2"},
        annotations={"a": "2", "b": "2"},
        cdi_devices=("x=2", "x=3"),
    )
    both = combined([one, other])
    assert [item.container_path for item in both.devices] == ["/dev/a", "/dev/b", "/dev/c"]
    assert both.devices[1] == ZERO
    assert both.mounts == (mount, AllocatedMount("/lib/b", "/usr/lib/b"))
    assert both.environment == {"A": "1", "B": "2"}
    assert both.annotations == {"a": "1", "b": "2"}
    assert both.cdi_devices == ("x=1", "x=2", "x=3")
