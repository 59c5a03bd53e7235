"""Images and writable layers have a file system of their own, in memory, and a real pod fills it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.node.joined.test_eviction import event, evicted, wait_condition, writer
from tests.node.joined.test_eviction_steps import ENDS, STOPPED_SECONDS, Evicting, check, eater
from tests.node.joined.test_pod_features import within
from tests.support.joined import NODE, joined, pod, status
from tests.support.runtime import RealRuntime, runtime_running

MIB = 1 << 20
SECONDS = 90.0
VICTIM, OTHER, ON_NODE = "victim", "other", "on-node"
KEPT_MIB, MORE_MIB = 30, 90


@pytest.fixture(scope="module")
def small_disk() -> Iterator[RealRuntime]:
    with runtime_running("size=200m") as runtime:
        yield runtime


@pytest.fixture
def filling(small_disk: RealRuntime, request: pytest.FixtureRequest) -> Iterator[Evicting]:
    """100 MiB are to be left free. The victim has written 30 MiB into its writable layer, which the runtime knows; a
    pod that writes more, elsewhere, is no candidate."""
    fields = {"evictionHard": {"imagefs.available": "100Mi"}, "heartbeat_seconds": STOPPED_SECONDS}
    with joined(small_disk, f"images-{request.node.name[-12:]}", **fields) as site:
        evicting = Evicting(site)
        on_node = writer(ON_NODE, "dd if=/dev/zero of=/cache/x bs=1M count=60 2>/dev/null")
        fill = f"dd if=/dev/zero of=/more bs=1M count={MORE_MIB} 2>/dev/null"
        victim = eater(VICTIM, fill, ENDS, first=f"dd if=/dev/zero of=/kept bs=1M count={KEPT_MIB} 2>/dev/null")
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
