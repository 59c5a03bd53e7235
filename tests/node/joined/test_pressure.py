"""A node that runs short says so, and refuses who could make it worse."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.joined import NODE, Joined, condition, container, joined, pod, status
from tests.support.runtime import RealRuntime


@pytest.fixture
def short(real_runtime: RealRuntime) -> Iterator[Joined]:
    """A node that thinks that all memory but a hundredth is to be left free, and waits before it evicts anybody."""
    soft = {"evictionSoft": {"memory.available": "99%"}, "evictionSoftGracePeriod": {"memory.available": "1h"}}
    with joined(real_runtime, "short", **soft) as found:
        yield found


def test_a_node_under_memory_pressure_reports_it_and_admits_only_pods_that_request_memory(short: Joined) -> None:
    def pressed() -> bool:
        found = condition(short.nodes.now[f"/{NODE}"], "MemoryPressure")
        return (found.get("status"), found.get("reason")) == ("True", "KubeletHasInsufficientMemory")

    short.nodes.until(pressed, "MemoryPressure", 60.0)
    assert condition(short.nodes.now[f"/{NODE}"], "DiskPressure").get("status") == "False"
    asks = container("main", resources={"requests": {"memory": "16Mi"}})
    short.create(pod("no-request"), pod("asks", asks))
    refused = status(short.wait_phase("no-request", "Failed"))
    assert (refused["reason"], refused["message"]) == (
        "Evicted",
        "Pod was rejected: The node had condition: [MemoryPressure]. ",
    )
    short.wait_pods_ready("asks")
