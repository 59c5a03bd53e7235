"""Which nodes a container's memory comes from."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.container_manager.cpu.state import StateError
from actors.container_manager.memory.initial_state import fresh, starting_state
from actors.container_manager.memory.requests import pod_requested_memory, requested_memory
from actors.container_manager.memory.state import Block, MemoryState, MemoryTable
from actors.container_manager.memory.static_policy import allocate, hints, pod_hints
from actors.container_manager.topology.provider import AllocationError
from actors.shared.hardware.hints import TopologyHint
from actors.shared.kube.pod import Pod
from tests.support.hardware_pods import asking, pod_of
from tests.support.machines import GIB, machine

TWO = fresh(machine(sockets=2, nodes=2, memory=5 * GIB).nodes, {0: {"memory": GIB}, 1: {"memory": GIB}})
"""4 GiB of each of two nodes."""
FOUR = fresh(machine(sockets=1, nodes=4, memory=2 * GIB).nodes, {})


def given_to(state: MemoryState, pod: Pod, affinity: TopologyHint | None = None) -> MemoryState:
    """All containers of the pod, in order."""
    for container in (*pod.spec.initContainers, *pod.spec.containers):
        state = allocate(state, pod, container, affinity)
    return state


def one(size: str, uid: str = "u") -> Pod:
    return pod_of(asking("a", memory=size), uid=uid)


def nodes(state: MemoryState, uid: str = "u", name: str = "a") -> set[tuple[int, ...]]:
    return {block.numaAffinity for block in state.of(uid)[name]}


def free(state: MemoryState, kind: str = "memory") -> list[int]:
    """GiB."""
    return [node.memoryMap[kind].free // GIB for node in state.machine.values()]


def test_a_node_has_its_memory_less_what_is_reserved_and_the_huge_pages():
    made = machine(memory=8 * GIB, huge_pages={"hugepages-1Gi": 2 * GIB})
    (node,) = fresh(made.nodes, {0: {"memory": GIB, "hugepages-1Gi": GIB}}).machine.values()
    assert node.memoryMap["memory"] == MemoryTable(8 * GIB, GIB, 5 * GIB, 0, 5 * GIB)
    assert node.memoryMap["hugepages-1Gi"] == MemoryTable(2 * GIB, GIB, GIB, 0, GIB)
    assert (node.numberOfAssignments, node.cells) == (0, (0,))


@pytest.mark.parametrize(
    ("sizes", "where"),
    [
        (["1Gi"], [{(0,)}]),
        (["3Gi", "3Gi"], [{(0,)}, {(1,)}]),
        (["4Gi", "4Gi"], [{(0,)}, {(1,)}]),
        (["6Gi"], [{(0, 1)}]),
        (["5Gi", "3Gi", "1Gi"], [{(0, 1)}, {(0, 1)}, None]),
        (["1Gi", "6Gi"], [{(0,)}, None]),
        (["9Gi"], [None]),
    ],
)
def test_one_node_is_enough_or_an_exclusive_group_is_made(sizes, where):
    state = TWO
    for number, (size, expected) in enumerate(zip(sizes, where, strict=True)):
        pod = one(size, f"u{number}")
        if expected is None:
            text = "failed to get the default NUMA affinity, no NUMA nodes with enough memory is available"
            with pytest.raises(AllocationError, match=rf"^\[memorymanager\] {text}$"):
                given_to(state, pod)
        else:
            state = given_to(state, pod)
            assert nodes(state, f"u{number}") == expected


def test_a_group_is_filled_in_the_order_of_its_nodes_and_freed_again():
    state = given_to(TWO, one("6Gi"))
    assert free(state) == [0, 2]
    assert [(node.numberOfAssignments, node.cells) for node in state.machine.values()] == [(1, (0, 1)), (1, (0, 1))]
    assert state.without("u") == TWO


def test_only_guaranteed_pods_without_resources_of_their_own_have_chosen_nodes():
    burstable = pod_of({"name": "a", "image": "i", "resources": {"requests": {"memory": "1Gi"}}})
    whole = pod_of(asking("a"), resources={"limits": {"cpu": "1", "memory": "1Gi"}})
    for pod in (burstable, whole):
        assert requested_memory(pod, pod.spec.containers[0]) == {}
        assert given_to(TWO, pod) is TWO
        assert hints(TWO, pod, pod.spec.containers[0]) == pod_hints(TWO, pod) == {}


def test_huge_pages_come_from_the_same_nodes():
    made = machine(sockets=2, nodes=2, memory=8 * GIB, huge_pages={"hugepages-1Gi": 2 * GIB})
    state = given_to(fresh(made.nodes, {}), pod_of(asking("a", memory="1Gi", **{"hugepages-1Gi": "3Gi"})))
    assert nodes(state) == {(0, 1)}
    assert free(state, "hugepages-1Gi") == [0, 1]
    assert [node.numberOfAssignments for node in state.machine.values()] == [2, 2]


def test_memory_of_an_init_container_is_used_again_but_not_a_sidecars():
    init = [
        asking("i1", memory="2Gi"),
        asking("side", memory="1Gi", restartPolicy="Always"),
        asking("i2", memory="3Gi"),
    ]
    state = given_to(TWO, pod_of(asking("a", memory="1Gi"), init=init), TopologyHint(1, preferred=True))
    assert free(state) == [0, 4]
    sizes = {name: sum(block.size for block in blocks) // GIB for name, blocks in state.of("u").items()}
    assert sizes == {"i1": 0, "side": 1, "i2": 2, "a": 1}
    assert starting_state(TWO, state) == state
    assert state.without("u") == TWO


def test_no_more_of_the_init_containers_is_used_again_than_a_container_requests():
    init = [asking("i1", memory="2Gi"), asking("i2", memory="3Gi")]
    pod = pod_of(asking("a", memory="1Gi"), asking("b", memory="3Gi"), init=init)
    state = given_to(TWO, pod, TopologyHint(1, preferred=True))
    sizes = {name: sum(block.size for block in blocks) // GIB for name, blocks in state.of("u").items()}
    assert sizes == {"i1": 0, "i2": 0, "a": 1, "b": 3}
    wide = pod_of(asking("a", memory="2Gi"), init=[asking("i1", memory="3Gi"), asking("i2", memory="1Gi")])
    state = given_to(TWO, wide, TopologyHint(1, preferred=True))
    sizes = {name: sum(block.size for block in blocks) // GIB for name, blocks in state.of("u").items()}
    assert sizes == {"i1": 0, "i2": 1, "a": 2}, "what i1 has left is enough"
    assert free(state) == [1, 4]
    assert starting_state(TWO, state) == state


def test_the_affinity_s_nodes_are_used_and_more_where_they_have_too_little():
    second = TopologyHint(2, preferred=False)
    assert nodes(given_to(TWO, one("1Gi"), second)) == {(1,)}
    assert nodes(given_to(TWO, one("6Gi"), second)) == {(0, 1)}
    full = given_to(TWO, one("4Gi", "full"), TopologyHint(2, preferred=True))
    with pytest.raises(AllocationError, match=r"failed to find NUMA nodes to extend the current topology hint"):
        given_to(full, one("3Gi"), TopologyHint(2, preferred=True))


def test_an_affinity_that_breaks_a_group_is_refused():
    state = given_to(TWO, one("1Gi", "first"), TopologyHint(1, preferred=True))
    with pytest.raises(AllocationError, match=r"^\[memorymanager\] preferred hint violates NUMA node allocation$"):
        given_to(state, one("1Gi"), TopologyHint(3, preferred=False))


def test_hints_are_the_masks_with_enough_and_the_same_for_every_type():
    pod = one("1Gi")
    container = pod.spec.containers[0]
    assert hints(TWO, pod, container) == {
        "memory": [TopologyHint(1, preferred=True), TopologyHint(2, preferred=True), TopologyHint(3, preferred=False)]
    }
    used = given_to(TWO, one("3Gi", "first"))
    large = one("2Gi")
    assert hints(used, large, large.spec.containers[0]) == {"memory": [TopologyHint(2, preferred=True)]}


def test_memory_that_no_mask_has_gives_no_hint_and_the_allocation_fails():
    huge = one("9Gi")
    assert hints(TWO, huge, huge.spec.containers[0]) == pod_hints(TWO, huge) == {}
    with pytest.raises(AllocationError, match="no NUMA nodes with enough memory is available"):
        given_to(TWO, huge)


def test_hints_of_a_container_that_has_its_memory_name_where_that_is():
    pod = one("1Gi")
    state = given_to(TWO, pod, TopologyHint(2, preferred=True))
    container = pod.spec.containers[0]
    assert hints(state, pod, container) == pod_hints(state, pod) == {"memory": [TopologyHint(2, preferred=True)]}
    assert hints(state, one("2Gi"), container) == {"memory": [TopologyHint(2, preferred=True)]}
    other = one("2Gi")
    assert hints(state, other, other.spec.containers[0]) == {}


def test_a_pod_requests_its_concurrent_maximum():
    init = [asking("i", memory="4Gi"), asking("s", memory="1Gi", restartPolicy="Always")]
    assert pod_requested_memory(pod_of(asking("a", memory="1Gi"), asking("b", memory="1Gi"), init=init)) == {
        "memory": 4 * GIB
    }


def test_huge_pages_of_init_containers_alone_give_the_pod_no_hint():
    init = [asking("i", memory="1Gi", **{"hugepages-1Gi": "1Gi"})]
    assert pod_requested_memory(pod_of(asking("a", memory="2Gi"), init=init)) == {"memory": 2 * GIB}


@pytest.mark.parametrize(
    ("other", "text"),
    [
        (
            fresh(machine(sockets=2, nodes=2, memory=6 * GIB).nodes, {0: {"memory": GIB}, 1: {"memory": GIB}}),
            "the expected machine state is different from the real one "
            f"(NUMA node 0: memory: total: {5 * GIB} in the file, {6 * GIB} now)",
        ),
        (
            fresh(machine(nodes=1, memory=5 * GIB).nodes, {0: {"memory": GIB}}),
            "(pod: u, container: a) the memory assignment uses the NUMA that does not exist",
        ),
        (
            fresh(machine(sockets=2, nodes=2, memory=5 * GIB).nodes, {0: {"memory": 2 * GIB}}),
            "the expected machine state is different from the real one "
            f"(NUMA node 0: memory: systemReserved: {GIB} in the file, {2 * GIB} now)",
        ),
    ],
)
def test_a_state_of_another_machine_is_refused(other: MemoryState, text: str):
    kept = given_to(TWO, one("6Gi"))
    assert starting_state(TWO, kept) == kept
    assert starting_state(TWO, None) == starting_state(TWO, MemoryState("Static")) == TWO
    with pytest.raises(StateError) as error:
        starting_state(other, kept)
    assert str(error.value) == f"[memorymanager] {text}"


def test_a_state_whose_entries_are_not_what_is_taken_is_refused():
    kept = given_to(TWO, one("1Gi"))
    with pytest.raises(StateError, match="NUMA node 0: numberOfAssignments: 1 in the file, 0 by its entries"):
        starting_state(TWO, MemoryState("Static", kept.machine, {}))


def test_a_state_of_other_nodes_or_types_of_memory_is_refused():
    machine_of_one = {0: TWO.machine[0]}
    with pytest.raises(StateError, match="NUMA nodes: 0 in the file, 0, 1 now"):
        starting_state(TWO, MemoryState("Static", machine_of_one, {}))
    node = TWO.machine[1]
    more = msgspec.structs.replace(node, memoryMap={**node.memoryMap, "x": node.memoryMap["memory"]})
    with pytest.raises(StateError, match=r"NUMA node 1: memoryMap: memory.*, x in the file, memory.* now"):
        starting_state(TWO, MemoryState("Static", {**TWO.machine, 1: more}, {}))
    grouped = msgspec.structs.replace(node, cells=(0, 1))
    with pytest.raises(StateError, match="NUMA node 1: cells: 0, 1 in the file, 1 by its entries"):
        starting_state(TWO, MemoryState("Static", {**TWO.machine, 1: grouped}, {}))
    tables = {**node.memoryMap, "memory": msgspec.structs.replace(node.memoryMap["memory"], free=1)}
    spent = msgspec.structs.replace(node, memoryMap=tables)
    with pytest.raises(StateError, match=r"NUMA node 1: memory: free: 1 in the file, .* by its entries"):
        starting_state(TWO, MemoryState("Static", {**TWO.machine, 1: spent}, {}))


@pytest.mark.parametrize(
    ("node", "kind", "text"),
    [
        (7, "memory", "uses the NUMA that does not exist"),
        (0, "hugepages-1Gi", "uses memory resource that does not exist"),
    ],
)
def test_a_state_that_uses_missing_memory_is_refused_by_pod_and_container(node: int, kind: str, text: str):
    entries = {"u": {"a": (Block((node,), kind, 1),)}}
    with pytest.raises(StateError) as error:
        starting_state(TWO, MemoryState("Static", TWO.machine, entries))
    assert str(error.value) == f"[memorymanager] (pod: u, container: a) the memory assignment {text}"


def test_a_state_with_entries_and_without_a_machine_is_refused():
    with pytest.raises(StateError) as error:
        starting_state(TWO, MemoryState("Static", {}, {"u": {"a": (Block((0,), "memory", 1),)}}))
    assert str(error.value) == "[memorymanager] machine state can not be empty when it has memory assignments"


def test_memory_of_an_ended_init_container_is_free_and_not_given_to_it_again():
    pod = pod_of(asking("a", memory="1Gi"), init=[asking("i", memory="3Gi")])
    state = given_to(TWO, pod, TopologyHint(1, preferred=True))
    assert free(state) == [1, 4]
    after = state.without_containers("u", ["i", "unknown"])
    assert free(after) == [3, 4]
    assert after.without_containers("u", ["i"]) is after
    assert given_to(after, pod) is after
    assert hints(after, pod, pod.spec.initContainers[0]) == {}
    assert starting_state(TWO, after) == after
    assert after.without("u") == TWO


def test_the_last_container_leaves_nothing_of_its_pod():
    state = given_to(TWO, one("1Gi"))
    assert state.without_containers("u", ["a"]) == TWO


@given(
    st.sampled_from([TWO, FOUR]),
    st.lists(
        st.tuples(
            st.sampled_from("abcd"), st.integers(1, 6), st.integers(0, 3), st.sampled_from(["comes", "goes", "init"])
        ),
        max_size=10,
    ),
    st.sampled_from([None, 1, 2, 3]),
)
def test_no_memory_belongs_to_two_containers_and_none_is_lost(empty, steps, mask):
    state = empty
    affinity = None if mask is None else TopologyHint(mask, preferred=False)
    for uid, size, init, step in steps:
        if step == "goes":
            state = state.without(uid)
        elif step == "init":
            state = state.without_containers(uid, ["i"] if "a" in state.of(uid) else [])
        else:
            inits = [asking("i", memory=f"{init}Gi")] if init else []
            try:
                state = given_to(state, pod_of(asking("a", memory=f"{size}Gi"), uid=uid, init=inits), affinity)
            except AllocationError:
                continue
        blocks = [block for one in state.entries.values() for each in one.values() for block in each]
        reserved = sum(node.memoryMap["memory"].reserved for node in state.machine.values())
        assert reserved == sum(block.size for block in blocks)
        for node in state.machine.values():
            table = node.memoryMap["memory"]
            assert table.free >= 0
            assert table.reserved + table.free == table.allocatable
        assert starting_state(empty, state) == state
    for uid in list(state.entries):
        state = state.without(uid)
    assert state == empty
