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
    assert not any(one.critical for one in found)
    assert all(without(shortage, [other for other in found if other is not one]) for one in found)
