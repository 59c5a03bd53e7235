"""CPUs are distributed evenly across NUMA nodes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.container_manager.cpu.distribution import distributed, imbalance
from actors.container_manager.cpu.packing import NotEnoughCpus, packed
from actors.container_manager.topology.machine import MachineTopology
from actors.shared.linux.cpu_list import format_cpu_list, parse_cpu_list
from tests.support.machines import machine

TWO = machine(sockets=2, nodes=2, cores=4)
"""0-3 and 4-7."""
SMT = machine(sockets=2, nodes=2, cores=2, threads=2)
"""0-1,4-5 and 2-3,6-7."""
FOUR = machine(sockets=2, nodes=4, cores=4)
"""0-3, 4-7, 8-11, 12-15."""
EIGHT = machine(sockets=2, nodes=8, cores=2, threads=2)
"""Node n: 2n, 2n+1, 16+2n, 17+2n."""


@pytest.mark.parametrize(
    ("made", "free", "count", "group", "taken"),
    [
        # one node is enough
        (TWO, "0-7", 3, 1, "0-2"),
        # two are needed: the same number from each
        (TWO, "0-7", 6, 1, "0-2,4-6"),
        # a remainder goes to the node that leaves the rest more even
        (TWO, "0-7", 5, 1, "0-2,4-5"),
        (TWO, "1-7", 5, 1, "1-2,4-6"),
        # not as many are free in the first node as its share would be: two nodes cannot, three can
        (FOUR, "0,4-15", 8, 1, "4-11"),
        (FOUR, "0-1,4-5,8-9,12-13", 6, 1, "0-1,4-5,8-9"),
        (FOUR, "0-15", 12, 1, "0-11"),
        # with whole cores the share is one of cores
        (SMT, "0-7", 6, 2, "0-1,4-5,2,6"),
        (SMT, "0-7", 6, 1, "0,4,1,2,6,3"),
        # not a multiple of a core: plain packing
        (SMT, "0-7", 5, 2, "0-1,4-5,2"),
        (EIGHT, "0-31", 8, 2, "0-3,16-19"),
        (EIGHT, "0-31", 32, 2, "0-31"),
    ],
)
def test_the_table_holds(made: MachineTopology, free: str, count: int, group: int, taken: str):
    found = distributed(made, parse_cpu_list(free), count, group)
    assert format_cpu_list(found) == format_cpu_list(parse_cpu_list(taken))


def test_the_imbalance_is_the_standard_deviation_to_three_decimals():
    assert imbalance([3, 3]) == 0
    assert imbalance([0, 1]) == 0.5
    assert imbalance([1, 2, 2]) == 0.471


def test_too_few_cpus_are_an_error():
    with pytest.raises(NotEnoughCpus):
        distributed(TWO, parse_cpu_list("0-2"), 4, 1)


@given(st.sampled_from([TWO, SMT, FOUR]), st.data())
def test_the_requested_number_of_free_cpus_is_taken(made: MachineTopology, data: st.DataObject):
    free = data.draw(st.frozensets(st.sampled_from(sorted(made.online))))
    count = data.draw(st.integers(0, len(free)))
    group = data.draw(st.sampled_from([1, made.threads_per_core]))
    taken = distributed(made, free, count, group)
    assert len(taken) == count
    assert taken <= free


@given(st.sampled_from([TWO, SMT, FOUR, EIGHT]), st.data())
def test_numa_nodes_of_an_idle_machine_differ_by_one_group_at_most(made: MachineTopology, data: st.DataObject):
    group = made.threads_per_core
    count = group * data.draw(st.integers(1, len(made.cpus) // group))
    taken = distributed(made, made.online, count, group)
    shares = [len(taken & made.of_nodes([node])) for node in made.cpu_nodes]
    given = [share for share in shares if share]
    assert max(given) - min(given) <= group
    assert made.whole_cores(taken) == taken


@given(st.data())
def test_no_more_nodes_are_used_than_plain_packing_uses(data: st.DataObject):
    count = data.draw(st.integers(1, 16))
    one, other = distributed(FOUR, FOUR.online, count, 1), packed(FOUR, FOUR.online, count)

    def nodes(cpus: frozenset[int]) -> int:
        return len({FOUR.by_id[cpu].node for cpu in cpus})

    assert nodes(one) == nodes(other)
