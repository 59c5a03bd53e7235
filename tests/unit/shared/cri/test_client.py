"""The client's own rules, and the failures it passes on."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import grpc.aio
import pytest

from actors.shared.cri.client import CriClient
from actors.shared.cri.deadlines import Deadlines
from actors.shared.cri.errors import (
    CriError,
    DeadlineExceeded,
    IncompatibleVersion,
    NotFound,
    RuntimeFailure,
    Unavailable,
)
from actors.shared.cri.transport import GrpcTransport
from proto import cri_pb2 as cri
from tests.support.cri_configs import container_config, sandbox_config
from tests.support.fake_cri import FakeRuntime, Fault, serve


async def test_a_runtime_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeRuntime()

    async def other(request: cri.VersionRequest) -> cri.VersionResponse:
        return cri.VersionResponse(version="0.2.0", runtime_name="odd")

    monkeypatch.setattr(fake, "do_Version", other)
    with pytest.raises(IncompatibleVersion, match=r"odd answers '0\.2\.0', not '0\.1\.0'"):
        await fake.client().version()


async def test_a_status_with_another_id_than_the_requested_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeRuntime()

    async def container(request: cri.ContainerStatusRequest) -> cri.ContainerStatusResponse:
        return cri.ContainerStatusResponse(status=cri.ContainerStatus(id="other"))

    async def sandbox(request: cri.PodSandboxStatusRequest) -> cri.PodSandboxStatusResponse:
        return cri.PodSandboxStatusResponse(status=cri.PodSandboxStatus(id="other"))

    monkeypatch.setattr(fake, "do_ContainerStatus", container)
    monkeypatch.setattr(fake, "do_PodSandboxStatus", sandbox)
    with pytest.raises(RuntimeFailure, match="answers about other, but was asked about mine"):
        await fake.client().container_status("mine")
    with pytest.raises(RuntimeFailure, match="answers about other, but was asked about mine"):
        await fake.client().pod_sandbox_status("mine")


async def test_what_a_runtime_lists_twice_is_there_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """As two sandboxes of a pod, one would be stopped, and the pod's own one with it."""
    fake = FakeRuntime()

    async def containers(request: cri.ListContainersRequest) -> cri.ListContainersResponse:
        return cri.ListContainersResponse(containers=[cri.Container(id="a"), cri.Container(id="b")] * 2)

    async def sandboxes(request: cri.ListPodSandboxRequest) -> cri.ListPodSandboxResponse:
        return cri.ListPodSandboxResponse(items=[cri.PodSandbox(id="a"), cri.PodSandbox(id="b")] * 2)

    monkeypatch.setattr(fake, "do_ListContainers", containers)
    monkeypatch.setattr(fake, "do_ListPodSandbox", sandboxes)
    client = fake.client()
    assert [one.id for one in await client.list_containers()] == ["a", "b"]
    assert [one.id for one in await client.list_pod_sandboxes()] == ["a", "b"]


async def test_a_runtime_that_ignores_a_filter_gives_no_pod_the_containers_of_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake = FakeRuntime()
    mine, other = {"io.kubernetes.pod.uid": "mine"}, {"io.kubernetes.pod.uid": "other"}

    async def containers(request: cri.ListContainersRequest) -> cri.ListContainersResponse:
        listed = [
            cri.Container(id="a", pod_sandbox_id="s", labels=mine),
            cri.Container(id="b", pod_sandbox_id="t", labels=mine),
            cri.Container(id="c", pod_sandbox_id="s", labels=other),
        ]
        return cri.ListContainersResponse(containers=listed)

    async def sandboxes(request: cri.ListPodSandboxRequest) -> cri.ListPodSandboxResponse:
        listed = [cri.PodSandbox(id="s", labels=mine), cri.PodSandbox(id="t", labels=other), cri.PodSandbox(id="u")]
        return cri.ListPodSandboxResponse(items=listed)

    monkeypatch.setattr(fake, "do_ListContainers", containers)
    monkeypatch.setattr(fake, "do_ListPodSandbox", sandboxes)
    client = fake.client()
    assert [one.id for one in await client.list_pod_sandboxes(mine)] == ["s"]
    assert [one.id for one in await client.list_containers(mine)] == ["a", "b"]
    assert [one.id for one in await client.list_containers(sandbox_id="s")] == ["a", "c"]
    assert [one.id for one in await client.list_containers(mine, sandbox_id="s")] == ["a"]


