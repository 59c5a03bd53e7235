"""Any part of the joined agent, and all of it, is replaced: nobody who asks the API server notices."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress

import pytest

from tests.bench.node import NotInTime
from tests.support.joined import NODE, NODES, Joined, condition, container, is_ready, pod, status

LEASE = f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{NODE}"
MANY = 50
ACTORS = (
    "config_controller",
    "cert_manager",
    "api_clients",
    "api_clients/kube_client",
    "api_clients/event_client",
    "api_clients/heartbeat_client",
    "container_manager",
    "volume_manager",
    "image_manager",
    "pod_config",
    "pod_workers",
    "pod_workers/worker/0",
    "pleg",
    "prober",
    "status_manager",
    "http_servers",
    "http_servers/node_server",
    "http_servers/healthz_server",
)


def probed(name: str) -> dict[str, object]:
    probe = {"exec": {"command": ["true"]}, "periodSeconds": 1, "timeoutSeconds": 20}  # a busy machine is no ill pod
    return pod(name, container("main", readinessProbe=probe))


def test_a_node_object_that_was_deleted_is_registered_again_at_the_next_start(own: Joined) -> None:
    was = own.nodes.now[f"/{NODE}"]["metadata"]["uid"]
    own.api.call("DELETE", f"{NODES}/{NODE}")
    own.node.stop()
    own.node.start()

    def again() -> bool:
        found = own.nodes.now.get(f"/{NODE}")
        return found is not None and found["metadata"]["uid"] != was and is_ready(found)

    own.nodes.until(again, "a new Node, Ready", 60)


def test_killing_each_actor_changes_neither_node_nor_pod_conditions(own: Joined) -> None:
    names = own.create(*(probed(f"calm{n}") for n in range(4)))
    own.wait_pods_ready(*names)
    own.node.wait_whole()
    ids, seen_pods, seen_nodes = own.running_ids(), len(own.pods.events), len(own.nodes.events)
    for name in ACTORS:
        was = own.node.actors()[name].incarnation
        own.node.inject(name, "crash")
        own.node.wait_replaced(name, was)
    last = own.create(pod("after"))
    own.wait_pods_ready(*last)
    assert {key: value for key, value in own.running_ids().items() if key in ids} == ids
    wavered = [one for one in own.pods.events[seen_pods:] if one.name in names and not _ready(one.obj)]
    assert not wavered, [status(one.obj) for one in wavered]
    assert all(_ready(one.obj) for one in own.nodes.events[seen_nodes:]), own.transitions()


def _ready(obj: dict[str, object]) -> bool:
    return condition(obj, "Ready").get("status") == "True"


@pytest.mark.timeout(300)
def test_a_killed_agent_with_many_pods_continues_where_it_was(own: Joined) -> None:
    names = own.create(*(pod(f"many{n}") if n else probed("many0") for n in range(MANY)))
    own.wait_pods_ready(*names, seconds=100)
    own.node.wait_whole()
    ids, seen_pods, seen_nodes = own.running_ids(), len(own.pods.events), len(own.nodes.events)
    assert len(ids) == MANY
    own.node.kill_fork_server()
    victim = next(one for one in own.node.containers() if one.pod_name == "many7")
    own.node.ask_runtime(lambda client: client.stop_container(victim.id, 0))
    own.delete("many9")
    own.node.start()
    own.pods.until(lambda: own.restarts()["default/many7"] == 1, "what ended meanwhile is told", 60)
    own.wait_no_pod("many9")
    own.wait_pods_ready("many7")
    time.sleep(2)  # for whatever might still waver
    kept = {key: value for key, value in ids.items() if key not in ("many7/main", "many9/main")}
    assert {key: value for key, value in own.running_ids().items() if key in kept} == kept
    others = [one for one in own.pods.events[seen_pods:] if one.name not in ("many7", "many9") and not _ready(one.obj)]
    assert not others, [(one.name, status(one.obj)) for one in others[:3]]
    assert all(_ready(one.obj) for one in own.nodes.events[seen_nodes:]), own.transitions()
    for name in {*names} - {"many9"}:  # here, as the fixture waits for less
        own.delete(name, grace=1)
    own.wait_no_pod(*names, seconds=100)


def test_the_lease_is_kept_while_every_other_actor_is_wedged(own: Joined) -> None:
    own.node.wait_whole()
    own.nodes.until(lambda: own.api.find(LEASE), "a lease", 60)
    before = own.api.call("GET", LEASE)["spec"]["renewTime"]
    seen, end, renewed = len(own.nodes.events), time.monotonic() + 60, before
    while renewed == before and time.monotonic() < end:
        with suppress(NotInTime):  # the fork server replaces them all: it is asked again in the next round
            for name, actor in own.node.actors().items():
                if name not in ("root", "api_clients", "api_clients/heartbeat_client") and actor.pid:
                    _stop(actor.pid)
        time.sleep(0.3)
        renewed = own.api.call("GET", LEASE)["spec"]["renewTime"]
    assert renewed != before
    assert all(_ready(one.obj) for one in own.nodes.events[seen:]), own.transitions()
    own.node.wait_whole(60)


def _stop(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGSTOP)
    except ProcessLookupError:  # replaced since it was listed
        return
