"""The initial state of the memory manager: empty, or the recorded one if it fits the machine. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from actors.container_manager.cpu.state import StateError
from actors.container_manager.topology.machine import MEMORY, NumaNode

from .requests import Amounts
from .state import Block, Machine, MemoryState, MemoryTable, NodeMemory, taken

STATIC: Final = "Static"
NONE: Final = "None"


def fresh(nodes: Sequence[NumaNode], reserved: Mapping[int, Amounts]) -> MemoryState:
    """The state without any allocation. `reserved`: reservedMemory, by node."""
    machine = {}
    for node in nodes:
        huge = sum(size for kind, size in node.memory.items() if kind != MEMORY)
        tables = {}
        for kind, total in node.memory.items():
            kept = reserved.get(node.id, {}).get(kind, 0)
            free = max(0, total - kept - (huge if kind == MEMORY else 0))
            tables[kind] = MemoryTable(total, kept, free, 0, free)
        machine[node.id] = NodeMemory(0, tables, (node.id,))
    return MemoryState(STATIC, machine)


def starting_state(empty: MemoryState, kept: MemoryState | None) -> MemoryState:
    """The initial state. Raises StateError if the recorded one does not fit this machine."""
    if kept is None or not (kept.machine or kept.entries):
        return empty
    if not kept.machine:
        raise StateError("[memorymanager] machine state can not be empty when it has memory assignments")
    expected: Machine = empty.machine
    for uid, containers in kept.entries.items():
        for name, blocks in containers.items():
            for block in blocks:
                if shortage := _missing_memory_text(expected, block):
                    raise StateError(
                        f"[memorymanager] (pod: {uid}, container: {name}) the memory assignment {shortage}"
                    )
                expected = taken(expected, block.numaAffinity, block.type, block.size)
    if found := next(_differences(expected, kept.machine), ""):
        raise StateError(f"{DIFFERENT} ({found})")
    return kept


def _missing_memory_text(machine: Machine, block: Block) -> str:
    """What the block uses but this machine lacks; '' for nothing."""
    if not set(block.numaAffinity) <= machine.keys():
        return "uses the NUMA that does not exist"
    if any(block.type not in machine[node].memoryMap for node in block.numaAffinity):
        return "uses memory resource that does not exist"
    return ""


DIFFERENT: Final = "[memorymanager] the expected machine state is different from the real one"


def _differences(expected: Machine, kept: Machine) -> Iterator[str]:
    """Where the file differs from the machine with the assignments of the file. The allocated memory of a group may be
    divided differently among its nodes."""
    if expected.keys() != kept.keys():
        yield f"NUMA nodes: {_listed(kept)} in the file, {_listed(expected)} now"
        return
    for number, node in expected.items():
        twin, where = kept[number], f"NUMA node {number}"
        if node.numberOfAssignments != twin.numberOfAssignments:
            text = f"{twin.numberOfAssignments} in the file, {node.numberOfAssignments} by its entries"
            yield f"{where}: numberOfAssignments: {text}"
        if sorted(node.cells) != sorted(twin.cells):
            yield f"{where}: cells: {_listed(twin.cells)} in the file, {_listed(node.cells)} by its entries"
        if node.memoryMap.keys() != twin.memoryMap.keys():
            text = f"{_listed(twin.memoryMap)} in the file, {_listed(node.memoryMap)} now"
            yield f"{where}: memoryMap: {text}"
            return
        for kind, table in node.memoryMap.items():
            yield from (f"{where}: {kind}: {text}" for text in _of_tables(table, twin.memoryMap[kind]))
            yield from (f"{where}: {kind}: {text}" for text in _of_groups(expected, kept, number, kind))


def _of_tables(table: MemoryTable, twin: MemoryTable) -> Iterator[str]:
    for field in ("total", "systemReserved", "allocatable"):
        have, had = getattr(table, field), getattr(twin, field)
        if have != had:
            yield f"{field}: {had} in the file, {have} now"


def _of_groups(expected: Machine, kept: Machine, number: int, kind: str) -> Iterator[str]:
    """The differences between the groups of this node, which are the same groups in both."""
    for field in ("reserved", "free"):
        have, had = (
            sum(getattr(machine[one].memoryMap[kind], field) for one in expected[number].cells
                if kind in machine[one].memoryMap)
            for machine in (expected, kept)
        )  # fmt: skip
        if have != had:
            yield f"{field}: {had} in the file, {have} by its entries"


def _listed(names: Iterable[object]) -> str:
    return ", ".join(map(str, names)) or "none"
