"""A container's allocation from the managers of CPUs, memory and devices, in the terms of CRI's ContainerConfig. Pure.
Each manager fills its own fields; `combined` merges them. A pod worker gets it from the container manager (PodAdmitted,
ContainerPrepared) and puts it into the config of the container (`pod_workers/containers`).
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class DeviceSpec(msgspec.Struct, frozen=True):
    """A device node of the host that the container sees."""

    host_path: str
    container_path: str
    permissions: str
    """Some of the letters r, w and m (mknod)."""


class AllocatedMount(msgspec.Struct, frozen=True):
    """A file or directory of the host that is mounted into the container, before its volumes."""

    host_path: str
    container_path: str
    read_only: bool = False


class ContainerAllocation(msgspec.Struct, frozen=True, kw_only=True):
    """The hardware of one container. For empty fields the runtime's default applies."""

    cpuset_cpus: str = ""
    """The CPUs that the container may run on, in the kernel's list format: 1,3-5."""
    cpuset_mems: str = ""
    """NUMA nodes that its memory comes from, likewise."""
    exclusive_cpus: bool = False
    """The CPUs are exclusive, and its CPU quota is not enforced (gate DisableCPUQuotaWithExclusiveCPUs)."""
    devices: tuple[DeviceSpec, ...] = ()
    mounts: tuple[AllocatedMount, ...] = ()
    environment: dict[str, str] = {}
    """Environment variables; the pod's spec overrides them."""
    annotations: dict[str, str] = {}
    """Annotations of the container for the runtime; the agent's own override them."""
    cdi_devices: tuple[str, ...] = ()
    """Fully qualified names of CDI devices: vendor.com/class=name."""
    only_cdi: bool = False
    """Some devices are given by CDI names only: a runtime that ignores CDI would start the container without them."""


NOTHING = ContainerAllocation()


def combined(parts: Iterable[ContainerAllocation]) -> ContainerAllocation:
    """The allocations of several managers merged: lists are joined, each device, mount and name once. If two values
    conflict, the first one counts."""
    parts = list(parts)
    return ContainerAllocation(
        cpuset_cpus=next((one.cpuset_cpus for one in parts if one.cpuset_cpus), ""),
        cpuset_mems=next((one.cpuset_mems for one in parts if one.cpuset_mems), ""),
        exclusive_cpus=any(one.exclusive_cpus for one in parts),
        devices=tuple(
            {item.container_path: item for one in reversed(parts) for item in reversed(one.devices)}.values()
        )[::-1],
        mounts=tuple({item.container_path: item for one in reversed(parts) for item in reversed(one.mounts)}.values())[
            ::-1
        ],
        environment={name: value for one in reversed(parts) for name, value in one.environment.items()},
        annotations={name: value for one in reversed(parts) for name, value in one.annotations.items()},
        only_cdi=any(one.only_cdi for one in parts),
        cdi_devices=tuple(dict.fromkeys(name for one in parts for name in one.cdi_devices)),
    )
