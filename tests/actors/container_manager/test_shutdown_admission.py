"""Whom the container manager keeps away because the node is shut down."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.container_manager.admission.shutdown_admission import HOLD_SECONDS
from actors.container_manager.messages import AdmissionFailed, AdmitPod, GetNodeResources, PodAdmitted, PodRejected
from actors.shared.config.fields.duration import Duration
from actors.shutdown_manager.messages import NodeShutdown
from tests.support.managed_host import Host, admit, pod

WINDOW = {"shutdownGracePeriod": Duration(10)}


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


async def test_while_the_node_goes_down_new_pods_are_rejected_and_running_ones_are_not(host: Host) -> None:
    async with host.start(**WINDOW) as manager:
        await manager.deliver(NodeShutdown(active=True))
        critical = pod(priority=2_000_001_000)
        for data in (pod(), critical):
            assert await admit(manager, "new", data) == PodRejected(
                "new", "NodeShutdown", "Pod was rejected as the node is shutting down."
            )
        assert await admit(manager, "old", pod(), running=True) == PodAdmitted("old", "/kubepods/besteffort/podold")

        await manager.deliver(NodeShutdown(active=False))
        assert isinstance(await admit(manager, "new", pod()), PodAdmitted)


async def test_a_pod_ended_by_a_shutdown_does_not_start_again(host: Host) -> None:
    async with host.start(**WINDOW) as manager:
        await manager.deliver(NodeShutdown(active=False, ended=["ended"]))
        assert isinstance(await admit(manager, "ended", pod()), AdmissionFailed)  # it is told to end meanwhile
        assert isinstance(await admit(manager, "other", pod()), PodAdmitted)
        assert isinstance(await manager.deliver(AdmitPod("ended", pod(), over=True)), AdmissionFailed)
        assert await manager.deliver(AdmitPod("third", pod(), over=True)) == PodAdmitted("third", "")
        assert (await manager.deliver(GetNodeResources())).pods == 1


async def test_a_pod_whose_worker_restarts_during_the_shutdown_does_not_start_again(host: Host) -> None:
    async with host.start(**WINDOW) as manager:
        await manager.deliver(NodeShutdown(active=False))
        assert isinstance(await admit(manager, "there", pod()), PodAdmitted)
        await manager.deliver(NodeShutdown(active=True))
        assert isinstance(await admit(manager, "there", pod()), AdmissionFailed)
        assert isinstance(await admit(manager, "there", pod(), running=True), PodAdmitted)


async def test_new_pods_wait_briefly_for_the_shutdown_managers_report(host: Host) -> None:
    async with host.start(**WINDOW) as manager:
        waiting = manager.post(AdmitPod("u", pod()))
        await manager.advance(HOLD_SECONDS / 2)
        assert not waiting.done()
        await manager.advance(HOLD_SECONDS)
        assert isinstance(await waiting, PodAdmitted)


async def test_no_pod_waits_without_shutdown_windows(host: Host) -> None:
    async with host.start() as manager:
        assert isinstance(await admit(manager, "u", pod()), PodAdmitted)
