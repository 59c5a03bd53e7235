"""Resource claims: prepared before the sandbox, in the container's configuration, unprepared before the pod is over."""

from __future__ import annotations

import pytest

from actors.api_clients.event_client.messages import RecordEvent
from actors.container_manager.messages import AdmitPod, PodAdmitted
from actors.device_manager.messages import (
    ClaimDevices,
    ClaimsFailed,
    ClaimsPrepared,
    ClaimsUnprepared,
    GetClaimDevices,
    PrepareClaims,
    UnprepareClaims,
)
from actors.shared.hardware.allocation import ContainerAllocation
from actors.shared.kube.pod import Pod
from actors.status_manager.messages import PodObserved, Waiting
from supervision.errors import AskTimeout
from tests.support.shard_harness import Driven, container, pod

CLAIMS = [{"name": "gpu", "resourceClaimName": "one"}]
USES = {"claims": [{"name": "gpu"}]}
WRONG = "prepare dynamic resources: DRA driver gpu.example.com is not registered"


def with_claims() -> Pod:
    return pod(containers=[container("a", resources=USES)], resourceClaims=CLAIMS)


class Manager:
    """Answers as the device manager, in turn what is in `prepares` and `unprepares`."""

    def __init__(self, node: Driven) -> None:
        self.prepares: list[object] = []
        self.unprepares: list[object] = []
        self.node = node
        self.calls: list[str] = []
        node.answer(PrepareClaims, self.prepare)
        node.answer(UnprepareClaims, self.unprepare)
        node.answer(
            GetClaimDevices, lambda question: ClaimDevices(question.uid, question.container, ["example.com/gpu=0"])
        )

    async def asked_times(self, times: int) -> None:
        await self.node.until(lambda: len(self.calls) >= times)

    def prepare(self, question: PrepareClaims) -> object:
        self.calls.append("prepare")
        assert not self.node.count_of("RunPodSandbox")
        return self.prepares.pop(0) if self.prepares else ClaimsPrepared(question.uid)

    def unprepare(self, question: UnprepareClaims) -> object:
        self.calls.append("unprepare")
        assert not self.node.running("a")
        return self.unprepares.pop(0) if self.unprepares else ClaimsUnprepared(question.uid)


async def test_a_pod_starts_with_the_devices_of_its_claims_and_ends_without_them(tmp_path) -> None:
    async with Driven(tmp_path, joined=True) as node:
        manager = Manager(node)
        await node.want(with_claims())
        await node.until(lambda: node.running("a"))
        assert [one.name for one in node.containers("a")[0].config.CDI_devices] == ["example.com/gpu=0"]
        [asked] = [asked for _, asked in node.harness.asks if isinstance(asked, AdmitPod)]
        assert (asked.claims, asked.extended_claims) == (True, True)
        await node.remove()
        await node.until(lambda: not node.shard.pods)
    assert manager.calls == ["prepare", "unprepare"]


async def test_a_pod_with_unprepared_claims_has_no_sandbox_and_an_event(tmp_path) -> None:
    async with Driven(tmp_path, joined=True) as node:
        manager = Manager(node)
        manager.prepares = [ClaimsFailed("u", WRONG), AskTimeout("no answer")]
        await node.want(with_claims())
        for tries in (1, 2, 3):
            await manager.asked_times(tries)
            await node.pass_time(3.0)
        await node.until(lambda: node.running("a"))
        events = [event for event in node.harness.sent(RecordEvent) if "Prepare" in event.reason]
    assert [event.reason for event in events] == ["FailedPrepareDynamicResources"] * 2
    assert events[0].message == f"Failed to prepare dynamic resources: {WRONG}"
    assert manager.calls == ["prepare"] * 3


async def test_a_pod_is_not_over_before_its_claims_are_unprepared(tmp_path) -> None:
    async with Driven(tmp_path, joined=True) as node:
        manager = Manager(node)
        wrong = "unprepare dynamic resources: NodeUnprepareResources skipped 1 ResourceClaims"
        manager.unprepares = [ClaimsFailed("u", wrong), AskTimeout("no answer")]
        await node.want(with_claims())
        await node.until(lambda: node.running("a"))
        await node.remove()
        for tries in (2, 3, 4):
            await manager.asked_times(tries)
            await node.pass_time(3.0)
        await node.until(lambda: not node.shard.pods)
        seen = node.harness.sent(PodObserved)
    assert manager.calls == ["prepare", *["unprepare"] * 3]
    waited = [one for one in seen if one.termination_step == "claims"]
    assert waited[0].worker_phase == "terminating"
    assert waited[0].last_error == wrong


async def test_a_pod_without_claims_requests_none(tmp_path) -> None:
    async with Driven(tmp_path, joined=True) as node:
        manager = Manager(node)
        await node.want(pod())
        await node.until(lambda: node.running("a"))
        await node.remove()
        await node.until(lambda: not node.shard.pods)
        assert not [asked for _, asked in node.harness.asks if isinstance(asked, GetClaimDevices)]
    assert manager.calls == []


async def test_a_container_is_never_started_without_the_devices_that_its_runtime_ignores(tmp_path) -> None:
    async with Driven(tmp_path, joined=True) as node:
        Manager(node)
        node.fake.runtime_name, node.fake.info = "containerd", {"config": '{"enableCDI":false}'}
        await node.want(with_claims())
        await node.until(lambda: "a" in waiting(node))
        assert waiting(node)["a"].reason == "CreateContainerConfigError"
        assert waiting(node)["a"].message.startswith(
            "containerd 2.1.9 ignores CDI devices, and the container has example.com/gpu=0: "
        )
        assert not node.containers("a")
        node.fake.info = {"config": '{"enableCDI":true}'}
        await node.pass_time(30.0)
        await node.until(lambda: node.running("a"))


@pytest.mark.parametrize("only", [True, False])
async def test_plugin_devices_also_given_without_cdi_do_not_need_cdi(tmp_path, only: bool) -> None:
    given = ContainerAllocation(cdi_devices=("example.com/thing=0",), only_cdi=only)
    async with Driven(tmp_path) as node:
        node.fake.runtime_name, node.fake.info = "containerd", {"config": '{"enableCDI":false}'}
        node.answer(AdmitPod, lambda question: PodAdmitted(question.uid, "/kubepods/podu", {"a": given}))
        await node.want(pod())
        await node.until(lambda: "a" in waiting(node) if only else node.running("a"))
        assert bool(node.containers("a")) is not only


def waiting(node: Driven) -> dict[str, Waiting]:
    found = [one for one in node.harness.sent(PodObserved) if one.uid == "u"]
    return {
        name: one for name, one in (found[-1].waiting if found else {}).items() if one.reason != "ContainerCreating"
    }
