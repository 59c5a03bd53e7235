"""Pods that are withdrawn while something waits to admit them, and pods that come back while their last life is cleared
away."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from actors.container_manager.admission.shutdown_admission import HOLD_SECONDS as SHUTDOWN_HOLD_SECONDS
from actors.container_manager.admission.startup_hold import HOLD_SECONDS
from actors.container_manager.cgroups import pod_cgroups
from actors.container_manager.cgroups.cgroup_removal import RETRIES
from actors.container_manager.cgroups.cgroup_setup import RETRY_SECONDS
from actors.container_manager.cgroups.orphaned_cgroups import ORPHAN_SECONDS
from actors.container_manager.messages import (
    AdmissionFailed,
    AdmitPod,
    CountRunningPod,
    FreeRequests,
    GetNodeResources,
    NodeResources,
    PodAdmitted,
    PodRejected,
    PodReleased,
    ReleasePod,
    ResizePod,
    StopCounting,
)
from actors.pod_workers.messages import ShardPods
from actors.shared.config.fields.duration import Duration
from actors.shared.linux.cgroup_tree import CgroupTree
from actors.shared.linux.system_bus import BusError, BusObject, DBusReply
from supervision.actor import Address
from supervision.message import Message
from supervision.testing.harness import Harness
from tests.support.managed_host import CORES, Host, admit, pod

WORKER = "pod_workers/worker/0"
WITHDRAWALS = [StopCounting("u1"), ReleasePod("u1"), ShardPods(WORKER, 2, [])]
CGROUP = "kubepods/besteffort/podu1"
SLICE = "kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podu1.slice"


def come(manager: Harness, *messages: Message) -> None:
    """All at once, as messages are handled that come in one packet."""
    for message in messages:
        manager.port.run(partial(manager.actor.receiveMessage, message, Address(WORKER)), "handler")


async def counted(manager: Harness) -> int:
    found = await manager.deliver(GetNodeResources())
    assert isinstance(found, NodeResources)
    return found.pods


@pytest.mark.parametrize("withdrawal", WITHDRAWALS, ids=lambda message: type(message).__name__)
async def test_a_pod_withdrawn_while_it_waits_for_the_running_ones_leaves_nothing(
    host: Host, withdrawal: Message
) -> None:
    host.dress("/kubepods/podgone")  # of which nobody has told
    async with host.start() as manager:
        await manager.deliver(ShardPods(WORKER, 2, ["u1"]))
        waiting = manager.post(AdmitPod("u1", pod()))
        await manager.settle()
        assert not waiting.done()
        await manager.deliver(withdrawal)
        await manager.advance(HOLD_SECONDS)

        assert isinstance(await waiting, AdmissionFailed)
        assert await counted(manager) == 0
        assert host.has(CGROUP) == []

        assert isinstance(await admit(manager, "u1", pod()), PodAdmitted)
        assert await counted(manager) == 1


async def test_a_pod_withdrawn_while_the_shutdown_manager_is_waited_for_leaves_nothing(host: Host) -> None:
    async with host.start(shutdownGracePeriod=Duration(10)) as manager:
        waiting = manager.post(AdmitPod("u1", pod()))
        await manager.settle()
        await manager.deliver(ReleasePod("u1"))
        await manager.advance(SHUTDOWN_HOLD_SECONDS)

        assert isinstance(await waiting, AdmissionFailed)
        assert await counted(manager) == 0


async def test_a_withdrawal_cancels_earlier_admissions_and_no_later_ones(host: Host) -> None:
    host.dress("/kubepods/podgone")
    async with host.start() as manager:
        before = [manager.post(AdmitPod("u1", pod())) for _ in range(2)]
        await manager.settle()
        await manager.deliver(ReleasePod("u1"))
        after = manager.post(AdmitPod("u1", pod()))
        await manager.advance(HOLD_SECONDS)

        assert [type(await one) for one in before] == [AdmissionFailed] * 2
        assert isinstance(await after, PodAdmitted)
        assert await counted(manager) == 1
        assert host.has(CGROUP) != []


@pytest.mark.parametrize(
    ("messages", "count"),
    [
        ([CountRunningPod("u1", pod()), StopCounting("u1")], 0),
        ([AdmitPod("u1", pod(), running=True), ReleasePod("u1")], 0),
        ([ResizePod("u1", pod(), pod()), StopCounting("u1")], 0),
        ([StopCounting("u1"), ReleasePod("u1"), CountRunningPod("u1", pod())], 1),
        ([AdmitPod("u1", pod()), StopCounting("u1"), ReleasePod("u1"), AdmitPod("u1", pod())], 1),
    ],
)
async def test_before_the_driver_is_known_the_order_in_which_messages_come_counts(
    host: Host, messages: list[Message], count: int
) -> None:
    manager, known = host.start(), asyncio.Event()

    async def ask(*_: Any, **__: Any) -> str:
        await known.wait()
        return "cgroupfs"

    manager.port.disposable = ask
    async with manager:
        come(manager, *messages)
        await manager.settle()
        known.set()
        await manager.advance(HOLD_SECONDS)

        assert await counted(manager) == count
        assert bool(host.has(CGROUP)) is bool(count)


def held(
    host: Host, verb: str = "StartTransientUnit", answers: Callable[[], str] = str
) -> tuple[asyncio.Event, asyncio.Event]:
    """When systemd is asked this of the pod's slice the first is set; it answers when the second is."""
    asked, go_on, systemd = asyncio.Event(), asyncio.Event(), host.systemd

    async def slowly(target: BusObject, method: str, signature: str, body: list[Any]) -> DBusReply:
        reply = await systemd(target, method, signature, body)
        if method != verb or "podu1" not in body[0]:
            return reply
        answer = answers()
        asked.set()
        await go_on.wait()
        if answer:
            raise BusError(answer)
        return reply

    host.systemd = slowly
    return asked, go_on


