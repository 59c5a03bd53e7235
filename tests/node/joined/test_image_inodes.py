"""Images and writable layers have a disk of their own, ext4 on a loop device, and a real pod takes its inodes."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest

from actors.container_runtime import image_import
from actors.container_runtime.oci import LayerEntry, OciImage, build
from actors.shared.linux.architecture import architecture
from tests.node.joined.test_eviction import event, evicted, wait_condition
from tests.node.joined.test_eviction_steps import ENDS, Evicting, eater
from tests.node.joined.test_pod_features import within
from tests.support.joined import NODE, joined, pod, status
from tests.support.runtime import RealRuntime, runtime_running

SECONDS = 90.0
INODES = 9000
KEPT, MORE, IN_IMAGE = 400, 2500, 3000
LEFT: Final = 1500
"""How many more inodes may be taken after the start."""
VICTIM, OTHER = "victim", "other"
UNUSED: Final = "example.com/unused:1"
_NUMBERS: Final = itertools.count()


@pytest.fixture(scope="module")
def few_inodes() -> Iterator[RealRuntime]:
    with runtime_running(inodes=INODES) as runtime:
        yield runtime


def import_unused(runtime: RealRuntime) -> None:
    """An image of many files, which no container uses."""
    entries = (LayerEntry("many"), *(LayerEntry(f"many/{number}", data=b"") for number in range(IN_IMAGE)))
    layout = build(
        [OciImage(reference=UNUSED, entries=entries, config={"Cmd": ["/none"]})], architecture(os.uname().machine)
    )
    image_import.import_layout(runtime.instance, runtime.host, layout)


@contextmanager
def filling(runtime: RealRuntime) -> Iterator[Evicting]:
    """The victim has taken some inodes for its writable layer, which the runtime knows."""
    left = os.statvfs(runtime.instance.root).f_ffree - LEFT
    fields = {"evictionHard": {"imagefs.inodesFree": str(left)}, "imageMinimumGCAge": "1s"}
    with joined(runtime, f"inodes-{next(_NUMBERS)}", **fields) as site:
        found = Evicting(site)
        site.create(pod(OTHER), eater(VICTIM, files("/more", MORE), ENDS, first=files("/kept", KEPT)))
        site.wait_pods_ready(OTHER, VICTIM)
        within(SECONDS, lambda: layer_inodes(found) >= KEPT, "the inodes of the layer")
        assert found.attempts() == 0
        found.begin()
        yield found


def files(folder: str, count: int) -> str:
    return f"mkdir {folder}; i=0; while [ $i -lt {count} ]; do : > {folder}/$i; i=$((i+1)); done"


def layer_inodes(evicting: Evicting) -> int:
    """Of the victim's writable layer, as the runtime knows it."""
    uid = evicting.site.pod(VICTIM)["metadata"]["uid"]
    found = evicting.node.ask_runtime(lambda client: client.list_container_stats())
    layers = [one.writable_layer for one in found if one.pod_uid == uid]
    return max((one.inodes_used or 0 for one in layers if one is not None), default=0)


def images(evicting: Evicting) -> set[str]:
    found = evicting.node.ask_runtime(lambda client: client.list_images())
    return {name for image in found for name in image.tags}


@pytest.mark.slow
def test_the_pod_that_takes_the_inodes_of_the_disk_of_images_is_evicted(few_inodes: RealRuntime) -> None:
    with filling(few_inodes) as found:
        ended = evicted(found.site, VICTIM)
        assert ended["message"].startswith("The node was low on resource: inodes. Threshold quantity: ")
        assert event(found.site, NODE, "EvictionThresholdMet")["message"] == "Attempting to reclaim inodes"
        wait_condition(found.site, "DiskPressure")
        assert status(found.site.pod(OTHER))["phase"] == "Running"


@pytest.mark.slow
def test_unused_images_go_before_a_pod_that_takes_the_inodes(few_inodes: RealRuntime) -> None:
    import_unused(few_inodes)
    with filling(few_inodes) as found:
        within(SECONDS, lambda: found.attempts() > 0, "the threshold is crossed")
        within(SECONDS, lambda: "the clean-up freed enough" in found.node.log.read_text(), "there is room again")
        wait_condition(found.site, "DiskPressure")
        assert UNUSED not in images(found)
        assert found.chosen() == []
        assert found.runs(VICTIM)
        assert [status(found.site.pod(name))["phase"] for name in (OTHER, VICTIM)] == ["Running"] * 2
