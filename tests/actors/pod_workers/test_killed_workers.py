"""A worker that is killed at any step of a pod's start or end: the next one takes over without a word of failure,
counts nothing twice, and loses no hook: only one that was cut off with its worker runs again."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest

from actors.api_clients.event_client.instance_events import InstanceEvents
from actors.api_clients.event_client.messages import RecordEvent
from actors.container_manager.messages import AdmitPod, ReleasePod
from actors.device_manager.messages import PrepareClaims, UnprepareClaims
from actors.image_manager.messages import EnsureImage
from actors.pod_workers.executor import container_starter
from actors.shared.cri.adoption import PollSchedule
from actors.volume_manager.messages import MountVolumes, UnmountVolumes
from supervision.message import Message
from tests.support.fake_cri import Fault
from tests.support.shard_harness import Driven, container, pod

pytestmark = pytest.mark.slow

HOOKS: Final = {
    "postStart": {"exec": {"command": ["true", "post"]}},
    "preStop": {"exec": {"command": ["true", "pre"]}},
}
SPEC: Final[dict[str, Any]] = {
    "initContainers": [container("i", ["true"])],
    "containers": [container("a", lifecycle=HOOKS)],
    "volumes": [{"name": "data", "emptyDir": {}}],
    "resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}],
    "dnsPolicy": "Default",
}
WANTED: Final = pod(**SPEC)
DELETED: Final = pod(
    metadata={"deletionTimestamp": "2023-11-14T22:13:20Z", "deletionGracePeriodSeconds": 30, "name": "p"}, **SPEC
)
AT_ONCE: Final = PollSchedule(first=0.0, total=0.0)
ASKED: Final[dict[str, type[Message]]] = {
    one.__name__: one
    for one in (AdmitPod, MountVolumes, EnsureImage, PrepareClaims, UnprepareClaims, UnmountVolumes, ReleasePod)
}
STARTS: Final = [
    *[("AdmitPod", 1), ("MountVolumes", 1), ("EnsureImage", 1), ("PrepareClaims", 1)],
    *[("RunPodSandbox", 1), ("PodSandboxStatus", 1), ("CreateContainer", 1), ("StartContainer", 1)],
    *[("ContainerStatus", 1), ("CreateContainer", 2), ("StartContainer", 2), ("ExecSync", 1)],
]
ENDS: Final = [
    *[("ExecSync", 2), ("StopContainer", 1), ("StopPodSandbox", 1), ("UnprepareClaims", 1)],
    *[("UnmountVolumes", 1), ("ReleasePod", 1), ("RemoveContainer", 1), ("RemovePodSandbox", 1)],
]


class Step:
    """The call that a worker is killed in: the `nth` of its method. `how`: whether the runtime has carried it out by
    then (`done`), gives it up with its caller (`undone`), or goes on with it (`later`)."""

    def __init__(self, method: str, nth: int, how: str) -> None:
        self.method, self.nth, self.how = method, nth, how
        self.goes_on = asyncio.Event()

    def meet(self, node: Driven) -> None:
        if self.method in ASKED:
            node.answer(ASKED[self.method], None)
            return
        if before := self.nth - 1 - node.count_of(self.method):
            node.fake.faults.add(self.method, Fault(times=before))
        held = {"undone": Fault(hang=True, times=1), "done": Fault(answer_held=True, times=1)}
        node.fake.faults.add(self.method, held.get(self.how, Fault(held=self.goes_on, times=1)))

    def reached(self, node: Driven) -> bool:
        if self.method in ASKED:
            return any(isinstance(question, ASKED[self.method]) for _, question in node.harness.asks)
        return node.count_of(self.method) >= self.nth


STEPS: Final = [
    pytest.param(method, nth, how, id=f"{method} {nth} {how}")
    for method, nth in [*STARTS, *ENDS]
    for how in (["undone"] if method in ASKED else ["undone", "done", "later"])
]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No call waits for another one by the clock of this machine."""
    monkeypatch.setattr(container_starter, "UNDER_WAY", AT_ONCE)