@pytest.mark.parametrize("withdrawal", WITHDRAWALS, ids=lambda message: type(message).__name__)
async def test_a_pod_withdrawn_while_its_cgroup_is_made_leaves_none(host: Host, withdrawal: Message) -> None:
    asked, go_on = held(host)
    async with host.start(driver="systemd") as manager:
        await manager.deliver(ShardPods(WORKER, 2, ["u1"]))
        waiting = manager.post(AdmitPod("u1", pod()))
        await asked.wait()
        withdrawn = manager.post(withdrawal)
        await manager.settle()
        go_on.set()

        assert isinstance(await waiting, AdmissionFailed)
        assert await withdrawn in (None, PodReleased("u1"))
        assert await counted(manager) == 0
        assert host.has(SLICE) == []

        assert isinstance(await admit(manager, "u1", pod()), PodAdmitted)
        assert host.has(SLICE) != []


async def test_a_pod_that_returns_while_its_cgroup_is_created_keeps_it(host: Host) -> None:
    asked, go_on = held(host)
    async with host.start(driver="systemd") as manager:
        first = manager.post(AdmitPod("u1", pod()))
        await asked.wait()
        released = manager.post(ReleasePod("u1"))
        await manager.settle()
        second = manager.post(AdmitPod("u1", pod()))
        await manager.settle()
        go_on.set()

        assert isinstance(await first, AdmissionFailed)
        assert await released == PodReleased("u1")
        assert isinstance(await second, PodAdmitted)
        assert await counted(manager) == 1
        assert host.has(SLICE) != []


async def test_a_pod_that_returns_while_its_slice_is_stopped_gets_a_new_cgroup(host: Host) -> None:
    asked, go_on = held(host, "StopUnit")
    async with host.start(driver="systemd") as manager:
        await admit(manager, "u1", pod())
        released = manager.post(ReleasePod("u1"))
        await asked.wait()
        back = manager.post(AdmitPod("u1", pod()))
        await manager.settle()
        go_on.set()

        assert await released == PodReleased("u1")
        assert isinstance(await back, PodAdmitted)
        assert host.has(SLICE) != []


