"""The node's events of image garbage collection."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.api_clients.event_client.messages import RecordEvent
from actors.image_manager import actor as module
from actors.image_manager.actor import ImageManager
from actors.image_manager.image_collector import COLLECT_SECONDS, OBSERVE_RETRY_SECONDS
from actors.image_manager.messages import GetImageFilesystem, GetImages
from actors.shared.config.agent import Agent
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from supervision.testing.harness import Harness
from tests.support.fake_cri import FakeRuntime, Fault

DISK = "actors.image_manager.image_collector:disk_of"


@pytest.mark.parametrize("standalone", [False, True])
async def test_a_collection_that_fails_twice_is_an_event_of_a_node_that_has_joined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, standalone: bool
) -> None:
    fake = FakeRuntime()
    monkeypatch.setattr(module, "CriClient", lambda *_: fake.client())
    config, home = KubeletConfiguration(), str(tmp_path)
    context = Agent(config=config, root_dir=home, run_dir=f"{home}/run", standalone=standalone, node_name="n1")
    async with Harness(ImageManager, name="image_manager", context=context) as harness:
        harness.disposables[DISK] = lambda path: [100, 50]
        await harness.settle()  # until the images are recorded for the first time
        fake.faults.add("ListImages", Fault(error="UNKNOWN", details="odd", times=2))
        for expected in ([], ["ImageGCFailed"], ["ImageGCFailed"]):
            await harness.advance(COLLECT_SECONDS)
            await harness.settle()
            events = harness.sent(RecordEvent)
            assert [(event.kind, event.name, event.reason) for event in events] == [
                ("Node", "n1", reason) for reason in expected if not standalone
            ]
        harness.disposables[DISK] = lambda path: [0, 0]
        await harness.advance(COLLECT_SECONDS)
        reasons = [event.reason for event in harness.sent(RecordEvent)]
        assert reasons == ([] if standalone else ["ImageGCFailed", "InvalidDiskCapacity"])


async def test_a_runtime_that_is_away_is_logged_once_by_each_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fake = FakeRuntime()
    fake.faults.add("*", Fault(error="UNAVAILABLE", details="away"))
    monkeypatch.setattr(module, "CriClient", lambda *_: fake.client())
    context = Agent(config=KubeletConfiguration(), root_dir=str(tmp_path), run_dir=f"{tmp_path}/run", standalone=True)
    async with Harness(ImageManager, name="image_manager", context=context) as harness:
        for _ in range(5):
            await harness.deliver(GetImages(), "heartbeat_client")
            await harness.deliver(GetImageFilesystem(), "eviction_manager")
            await harness.advance(OBSERVE_RETRY_SECONDS)
        logged = [one.getMessage() for one in caplog.records if "away" in one.getMessage()]
    assert len(logged) == 3, logged
    assert len([text for text in logged if text.startswith("images in use are not known: ")]) == 1
