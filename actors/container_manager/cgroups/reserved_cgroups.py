"""The limits of the host's own processes: enforceNodeAllocatable with system-reserved and kube-reserved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from actors.shared.config.feature_gates import enabled
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.config.fields.resources import parse_resource_list
from actors.shared.kube.go_text import quoted
from actors.shared.kube.quantity import ceil
from actors.shared.linux.cgroup_limits import CgroupLimits
from actors.shared.linux.cgroup_names import parse_root, path_of

from .pod_limits import milli_to_shares

COMPRESSIBLE: Final = "-compressible"
"""An entry with this suffix limits compressible resources only: CPU shares."""
_OWNERS: Final = {"system-reserved": "system reserved", "kube-reserved": "kube reserved"}


def owner(entry: str) -> str:
    """The name of the reservation of an entry of enforceNodeAllocatable in the events of the node."""
    return _OWNERS[entry.removesuffix(COMPRESSIBLE)]


def failure(entry: str, cgroup: str, why: str) -> str:
    """The event of the node: the limits cannot be set. `cgroup` as configured."""
    what = owner(entry).title() + (" Compressible" if entry.endswith(COMPRESSIBLE) else "")
    return f"Failed to enforce {what} Cgroup Limits on {quoted(cgroup)}: {why}"


def reserved_cgroups(config: KubeletConfiguration, driver: str) -> Iterator[tuple[str, str, str, CgroupLimits]]:
    """(entry, field, path of the cgroup, its limits) for each entry of enforceNodeAllocatable about reserved
    cgroups."""
    fields = {
        "system-reserved": ("systemReservedCgroup", config.systemReservedCgroup, config.systemReserved),
        "kube-reserved": ("kubeReservedCgroup", config.kubeReservedCgroup, config.kubeReserved),
    }
    protects = enabled("MemoryQoS", config.featureGates)  # whatever memoryReservationPolicy says, which is about pods
    for entry in config.enforceNodeAllocatable:
        found = fields.get(entry.removesuffix(COMPRESSIBLE))
        if found is not None:
            field, name, amounts = found
            limits = limits_of(amounts, only_cpu=entry.endswith(COMPRESSIBLE), protects=protects)
            yield entry, field, path_of(parse_root(name, driver), driver), limits


def limits_of(amounts: Mapping[str, str | int], *, only_cpu: bool, protects: bool = False) -> CgroupLimits:
    """The limits of a cgroup for a reservation. `protects`: the kernel keeps its memory from being reclaimed."""
    given = parse_resource_list(amounts)
    shares = milli_to_shares(ceil(given["cpu"] * 1000)) if "cpu" in given else None
    if only_cpu:
        return CgroupLimits(cpu_shares=shares)
    memory, pids = given.get("memory"), given.get("pid")
    return CgroupLimits(
        cpu_shares=shares,
        memory_bytes=None if memory is None else ceil(memory),
        memory_min=ceil(memory) if memory is not None and protects else None,
        pids=None if pids is None else ceil(pids),
    )
