"""The memory of each NUMA node and its allocations, and their file: the kubelet's memory_manager_state. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from actors.container_manager.cpu.state import StateError
from actors.shared.fnv import fnv1a_32
from actors.shared.hardware.checksum import list_text, map_text
from supervision.errors import UNREADABLE

MEMORY_STATE: Final = "memory_manager_state"
"""The file's name, in the root directory."""
_MOST_BYTES: Final = 16 << 20


class MemoryTable(msgspec.Struct, frozen=True):
    """A type of memory on a node, in bytes."""

    total: int
    systemReserved: int
    allocatable: int
    reserved: int
    free: int


class NodeMemory(msgspec.Struct, frozen=True):
    """A NUMA node."""

    numberOfAssignments: int
    """The number of allocations (one type of memory of one container each) from this node, alone or with others."""
    memoryMap: dict[str, MemoryTable]
    """By type: memory, hugepages-2Mi."""
    cells: tuple[int, ...]
    """The group of nodes with which it is used; only itself if it is used alone."""


class Block(msgspec.Struct, frozen=True):
    """A container's allocation of one type of memory."""

    numaAffinity: tuple[int, ...]
    type: str
    size: int
    """Bytes; less than requested if a later container of the pod reuses a part."""


Machine = Mapping[int, NodeMemory]
Entries = Mapping[str, Mapping[str, tuple[Block, ...]]]
"""Pod UID to container to its memory."""


class MemoryState(msgspec.Struct, frozen=True):
    policy: str
    machine: Machine = {}
    entries: Entries = {}

    def of(self, uid: str) -> Mapping[str, tuple[Block, ...]]:
        """The containers of one pod that have memory of chosen nodes."""
        return self.entries.get(uid, {})

    def with_container(self, uid: str, name: str, blocks: tuple[Block, ...]) -> MemoryState:
        """The state with the container's blocks in its entries; the machine's tables do not change."""
        return replace(self, entries={**self.entries, uid: {**self.of(uid), name: blocks}})

    def without(self, uid: str) -> MemoryState:
        """The pod's memory is free again."""
        return self.without_containers(uid, self.of(uid))

    def without_containers(self, uid: str, names: Collection[str]) -> MemoryState:
        """The memory of these containers of the pod is free again; the same state if none has any."""
        gone = {name: blocks for name, blocks in self.of(uid).items() if name in names}
        if not gone:
            return self
        machine = self.machine
        for blocks in gone.values():
            for block in blocks:
                machine = released(machine, block)
        left = {name: blocks for name, blocks in self.of(uid).items() if name not in gone}
        entries = {other: containers for other, containers in self.entries.items() if other != uid}
        return replace(self, machine=machine, entries={**entries, uid: left} if left else entries)


def taken(machine: Machine, nodes: Iterable[int], kind: str, size: int) -> Machine:
    """The machine once `size` more bytes are taken from these nodes, one after the other."""
    changed, nodes = dict(machine), tuple(nodes)
    for number in nodes:
        node = changed[number]
        table = node.memoryMap.get(kind)
        part = min(size, max(0, table.free)) if table is not None else 0
        size -= part
        changed[number] = _reserve_on_node(node, kind, part, node.numberOfAssignments + 1, nodes)
    return changed


def released(machine: Machine, block: Block) -> Machine:
    """The machine once this block is free."""
    changed, size = dict(machine), block.size
    for number in block.numaAffinity:
        node = changed[number]
        table = node.memoryMap.get(block.type)
        part = min(size, table.reserved) if table is not None else 0
        size -= part
        left = node.numberOfAssignments - 1
        changed[number] = _reserve_on_node(node, block.type, -part, left, node.cells if left > 0 else (number,))
    return changed


def _reserve_on_node(node: NodeMemory, kind: str, part: int, assignments: int, cells: tuple[int, ...]) -> NodeMemory:
    table = node.memoryMap.get(kind)
    tables = node.memoryMap
    if table is not None and part:
        tables = {**tables, kind: replace(table, reserved=table.reserved + part, free=table.free - part)}
    return NodeMemory(assignments, tables, cells)


# -- the file --------------------------------------------------------------------------------------------------------
class _File(msgspec.Struct):
    policyName: str = ""
    machineState: dict[str, NodeMemory] = {}
    entries: dict[str, dict[str, tuple[Block, ...]]] = {}
    checksum: int = 0


def encode(state: MemoryState) -> bytes:
    """The file's content."""
    machine = {str(number): _sort_memory_map(state.machine[number]) for number in sorted(state.machine)}
    content: dict[str, Any] = {"policyName": state.policy, "machineState": machine}
    if state.entries:
        content["entries"] = {uid: dict(sorted(state.entries[uid].items())) for uid in sorted(state.entries)}
    return msgspec.json.encode({**content, "checksum": checksum(state)})


def _sort_memory_map(node: NodeMemory) -> NodeMemory:
    return replace(node, memoryMap=dict(sorted(node.memoryMap.items())))


def checksum(state: MemoryState) -> int:
    """The checksum over the values as Go prints them."""
    machine = " ".join(f"{number}:<*>{_node_text(state.machine[number])}" for number in sorted(state.machine))
    entries = map_text(
        {
            uid: map_text({name: list_text(map(_block_text, blocks)) for name, blocks in containers.items()})
            for uid, containers in state.entries.items()
        }
    )
    return fnv1a_32(
        f"(*state.MemoryManagerCheckpoint){{PolicyName:(string){state.policy} "
        f"MachineState:(state.NUMANodeMap)map[{machine}] Entries:(state.ContainerMemoryAssignments){entries} "
        f"Checksum:(checksum.Checksum)0}}"
    )


def _node_text(node: NodeMemory) -> str:
    tables = map_text({kind: f"<*>{_table_text(table)}" for kind, table in node.memoryMap.items()})
    return (
        f"{{NumberOfAssignments:(int){node.numberOfAssignments} "
        f"MemoryMap:(map[v1.ResourceName]*state.MemoryTable){tables} Cells:([]int){list_text(node.cells)}}}"
    )


def _table_text(table: MemoryTable) -> str:
    return (
        f"{{TotalMemSize:(uint64){table.total} SystemReserved:(uint64){table.systemReserved} "
        f"Allocatable:(uint64){table.allocatable} Reserved:(uint64){table.reserved} Free:(uint64){table.free}}}"
    )


def _block_text(block: Block) -> str:
    nodes = list_text(block.numaAffinity)
    return f"{{NUMAAffinity:([]int){nodes} Type:(v1.ResourceName){block.type} Size:(uint64){block.size}}}"


def decode(raw: bytes) -> MemoryState:
    """Raises StateError."""
    if len(raw) > _MOST_BYTES:
        raise StateError(f"is larger than {_MOST_BYTES >> 20} MiB")
    try:
        file = msgspec.json.decode(raw, type=_File)
        machine = {int(number): node for number, node in file.machineState.items()}
    except UNREADABLE as error:
        raise StateError(f"checkpoint is corrupted: {error}") from None
    state = MemoryState(file.policyName, machine, file.entries)
    if file.checksum not in (0, checksum(state)):
        raise StateError("checkpoint is corrupted")
    return state