async def live(node: Driven, seconds: int) -> None:
    """As the PLEG sees it each second."""
    for _ in range(seconds):
        await node.pass_time(1)
        for one in node.fake.world.containers.values():
            if one.started_ns and any((node.home / "logs").glob("*")):
                node.leave_log(one.config.metadata.name, one.config.metadata.attempt)
        await node.relist()


async def killed(home: Path, step: Step) -> tuple[Driven, list[RecordEvent]]:
    """The node whose worker was killed in that step, and the events until then."""
    ends = (step.method, step.nth) in ENDS
    async with Driven(home, polling=AT_ONCE) as node:
        await node.first_look()
        await node.sources()
        if not ends:
            step.meet(node)
        await node.want(WANTED)
        await live(node, 10)
        if ends:
            await node.until(lambda: node.running("a"))
            await node.settled()
            step.meet(node)
            await node.want(DELETED)
            await live(node, 5)
            if step.method.startswith("Remove"):
                await node.remove()
        await node.until(lambda: step.reached(node), "the step")
        return node, node.harness.sent(RecordEvent)


def hook_runs(node: Driven, argument: str) -> int:
    """How often the hook was asked for, or was begun."""
    return sum(list(request.cmd) == ["true", argument] for request in node.fake.requests_for("ExecSync"))


@pytest.mark.parametrize(("method", "nth", "how"), STEPS)
async def test_the_next_worker_takes_over_without_a_failure(tmp_path, method, nth, how):
    step = Step(method, nth, how)
    first, events = await killed(tmp_path, step)
    ends = (method, nth) in ENDS
    async with Driven(tmp_path, first.fake, first.clock, polling=AT_ONCE) as second:
        await second.first_look()
        await second.sources(DELETED if ends else WANTED)
        await live(second, 20)
        step.goes_on.set()
        await live(second, 30)
        if ends:
            await second.remove()
            await live(second, 10)
        events = [*events, *second.harness.sent(RecordEvent)]
        assert [(one.reason, one.message) for one in events if one.type != "Normal"] == []
        if ends:
            assert second.stage() == "gone"
            assert not second.fake.world.containers
            assert not second.fake.world.sandboxes
        else:
            assert (second.attempts("i"), second.attempts("a"), second.running("a")) == ([0], [0], True)
            assert (second.waiting("i"), second.waiting("a")) == ("", "")
            assert len(second.fake.world.sandboxes) == 1
        amid_hook = method == "ExecSync"
        hooks = {"postStart": hook_runs(second, "post"), "preStop": hook_runs(second, "pre")}
        assert hooks["postStart"] in ((1, 2) if amid_hook and not ends else (1,))
        assert hooks["preStop"] in ((1, 2) if amid_hook else (1,)) if ends else hooks["preStop"] == 0
        seen = InstanceEvents()
        told = Counter((one.reason, one.field) for one in events if seen.is_new(one))
        assert [one for one, times in told.items() if times > 1] == []


@pytest.mark.parametrize(
    ("method", "reason"),
    [("RunPodSandbox", "FailedCreatePodSandBox"), ("CreateContainer", "Failed"), ("StartContainer", "Failed")],
)
async def test_a_start_that_never_ends_is_reported_once_it_has_taken_longer_than_a_request_may(
    tmp_path, method, reason
):
    step = Step(method, 1, "later")
    first, _ = await killed(tmp_path, step)
    async with Driven(tmp_path, first.fake, first.clock, polling=AT_ONCE) as second:
        await second.first_look()
        await second.sources(WANTED)
        await live(second, 110)
        assert not [told for told, _ in second.events() if told.startswith("Failed")]
        await live(second, 20)
        assert reason in [told for told, _ in second.events()]
        step.goes_on.set()
        await live(second, 20)
        assert (second.attempts("a"), second.running("a"), second.waiting()) == ([0], True, "")
