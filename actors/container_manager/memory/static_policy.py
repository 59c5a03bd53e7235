"""The static policy: the NUMA nodes of a container's memory. Pure: takes a state and a container, and returns the next
state. A node is used alone or with the other nodes of one group, never both. So the kernel cannot give memory promised
to one container to another.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from actors.container_manager.topology.provider import AllocationError
from actors.shared.hardware.hints import Hints, TopologyHint, mask_of, masks_of, nodes_of
from actors.shared.kube.container import Container
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import has_sidecar, is_sidecar

from .requests import Amounts, pod_requested_memory, requested_memory
from .state import Block, Machine, MemoryState, taken


def has_given_back(state: MemoryState, pod: Pod, container: Container) -> bool:
    """Whether it is an init container whose memory was freed when a later one was created. It gets none again, because
    the later container uses it now."""
    given, names = state.of(pod.metadata.uid), [one.name for one in (*pod.spec.initContainers, *pod.spec.containers)]
    if container.name in given or container.name not in names or has_sidecar(pod, container.name):
        return False
    return any(name in given for name in names[names.index(container.name) + 1 :])


# -- hints -----------------------------------------------------------------------------------------------------------
def hints(state: MemoryState, pod: Pod, container: Container) -> Hints:
    """The hints for the container's memory."""
    if has_given_back(state, pod, container):
        return {}
    return _hints_of(state, pod, requested_memory(pod, container), state.of(pod.metadata.uid).get(container.name))


def pod_hints(state: MemoryState, pod: Pod) -> Hints:
    """The hints for the memory of all containers of the pod together."""
    given = state.of(pod.metadata.uid)
    names = [one.name for one in (*pod.spec.initContainers, *pod.spec.containers) if one.name in given]
    return _hints_of(state, pod, pod_requested_memory(pod), given[names[0]] if names else None)


def _hints_of(state: MemoryState, pod: Pod, amounts: Amounts, given: Sequence[Block] | None) -> Hints:
    if not amounts:
        return {}
    if given is None:
        # no mask at all is no hint, as in the kubelet: the allocation then names the missing memory
        return dict.fromkeys(amounts, found) if (found := _possible(state, pod, amounts)) else {}
    if {block.type: block.size for block in given} != dict(amounts):
        return {}
    return {block.type: [TopologyHint(mask_of(block.numaAffinity), preferred=True)] for block in given}


def _possible(state: MemoryState, pod: Pod, amounts: Amounts) -> list[TopologyHint]:
    """Masks with enough free memory of all types, and whose nodes are not in another group."""
    machine, found = state.machine, list[int]()
    fewest = len(machine)
    for mask in masks_of(sorted(machine)):
        nodes = nodes_of(mask)
        tables = {
            kind: [machine[one].memoryMap[kind] for one in nodes if kind in machine[one].memoryMap] for kind in amounts
        }
        if any(sum(table.allocatable for table in tables[kind]) < size for kind, size in amounts.items()):
            continue
        fewest = min(fewest, len(nodes))
        free = {kind: sum(one.free for one in tables[kind]) + _reusable(state, pod, nodes, kind) for kind in amounts}
        if not _breaks_group(machine, nodes) and all(free[kind] >= size for kind, size in amounts.items()):
            found.append(mask)
    return [TopologyHint(mask, preferred=mask.bit_count() == fewest) for mask in found]


def _breaks_group(machine: Machine, nodes: tuple[int, ...]) -> bool:
    """Whether one of the nodes is used in another group."""
    if len(nodes) == 1:
        return len(machine[nodes[0]].cells) > 1
    return any(machine[one].numberOfAssignments > 0 and sorted(machine[one].cells) != list(nodes) for one in nodes)


def _reusable(state: MemoryState, pod: Pod, nodes: tuple[int, ...], kind: str) -> int:
    """The pod's ordinary init containers' memory on these nodes, which is free for later containers."""
    given = state.of(pod.metadata.uid)
    blocks = [block for one in pod.spec.initContainers if not is_sidecar(one) for block in given.get(one.name, ())]
    return sum(block.size for block in blocks if (block.numaAffinity, block.type) == (nodes, kind))


# -- allocation ------------------------------------------------------------------------------------------------------
def allocate(state: MemoryState, pod: Pod, container: Container, affinity: TopologyHint | None = None) -> MemoryState:
    """The state once the container has its memory; the same state if it has it already, or requests none. Raises
    AllocationError."""
    uid, amounts = pod.metadata.uid, requested_memory(pod, container)
    if not amounts or container.name in state.of(uid) or has_given_back(state, pod, container):
        return state
    nodes = nodes_of(_mask(state, pod, amounts, affinity))
    if _breaks_group(state.machine, nodes):
        raise AllocationError("[memorymanager] preferred hint violates NUMA node allocation")
    for kind, size in amounts.items():
        more = max(0, size - _reusable(state, pod, nodes, kind))
        machine = taken(state.machine, nodes, kind, more)
        state = _used_again(replace(state, machine=machine), pod, container, Block(nodes, kind, size))
    return state.with_container(uid, container.name, tuple(Block(nodes, kind, size) for kind, size in amounts.items()))


def _mask(state: MemoryState, pod: Pod, amounts: Amounts, affinity: TopologyHint | None) -> int:
    """The affinity's nodes, extended if they have too little; without an affinity, the best nodes. Raises
    AllocationError."""
    preferred = affinity is not None and affinity.preferred
    mask = affinity.mask if affinity is not None else None
    if mask is None:
        text = "failed to get the default NUMA affinity, no NUMA nodes with enough memory is available"
        best = _best_hint(_possible(state, pod, amounts), text)
        if preferred and not best.preferred:
            raise AllocationError("[memorymanager] failed to find the default preferred hint")
        return best.mask or 0
    if _has(state.machine, nodes_of(mask), amounts):
        return mask
    given = mask
    text = "failed to find NUMA nodes to extend the current topology hint"
    found = [hint for hint in _possible(state, pod, amounts) if (hint.mask or 0) & given == given]
    best = _best_hint(found, text)
    if preferred and not best.preferred:
        raise AllocationError("[memorymanager] failed to find the extended preferred hint")
    return best.mask or 0


def _best_hint(found: Sequence[TopologyHint], otherwise: str) -> TopologyHint:
    """Raises AllocationError."""
    if not found:
        raise AllocationError(f"[memorymanager] {otherwise}")
    return min(found, key=lambda hint: (not hint.preferred, (hint.mask or 0).bit_count(), hint.mask or 0))


def _has(machine: Machine, nodes: Sequence[int], amounts: Amounts) -> bool:
    """Whether these nodes have this much free memory."""
    return all(
        sum(machine[one].memoryMap[kind].free for one in nodes if one in machine and kind in machine[one].memoryMap)
        >= size
        for kind, size in amounts.items()
    )


def _used_again(state: MemoryState, pod: Pod, container: Container, block: Block) -> MemoryState:
    """Reduce the blocks of earlier init containers, so that the pod's blocks together are the memory that is really
    taken."""
    uid, left = pod.metadata.uid, block.size
    for earlier in pod.spec.initContainers:
        if earlier.name == container.name:
            break
        if is_sidecar(earlier) or earlier.name not in state.of(uid):
            continue
        blocks = []
        for one in state.of(uid)[earlier.name]:
            part = min(left, one.size) if (one.numaAffinity, one.type) == (block.numaAffinity, block.type) else 0
            left -= part
            blocks.append(replace(one, size=one.size - part))
        state = state.with_container(uid, earlier.name, tuple(blocks))
    return state