async def test_stopping_a_missing_container_succeeds() -> None:
    client = FakeRuntime("1.6").client()
    await client.stop_container("gone", 1)
    await client.stop_pod_sandbox("gone")
    with pytest.raises(NotFound):
        await client.container_status("gone")


async def test_a_grace_that_overflows_in_a_runtime_of_go_is_cut_to_what_does_not() -> None:
    """terminationGracePeriodSeconds has 64 bits; containerd multiplies it by 10**9."""
    fake = FakeRuntime()
    for seconds in (9223372036, 9223372037, 2**63 - 1):
        await fake.client().stop_container("gone", seconds)
    assert [request.timeout for request in fake.requests_for("StopContainer")] == [9223372036] * 3


async def test_a_stop_with_a_grace_of_centuries_is_not_over_at_once(tmp_path: Path) -> None:
    fake = FakeRuntime()
    async with serve(fake, tmp_path / "s") as endpoint:
        client = CriClient(endpoint)
        await client.stop_container("gone", 2**40)
        await client.close()
    assert len(fake.requests_for("StopContainer")) == 1


@pytest.mark.parametrize("first", ["decoded", "undecoded"])
async def test_a_list_is_decoded_or_not_whichever_was_asked_for_first(tmp_path: Path, first: str) -> None:
    """Both have the same path over one connection."""
    async with serve(FakeRuntime(), tmp_path / "s") as endpoint:
        client = CriClient(endpoint)
        sandbox_id = await client.run_pod_sandbox(sandbox_config())
        if first == "decoded":
            await client.list_pod_sandboxes()
        (item,) = await client.unread_sandboxes()
        assert cri.PodSandbox.FromString(item).id == sandbox_id
        assert [one.id for one in await client.list_pod_sandboxes()] == [sandbox_id]
        assert not list(await client.unread_containers())
        assert not await client.list_containers()
        await client.close()


@pytest.mark.parametrize(("image_socket", "connections"), [("", 2), ("/i.sock", 3)])
async def test_close_closes_each_connection_once(
    monkeypatch: pytest.MonkeyPatch, image_socket: str, connections: int
) -> None:
    closed: list[GrpcTransport] = []

    async def close(transport: GrpcTransport) -> None:
        closed.append(transport)

    monkeypatch.setattr(GrpcTransport, "close", close)
    await CriClient("/s.sock", image_socket).close()
    assert len(closed) == len(set(map(id, closed))) == connections


async def test_a_runtime_without_network_has_a_reason() -> None:
    fake = FakeRuntime()
    fake.network_ready = False
    status = await fake.client().status()
    assert (status.runtime_ready, status.network_ready) == (True, False)
    assert "NetworkPluginNotReady" in status.message


async def test_the_cgroup_driver_is_none_where_the_runtime_reports_none() -> None:
    assert await FakeRuntime("1.6").client().cgroup_driver() is None
    assert await FakeRuntime("2.1").client().cgroup_driver() == "cgroupfs"


async def test_a_slow_call_hits_its_deadline_over_the_socket(tmp_path: Path) -> None:
    fake = FakeRuntime()
    fake.faults.add("ListContainers", Fault(hang=True, times=1))
    async with serve(fake, tmp_path / "s") as endpoint:
        client = CriClient(endpoint, request_seconds=1.0)
        with pytest.raises(DeadlineExceeded) as caught:
            await client.list_containers()
        assert caught.value.rpc_text == "rpc error: code = DeadlineExceeded desc = context deadline exceeded"
        assert await client.list_containers() == []
        await client.close()


@pytest.mark.parametrize(("seconds", "kind"), [(0.05, DeadlineExceeded), (100.0, RuntimeFailure)])
async def test_a_deadline_that_the_runtime_says_is_over_is_the_clients_own_only_when_that_is_over(
    monkeypatch: pytest.MonkeyPatch, seconds: float, kind: type[CriError]
) -> None:
    async def answer(*_: object) -> None:
        await asyncio.sleep(0.05)
        nothing = grpc.aio.Metadata()
        raise grpc.aio.AioRpcError(grpc.StatusCode.UNKNOWN, nothing, nothing, "context deadline exceeded: unknown", "")

    monkeypatch.setattr(GrpcTransport, "_answer", answer)
    with pytest.raises(CriError) as caught:
        await CriClient("/nowhere", request_seconds=seconds).list_containers()
    assert type(caught.value) is kind


