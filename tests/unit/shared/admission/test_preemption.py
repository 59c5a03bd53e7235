"""Who makes room for a critical pod, worked out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.shared.admission.checks.resources import shortages
from actors.shared.admission.preemption import victims, without
from actors.shared.admission.request import AdmittedUsage, Demand, NodeState, Refusal

CRITICAL = 2_000_000_000
B, U, G = "BestEffort", "Burstable", "Guaranteed"


def demand(uid, qos=U, cpu=0, memory=0, priority=0, critical=False, **more):
    requests = {name: amount for name, amount in {"cpu": cpu, "memory": memory, **more}.items() if amount}
    return Demand(uid, requests, frozenset(), qos, priority, critical)


def node(running, **allocatable):
    requests: dict[str, int] = {}
    for one in running:
        for name, amount in one.requests.items():
            requests[name] = requests.get(name, 0) + amount
    whole = {"pods": 100, "cpu": 1000, "memory": 1000, "ephemeral-storage": 0, **allocatable}
    return NodeState(allocatable=whole, usage=AdmittedUsage(len(running), requests))


def chosen(pod, *running, **allocatable):
    found = victims(pod, node(running, **allocatable), running)
    return found if isinstance(found, Refusal) else [one.uid for one in found]


def critical(**wants):
    return demand("new", priority=CRITICAL, critical=True, **wants)


@pytest.mark.parametrize(
    ("wants", "running", "expected"),
    [
        # the one that comes nearest to what is lacking (500)
        ({"cpu": 500}, [demand("a", cpu=400), demand("b", cpu=600)], ["b"]),
        ({"cpu": 300}, [demand("a", cpu=400), demand("b", cpu=600)], ["a"]),
        # of equals the one with less memory, then with less cpu
        ({"cpu": 300}, [demand("a", cpu=500, memory=9), demand("b", cpu=500, memory=5)], ["b"]),
        ({"cpu": 300}, [demand("a", cpu=520), demand("b", cpu=480)], ["b"]),
        # Burstable before Guaranteed, if that suffices
        ({"cpu": 300}, [demand("a", G, cpu=500), demand("b", U, cpu=500)], ["b"]),
        ({"cpu": 900}, [demand("a", G, cpu=500), demand("b", U, cpu=500)], ["a", "b"]),
        # several of one class
        ({"cpu": 700}, [demand("a", cpu=400), demand("b", cpu=300), demand("c", cpu=300)], ["a", "b"]),
        # two resources: the one that gives of both; then, of two that give the rest, the one with less memory
        (
            {"cpu": 500, "memory": 500},
            [demand("a", cpu=500, memory=100), demand("b", cpu=250, memory=450), demand("c", cpu=250, memory=450)],
            ["b", "a"],
        ),
        # how much is lacking of each counts as a fraction
        (
            {"cpu": 100, "memory": 500},
            [demand("a", cpu=100, memory=300), demand("b", cpu=40, memory=500), demand("c", cpu=860, memory=200)],
            ["a", "c"],
        ),
        # the first one is not needed any more once the others are chosen
        (
            {"cpu": 100, "memory": 100},
            [demand("a", G, 60, 60), demand("b", G, 100), demand("c", G, 0, 100), critical(cpu=840, memory=840)],
            ["b", "c"],
        ),
    ],
)  # fmt: skip
def test_the_victims_are_those_of_the_kubelet(wants, running, expected):
    assert chosen(critical(**wants), *running) == expected


def test_a_pod_that_only_needs_a_slot_preempts_a_best_effort_pod():
    assert chosen(critical(), demand("a", U, cpu=10), demand("b", B), pods=2) == ["b"]


def test_critical_pods_yield_to_higher_priorities_only():
    low = demand("low", cpu=1000, priority=CRITICAL, critical=True)
    assert isinstance(chosen(critical(cpu=500), low), Refusal)
    higher = demand("new", cpu=500, priority=CRITICAL + 1000, critical=True)
    assert chosen(higher, low) == ["low"]
    static = Demand("static", {"cpu": 1000}, frozenset(), U, None, critical=True)
    assert isinstance(chosen(higher, static), Refusal)


@pytest.mark.parametrize(
    ("pod", "other", "ends"),
    [
        ((True, CRITICAL), (False, 0), True),
        ((True, None), (False, None), True),
        ((True, 5), (False, 9), True),
        ((True, CRITICAL), (True, CRITICAL - 1), True),
        ((True, CRITICAL), (True, CRITICAL), False),
        ((True, None), (True, 5), False),
        ((True, CRITICAL), (True, None), False),
        ((False, 9), (False, 5), True),
        ((False, None), (False, None), False),
        ((False, 5), (True, 9), False),
    ],
)
def test_a_pod_ends_for_a_critical_one_if_it_is_none_and_for_one_of_a_higher_priority(pod, other, ends):
    """A pod is (critical, priority); a static pod without a priority has none."""
    preemptor, running = (
        Demand(uid, {"cpu": 1000}, frozenset(), U, priority, critical)
        for uid, (critical, priority) in (("new", pod), ("old", other))
    )
    found = chosen(preemptor, running)
    assert (found == ["old"], isinstance(found, Refusal)) == (ends, not ends)


def test_a_refusal_names_the_missing_resource_if_no_victims_help():
    refused = chosen(critical(cpu=1100), demand("a", cpu=1000))
    assert refused == Refusal(
        "UnexpectedAdmissionError",
        "Unexpected error while attempting to recover from admission failure: preemption: "
        "error finding a set of pods to preempt: no set of running pods found to reclaim resources: "
        "[(res: cpu, q: 100), ]",
    )


PODS = st.lists(
    st.tuples(st.sampled_from([B, U, G]), st.integers(0, 300), st.integers(0, 300), st.booleans()), max_size=8
)


@given(PODS, st.integers(0, 1200), st.integers(0, 1200))
def test_with_the_victims_gone_there_is_room_and_none_of_them_ends_in_vain(pods, cpu, memory):
    running = [
        demand(str(at), qos, 0 if qos == B else first, 0 if qos == B else second, CRITICAL * important, important)
        for at, (qos, first, second, important) in enumerate(pods)
    ]
    pod, state = critical(cpu=cpu, memory=memory), node(running)
    shortage = shortages(pod, state)
    found = victims(pod, state, running)
    if isinstance(found, Refusal):
        assert without(shortage, [one for one in running if not one.critical]) != {}
        return
    assert without(shortage, found) == {}
    assert len({one.uid for one in found}) == len(found)
    assert not any(one.critical for one in found)
    assert all(without(shortage, [other for other in found if other is not one]) for one in found)
