"""The container manager keeps what pods are allocated, before anybody relies on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from actors.container_manager.messages import (
    ActuatedContainer,
    ActuatedResources,
    AdmissionFailed,
    CountRunningPod,
    PodAdmitted,
    PodRejected,
    ReleasePod,
    ResizePod,
    StopCounting,
)
from actors.container_manager.resizes.pod_resizes import OPEN_SECONDS
from actors.pod_workers.messages import ShardPods
from actors.shared import state_files
from actors.shared.kube.container import ResourceRequirements
from actors.shared.pod_records import ACTUATED, ALLOCATED, read
from tests.support.managed_host import CORES, admit, pod


def sized(share: int) -> bytes:
    """A pod that wants so many hundredths of the node's cpu."""
    return bytes(pod(cpu=f"{CORES * 10 * share}m"))


def kept(host: Any, name: str = ALLOCATED) -> dict[str, Any]:
    found = read(Path(host.root, "kubelet", name))
    return {uid: [one.requests.get("cpu") for one in record.containers.values()] for uid, record in found.items()}


def share(number: int) -> list[str]:
    return [f"{CORES * 10 * number}m"]


async def test_admitted_and_resized_resources_are_recorded(host: Any) -> None:
    async with host.start() as manager:
        await manager.advance(OPEN_SECONDS + 0.1)
        assert isinstance(await admit(manager, "u", sized(10)), PodAdmitted)
        assert kept(host) == {"u": share(10)}
        assert isinstance(await manager.deliver(ResizePod("u", sized(20), sized(10))), PodAdmitted)
        assert kept(host) == {"u": share(20)}
        refused = await manager.deliver(ResizePod("u", sized(200), sized(20)))
        assert isinstance(refused, PodRejected)
        assert kept(host) == {"u": share(20)}
        assert isinstance(await admit(manager, "big", sized(200)), PodRejected)
        assert kept(host) == {"u": share(20)}


async def test_an_earlier_running_pod_is_recorded_until_it_ends(host: Any) -> None:
    async with host.start() as manager:
        await manager.deliver(CountRunningPod("u", sized(10)))
        await manager.deliver(ActuatedResources("u", {"a": ActuatedContainer("id", ResourceRequirements())}))
        await manager.deliver(StopCounting("u"))
        await manager.deliver(CountRunningPod("v", sized(20)))
        assert kept(host) == {"u": share(10), "v": share(20)}
        await manager.deliver(ReleasePod("u"))
        await manager.deliver(CountRunningPod("w", sized(30)))
        assert kept(host) == {"v": share(20), "w": share(30)}
        assert kept(host, ACTUATED).keys() == {"u"}, "left out with its next change"


async def test_records_of_unknown_pods_are_removed(host: Any) -> None:
    async with host.start() as manager:
        await manager.deliver(CountRunningPod("gone", sized(10)))
    async with host.start() as manager:
        for number in range(2):
            worker = f"pod_workers/worker/{number}"
            await manager.deliver(ShardPods(worker, 2, ["here"]), sender=worker)
        await manager.deliver(CountRunningPod("here", sized(20)))
        assert kept(host) == {"here": share(20)}


async def test_no_pod_is_admitted_or_resized_without_a_record_and_running_pods_continue(
    host: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    async with host.start() as manager:
        await manager.advance(OPEN_SECONDS + 0.1)
        assert isinstance(await admit(manager, "u", sized(10)), PodAdmitted)
        with monkeypatch.context() as patch:
            patch.setattr(state_files, "write_private", full)
            for answer in (
                await admit(manager, "v", sized(10)),
                await manager.deliver(ResizePod("u", sized(20), sized(10))),
            ):
                assert isinstance(answer, AdmissionFailed)
                assert "No space left on device" in answer.message
            assert isinstance(await admit(manager, "w", sized(10), running=True), PodAdmitted)
        assert kept(host) == {"u": share(10)}
        assert isinstance(await admit(manager, "v", sized(10)), PodAdmitted)
        assert isinstance(await manager.deliver(ResizePod("u", sized(20), sized(10))), PodAdmitted)
        assert kept(host) == {"u": share(20), "v": share(10)}


def limited(milli: int) -> bytes:
    amounts = {"cpu": f"{milli}m", "memory": "64Mi"}
    return bytes(pod(**amounts, limits=amounts))


def actuated(milli: int, *, complete: bool = False) -> ActuatedResources:
    amounts: dict[str, Any] = {"cpu": f"{milli}m", "memory": "64Mi"}
    resources = ResourceRequirements(limits=amounts, requests=amounts)
    return ActuatedResources("u", {"c": ActuatedContainer("id", resources)}, complete=complete)


async def test_a_pods_cgroup_keeps_what_its_containers_have_until_they_have_shrunk(host: Any) -> None:
    def quota() -> str:
        return str(host.read("/kubepods/podu", "cpu.cfs_quota_us"))

    host.dress("/kubepods/podu")
    async with host.start() as manager:
        await manager.advance(OPEN_SECONDS + 0.1)
        await admit(manager, "u", limited(200))
        await manager.deliver(actuated(200, complete=True))
        assert isinstance(await manager.deliver(ResizePod("u", limited(100), limited(200))), PodAdmitted)
        assert quota() == "20000"
    async with host.start(incarnation=2) as manager:
        await manager.deliver(CountRunningPod("u", limited(100)))
        assert quota() == "20000", "a new container manager"
        await manager.advance(OPEN_SECONDS + 0.1)
        assert isinstance(await admit(manager, "u", limited(100), running=True), PodAdmitted)
        assert quota() == "20000", "a new worker"
        assert isinstance(await manager.deliver(ResizePod("u", limited(150), limited(100))), PodAdmitted)
        assert quota() == "20000", "another resize before the first one is done"
        await manager.deliver(actuated(150, complete=True))
        await manager.deliver(CountRunningPod("u", limited(150)))
        assert quota() == "15000"
