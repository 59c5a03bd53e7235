"""When silence of the runtime becomes a fault, and when it is still a restart."""

from __future__ import annotations

from typing import Any

import pytest

from actors.api_clients.heartbeat_client.messages import RuntimeReport
from actors.api_clients.heartbeat_client.node_status.runtime_state import RuntimeState

BEGAN = 1000.0


def report(ready_at: float = BEGAN + 1, relisted_at: float = BEGAN + 1, **more: Any) -> RuntimeReport:
    return RuntimeReport(ready_at=ready_at, relisted_at=relisted_at, **more)


def well() -> RuntimeState:
    return RuntimeState(started_at=BEGAN).reported(report())


def test_the_runtime_state_is_unknown_before_the_first_report_or_half_a_minute():
    state = RuntimeState(started_at=BEGAN)
    assert not state.settled(BEGAN + 29.9)
    assert state.settled(BEGAN + 30)
    assert state.errors(BEGAN + 30) == [
        "container runtime status check may not have completed yet",
        "PLEG is not healthy: pleg has yet to be successful",
        "network state unknown",
    ]


def test_a_healthy_runtime_is_ready_at_once():
    assert well().settled(BEGAN + 1)
    assert well().errors(BEGAN + 30.9) == []


def test_a_runtime_is_down_half_a_minute_after_its_last_good_answer():
    assert well().errors(BEGAN + 31) == ["container runtime is down"]


def test_the_pleg_is_unhealthy_after_three_minutes():
    state = well().reported(report(ready_at=BEGAN + 186.5))
    assert state.errors(BEGAN + 181) == []
    assert state.errors(BEGAN + 186.5) == [
        "PLEG is not healthy: pleg was last seen active 3m5.5s ago; threshold is 3m0s"
    ]


def test_a_restart_of_pleg_removes_nothing():
    silent = RuntimeReport(ready_at=0.0, relisted_at=0.0)
    assert well().reported(silent).errors(BEGAN + 10) == []
    broken = well().reported(report(network_error="no CNI"))
    assert broken.reported(silent).network_error == "no CNI"
    assert broken.reported(report()).network_error == ""
    assert well().reported(RuntimeReport(ready_at=0.0, relisted_at=0.0, network_error="x")).network_error == "x"


@pytest.mark.parametrize(("field", "word"), [("runtime_error", "runtime"), ("network_error", "runtime network")])
def test_the_runtimes_conditions_are_reported(field, word):
    text = "XReady=false reason:R message:m"
    said: dict[str, Any] = {field: text}
    state = well().reported(report(**said))
    assert state.settled(BEGAN)
    assert state.errors(BEGAN + 2) == [f"container {word} not ready: {text}"]
    assert state.reported(report()).errors(BEGAN + 2) == []
