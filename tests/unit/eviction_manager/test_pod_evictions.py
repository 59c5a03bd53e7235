"""When an eviction is finished, and whose pod is still to be ended."""

from __future__ import annotations

import msgspec
import pytest

from actors.eviction_manager.pod_evictions import PodEviction, progress
from actors.status_manager.messages import LivePod, LivePods

EVICTION = PodEviction(
    uid="u", namespace="n", name="p", message="m", grace_seconds=0, signal="memory.available", announced=True
)


def live(*, finished: bool, written: bool) -> LivePods:
    pod = LivePod(
        uid="u",
        full_name="p_n",
        static=False,
        priority=0,
        grace_seconds=0,
        finished=finished,
        status_written=written,
    )
    return LivePods([pod], complete=True)


@pytest.mark.parametrize(
    ("pods", "continues", "kills"),
    [
        (live(finished=False, written=True), True, True),
        (live(finished=True, written=False), True, False),
        (live(finished=True, written=True), False, False),
        (LivePods([], complete=True), False, False),
        (LivePods([], complete=False), True, True),
    ],
    ids=["runs", "has no status yet", "is over", "is gone", "may be unlisted"],
)
def test_an_eviction_continues_until_its_pod_is_over_and_the_api_server_has_its_status(
    pods: LivePods, continues: bool, kills: bool
) -> None:
    found = progress([EVICTION], pods)
    assert found.continuing == ((EVICTION,) if continues else ())
    assert found.kill == ((EVICTION,) if kills else ())


def test_an_eviction_that_is_not_announced_continues_and_ends_no_pod_again() -> None:
    untold = msgspec.structs.replace(EVICTION, announced=False)
    for pods in (live(finished=True, written=True), LivePods([], complete=True)):
        found = progress([untold], pods)
        assert found.continuing == (untold,)
        assert found.kill == ()