async def test_an_error_of_the_runtime_keeps_its_message(tmp_path: Path) -> None:
    fake = FakeRuntime()
    fake.faults.add("Status", Fault(error="INTERNAL", details="disk on fire", times=1))
    async with serve(fake, tmp_path / "s") as endpoint:
        client = CriClient(endpoint)
        with pytest.raises(RuntimeFailure, match="Status: disk on fire") as caught:
            await client.status()
        assert caught.value.code == "INTERNAL"
        await client.close()


async def test_the_same_client_works_again_after_the_runtime_was_away(tmp_path: Path) -> None:
    fake, socket = FakeRuntime(), tmp_path / "s"
    client = CriClient(str(socket))
    with pytest.raises(Unavailable) as caught:
        await client.status()
    dialed = f'connection error: desc = "transport: Error while dialing: dial unix {socket}: connect: no such file or '
    assert caught.value.rpc_text == f'rpc error: code = Unavailable desc = {dialed}directory"'
    for _ in range(2):
        async with serve(fake, socket), asyncio.timeout(10):
            while True:
                try:
                    await client.status()
                    break
                except Unavailable:
                    await asyncio.sleep(0.02)
        with pytest.raises(Unavailable):
            await client.status()
    await client.close()


async def test_images_come_from_their_own_endpoint_where_one_is_given(tmp_path: Path) -> None:
    runtime, images = FakeRuntime(), FakeRuntime()
    images.images.here = {"docker.io/library/only:here": 5}
    async with serve(runtime, tmp_path / "r") as one, serve(images, tmp_path / "i") as two:
        client = CriClient(one, two)
        assert [image.tags for image in await client.list_images()] == [["docker.io/library/only:here"]]
        await client.version()
        assert (len(runtime.requests_for("Version")), len(images.requests_for("Version"))) == (1, 0)
        await client.close()


async def test_a_message_over_16_mib_is_an_error_and_one_below_is_not(tmp_path: Path) -> None:
    fake = FakeRuntime()
    async with serve(fake, tmp_path / "s") as endpoint:
        client, pod = CriClient(endpoint), sandbox_config()
        pod.annotations["big"] = "x" * (15 * 1024 * 1024)
        made = await client.run_pod_sandbox(pod)
        assert len((await client.pod_sandbox_status(made)).annotations["big"]) == 15 * 1024 * 1024
        pod.annotations["big"] = "x" * (17 * 1024 * 1024)
        with pytest.raises(RuntimeFailure):
            await client.run_pod_sandbox(pod)
        await client.close()


def test_a_client_made_before_a_fork_works_after_it(tmp_path: Path) -> None:
    """Nothing is opened when the client is made: the fork server makes the context, its forks use it.

    In a process of its own, as the fork server is: gRPC's threads, which other tests leave in ours, must not be forked.
    """
    done = subprocess.run(
        [sys.executable, "-c", FORKS, str(tmp_path / "s")], timeout=60, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


FORKS = """
import asyncio, os, sys
from actors.shared.cri.client import CriClient
from tests.support.fake_cri import FakeRuntime, serve

async def ask(client):
    async with serve(FakeRuntime(), sys.argv[1]), asyncio.timeout(10):
        await client.version()
        await client.close()

client = CriClient(sys.argv[1])
child = os.fork()
if child == 0:
    code = 1
    try:
        asyncio.run(ask(client))
        code = 0
    finally:
        os._exit(code)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


async def test_two_sandboxes_of_one_attempt_are_reported_as_they_are() -> None:
    fake = FakeRuntime()
    fake.faults.add("RunPodSandbox", Fault(duplicate=True, times=1))
    client = fake.client()
    made = await client.run_pod_sandbox(sandbox_config())
    listed = await client.list_pod_sandboxes()
    assert len(listed) == 2
    assert made in [one.id for one in listed]


async def test_a_stop_keeps_its_grace_within_its_deadline() -> None:
    client, pod = FakeRuntime().client(Deadlines(0.7)), sandbox_config()
    sandbox = await client.run_pod_sandbox(pod)
    made = await client.create_container(sandbox, container_config(pod, ["sleep", "60"]), pod)
    await client.start_container(made)
    await client.stop_container(made, 1)
    assert (await client.container_status(made)).exit_code == 137
