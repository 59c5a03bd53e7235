"""The CPUs and NUMA nodes of the machine, from sysfs. Pure, except for the functions at the end, which read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Final

import msgspec

from actors.shared.linux.cpu_list import parse_cpu_list
from actors.shared.linux.huge_page_pools import SYSTEM_POOLS, pool_bytes
from actors.shared.linux.kernel_files import online_cpus
from actors.shared.linux.memory import total_memory

Cpus = frozenset[int]
MEMORY: Final = "memory"
_NODE: Final = re.compile(r"node([0-9]+)\Z", re.ASCII)
_TOTAL: Final = re.compile(r"MemTotal:\s+([0-9]+) kB", re.ASCII)


class LogicalCpu(msgspec.Struct, frozen=True):
    """An online CPU: a hardware thread, and the units that it is in."""

    id: int
    core: int
    """The lowest CPU of its core."""
    socket: int
    node: int
    """Its NUMA node."""
    cache: int
    """The kernel's number of its last-level cache; a cache of another socket may have the same number."""


class NumaNode(msgspec.Struct, frozen=True):
    """A NUMA node; it may have no CPUs."""

    id: int
    distances: dict[int, int]
    """The distance to each node, itself included."""
    memory: dict[str, int]
    """Bytes: of all memory with huge pages, and of huge pages by size, as `hugepages-2Mi`."""


class MachineTopology(msgspec.Struct, frozen=True, dict=True):
    """The CPUs and NUMA nodes of the machine."""

    cpus: tuple[LogicalCpu, ...]
    nodes: tuple[NumaNode, ...]

    @cached_property
    def by_id(self) -> dict[int, LogicalCpu]:
        return {cpu.id: cpu for cpu in self.cpus}

    @cached_property
    def online(self) -> Cpus:
        return frozenset(self.by_id)

    @cached_property
    def node_ids(self) -> tuple[int, ...]:
        """The ids of all nodes, ascending."""
        return tuple(node.id for node in self.nodes)

    @cached_property
    def cpu_nodes(self) -> tuple[int, ...]:
        """Nodes with CPUs, ascending."""
        return tuple(sorted({cpu.node for cpu in self.cpus}))

    @cached_property
    def sockets(self) -> frozenset[int]:
        return frozenset(cpu.socket for cpu in self.cpus)

    @cached_property
    def threads_per_core(self) -> int:
        return max(1, len(self.cpus) // max(1, len({cpu.core for cpu in self.cpus})))

    @cached_property
    def core_sizes(self) -> str:
        """The numbers of CPUs that its cores have, for messages: `1 or 2`."""
        members: dict[int, int] = {}
        for cpu in self.cpus:
            members[cpu.core] = members.get(cpu.core, 0) + 1
        return " or ".join(str(size) for size in sorted(set(members.values())))

    @cached_property
    def cpus_per_socket(self) -> int:
        """The mean number of CPUs of a socket, rounded down."""
        return len(self.cpus) // max(1, len(self.sockets))

    @cached_property
    def cpus_per_cache(self) -> int:
        """The mean number of CPUs that share a cache, rounded down: the kubelet assumes caches of one size."""
        return len(self.cpus) // max(1, len({cpu.cache for cpu in self.cpus}))

    def of_nodes(self, nodes: Iterable[int]) -> Cpus:
        """The CPUs of these NUMA nodes."""
        wanted = frozenset(nodes)
        return frozenset(cpu.id for cpu in self.cpus if cpu.node in wanted)

    def of_sockets(self, sockets: Iterable[int]) -> Cpus:
        wanted = frozenset(sockets)
        return frozenset(cpu.id for cpu in self.cpus if cpu.socket in wanted)

    def sockets_of(self, nodes: Iterable[int]) -> frozenset[int]:
        """The sockets that these nodes are in."""
        wanted = frozenset(nodes)
        return frozenset(cpu.socket for cpu in self.cpus if cpu.node in wanted)

    def whole_cores(self, cpus: Cpus) -> Cpus:
        """All CPUs of the cores of these CPUs."""
        cores = {self.by_id[cpu].core for cpu in cpus if cpu in self.by_id}
        return frozenset(cpu.id for cpu in self.cpus if cpu.core in cores)


# -- sysfs -----------------------------------------------------------------------------------------------------------
def read_machine(root: str = "") -> MachineTopology:
    """The machine whose root directory is `root`. Raises OSError, ValueError."""
    system = Path(f"{root}/sys/devices/system")
    online = online_cpus(root)
    nodes = {int(match[1]): path for path in _entries(system / "node") if (match := _NODE.match(path.name))}
    of_node = {
        cpu: node for node, path in nodes.items() for cpu in parse_cpu_list((path / "cpulist").read_text("ascii"))
    }
    cpus = tuple(_cpu(system / "cpu" / f"cpu{number}", number, of_node.get(number, 0)) for number in sorted(online))
    if not nodes:
        return MachineTopology(cpus, (NumaNode(0, {0: 10}, _plain_memory(root)),))
    return MachineTopology(cpus, tuple(_node(nodes[number], number, sorted(nodes)) for number in sorted(nodes)))


def _entries(directory: Path) -> list[Path]:
    return sorted(directory.iterdir()) if directory.is_dir() else []


def _cpu(path: Path, number: int, node: int) -> LogicalCpu:
    siblings = parse_cpu_list(_text(path / "topology/thread_siblings_list")) or {number}
    socket = max(0, int(_text(path / "topology/physical_package_id") or 0))
    return LogicalCpu(number, min(siblings), socket, node, _cache(path / "cache", socket))


def _cache(directory: Path, socket: int) -> int:
    """The L3 cache; without one, the socket's number."""
    for index in _entries(directory):
        if _text(index / "level") == "3":
            given = _text(index / "id")
            return int(given) if given else min(parse_cpu_list(_text(index / "shared_cpu_list")) or {socket})
    return socket


def _node(path: Path, number: int, nodes: list[int]) -> NumaNode:
    distances = [int(word) for word in _text(path / "distance").split()]
    total = _TOTAL.search(_text(path / "meminfo"))
    memory = {MEMORY: int(total[1]) * 1024 if total else 0, **pool_bytes(f"{path}/hugepages")}
    return NumaNode(number, dict(zip(nodes, distances, strict=False)), memory)


def _plain_memory(root: str) -> dict[str, int]:
    """The memory of the machine, for a kernel without NUMA."""
    return {MEMORY: total_memory(f"{root}/proc"), **pool_bytes(root + SYSTEM_POOLS)}


def _text(path: Path) -> str:
    """'' if there is no such file."""
    try:
        return path.read_text("ascii").strip()
    except FileNotFoundError:
        return ""
