"""The API server is away for long while much happens on the node: nothing is lost, and it is soon all told."""

from __future__ import annotations

import json
import signal
import time

import pytest

from actors.shared.cri.model import CriContainerState
from supervision.protocol import GetMetrics, MetricsSnapshot
from tests.support.api_process import ApiProcess
from tests.support.joined import NODE, PODS, Joined, condition, container, is_ready, pod, status

UNREACHABLE_SECONDS = 40.0
CATCH_UP_SECONDS = 60.0
STEADY = [f"steady{number}" for number in range(4)]
CRASHES = [f"crashes{number}" for number in range(3)]
ENDS = {"succeeds": 0, "fails": 3}


def crashing(name: str) -> dict[str, object]:
    return pod(name, container("main", "sh", "-c", "sleep 2; exit 7"))


def ending(name: str, code: int) -> dict[str, object]:
    return pod(name, container("main", "sh", "-c", f"sleep 12; echo over; exit {code}"), restartPolicy="Never")


def unready(name: str) -> dict[str, object]:
    """Not ready from 8 s on, and an event each second."""
    probe = {"exec": {"command": ["sh", "-c", "test ! -e /tmp/ill"]}, "periodSeconds": 1, "failureThreshold": 1}
    script = f"(sleep 8; touch /tmp/ill) & {' '.join(['sleep', '100000'])}"
    return pod(name, container("main", "sh", "-c", script, readinessProbe=probe), terminationGracePeriodSeconds=0)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_changes_while_the_server_is_away_are_reported_when_it_is_back(own: Joined, server: ApiProcess) -> None:
    own.node.write("withdrawn", json.dumps(pod("withdrawn")))
    own.create(*(pod(name) for name in (*STEADY, "leaves", "forced")))
    own.wait_pods_ready(*STEADY, "leaves", "forced", f"withdrawn-{NODE}")
    own.create(unready("ill"))  # by itself: it is Ready for some seconds only
    own.wait_pods_ready("ill")
    own.create(*map(crashing, CRASHES), *(ending(name, code) for name, code in ENDS.items()))
    for name in (*CRASHES, *ENDS):
        own.wait_phase(name, "Running")
    ids, seen = own.running_ids(), len(own.nodes.events)
    own.delete("leaves")  # the node hears of it, and cannot say when it is done
    server.signal(signal.SIGKILL)
    own.node.withdraw("withdrawn")
    own.node.write("added", json.dumps(pod("added")))
    while_away(own)
    own.node.until(lambda: min(runtime_restarts(own).get(name, 0) for name in CRASHES) >= 2, "two restarts of each")
    counted = runtime_restarts(own)
    assert_bounded(own)
    server.start()
    server.ask("DELETE", f"{PODS}/forced", {"gracePeriodSeconds": 0})
    caught_up(own, counted)
    now = own.running_ids()
    assert {f"{name}/main": now[f"{name}/main"] for name in STEADY} == {f"{n}/main": ids[f"{n}/main"] for n in STEADY}
    assert all(is_ready(one.obj) for one in own.nodes.events[seen:]), own.transitions()
    assert own.node.doubles() == []
    own.node.until(lambda: not pods_in_runtime(own) & {"leaves", "forced", f"withdrawn-{NODE}"}, "nothing left of them")
    own.node.until(lambda: told_of_crashes(own), "the events of what happened meanwhile")
    own.node.withdraw("added")
    own.wait_no_pod(f"added-{NODE}")


def while_away(own: Joined) -> None:
    """All goes on on the node: until there was time enough for much to happen."""
    end = time.monotonic() + UNREACHABLE_SECONDS
    own.node.until(lambda: f"added-{NODE}/main" in own.running_ids(), "a static pod that is new")
    own.node.until(lambda: "leaves" not in pods_in_runtime(own), "the end of a pod that was deleted before")
    time.sleep(max(0.0, end - time.monotonic()))


def runtime_restarts(own: Joined) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in own.node.containers():
        found[one.pod_name] = max(found.get(one.pod_name, 0), one.restart_count)
    return found


def pods_in_runtime(own: Joined) -> set[str]:
    """Pods of which a container runs."""
    return {one.pod_name for one in own.node.containers() if one.state is CriContainerState.RUNNING}


def assert_bounded(own: Joined) -> None:
    """What waits is one entry for each pod, and no event was dropped for lack of room."""
    waiting = metrics(own, "status_manager").get("status_manager_unwritten_pods", 0)
    assert 0 < waiting <= len(STEADY) + len(CRASHES) + len(ENDS) + 5, waiting
    assert metrics(own, "api_clients/event_client").get("troupelet_events_dropped_total backlog", 0) == 0


def metrics(own: Joined, actor: str) -> dict[str, float]:
    """By name and the values of labels."""
    client = own.node.client()
    try:
        answer = client.ask(GetMetrics(), MetricsSnapshot, name=actor, timeout=5.0)
    finally:
        client.close()
    return {" ".join((one.name, *one.labels.values())): one.value for one in answer.samples}


def caught_up(own: Joined, counted: dict[str, int]) -> None:
    for name, code in ENDS.items():
        found = own.wait_phase(name, "Failed" if code else "Succeeded", seconds=CATCH_UP_SECONDS)
        assert status(found)["containerStatuses"][0]["state"]["terminated"]["exitCode"] == code
    own.wait_no_pod("leaves", "forced", f"withdrawn-{NODE}", seconds=CATCH_UP_SECONDS)
    own.wait_pods_ready(f"added-{NODE}", *STEADY, seconds=CATCH_UP_SECONDS)
    own.pods.until(
        lambda: all(own.restarts()[f"default/{name}"] >= counted[name] for name in CRASHES),
        "restarts",
        CATCH_UP_SECONDS,
    )
    own.pods.until(lambda: condition(own.pod("ill"), "Ready").get("status") == "False", "ill", CATCH_UP_SECONDS)


def told_of_crashes(own: Joined) -> bool:
    """Each crash loop and each failed probe has its event, with a count of more than one."""
    listed = own.api.call("GET", "/api/v1/namespaces/default/events")["items"]
    counts: dict[tuple[str, str], int] = {}
    for one in listed:  # of one reason there may be several, with other words
        key = (one["involvedObject"]["name"], one["reason"])
        counts[key] = max(counts.get(key, 0), one["count"])
    wanted = [*((name, "BackOff") for name in CRASHES), ("ill", "Unhealthy")]
    return all(counts.get(each, 0) > 1 for each in wanted)
