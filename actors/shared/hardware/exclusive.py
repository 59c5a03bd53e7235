"""Exclusive CPUs and memory of containers, as in the pod resources API. Pure."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class MemoryOfNodes(msgspec.Struct, frozen=True):
    """An amount of one type of memory."""

    kind: str
    """`memory`, or `hugepages-` and the size of a page."""
    size: int
    """Bytes."""
    nodes: tuple[int, ...]
    """The NUMA nodes of the memory."""


class ContainerExclusive(msgspec.Struct, frozen=True):
    """The exclusive hardware of one container."""

    cpus: tuple[int, ...] = ()
    memory: tuple[MemoryOfNodes, ...] = ()


class Exclusive(msgspec.Struct, frozen=True):
    """The exclusive CPUs and memory of containers, and the totals. All is empty without a static policy."""

    pods: dict[str, dict[str, ContainerExclusive]] = {}
    """By the pod's UID, then by the container's name; containers without any are left out."""
    cpus: tuple[int, ...] = ()
    """CPUs that containers may use: all but the reserved ones."""
    memory: tuple[MemoryOfNodes, ...] = ()
    """Memory that pods could have, by node and type."""


def together(parts: Iterable[Exclusive]) -> Exclusive:
    """The values of several managers merged."""
    pods: dict[str, dict[str, ContainerExclusive]] = {}
    cpus: tuple[int, ...] = ()
    memory: tuple[MemoryOfNodes, ...] = ()
    for part in parts:
        cpus, memory = cpus + part.cpus, memory + part.memory
        for uid, containers in part.pods.items():
            known = pods.setdefault(uid, {})
            for name, more in containers.items():
                has = known.get(name, ContainerExclusive())
                known[name] = ContainerExclusive(has.cpus + more.cpus, has.memory + more.memory)
    return Exclusive(pods, cpus, memory)