async def test_a_failed_attempt_does_not_strike_out_the_one_after_it(host: Host) -> None:
    answers = ["no such luck", ""]
    asked, go_on = held(host, answers=lambda: answers.pop(0))
    async with host.start(driver="systemd") as manager:
        first = manager.post(AdmitPod("u1", pod()))
        await asked.wait()
        second = manager.post(AdmitPod("u1", pod()))
        await manager.settle()
        go_on.set()

        assert isinstance(await first, AdmissionFailed)
        assert isinstance(await second, PodAdmitted)
        assert await counted(manager) == 1


@pytest.fixture
def kills(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The cgroups whose processes are killed, which never end."""
    found: list[str] = []

    def kill(_: CgroupTree, path: str) -> int:
        found.append(path)
        return 1

    monkeypatch.setattr(CgroupTree, "kill", kill)
    monkeypatch.setattr(pod_cgroups, "_KILL_PAUSE", 0.01)
    return found


async def test_a_pod_that_comes_back_during_a_kill_of_its_remains_is_spared(host: Host, kills: list[str]) -> None:
    async with host.start() as manager:
        await admit(manager, "u1", pod())
        host.dress(f"/{CGROUP}")  # files keep the directories, as processes do
        assert "still in use" in (await manager.deliver(ReleasePod("u1"))).message
        host.undress(f"/{CGROUP}")
        kills.clear()
        await manager.advance(RETRIES.first)
        await manager.wait(lambda: len(kills) > 1)
        assert isinstance(await admit(manager, "u1", pod(), running=True), PodAdmitted)
        count = len(kills)
        assert count < pod_cgroups._KILL_ROUNDS
        await asyncio.sleep(0.1)
        await manager.advance(RETRIES.limit)

        assert len(kills) == count
        assert host.has(CGROUP) != []


async def test_a_slice_that_is_wanted_again_is_not_stopped(host: Host, kills: list[str]) -> None:
    async with host.start(driver="systemd") as manager:
        await admit(manager, "u1", pod())
        released = manager.post(ReleasePod("u1"))
        await manager.wait(lambda: bool(kills))
        assert isinstance(await admit(manager, "u1", pod()), PodAdmitted)
        await released

        assert "StopUnit" not in [method for method, _ in host.calls]
        assert await counted(manager) == 1


async def test_the_room_of_a_pod_that_no_source_has_is_given_while_its_cgroup_is_there(host):
    async with host.start() as manager:
        most = str(CORES)
        await admit(manager, "u1", pod(cpu=most, ports=[80]))
        assert isinstance(await admit(manager, "u2", pod(cpu=most)), PodRejected)
        await manager.deliver(FreeRequests("u1"))
        assert isinstance(await admit(manager, "u3", pod(cpu=most, ports=[80])), PodAdmitted)
        assert host.has("kubepods/burstable/podu1")


async def test_cgroups_that_cannot_be_read_end_no_actor_and_orphans_are_removed_later(
    host: Host, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> list[str]:
        raise OSError(errno.EMFILE, "Too many open files")

    async with host.start() as manager:
        await admit(manager, "u1", pod())
        await manager.deliver(StopCounting("u1"))
        with monkeypatch.context() as patch:
            patch.setattr(CgroupTree, "children", fail)
            await manager.deliver(ShardPods(WORKER, 1, []))
            await manager.advance(3 * ORPHAN_SECONDS)
            assert sum("looked for later" in record.message for record in caplog.records) == 1
            assert host.has(CGROUP)
        await manager.advance(ORPHAN_SECONDS)
        with monkeypatch.context() as patch:
            patch.setattr(CgroupTree, "children", fail)
            await manager.advance(ORPHAN_SECONDS)
            assert host.has(CGROUP)
        await manager.advance(3 * ORPHAN_SECONDS)
        await manager.wait(lambda: not host.has(CGROUP))


async def test_no_pod_is_admitted_before_the_cgroups_can_be_read(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> list[str]:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(CgroupTree, "children", fail)
        async with host.start() as manager:
            asked = manager.post(AdmitPod("u1", pod()))
            await manager.advance(3 * RETRY_SECONDS)
            assert not asked.done()
            patch.undo()
            await manager.advance(RETRY_SECONDS)
            assert isinstance(await asked, PodAdmitted)
