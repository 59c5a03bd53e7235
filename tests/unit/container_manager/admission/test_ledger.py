"""The ledger counts pods once, and with the admission checks it never gives out more than there is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from actors.container_manager.admission.ledger import Ledger
from actors.shared.admission.checks import refusal
from actors.shared.admission.request import Demand, NodeState, PodAdmitAttributes
from actors.shared.kube.pod import Pod

NODE = {"cpu": 1000, "memory": 1000, "ephemeral-storage": 1000, "pods": 3, "hugepages-2Mi": 4}

steps = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.booleans(), st.integers(0, 700), st.integers(0, 3)), max_size=40
)


def demand(uid: str, qos: str = "Burstable", port: int = 0, **requests: int) -> Demand:
    return Demand(uid, requests, frozenset({("", port, "TCP")} if port else ()), qos)


def test_a_pod_is_counted_once_as_it_was_added_last() -> None:
    ledger = Ledger()
    for cpu in (100, 250):
        ledger.add(demand("a", cpu=cpu))

    assert (len(ledger), ledger.requested(), "a" in ledger) == (1, {"cpu": 250}, True)
    assert ledger.get("a") == demand("a", cpu=250)
    assert [ledger.drop("a"), ledger.drop("a")] == [True, False]
    assert (len(ledger), ledger.requested(), ledger.get("a")) == (0, {}, None)


def test_requests_are_summed_by_qos_class_and_together() -> None:
    ledger = Ledger()
    for uid, qos in (("a", "Burstable"), ("b", "Guaranteed"), ("c", "BestEffort")):
        ledger.add(demand(uid, qos, port=ord(uid), cpu=100))

    assert ledger.requested_by("Burstable", "cpu") == 100
    usage = ledger.usage()
    assert (usage.pods, usage.requests, len(usage.ports)) == (3, {"cpu": 300}, 3)


@given(steps)
def test_no_more_than_the_total_is_given_out_in_any_history(steps: list[tuple[str, bool, int, int]]) -> None:
    ledger = Ledger()
    held: dict[str, Demand] = {}
    for uid, comes, cpu, port in steps:
        wanted = demand(uid, port=port, cpu=cpu)
        if not comes:
            held.pop(uid, None)
            ledger.drop(uid)
        elif uid not in ledger:
            node = NodeState(allocatable=NODE, usage=ledger.usage())
            if refusal(PodAdmitAttributes(Pod(), wanted), node) is None:
                ledger.add(wanted)
                held[uid] = wanted
        ports = [one for each in held.values() for one in each.ports]
        assert ledger.requested().get("cpu", 0) <= NODE["cpu"]
        assert len(ledger) == len(held) <= NODE["pods"]
        assert len(ports) == len(set(ports)) == len(ledger.usage().ports)
