from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.container_manager.admission.ledger import Ledger
from actors.container_manager.cgroups.qos_limits import tier_limits
from actors.shared.admission.request import Demand
from actors.shared.linux.cgroup_limits import UNLIMITED

AMOUNTS = st.lists(st.integers(0, 1000), max_size=5)


def ledger(guaranteed=(), burstable=(), best_effort=0):
    found = Ledger()
    for qos, requests in (("Guaranteed", guaranteed), ("Burstable", burstable), ("BestEffort", [0] * best_effort)):
        for number, memory in enumerate(requests):
            requested = {"memory": memory, "cpu": 100} if memory else {}
            found.add(Demand(f"{qos}{number}", requested, frozenset(), qos))
    return found


def memory(pods, share):
    limits = tier_limits(pods, 1000, {"memory": share} if share else {})
    return limits["Burstable"].memory_bytes, limits["BestEffort"].memory_bytes


@pytest.mark.parametrize(
    ("share", "limits"),
    [("", (UNLIMITED, UNLIMITED)), ("0%", (1000, 1000)), ("50%", (900, 850)), ("100%", (800, 700))],
)
def test_a_share_of_what_pods_request_is_reserved_from_lower_qos_tiers(share, limits):
    assert memory(ledger(guaranteed=[150, 50], burstable=[100], best_effort=2), share) == limits


def test_the_burstable_tier_has_the_shares_of_its_pods_and_best_effort_the_least():
    limits = tier_limits(ledger(guaranteed=[1], burstable=[1, 1], best_effort=1), 1000, {})
    assert (limits["Burstable"].cpu_shares, limits["BestEffort"].cpu_shares) == (204, 2)


@given(AMOUNTS, AMOUNTS, st.integers(0, 100))
def test_a_lower_tier_never_has_more_than_the_one_above(guaranteed, burstable, percent):
    above, below = memory(ledger(guaranteed, burstable), f"{percent}%")
    assert 0 <= below <= above <= 1000


def test_requested_memory_is_protected_by_qos_class():
    pods = ledger(guaranteed=[150, 50], burstable=[100, 20], best_effort=2)
    limits = tier_limits(pods, 1000, {}, protects=True)
    protected = {qos: (one.memory_min, one.memory_low) for qos, one in limits.items()}
    assert protected == {"Guaranteed": (320, 120), "Burstable": (None, 120), "BestEffort": (None, None)}
    assert limits["Guaranteed"].memory_bytes is None, "kubepods keeps the limit of all pods"


def test_memory_protection_ends_with_the_policy():
    pods = ledger(guaranteed=[150], burstable=[100])
    limits = tier_limits(pods, 1000, {}, protects=False)
    assert (limits["Guaranteed"].memory_min, limits["Guaranteed"].memory_low) == (0, 0)
    assert limits["Burstable"].memory_low == 0
    cannot = tier_limits(pods, 1000, {})
    assert cannot.keys() == {"Burstable", "BestEffort"}
    assert cannot["Burstable"].memory_low is None
