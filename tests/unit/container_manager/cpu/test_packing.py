"""Which CPUs are taken: tables worked out by hand for machines of 1 to 8 NUMA nodes, and what always holds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.container_manager.cpu.packing import NotEnoughCpus, packed
from actors.container_manager.topology.machine import LogicalCpu, MachineTopology
from actors.shared.linux.cpu_list import format_cpu_list, parse_cpu_list
from tests.support.machines import machine

PLAIN = machine(cores=4)
"""0-3."""
SMT = machine(cores=4, threads=2)
"""Cores 0,4 1,5 2,6 3,7."""
TWO = machine(sockets=2, nodes=2, cores=4, threads=2)
"""Node 0: 0-3,8-11. Node 1: 4-7,12-15."""
SPLIT_SOCKET = machine(sockets=1, nodes=4, cores=2, threads=2)
"""Nodes 0: 0-1,8-9; 1: 2-3,10-11; 2: 4-5,12-13; 3: 6-7,14-15."""
EIGHT = machine(sockets=2, nodes=8, cores=2)
"""Node n: 2n, 2n+1; sockets 0: 0-7, 1: 8-15."""
TWO_SOCKETS_ONE_NODE = machine(sockets=2, nodes=1, cores=2)
"""Sockets 0-1 and 2-3, one node."""
CACHES = machine(cores=8, threads=2, caches=4)
"""Caches 0: 0-1,8-9; 1: 2-3,10-11; 2: 4-5,12-13; 3: 6-7,14-15."""
CACHES_PLAIN = machine(sockets=2, nodes=2, cores=8, caches=2)
"""Node 0: caches 0: 0-3, 1: 4-7. Node 1: caches 2: 8-11, 3: 12-15."""


def _uneven(*cpus: tuple[int, int, int]) -> MachineTopology:
    """One node, of CPUs (id, core, socket)."""
    return MachineTopology(tuple(LogicalCpu(one, core, socket, 0, socket) for one, core, socket in cpus), ())


UNEVEN_SOCKETS = _uneven((0, 0, 0), (1, 1, 0), (2, 2, 0), (3, 3, 0), (4, 4, 1), (5, 5, 1))
"""Sockets 0-3 and 4-5: three CPUs a socket in the mean."""
UNEVEN_CORES = _uneven((0, 0, 0), (1, 1, 0), (2, 2, 0), (3, 0, 0), (4, 1, 0))
"""Cores 0,3 1,4 and 2, whose second thread is off: one CPU a core in the mean."""

TABLE = [
    # one node, no threads: the lowest ones
    (PLAIN, "0-3", 1, "0"),
    (PLAIN, "0-3", 4, "0-3"),
    (PLAIN, "1,3", 1, "1"),
    # threads: both of a core; a broken core is used up before another one is broken
    (SMT, "0-7", 1, "0"),
    (SMT, "0-7", 2, "0,4"),
    (SMT, "0-7", 3, "0,4,1"),
    (SMT, "1-7", 1, "4"),
    (SMT, "1-7", 2, "1,5"),
    (SMT, "1-7", 3, "1,5,4"),
    (SMT, "4-7", 2, "4,5"),
    # two nodes: a whole node when it fits; the fuller node first when it does not
    (TWO, "0-15", 8, "0-3,8-11"),
    (TWO, "0-15", 2, "0,8"),
    (TWO, "0-15", 10, "0-3,8-11,4,12"),
    (TWO, "1-7,9-15", 6, "1-3,9-11"),
    (TWO, "1-7,9-15", 8, "4-7,12-15"),
    (TWO, "0-6,8-14", 2, "4,12"),
    (TWO, "0-6,8-14", 8, "0-3,8-11"),
    # four nodes in one socket: the socket first, then nodes
    (SPLIT_SOCKET, "0-15", 16, "0-15"),
    (SPLIT_SOCKET, "0-15", 4, "0-1,8-9"),
    (SPLIT_SOCKET, "0-15", 6, "0-1,8-9,2,10"),
    (SPLIT_SOCKET, "1-15", 4, "2-3,10-11"),
    (SPLIT_SOCKET, "1-15", 1, "8"),
    # sockets and cores count as whole if they have the mean number of CPUs, as in the kubelet
    (UNEVEN_SOCKETS, "0-3,5", 4, "0-2,5"),
    (UNEVEN_SOCKETS, "0-3", 3, "0-2"),
    (UNEVEN_CORES, "0-4", 2, "0,2"),
    (UNEVEN_CORES, "0-4", 3, "0,2-3"),
    # but none that is in use is taken: the kubelet takes both CPUs of core 1 here
    (UNEVEN_CORES, "0,3-4", 2, "0,4"),
    # eight nodes: a whole socket, then nodes, then cores
    (EIGHT, "0-15", 8, "0-7"),
    (EIGHT, "0-15", 11, "0-10"),
    (EIGHT, "1-15", 8, "8-15"),
    (EIGHT, "1-15", 3, "2-3,1"),
    # two sockets in one node
    (TWO_SOCKETS_ONE_NODE, "0-3", 2, "0-1"),
    (TWO_SOCKETS_ONE_NODE, "1-3", 2, "2-3"),
    (TWO_SOCKETS_ONE_NODE, "1-3", 1, "1"),
    (PLAIN, "", 0, ""),
]


@pytest.mark.parametrize(("made", "free", "count", "taken"), TABLE)
def test_the_table_holds(made: MachineTopology, free: str, count: int, taken: str):
    assert packed(made, parse_cpu_list(free), count) == parse_cpu_list(taken)


@pytest.mark.parametrize(
    ("made", "free", "count", "taken"),
    [
        (CACHES, "0-15", 4, "0-1,8-9"),
        (CACHES, "0-15", 2, "0,8"),
        (CACHES, "0-15", 6, "0-1,8-9,2,10"),
        (CACHES, "0-15", 3, "0,8,1"),
        # cache 0 has three free CPUs, not enough for four: the next one whole
        (CACHES, "1-15", 4, "2-3,10-11"),
        # the first core of cache 0 is broken, so no whole core is a part of that: the next cache
        (CACHES, "1-15", 2, "2,10"),
        (CACHES, "1,3-7,9,11-15", 2, "1,9"),
        (CACHES_PLAIN, "0-15", 8, "0-7"),
        # whole caches first, of whatever place; the rest from the fullest cache that has exactly as many free ones
        (CACHES_PLAIN, "1-15", 5, "1,4-7"),
        (CACHES_PLAIN, "2-15", 6, "2-7"),
        (CACHES_PLAIN, "1-3,5-15", 9, "1,8-15"),
        (CACHES_PLAIN, "1-15", 4, "4-7"),
        (CACHES_PLAIN, "1-15", 3, "1-3"),
        # no cache holds it: as without the option
        (CACHES_PLAIN, "0-2,4-6,8-10,12-14", 4, "0-2,4"),
    ],
)
def test_with_prefer_align_cpus_by_uncore_cache_whole_caches_or_a_part_of_one_are_taken(
    made: MachineTopology, free: str, count: int, taken: str
):
    found = packed(made, parse_cpu_list(free), count, by_cache=True)
    assert format_cpu_list(found) == format_cpu_list(parse_cpu_list(taken))


@pytest.mark.parametrize(
    ("made", "free", "count", "taken"),
    [
        (SMT, "0-7", 3, "0-2"),
        (SMT, "0-7", 5, "0-4"),
        (SMT, "1-7", 2, "1-2"),
        (TWO, "0-15", 5, "0-3,8"),
        (TWO, "1-15", 2, "1-2"),
    ],
)
def test_across_cores_single_cpus_of_a_socket_are_taken_by_their_numbers(
    made: MachineTopology, free: str, count: int, taken: str
):
    assert packed(made, parse_cpu_list(free), count, across_cores=True) == parse_cpu_list(taken)


def test_too_few_cpus_are_an_error_with_both_numbers():
    with pytest.raises(NotEnoughCpus) as error:
        packed(SMT, parse_cpu_list("1-3"), 4)
    assert str(error.value) == "not enough cpus available to satisfy request: requested=4, available=3"
    assert error.value.refusal().reason == "UnexpectedAdmissionError"
    assert error.value.refusal().message == f"Allocate failed due to {error.value}, which is unexpected"


MACHINES = st.sampled_from([PLAIN, SMT, TWO, SPLIT_SOCKET, EIGHT, TWO_SOCKETS_ONE_NODE, CACHES, CACHES_PLAIN])


@given(MACHINES, st.data(), st.booleans(), st.booleans())
def test_the_requested_number_of_free_cpus_is_taken(
    made: MachineTopology, data: st.DataObject, by_cache: bool, spread: bool
):
    free = data.draw(st.frozensets(st.sampled_from(sorted(made.online))))
    count = data.draw(st.integers(0, len(free)))
    taken = packed(made, free, count, by_cache=by_cache, across_cores=spread)
    assert len(taken) == count
    assert taken <= free


@given(MACHINES, st.data(), st.booleans())
def test_whole_free_cores_are_taken_whole(made: MachineTopology, data: st.DataObject, by_cache: bool):
    cores = data.draw(st.frozensets(st.sampled_from(sorted({cpu.core for cpu in made.cpus})), min_size=1))
    free = made.whole_cores(cores)
    count = data.draw(st.integers(0, len(cores))) * made.threads_per_core
    taken = packed(made, free, count, by_cache=by_cache)
    assert made.whole_cores(taken) == taken
