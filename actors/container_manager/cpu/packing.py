"""Picks a number of CPUs, as close together as the free ones allow. Pure.

Units are taken whole as long as they fit: NUMA nodes and sockets, last-level caches (with the option
prefer-align-cpus-by-uncorecache), cores, then single CPUs. Among units of one kind, the unit with the fewest free CPUs
comes first, then the one with the lowest number, so that large free units stay whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from actors.container_manager.topology.machine import Cpus, LogicalCpu, MachineTopology
from actors.container_manager.topology.provider import AllocationError

Unit = Callable[[LogicalCpu], int]


def _node(cpu: LogicalCpu) -> int:
    return cpu.node


def _socket(cpu: LogicalCpu) -> int:
    return cpu.socket


def _cache(cpu: LogicalCpu) -> int:
    return cpu.cache


def _core(cpu: LogicalCpu) -> int:
    return cpu.core


class NotEnoughCpus(AllocationError):
    """Fewer CPUs are free than requested."""

    def __init__(self, requested: int, available: int) -> None:
        text = f"not enough cpus available to satisfy request: requested={requested}, available={available}"
        super().__init__(text)


def packed(
    machine: MachineTopology, free: Cpus, count: int, *, by_cache: bool = False, across_cores: bool = False
) -> Cpus:
    """`count` of the free CPUs. Raises NotEnoughCpus."""
    packing = Packing(machine, free, count)
    if count > len(free):
        raise NotEnoughCpus(count, len(free))
    packing.take_units()
    if by_cache:
        packing.take_caches()
    if not across_cores:
        packing.take_cores()
    packing.take_single(by_socket=across_cores)
    return packing.taken


def whole_cores(machine: MachineTopology, free: Cpus, count: int) -> Cpus:
    """`count` CPUs of free cores, the larger cores first; fewer if no free cores have that many together. The sizes of
    cores are powers of two, so that the larger ones never stand in the way."""
    cores: dict[int, set[int]] = {}
    for cpu in machine.cpus:
        cores.setdefault(cpu.core, set()).add(cpu.id)
    order = [cores[core] for core in Packing(machine, free, count).cores() if cores[core] <= free]
    taken: set[int] = set()
    for core in sorted(order, key=len, reverse=True):
        if len(taken) + len(core) <= count:
            taken |= core
    return frozenset(taken)


def nodes_in_order(machine: MachineTopology, free: Cpus) -> list[int]:
    """The NUMA nodes with free CPUs, in the order in which they are taken from."""
    return Packing(machine, free, 0).nodes()


class Packing:
    """One request: the free CPUs, the CPUs taken so far, and the number still missing."""

    def __init__(self, machine: MachineTopology, free: Cpus, count: int) -> None:
        self._machine, self._free, self.missing = machine, free, count
        self.taken: Cpus = frozenset()
        self._nodes_first = len(machine.sockets) >= len(machine.cpu_nodes)

    # -- order ------------------------------------------------------------------------------------------------------
    def _sizes(self, unit: Unit) -> dict[int, int]:
        """The number of free CPUs of each unit that has some."""
        sizes: dict[int, int] = {}
        for cpu in self._free_cpus():
            sizes[unit(cpu)] = sizes.get(unit(cpu), 0) + 1
        return sizes

    def _sort_units(self, unit: Unit) -> list[int]:
        """Units with free CPUs, those with the fewest first."""
        sizes = self._sizes(unit)
        return sorted(sizes, key=lambda number: (sizes[number], number))

    def _sort_inner_units(self, outer: Unit, order: Iterable[int], inner: Unit) -> list[int]:
        """Inner units, in the order of their outer units."""
        within: dict[int, list[LogicalCpu]] = {}
        for cpu in self._free_cpus():
            within.setdefault(outer(cpu), []).append(cpu)
        sizes = self._sizes(inner)
        found: dict[int, None] = {}
        for number in order:
            units = {inner(cpu) for cpu in within[number]}
            found |= dict.fromkeys(sorted(units, key=lambda one: (sizes[one], one)))
        return list(found)

    def _free_cpus(self) -> list[LogicalCpu]:
        return [cpu for cpu in self._machine.cpus if cpu.id in self._free]

    def nodes(self) -> list[int]:
        return (
            self._sort_units(_node)
            if self._nodes_first
            else self._sort_inner_units(_socket, self._sort_units(_socket), _node)
        )

    def _sockets(self) -> list[int]:
        return (
            self._sort_inner_units(_node, self._sort_units(_node), _socket)
            if self._nodes_first
            else self._sort_units(_socket)
        )

    def cores(self) -> list[int]:
        if self._nodes_first:
            return self._sort_inner_units(_socket, self._sockets(), _core)
        return self._sort_inner_units(_node, self.nodes(), _core)

    def _caches(self) -> list[int]:
        return self._sort_inner_units(_node, self.nodes(), _cache)

    # -- taking -----------------------------------------------------------------------------------------------------
    def _take(self, cpus: Cpus) -> None:
        self.taken |= cpus
        self._free -= cpus
        self.missing -= len(cpus)

    def _take_whole(self, unit: Unit, order: Iterable[int], size: int = 0) -> None:
        """Each unit that is entirely free and not larger than the missing number. `size`: only units of this size, the
        mean of the machine: the kubelet assumes sockets and cores of one size."""
        members: dict[int, set[int]] = {}
        for cpu in self._machine.cpus:
            members.setdefault(unit(cpu), set()).add(cpu.id)
        for number in order:
            whole = frozenset(members[number])
            if len(whole) <= self.missing and whole <= self._free and size in {0, len(whole)}:
                self._take(whole)

    def take_units(self) -> None:
        """NUMA nodes and sockets, the larger ones first."""
        if self._nodes_first:
            self._take_whole(_node, self.nodes())
            self._take_whole(_socket, self._sockets(), self._machine.cpus_per_socket)
        else:
            self._take_whole(_socket, self._sockets(), self._machine.cpus_per_socket)
            self._take_whole(_node, self.nodes())

    def take_caches(self) -> None:
        """Take all entirely free caches that fit, then a part of one cache for exactly the missing number."""
        for number in self._caches():
            if self.missing >= self._machine.cpus_per_cache:
                self._take_whole(_cache, self._caches())
            if self.missing:
                self._take_part_of(number)

    def _take_part_of(self, cache: int) -> None:
        threads = self._machine.threads_per_core
        free = [cpu for cpu in self._free_cpus() if cpu.cache == cache]
        cores = sorted({cpu.core for cpu in free})[: -(-self.missing // threads)]
        part = sorted(cpu.id for cpu in free if cpu.core in cores)
        if self.missing % 2 and threads > 1 and len(part) > self.missing:
            part = part[:-1]
        if len(part) == self.missing:
            self._take(frozenset(part))

    def take_cores(self) -> None:
        self._take_whole(_core, self.cores(), self._machine.threads_per_core)

    def take_single(self, *, by_socket: bool) -> None:
        """CPUs one by one: core by core, or with `by_socket` in the order of their numbers in each socket."""
        unit, order = (_socket, self._sockets()) if by_socket else (_core, self.cores())
        places = {number: place for place, number in enumerate(order)}
        single = sorted(self._free_cpus(), key=lambda cpu: (places[unit(cpu)], cpu.id))
        self._take(frozenset(cpu.id for cpu in single[: self.missing]))
