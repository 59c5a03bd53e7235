"""Images and writable layers have a file system of their own, in memory, and a real pod fills it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.node.joined.test_eviction import event, evicted, wait_condition, writer
from tests.node.joined.test_eviction_steps import ENDS, STOPPED_SECONDS, Evicting, check, eater
from tests.node.joined.test_pod_features import within
from tests.support.joined import NODE, container, joined, pod, status
from tests.support.runtime import RealRuntime, runtime_running

MIB = 1 << 20
SECONDS = 90.0
VICTIM, OTHER, ON_NODE = "victim", "other", "on-node"
KEPT_MIB, MORE_MIB = 30, 90


@pytest.fixture(scope="module")
def small_disk() -> Iterator[RealRuntime]:
    with runtime_running("size=200m") as runtime:
        yield runtime


_NUMBERS: Final = itertools.count()
FIELDS: Final[dict[str, Any]] = {
    "evictionHard": {"imagefs.available": "100Mi"},
    "heartbeat_seconds": STOPPED_SECONDS,
}
"""100 MiB are to be left free."""


def wrote(path: str, mib: int) -> str:
    return f"dd if=/dev/zero of={path} bs=1M count={mib} 2>/dev/null"


@pytest.fixture
def filling(small_disk: RealRuntime) -> Iterator[Evicting]:
    """The victim has written 30 MiB into its writable layer, which the runtime knows; a pod that writes more,
    elsewhere, is no candidate."""
    with joined(small_disk, f"images-{next(_NUMBERS)}", **FIELDS) as site:
        evicting = Evicting(site)
        on_node = writer(ON_NODE, wrote("/cache/x", 60))
        victim = eater(VICTIM, wrote("/more", MORE_MIB), ENDS, first=wrote("/kept", KEPT_MIB))
        site.create(on_node, pod(OTHER), victim)
        site.wait_pods_ready(ON_NODE, OTHER, VICTIM)
        within(SECONDS, lambda: layer(evicting) >= KEPT_MIB * MIB, "the size of the layer")
        yield evicting


def layer(evicting: Evicting) -> int:
    """Bytes of the victim's writable layer, as the runtime knows it."""
    uid = evicting.site.pod(VICTIM)["metadata"]["uid"]
    found = evicting.node.ask_runtime(lambda client: client.list_container_stats())
    layers = [one.writable_layer for one in found if one.pod_uid == uid]
    return max((one.used_bytes or 0 for one in layers if one is not None), default=0)


@pytest.mark.slow
def test_the_pod_that_fills_the_disk_of_images_is_evicted(filling: Evicting) -> None:
    filling.begin()
    found = evicted(filling.site, VICTIM)
    text = "The node was low on resource: ephemeral-storage. Threshold quantity: 100Mi, available: "
    assert found["message"].startswith(text)
    assert event(filling.site, NODE, "EvictionThresholdMet")["message"] == "Attempting to reclaim ephemeral-storage"
    wait_condition(filling.site, "DiskPressure")
    assert [status(filling.site.pod(name))["phase"] for name in (OTHER, ON_NODE)] == ["Running"] * 2


@pytest.mark.slow
def test_a_pod_is_evicted_once_though_the_eviction_manager_is_killed_during_the_clean_up(filling: Evicting) -> None:
    filling.stop("image_manager")
    try:
        filling.begin()
        within(SECONDS, lambda: filling.attempts() > 0, "the threshold is crossed")
        assert filling.chosen() == []
        filling.kill()
    finally:
        filling.go_on("image_manager")
    check(filling)


@pytest.mark.slow
def test_the_containers_of_a_pod_that_has_ended_go_before_a_pod_that_runs(small_disk: RealRuntime) -> None:
    with joined(small_disk, f"images-{next(_NUMBERS)}", **FIELDS) as site:
        filling = Evicting(site)
        site.create(pod("done", container("main", "sh", "-c", wrote("/kept", 50)), restartPolicy="Never"))
        site.create(eater(VICTIM, wrote("/more", 40), ENDS, first=wrote("/kept", KEPT_MIB)))
        site.wait_phase("done", "Succeeded", SECONDS)
        site.wait_pods_ready(VICTIM)
        assert filling.attempts() == 0
        filling.begin()
        within(SECONDS, lambda: filling.attempts() > 0, "the threshold is crossed")
        within(SECONDS, lambda: "the clean-up freed enough" in filling.node.log.read_text(), "there is room again")
        wait_condition(site, "DiskPressure")
        assert not any(one.pod_name == "done" for one in filling.node.containers())
        assert filling.runs(VICTIM)
        assert filling.chosen() == []
        assert [status(site.pod(name))["phase"] for name in ("done", VICTIM)] == ["Succeeded", "Running"]
