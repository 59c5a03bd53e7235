"""Times: of reports, of joining, of the lease."""

from __future__ import annotations

import os

from hypothesis import given
from hypothesis import strategies as st

from actors.api_clients.heartbeat_client.lease import renew_seconds, renewed
from actors.api_clients.heartbeat_client.node_events import NodeEvents
from actors.api_clients.heartbeat_client.node_status.report_schedule import ReportSchedule
from actors.api_clients.heartbeat_client.startup_times import StartupTimes, agent_started, since_boot
from actors.shared.kube.times import micro_time


def test_the_first_status_is_due_and_then_changes_only_until_the_time_has_passed():
    reporting = ReportSchedule(every=300.0)
    assert reporting.due(False, 0.0)
    reporting = reporting.reported(False, 1000.0, lambda: 0.9)
    assert reporting.due(True, 1000.1)
    assert not reporting.due(False, 1299.9)
    assert reporting.due(False, 1300.0)


@given(st.floats(0, 0.999))
def test_after_a_change_the_next_report_is_spread_by_half_of_the_time(chance):
    reporting = ReportSchedule(every=300.0).reported(True, 1000.0, lambda: chance)
    assert not reporting.due(False, 1149.9)
    assert reporting.due(False, 1450.0)
    assert reporting.due(False, 1000.0 + 300.0 + (chance - 0.5) * 300.0 + 0.001)


def test_a_lease_names_its_holder_and_is_owned_by_the_node():
    lease = renewed(None, "n1", 40, 1_700_000_000.123456, "u1")
    assert lease["spec"] == {
        "holderIdentity": "n1",
        "leaseDurationSeconds": 40,
        "renewTime": "2023-11-14T22:13:20.123456Z",
    }
    assert lease["metadata"]["ownerReferences"] == [{"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u1"}]
    later = renewed(lease, "n1", 40, 1_700_000_010.0, "another")
    assert later["spec"]["renewTime"] == "2023-11-14T22:13:30.000000Z"
    assert later["metadata"] == lease["metadata"]
    assert renew_seconds(40) == 10.0
    assert micro_time(0) == "1970-01-01T00:00:00.000000Z"


def test_only_a_node_that_is_new_has_times_of_joining():
    times = StartupTimes(10.0)
    times.trying(12.0)
    assert times.ready(13.0) == {}
    times.trying(14.0)
    prefix = "kubelet_node_startup"
    assert times.registered(15.0) == {
        f"{prefix}_pre_kubelet_duration_seconds": 10.0,
        f"{prefix}_pre_registration_duration_seconds": 2.0,
        f"{prefix}_registration_duration_seconds": 3.0,
    }, "also of a node that is not ready yet"
    assert times.registered(16.0) == {}
    assert times.ready(18.0) == {
        f"{prefix}_post_registration_duration_seconds": 3.0,
        f"{prefix}_duration_seconds": 18.0,
    }
    assert times.ready(19.0) == {}


def test_a_missing_process_counts_as_started_now():
    assert 0 < agent_started(os.getpid()) <= since_boot()
    assert abs(agent_started(2**22 + 1) - since_boot()) < 1


def node(*, cordoned: bool, boot: str = "b1") -> dict[str, object]:
    return {"spec": {"unschedulable": cordoned}, "status": {"nodeInfo": {"bootID": boot}}}


def test_cordoning_is_an_event_once_and_a_part_that_was_replaced_does_not_repeat_it():
    events = NodeEvents("n1", first=True)
    said = [[one.reason for one in events.seen(node(cordoned=state))] for state in (False, True, True, False)]
    assert said == [[], ["NodeNotSchedulable"], [], ["NodeSchedulable"]]
    assert NodeEvents("n1", first=False).seen(node(cordoned=True)) == []


def test_a_reboot_is_an_event_once():
    events = NodeEvents("n1", first=True)
    assert events.booted(node(cordoned=False), "b1") == []
    (event,) = events.booted(node(cordoned=False), "b2")
    assert (event.type, event.reason, event.uid) == ("Warning", "Rebooted", "n1")
    assert event.message == "Node n1 has been rebooted, boot id: b2"
    assert events.booted(node(cordoned=False), "b2") == []
    assert events.booted(node(cordoned=False), "b3") == [], "this process has begun in one boot"
