"""How the labels of what runs are shown and counted."""

import asyncio

import pytest

from supervision.channel import Flusher
from supervision.running import Runner, kind_of
from supervision.status_page import StatusPage


@pytest.mark.parametrize(
    ("label", "kind"),
    [
        ("actors.pleg.messages.PodNetwork", "PodNetwork"),
        ("Driver._restart", "_restart"),
        ("status of 0a1b-2c3d", "status"),
        ("probe default/web.example.com/main", "probe"),
        ("", ""),
    ],
)
def test_what_held_the_actor_is_counted_by_kind_not_by_pod(label: str, kind: str) -> None:
    assert kind_of(label) == kind


async def test_labels_of_a_hundred_thousand_pods_are_not_kept() -> None:
    status_page = StatusPage(1)
    status_entry = status_page.take()
    runner = Runner(Flusher(asyncio.get_running_loop()), status_entry, end=None)  # type: ignore[arg-type]
    for number in range(100_000):
        runner.begin(f"status of {number}")
    assert status_entry.read().message == "status of 99999"
    assert len(runner._padded) < 1000
