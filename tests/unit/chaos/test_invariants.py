"""What a chaos run of a joined agent judges: each rule finds what breaks it, and nothing else."""

from __future__ import annotations

from datetime import datetime

import msgspec

from supervision.incidents.incident import Incident
from supervision.process_messages import Cause
from supervision.protocol import Fault
from tests.chaos.invariants import Injected, badly_reported, not_ready, regressed_phases, status_mismatch
from tests.support.api_connection import Obj, SeenEvent


def pod_told(phase: str, count: int, uid: str = "u") -> SeenEvent:
    statuses = [{"name": "main", "restartCount": count}]
    metadata = {"name": "p", "uid": uid}
    return SeenEvent(1.0, "MODIFIED", {"metadata": metadata, "status": {"phase": phase, "containerStatuses": statuses}})


def incident(pid: int, cause: Cause) -> Incident:
    return Incident(time="2026-01-01T00:00:00.000Z", actor="pleg", incarnation=1, pid=pid, cause=cause)


def injected(pid: int, fault: Fault, at: float = 100.0) -> Injected:
    return Injected(at, "pleg", pid, fault)


def test_restart_counts_that_go_back_and_ends_that_are_none_are_found() -> None:
    assert list(regressed_phases([pod_told("Pending", 0), pod_told("Running", 0), pod_told("Running", 2)])) == []
    assert len(list(regressed_phases([pod_told("Running", 2), pod_told("Running", 1)]))) == 1
    assert list(regressed_phases([pod_told("Running", 2), pod_told("Running", 1, uid="another")])) == []
    assert list(regressed_phases([pod_told("Failed", 0), pod_told("Running", 0)])) == ["p was Failed and then Running"]
    assert list(regressed_phases([pod_told("Running", 0), pod_told("Pending", 0)])) == [
        "p was Running and then Pending"
    ]


def test_a_single_not_ready_state_of_a_node_is_found() -> None:
    def told(ready: str) -> SeenEvent:
        return SeenEvent(
            1.0, "MODIFIED", {"metadata": {}, "status": {"conditions": [{"type": "Ready", "status": ready}]}}
        )

    assert list(not_ready([told("True"), told("True")])) == []
    assert len(list(not_ready([told("True"), told("False"), told("Unknown")]))) == 2


def test_each_fault_has_one_incident_of_its_cause() -> None:
    assert badly_reported([injected(1, "crash")], [incident(1, "signal")], []) == []
    assert len(badly_reported([injected(1, "crash")], [], [])) == 1
    assert len(badly_reported([injected(1, "crash")], [incident(1, "signal"), incident(1, "signal")], [])) == 1
    assert len(badly_reported([injected(1, "hang")], [incident(1, "exception")], [])) == 1
    assert badly_reported([injected(1, "slow")], [], []) == []


def test_an_unordered_incident_is_found_except_those_of_a_busy_machine() -> None:
    assert len(badly_reported([], [incident(1, "exception")], [])) == 1
    assert badly_reported([], [incident(1, "hang")], []) == []


def test_a_fault_that_met_the_next_process_is_not_called_unordered() -> None:
    at = datetime.fromisoformat(incident(2, "signal").time).timestamp()
    met = [injected(1, "crash", at=at - 1)]
    assert badly_reported(met, [incident(1, "signal"), incident(2, "signal")], []) == []
    long_ago = [injected(1, "crash", at=at - 60)]
    assert len(badly_reported(long_ago, [incident(1, "signal"), incident(2, "signal")], [])) == 1


def test_a_fault_that_the_agents_own_end_forestalled_is_excused() -> None:
    assert badly_reported([injected(1, "hang", at=100.0)], [], [101.0]) == []
    assert len(badly_reported([injected(1, "hang", at=100.0)], [], [99.0])) == 1
    assert len(badly_reported([injected(1, "hang", at=100.0)], [], [300.0])) == 1


def test_a_hang_that_the_end_of_a_supervisor_forestalled_is_excused_and_a_crash_is_not() -> None:
    root = msgspec.structs.replace(incident(7, "hang"), actor="root")
    at = datetime.fromisoformat(root.time).timestamp() - 9
    assert badly_reported([injected(1, "hang", at=at)], [root], []) == []
    assert len(badly_reported([injected(1, "crash", at=at)], [root], [])) == 1
    assert len(badly_reported([injected(1, "hang", at=at + 60)], [root], [])) == 1
    other = msgspec.structs.replace(root, actor="api_clients")
    assert len(badly_reported([injected(1, "hang", at=at)], [other], [])) == 1


def test_a_status_is_compared_with_what_runs() -> None:
    def told(state: Obj, count: int) -> Obj:
        one = {"name": "main", "state": state, "restartCount": count, "containerID": "containerd://abc"}
        return {"status": {"containerStatuses": [one]}}

    running = told({"running": {}}, 1)
    assert status_mismatch(running, {"main": "abc"}, {"main": 1}) == ""
    assert "abc" in status_mismatch(running, {}, {"main": 1})
    assert "restart count" in status_mismatch(running, {"main": "abc"}, {"main": 2})
    assert status_mismatch(told({"terminated": {}}, 1), {}, {"main": 1}) == ""
    assert "xyz" in status_mismatch(told({"waiting": {}}, 1), {"main": "xyz"}, {"main": 1})
