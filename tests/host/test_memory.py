"""Memory that runs out: of a container by its limit, of the node by a pod."""

from __future__ import annotations

import json

import pytest

from tests.host.site import SECONDS, Site
from tests.node.joined.test_eviction import IN_MEMORY, memory_eater
from tests.support.api_connection import Obj
from tests.support.joined import NODE, condition, container, pod, status

pytestmark = [pytest.mark.host, pytest.mark.timeout(3 * SECONDS)]


def events(site: Site, name: str, reason: str) -> list[Obj]:
    found = json.loads(site.kubectl("get", "events", "-o", "json"))["items"]
    return [one for one in found if one["involvedObject"]["name"] == name and one["reason"] == reason]


def test_a_container_over_its_limit_is_reported_and_its_neighbour_keeps_running(site: Site) -> None:
    limits = {"limits": {"memory": "32Mi"}}
    greedy = container("greedy", "sh", "-c", "sleep 1; tail /dev/zero", resources=limits)
    site.create(pod("family", greedy, container("calm"), restartPolicy="Never"))

    def ended() -> Obj:
        found = {one["name"]: one["state"] for one in status(site.pod("family")).get("containerStatuses", [])}
        return found if "terminated" in found.get("greedy", {}) else {}

    site.pods.until(ended, "killed", SECONDS)
    state = ended()
    assert (state["greedy"]["terminated"]["reason"], state["greedy"]["terminated"]["exitCode"]) == ("OOMKilled", 137)
    site.pods.until(lambda: events(site, "family", "OOMKilling"), "the event", SECONDS)
    told = events(site, "family", "OOMKilling")[0]
    assert told["message"].startswith("Memory cgroup out of memory: killed process tail, pid: ")
    assert told["involvedObject"]["fieldPath"] == "spec.containers{greedy}"
    assert "running" in ended()["calm"]
    assert events(site, NODE, "SystemOOM") == []


def test_a_pod_that_fills_the_memory_of_the_machine_is_evicted_before_the_kernel_kills(site: Site) -> None:
    killed = "dmesg | grep -c -i 'out of memory' || true"
    before = site.machine.out(killed)
    site.create(pod("idle"), pod("eater", memory_eater(8000), volumes=IN_MEMORY))
    site.wait_pods_ready("idle", seconds=SECONDS)
    found = status(site.wait_phase("eater", "Failed", SECONDS))
    assert (found["reason"], site.machine.out(killed)) == ("Evicted", before)
    text = "The node was low on resource: memory. Threshold quantity: 300Mi, available: "
    assert found["message"].startswith(text)
    assert "Container eater was using" in found["message"]
    assert found["containerStatuses"][0]["state"]["terminated"]["reason"] != "OOMKilled"
    assert condition(site.pod("eater"), "DisruptionTarget")["reason"] == "TerminationByKubelet"
    assert status(site.pod("idle"))["phase"] == "Running"
    assert events(site, NODE, "EvictionThresholdMet")[0]["message"] == "Attempting to reclaim memory"
    site.delete("eater")
    site.wait_no_pod("eater", seconds=SECONDS)

    def relieved() -> bool:
        return bool(condition(site.nodes.now[f"/{NODE}"], "MemoryPressure")["status"] == "False")

    site.nodes.until(relieved, "no pressure any more", SECONDS)
