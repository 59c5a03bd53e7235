"""The machine is shut down: logind, on a bus of the test's own, waits until the pods have ended in good order."""

from __future__ import annotations

import itertools
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.api_process import ApiProcess
from tests.support.joined import NODE, Joined, condition, container, is_ready, joined, pod, status
from tests.support.runtime import RealRuntime
from tests.support.system_bus import SystemBus, system_bus
from tests.support.waiting import wait_for

WINDOWS = {"shutdownGracePeriod": "30s", "shutdownGracePeriodCriticalPods": "10s"}
DELAY = 40.0
"""More than the windows, so that the machine goes down because the pods have ended."""
CRITICAL = {"priorityClassName": "system-cluster-critical"}
_numbers = itertools.count()
STUBBORN = ["sh", "-c", "trap '' TERM; echo began; while :; do sleep 1000; done"]


@pytest.fixture
def bus(tmp_path: Path) -> Iterator[SystemBus]:
    with system_bus(tmp_path / "bus", DELAY) as found:
        yield found


@pytest.fixture
def site(bus: SystemBus, real_runtime: RealRuntime) -> Iterator[Joined]:
    with joined(real_runtime, f"shutdown{next(_numbers)}", **WINDOWS) as found:
        bus.wait_seen("lock")
        yield found
        if bus.seen("begin") and not bus.seen("cancel"):
            bus.tell("cancel")


def ended_at(found: dict[str, Any]) -> str:
    return str(status(found)["containerStatuses"][0]["state"]["terminated"]["finishedAt"])


def assert_ended_by_the_shutdown(found: dict[str, Any]) -> None:
    assert (status(found)["phase"], status(found)["reason"]) == ("Failed", "Terminated"), status(found)
    assert status(found)["message"] == "Pod was terminated in response to imminent node shutdown."
    disrupted = condition(found, "DisruptionTarget")
    assert (disrupted["status"], disrupted["reason"]) == ("True", "TerminationByKubelet")


def test_twenty_pods_end_in_order_and_all_is_reported_before_the_machine_goes_down(
    site: Joined, bus: SystemBus
) -> None:
    usual = site.create(
        *(pod(f"usual{number}") for number in range(17)),
        pod("stubborn", container("main", *STUBBORN), terminationGracePeriodSeconds=3),
    )
    critical = site.create(*(pod(f"critical{number}", **CRITICAL) for number in range(2)))
    site.wait_pods_ready(*usual, *critical, seconds=120)
    assert bus.locks == 1

    bus.tell("begin")
    site.nodes.until(lambda: not is_ready(site.nodes.now[f"/{NODE}"]), "the node says that it goes down", 30)
    ready = condition(site.nodes.now[f"/{NODE}"], "Ready")
    assert (ready["reason"], ready["message"]) == ("KubeletNotReady", "node is shutting down")
    bus.wait_seen("down", seconds=60)

    assert not bus.seen("overdue")
    found = {name: site.api.find(f"/api/v1/namespaces/default/pods/{name}") for name in (*usual, *critical)}
    for one in found.values():
        assert one is not None
        assert_ended_by_the_shutdown(one)
    assert max(ended_at(found[name] or {}) for name in usual) <= min(ended_at(found[name] or {}) for name in critical)
    assert site.running_ids() == {}

    late = site.create(pod("late", **CRITICAL))
    refused = site.wait_phase(late[0], "Failed", 30)
    assert status(refused)["reason"] == "NodeShutdown"
    events = site.kubectl("get", "events", "--field-selector=reason=Shutdown", "-o", "jsonpath={.items[*].message}")
    assert "Shutdown manager detected shutdown event" in events


def test_a_cancelled_shutdown_spares_the_other_pods_and_the_node_is_ready_again(site: Joined, bus: SystemBus) -> None:
    stubborn = pod("stubborn", container("main", *STUBBORN), terminationGracePeriodSeconds=20)
    site.create(stubborn, pod("critical", **CRITICAL))
    site.wait_pods_ready("stubborn", "critical")
    kept = site.running_ids()["critical/main"]
    bus.tell("begin")
    site.nodes.until(lambda: not is_ready(site.nodes.now[f"/{NODE}"]), "not ready", 30)
    killed = ("get", "events", "--field-selector=reason=Killing", "-o", "jsonpath={.items[*].involvedObject.name}")
    wait_for(lambda: "stubborn" in site.kubectl(*killed))
    bus.tell("cancel")
    site.wait_ready()
    bus.wait_seen("lock", 2)
    assert_ended_by_the_shutdown(site.wait_phase("stubborn", "Failed", 60))
    site.create(pod("next"))
    site.wait_pods_ready("next")
    assert site.running_ids()["critical/main"] == kept


def test_the_pods_end_even_if_an_actor_dies_meanwhile(site: Joined, bus: SystemBus) -> None:
    names = site.create(
        *(pod(f"usual{number}") for number in range(4)),
        pod("stubborn", container("main", *STUBBORN), terminationGracePeriodSeconds=5),
        pod("critical", **CRITICAL),
    )
    site.wait_pods_ready(*names)
    bus.tell("begin")
    bus.wait_seen("begin")
    site.nodes.until(lambda: not is_ready(site.nodes.now[f"/{NODE}"]), "not ready", 30)
    victims = ("pod_workers/worker", "shutdown_manager", "status_manager")
    site.node.signal_actors(lambda name: name.startswith(victims), signal.SIGKILL)
    for name in names:
        assert_ended_by_the_shutdown(site.wait_phase(name, "Failed", 90))
    wait_for(lambda: site.running_ids() == {})


def test_a_pod_that_ended_unreported_does_not_start_again_after_the_boot(site: Joined, bus: SystemBus) -> None:
    server = site.cluster
    if not isinstance(server, ApiProcess):
        pytest.skip("NOT TESTED: a real cluster is not injured")
    site.create(pod("web", restartPolicy="Always"), pod("job", restartPolicy="Never"))
    site.node.write("static", STATIC)
    site.wait_pods_ready("web", "job", f"static-{NODE}")
    server.signal(signal.SIGKILL)
    bus.tell("begin")
    bus.wait_seen("down", seconds=DELAY + 20)
    assert site.running_ids() == {}

    site.node.kill_fork_server()
    bus.tell("cancel")
    site.node.start()
    server.start()
    for name in ("web", "job"):  # a job that was cut short has not succeeded, though its process ended well
        assert_ended_by_the_shutdown(site.wait_phase(name, "Failed", 60))
    site.wait_pods_ready(f"static-{NODE}")
    assert {key.split("/")[0] for key in site.running_ids()} == {f"static-{NODE}"}
    assert all(one["restartCount"] == 0 for one in status(site.pod("web")).get("containerStatuses") or [])
    site.node.withdraw("static")


STATIC = """\
apiVersion: v1
kind: Pod
metadata: {name: static, namespace: default}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: "docker.io/library/busybox:latest", imagePullPolicy: IfNotPresent, command: [sleep, "100000"]}
"""
