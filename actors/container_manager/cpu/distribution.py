"""Distributes CPUs evenly across NUMA nodes (distribute-cpus-across-numa). Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from math import sqrt

import msgspec

from actors.container_manager.topology.machine import Cpus, MachineTopology

from .packing import NotEnoughCpus, nodes_in_order, packed

Pack = Callable[[Cpus, int], Cpus]
"""Takes (free CPUs, number) and returns the CPUs to take."""


class NumaChoice(msgspec.Struct, frozen=True):
    """A set of nodes that can satisfy the request together."""

    imbalance: float
    """Standard deviation of the CPUs that are left on all nodes."""
    nodes: tuple[int, ...]
    share: int
    """CPUs of each of them."""
    extra: tuple[int, ...]
    """The nodes that give the remainder, one group each in turn."""


def distributed(machine: MachineTopology, free: Cpus, count: int, group: int, *, across_cores: bool = False) -> Cpus:
    """Choose `count` CPUs from as few nodes as possible, evenly, in groups of `group` CPUs. Falls back to plain packing
    if that is impossible. Raises NotEnoughCpus."""

    def pack(cpus: Cpus, number: int) -> Cpus:
        return packed(machine, cpus, number, across_cores=across_cores)

    if count > len(free):
        raise NotEnoughCpus(count, len(free))
    choice = _choice(machine, free, count, group) if count and count % group == 0 else None
    return pack(free, count) if choice is None else _take_from_nodes(machine, free, count, group, choice, pack)


def _take_from_nodes(
    machine: MachineTopology, free: Cpus, count: int, group: int, choice: NumaChoice, pack: Pack
) -> Cpus:
    taken: Cpus = frozenset()
    for node in choice.nodes:
        taken |= pack(free & machine.of_nodes([node]) - taken, choice.share)
    while len(taken) < count:
        for node in choice.extra:
            left = free & machine.of_nodes([node]) - taken
            if len(taken) < count and len(left) >= group:
                taken |= pack(left, group)
    return taken


def _choice(machine: MachineTopology, free: Cpus, count: int, group: int) -> NumaChoice | None:
    """The most balanced choice of the fewest nodes."""
    order = nodes_in_order(machine, free)
    sizes = {node: len(free & machine.of_nodes([node])) for node in order}
    needed = -(-count // group)
    groups = -(-len(machine.cpus) // group)
    per_node = -(-groups // len(machine.cpu_nodes))
    for number in range(-(-needed // per_node), min(needed, len(order)) + 1):
        best: NumaChoice | None = None
        for nodes in combinations(order, number):
            found = _of_nodes(nodes, sizes, count, group)
            if found is not None and (best is None or found.imbalance < best.imbalance):
                best = found
            if best is not None and best.imbalance == 0:
                break
        if best is not None:
            return best
    return None


def _of_nodes(nodes: tuple[int, ...], sizes: Mapping[int, int], count: int, group: int) -> NumaChoice | None:
    """The most balanced way to take them from exactly these nodes."""
    share = count // len(nodes) // group * group
    if (
        sum(sizes[node] for node in nodes) < count
        or sum(sizes[node] // group for node in nodes) * group < count
        or any(sizes[node] < share for node in nodes)
    ):
        return None
    left = {node: size - share if node in nodes else size for node, size in sizes.items()}
    remainder = count - share * len(nodes)
    if not remainder:
        return NumaChoice(imbalance(left.values()), nodes, share, ())
    best: NumaChoice | None = None
    for extra in _largest_first([node for node in nodes if left[node] >= group]):
        after = _less(left, extra, remainder, group)
        if after is not None and (best is None or imbalance(after.values()) < best.imbalance):
            best = NumaChoice(imbalance(after.values()), nodes, share, extra)
    return best


def _largest_first(nodes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    for size in range(len(nodes), 0, -1):
        yield from combinations(nodes, size)


def _less(left: Mapping[int, int], extra: Iterable[int], remainder: int, group: int) -> dict[int, int] | None:
    """The remaining free CPUs after these nodes have given the remainder in turn; None if they cannot."""
    after, extra = dict(left), list(extra)
    while remainder > 0:
        before = remainder
        for node in extra:
            if remainder > 0 and after[node] >= group:
                after[node] -= group
                remainder -= group
        if remainder == before:
            return None
    return after


def imbalance(values: Iterable[int]) -> float:
    """Standard deviation; it and the mean are rounded to three decimals."""
    values = list(values)
    mean = _round(sum(values) / len(values))
    return _round(sqrt(sum((value - mean) ** 2 for value in values) / len(values)))


def _round(value: float) -> float:
    """The number rounded to three decimals, halves up."""
    return int(value * 1000 + 0.5) / 1000
