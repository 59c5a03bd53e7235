"""The API server is away, hung, slow, overloaded or forgetful while pods come and go: all is well in the end."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable

import pytest

from tests.support.api_process import ApiProcess
from tests.support.joined import NODE, Joined, condition, container, is_ready, pod, status

pytestmark = pytest.mark.slow
Injury = Callable[[ApiProcess], None]
CATCH_UP_SECONDS = 60.0


def order(kind: str, **fields: object) -> Injury:
    return lambda server: server.fault(kind, **fields)


def drop_all(server: ApiProcess) -> None:
    server.drop_connections()


def forget(server: ApiProcess) -> None:
    """Every watch ends, and none can go on from where it was."""
    server.order("POST", "compact")
    server.order("POST", "end-watches")


USER = "system:node:bench"
INJURIES: dict[str, Injury] = {
    "twenty answers 503": order("status", user=USER, code=503, times=20),
    "too many requests": order("status", user=USER, code=429, retry_after=1, times=5),
    "internal errors of status writes": order(
        "status", user=USER, verb="patch", resource="pods/status", code=500, times=10
    ),
    "answers lost": order("lost", user=USER, verb="patch", times=10),
    "deletes lost": order("lost", user=USER, verb="delete", times=5),
    "conflicts": order("conflict", user=USER, verb="patch", times=10),
    "hung writes": order("hang", user=USER, verb="patch", times=3),
    "slow writes": order("delay", user=USER, verb="patch", seconds=0.5, times=20),
    "watches cut at once": order("cut", user=USER, verb="watch", seconds=0.2, times=10),
    "watches refused": order("status", user=USER, verb="watch", code=503, times=8),
    "connections dropped": drop_all,
    "history forgotten": forget,
}


def ended_in_order(joined: Joined, *names: str) -> None:
    """Each ran in one container, never went back, and is gone."""
    for name in names:
        told = [status(one.obj) for one in joined.pods.events if one.name == name]
        phases = [one.get("phase") for one in told]
        assert "Running" in phases, (name, phases)
        assert "Pending" not in phases[phases.index("Running") :], (name, phases)
        # one that was created, and never started by a worker that died, is told, too
        statuses = (one for each in told for one in each.get("containerStatuses", []))
        ran = {one["containerID"] for one in statuses if "running" in one["state"]}
        assert len(ran) == 1, (name, ran)


@pytest.mark.timeout(300)
def test_pods_come_and_go_whatever_the_server_does(own: Joined, server: ApiProcess) -> None:
    seen = len(own.nodes.events)
    for number, (what, injure) in enumerate(INJURIES.items()):
        stays, goes = f"stays{number}", f"goes{number}"
        own.create(pod(goes))
        own.wait_pods_ready(goes)
        injure(server)
        own.create(pod(stays))
        own.delete(goes)
        try:
            own.wait_pods_ready(stays, seconds=CATCH_UP_SECONDS)
            own.wait_no_pod(goes, seconds=CATCH_UP_SECONDS)
        except AssertionError as error:
            error.add_note(f"while: {what}")
            raise
        server.no_faults()
        ended_in_order(own, stays, goes)
    assert own.node.doubles() == []
    assert all(is_ready(one.obj) for one in own.nodes.events[seen:]), own.transitions()
    own.node.until(lambda: own.node.strays() == [], "no strays")


def test_a_restarted_server_receives_the_current_state(own: Joined, server: ApiProcess) -> None:
    crashes = "sleep 3; exit 1"
    own.create(pod("steady"), pod("leaves"), pod("crashes", container("main", "sh", "-c", crashes)))
    own.wait_pods_ready("steady", "leaves")
    own.wait_phase("crashes", "Running")
    ids, seen = own.running_ids(), len(own.nodes.events)
    server.signal(signal.SIGKILL)
    time.sleep(6)

    def restarts() -> int:
        return max((one.restart_count for one in own.node.containers() if one.pod_name == "crashes"), default=0)

    own.node.until(lambda: restarts() >= 1, "a restart without the server")
    assert own.running_ids().items() >= {key: ids[key] for key in ("steady/main", "leaves/main")}.items()
    server.start()
    own.delete("leaves")
    own.create(pod("comes"))
    own.wait_pods_ready("comes", seconds=CATCH_UP_SECONDS)
    own.wait_no_pod("leaves", seconds=CATCH_UP_SECONDS)
    own.pods.until(lambda: own.restarts().get("default/crashes", 0) >= 1, "its restarts", CATCH_UP_SECONDS)
    assert own.running_ids()["steady/main"] == ids["steady/main"]
    assert all(is_ready(one.obj) for one in own.nodes.events[seen:]), own.transitions()


def test_a_hanging_server_delays_nothing_on_the_node(own: Joined, server: ApiProcess) -> None:
    own.create(pod("steady"), pod("ends", container("main", "sh", "-c", "sleep 8; exit 3"), restartPolicy="Never"))
    own.wait_phase("ends", "Running")
    own.wait_pods_ready("steady")
    seen = len(own.nodes.events)
    server.signal(signal.SIGSTOP)
    time.sleep(12)
    assert own.node.healthy()
    assert own.node.tree().state == "ready"
    server.signal(signal.SIGCONT)
    own.wait_phase("ends", "Failed", seconds=CATCH_UP_SECONDS)
    own.create(pod("next"))
    own.wait_pods_ready("next", seconds=CATCH_UP_SECONDS)
    assert condition(own.pod("steady"), "Ready")["status"] == "True"
    assert own.restarts()["default/steady"] == 0
    assert all(is_ready(one.obj) for one in own.nodes.events[seen:]), own.transitions()


def test_an_agent_that_starts_without_a_server_changes_nothing_and_continues_when_it_is_back(
    own: Joined, server: ApiProcess
) -> None:
    own.create(pod("steady"), pod("ends", container("main", "sh", "-c", "sleep 8; exit 1"), restartPolicy="Never"))
    own.wait_pods_ready("steady")
    own.wait_phase("ends", "Running")
    ids, seen = own.running_ids(), len(own.nodes.events)
    server.signal(signal.SIGKILL)
    own.node.kill_fork_server()
    own.node.start()
    own.node.wait_whole()
    own.node.write("local", json.dumps(pod("local")))
    own.node.until(lambda: f"local-{NODE}/main" in own.running_ids(), "a static pod, without a server")
    time.sleep(5)
    assert own.running_ids()["steady/main"] == ids["steady/main"]
    server.start()
    own.wait_phase("ends", "Failed", seconds=CATCH_UP_SECONDS)
    own.wait_pods_ready(f"local-{NODE}", seconds=CATCH_UP_SECONDS)
    assert own.running_ids()["steady/main"] == ids["steady/main"]
    assert own.restarts()["default/steady"] == 0
    assert all(is_ready(one.obj) for one in own.nodes.events[seen:]), own.transitions()
    own.node.withdraw("local")
    own.wait_no_pod(f"local-{NODE}")


def test_a_stale_list_neither_ends_nor_revives_a_pod(own: Joined, server: ApiProcess) -> None:
    """After a restart of the client, the server shows what was a while ago: one pod less, one pod more."""
    own.create(pod("older"))
    own.wait_pods_ready("older")
    own.create(pod("gone"))
    own.wait_pods_ready("gone")
    own.delete("gone", grace=1)
    own.wait_no_pod("gone")
    own.create(pod("newer"))
    own.wait_pods_ready("newer")
    ids = own.running_ids()
    server.fault("stale", user=USER, verb="list", resource="pods", revisions=3, times=1)
    was = own.node.actors()["api_clients/kube_client"].incarnation
    own.node.inject("api_clients/kube_client", "crash")
    own.node.wait_replaced("api_clients/kube_client", was)
    own.create(pod("newest"))
    own.wait_pods_ready("newest")
    assert {key: value for key, value in own.running_ids().items() if key in ids} == ids
    assert own.pod("gone") == {}


WITH_FAULTS_OF_ACTORS = {
    "api_clients/kube_client": ("watches refused", "connections dropped", "answers lost"),
    "status_manager": ("internal errors of status writes", "answers lost", "hung writes"),
    "pod_config": ("watches refused", "connections dropped"),
    "pod_workers/worker/0": ("internal errors of status writes", "hung writes"),
}
"""Each actor with what concerns its work; chaos runs have the other pairs."""


@pytest.mark.timeout(300)
@pytest.mark.parametrize("actor", WITH_FAULTS_OF_ACTORS)
def test_faults_of_the_server_and_of_an_actor_at_once(own: Joined, server: ApiProcess, actor: str) -> None:
    seen = len(own.nodes.events)
    for number, what in enumerate(WITH_FAULTS_OF_ACTORS[actor]):
        stays, goes = f"stays{number}", f"goes{number}"
        own.create(pod(goes))
        own.wait_pods_ready(goes)
        was = own.node.actors()[actor].incarnation
        INJURIES[what](server)
        own.create(pod(stays))
        own.delete(goes)
        own.node.inject(actor, "crash")
        own.node.wait_replaced(actor, was)
        try:
            own.wait_pods_ready(stays, seconds=CATCH_UP_SECONDS)
            own.wait_no_pod(goes, seconds=CATCH_UP_SECONDS)
        except AssertionError as error:
            error.add_note(f"while: {what}, and {actor} was killed")
            raise
        server.no_faults()
        ended_in_order(own, stays, goes)
    assert own.node.doubles() == []
    assert all(is_ready(one.obj) for one in own.nodes.events[seen:]), own.transitions()
