"""The initial state of the memory manager: empty, or the recorded one if it fits the machine. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

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
    if not _same(expected, kept.machine):
        raise StateError(DIFFERENT)
    return kept


def _missing_memory_text(machine: Machine, block: Block) -> str:
    """What the block uses but this machine lacks; '' for nothing."""
    if not set(block.numaAffinity) <= machine.keys():
        return "uses the NUMA that does not exist"
    if any(block.type not in machine[node].memoryMap for node in block.numaAffinity):
        return "uses memory resource that does not exist"
    return ""


DIFFERENT: Final = "[memorymanager] the expected machine state is different from the real one"


def _same(one: Machine, other: Machine) -> bool:
    """The allocated memory of a group may be divided differently among its nodes."""
    if one.keys() != other.keys():
        return False
    for number, node in one.items():
        twin = other[number]
        if (node.numberOfAssignments, sorted(node.cells)) != (twin.numberOfAssignments, sorted(twin.cells)):
            return False
        if node.memoryMap.keys() != twin.memoryMap.keys():
            return False
        for kind, table in node.memoryMap.items():
            if replace(table, reserved=0, free=0) != replace(twin.memoryMap[kind], reserved=0, free=0):
                return False
            if _of_group(one, node, kind) != _of_group(other, node, kind):
                return False
    return True


def _of_group(machine: Machine, node: NodeMemory, kind: str) -> tuple[int, int]:
    tables = [machine[number].memoryMap[kind] for number in node.cells if kind in machine[number].memoryMap]
    return sum(table.reserved for table in tables), sum(table.free for table in tables)
