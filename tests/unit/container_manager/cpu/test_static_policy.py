"""The static policy: who gets CPUs of their own, which, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.container_manager.cpu.options import CpuOptions, contradiction
from actors.container_manager.cpu.requests import exclusive_cpus_of_pod
from actors.container_manager.cpu.state import CpuState, StateError
from actors.container_manager.cpu.static_policy import (
    StaticPolicy,
    allocate,
    available,
    hints,
    pod_hints,
    reusable,
    starting_state,
    static_policy,
)
from actors.container_manager.topology.machine import LogicalCpu, MachineTopology
from actors.container_manager.topology.provider import AllocationError
from actors.shared.hardware.hints import TopologyHint
from actors.shared.kube.pod import Pod
from actors.shared.linux.cpu_list import format_cpu_list, parse_cpu_list
from tests.support.hardware_pods import asking, pod_of
from tests.support.machines import machine

SMT = machine(cores=4, threads=2)
TWO = machine(sockets=2, nodes=2, cores=4, threads=2)
"""Node 0: 0-3,8-11. Node 1: 4-7,12-15."""
PLAIN_OPTIONS = CpuOptions()


def policy_on(made: MachineTopology, reserved: str = "0", **options: bool) -> StaticPolicy:
    return StaticPolicy(made, CpuOptions(**options), parse_cpu_list(reserved))


def machine_of_cores(*cores: tuple[int, ...]) -> MachineTopology:
    """One socket, one NUMA node."""
    cpus = [LogicalCpu(cpu, core[0], 0, 0, 0) for core in cores for cpu in core]
    return MachineTopology(tuple(sorted(cpus, key=lambda cpu: cpu.id)), machine().nodes)


def start(policy: StaticPolicy) -> CpuState:
    return starting_state(policy, CpuState("static"))


def given_to(policy: StaticPolicy, state: CpuState, pod: Pod, affinity: TopologyHint | None = None) -> CpuState:
    """All containers of the pod, in order."""
    for container in (*pod.spec.initContainers, *pod.spec.containers):
        state = allocate(policy, state, pod, container, affinity)
    return state


def shown(state: CpuState, uid: str = "u") -> dict[str, str]:
    return {name: format_cpu_list(cpus) for name, cpus in state.of(uid).items()}


# -- the reservation ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("made", "milli", "reserved"),
    [(SMT, 2000, "0,4"), (SMT, 1, "0"), (SMT, 2001, "0-1,4"), (TWO, 2000, "0,8"), (machine(cores=2), 1000, "0")],
)
def test_as_many_whole_cpus_as_are_reserved_are_taken_from_the_lowest_cores(
    made: MachineTopology, milli: int, reserved: str
):
    assert format_cpu_list(static_policy(made, PLAIN_OPTIONS, milli, frozenset()).reserved) == reserved


def test_named_cpus_are_the_reserved_ones():
    assert static_policy(SMT, PLAIN_OPTIONS, 2000, frozenset({3, 7})).reserved == frozenset({3, 7})


def test_without_a_reservation_the_policy_does_not_start():
    with pytest.raises(StateError) as error:
        static_policy(SMT, PLAIN_OPTIONS, 0, frozenset())
    assert str(error.value) == (
        "[cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero"
    )


# -- the start ---------------------------------------------------------------------------------------------------------
def test_at_first_all_cpus_are_shared():
    assert start(policy_on(SMT)).shared == SMT.online
    assert start(policy_on(SMT, "0,4", strict_reservation=True)).shared == parse_cpu_list("1-3,5-7")


@pytest.mark.parametrize(
    ("strict", "shared", "entries", "text"),
    [
        (False, "", {"1": "1"}, "default cpuset cannot be empty"),
        (False, "1-7", {}, 'not all reserved cpus: "0" are present in defaultCpuSet: "1-7"'),
        (True, "0-7", {}, 'some of strictly reserved cpus: "0" are present in defaultCpuSet: "0-7"'),
        (False, "0-7", {"c": "7"}, 'pod: u, container: c cpuset: "7" overlaps with default cpuset "0-7"'),
        (
            False,
            "0-5",
            {"c": "6"},
            'current set of available CPUs "0-7" doesn\'t match with CPUs in state "0-6"',
        ),
        (True, "1-8", {}, 'current set of available CPUs "1-7" doesn\'t match with CPUs in state "1-8"'),
    ],
)
def test_a_state_that_does_not_fit_the_machine_is_refused(
    strict: bool, shared: str, entries: dict[str, str], text: str
):
    kept = {"u": {name: parse_cpu_list(cpus) for name, cpus in entries.items()}} if entries else {}
    state = CpuState("static", parse_cpu_list(shared), kept)
    with pytest.raises(StateError) as error:
        starting_state(policy_on(SMT, strict_reservation=strict), state)
    assert str(error.value) == text


def test_a_state_that_gives_a_cpu_to_two_pods_is_refused_but_containers_of_one_pod_may_share_it():
    one = {"a": frozenset({6}), "b": frozenset({6, 7})}
    state = CpuState("static", parse_cpu_list("0-5"), {"u": one})
    assert starting_state(policy_on(SMT), state) == state
    with pytest.raises(StateError) as error:
        starting_state(
            policy_on(SMT), CpuState("static", parse_cpu_list("0-5"), {"u": one, "v": {"c": frozenset({7})}})
        )
    assert str(error.value) == 'pod: v, container: c cpuset: "7" overlaps with that of pod: u'


def test_more_reserved_cpus_than_the_machine_has_are_refused():
    with pytest.raises(StateError) as error:
        static_policy(SMT, CpuOptions(), 8500, frozenset())
    text = "[cpumanager] unable to reserve the required amount of CPUs (size of 0-7 did not equal 9)"
    assert str(error.value) == text


def test_a_state_that_fits_is_gone_on_from():
    state = CpuState("static", parse_cpu_list("0-5,7"), {"u": {"c": frozenset({6})}})
    assert starting_state(policy_on(SMT), state) == state
    strict = CpuState("static", parse_cpu_list("1-5,7"), {"u": {"c": frozenset({6})}})
    assert starting_state(policy_on(SMT, strict_reservation=True), strict) == strict


# -- who gets some -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("containers", "taken"),
    [
        ([asking("a", "2")], {"a": "1,5"}),
        ([asking("a", "2"), asking("b", "1500m")], {"a": "1,5"}),
        ([asking("a", "1000m"), asking("b", "1")], {"a": "4", "b": "1"}),
        ([asking("a", "500m")], {}),
        ([{"name": "a", "image": "i", "resources": {"requests": {"cpu": "2"}}}], {}),
        ([asking("a", "2"), {"name": "b", "image": "i"}], {}),
        ([{"name": "a", "image": "i"}], {}),
    ],
)
def test_containers_of_guaranteed_pods_that_request_whole_cpus_get_exclusive_ones(containers, taken):
    policy = policy_on(SMT)
    state = given_to(policy, start(policy), pod_of(*containers))
    assert shown(state) == taken
    assert state.shared == SMT.online - state.exclusive()


def test_a_pod_with_resources_of_its_own_runs_on_the_shared_cpus():
    policy = policy_on(SMT)
    pod = pod_of(asking("a", "2"), resources={"limits": {"cpu": "2", "memory": "64Mi"}})
    assert given_to(policy, start(policy), pod).entries == {}
    assert hints(policy, start(policy), pod, pod.spec.containers[0]) == {}


def test_a_container_keeps_its_cpus():
    policy, pod = policy_on(SMT), pod_of(asking("a", "2"))
    state = given_to(policy, start(policy), pod)
    assert given_to(policy, state, pod) is state


def test_reserved_cpus_are_given_to_no_pod():
    policy = policy_on(SMT, "0,4")
    state = given_to(policy, start(policy), pod_of(asking("a", "6")))
    assert shown(state) == {"a": "1-3,5-7"}
    with pytest.raises(AllocationError, match="requested=1, available=0"):
        given_to(policy, state, pod_of(asking("b", "1"), uid="v"))


def test_cpus_of_an_init_container_are_used_again_those_of_a_sidecar_are_not():
    policy = policy_on(SMT)
    init = [asking("i1", "2"), asking("side", "1", restartPolicy="Always"), asking("i2", "3")]
    pod = pod_of(asking("a", "2"), asking("b", "2"), init=init)
    state = given_to(policy, start(policy), pod)
    own = state.of("u")
    assert not own["side"] & (own["i2"] | own["a"] | own["b"])
    assert not own["a"] & own["b"]
    assert own["i1"] <= own["i2"] | own["side"]
    assert len(state.exclusive()) == exclusive_cpus_of_pod(pod) == 5
    assert state.without("u") == start(policy)


# -- whole cores -------------------------------------------------------------------------------------------------------
def test_with_full_pcpus_only_a_part_of_a_core_is_refused():
    policy = policy_on(SMT, full_cores=True)
    with pytest.raises(AllocationError) as error:
        given_to(policy, start(policy), pod_of(asking("a", "3")))
    assert error.value.reason == "SMTAlignmentError"
    assert error.value.refusal().message == "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2"


def test_with_full_pcpus_only_the_core_of_a_reserved_cpu_does_not_count():
    policy = policy_on(SMT, full_cores=True)
    with pytest.raises(AllocationError) as error:
        given_to(policy, start(policy), pod_of(asking("a", "8")))
    assert error.value.refusal().message == (
        "SMT Alignment Error: not enough free physical CPUs: available physical CPUs = 6, requested CPUs = 8, "
        "CPUs per core = 2"
    )
    state = given_to(policy, start(policy), pod_of(asking("a", "6")))
    assert shown(state) == {"a": "1-3,5-7"}


def test_with_full_pcpus_only_a_container_on_a_hybrid_processor_shares_no_core():
    """Four cores with two threads, four with one: the mean is one CPU a core."""
    hybrid = machine_of_cores((0, 1), (2, 3), (4, 5), (6, 7), (8,), (9,), (10,), (11,))
    policy = policy_on(hybrid, "8", full_cores=True)
    state = start(policy)
    shares = {"a": "1", "b": "3", "c": "2"}
    for uid, count in shares.items():
        state = given_to(policy, state, pod_of(asking("one", count), uid=uid))
    taken = {uid: state.of(uid)["one"] for uid in shares}
    assert {uid: format_cpu_list(cpus) for uid, cpus in taken.items()} == {"a": "9", "b": "0-1,10", "c": "2-3"}
    assert all(hybrid.whole_cores(cpus) == cpus for cpus in taken.values())


def test_with_full_pcpus_only_a_pod_is_refused_where_only_parts_of_cores_are_left():
    policy = policy_on(machine_of_cores((0, 1), (2, 3), (4,)), "4", full_cores=True)
    with pytest.raises(AllocationError) as error:
        given_to(policy, start(policy), pod_of(asking("a", "1")))
    assert error.value.refusal().reason == "SMTAlignmentError"
    assert error.value.refusal().message == (
        "SMT Alignment Error: no free cores that have 1 CPUs together: they have 1 or 2 CPUs"
    )
    without_option = policy_on(policy.machine, "4")
    assert shown(given_to(without_option, start(without_option), pod_of(asking("a", "1")))) == {"a": "0"}


# -- alignment ---------------------------------------------------------------------------------------------------------
def test_cpus_of_the_affinity_s_nodes_come_first_and_the_rest_from_others():
    policy = policy_on(TWO)
    second = TopologyHint(0b10, preferred=True)
    assert shown(given_to(policy, start(policy), pod_of(asking("a", "2")), second)) == {"a": "4,12"}
    assert shown(given_to(policy, start(policy), pod_of(asking("a", "10")), second)) == {"a": "1,4-7,9,12-15"}


def test_by_socket_cpus_of_the_whole_socket_are_aligned():
    made = machine(sockets=2, nodes=4, cores=2)
    first = TopologyHint(0b1000, preferred=True)
    by_node = given_to(policy_on(made), start(policy_on(made)), pod_of(asking("a", "3")), first)
    assert shown(by_node) == {"a": "4,6-7"}
    policy = policy_on(made, by_socket=True)
    assert shown(given_to(policy, start(policy), pod_of(asking("a", "3")), first)) == {"a": "4-6"}


def test_hints_name_all_masks_with_enough_and_prefer_those_of_the_fewest_nodes():
    policy, pod = policy_on(TWO), pod_of(asking("a", "2"))
    assert hints(policy, start(policy), pod, pod.spec.containers[0]) == {
        "cpu": [TopologyHint(1, preferred=True), TopologyHint(2, preferred=True), TopologyHint(3, preferred=False)]
    }
    large = pod_of(asking("a", "8"))
    assert hints(policy, start(policy), large, large.spec.containers[0]) == {
        "cpu": [TopologyHint(2, preferred=True), TopologyHint(3, preferred=False)]
    }
    huge = pod_of(asking("a", "16"))
    assert hints(policy, start(policy), huge, huge.spec.containers[0]) == {"cpu": []}


def test_hints_of_a_container_that_has_its_cpus_name_where_these_are():
    policy, pod = policy_on(TWO), pod_of(asking("a", "2"))
    state = given_to(policy, start(policy), pod, TopologyHint(2, preferred=True))
    container = pod.spec.containers[0]
    assert hints(policy, state, pod, container) == {
        "cpu": [TopologyHint(2, preferred=True), TopologyHint(3, preferred=False)]
    }
    assert hints(policy, state, pod_of(asking("a", "3")), container) != {"cpu": ()}
    other = pod_of(asking("a", "3"))
    assert hints(policy, state, other, other.spec.containers[0]) == {"cpu": ()}
    assert pod_hints(policy, state, other) == {"cpu": ()}
    assert pod_hints(policy, state, pod) == hints(policy, state, pod, container)


def test_hints_of_a_pod_are_for_the_most_cpus_that_its_containers_have_at_one_time():
    policy = policy_on(TWO)
    pod = pod_of(asking("a", "3"), asking("b", "4"), init=[asking("i", "2"), asking("s", "1", restartPolicy="Always")])
    assert pod_hints(policy, start(policy), pod) == {
        "cpu": [TopologyHint(2, preferred=True), TopologyHint(3, preferred=False)]
    }
    assert pod_hints(policy, start(policy), pod_of(asking("a", "500m"))) == {}


def test_by_socket_nodes_of_the_fewest_sockets_are_preferred():
    made = machine(sockets=2, nodes=4, cores=2)
    policy, pod = policy_on(made, by_socket=True), pod_of(asking("a", "2"))
    found = hints(policy, start(policy), pod, pod.spec.containers[0])["cpu"]
    assert found is not None
    assert {hint.mask for hint in found if hint.preferred} == {0b10, 0b100, 0b1000, 0b11, 0b1100}


# -- options -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["full-pcpus-only", "distribute-cpus-across-cores"], "full-pcpus-only and distribute-cpus-across-cores"),
        (
            ["distribute-cpus-across-numa", "distribute-cpus-across-cores"],
            "distribute-cpus-across-numa and distribute-cpus-across-cores",
        ),
        (
            ["prefer-align-cpus-by-uncorecache", "distribute-cpus-across-cores"],
            "prefer-align-cpus-by-uncorecache and distribute-cpus-across-cores",
        ),
        (
            ["prefer-align-cpus-by-uncorecache", "distribute-cpus-across-numa"],
            "prefer-align-cpus-by-uncorecache and distribute-cpus-across-numa",
        ),
    ],
)
def test_options_that_exclude_each_other_are_refused(options: list[str], text: str):
    on = dict.fromkeys(options, "true")
    assert contradiction(on, "none", SMT) == f"static policy options {text} can not be used at the same time"
    assert contradiction(on | {options[0]: "false"}, "none", SMT) == ""


def test_align_by_socket_is_refused_where_it_means_nothing():
    on = {"align-by-socket": "true"}
    assert contradiction(on, "restricted", SMT) == ""
    assert contradiction(on, "single-numa-node", SMT) == (
        "Topolgy manager single-numa-node policy is incompatible with CPUManager align-by-socket policy option"
    )
    assert "number of sockets are more" in contradiction(on, "restricted", machine(sockets=2, nodes=1))


# -- always ------------------------------------------------------------------------------------------------------------
@given(
    st.sampled_from([SMT, TWO, machine(sockets=2, nodes=8, cores=2), machine(cores=8, threads=2, caches=4)]),
    st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 5), st.booleans()), max_size=12),
    st.sampled_from([{}, {"full_cores": True}, {"across_nodes": True}, {"by_cache": True}, {"across_cores": True}]),
    st.sampled_from([None, 1, 2, 3]),
)
def test_no_cpu_belongs_to_two_pods_and_none_is_lost(made, steps, options, mask):
    policy = policy_on(made, "0", **options)
    state = start(policy)
    affinity = None if mask is None else TopologyHint(mask, preferred=True)
    for uid, count, leaves in steps:
        if leaves:
            state = state.without(uid)
            continue
        pod = pod_of(asking("a", str(count)), uid=uid) if count else pod_of({"name": "a", "image": "i"}, uid=uid)
        try:
            state = given_to(policy, state, pod, affinity)
        except AllocationError:
            assert count > len(available(policy, state)) or options.get("full_cores")
        owned = [cpus for containers in state.entries.values() for cpus in containers.values()]
        assert sum(map(len, owned)) == len(state.exclusive())
        assert state.exclusive() | state.shared == made.online
        assert not state.exclusive() & state.shared
        assert policy.reserved <= state.shared
        if options.get("full_cores"):
            assert all(made.whole_cores(cpus) == cpus for cpus in owned)
        assert starting_state(policy, state) == state
    assert reusable(state, pod_of(asking("a", "1"), uid="nobody")) == frozenset()
